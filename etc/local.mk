# etc/local.mk

# An administrator's file is never overwritten. (A prerequisite, as other parts may have some too.)
pipcconfdir = $(sysconfdir)/pcie-ipc
PIPC_CONFS = pcie-ipc.conf limits.conf links.conf
EXTRA_DIST += etc/pcie-ipc.conf etc/limits.conf etc/links.conf
install-data-local: install-confs
uninstall-local: uninstall-confs
.PHONY: install-confs uninstall-confs
install-confs:
	$(MKDIR_P) "$(DESTDIR)$(pipcconfdir)"
	for f in $(PIPC_CONFS); do test -e "$(DESTDIR)$(pipcconfdir)/$$f" || \
	    $(INSTALL_DATA) $(srcdir)/etc/$$f "$(DESTDIR)$(pipcconfdir)/$$f" || exit; done
uninstall-confs:
	for f in $(PIPC_CONFS); do ! cmp -s $(srcdir)/etc/$$f "$(DESTDIR)$(pipcconfdir)/$$f" || \
	    rm -f "$(DESTDIR)$(pipcconfdir)/$$f"; done

# The plugin's line: generated, as it names the plugin's path. An administrator's is never overwritten.
if HAVE_SLURM
install_plugstack = install-plugstack
uninstall_plugstack = uninstall-plugstack
endif
install-data-local: $(install_plugstack)
uninstall-local: $(uninstall_plugstack)
plugstackdir = $(sysconfdir)/slurm/plugstack.conf.d
EXTRA_DIST += etc/plugstack.conf.d/pcie-ipc.conf.in
CLEANFILES += etc/plugstack.conf.d/pcie-ipc.conf
etc/plugstack.conf.d/pcie-ipc.conf: etc/plugstack.conf.d/pcie-ipc.conf.in Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && sed 's|@spankdir[@]|$(spankdir)|' $(srcdir)/etc/plugstack.conf.d/pcie-ipc.conf.in >$@.tmp && mv $@.tmp $@
.PHONY: install-plugstack uninstall-plugstack
install-plugstack: etc/plugstack.conf.d/pcie-ipc.conf
	$(MKDIR_P) "$(DESTDIR)$(plugstackdir)"
	test -e "$(DESTDIR)$(plugstackdir)/pcie-ipc.conf" || \
	    $(INSTALL_DATA) etc/plugstack.conf.d/pcie-ipc.conf "$(DESTDIR)$(plugstackdir)/pcie-ipc.conf"
uninstall-plugstack:
	! cmp -s etc/plugstack.conf.d/pcie-ipc.conf "$(DESTDIR)$(plugstackdir)/pcie-ipc.conf" || \
	    rm -f "$(DESTDIR)$(plugstackdir)/pcie-ipc.conf"

# Units for systemd; none is switched on.
systemdunitdir = $(prefix)/lib/systemd/system
dist_systemdunit_DATA = etc/systemd/pcie-ipc-census.timer etc/systemd/pcie-ipc-watch-once.timer
nodist_systemdunit_DATA = etc/systemd/pcie-ipc-census.service \
	etc/systemd/pcie-ipc-watch.service etc/systemd/pcie-ipc-watch-once.service
EXTRA_DIST += etc/systemd/pcie-ipc-census.service.in etc/systemd/pcie-ipc-watch.service.in etc/systemd/pcie-ipc-watch-once.service.in
CLEANFILES += $(nodist_systemdunit_DATA)
$(nodist_systemdunit_DATA): %: %.in Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && sed 's|@sbindir[@]|$(sbindir)|' $(srcdir)/$@.in >$@.tmp && mv $@.tmp $@

# Lines for slurm.conf: generated, as they name a path. It is for people: nothing reads it.
exampledir = $(docdir)
nodist_example_DATA = etc/slurm.conf.example
EXTRA_DIST += etc/slurm.conf.example.in
CLEANFILES += etc/slurm.conf.example
etc/slurm.conf.example: etc/slurm.conf.example.in Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && sed 's|@pkglibexecdir[@]|$(pkglibexecdir)|' $(srcdir)/etc/slurm.conf.example.in >$@.tmp && mv $@.tmp $@
