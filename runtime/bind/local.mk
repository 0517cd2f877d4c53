# runtime/bind/local.mk
