# runtime/xchg/local.mk
