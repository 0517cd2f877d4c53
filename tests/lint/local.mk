# tests/lint/local.mk
