# runtime/topo/local.mk
