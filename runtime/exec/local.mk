# runtime/exec/local.mk
