# runtime/plan/local.mk
