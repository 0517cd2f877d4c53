/* tests/unit/health_log.c - lines of kernels' logs, read and judged: the words of kernels 4.4 to
 * 6.12, of firmware and of GPUs' drivers
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "prolog/judge.h"
#include "prolog/kernel_line.h"
#include "prolog/xid.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

typedef struct said {
    const char *name, *text;
    const char *want; /* "VERDICT OBJECT:CODE ...", worst first, without PCI013 */
    const char *seen; /* what the first finding says; NULL: anything */
} said_t;

#define AER "pcieport 0000:16:02.0: "
#define BUS(severity) AER "PCIe Bus Error: severity=" severity ", type=Data Link Layer, "
#define STATUS(bits) AER "  device [8086:2032] error status/mask=" bits "\n"
#define HW "{1}[Hardware Error]: "
#define PCIE HW "  section_type: PCIe error\n" HW "  device_id: 0000:16:02.0\n"

static const said_t table[] = {
    /* the AER service */
    {"corrected, 5.1 and later",
     "[    7.1] " AER "AER: Corrected error message received from 0000:16:02.0\n"
     "[    7.2] " BUS("Corrected") "(Receiver ID)\n[    7.3] " STATUS("00000040/00002000"),
     "warn 0000:16:02.0:PCI019", "the log has corrected errors: bad TLP, last 7 s after boot"},
    {"corrected, 6.10 and later; an error of the card below",
     AER "AER: Multiple Correctable error message received from 0000:17:00.0\n"
         "nvidia 0000:17:00.0: PCIe Bus Error: severity=Correctable, type=Physical Layer\n"
         "nvidia 0000:17:00.0:   device [10de:2330] error status/mask=00001000/00000000\n"
         "nvidia 0000:17:00.0:    [12] Timeout\n",
     "warn 0000:17:00.0:PCI019", "the log has corrected errors: replay timeout"},
    {"corrected, 4.x",
     "[ 3001.123456] " AER "AER: Corrected error received: id=1610\n"
     "[ 3001.123457] " AER "PCIe Bus Error: severity=Corrected, type=Physical Layer, id=1610"
     "(Receiver ID)\n[ 3001.123458] " STATUS(
         "00000001/00002000") "[ 3001.123459] " AER "   [ 0] Receiver Error         (First)\n",
     "note 0000:16:02.0:PCI019",
     "the log has corrected errors: receiver error, last 3001 s after boot"},
    {"announced, and no details: of the card, by its id",
     AER "AER: Multiple Corrected error received: id=1700\n", "warn 0000:17:00.0:PCI019",
     "the log has corrected errors: of a kind not told"},
    {"announced, and nobody's", AER "AER: Corrected error received: 0000:00:00.0\n",
     "warn 0000:16:02.0:PCI019", NULL},
    {"announced twice, details once",
     AER "AER: Corrected error received: 0000:16:02.0\n" AER
         "AER: Corrected error received: 0000:16:02.0\n" BUS("Corrected") "(Receiver ID)\n" STATUS(
             "00000080/00002000"),
     "warn 0000:16:02.0:PCI019", "the log has corrected errors: bad DLLP, 2 times"},
    {"masked", BUS("Correctable") "\n" STATUS("00002040/00002040"), "note 0000:16:02.0:PCI019",
     NULL},
    {"the line of status is lost, bits are there",
     BUS("Correctable") "(Transmitter ID)\n" AER "   [ 8] Rollover\n" AER "   [ 0] RxErr\n",
     "warn 0000:16:02.0:PCI019", "the log has corrected errors: receiver error, replay rollover"},
    {"the line before the status is lost: the kind is not that of another device's error",
     "pcieport 0000:15:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction\n"
     "pcieport 0000:15:00.0:   device [8086:2032] error status/mask=00100000/00000000\n" STATUS(
         "00000040/00002000"),
     "warn 0000:16:02.0:PCI019 0000:15:00.0:PCI019", "the log has corrected errors: bad TLP"},
    {"... and not that of the error before, where another was announced",
     BUS("Uncorrected (Non-Fatal)") "\n" STATUS("00100000/00000000") AER
     "AER: Corrected error received: 0000:16:02.0\n" STATUS("00001000/00002000"),
     "warn 0000:16:02.0:PCI019 0000:16:02.0:PCI019",
     "the log has corrected errors: replay timeout"},
    {"of a sound driver", "snd_hda_intel 0000:41:00.1: PCIe Bus Error: severity=Correctable\n",
     "note 0000:41:00.1:PCI019", NULL},
    {"uncorrected, not told",
     "nvidia 0000:41:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction\n",
     "warn 0000:41:00.0:PCI019", NULL},
    {"uncorrected, 6.10 and later",
     AER "AER: Uncorrectable (Fatal) error message received from 0000:16:02.0\n" BUS(
         "Uncorrectable (Fatal)") "(Receiver ID)\n" STATUS("00000020/00000000"),
     "warn 0000:16:02.0:PCI019", "the log has uncorrected errors: surprise down"},
    {"unsupported requests are what enumeration leaves",
     BUS("Uncorrected (Non-Fatal)") "(Requester ID)\n" STATUS("00100000/00000000"),
     "note 0000:16:02.0:PCI019", NULL},
    {"containment",
     AER "DPC: containment event, status:0x1f01 source:0x0000\n" AER
         "DPC: unmasked uncorrectable error detected\n",
     "warn 0000:16:02.0:PCI019", NULL},
    {"containment, 4.x", "dpc 0000:16:02.0:pcie010: DPC containment event, status:0x1f09\n",
     "warn 0000:16:02.0:PCI019", NULL},
    {"a domain of VMD's", "pcieport 10000:e0:06.0: AER: Corrected error received: 10000:e1:00.0\n",
     "warn 10000:e1:00.0:PCI019", NULL},
    {"recovery failed", AER "AER: device recovery failed\n", "warn 0000:16:02.0:PCI019",
     "the kernel could not recover from an error below it"},
    {"recovery failed, 4.x", AER "AER: Device recovery failed\n", "warn 0000:16:02.0:PCI019", NULL},
    /* links */
    {"hotplug", "Nov  3 08:53:57 n1 kernel: " AER "pciehp: Slot(5): Link Down\n",
     "warn 0000:16:02.0:PCI019", "the link below it was down, last Nov  3 08:53:57"},
    {"hotplug, 4.x", "pciehp 0000:16:02.0:pcie004: Slot(5): Link Down\n",
     "warn 0000:16:02.0:PCI019", NULL},
    {"hotplug, and up", AER "pciehp: Slot(5): Link Up\n", "unknown", NULL},
    {"no link", AER "Data Link Layer Link Active not set in 100 msec\n", "warn 0000:16:02.0:PCI019",
     NULL},
    {"trained anew", AER "broken device, retraining non-functional downstream link at 2.5GT/s\n",
     "warn 0000:16:02.0:PCI019", "its link had to be trained anew"},
    {"a screen's link", "amdgpu 0000:03:00.0: [drm] retraining DP link\n", "unknown", NULL},
    {"narrow when it started",
     "pci 0000:17:00.0: 15.752 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x2 link at "
     "0000:16:02.0 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)\n",
     "unknown 0000:17:00.0:PCI008", "link was x2 when the machine started, below 0000:16:02.0"},
    {"slow when it started, as idle GPUs are",
     "pci 0000:17:00.0: 32.000 Gb/s available PCIe bandwidth, limited by 2.5 GT/s PCIe x16 link "
     "at 0000:16:02.0 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)\n",
     "note", NULL},
    {"narrow, 4.17",
     "pci 0000:17:00.0: 16.000 Gb/s available PCIe bandwidth, limited by 5 GT/s x4 link at "
     "0000:16:02.0 (capable of 126.016 Gb/s with 8 GT/s x16 link)\n",
     "unknown 0000:17:00.0:PCI008", NULL},
    /* the firmware */
    {"the record of the boot before",
     "BERT: Error records from previous boot:\n"
     "[Hardware Error]: event severity: fatal\n"
     "[Hardware Error]:  Error 0, type: fatal\n"
     "[Hardware Error]:   section_type: PCIe error\n"
     "[Hardware Error]:   port_type: 4, root port\n"
     "[Hardware Error]:   device_id: 0000:16:02.0\n"
     "[Hardware Error]:   vendor_id: 0x8086, device_id: 0x2032\n"
     "[Hardware Error]:   aer_uncor_status: 0x00000020, aer_uncor_mask: 0x00100000\n"
     "[Hardware Error]:   aer_uncor_severity: 0x00062030\n",
     "drain 0000:16:02.0:PCI018", "fatal error: surprise down"},
    {"... of which the status is lost", HW "event severity: fatal\n" PCIE,
     "warn 0000:16:02.0:PCI019", "the log has uncorrected errors: of a kind not told"},
    {"... and of memory, which is no device",
     HW "event severity: fatal\n" HW "  section_type: memory error\n", "note", NULL},
    {"the second section is fatal, and of another device",
     HW "event severity: fatal\n" HW " Error 0, type: corrected\n" PCIE HW
        " Error 1, type: fatal\n" HW "  section_type: PCIe error\n" HW
        "  device_id: 0000:17:00.0\n" HW "  aer_uncor_status: 0x00004000, aer_uncor_mask: 0x0\n",
     "drain 0000:17:00.0:PCI018 0000:16:02.0:PCI019", "fatal error: completion timeout"},
    {"corrected, by the firmware",
     HW "Hardware error from APEI Generic Hardware Error Source: 4\n" HW
        "It has been corrected by h/w and requires no further action\n" HW
        "event severity: corrected\n" PCIE HW
        "  aer_uncor_status: 0x00000000, aer_uncor_mask: 0x00100000\n",
     "warn 0000:16:02.0:PCI019", "the log has corrected errors: of a kind not told"},
    {"... and handed over",
     HW "event severity: corrected\n" PCIE AER
        "AER: aer_status: 0x00000001, aer_mask: 0x00002000\n",
     "note 0000:16:02.0:PCI019", "the log has corrected errors: receiver error"},
    {"... with its bits",
     HW "event severity: corrected\n" PCIE HW
        "  aer_cor_status: 0x00001000, aer_cor_mask: 0x0000e000\n",
     "warn 0000:16:02.0:PCI019", "the log has corrected errors: replay timeout"},
    {"recoverable",
     HW "event severity: recoverable\n" PCIE HW
        "  aer_uncor_status: 0x00004000, aer_uncor_mask: 0x00000000\n",
     "warn 0000:16:02.0:PCI019", "the log has uncorrected errors: completion timeout"},
    {"a section that calls itself fatal, of an event that was survived",
     HW "event severity: recoverable\n" HW " Error 0, type: fatal\n" PCIE HW
        "  aer_uncor_status: 0x00004000, aer_uncor_mask: 0x00000000\n",
     "warn 0000:16:02.0:PCI019", "the log has uncorrected errors: completion timeout"},
    {"a record's status alone: bits that only corrected errors have",
     AER "aer_status: 0x00000040, aer_mask: 0x00002000\n", "warn 0000:16:02.0:PCI019",
     "the log has corrected errors: bad TLP"},
    /* NVIDIA's driver */
    {"off the bus",
     "[Mon Nov  2 08:53:57 2026] NVRM: Xid (PCI:0000:41:00): 79, pid=812, GPU has fallen off the "
     "bus.\n",
     "drain 0000:41:00.0:PCI002",
     "does not answer any more, says its driver (Xid 79), last Mon Nov  2 08:53:57 2026"},
    {"off the bus, told twice",
     "NVRM: Xid (PCI:0000:41:00): 79, pid=0, GPU has fallen off the bus.\n"
     "NVRM: GPU 0000:41:00.0: GPU has fallen off the bus.\n",
     "drain 0000:41:00.0:PCI002", NULL},
    {"off the bus, and back after a boot",
     "NVRM: Xid (PCI:0000:41:00): 79, pid=812, GPU has fallen off the bus.\n"
     "[    0.000000] Linux version 6.1.0\n",
     "warn 0000:41:00.0:PCI023", "the log has Xid 79 (fallen off the bus)"},
    {"off the bus, and back when the driver was loaded",
     "[ 5000.1] NVRM: Xid (PCI:0000:41:00): 79, pid=812, GPU has fallen off the bus.\n"
     "[ 5100.1] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 "
     "UTC 2024\n",
     "warn 0000:41:00.0:PCI023", NULL},
    {"off the bus, and the driver that was loaded finds it so",
     "NVRM: GPU 0000:41:00.0: GPU has fallen off the bus.\n"
     "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  550.54.15\n"
     "NVRM: The NVIDIA GPU 0000:41:00.0\nNVRM: fallen off the bus and is not responding.\n",
     "drain 0000:41:00.0:PCI002", NULL},
    {"off the bus, and back after a boot whose lines are left out",
     "[ 5000.1] NVRM: Xid (PCI:0000:41:00): 79, pid=812, GPU has fallen off the bus.\n"
     "[   12.5] usb 1-1: new high-speed USB device number 2 using xhci_hcd\n",
     "warn 0000:41:00.0:PCI023", NULL},
    {"off the bus; a line that is late, an address on a network",
     "[ 5000.1] NVRM: Xid (PCI:0000:41:00): 79, pid=812, GPU has fallen off the bus.\n"
     "[ 4999.9] usb 1-1: new device\nlogged in from [10.0.0.1]\n",
     "drain 0000:41:00.0:PCI002", NULL},
    {"off the bus, and found again",
     "NVRM: Xid (PCI:0000:41:00): 79, pid=812, GPU has fallen off the bus.\n"
     "NVRM: Xid (PCI:0000:42:00): 79, pid=812, GPU has fallen off the bus.\n"
     "pci 0000:41:00.0: [10de:20f1] type 00 class 0x030200\n",
     "drain 0000:42:00.0:PCI002 0000:41:00.0:PCI023", NULL},
    {"off the bus again",
     "NVRM: Xid (PCI:0000:41:00): 79, pid=812, GPU has fallen off the bus.\n-- Reboot --\n"
     "NVRM: Xid (PCI:0000:41:00): 79, pid=813, GPU has fallen off the bus.\n",
     "drain 0000:41:00.0:PCI002", NULL},
    {"asks for a reboot",
     "NVRM: Xid (PCI:0000:41:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node "
     "Reboot Required)\n",
     "warn 0000:41:00.0:PCI023", NULL},
    {"asks for nothing any more",
     "NVRM: Xid (PCI:0000:41:00): 154, GPU recovery action changed from 0x2 (Node Reboot Required) "
     "to 0x0 (None)\n",
     "note", NULL},
    {"asked for a reset, and got it",
     "NVRM: Xid (PCI:0000:42:00): 48, DBE\n"
     "NVRM: Xid (PCI:0000:41:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU "
     "Reset Required)\n"
     "NVRM: Xid (PCI:0000:42:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU "
     "Reset Required)\n"
     "NVRM: Xid (PCI:0000:42:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) "
     "to "
     "0x0 (None)\n",
     "warn 0000:42:00.0:PCI023 0000:41:00.0:PCI023", "the log has Xid 48 (double bit ECC error)"},
    {"an older driver", "NVRM: Xid (0000:41:00): 48, DBE\n", "warn 0000:41:00.0:PCI023", NULL},
    {"of a part of a GPU",
     "NVRM: Xid (PCI:0000:41:00 GPU-I:05 GPU-CI:00): 95, pid=812, Uncontained\n"
     "NVRM: Xid (PCI:0000:42:00 GPU-I:05): 94, pid=812, Contained\n",
     "warn 0000:41:00.0:PCI023 0000:42:00.0:PCI023", "the log has Xid 95 (uncontained ECC error)"},
    {"twice",
     "[   12.5] NVRM: Xid (PCI:0000:41:00): 119, Timeout\n"
     "[  912.5] NVRM: Xid (PCI:0000:41:00): 119, Timeout\n",
     "warn 0000:41:00.0:PCI023",
     "the log has Xid 119 (GSP does not answer), 2 times, last 912 s after boot"},
    {"of programs",
     "NVRM: Xid (PCI:0000:41:00): 13, pid=812, Graphics SM Warp Exception\n"
     "NVRM: Xid (PCI:0000:41:00): 31, pid=812, MMU Fault\n"
     "NVRM: Xid (PCI:0000:41:00): 43, pid=812\nNVRM: Xid (PCI:0000:41:00): 45, pid=812\n",
     "note", NULL},
    {"remapped", "NVRM: Xid (PCI:0000:41:00): 63, Row Remapper\n", "note 0000:41:00.0:PCI023",
     NULL},
    {"a number of the future", "NVRM: Xid (PCI:0000:41:00): 999, what\n",
     "note 0000:41:00.0:PCI023", NULL},
    {"no number", "NVRM: Xid (PCI:0000:41:00): what\n", "note", NULL},
    {"in three lines",
     "NVRM: The NVIDIA GPU 0000:41:00.0\nNVRM: (PCI ID: 10de:1b06)\n"
     "NVRM: installed in this system has\nNVRM: fallen off the bus and is not responding.\n",
     "drain 0000:41:00.0:PCI002", "does not answer any more, says its driver"},
    {"its BAR has no place", "NVRM: BAR1 is 0M @ 0x0 (PCI:0000:41:00.0)\n",
     "warn 0000:41:00.0:PCI023", NULL},
    {"did not start, says the kernel",
     "nvidia 0000:41:00.0: probe with driver nvidia failed with error -1\n",
     "warn 0000:41:00.0:PCI023", NULL},
    {"did not start", "NVRM: GPU 0000:41:00.0: RmInitAdapter failed! (0x24:0xffff:1220)\n",
     "warn 0000:41:00.0:PCI023", "its driver could not start it"},
    {"nvidia-smi, newer",
     "Unable to determine the device handle for GPU0000:0A:00.0: Unknown Error\n",
     "drain 0000:0a:00.0:PCI002", NULL},
    {"nvidia-smi",
     "Unable to determine the device handle for GPU 0000:41:00.0: GPU is lost.  Reboot the "
     "system\n",
     "drain 0000:41:00.0:PCI002", NULL},
    {"of a guest, whose ports are invented",
     "[    0.000000] Hypervisor detected: KVM\n" BUS("Corrected") "\n" STATUS("00000040/00000000"),
     "note 0000:16:02.0:PCI019", NULL},
    /* rasdaemon */
    {"corrected",
     "aer_event: 2026-03-11 10:02:11 +0000 0000:16:02.0 Corrected error: Bad TLP\n"
     "aer_event: 2026-03-11 10:02:12 +0000 0000:16:02.0 Corrected error: Replay Timer Timeout\n",
     "warn 0000:16:02.0:PCI019", "the log has corrected errors: bad TLP, replay timeout, 2 times"},
    {"corrected, and of no matter",
     "1 2026-03-11 10:02:11 +0000 0000:16:02.0 Corrected error: Receiver Error\n",
     "note 0000:16:02.0:PCI019", NULL},
    {"uncorrected",
     "2 2026-03-11 10:02:11 +0000 0000:16:02.0 Uncorrected (Non-Fatal) error: Completion Timeout\n",
     "warn 0000:16:02.0:PCI019", "the log has uncorrected errors: of a kind not told"},
    /* the IOMMU */
    {"Intel's IOMMU",
     "[   7.5] DMAR: [DMA Write] Request device [3b:00.0] fault addr 3883fff80000 [fault reason "
     "05] "
     "PTE Write access is not set\n",
     "warn 0000:3b:00.0:PCI019",
     "the IOMMU refused what it wanted to read or write, last 7 s after boot"},
    {"... of newer kernels",
     "DMAR: [DMA Read NO_PASID] Request device [0x3b:0x00.0] fault addr 0x1000 [fault reason "
     "0x06]\n",
     "warn 0000:3b:00.0:PCI019", NULL},
    {"AMD's IOMMU",
     "AMD-Vi: Event logged [IO_PAGE_FAULT device=c1:00.0 domain=0x0045 address=0xe4000000 "
     "flags=0x0030]\n",
     "warn 0000:c1:00.0:PCI019", NULL},
    {"... by the driver's name",
     "nvidia 0001:c1:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0045 address=0x0]\n",
     "warn 0001:c1:00.0:PCI019", NULL},
    {"a fault of nobody", "DMAR: [DMA Read] Request device [zz:00.0] fault addr 0\n", "note", NULL},
    /* others */
    {"power state",
     "vfio-pci 0000:88:00.0: Unable to change power state from D3cold to D0, device inaccessible\n",
     "warn 0000:88:00.0:PCI019", NULL},
    {"a USB controller's, as when a dock is unplugged",
     "xhci_hcd 0000:3b:00.0: can't change power state from D3cold to D0 (config space "
     "inaccessible)\n",
     "note 0000:3b:00.0:PCI019", NULL},
    {"power state, before 5.6",
     "nvidia 0000:88:00.0: Refused to change power state, currently in D3\n",
     "warn 0000:88:00.0:PCI019", NULL},
    {"AMD's driver counts",
     "amdgpu 0000:c3:00.0: amdgpu: 1 uncorrectable hardware errors detected in umc block\n"
     "amdgpu 0000:c4:00.0: amdgpu: 0 uncorrectable hardware errors detected in umc block\n"
     "amdgpu 0000:c5:00.0: amdgpu: 0 new uncorrectable hardware errors detected in gfx block\n",
     "warn 0000:c3:00.0:PCI023", "its driver counted errors of the chip"},
    {"AMD's driver could not reset", "amdgpu 0000:c3:00.0: amdgpu: GPU Recovery Failed: -19\n",
     "warn 0000:c3:00.0:PCI023", NULL},
    {"wedged, says the kernel for it", "amdgpu 0000:c3:00.0: [drm] device wedged, needs recovery\n",
     "warn 0000:c3:00.0:PCI023", "its driver could not reset it"},
    {"... and recovered", "amdgpu 0000:c3:00.0: [drm] device wedged, but recovered through reset\n",
     "unknown", NULL},
    {"AMD's driver lost it", "amdgpu 0000:c3:00.0: amdgpu: device lost from bus!\n",
     "drain 0000:c3:00.0:PCI002", NULL},
    {"programs that are called like faults",
     "amdgpu 0000:c3:00.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:3 "
     "pasid:32770, for process lost from bus pid 1234 thread lost from bus pid 1234)\n"
     "amdgpu 0000:c3:00.0: amdgpu: page fault (vmid:3, for process GPU is lost pid 1)\n"
     "amdgpu 0000:c3:00.0: amdgpu:  Process device wedged pid 1234 thread BAR1 is 0M pid 1234\n"
     "amdgpu 0000:c3:00.0: amdgpu: Process information: process PCIe Bus Error: pid 1\n"
     "amdgpu 0000:c3:00.0: amdgpu: fault, for process Xid (1:0): 79 pid 1\n"
     "i915 0000:03:00.0: [drm] GPU HANG: ecode 12:1:85dffffb, in PCIe Bus Error: [1234]\n",
     "unknown", NULL},
    {"words of nobody's driver", "user 0000:41:00.0: fallen off the bus, GPU is lost, wedged\n",
     "unknown", NULL},
    {"Intel's driver gave up",
     "xe 0000:03:00.0: [drm] *ERROR* CRITICAL: Xe has declared device 0000:03:00.0 as wedged.\n",
     "warn 0000:03:00.0:PCI023", "its driver could not reset it"},
};

/* As health_text.c's; PCI013, of a log without GPUs, is left out. */
static void judged(const char *text, size_t size, char *out, size_t cap, char seen[192])
{
    char *own = malloc(size + 1);
    pipc__limits_t limits = pipc__limits_default();
    pipc__findings_t f = {.n = 0};
    pipc__facts_t facts;
    size_t used;

    assert_non_null(own);
    memcpy(own, text, size);
    own[size] = '\0';
    snprintf(out, cap, "unknown");
    seen[0] = '\0';
    if (!pipc__facts_parse(&facts, own, "text", NULL)) {
        assert_int_equal(pipc__judge(&facts, &limits, &f, NULL), PIPC_OK);
        used = (size_t)snprintf(out, cap, "%s", pipc__severity_name(f.verdict));
        for (int i = 0; i < f.n && used < cap; i++)
            if (f.list[i].code != PIPC__CODE_NO_GPU)
                used += (size_t)snprintf(out + used, cap - used, " %s:%s", f.list[i].object,
                                         pipc__codes[f.list[i].code].name);
        for (int i = 0; i < f.n && !seen[0]; i++)
            if (f.list[i].code != PIPC__CODE_NO_GPU)
                snprintf(seen, 192, "%s", f.list[i].seen);
    }
    pipc__findings_free(&f);
    pipc__facts_free(&facts);
    free(own);
}

static void lines(void **state)
{
    char out[1024], seen[192];

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        const said_t *c = &table[i];
        judged(c->text, strlen(c->text), out, sizeof(out), seen);
        if (strcmp(out, c->want) != 0 || (c->seen && strcmp(seen, c->seen) != 0))
            fail_msg("%s: is \"%s\", \"%s\"; wanted \"%s\", \"%s\"", c->name, out, seen, c->want,
                     c->seen ? c->seen : "");
    }
}

/* A log that ends anywhere tells less, a later boot aside; only the firmware's record drains, when
 * all of it is there, and a GPU that is off the bus. */
static void cut_anywhere(void **state)
{
    char out[1024], seen[192];

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++)
        for (size_t n = 0; n < strlen(table[i].text); n++) {
            judged(table[i].text, n, out, sizeof(out), seen);
            if (strstr(out, "drain") && strncmp(table[i].want, "drain", 5) != 0 &&
                strncmp(table[i].name, "off the bus", 11) != 0)
                fail_msg("%s cut to %zu bytes: %s", table[i].name, n, out);
        }
}

static void times(void **state)
{
    static const struct {
        const char *line;
        long seconds;
        const char *wall;
    } cases[] = {
        {"[   12.345678] x", 12, ""},
        {"<4>[12.3] x", 12, ""},
        {"kern  :warn  : [99999.000001] x", 99999, ""},
        {"[Mon Nov 30 08:53:57 2026] x", -1, "Mon Nov 30 08:53:57 2026"},
        {"Nov  3 08:53:57 node kernel: x", -1, "Nov  3 08:53:57"},
        {"Nov  3 08:53:57 node kernel: [ 5.25] x", 5, ""},
        {"2026-11-30T08:53:57.123456+00:00 node kernel: x", -1, "2026-11-30T08:53:57"},
        {"[99999999999999999999.0] x", -1, ""},
        {"from [10.0.0.1]", -1, ""},
        {"[    7.250000][  T123] x", 7, ""},
        {"[   ] x [a.1] [1.] [1", -1, ""},
        {"", -1, ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__event_time_t t = pipc__kernel_time(cases[i].line);
        assert_int_equal(t.seconds, cases[i].seconds);
        assert_string_equal(t.wall, cases[i].wall);
    }
}

/* A machine's own log tells of all its devices, and the check is about those of GPUs. */
static void whose_log(void **state)
{
    static const struct {
        const char *name;
        pipc__event_t event;
        bool in_view;
        pipc__severity_t want;
    } cases[] = {
        {"a port of an SSD",
         {.kind = PIPC__EVENT_CORRECTED, .told = true, .bits = PIPC__CE_BAD_TLP},
         false,
         PIPC__NOTE},
        {"a GPU's port",
         {.kind = PIPC__EVENT_CORRECTED, .told = true, .bits = PIPC__CE_BAD_TLP},
         true,
         PIPC__WARN},
        {"an SSD's record of the boot before",
         {.kind = PIPC__EVENT_RECORD, .told = true, .bits = 0x20},
         false,
         PIPC__NOTE},
        {"a GPU's", {.kind = PIPC__EVENT_RECORD, .told = true, .bits = 0x20}, true, PIPC__DRAIN},
        {"a GPU that has gone", {.kind = PIPC__EVENT_XID, .xid = 79}, false, PIPC__WARN},
        {"a GPU that has gone, says its driver", {.kind = PIPC__EVENT_OFF_BUS}, true, PIPC__WARN},
        {"an SSD's slot", {.kind = PIPC__EVENT_LINK_DOWN}, false, PIPC__NOTE},
        {"an SSD that the IOMMU refused", {.kind = PIPC__EVENT_REFUSED}, false, PIPC__NOTE},
        {"a GPU that the IOMMU refused", {.kind = PIPC__EVENT_REFUSED}, true, PIPC__WARN},
        {"narrow, and known better",
         {.kind = PIPC__EVENT_NARROW, .width = 2, .can = 16},
         true,
         PIPC__OK},
    };
    pipc__limits_t limits = pipc__limits_default();

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__fact_t gpu = {
            .name = "0000:41:00.0", .parent = -1, .gpu = true, .link = {0, 16, 16000, 16, 16000}};
        pipc__event_t e = cases[i].event;
        pipc__facts_t facts = {.dev = &gpu, .n = 1, .log = true, .event = &e, .events = 1};
        pipc__findings_t f;
        e.count = 1;
        e.last.seconds = -1;
        snprintf(e.name, sizeof(e.name), cases[i].in_view ? "0000:41:00.0" : "0000:99:00.0");
        limits.severity[PIPC__CODE_NO_PORT] = PIPC__OK;
        assert_int_equal(pipc__judge(&facts, &limits, &f, NULL), PIPC_OK);
        if (f.verdict != cases[i].want)
            fail_msg("%s: %s", cases[i].name, pipc__severity_name(f.verdict));
        pipc__findings_free(&f);
    }
}

static void numbers_in_order(void **state)
{
    (void)state;
    for (int n = -1; n < 1000; n++) {
        const pipc__xid_t *x = pipc__xid(n);
        assert_true(x->number == n || x->kind == PIPC__XID_TOLD);
        assert_true(strlen(x->what) < 60);
    }
    assert_int_equal(pipc__xid(31)->kind, PIPC__XID_PROGRAM);
    assert_int_equal(pipc__xid(79)->kind, PIPC__XID_HARDWARE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),     cmocka_unit_test(cut_anywhere),     cmocka_unit_test(times),
        cmocka_unit_test(whose_log), cmocka_unit_test(numbers_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
