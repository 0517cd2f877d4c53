# prolog/local.mk
