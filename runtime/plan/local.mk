# runtime/plan/local.mk
libpipc_core_la_SOURCES += \
	runtime/plan/check.c runtime/plan/check.h \
	runtime/plan/generate.c runtime/plan/generate.h \
	runtime/plan/plan.h \
	runtime/plan/validate.c
