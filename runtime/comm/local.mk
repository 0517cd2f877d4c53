# runtime/comm/local.mk
