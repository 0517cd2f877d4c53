# runtime/tune/local.mk
