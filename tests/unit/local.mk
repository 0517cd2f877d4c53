# tests/unit/local.mk - a program a module; add: check_PROGRAMS += X, X_SOURCES, X_CFLAGS, X_LDADD
# Kernels on the CPU. What to warn of in their source nvcc knows. First, since it takes longest: other tests go on beside
# it, and none would any more at the end.
if HAVE_CMOCKA
if HAVE_CXX
check_PROGRAMS += tests/unit/kernels_perturb
endif
endif
tests_unit_kernels_perturb_SOURCES = tests/unit/kernels.c \
	tests/emulate/cuda.h \
	tests/emulate/emulate.c tests/emulate/emulate.h \
	tests/emulate/every.cuh tests/emulate/kernels.h tests/emulate/ll.cc tests/emulate/ll128.cc tests/emulate/ptx.cuh \
	tests/emulate/push.cc \
	tests/emulate/world.c tests/emulate/world.h \
	tests/unit/values.c tests/unit/values.h
tests_unit_kernels_perturb_CPPFLAGS = $(AM_CPPFLAGS) -DPIPC_PERTURB
tests_unit_kernels_perturb_CFLAGS = $(UNIT_CFLAGS)
tests_unit_kernels_perturb_CXXFLAGS = -std=gnu++14 -ffp-contract=off -w
tests_unit_kernels_perturb_LDADD = libpipc-replay.la $(UNIT_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/base
endif
tests_unit_base_SOURCES = tests/unit/base.c
tests_unit_base_CFLAGS = $(UNIT_CFLAGS)
tests_unit_base_LDADD = $(UNIT_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/plan
endif
tests_unit_plan_SOURCES = tests/unit/plan.c
tests_unit_plan_CFLAGS = $(UNIT_CFLAGS)
tests_unit_plan_LDADD = $(UNIT_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/plan_broken
endif
tests_unit_plan_broken_SOURCES = tests/unit/plan_broken.c \
	tests/unit/plan_staged.c tests/unit/plan_staged.h
tests_unit_plan_broken_CFLAGS = $(UNIT_CFLAGS)
tests_unit_plan_broken_LDADD = $(UNIT_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/plan_nodes tests/unit/plan_halves
endif
tests_unit_plan_halves_SOURCES = tests/unit/plan_halves.c
tests_unit_plan_halves_CFLAGS = $(UNIT_CFLAGS)
tests_unit_plan_halves_LDADD = $(UNIT_LIBS)
tests_unit_plan_nodes_SOURCES = tests/unit/plan_nodes.c \
	tests/unit/plan_staged.c tests/unit/plan_staged.h
tests_unit_plan_nodes_CFLAGS = $(UNIT_CFLAGS)
tests_unit_plan_nodes_LDADD = $(UNIT_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/plan_json
endif
tests_unit_plan_json_SOURCES = tests/unit/plan_json.c \
	tests/unit/plan_staged.c tests/unit/plan_staged.h
tests_unit_plan_json_CFLAGS = $(UNIT_CFLAGS)
tests_unit_plan_json_LDADD = $(UNIT_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/plan_explore
endif
tests_unit_plan_explore_SOURCES = tests/unit/plan_explore.c \
	tests/unit/explore.c tests/unit/explore.h \
	tests/unit/plan_meet.c tests/unit/plan_meet.h \
	tests/unit/plan_staged.c tests/unit/plan_staged.h
tests_unit_plan_explore_CFLAGS = $(UNIT_CFLAGS)
tests_unit_plan_explore_LDADD = $(UNIT_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/plan_nomem
endif
tests_unit_plan_nomem_SOURCES = tests/unit/plan_nomem.c
tests_unit_plan_nomem_CFLAGS = $(UNIT_CFLAGS)
tests_unit_plan_nomem_LDADD = $(UNIT_LIBS)
tests_unit_plan_nomem_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/reduce
endif
tests_unit_reduce_SOURCES = tests/unit/reduce.c
tests_unit_reduce_CFLAGS = $(UNIT_CFLAGS)
tests_unit_reduce_LDADD = libpipc-exec.la $(UNIT_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/copy
endif
tests_unit_copy_SOURCES = tests/unit/copy.c
tests_unit_copy_CFLAGS = $(UNIT_CFLAGS)
tests_unit_copy_LDADD = libpipc-exec.la $(UNIT_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/bench_data
endif
tests_unit_bench_data_SOURCES = tests/unit/bench_data.c \
	runtime/tools/bench/data.c runtime/tools/bench/data.h
tests_unit_bench_data_CFLAGS = $(UNIT_CFLAGS)
tests_unit_bench_data_LDADD = libpipc-exec.la $(UNIT_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/exec_cpu tests/unit/exec_cpu_perturb
endif
EXEC_CPU_TEST = tests/unit/exec_cpu.c tests/unit/exec_calls.c tests/unit/exec_calls.h \
	tests/unit/rank_exec.c tests/unit/rank_exec.h \
	tests/unit/ranks.c tests/unit/ranks.h tests/unit/values.c tests/unit/values.h
tests_unit_exec_cpu_SOURCES = $(EXEC_CPU_TEST)
tests_unit_exec_cpu_CFLAGS = $(UNIT_CFLAGS)
tests_unit_exec_cpu_LDADD = libpipc-exec.la $(UNIT_LIBS)
tests_unit_exec_cpu_perturb_SOURCES = $(EXEC_CPU_TEST)
tests_unit_exec_cpu_perturb_CFLAGS = $(UNIT_CFLAGS) -DPIPC_PERTURB
tests_unit_exec_cpu_perturb_LDADD = libpipc-exec-perturb.la $(UNIT_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/control
endif
tests_unit_control_SOURCES = tests/unit/control.c tests/unit/ranks.c tests/unit/ranks.h
tests_unit_control_CFLAGS = $(UNIT_CFLAGS)
tests_unit_control_LDADD = libpipc-exec.la $(UNIT_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/exec_rails tests/unit/exec_rails_perturb
endif
EXEC_RAILS_TEST = tests/unit/exec_rails.c tests/unit/rail_fake.c tests/unit/rail_fake.h \
	tests/unit/ranks.c tests/unit/ranks.h tests/unit/values.c tests/unit/values.h
tests_unit_exec_rails_SOURCES = $(EXEC_RAILS_TEST)
tests_unit_exec_rails_CFLAGS = $(UNIT_CFLAGS)
tests_unit_exec_rails_LDADD = libpipc-exec.la $(UNIT_LIBS)
tests_unit_exec_rails_perturb_SOURCES = $(EXEC_RAILS_TEST)
tests_unit_exec_rails_perturb_CFLAGS = $(UNIT_CFLAGS) -DPIPC_PERTURB
tests_unit_exec_rails_perturb_LDADD = libpipc-exec-perturb.la $(UNIT_LIBS)

# Random calls, all verified; tests/gpu has the same on GPUs.
RANDOM_TEST = tests/unit/random.c tests/unit/random.h tests/unit/random_values.h \
	tests/unit/ranks.c tests/unit/ranks.h
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/random_cpu
endif
tests_unit_random_cpu_SOURCES = tests/unit/random_cpu.c $(RANDOM_TEST)
tests_unit_random_cpu_LDADD = libpipc-comm.la

# What calls and communicators leave behind, on the CPU; tests/gpu has the same on GPUs.
LIFE_TEST = tests/unit/life.c tests/unit/life.h tests/unit/ranks.c tests/unit/ranks.h
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/life_cpu tests/unit/no_malloc
endif
tests_unit_life_cpu_SOURCES = tests/unit/life_cpu.c $(LIFE_TEST)
tests_unit_life_cpu_LDADD = libpipc-comm.la
tests_unit_no_malloc_SOURCES = tests/unit/no_malloc.c tests/unit/mallocs.c tests/unit/mallocs.h \
	tests/unit/ranks.c tests/unit/ranks.h
tests_unit_no_malloc_LDADD = libpipc-comm.la

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/spank_place_gpus tests/unit/spank_place_cores tests/unit/spank_place_facts
endif
PLACE_TEST = tests/unit/place_case.c tests/unit/place_case.h
PLACE_LIBS = libpipc-place.la $(UNIT_LIBS)
tests_unit_spank_place_gpus_SOURCES = tests/unit/spank_place_gpus.c $(PLACE_TEST)
tests_unit_spank_place_gpus_CFLAGS = $(UNIT_CFLAGS)
tests_unit_spank_place_gpus_LDADD = $(PLACE_LIBS)
tests_unit_spank_place_cores_SOURCES = tests/unit/spank_place_cores.c $(PLACE_TEST)
tests_unit_spank_place_cores_CFLAGS = $(UNIT_CFLAGS)
tests_unit_spank_place_cores_LDADD = $(PLACE_LIBS)
tests_unit_spank_place_facts_SOURCES = tests/unit/spank_place_facts.c $(PLACE_TEST)
tests_unit_spank_place_facts_CFLAGS = $(UNIT_CFLAGS)
tests_unit_spank_place_facts_LDADD = $(PLACE_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/nodes tests/unit/xchg
endif
tests_unit_nodes_SOURCES = tests/unit/nodes.c
tests_unit_nodes_CFLAGS = $(UNIT_CFLAGS)
tests_unit_nodes_LDADD = libpipc-comm.la $(CMOCKA_LIBS)
tests_unit_xchg_SOURCES = tests/unit/xchg.c
tests_unit_xchg_CFLAGS = $(UNIT_CFLAGS)
tests_unit_xchg_LDADD = libpipc-xchg.la $(UNIT_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/spank_text
endif
tests_unit_spank_text_SOURCES = tests/unit/spank_text.c \
	spank/args.c spank/options.c spank/preload_list.c spank/report.c spank/wishes.c
tests_unit_spank_text_CFLAGS = $(UNIT_CFLAGS)
tests_unit_spank_text_LDADD = $(UNIT_LIBS)

# What tests of topology and binding share, compiled once.
if HAVE_CMOCKA
check_LTLIBRARIES += libpipc-topotest.la
endif
libpipc_topotest_la_SOURCES = \
	tests/unit/bind_text.c tests/unit/bind_text.h \
	tests/unit/topo_files.c tests/unit/topo_files.h \
	tests/unit/topo_sysroot.c tests/unit/topo_sysroot.h \
	tests/unit/topo_text.c tests/unit/topo_text.h
libpipc_topotest_la_CFLAGS = $(UNIT_CFLAGS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/topo
endif
tests_unit_topo_SOURCES = tests/unit/topo.c
tests_unit_topo_CFLAGS = $(UNIT_CFLAGS)
tests_unit_topo_LDADD = libpipc-topotest.la $(UNIT_LIBS) $(JANSSON_LIBS)

# The plugin's first object with a Slurm that exists only here, compiled once for three programs.
if HAVE_CMOCKA
if HAVE_SLURM
check_LTLIBRARIES += libpipc-spanktest.la
check_PROGRAMS += tests/unit/spank_hooks tests/unit/spank_option tests/unit/spank_needs
endif
endif
SPANK_TEST_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS) -include config.h \
	-DPIPC_BIND_OBJECT='"$(abs_top_builddir)/.libs/pcie_ipc_bind.so"' \
	-DPIPC_NCCL_HOOK='"$(abs_top_builddir)/tests/unit/spank_hooks.nccl/hook.so"' \
	-DPIPC_NCCL_TUNER='"$(abs_top_builddir)/tests/unit/spank_hooks.nccl/tuner.so"'
SPANK_TEST_LIBS = libpipc-spanktest.la $(CMOCKA_LIBS)
libpipc_spanktest_la_SOURCES = tests/unit/spank_fake.c tests/unit/spank_fake.h \
	$(spank_pcie_ipc_la_SOURCES)
libpipc_spanktest_la_CPPFLAGS = $(SPANK_TEST_CPPFLAGS)
libpipc_spanktest_la_CFLAGS = $(UNIT_CFLAGS)
tests_unit_spank_hooks_SOURCES = tests/unit/spank_hooks.c
tests_unit_spank_hooks_CPPFLAGS = $(SPANK_TEST_CPPFLAGS)
tests_unit_spank_hooks_CFLAGS = $(UNIT_CFLAGS)
tests_unit_spank_hooks_LDADD = $(SPANK_TEST_LIBS)
EXTRA_tests_unit_spank_hooks_DEPENDENCIES = pcie_ipc_bind.la
tests_unit_spank_option_SOURCES = tests/unit/spank_option.c
tests_unit_spank_option_CPPFLAGS = $(SPANK_TEST_CPPFLAGS)
tests_unit_spank_option_CFLAGS = $(UNIT_CFLAGS)
tests_unit_spank_option_LDADD = $(SPANK_TEST_LIBS)
EXTRA_tests_unit_spank_option_DEPENDENCIES = pcie_ipc_bind.la
tests_unit_spank_needs_SOURCES = tests/unit/spank_needs.c
tests_unit_spank_needs_CPPFLAGS = $(SPANK_TEST_CPPFLAGS)
tests_unit_spank_needs_CFLAGS = $(UNIT_CFLAGS)
tests_unit_spank_needs_LDADD = $(SPANK_TEST_LIBS)
EXTRA_tests_unit_spank_needs_DEPENDENCIES = pcie_ipc_bind.la

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/topo_sysfs tests/unit/topo_sysfs_devices
endif
tests_unit_topo_sysfs_SOURCES = tests/unit/topo_sysfs.c
tests_unit_topo_sysfs_CFLAGS = $(UNIT_CFLAGS)
tests_unit_topo_sysfs_LDADD = libpipc-topotest.la $(UNIT_LIBS)
tests_unit_topo_sysfs_devices_SOURCES = tests/unit/topo_sysfs_devices.c
tests_unit_topo_sysfs_devices_CFLAGS = $(UNIT_CFLAGS)
tests_unit_topo_sysfs_devices_LDADD = libpipc-topotest.la $(UNIT_LIBS)

if HAVE_SLURM
TESTS += tests/unit/spank_object.t
endif
EXTRA_DIST += tests/unit/spank_object.t

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/bind tests/unit/bind_best tests/unit/bind_cores tests/unit/bind_nic
endif
BIND_LIBS = libpipc-topotest.la $(UNIT_LIBS)
tests_unit_bind_SOURCES = tests/unit/bind.c
tests_unit_bind_CFLAGS = $(UNIT_CFLAGS)
tests_unit_bind_LDADD = $(BIND_LIBS)
tests_unit_bind_best_SOURCES = tests/unit/bind_best.c
tests_unit_bind_best_CFLAGS = $(UNIT_CFLAGS)
tests_unit_bind_best_LDADD = $(BIND_LIBS)
tests_unit_bind_cores_SOURCES = tests/unit/bind_cores.c
tests_unit_bind_cores_CFLAGS = $(UNIT_CFLAGS)
tests_unit_bind_cores_LDADD = $(BIND_LIBS)
tests_unit_bind_nic_SOURCES = tests/unit/bind_nic.c
tests_unit_bind_nic_CFLAGS = $(UNIT_CFLAGS)
tests_unit_bind_nic_LDADD = $(BIND_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/comm tests/unit/comm_fails
endif
tests_unit_comm_SOURCES = tests/unit/comm.c tests/unit/ranks.c tests/unit/ranks.h
tests_unit_comm_CFLAGS = $(UNIT_CFLAGS)
tests_unit_comm_LDADD = libpipc-comm.la $(CMOCKA_LIBS)
tests_unit_comm_fails_SOURCES = tests/unit/comm_fails.c tests/unit/ranks.c tests/unit/ranks.h
tests_unit_comm_fails_CFLAGS = $(UNIT_CFLAGS)
tests_unit_comm_fails_LDADD = libpipc-comm.la $(CMOCKA_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/comm_plans
endif
tests_unit_comm_plans_SOURCES = tests/unit/comm_plans.c tests/unit/ranks.c tests/unit/ranks.h
tests_unit_comm_plans_CFLAGS = $(UNIT_CFLAGS)
tests_unit_comm_plans_LDADD = libpipc-comm.la $(CMOCKA_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/comm_api
endif
tests_unit_comm_api_SOURCES = tests/unit/comm_api.c tests/unit/ranks.c tests/unit/ranks.h
tests_unit_comm_api_CFLAGS = $(UNIT_CFLAGS)
tests_unit_comm_api_LDADD = libpipc-comm.la $(CMOCKA_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/comm_nodes tests/unit/comm_nodes_tables
endif
SPLIT_TEST = tests/unit/split.c tests/unit/split.h tests/unit/ranks.c tests/unit/ranks.h
tests_unit_comm_nodes_SOURCES = tests/unit/comm_nodes.c $(SPLIT_TEST)
tests_unit_comm_nodes_CFLAGS = $(UNIT_CFLAGS)
tests_unit_comm_nodes_LDADD = libpipc-comm.la $(CMOCKA_LIBS)
tests_unit_comm_nodes_tables_SOURCES = tests/unit/comm_nodes_tables.c $(SPLIT_TEST)
tests_unit_comm_nodes_tables_CFLAGS = $(UNIT_CFLAGS)
tests_unit_comm_nodes_tables_LDADD = libpipc-comm.la $(CMOCKA_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/xchg_socket tests/unit/xchg_socket_strangers
endif
XCHG_SOCKET_TEST = tests/unit/xchg_dir.c tests/unit/xchg_dir.h tests/unit/ranks.c tests/unit/ranks.h
tests_unit_xchg_socket_SOURCES = tests/unit/xchg_socket.c $(XCHG_SOCKET_TEST)
tests_unit_xchg_socket_CFLAGS = $(UNIT_CFLAGS)
tests_unit_xchg_socket_LDADD = libpipc-xchg.la libpipc-exec.la $(UNIT_LIBS)
tests_unit_xchg_socket_strangers_SOURCES = tests/unit/xchg_socket_strangers.c $(XCHG_SOCKET_TEST)
tests_unit_xchg_socket_strangers_CFLAGS = $(UNIT_CFLAGS)
tests_unit_xchg_socket_strangers_LDADD = libpipc-xchg.la libpipc-exec.la $(UNIT_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/topo_nomem
endif
tests_unit_topo_nomem_SOURCES = tests/unit/topo_nomem.c
tests_unit_topo_nomem_CFLAGS = $(UNIT_CFLAGS)
tests_unit_topo_nomem_LDADD = libpipc-topofiles.la $(UNIT_LIBS) $(JANSSON_LIBS) $(HWLOC_LIBS)
tests_unit_topo_nomem_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc \
	-Wl,--wrap=hwloc_bitmap_alloc,--wrap=hwloc_bitmap_dup,--wrap=hwloc_bitmap_copy

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/topo_tool
endif
tests_unit_topo_tool_SOURCES = tests/unit/topo_tool.c spank/options.c
tests_unit_topo_tool_CFLAGS = $(UNIT_CFLAGS)
tests_unit_topo_tool_LDADD = $(UNIT_LIBS) $(JANSSON_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/health tests/unit/health_act tests/unit/health_breaker tests/unit/health_round tests/unit/health_guard tests/unit/health_state tests/unit/health_facts tests/unit/health_dumps tests/unit/health_text tests/unit/health_tool tests/unit/config
check_PROGRAMS += tests/unit/health_log tests/unit/health_node tests/unit/health_nvml
check_LTLIBRARIES += tests/unit/health_nvml_fake.la
endif
tests_unit_health_SOURCES = tests/unit/health.c
tests_unit_health_CFLAGS = $(UNIT_CFLAGS)
tests_unit_health_LDADD = libpipc-gate.la $(CMOCKA_LIBS)
tests_unit_health_guard_SOURCES = tests/unit/health_guard.c $(GUARD)
tests_unit_health_guard_CFLAGS = $(UNIT_CFLAGS)
tests_unit_health_guard_LDFLAGS = -Wl,--wrap=kill
tests_unit_health_guard_LDADD = $(CMOCKA_LIBS)
tests_unit_health_act_SOURCES = tests/unit/health_act.c tests/unit/health_tree.c tests/unit/health_tree.h
tests_unit_health_act_CFLAGS = $(UNIT_CFLAGS)
tests_unit_health_act_LDADD = libpipc-gate.la $(CMOCKA_LIBS)
tests_unit_health_breaker_SOURCES = tests/unit/health_breaker.c
tests_unit_health_breaker_CFLAGS = $(UNIT_CFLAGS) $(JANSSON_CFLAGS)
tests_unit_health_breaker_LDADD = libpipc-gate.la $(CMOCKA_LIBS) $(JANSSON_LIBS)
tests_unit_health_round_SOURCES = tests/unit/health_round.c tests/unit/health_tree.c tests/unit/health_tree.h
tests_unit_health_round_CFLAGS = $(UNIT_CFLAGS)
tests_unit_health_round_LDFLAGS = -Wl,--wrap=nanosleep
tests_unit_health_round_LDADD = libpipc-gate.la $(CMOCKA_LIBS)
tests_unit_health_state_SOURCES = tests/unit/health_state.c
tests_unit_health_state_CFLAGS = $(UNIT_CFLAGS)
tests_unit_health_state_LDADD = libpipc-gate.la $(CMOCKA_LIBS)
HEALTH_FOUND_TEST = tests/unit/health_found.c tests/unit/health_found.h \
	tests/unit/health_tree.c tests/unit/health_tree.h
tests_unit_health_facts_SOURCES = tests/unit/health_facts.c $(HEALTH_FOUND_TEST)
tests_unit_health_facts_CFLAGS = $(UNIT_CFLAGS) $(PCI_CFLAGS)
tests_unit_health_facts_LDADD = libpipc-gate.la $(CMOCKA_LIBS)
tests_unit_health_facts_LDFLAGS = -Wl,--wrap=pci_get_dev
tests_unit_health_dumps_SOURCES = tests/unit/health_dumps.c $(HEALTH_FOUND_TEST)
tests_unit_health_dumps_CFLAGS = $(UNIT_CFLAGS)
tests_unit_health_dumps_LDADD = libpipc-gate.la $(CMOCKA_LIBS)
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/health_counters tests/unit/health_watch tests/unit/health_job
endif
tests_unit_health_counters_SOURCES = tests/unit/health_counters.c tests/unit/health_tree.c tests/unit/health_tree.h
tests_unit_health_counters_CFLAGS = $(UNIT_CFLAGS) $(JANSSON_CFLAGS)
tests_unit_health_counters_LDADD = libpipc-gate.la $(CMOCKA_LIBS)
tests_unit_health_watch_SOURCES = tests/unit/health_watch.c tests/unit/health_tree.c tests/unit/health_tree.h
tests_unit_health_watch_CFLAGS = $(UNIT_CFLAGS) $(JANSSON_CFLAGS)
tests_unit_health_watch_LDADD = libpipc-gate.la $(CMOCKA_LIBS)
tests_unit_health_job_SOURCES = tests/unit/health_job.c tests/unit/health_tree.c tests/unit/health_tree.h
tests_unit_health_job_CFLAGS = $(UNIT_CFLAGS) $(JANSSON_CFLAGS)
tests_unit_health_job_LDADD = libpipc-gate.la $(CMOCKA_LIBS)
tests_unit_health_text_SOURCES = tests/unit/health_text.c
tests_unit_health_text_CFLAGS = $(UNIT_CFLAGS)
tests_unit_health_text_LDADD = libpipc-gate.la $(CMOCKA_LIBS)
tests_unit_health_node_SOURCES = tests/unit/health_node.c tests/unit/health_tree.c tests/unit/health_tree.h
tests_unit_health_node_CFLAGS = $(UNIT_CFLAGS)
tests_unit_health_node_LDFLAGS = -Wl,--wrap=pread
tests_unit_health_node_LDADD = libpipc-gate.la $(CMOCKA_LIBS)
tests_unit_health_nvml_SOURCES = tests/unit/health_nvml.c tests/unit/health_tree.c tests/unit/health_tree.h
tests_unit_health_nvml_CFLAGS = $(UNIT_CFLAGS)
tests_unit_health_nvml_LDADD = libpipc-gate.la $(CMOCKA_LIBS)
tests_unit_health_nvml_fake_la_SOURCES = tests/unit/health_nvml_fake.c
tests_unit_health_nvml_fake_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
tests_unit_health_log_SOURCES = tests/unit/health_log.c
tests_unit_health_log_CFLAGS = $(UNIT_CFLAGS)
tests_unit_health_log_LDADD = libpipc-gate.la $(CMOCKA_LIBS)
tests_unit_health_tool_SOURCES = tests/unit/health_tool.c tests/unit/health_tree.c tests/unit/health_tree.h
tests_unit_health_tool_CFLAGS = $(UNIT_CFLAGS)
tests_unit_health_tool_LDFLAGS = -Wl,--wrap=pipc__check
tests_unit_health_tool_LDADD = libpipc-gate.la $(CMOCKA_LIBS)
tests_unit_config_SOURCES = tests/unit/config.c
tests_unit_config_CFLAGS = $(UNIT_CFLAGS)
tests_unit_config_LDADD = libpipc-gate.la $(CMOCKA_LIBS)
TESTS += tests/unit/health_object.t tests/unit/health_cases.t tests/unit/health_schema.t
EXTRA_DIST += tests/unit/health_object.t tests/unit/health_cases.t tests/unit/health_schema.t \
	tests/unit/health_schema.py

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/health_limits tests/unit/health_baseline tests/unit/health_site
endif
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/health_checklist tests/unit/health_prometheus
endif
EXTRA_DIST += tests/unit/prometheus_text.py
tests_unit_health_prometheus_SOURCES = tests/unit/health_prometheus.c tests/unit/health_tree.c tests/unit/health_tree.h
tests_unit_health_prometheus_CFLAGS = $(UNIT_CFLAGS)
tests_unit_health_prometheus_LDADD = libpipc-gate.la $(CMOCKA_LIBS)
tests_unit_health_checklist_SOURCES = tests/unit/health_checklist.c tests/unit/health_tree.c tests/unit/health_tree.h
tests_unit_health_checklist_CFLAGS = $(UNIT_CFLAGS)
tests_unit_health_checklist_LDADD = libpipc-gate.la $(CMOCKA_LIBS)
tests_unit_health_site_SOURCES = tests/unit/health_site.c tests/unit/health_tree.c tests/unit/health_tree.h
tests_unit_health_site_CFLAGS = $(UNIT_CFLAGS)
tests_unit_health_site_LDADD = libpipc-gate.la $(CMOCKA_LIBS)
tests_unit_health_baseline_SOURCES = tests/unit/health_baseline.c tests/unit/health_tree.c tests/unit/health_tree.h
tests_unit_health_baseline_CFLAGS = $(UNIT_CFLAGS)
tests_unit_health_baseline_LDADD = libpipc-gate.la $(CMOCKA_LIBS)
tests_unit_health_limits_SOURCES = tests/unit/health_limits.c tests/unit/health_tree.c tests/unit/health_tree.h
tests_unit_health_limits_CFLAGS = $(UNIT_CFLAGS)
tests_unit_health_limits_LDADD = libpipc-gate.la $(CMOCKA_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/marker
endif
tests_unit_marker_SOURCES = tests/unit/marker.c
tests_unit_marker_CFLAGS = $(UNIT_CFLAGS)
tests_unit_marker_LDADD = $(UNIT_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/spank_stepdir
endif
tests_unit_spank_stepdir_SOURCES = tests/unit/spank_stepdir.c spank/stepdir.c
tests_unit_spank_stepdir_CFLAGS = $(UNIT_CFLAGS)
tests_unit_spank_stepdir_LDADD = $(UNIT_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/spank_health
endif
tests_unit_spank_health_SOURCES = tests/unit/spank_health.c spank/health.c
tests_unit_spank_health_CFLAGS = $(UNIT_CFLAGS)
tests_unit_spank_health_LDADD = libpipc-place.la $(UNIT_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/exec_threads
endif
tests_unit_exec_threads_SOURCES = tests/unit/exec_threads.c tests/unit/exec_calls.c tests/unit/exec_calls.h \
	tests/unit/rank_exec.c tests/unit/rank_exec.h \
	tests/unit/ranks.c tests/unit/ranks.h tests/unit/values.c tests/unit/values.h
tests_unit_exec_threads_CFLAGS = $(UNIT_CFLAGS)
tests_unit_exec_threads_LDADD = libpipc-exec.la $(UNIT_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/topo_relation tests/unit/topo_outputs tests/unit/topo_compare tests/unit/topo_nvml
check_LTLIBRARIES += tests/unit/topo_nvml_fake.la
endif
tests_unit_topo_relation_SOURCES = tests/unit/topo_relation.c
tests_unit_topo_relation_CFLAGS = $(UNIT_CFLAGS)
tests_unit_topo_relation_LDADD = libpipc-topotest.la libpipc-topofiles.la $(UNIT_LIBS)
tests_unit_topo_outputs_SOURCES = tests/unit/topo_outputs.c
tests_unit_topo_outputs_CFLAGS = $(UNIT_CFLAGS)
tests_unit_topo_outputs_LDADD = libpipc-topotest.la libpipc-topofiles.la $(UNIT_LIBS) $(JANSSON_LIBS) $(HWLOC_LIBS)
tests_unit_topo_compare_SOURCES = tests/unit/topo_compare.c
tests_unit_topo_compare_CFLAGS = $(UNIT_CFLAGS)
tests_unit_topo_compare_LDADD = libpipc-topotest.la libpipc-topofiles.la $(UNIT_LIBS) $(HWLOC_LIBS)
tests_unit_topo_nvml_SOURCES = tests/unit/topo_nvml.c \
	runtime/base/ask.c runtime/base/ask.h \
	runtime/tools/topo/nvml.c runtime/tools/topo/nvml.h
tests_unit_topo_nvml_CFLAGS = $(UNIT_CFLAGS)
tests_unit_topo_nvml_LDADD = libpipc-topotest.la $(UNIT_LIBS)
# A module needs -rpath to be shared though it is never installed.
tests_unit_topo_nvml_fake_la_SOURCES = tests/unit/topo_nvml_fake.c
tests_unit_topo_nvml_fake_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/plan_shapes tests/unit/plan_scale
endif
tests_unit_plan_shapes_SOURCES = tests/unit/plan_shapes.c
tests_unit_plan_shapes_CFLAGS = $(UNIT_CFLAGS)
tests_unit_plan_shapes_LDADD = $(UNIT_LIBS)
tests_unit_plan_shapes_LDFLAGS = -Wl,--wrap=calloc,--wrap=realloc
tests_unit_plan_scale_SOURCES = tests/unit/plan_scale.c tests/unit/rank_exec.c tests/unit/rank_exec.h \
	tests/unit/ranks.c tests/unit/ranks.h
tests_unit_plan_scale_CFLAGS = $(UNIT_CFLAGS)
tests_unit_plan_scale_LDADD = libpipc-exec.la $(UNIT_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/sim_links tests/unit/sim_by_hand tests/unit/sim_plans tests/unit/sim_rails
endif
SIM_TEST = tests/unit/sim_machine.c tests/unit/sim_machine.h
SIM_LIBS = libpipc-sim.la $(UNIT_LIBS) -lm
tests_unit_sim_links_SOURCES = tests/unit/sim_links.c $(SIM_TEST)
tests_unit_sim_links_CFLAGS = $(UNIT_CFLAGS)
tests_unit_sim_links_LDADD = $(SIM_LIBS)
tests_unit_sim_links_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
tests_unit_sim_by_hand_SOURCES = tests/unit/sim_by_hand.c $(SIM_TEST)
tests_unit_sim_by_hand_CFLAGS = $(UNIT_CFLAGS)
tests_unit_sim_by_hand_LDADD = $(SIM_LIBS)
tests_unit_sim_plans_SOURCES = tests/unit/sim_plans.c $(SIM_TEST)
tests_unit_sim_plans_CFLAGS = $(UNIT_CFLAGS)
tests_unit_sim_plans_LDADD = $(SIM_LIBS)
tests_unit_sim_rails_SOURCES = tests/unit/sim_rails.c \
	runtime/rail/schedule.c runtime/rail/schedule.h
tests_unit_sim_rails_CFLAGS = $(UNIT_CFLAGS)
tests_unit_sim_rails_LDADD = $(SIM_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/topo_sources tests/unit/topo_nccl tests/unit/topo_matrix \
	tests/unit/topo_hwloc tests/unit/topo_lspci tests/unit/cli \
	tests/unit/outfile
endif
TOPO_FILES_LIBS = libpipc-topotest.la libpipc-topofiles.la $(CMOCKA_LIBS)
tests_unit_topo_sources_SOURCES = tests/unit/topo_sources.c tests/unit/topo_nccl_text.h
tests_unit_topo_sources_CFLAGS = $(UNIT_CFLAGS)
tests_unit_topo_sources_LDADD = $(TOPO_FILES_LIBS)
tests_unit_topo_nccl_SOURCES = tests/unit/topo_nccl.c tests/unit/topo_nccl_text.h
tests_unit_topo_nccl_CFLAGS = $(UNIT_CFLAGS)
tests_unit_topo_nccl_LDADD = $(TOPO_FILES_LIBS)
tests_unit_topo_matrix_SOURCES = tests/unit/topo_matrix.c
tests_unit_topo_matrix_CFLAGS = $(UNIT_CFLAGS)
tests_unit_topo_matrix_LDADD = $(TOPO_FILES_LIBS)
tests_unit_topo_lspci_SOURCES = tests/unit/topo_lspci.c
tests_unit_topo_lspci_CFLAGS = $(UNIT_CFLAGS)
tests_unit_topo_lspci_LDADD = $(TOPO_FILES_LIBS)
tests_unit_topo_hwloc_SOURCES = tests/unit/topo_hwloc.c tests/unit/topo_nccl_text.h
tests_unit_topo_hwloc_CFLAGS = $(UNIT_CFLAGS)
tests_unit_topo_hwloc_LDADD = $(TOPO_FILES_LIBS)
tests_unit_cli_SOURCES = tests/unit/cli.c
tests_unit_cli_CFLAGS = $(UNIT_CFLAGS)
tests_unit_cli_LDADD = libpipc-topofiles.la $(CMOCKA_LIBS)
tests_unit_outfile_SOURCES = tests/unit/outfile.c
tests_unit_outfile_CFLAGS = $(UNIT_CFLAGS)
tests_unit_outfile_LDADD = libpipc-cli.la $(UNIT_LIBS)

TESTS += tests/unit/plan_tool.t
EXTRA_DIST += tests/unit/plan_tool.t

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/tune
endif
tests_unit_tune_SOURCES = tests/unit/tune.c tests/unit/comma.h
tests_unit_tune_CFLAGS = $(UNIT_CFLAGS)
tests_unit_tune_LDADD = libpipc-tune.la $(UNIT_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/nccl
check_LTLIBRARIES += tests/unit/nccl_fake.la
endif
tests_unit_nccl_SOURCES = tests/unit/nccl.c tests/unit/ranks.c tests/unit/ranks.h \
	tests/unit/rank_exec.c tests/unit/rank_exec.h
tests_unit_nccl_CFLAGS = $(UNIT_CFLAGS)
tests_unit_nccl_LDADD = libpipc-exec.la $(UNIT_LIBS)
EXTRA_tests_unit_nccl_DEPENDENCIES = tests/unit/nccl_fake.la
tests_unit_nccl_fake_la_SOURCES = tests/unit/nccl_fake.c
tests_unit_nccl_fake_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/bench_results tests/unit/bench_chart tests/unit/bench_nccl tests/unit/bench_overlap \
	tests/unit/bench_turns tests/unit/bench_fold
check_LTLIBRARIES += tests/unit/bench_nccl_fake.la
endif
tests_unit_bench_results_SOURCES = tests/unit/bench_results.c \
	runtime/tools/bench/results.c runtime/tools/bench/results.h
tests_unit_bench_results_CFLAGS = $(UNIT_CFLAGS)
tests_unit_bench_results_LDADD = $(UNIT_LIBS) -lm
tests_unit_bench_chart_SOURCES = tests/unit/bench_chart.c runtime/tools/chart.c runtime/tools/chart.h
tests_unit_bench_chart_CFLAGS = $(UNIT_CFLAGS)
tests_unit_bench_chart_LDADD = $(CMOCKA_LIBS) -lm
tests_unit_bench_nccl_SOURCES = tests/unit/bench_nccl.c \
	runtime/tools/bench/beside.c runtime/tools/bench/burst.c runtime/tools/bench/check.c runtime/tools/bench/data.c runtime/tools/bench/fold.c \
	runtime/tools/bench/device_cpu.c runtime/tools/bench/measure.c runtime/tools/bench/overlap.c \
	runtime/tools/bench/peer.c runtime/tools/bench/peer_nccl.c runtime/tools/bench/results.c
tests_unit_bench_nccl_CFLAGS = $(UNIT_CFLAGS)
tests_unit_bench_nccl_LDADD = libpipc-comm.la $(CMOCKA_LIBS) -lm
tests_unit_bench_fold_SOURCES = tests/unit/bench_fold.c $(SPLIT_TEST) \
	runtime/tools/bench/device_cpu.c runtime/tools/bench/fold.c
tests_unit_bench_fold_CFLAGS = $(UNIT_CFLAGS)
tests_unit_bench_fold_LDADD = libpipc-comm.la $(CMOCKA_LIBS)
tests_unit_bench_overlap_SOURCES = tests/unit/bench_overlap.c \
	runtime/tools/bench/beside.c runtime/tools/bench/burst.c runtime/tools/bench/check.c runtime/tools/bench/data.c runtime/tools/bench/fold.c \
	runtime/tools/bench/measure.c runtime/tools/bench/overlap.c runtime/tools/bench/peer.c \
	runtime/tools/bench/results.c
tests_unit_bench_overlap_CFLAGS = $(UNIT_CFLAGS)
tests_unit_bench_overlap_LDADD = libpipc-comm.la $(CMOCKA_LIBS) -lm
tests_unit_bench_turns_SOURCES = tests/unit/bench_turns.c \
	runtime/tools/bench/beside.c runtime/tools/bench/burst.c runtime/tools/bench/check.c runtime/tools/bench/data.c runtime/tools/bench/fold.c \
	runtime/tools/bench/measure.c runtime/tools/bench/overlap.c runtime/tools/bench/peer.c \
	runtime/tools/bench/results.c
tests_unit_bench_turns_CFLAGS = $(UNIT_CFLAGS)
tests_unit_bench_turns_LDADD = libpipc-comm.la $(CMOCKA_LIBS) -lm
tests_unit_bench_nccl_fake_la_SOURCES = tests/unit/bench_nccl_fake.c
tests_unit_bench_nccl_fake_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/comm_tables
endif
tests_unit_comm_tables_SOURCES = tests/unit/comm_tables.c tests/unit/ranks.c tests/unit/ranks.h \
	tests/unit/rank_exec.c tests/unit/rank_exec.h
tests_unit_comm_tables_CFLAGS = $(UNIT_CFLAGS)
EXTRA_tests_unit_comm_tables_DEPENDENCIES = tests/unit/nccl_fake.la
tests_unit_comm_tables_LDADD = libpipc-comm.la $(CMOCKA_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/comm_fit
endif
tests_unit_comm_fit_SOURCES = tests/unit/comm_fit.c tests/unit/ranks.c tests/unit/ranks.h \
	tests/unit/rank_exec.c tests/unit/rank_exec.h
tests_unit_comm_fit_CFLAGS = $(UNIT_CFLAGS)
tests_unit_comm_fit_LDADD = libpipc-comm.la $(CMOCKA_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/probe
endif
tests_unit_probe_SOURCES = tests/unit/probe.c
tests_unit_probe_CFLAGS = $(UNIT_CFLAGS)
tests_unit_probe_LDADD = libpipc-comm.la $(CMOCKA_LIBS)

TESTS += tests/unit/bench_tool.t tests/unit/pkg_config.t tests/unit/tune_tool.t tests/unit/measure.t tests/unit/many.t
EXTRA_DIST += tests/unit/bench_tool.t tests/unit/pkg_config.t tests/unit/tune_tool.t tests/unit/measure.t tests/unit/many.t

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/replay
endif
tests_unit_replay_SOURCES = tests/unit/replay.c
tests_unit_replay_CFLAGS = $(UNIT_CFLAGS)
tests_unit_replay_LDADD = libpipc-replay.la $(UNIT_LIBS)
tests_unit_replay_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

# Plans over nodes as the CUDA executor enqueues them, for the same kernels on the CPU. Blocks are small there.
if HAVE_CMOCKA
if HAVE_CXX
if HAVE_CUDA
check_PROGRAMS += tests/unit/kernels_nodes_perturb
endif
endif
endif
tests_unit_kernels_nodes_perturb_SOURCES = tests/unit/kernels_nodes.c \
	runtime/exec/cuda_launch.c runtime/exec/cuda_program.c runtime/exec/cuda_rail.c runtime/exec/cuda_simple.c \
	tests/emulate/allreduce.cc \
	tests/emulate/cuda.h \
	tests/emulate/emulate.c tests/emulate/emulate.h \
	tests/emulate/every.cuh tests/emulate/kernels.h tests/emulate/ptx.cuh \
	tests/unit/values.c tests/unit/values.h
tests_unit_kernels_nodes_perturb_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS) -DPIPC_PERTURB -DPIPC__LANE_THREADS=8
tests_unit_kernels_nodes_perturb_CFLAGS = $(UNIT_CFLAGS)
tests_unit_kernels_nodes_perturb_CXXFLAGS = -std=gnu++14 -ffp-contract=off -w
tests_unit_kernels_nodes_perturb_LDADD = libpipc-exec-perturb.la $(UNIT_LIBS)

# NCCL's tuner plugin: its parts, and the library as NCCL opens it.
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/tuner
endif
tests_unit_tuner_SOURCES = tests/unit/tuner.c $(TUNER_SOURCES)
tests_unit_tuner_CPPFLAGS = $(AM_CPPFLAGS) -DPIPC_CONFDIR='"/nowhere"'
tests_unit_tuner_CFLAGS = $(UNIT_CFLAGS)
EXTRA_tests_unit_tuner_DEPENDENCIES = libnccl-tuner-pcie-ipc.la tests/unit/bench_nccl_fake.la
tests_unit_tuner_LDADD = libpipc-comm.la $(CMOCKA_LIBS)
TESTS += tests/unit/tuner_object.t tests/unit/containers.t tests/unit/measure_tuner.t
EXTRA_DIST += tests/unit/tuner_object.t tests/unit/containers.t tests/unit/measure_tuner.t tests/measure-tuner tests/measure-hook

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/report
endif
tests_unit_report_SOURCES = tests/unit/report.c tests/unit/comma.h
tests_unit_report_CFLAGS = $(UNIT_CFLAGS)
tests_unit_report_LDADD = libpipc-comm.la $(CMOCKA_LIBS) $(JANSSON_LIBS)

# NVTX ranges, with a profiler that NVTX opens.
if HAVE_CMOCKA
if HAVE_NVTX
check_PROGRAMS += tests/unit/ranges
check_LTLIBRARIES += tests/unit/ranges_profiler.la
endif
endif
tests_unit_ranges_SOURCES = tests/unit/ranges.c tests/unit/ranges_profiler.h \
	tests/unit/mallocs.c tests/unit/mallocs.h tests/unit/ranks.c tests/unit/ranks.h
tests_unit_ranges_CFLAGS = $(UNIT_CFLAGS)
tests_unit_ranges_LDADD = libpipc-comm.la $(CMOCKA_LIBS)
EXTRA_tests_unit_ranges_DEPENDENCIES = tests/unit/ranges_profiler.la
tests_unit_ranges_profiler_la_SOURCES = tests/unit/ranges_profiler.c tests/unit/ranges_profiler.h
tests_unit_ranges_profiler_la_CPPFLAGS = $(AM_CPPFLAGS) $(NVTX_CPPFLAGS)
tests_unit_ranges_profiler_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere

# The gate's own part of the CUDA driver and NVML, with a library that answers as both do.
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/wake tests/unit/stress
check_LTLIBRARIES += tests/unit/gpu_fake.la
endif
tests_unit_wake_SOURCES = tests/unit/wake.c tests/unit/health_tree.c tests/unit/health_tree.h prolog/wake_look.c
tests_unit_wake_CPPFLAGS = $(AM_CPPFLAGS) -DPIPC_WAKE_RAISE_MS=50
tests_unit_wake_CFLAGS = $(UNIT_CFLAGS)
tests_unit_wake_LDADD = libpipc-gate.la $(CMOCKA_LIBS)
EXTRA_tests_unit_wake_DEPENDENCIES = tests/unit/gpu_fake.la
tests_unit_stress_SOURCES = tests/unit/stress.c tests/unit/health_tree.c tests/unit/health_tree.h $(STRESS)
tests_unit_stress_CPPFLAGS = $(AM_CPPFLAGS) -DSTRESS_HANG_S='(getenv("STRESS_HANG") ? 0.5 : 60)'
tests_unit_stress_CFLAGS = $(UNIT_CFLAGS) $(JANSSON_CFLAGS)
tests_unit_stress_LDADD = libpipc-gate.la libpipc-cli.la $(CMOCKA_LIBS)
EXTRA_tests_unit_stress_DEPENDENCIES = tests/unit/gpu_fake.la
if HAVE_CUDA
check_PROGRAMS += tests/unit/gpu_driver
endif
tests_unit_gpu_driver_SOURCES = tests/unit/gpu_driver.c
tests_unit_gpu_driver_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_gpu_fake_la_SOURCES = tests/unit/gpu_fake.c
tests_unit_gpu_fake_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere

# Rails: who sends what, and the engine over UCX with forked processes as nodes.
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/rail_schedule tests/unit/rail_silence tests/unit/rights
if HAVE_UCX
check_PROGRAMS += tests/unit/rail_ucx
endif
endif
tests_unit_rights_SOURCES = tests/unit/rights.c
tests_unit_rights_CFLAGS = $(UNIT_CFLAGS)
tests_unit_rights_LDADD = libpipc-rail.la libpipc-exec.la $(UNIT_LIBS)
tests_unit_rail_schedule_SOURCES = tests/unit/rail_schedule.c
tests_unit_rail_schedule_CFLAGS = $(UNIT_CFLAGS)
tests_unit_rail_schedule_LDADD = libpipc-rail.la $(UNIT_LIBS)
tests_unit_rail_silence_SOURCES = tests/unit/rail_silence.c
tests_unit_rail_silence_CFLAGS = $(UNIT_CFLAGS)
tests_unit_rail_silence_LDADD = libpipc-rail.la $(UNIT_LIBS)
tests_unit_rail_ucx_SOURCES = tests/unit/rail_ucx.c tests/unit/rail_nodes.c tests/unit/rail_nodes.h \
	tests/unit/ranks.c tests/unit/ranks.h tests/unit/values.c tests/unit/values.h
tests_unit_rail_ucx_CFLAGS = $(UNIT_CFLAGS)
tests_unit_rail_ucx_LDADD = libpipc-rail.la libpipc-exec.la $(UNIT_LIBS)
