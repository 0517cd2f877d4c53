# etc/local.mk

# An administrator's file is never overwritten. (A prerequisite, as other parts may have some too.)
pipcconfdir = $(sysconfdir)/pcie-ipc
EXTRA_DIST += etc/pcie-ipc.conf
install-data-local: install-gate-conf
uninstall-local: uninstall-gate-conf
.PHONY: install-gate-conf uninstall-gate-conf
install-gate-conf:
	$(MKDIR_P) "$(DESTDIR)$(pipcconfdir)"
	test -e "$(DESTDIR)$(pipcconfdir)/pcie-ipc.conf" || \
	    $(INSTALL_DATA) $(srcdir)/etc/pcie-ipc.conf "$(DESTDIR)$(pipcconfdir)/pcie-ipc.conf"
uninstall-gate-conf:
	! cmp -s $(srcdir)/etc/pcie-ipc.conf "$(DESTDIR)$(pipcconfdir)/pcie-ipc.conf" || \
	    rm -f "$(DESTDIR)$(pipcconfdir)/pcie-ipc.conf"
