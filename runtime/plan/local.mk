# runtime/plan/local.mk
libpipc_core_la_SOURCES += \
	runtime/plan/check.c runtime/plan/check.h \
	runtime/plan/check_access.c runtime/plan/check_state.h \
	runtime/plan/generate.c runtime/plan/generate.h \
	runtime/plan/plan.h \
	runtime/plan/shape.c runtime/plan/shape.h \
	runtime/plan/text.c runtime/plan/text.h \
	runtime/plan/validate.c
