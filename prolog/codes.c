/* prolog/codes.c - see codes.h */
#include "prolog/codes.h"

#include <string.h>

const pipc__code_entry_t pipc__codes[PIPC__CODES] = {
    [PIPC__CODE_WIDTH] =
        {"PCI001", PIPC__DRAIN, "a link has fewer lanes than both of its ends can do",
         "reseat the card and its riser or cable, then replace them in turn",
         "A link has the lanes that both ends can do, at any speed and also when idle. One that "
         "has fewer lost them when it trained: a contact, a riser, a cable. Every copy over it "
         "takes longer. The lanes of a slot that was made with few are no loss: then the port's "
         "ability is the limit. A NIC beside the GPUs is told as a warning, and as a note where it "
         "could carry little with all its lanes, as the gigabit ports of a board."},
    [PIPC__CODE_LOST] =
        {"PCI002", PIPC__DRAIN, "a device does not answer",
         "power the node off and on; if the device stays away, reseat or replace it",
         "What answers nothing reads all ones, whatever register is asked for. Such a device is "
         "off the bus; jobs on it fail. In a text it is a device of revision ff, or one of which "
         "its driver says that it fell off the bus (Xid 79) and nothing shows that it is back; a "
         "port that has a card in its slot and no lanes is a warning there. A function that the "
         "kernel has switched off reads the same and is not meant."},
    [PIPC__CODE_SPEED] =
        {"PCI003", PIPC__NOTE, "a link runs below its speed, as idle GPUs do",
         "nothing to do while the GPU is idle; compare under load",
         "GPUs lower their link's speed when they have nothing to do and raise it within "
         "microseconds of work. Speed alone therefore says nothing about a fault, and no node is "
         "drained for it.",
         .no_fault = true},
    [PIPC__CODE_TARGET] =
        {"PCI004", PIPC__NOTE, "a port's target speed is set below what both ends can do",
         "if that is not meant, set the slot's speed to automatic in the firmware",
         "The port above a link sets the speed that it may train to. A site may want a lower one "
         "for stability. It costs bandwidth, so it is told."},
    [PIPC__CODE_ASPM] =
        {"PCI005", PIPC__WARN, "ASPM is on at a port or device on a GPU's path",
         "switch ASPM off in the firmware, or boot with pcie_aspm.policy=performance",
         "Power saving of a link makes it leave and enter low power states, which costs latency "
         "and, on some cards and boards, ends in errors that reset the machine. On the sound or "
         "USB function of a card it is a note."},
    [PIPC__CODE_SLOT] =
        {"PCI006", PIPC__NOTE, "the slot can do less than the card",
         "nothing to do; a slot with more lanes or speed would be used",
         "What a link can be is the least of card and port. The card would do more elsewhere, and "
         "nothing is broken."},
    [PIPC__CODE_STARVED] =
        {"PCI007", PIPC__WARN, "the slot can do a sixteenth or less of what the card can",
         "move the card to a slot that is meant for it",
         "Such a slot was made for a card of another kind. The GPU works, and waits for its data."},
    [PIPC__CODE_UNCONFIRMED] =
        {"PCI008", PIPC__SEV_UNKNOWN, "a link looks narrow, but what it should be cannot be told",
         "look at the machine itself, with its ports in view",
         "The other end of the link is not in view or does not agree, as with ports that a "
         "hypervisor invents: whether lanes are lost cannot be told, and what cannot be told is no "
         "fault."},
    [PIPC__CODE_NO_LINK] =
        {"PCI009", PIPC__SEV_UNKNOWN, "a GPU's link says nothing about its width",
         "nothing to do in a virtual machine; else look as root",
         "Virtual machines often give no link status, and without privilege it may be out of "
         "reach. 0 and all ones are no widths."},
    [PIPC__CODE_ASLEEP] =
        {"PCI010", PIPC__SEV_UNKNOWN, "a device is powered off, in D3cold",
         "keep it on: echo on >power/control in its folder of sysfs",
         "A device without power has no link to judge, and waking it is not the check's to do."},
    [PIPC__CODE_NO_PORT] =
        {"PCI011", PIPC__NOTE, "no port above a GPU is in view: it is judged by its own abilities",
         "nothing to do; with its ports in view more can be told",
         "A link has two ends. Of one alone the card's own ability is all there is to compare "
         "with."},
    [PIPC__CODE_HIDDEN] =
        {"PCI012", PIPC__NOTE,
         "capabilities cannot be read: ASPM, target speed, ACS and errors are not judged",
         "run as root",
         "Without privilege the kernel shows the first 64 bytes of config space. Links are judged "
         "by the files of sysfs then."},
    [PIPC__CODE_NO_GPU] =
        {"PCI013", PIPC__NOTE, "there is no GPU", "nothing to do if that is meant",
         "There is nothing to judge. Where GPUs are expected say so with --gpus."},
    [PIPC__CODE_SOURCE] =
        {"PCI014", PIPC__SEV_UNKNOWN, "the machine cannot be read",
         "run it on the machine, or name what can be read",
         "A check that could not be made says nothing about the node, and a prolog lets the job "
         "run."},
    [PIPC__CODE_ACS] =
        {"PCI015", PIPC__WARN, "a port between GPUs redirects their requests (ACS)",
         "on a node without virtual machines switch ACS off: in the firmware, or with "
         "pci=disable_acs_redir= and this address",
         "With these bits a port sends what one GPU writes to another up to the root complex, "
         "where it takes longer, is lost in the IOMMU or never ends: seen as hangs and as wrong "
         "data. Virtual machines need them, so that they are never cleared from here. Source "
         "validation alone redirects nothing. That all are clear does not prove that GPUs reach "
         "each other: pcie-ipc-p2p does."},
    [PIPC__CODE_STATUS] =
        {"PCI016", PIPC__WARN, "a device has errors in its status, of a time that is not known",
         "clear them with setpci and see whether they come back under load",
         "The bits stay from the moment of the error until something clears them, so that they "
         "tell no time and no rate. Replays and bad packets are a link's own, and a reason to "
         "look; receiver errors alone come with changes of speed, unsupported requests with "
         "enumeration: these are notes, as is all of a card's sound and USB functions.",
         .no_fault = true, .past = true},
    [PIPC__CODE_COUNTER] =
        {"PCI017", PIPC__NOTE, "a device has had errors since boot",
         "look again under load: only a number that grows tells something",
         "The kernel counts the errors of each device from boot. What matters is how fast "
         "they grow, which one look does not tell.",
         .no_fault = true, .past = true},
    [PIPC__CODE_RECORD] =
        {"PCI018", PIPC__DRAIN, "a fatal PCIe error ended the boot before",
         "look at the device and its slot, and run a stress test before jobs do",
         "The firmware kept the error that ended the boot before, and the kernel printed it at the "
         "next one. It was fatal to the machine and would be to a job.",
         .past = true},
    [PIPC__CODE_LOG] =
        {"PCI019", PIPC__WARN, "the kernel's log has PCIe errors of a device",
         "compare with the device itself; under load, see whether they come back",
         "The kernel's log names the device in reports of PCIe errors, or its driver said that it "
         "was gone, or the IOMMU refused what it wanted to read or write: what one GPU writes to "
         "another is lost so. Whether it still is so, and how often it is, the log does not tell.",
         .no_fault = true, .past = true},
    [PIPC__CODE_MISSING] =
        {"PCI020", PIPC__DRAIN, "there are fewer GPUs than expected",
         "power the node off and on; if a GPU stays away, reseat or replace it",
         "A GPU that did not come up at boot is in no list, so that only its number shows it."},
    [PIPC__CODE_BAR] =
        {"PCI021", PIPC__NOTE, "a GPU shows a small part of its memory (BAR 1)",
         "switch on Resizable BAR and decoding above 4G in the firmware",
         "Peers and NICs reach a GPU's memory through a window in the address space of PCIe. Where "
         "it is small, mappings of peers' memory are few or fail; some drivers then go through "
         "host memory."},
    [PIPC__CODE_IOMMU] =
        {"PCI022", PIPC__WARN, "the IOMMU translates what GPUs send to each other",
         "on a node without virtual machines boot with iommu=pt, or switch the IOMMU off",
         "With a group of the type DMA the addresses that a GPU writes to are translated. Together "
         "with ACS that redirects, peers' writes take the way through the IOMMU, which is slow "
         "and has lost them without an error. Alone it is a note."},
    [PIPC__CODE_DRIVER] =
        {"PCI023", PIPC__WARN, "a GPU's driver reports errors of the hardware (Xid) in the log",
         "reset the GPU or power the node off and on; if it comes back, replace it",
         "NVIDIA's driver gives each error a number. Those that programs cause are not told; those "
         "of memory, links, firmware and power are, and numbers that are not known here are "
         "notes. Whether the GPU is still sick the log does not tell.",
         .past = true},
    [PIPC__CODE_UNCOUNTED] =
        {"PCI024", PIPC__NOTE,
         "the kernel does not count PCIe errors: its AER service is not bound",
         "to have them counted let the kernel handle AER (firmware), or boot with "
         "pcie_ports=native",
         "Where the firmware keeps errors to itself the counters in sysfs are there and stay 0, "
         "which says nothing. Look in the log for what the firmware reports."},
    [PIPC__CODE_NVML] =
        {"PCI025", PIPC__NOTE, "what NVML says of a GPU is worth a look",
         "nvidia-smi -pm 1, or nvidia-persistenced; compare replays under load",
         "Without persistence mode the driver lets a GPU go when its last program ends, and starts "
         "it anew for the next. Replays are packets that were sent again since the driver "
         "started, of which only the rate tells something. Asked only with --nvml."},
    [PIPC__CODE_LANES] =
        {"PCI026", PIPC__DRAIN, "a link has fewer lanes than it had in the baseline",
         "reseat the card and its riser, look at the slot's bifurcation; if it is meant so, learn "
         "the baseline again",
         "Both ends may say that fewer lanes are all that they can do: a slot that the firmware "
         "split in two says so, and a riser with few contacts hides what the card could. The same "
         "card at the same place had more when the baseline was learned."},
    [PIPC__CODE_ABILITY] =
        {"PCI027", PIPC__WARN, "a link can do less than it could in the baseline",
         "look at the slot's settings in the firmware; if it is meant so, learn the baseline again",
         "The target speed that a port sets, the speed that both ends can do or the memory that a "
         "GPU shows its peers (BAR1) is less than at the same place before. It costs bandwidth, "
         "and nothing is broken."},
    [PIPC__CODE_STALE] =
        {"PCI028", PIPC__WARN, "the baseline is of another device, or of another BIOS",
         "look whether the machine is as it should be, then learn the baseline again",
         "A card was replaced or moved, or the BIOS was changed. What the baseline says of links "
         "is of the machine that was, so they are not judged by it. A GPU that is in no baseline "
         "is a note.",
         .no_fault = true},
    [PIPC__CODE_GONE] =
        {"PCI029", PIPC__DRAIN, "a GPU of the baseline is not there",
         "power the node off and on; if it stays away, reseat or replace it; if it was taken out, "
         "learn the baseline again",
         "A GPU that did not come up at boot is in no list, and the baseline knows where it was. "
         "GPUs that are as many as before, at other places, are no loss but a stale baseline. A "
         "NIC that is not there is a warning; in an excerpt that cannot be told."},
    [PIPC__CODE_GROWING] =
        {"PCI030", PIPC__WARN, "corrected errors of a link grow faster than they should",
         "reseat the card and its riser or cable; look at power and heat under load",
         "Both ends of the link are added, since the last look of this boot that is an hour old; "
         "errors_per_hour in limits.conf says how many are no matter. What counts is packets that "
         "came damaged or were sent again. Receiver errors alone come with changes of speed: they "
         "are a note. They show under full load, as a rule, and long before the link fails."},
    [PIPC__CODE_CHANGED] =
        {"PCI031", PIPC__WARN, "a link lost lanes since the last look, or in the last day",
         "see when with pcie-ipc-health watch --summary; with a period, look at the power",
         "A link that loses lanes and finds them again looks well whenever somebody looks. Here "
         "an earlier look, or the record of a watch, tells, or a text that shows the link twice, "
         "or a device lost and further down well. "
         "Changes of speed are none: idle GPUs make them.",
         .past = true},
    [PIPC__CODE_STAYS_SLOW] =
        {"PCI032", PIPC__DRAIN, "a link stays below its speed while its GPU works",
         "reseat the card and its riser or cable, then replace them in turn",
         "A GPU at work has its link at full speed. Here it had work, by a copy or, as its driver "
         "said before and after, of its own (P0), and the port above it gave the same lower speed "
         "in several reads. So the link did not train higher than that. It is only told with "
         "--wake or the key wake: without one a low speed stays a note (PCI003)."},
    [PIPC__CODE_RULES] =
        {"PCI033", PIPC__WARN, "limits.conf, the baseline or the acknowledgements are refused",
         "correct the file, or remove it",
         "A file that is wrong in one place, or that others can write, is not believed at all: "
         "the node is judged by the defaults, and without a baseline.",
         .no_fault = true},
    [PIPC__CODE_UNCORRECTED] =
        {"PCI034", PIPC__WARN, "a link has had uncorrected errors since the last look",
         "look into the kernel's log at that time, and run a stress test before jobs do",
         "A packet was lost for good, which a job may have paid for; fatal ones take the link "
         "down. A reset of a GPU can make them too, so that they drain only where limits.conf says "
         "so. Requests that are not supported are not meant: software makes them."},
};

static const char *const names[PIPC__SEVERITIES] = {"ok", "note", "unknown", "warn", "drain"};

pipc__severity_t pipc__code_most(pipc__code_t code)
{
    const pipc__code_entry_t *e = &pipc__codes[code];

    return e->no_fault || e->severity == PIPC__SEV_UNKNOWN ? PIPC__WARN : PIPC__DRAIN;
}

const char *pipc__severity_name(pipc__severity_t severity)
{
    return names[severity < PIPC__SEVERITIES ? severity : PIPC__SEV_UNKNOWN];
}

pipc__severity_t pipc__severity_parse(const char *name)
{
    int s = 0;

    while (s < PIPC__SEVERITIES && (!name || strcmp(names[s], name) != 0))
        s++;
    return (pipc__severity_t)s;
}
