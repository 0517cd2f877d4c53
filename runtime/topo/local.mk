# runtime/topo/local.mk
libpipc_core_la_SOURCES += \
	runtime/topo/build.h \
	runtime/topo/cpuset.c runtime/topo/cpuset.h \
	runtime/topo/device.c runtime/topo/device.h \
	runtime/topo/dir.c runtime/topo/dir.h \
	runtime/topo/group.c \
	runtime/topo/json.c runtime/topo/json.h \
	runtime/topo/json_tree.c \
	runtime/topo/live.c \
	runtime/topo/near.c \
	runtime/topo/numa.c \
	runtime/topo/pci.c \
	runtime/topo/print.c \
	runtime/topo/relation.c runtime/topo/relation.h \
	runtime/topo/scan.c runtime/topo/scan.h \
	runtime/topo/synthetic.c \
	runtime/topo/sysfs.c \
	runtime/topo/topo.c runtime/topo/topo.h \
	runtime/topo/tree.c

# lspci's dump unpacked into a captured machine: for the gate and for tools, not for the plugin.
noinst_LTLIBRARIES += libpipc-dump.la
libpipc_dump_la_SOURCES = \
	runtime/topo/dump.c runtime/topo/dump.h \
	runtime/topo/text.c runtime/topo/text.h
libpipc_dump_la_CFLAGS = $(AM_CFLAGS) $(HWLOC_CFLAGS)

# The sources that are files of other programs, for tools and tests only: the plugin and the runtime's
# library need no XML parser.
noinst_LTLIBRARIES += libpipc-topofiles.la
libpipc_topofiles_la_SOURCES = \
	runtime/topo/compare.c runtime/topo/compare.h \
	runtime/topo/dump_tree.c \
	runtime/topo/files.h \
	runtime/topo/hwloc_nvlink.c \
	runtime/topo/hwloc_xml.c runtime/topo/hwloc_xml.h \
	runtime/topo/json_read.c \
	runtime/topo/layout.c runtime/topo/layout.h \
	runtime/topo/link.c runtime/topo/link.h \
	runtime/topo/lspci_names.c \
	runtime/topo/lspci_tree.c runtime/topo/lspci_tree.h \
	runtime/topo/match.c runtime/topo/match.h \
	runtime/topo/matrix.c runtime/topo/matrix.h \
	runtime/topo/matrix_read.c \
	runtime/topo/matrix_wrap.c \
	runtime/topo/matrix_words.c runtime/topo/matrix_words.h \
	runtime/topo/nccl_tree.c \
	runtime/topo/nccl_xml.c runtime/topo/nccl_xml.h \
	runtime/topo/siblings.c \
	runtime/topo/source.c runtime/topo/source.h \
	runtime/topo/svg.c runtime/topo/svg.h \
	runtime/topo/xml.c runtime/topo/xml.h \
	runtime/topo/xml_out.c runtime/topo/xml_out.h
libpipc_topofiles_la_CFLAGS = $(AM_CFLAGS) $(HWLOC_CFLAGS) $(JANSSON_CFLAGS) $(EXPAT_CFLAGS)
libpipc_topofiles_la_LIBADD = libpipc-core.la libpipc-cli.la libpipc-dump.la $(HWLOC_LIBS) $(JANSSON_LIBS) $(EXPAT_LIBS)
