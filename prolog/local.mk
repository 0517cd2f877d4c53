# prolog/local.mk - the gate

# The checker's parts, for the tests too. The configuration is read here: only the gate needs inih yet.
noinst_LTLIBRARIES += libpipc-gate.la
libpipc_gate_la_SOURCES = \
	runtime/base/ask.c runtime/base/ask.h \
	runtime/base/config.c runtime/base/config.h \
	runtime/base/ini.c runtime/base/ini.h \
	prolog/ack.c prolog/ack.h \
	prolog/act.c prolog/act.h \
	prolog/baseline.c prolog/baseline_file.c prolog/baseline.h \
	prolog/breaker.c prolog/breaker.h \
	prolog/census.c prolog/census.h \
	prolog/changes.c prolog/changes.h \
	prolog/check.c prolog/check.h prolog/check_time.c prolog/check_time.h \
	prolog/checklist.c prolog/checklist.h prolog/checklist_lines.h \
	prolog/checklist_facts.c prolog/checklist_facts.h \
	prolog/checklist_links.c prolog/checklist_node.c \
	prolog/codes.c prolog/codes.h \
	prolog/conditions.c prolog/conditions.h \
	prolog/config_space.c prolog/config_space.h \
	prolog/counters.c prolog/counters.h prolog/counters_json.c \
	prolog/deltas.c prolog/deltas.h \
	prolog/diary.c prolog/diary.h \
	prolog/dips.c prolog/dips.h \
	prolog/drained.c prolog/drained.h \
	prolog/elsewhere.c prolog/elsewhere.h \
	prolog/examine.c prolog/examine.h \
	prolog/explain.c prolog/explain.h \
	prolog/express.c prolog/express.h \
	prolog/extended.c prolog/extended.h \
	prolog/facts.h \
	prolog/facts_dump.c \
	prolog/facts_guest.c prolog/facts_log.c prolog/facts_node.c prolog/facts_nvml.c prolog/facts_parts.h \
	prolog/facts_sysfs.c \
	prolog/facts_text.c \
	prolog/findings.c \
	prolog/gate.c prolog/gate.h \
	prolog/gpu_driver.c prolog/gpu_driver.h \
	prolog/gpus.c prolog/gpus.h \
	prolog/guard.c prolog/guard.h \
	prolog/healthcheck.c prolog/healthcheck.h \
	prolog/identity.c prolog/identity.h \
	prolog/job.c prolog/job.h prolog/job_report.c \
	prolog/job_id.c prolog/job_id.h \
	prolog/judge.c prolog/judge.h \
	prolog/judge_baseline.c prolog/judge_baseline.h \
	prolog/judge_deltas.c prolog/judge_errors.c prolog/judge_log.c prolog/judge_node.c prolog/judge_nvml.c \
	prolog/judging.h \
	prolog/kernel_driver.c prolog/kernel_iommu.c prolog/kernel_line.h \
	prolog/kernel_origin.c prolog/kernel_port.c prolog/kernel_ras.c prolog/kernel_record.c prolog/kernel_time.c \
	prolog/kernel_log.c prolog/kernel_log.h \
	prolog/limits.c prolog/limits.h \
	prolog/links.c prolog/links.h \
	prolog/looks.c prolog/looks.h \
	prolog/off.c prolog/start.h \
	prolog/output.c prolog/output.h \
	prolog/p2p_matrix.c prolog/p2p_matrix.h \
	prolog/in_view.c prolog/in_view.h \
	prolog/places.c prolog/places.h \
	prolog/prometheus.c prolog/prometheus.h \
	prolog/reason.c prolog/reason.h \
	prolog/ring.c prolog/ring.h \
	prolog/said.c prolog/said.h \
	prolog/scope.c prolog/scope.h \
	prolog/site.c prolog/site.h \
	prolog/slurm.c prolog/slurm.h \
	prolog/snapshot.c prolog/snapshot.h \
	prolog/state.c prolog/state.h \
	prolog/stress_record.c prolog/stress_record.h \
	prolog/wake.c prolog/wake.h \
	prolog/wake_judge.c \
	prolog/wake_look.c \
	prolog/watch.c prolog/watch.h \
	prolog/text_entry.h prolog/text_first.c prolog/text_registers.c \
	prolog/text_files.c prolog/text_files.h prolog/text_smi.c \
	prolog/text_keep.c prolog/text_line.c prolog/text_line.h \
	prolog/xid.c prolog/xid.h
libpipc_gate_la_CFLAGS = $(AM_CFLAGS) $(HWLOC_CFLAGS) $(PCI_CFLAGS) $(JANSSON_CFLAGS) $(INIH_CFLAGS)
libpipc_gate_la_LIBADD = libpipc-core.la libpipc-dump.la $(PCI_LIBS) $(JANSSON_LIBS) $(INIH_LIBS)

# What Slurm runs: libc only, so that no library that is missing can fail it (tests/unit/health_object.t).
GUARD = prolog/guard.c prolog/guard.h prolog/prolog.c prolog/prolog.h prolog/say.c \
	prolog/off.c prolog/start.c prolog/start.h prolog/state.c prolog/state.h \
	prolog/epilog.c prolog/epilog.h prolog/job_id.c prolog/job_id.h spank/stepdir.c spank/stepdir.h \
	runtime/base/error.c runtime/base/error.h
GATE_PATHS = -DPIPC_CHECKER='"$(pkglibexecdir)/gate"' -DPIPC_LIBEXEC='"$(pkglibexecdir)"' \
	-DPIPC_CONFIG='"$(sysconfdir)/pcie-ipc/pcie-ipc.conf"' \
	-DPIPC_LIMITS='"$(sysconfdir)/pcie-ipc/limits.conf"' \
	-DPIPC_BASELINE='"$(sysconfdir)/pcie-ipc/baseline.conf"' \
	-DPIPC_OFF='"$(sysconfdir)/pcie-ipc/disabled"'

sbin_PROGRAMS = pcie-ipc-health
pcie_ipc_health_SOURCES = prolog/health_main.c $(GUARD)
pcie_ipc_health_CPPFLAGS = $(AM_CPPFLAGS) $(GATE_PATHS)

pkglibexec_PROGRAMS = prolog/gate prolog/prolog prolog/epilog prolog/healthcheck
prolog_prolog_SOURCES = prolog/prolog_main.c $(GUARD)
prolog_prolog_CPPFLAGS = $(AM_CPPFLAGS) $(GATE_PATHS)
prolog_epilog_SOURCES = prolog/epilog_main.c $(GUARD)
prolog_epilog_CPPFLAGS = $(AM_CPPFLAGS) $(GATE_PATHS)
prolog_healthcheck_SOURCES = prolog/healthcheck_main.c $(GUARD)
prolog_healthcheck_CPPFLAGS = $(AM_CPPFLAGS) $(GATE_PATHS)
prolog_gate_SOURCES = prolog/main.c prolog/verbs.h prolog/verb_accept.c prolog/verb_ack.c prolog/verb_baseline.c \
	prolog/verb_census.c prolog/verb_check.c prolog/verb_checklist.c prolog/verb_healthcheck.c prolog/verb_job.c \
	prolog/verb_links.c prolog/verb_machine.c prolog/verb_snapshot.c prolog/verb_undrain.c prolog/verb_watch.c
prolog_gate_CPPFLAGS = $(AM_CPPFLAGS) $(GATE_PATHS)
prolog_gate_CFLAGS = $(AM_CFLAGS) $(HWLOC_CFLAGS) $(JANSSON_CFLAGS)
prolog_gate_LDADD = libpipc-gate.la libpipc-cli.la

# Its own sources stand in a variable: tests build them in.
STRESS = prolog/stress/choose.c prolog/stress/engine.h \
	prolog/stress/lane.c prolog/stress/lane.h \
	prolog/stress/links.c prolog/stress/links.h \
	prolog/stress/memory.c prolog/stress/memory.h \
	prolog/stress/options.c \
	prolog/stress/pattern.c prolog/stress/pattern.h \
	prolog/stress/progress.c \
	prolog/stress/report.c \
	prolog/stress/report_json.c \
	prolog/stress/run.c \
	prolog/stress/series.c prolog/stress/series.h \
	prolog/stress/stress.h \
	prolog/stress/tool.c \
	prolog/stress/traffic.c prolog/stress/traffic.h \
	prolog/stress/verdict.c
sbin_PROGRAMS += pcie-ipc-stress
pcie_ipc_stress_SOURCES = prolog/stress/main.c $(STRESS)
pcie_ipc_stress_CFLAGS = $(AM_CFLAGS) $(HWLOC_CFLAGS) $(JANSSON_CFLAGS)
pcie_ipc_stress_LDADD = libpipc-gate.la libpipc-cli.la
