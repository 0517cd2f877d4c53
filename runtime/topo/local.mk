# runtime/topo/local.mk
libpipc_core_la_SOURCES += \
	runtime/topo/build.h \
	runtime/topo/group.c \
	runtime/topo/pci.c \
	runtime/topo/synthetic.c \
	runtime/topo/topo.c runtime/topo/topo.h
