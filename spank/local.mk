# spank/local.mk
