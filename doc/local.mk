# doc/local.mk

dist_man_MANS += doc/pcie-ipc-topo.1
dist_man_MANS += doc/pcie-ipc-bench.1
dist_man_MANS += doc/pcie-ipc-tune.1
EXTRA_DIST += doc/architecture.md
# The plugin's page where the plugin is; distributed in any case.
if HAVE_SLURM
dist_man_MANS += doc/spank_pcie_ipc.8
endif
EXTRA_DIST += doc/spank_pcie_ipc.8
EXTRA_DIST += doc/measurements.md doc/pcie-ipc-health.schema.json
dist_man_MANS += doc/pcie-ipc-stress.8
dist_man_MANS += doc/pcie-ipc-health.8 doc/pcie-ipc.conf.5 doc/pcie-ipc-limits.5 doc/pcie-ipc-baseline.5
dist_man_MANS += doc/libpcie-ipc.3
EXTRA_DIST += doc/example.c doc/example-mpi.c
dist_man_MANS += doc/pcie-ipc-plan.1
dist_man_MANS += doc/pcie-ipc-p2p.1
EXTRA_DIST += doc/plans.md
EXTRA_DIST += doc/admin.md doc/containers.md doc/inference.md doc/mpi.md doc/pytorch.md doc/troubleshooting.md
EXTRA_DIST += doc/predict.sh doc/predicted-4+4.svg doc/predicted-8.svg doc/predicted-nodes.svg doc/allreduce-2xH200.svg doc/allreduce-2xH200-host.svg
