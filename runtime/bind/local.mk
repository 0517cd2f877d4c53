# runtime/bind/local.mk
libpipc_core_la_SOURCES += \
	runtime/bind/assign.c \
	runtime/bind/bind.c runtime/bind/bind.h \
	runtime/bind/choose.c \
	runtime/bind/cores.c \
	runtime/bind/cost.c \
	runtime/bind/map.c \
	runtime/bind/nic.c \
	runtime/bind/parts.h \
	runtime/bind/spread.c \
	runtime/bind/visible.c \
	runtime/bind/way.c
