/* tests/unit/health_text.c - what people paste into tickets, read and judged: small texts, each
 * with one fault, beside the same without it; damaged ones; the extended config space that the same
 * facts come from on a machine
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "prolog/explain.h"
#include "prolog/judge.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* "VERDICT OBJECT:CODE ...", worst first; "fails" when nothing in it could be read. @size bytes of
 * @text, which need not end. */
static void found(const char *text, size_t size, char *out, size_t cap)
{
    char *own = malloc(size + 1);
    pipc__limits_t limits = pipc__limits_default();
    pipc__findings_t f = {.n = 0};
    pipc__facts_t facts;
    size_t used;

    assert_non_null(own);
    memcpy(own, text, size);
    own[size] = '\0';
    snprintf(out, cap, "fails");
    if (!pipc__facts_parse(&facts, own, "text", NULL)) {
        assert_int_equal(pipc__judge(&facts, &limits, &f, NULL), PIPC_OK);
        used = (size_t)snprintf(out, cap, "%s", pipc__severity_name(f.verdict));
        for (int i = 0; i < f.n && used < cap; i++)
            used += (size_t)snprintf(out + used, cap - used, " %s:%s", f.list[i].object,
                                     pipc__codes[f.list[i].code].name);
    }
    pipc__findings_free(&f);
    pipc__facts_free(&facts);
    free(own);
}

#define PORT(status)                                                                               \
    "40:01.1 PCI bridge: Intel Corporation Sky Lake-E PCI Express Root Port A\n"                   \
    "\tBus: primary=40, secondary=41, subordinate=41, sec-latency=0\n"                             \
    "\tCapabilities: [90] Express (v2) Root Port (Slot+), MSI 00\n"                                \
    "\t\tLnkCap:\tPort #1, Speed 16GT/s, Width x16, ASPM L1, Exit Latency L1 <16us\n"              \
    "\t\tLnkCtl:\tASPM Disabled; RCB 64 bytes, Disabled- CommClk+\n"                               \
    "\t\tLnkSta:\t" status "\n"                                                                    \
    "\t\tLnkCtl2: Target Link Speed: 16GT/s, EnterCompliance- SpeedDis-\n"
#define CARD(bus, status)                                                                          \
    bus ":00.0 3D controller: NVIDIA Corporation GV100GL [10de:1db6] (rev a1)\n"                   \
        "\tCapabilities: [78] Express (v2) Endpoint, MSI 00\n"                                     \
        "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported\n"                      \
        "\t\tLnkCtl:\tASPM Disabled; RCB 64 bytes, Disabled- CommClk+\n"                           \
        "\t\tLnkSta:\t" status "\n"
#define FULL "Speed 16GT/s (ok), Width x16 (ok)"
#define IDLE "Speed 2.5GT/s (downgraded), Width x16 (ok)"
#define NARROW "Speed 2.5GT/s (downgraded), Width x8 (downgraded)"

#define NARROW_STATUS "LnkSta: Speed 5GT/s, Width x1\n"
#define NARROW_PORT(bus)                                                                           \
    "40:03.0 PCI bridge: Intel\nExpress (v2) Root Port\nBus: primary=40, secondary=" bus           \
    "\nLnkCap: Port #3, Speed 16GT/s, Width x16\n" NARROW_STATUS
#define DEAD_PORT(present)                                                                         \
    "00:00.0 Host bridge: Intel\n40:03.0 PCI bridge: Intel\nExpress (v2) Root Port (Slot+)\n"      \
    "Bus: primary=40, secondary=42\nLnkSta: Speed 2.5GT/s (downgraded), Width x0 (downgraded)\n"   \
    "SltSta: Status: AttnBtn- PowerFlt- MRL- CmdCplt- " present " Interlock-\n"
#define LITTLE_NIC(function)                                                                       \
    "42:00." function                                                                              \
    " Ethernet controller: Broadcom\nLnkCap: Speed 5GT/s, Width x2\n" NARROW_STATUS

typedef struct pasted {
    const char *name, *text, *want;
} pasted_t;

static const pasted_t pasted[] = {
    {"healthy", PORT(FULL) "\n" CARD("41", FULL), "ok"},
    {"idle at Gen1", PORT(IDLE) "\n" CARD("41", IDLE), "note 0000:41:00.0:PCI003"},
    {"width lost", PORT(NARROW) "\n" CARD("41", NARROW),
     "drain 0000:41:00.0:PCI001 0000:41:00.0:PCI003"},
    {"width lost, in a mail",
     "> 40:01.1 PCI bridge: Intel\n> \tBus: primary=40, secondary=41\n>\n"
     "> 41:00.0 3D controller [0302]: NVIDIA GA100 [A100] [10de:20f1] (rev a1)\n"
     ">\tLnkCap: Port #0, Speed 16GT/s, Width x16\n"
     ">\tLnkCtl: ASPM Disabled\n>\tLnkSta: Speed 16GT/s, Width x4 (downgraded)\n"
     "> 40:01.1 PCI bridge\n> Express (v2) Root Port\n> LnkCap: Speed 16GT/s, Width x16\n",
     "drain 0000:41:00.0:PCI001"},
    {"width lost; no empty line between", PORT(NARROW) CARD("41", NARROW),
     "drain 0000:41:00.0:PCI001 0000:41:00.0:PCI003"},
    {"narrow without its port", CARD("41", NARROW),
     "unknown 0000:41:00.0:PCI008 0000:41:00.0:PCI003"},
    {"never equalized, beside one that was",
     CARD("41", NARROW) "LnkSta2: EqualizationComplete-\n" CARD("42", IDLE),
     "drain 0000:41:00.0:PCI001 0000:41:00.0:PCI003 0000:42:00.0:PCI011 0000:42:00.0:PCI003"},
    {"at 5 GT/s nothing is equalized, and a slot with few lanes is no fault",
     CARD("41", "Speed 5GT/s, Width x4") "LnkSta2: EqualizationComplete-\n" CARD("42", IDLE),
     "unknown 0000:41:00.0:PCI008 0000:41:00.0:PCI003 0000:42:00.0:PCI011 0000:42:00.0:PCI003"},
    {"equalized in a slot with few lanes, beside one with all",
     CARD("41", NARROW) "LnkSta2: EqualizationComplete+\n" CARD("42", IDLE),
     "unknown 0000:41:00.0:PCI008 0000:41:00.0:PCI003 0000:42:00.0:PCI011 0000:42:00.0:PCI003"},
    {"the register read ones", PORT("Speed unknown, Width x63") CARD("41", FULL), "ok"},
    {"cut in the middle of a register",
     PORT(FULL) "41:00.0 3D controller: NVIDIA [10de:1db6]\nLnkSt", "note 0000:41:00.0:PCI012"},
    {"plain lspci of a guest", "00:0a.0 3D controller: NVIDIA Corporation Device 20b0 (rev a1)\n",
     "unknown 0000:00:0a.0:PCI009 0000:00:0a.0:PCI012"},
    {"without privilege",
     "41:00.0 3D controller: NVIDIA [10de:1db6]\n\tCapabilities: <access denied>\n",
     "unknown 0000:41:00.0:PCI009 0000:41:00.0:PCI012"},
    {"lost",
     "0000:41:00.0 3D controller: NVIDIA Corporation Device 1db6 (rev ff) (prog-if ff)\n"
     "\t!!! Unknown header type 7f\n",
     "drain 0000:41:00.0:PCI002"},
    {"a port that is lost, with a GPU below and alone",
     "40:01.1 PCI bridge: Intel (rev a1)\nBus: primary=40, secondary=41\n"
     "40:01.1 PCI bridge: Intel (rev ff)\n41:00.0 3D controller: NVIDIA (rev ff)\n"
     "50:01.1 0604: 8086:2030 (rev ff)\n51:00.0 Ethernet controller: Mellanox (rev ff)\n",
     "drain 0000:40:01.1:PCI002 0000:50:01.1:PCI002 0000:51:00.0:PCI002"},
    {"a port that is lost alone", "50:01.1 0604: 8086:2030 (rev ff)\n",
     "warn 0000:50:01.1:PCI002 node:PCI013"},
    {"a console that is gone is no GPU", "02:00.0 VGA compatible controller: ASPEED (rev ff)\n",
     "note node:PCI013"},
    {"a lost sound function beside a GPU that is well",
     CARD("41", FULL) "41:00.1 Audio device: NVIDIA Corporation [10de:10f2] (rev ff)\n",
     "note 0000:41:00.0:PCI011"},
    {"ASPM at the port", PORT(FULL) "\t\tLnkCtl:\tASPM L0s L1 Enabled; RCB 64\n" CARD("41", FULL),
     "warn 0000:40:01.1:PCI005"},
    {"ASPM of a sound function",
     CARD("41", FULL) "41:00.1 Audio device: NVIDIA Corporation [10de:10f2]\n"
                      "LnkCtl: ASPM L1 Enabled; RCB 64 bytes\n",
     "note 0000:41:00.0:PCI011 0000:41:00.1:PCI005"},
    {"a remark is nobody's", CARD("41", FULL) "# LnkCtl: ASPM L1 Enabled\nLnkSta: Width x1\n",
     "note 0000:41:00.0:PCI011"},
    {"a target below",
     PORT("Speed 8GT/s, Width x16") "LnkCtl2: Target Link Speed: 8GT/s\n" CARD(
         "41", "Speed 8GT/s, Width x16"),
     "note 0000:40:01.1:PCI004"},
    {"the slot's own limit",
     "40:01.1 PCI bridge\nBus: primary=40, secondary=41\nExpress (v2) Root Port\n"
     "LnkCap: Speed 8GT/s, Width x16\nLnkSta: Speed 8GT/s, Width x16\n" CARD(
         "41", "Speed 8GT/s, Width x16"),
     "note 0000:41:00.0:PCI006"},
    {"narrow in a guest, below a port that is invented",
     "05:00.0 Ethernet controller: Red Hat, Inc. Virtio network device\n" PORT(NARROW)
         CARD("41", NARROW),
     "unknown 0000:41:00.0:PCI008 0000:41:00.0:PCI003"},
    {"asleep in a slot",
     PORT(NARROW) CARD("41", NARROW) "Status: D3 NoSoftRst+ PME-Enable- DSel=0\n",
     "unknown 0000:41:00.0:PCI010 0000:41:00.0:PCI003"},
    /* errors */
    {"a replay at some time", CARD("41", FULL) "CESta: RxErr- BadTLP- Rollover- Timeout+\n",
     "warn 0000:41:00.0:PCI016 0000:41:00.0:PCI011"},
    {"... that is masked",
     CARD("41", FULL) "CESta: RxErr- Rollover- Timeout+\nCEMsk: RxErr- Rollover- Timeout+\n",
     "note 0000:41:00.0:PCI011"},
    {"a receiver error comes with changes of speed", CARD("41", FULL) "CESta: RxErr+ BadTLP-\n",
     "note 0000:41:00.0:PCI011 0000:41:00.0:PCI016"},
    {"advisory, and what enumeration leaves",
     CARD("41", FULL) "CESta: RxErr- AdvNonFatalErr+\nUESta: DLP- SDES- UnsupReq+ ACSViol-\n",
     "note 0000:41:00.0:PCI011 0000:41:00.0:PCI016 0000:41:00.0:PCI016"},
    {"uncorrected at some time never drains",
     CARD("41", FULL) "UESta: DLP- SDES+ TLP- FCP- CmpltTO+ CmpltAbrt-\n",
     "warn 0000:41:00.0:PCI016 0000:41:00.0:PCI011"},
    {"an internal error, of newer lspci",
     CARD("41", FULL) "UESta: DLP- SDES- ACSViol- UncorrIntErr+ BlockedTLP- AtomicOpBlocked-\n",
     "warn 0000:41:00.0:PCI016 0000:41:00.0:PCI011"},
    {"... in several lines",
     CARD("41",
          FULL) "\t\tUESta:\tDLP- SDES- TLP- FCP- CmpltTO- CmpltAbrt- UnxCmplt- RxOF- MalfTLP-\n"
                "\t\t\tECRC- UnsupReq- ACSViol- UncorrIntErr+ BlockedTLP- AtomicOpBlocked-\n"
                "\t\t\tPoisonTLPBlocked- DMWrReqBlocked- IDECheck- MisIDETLP-\n",
     "warn 0000:41:00.0:PCI016 0000:41:00.0:PCI011"},
    {"... of which the mask goes on too",
     CARD("41", FULL) "\t\tUESta:\tDLP- SDES- TLP-\n\t\t\tECRC- UncorrIntErr+ BlockedTLP-\n"
                      "\t\tUEMsk:\tDLP- SDES- TLP-\n\t\t\tECRC- UncorrIntErr+ BlockedTLP-\n"
                      "\t\tUESvrt:\tDLP+ SDES+ TLP-\n\t\t\tECRC+ UncorrIntErr+ BlockedTLP-\n",
     "note 0000:41:00.0:PCI011"},
    {"flags behind another key are none of the status",
     CARD("41", FULL) "\t\tUESta:\tDLP- SDES- TLP-\n\t\tUESvrt:\tDLP+ SDES+ TLP-\n"
                      "\t\t\tECRC+ UncorrIntErr+ BlockedTLP-\n",
     "note 0000:41:00.0:PCI011"},
    {"of a sound function",
     CARD("41", FULL) "41:00.1 Audio device: NVIDIA [10de:10f2]\nCESta: BadTLP+ Timeout+\n",
     "note 0000:41:00.0:PCI011 0000:41:00.1:PCI016"},
    {"of a NIC", CARD("41", FULL) "51:00.0 Ethernet controller: Mellanox\nCESta: BadDLLP+\n",
     "warn 0000:51:00.0:PCI016 0000:41:00.0:PCI011"},
    {"DevSta is what software makes", CARD("41", FULL) "DevSta: CorrErr+ FatalErr+ UnsupReq+\n",
     "note 0000:41:00.0:PCI011"},
    /* BARs */
    {"a small BAR, and what the card offers",
     CARD("41", FULL) "\tRegion 0: Memory at f6000000 (32-bit, non-prefetchable) [size=16M]\n"
                      "\tRegion 1: Memory at e0000000 (64-bit, prefetchable) [size=256M]\n"
                      "\tCapabilities: [bb0 v1] Physical Resizable BAR\n"
                      "\t\tBAR 1: current size: 256MB, supported: 64MB 256MB 16GB 32GB\n",
     "note 0000:41:00.0:PCI011 0000:41:00.0:PCI021"},
    {"all of its memory",
     CARD("41", FULL) "\tRegion 1: Memory at 38000000000 (64-bit, prefetchable) [size=32G]\n"
                      "\t\tBAR 1: current size: 32GB, supported: 64MB 256MB 16GB 32GB\n",
     "note 0000:41:00.0:PCI011"},
    {"BARs of virtual functions",
     CARD("41", FULL) "\tCapabilities: [c00 v1] Virtual Resizable BAR\n"
                      "\t\tBAR 1: current size: 256MB, supported: 256MB 512MB 1GB 32GB\n",
     "note 0000:41:00.0:PCI011"},
    {"one small BAR: no peer",
     CARD("41", FULL) "Memory at e0000000 (64-bit, prefetchable) [size=256M]\n",
     "note 0000:41:00.0:PCI011"},
    {"the kernel's policy", CARD("41", FULL) "\ndefault performance [powersave] powersupersave\n",
     "note 0000:41:00.0:PCI011 node:PCI005"},
    /* ACS */
    {"ACS redirects", PORT(FULL) "ACSCtl: SrcValid+ ReqRedir+ CmpltRedir+\n" CARD("41", FULL),
     "warn 0000:40:01.1:PCI015"},
    {"source validation alone",
     PORT(FULL) "ACSCtl: SrcValid+ TransBlk- ReqRedir-\n" CARD("41", FULL), "ok"},
    {"nobody's ACS lines",
     "ACSCtl: SrcValid+ ReqRedir- UpstreamFwd-\n\tACSCtl: SrcValid- ReqRedir- UpstreamFwd+\n",
     "warn line 2:PCI015 node:PCI013"},
    {"setpci", "0000:80:03.0 ECAP_ACS+6.w = 001d\n0000:80:03.1 ECAP_ACS+0x6.w = 0001\n",
     "warn 0000:80:03.0:PCI015 node:PCI013"},
    {"setpci -v",
     "0000:80:03.0 (ecap 000d @148) @14e = 0004\n0000:80:03.1 (ecap 000d @148) @14c = 0004\n",
     "warn 0000:80:03.0:PCI015 node:PCI013"},
    {"told in words, in a remark",
     "# state 1: ACS redirect on the switch's ports ON (default), sums are wrong\n"
     "# state 2: ACS redirect OFF\n",
     "warn line 1:PCI015 node:PCI013"},
    {"ACS redirection is enabled, says somebody", "ACS Redirect: enabled on 2e:00.0\n",
     "warn line 1:PCI015 node:PCI013"},
    {"... or is not", CARD("41", FULL) "ACS redirect is not enabled\nACS redirect ON: disabled\n",
     "note 0000:41:00.0:PCI011"},
    {"... or is a question", CARD("41", FULL) "is ACS redirection on only one port harmful?\n",
     "note 0000:41:00.0:PCI011"},
    {"ones are no answer", "0000:80:03.0 ECAP_ACS+6.w = ffff\n", "note node:PCI013"},
    {"two GPUs below one port: it is not between them",
     "40:01.1 PCI bridge\nBus: primary=40, secondary=41\nACSCtl: ReqRedir+\n"
     "41:00.0 PCI bridge\nBus: primary=41, secondary=42\n"
     "42:00.0 PCI bridge\nBus: primary=42, secondary=43\nACSCtl: ReqRedir+\n"
     "42:01.0 PCI bridge\nBus: primary=42, secondary=44\nACSCtl: ReqRedir-\n"
     "43:00.0 Processing accelerators: Intel\nExpress (v2) Root Complex Integrated Endpoint\n"
     "44:00.0 Processing accelerators: Intel\nExpress (v2) Root Complex Integrated Endpoint\n",
     "warn 0000:42:00.0:PCI015"},
    {"a card that has no link", DEAD_PORT("PresDet+") CARD("51", FULL),
     "warn 0000:40:03.0:PCI002 0000:51:00.0:PCI011"},
    {"an empty slot", DEAD_PORT("PresDet-") CARD("51", FULL), "note 0000:51:00.0:PCI011"},
    {"a slot that a hypervisor invents", DEAD_PORT("PresDet+") "05:00.0 SCSI: Virtio\n",
     "note node:PCI013"},
/* virtual functions */
#define IOV(enable)                                                                                \
    "\tCapabilities: [bcc v1] Single Root I/O Virtualization (SR-IOV)\n\t\tIOVCtl:\tEnable" enable \
    " Migration- Interrupt- MSE+ ARIHierarchy+\n\t\tInitial VFs: 16, Total VFs: 16, Number of "    \
    "VFs: 2, Function Dependency Link: 00\n\t\tVF offset: 4, stride: 1, Device ID: 20f1\n"
    {"virtual functions are no GPUs of their own",
     PORT(FULL) CARD("41", FULL) IOV("+") "41:00.4 3D controller: NVIDIA [10de:1db6]\n"
                                          "41:00.5 3D controller: NVIDIA [10de:1db6]\n",
     "ok"},
    {"... of which there are two, and none where they are off",
     CARD("41", FULL) IOV("+") "41:00.6 3D controller: NVIDIA [10de:1db6]\n" CARD("42", FULL)
         IOV("-") "42:00.4 3D controller: NVIDIA [10de:1db6]\n",
     "unknown 0000:41:00.6:PCI009 0000:42:00.4:PCI009 0000:41:00.0:PCI011 0000:41:00.6:PCI012 "
     "0000:42:00.0:PCI011 0000:42:00.4:PCI012"},
    /* what is no matter of GPUs */
    {"a device of another kind is narrow, and has ACS",
     PORT(FULL) CARD("41", FULL) NARROW_PORT("42") "42:00.1 Memory controller: Microsemi\n"
                                                   "LnkCap: Speed 16GT/s, Width x16\n" NARROW_STATUS
                                                   "ACSCtl: SrcValid+ ReqRedir+\n",
     "ok"},
    {"a disk's port",
     CARD("41", FULL) NARROW_PORT("42") "ACSCtl: ReqRedir+\nLnkCtl: ASPM L1 Enabled\n"
                                        "42:00.0 Non-Volatile memory controller: Samsung\n",
     "note 0000:41:00.0:PCI011"},
    {"an empty slot, in a list of the whole machine",
     "00:00.0 Host bridge: Intel\n" NARROW_PORT("42") "LnkCtl: ASPM L1 Enabled\n" CARD("51", FULL),
     "note 0000:51:00.0:PCI011"},
    {"... that was cut",
     "00:00.0 Host bridge: Intel\n" NARROW_PORT("52") "LnkCtl: ASPM L1 Enabled\n" CARD("51", FULL),
     "warn 0000:40:03.0:PCI005 0000:51:00.0:PCI011"},
    {"... or of which only some is shown",
     NARROW_PORT("42") "LnkCtl: ASPM L1 Enabled\n" CARD("51", FULL),
     "warn 0000:40:03.0:PCI005 0000:51:00.0:PCI011"},
    {"below a switch for disks is nothing else",
     NARROW_PORT("42") "ACSCtl: ReqRedir+\n42:00.0 PCI bridge: PLX\nBus: primary=42, secondary=43\n"
                       "43:01.0 PCI bridge: PLX\nBus: primary=43, secondary=44\nACSCtl: ReqRedir+\n"
                       "44:00.0 SATA controller: Marvell\n",
     "note node:PCI013"},
    {"a second function says nothing about the first",
     NARROW_PORT("42") "ACSCtl: ReqRedir+\n42:00.1 Audio device: AMD/ATI\n",
     "warn 0000:40:03.0:PCI015 node:PCI013"},
    {"a gigabit NIC with few lanes, told once",
     CARD("41", FULL) NARROW_PORT("42") LITTLE_NIC("0") LITTLE_NIC("1"),
     "note 0000:41:00.0:PCI011 0000:42:00.0:PCI001"},
    {"graphics in the processor",
     CARD("41", FULL) "00:02.0 VGA compatible controller: Intel Corporation UHD Graphics 630\n",
     "note 0000:41:00.0:PCI011"},
    {"... and a card of a guest's in its place",
     "00:02.0 Display controller: Intel Corporation\n00:03.0 Ethernet controller: Virtio\n",
     "unknown 0000:00:02.0:PCI009 0000:00:02.0:PCI012"},
    {"a server's console of a maker of GPUs",
     CARD("41", FULL) "02:00.0 VGA compatible controller: AMD [AMD/ATI] ES1000 (rev 02)\n",
     "note 0000:41:00.0:PCI011"},
    /* how people show it */
    {"behind two names",
     ">> 41:00.0 3D controller: NVIDIA [10de:1db6]\n>>\tLnkSta: Width x4\n"
     "> > 42:00.0 3D controller: NVIDIA [10de:1db6]\n> > LnkSta: Width x4\n",
     "unknown 0000:41:00.0:PCI009 0000:42:00.0:PCI009 0000:41:00.0:PCI012 0000:42:00.0:PCI012"},
    {"a web page",
     "<pre><code>&gt; 41:00.0 3D controller: NVIDIA&nbsp;[10de:1db6]\n"
     "\tLnkCap:&nbsp;Speed 16GT/s, Width x16\n\tLnkSta:\xc2\xa0Speed 16GT/s, Width x4\n",
     "unknown 0000:41:00.0:PCI008 0000:41:00.0:PCI012"},
    {"a mark of order before the first byte", "\xef\xbb\xbf" PORT(NARROW) "\n" CARD("41", NARROW),
     "drain 0000:41:00.0:PCI001 0000:41:00.0:PCI003"},
    {"indented, a bullet, a host's name",
     "    41:00.0 3D controller: NVIDIA [10de:1db6]\n        LnkSta: Width x4\n"
     "* 42:00.0 VGA compatible controller: NVIDIA [10de:1db6]: LnkSta: Width x4\n"
     "node7: 43:00.0 3D controller: NVIDIA [10de:1db6]\nnode7:   LnkSta: Width x4\n",
     "unknown 0000:41:00.0:PCI009 0000:42:00.0:PCI009 0000:43:00.0:PCI009 0000:41:00.0:PCI012 "
     "0000:42:00.0:PCI012 0000:43:00.0:PCI012"},
    {"what looks like an address, indented", CARD("41", FULL) "    10:20.1 in the log: no\n",
     "note 0000:41:00.0:PCI011"},
    {"only its link, by a command",
     "$ sudo lspci -vvv -s 41:00.0 | grep Lnk\nLnkCap: Speed 16GT/s, Width x16\n"
     "LnkSta: Speed 16GT/s, Width x8 (downgraded)\n",
     "unknown 0000:41:00.0:PCI008 0000:41:00.0:PCI012"},
    {"only its address, and its link",
     "41:00.0\n LnkCap: Speed 16GT/s, Width x16\n"
     " LnkSta: Speed 16GT/s, Width x16\n",
     "note 0000:41:00.0:PCI012 0000:41:00.0:PCI011"},
    {"in numbers",
     "40:01.1 0604: 8086:2030 (rev 04)\nBus: primary=40, secondary=41\nExpress (v2) Root Port\n"
     "LnkCap: Speed 16GT/s, Width x16\n" NARROW_STATUS "41:00.0 0302: 10de:20b0 (rev a1)\n"
     "LnkCap: Speed 16GT/s, Width x16\nLnkCtl: ASPM Disabled\n" NARROW_STATUS
     "42:00.0 Class 0108: Device 144d:a808\nLnkCap: Speed 16GT/s, Width x4\n" NARROW_STATUS,
     "drain 0000:41:00.0:PCI001 0000:41:00.0:PCI003"},
    {"a command that was not answered", "see lspci -s 41:00.0\n", "fails"},
    {"nobody's link",
     "LnkCap: Speed 16GT/s, Width x16\nLnkSta: Speed 2.5GT/s, Width x16\n"
     "LnkCap: Speed 16GT/s, Width x16\nLnkSta: Speed 16GT/s, Width x4\n",
     "unknown line 3:PCI008 line 1:PCI012 line 1:PCI011 line 1:PCI003 line 3:PCI012"},
    {"... beside devices that have names", CARD("41", FULL) "\nLnkSta: Speed 16GT/s, Width x4\n",
     "note 0000:41:00.0:PCI011"},
    {"registers first, and its name later",
     "0000:41:00.0 ECAP_ACS+6.w = 0000\n" PORT(NARROW) CARD("41", NARROW),
     "drain 0000:41:00.0:PCI001 0000:41:00.0:PCI003"},
    {"idle, then at work", CARD("41", IDLE) "\n" CARD("41", FULL), "note 0000:41:00.0:PCI011"},
    {"with all lanes and with fewer: which is now?",
     PORT(NARROW) CARD("41", NARROW) PORT(FULL) CARD("41", FULL), "warn 0000:41:00.0:PCI031"},
    {"lost when it was shown again", CARD("41", FULL) "\n41:00.0 3D controller: NVIDIA (rev ff)\n",
     "drain 0000:41:00.0:PCI002"},
    {"lost, and well after a power cycle",
     "41:00.0 3D controller: NVIDIA Corporation GV100GL [10de:1db6] (rev ff) (prog-if ff)\n"
     "\t!!! Unknown header type 7f\n\nafter the power cycle:\n\n" CARD("41", FULL),
     "warn 0000:41:00.0:PCI031 0000:41:00.0:PCI011"},
    {"... told by its first line alone",
     "41:00.0 3D controller: NVIDIA [10de:1db6] (rev ff)\n\n"
     "41:00.0 3D controller: NVIDIA [10de:1db6] (rev a1)\n",
     "warn 0000:41:00.0:PCI031 0000:41:00.0:PCI009 0000:41:00.0:PCI012"},
    {"... or by setpci", "# setpci -s 41:00.0 VENDOR_ID.w\nffff\n" CARD("41", FULL),
     "warn 0000:41:00.0:PCI031 0000:41:00.0:PCI011"},
    {"lost for the second time",
     "41:00.0 3D controller: NVIDIA (rev ff)\n" CARD(
         "41", FULL) "41:00.0 3D controller: NVIDIA (rev ff)\n",
     "drain 0000:41:00.0:PCI002"},
    {"... and of one that is lost",
     "41:00.0 3D controller: NVIDIA (rev ff)\n41:00.0 was (rev ff) since\n41:00.0 had (rev a1)\n",
     "drain 0000:41:00.0:PCI002"},
    {"people write of lost devices",
     CARD("41", FULL) "last week it was shown as (rev ff)\nwith !!! Unknown header type 7f\n"
                      "41:00.0 was (rev ff) then\n",
     "note 0000:41:00.0:PCI011"},
    {"a header that is ones",
     "41:00.0 3D controller: NVIDIA (rev a1)\n\t!!! Unknown header type 7f\n",
     "drain 0000:41:00.0:PCI002"},
    {"setpci's answers: who is lost, who redirects",
     "# setpci -s 41:00.0 VENDOR_ID.w\nffff\n# setpci -s 42:00.0 VENDOR_ID.w\n10de\n"
     "$ sudo setpci -s 40:01.1 ECAP_ACS+0x6.w\n001d\n",
     "drain 0000:41:00.0:PCI002 0000:40:01.1:PCI015 node:PCI013"},
    {"a loop over all ports",
     "setpci -s $BDF ECAP_ACS+0x6.w\n40:01.1 001d\n40:01.2: 0000\n0000:40:01.3 = 0x0004\n40:01.4 "
     "ffff\n",
     "warn 0000:40:01.1:PCI015 0000:40:01.3:PCI015 node:PCI013"},
    {"a number without a name", "40:01.1 001d\n", "note node:PCI013"},
    {"by the register's name", "0000:40:01.1 ACSCtl = 0x001d\n0000:40:01.2 ACSCtl=0x0001\n",
     "warn 0000:40:01.1:PCI015 node:PCI013"},
    {"setpci that writes is no question", "setpci -s 41:00.0 VENDOR_ID.w=0000\nffff\n", "fails"},
    {"files of sysfs",
     "==> /sys/bus/pci/devices/0000:41:00.0/current_link_width <==\n8\n\n"
     "==> /sys/bus/pci/devices/0000:41:00.0/max_link_width <==\n16\n"
     "/sys/bus/pci/devices/0000:42:00.0/current_link_width:16\n"
     "/sys/bus/pci/devices/0000:42:00.0/max_link_width:16\n"
     "/sys/bus/pci/devices/0000:43:00.0/current_link_width:63\n",
     "unknown 0000:41:00.0:PCI008 0000:41:00.0:PCI012 0000:42:00.0:PCI012 0000:42:00.0:PCI011"},
    {"nvidia-smi -q",
     "GPU 00000000:41:00.0\n    GPU Link Info\n        PCIe Generation\n"
     "            Max      : 4\n            Current  : 1\n            Device Max : 5\n"
     "        Link Width\n            Max      : 16x\n            Current  : 8x\n"
     "    Clocks\n        Current  : 1x\n",
     "unknown 0000:41:00.0:PCI008 0000:41:00.0:PCI012 0000:41:00.0:PCI003"},
    {"nvidia-smi as a table",
     "pci.bus_id, pcie.link.width.current, pcie.link.width.max\n00000000:41:00.0, 16, 16\n"
     "00000000:42:00.0, [N/A], 16\n00000000:43:00.0, 4, 16\n\n00000000:44:00.0, 1, 16\n",
     "unknown 0000:42:00.0:PCI009 0000:43:00.0:PCI008 0000:41:00.0:PCI012 0000:41:00.0:PCI011 "
     "0000:42:00.0:PCI012 0000:43:00.0:PCI012"},
    /* nothing to read */
    {"prose", "the job hangs since Tuesday\nplease help\n", "fails"},
    {"empty", "", "fails"},
};

static void texts(void **state)
{
    char out[2048];

    (void)state;
    for (size_t i = 0; i < COUNT(pasted); i++) {
        found(pasted[i].text, strlen(pasted[i].text), out, sizeof(out));
        if (strcmp(out, pasted[i].want) != 0)
            fail_msg("%s: is \"%s\", wanted \"%s\"", pasted[i].name, out, pasted[i].want);
    }
}

/* With an empty line behind each: of devices nothing is lost. */
static void doubled_lines(void **state)
{
    static const char text[] = PORT(NARROW) "\n" CARD("41", NARROW);
    char twice[4096], out[2048];
    size_t n = 0;

    (void)state;
    for (const char *p = text; *p && n < sizeof(twice) - 1; p++) {
        twice[n++] = *p;
        if (*p == '\n')
            twice[n++] = '\n';
    }
    found(twice, n, out, sizeof(out));
    assert_string_equal(out, "drain 0000:41:00.0:PCI001 0000:41:00.0:PCI003");
}

/* A text that is cut anywhere says less, and never that a healthy node is sick. */
static void cut_anywhere(void **state)
{
    static const char healthy[] = PORT(IDLE) "\n" CARD("41", IDLE) "\n" CARD("42", FULL);
    char out[2048];

    (void)state;
    for (size_t n = 0; n < sizeof(healthy); n++) {
        found(healthy, n, out, sizeof(out));
        if (strstr(out, "drain") || strstr(out, "warn"))
            fail_msg("cut to %zu bytes: %s", n, out);
    }
}

/* Bytes exchanged, pieces taken out and put elsewhere: nothing to find but a crash or a hang. */
static void damaged(void **state)
{
    char text[4096], out[4096];
    uint32_t r = 7;

    (void)state;
    for (int round = 0; round < 3000; round++) {
        const char *from = pasted[(unsigned int)round % COUNT(pasted)].text;
        size_t n = (size_t)snprintf(text, sizeof(text), "%s", from);
        for (int k = 0; k < 1 + round % 9 && n > 8; k++) {
            r = r * 1664525u + 1013904223u;
            size_t at = (r >> 8) % n, to = (r >> 4) % n;
            if (r >> 31)
                text[at] = (char)(r >> 16);
            else
                memmove(text + at, text + to, n - (at > to ? at : to));
        }
        found(text, n, out, sizeof(out));
    }
}

static void sizes(void **state)
{
    size_t cap = 6 << 20, n = 0;
    char *text = malloc(cap), out[256];

    (void)state;
    assert_non_null(text);
    for (int i = 0; i < 5000; i++)
        n += (size_t)snprintf(text + n, cap - n, "%02x:%02x.%x PCI bridge\n", i >> 8, i >> 3 & 31,
                              i & 7);
    found(text, n, out, sizeof(out));
    assert_string_equal(out, "fails"); /* more than a machine has */
    n = 0; /* two bridges that lead to each other, and a GPU below one of them */
    n += (size_t)snprintf(text, cap,
                          "01:00.0 PCI bridge\nBus: primary=02, secondary=02\n"
                          "02:00.0 PCI bridge\nBus: primary=01, secondary=01\n" CARD("02", FULL));
    found(text, n, out, sizeof(out));
    assert_null(strstr(out, "drain"));
    memset(text, 'A', cap); /* one line */
    found(text, cap, out, sizeof(out));
    assert_string_equal(out, "fails");
    free(text);
}

/* ---- the extended config space ------------------------------------------------------------- */

static void put32(unsigned char *c, size_t at, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        c[at + (size_t)i] = (unsigned char)(v >> 8 * i);
}

/* Serial number, then ACS, then AER. */
static void make_extended(unsigned char c[4096])
{
    memset(c, 0, 4096);
    put32(c, 0x100, 0x14010003);
    put32(c, 0x104, 0x44556677);
    put32(c, 0x108, 0x00112233);
    put32(c, 0x140, 0x2001000d);
    put32(c, 0x144, 0x001d001f);
    put32(c, 0x200, 0x00020001);
    put32(c, 0x204, 0x00104000);
    put32(c, 0x208, 0x00100000);
    put32(c, 0x210, 0x00001040);
    put32(c, 0x214, 0x00002000);
}

static void extended_registers(void **state)
{
    unsigned char c[4096];

    (void)state;
    make_extended(c);
    pipc__extended_t e = pipc__extended_decode(c, sizeof(c));
    assert_int_equal(e.acs, 0x1d);
    assert_int_equal(e.uncorrected, 0x4000);
    assert_int_equal(e.corrected, 0x1040);
    assert_true(e.serial == 0x0011223344556677);
    e = pipc__extended_decode(c, 0x210); /* cut within AER: its status cannot be unmasked */
    assert_int_equal(e.acs, 0x1d);
    assert_int_equal(e.uncorrected, -1);
    e = pipc__extended_decode(c, 256);
    assert_int_equal(e.acs, -1);
    put32(c, 0x140, 0x1001000d); /* back to the first: a loop */
    assert_int_equal(pipc__extended_decode(c, sizeof(c)).uncorrected, -1);
    memset(c, 0xff, sizeof(c));
    e = pipc__extended_decode(c, sizeof(c));
    assert_true(e.acs == -1 && e.uncorrected == -1 && e.corrected == -1 && e.serial == 0);
    make_extended(c);
    memset(c + 0x104, 0xff, 8); /* a serial of ones is none */
    assert_true(pipc__extended_decode(c, sizeof(c)).serial == 0);
}

typedef struct source {
    const unsigned char *config;
    size_t end; /* what lies behind cannot be read */
    int reads;
} source_t;

static bool word(void *arg, size_t at, unsigned char out[4])
{
    source_t *s = arg;

    s->reads++;
    if (at + 4 > s->end)
        return false;
    memcpy(out, s->config + at, 4);
    return true;
}

/* Reading word by word finds what reading all does, in few words. */
static void extended_reads(void **state)
{
    unsigned char c[4096], got[4096];
    source_t s = {c, sizeof(c), 0};

    (void)state;
    make_extended(c);
    memset(got, 0x55, sizeof(got));
    assert_int_equal(pipc__extended_read(word, &s, got), 4096);
    pipc__extended_t a = pipc__extended_decode(c, 4096), b = pipc__extended_decode(got, 4096);
    assert_true(a.acs == b.acs && a.uncorrected == b.uncorrected && a.corrected == b.corrected);
    assert_int_equal(s.reads, 3 + 2 + 6);
    s = (source_t){c, 0x210, 0};
    assert_int_equal(pipc__extended_read(word, &s, got), 4096);
    b = pipc__extended_decode(got, 4096);
    assert_true(b.acs == 0x1d && b.uncorrected == -1 && b.corrected == -1);
    s = (source_t){c, 256, 0};
    assert_int_equal(pipc__extended_read(word, &s, got), 256);
    put32(c, 0x200, 0x10020001);
    s = (source_t){c, sizeof(c), 0};
    pipc__extended_read(word, &s, got);
    assert_true(s.reads < 1000);
}

/* Two BARs of an AMD card: the one for memory is the larger, and counts. */
static void resizable_bars(void **state)
{
    static const struct {
        uint32_t sizes, control;
        int64_t bar, most;
    } cases[] = {
        {0x000fff00, 0x00000840, 256 << 20, 32768LL << 20}, /* 16 MB ... 32 GB */
        {0x000fff00, 0x00000f40, 32768LL << 20, 32768LL << 20},
        {0x000fff00, 0x00003f40, 2 << 20,
         4 << 20}, /* of 2^63 MB: not believed, the second stands */
        {0xffffffff, 0x00000840, 2 << 20, 4 << 20},
        {0x00000000, 0x00000840, 256 << 20, -1},
        {0x000fff00, 0x00000800, -1, -1}, /* a count of none */
    };
    unsigned char c[4096], got[4096];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        source_t s = {c, sizeof(c), 0};
        memset(c, 0, sizeof(c));
        put32(c, 0x100, 0x00010015);
        put32(c, 0x104, cases[i].sizes);
        put32(c, 0x108, cases[i].control);
        put32(c, 0x10c, 0x00000060); /* 2 and 4 MB */
        put32(c, 0x110, 0x00000102);
        pipc__extended_read(word, &s, got);
        for (int k = 0; k < 2; k++) {
            pipc__extended_t e = pipc__extended_decode(k ? got : c, sizeof(c));
            assert_int_equal(e.bar, cases[i].bar);
            assert_int_equal(e.bar_max, cases[i].most);
        }
    }
}

/* ---- a GPU less, and the pages --------------------------------------------------------------- */

static void fewer_gpus_than_expected(void **state)
{
    pipc__fact_t gpu = {.parent = -1, .gpu = true, .link = {0, 16, 16000, 16, 16000, -1, 0, 1, 0}};
    pipc__facts_t facts = {.dev = &gpu, .n = 1};
    pipc__limits_t limits = pipc__limits_default();
    pipc__findings_t f;

    (void)state;
    for (int expected = 0; expected <= 2; expected++) {
        limits.gpus = expected;
        assert_int_equal(pipc__judge(&facts, &limits, &f, NULL), PIPC_OK);
        assert_int_equal(f.verdict, expected == 2 ? PIPC__DRAIN : PIPC__NOTE);
        pipc__findings_free(&f);
    }
}

static void every_code_has_a_page(void **state)
{
    char page[2048], want[256];

    (void)state;
    for (int c = 0; c < PIPC__CODES; c++) {
        FILE *out = tmpfile();
        assert_non_null(out);
        assert_true(pipc__explain(pipc__codes[c].name, out));
        rewind(out);
        page[fread(page, 1, sizeof(page) - 1, out)] = '\0';
        fclose(out);
        snprintf(want, sizeof(want), "Remedy: %s.\n", pipc__codes[c].remedy);
        assert_non_null(strstr(page, want));
        assert_true(strlen(pipc__codes[c].why) > 40);
        for (const char *line = page; line; line = strchr(line + 1, '\n'))
            assert_true(strlen(pipc__codes[c].remedy) < 120 && strcspn(line + 1, "\n") < 140);
    }
    assert_false(pipc__explain("PCI999", stdout));
    assert_false(pipc__explain("", stdout));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
        cmocka_unit_test(doubled_lines),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(damaged),
        cmocka_unit_test(sizes),
        cmocka_unit_test(extended_registers),
        cmocka_unit_test(extended_reads),
        cmocka_unit_test(resizable_bars),
        cmocka_unit_test(fewer_gpus_than_expected),
        cmocka_unit_test(every_code_has_a_page),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
