# runtime/tools/local.mk
