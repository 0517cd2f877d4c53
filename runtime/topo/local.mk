# runtime/topo/local.mk
libpipc_core_la_SOURCES += \
	runtime/topo/build.h \
	runtime/topo/cpuset.c runtime/topo/cpuset.h \
	runtime/topo/device.c runtime/topo/device.h \
	runtime/topo/dir.c runtime/topo/dir.h \
	runtime/topo/group.c \
	runtime/topo/json.c \
	runtime/topo/live.c \
	runtime/topo/numa.c \
	runtime/topo/pci.c \
	runtime/topo/print.c \
	runtime/topo/scan.c runtime/topo/scan.h \
	runtime/topo/synthetic.c \
	runtime/topo/sysfs.c \
	runtime/topo/topo.c runtime/topo/topo.h
