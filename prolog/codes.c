/* prolog/codes.c - see codes.h */
#include "prolog/codes.h"

#include <string.h>

const pipc__code_entry_t pipc__codes[PIPC__CODES] = {
    [PIPC__CODE_WIDTH] = {"PCI001", PIPC__DRAIN,
                          "a link has fewer lanes than both of its ends can do",
                          "reseat the card and its riser or cable, then replace them in turn"},
    [PIPC__CODE_LOST] =
        {"PCI002", PIPC__DRAIN, "a device does not answer",
         "power the node off and on; if the device stays away, reseat or replace it"},
    [PIPC__CODE_SPEED] = {"PCI003", PIPC__NOTE, "a link runs below its speed, as idle GPUs do",
                          "nothing to do while the GPU is idle; compare under load"},
    [PIPC__CODE_TARGET] =
        {"PCI004", PIPC__NOTE, "a port's target speed is set below what both ends can do",
         "if that is not meant, set the slot's speed to automatic in the firmware"},
    [PIPC__CODE_ASPM] =
        {"PCI005", PIPC__WARN, "ASPM is on at a port or device on a GPU's path",
         "switch ASPM off in the firmware, or boot with pcie_aspm.policy=performance"},
    [PIPC__CODE_SLOT] = {"PCI006", PIPC__NOTE, "the slot can do less than the card",
                         "nothing to do; a slot with more lanes or speed would be used"},
    [PIPC__CODE_STARVED] = {"PCI007", PIPC__WARN,
                            "the slot can do a sixteenth or less of what the card can",
                            "move the card to a slot that is meant for it"},
    [PIPC__CODE_UNCONFIRMED] = {"PCI008", PIPC__SEV_UNKNOWN,
                                "a link looks narrow, but what it should be cannot be told",
                                "look at the machine itself, with its ports in view"},
    [PIPC__CODE_NO_LINK] = {"PCI009", PIPC__SEV_UNKNOWN,
                            "a GPU's link says nothing about its width",
                            "nothing to do in a virtual machine; else look as root"},
    [PIPC__CODE_ASLEEP] = {"PCI010", PIPC__SEV_UNKNOWN, "a device is powered off, in D3cold",
                           "keep it on: echo on >power/control in its folder of sysfs"},
    [PIPC__CODE_NO_PORT] = {"PCI011", PIPC__NOTE,
                            "no port above a GPU is in view: it is judged by its own abilities",
                            "nothing to do; with its ports in view more can be told"},
    [PIPC__CODE_HIDDEN] = {"PCI012", PIPC__NOTE,
                           "capabilities cannot be read: ASPM and target speed are not judged",
                           "run as root"},
    [PIPC__CODE_NO_GPU] = {"PCI013", PIPC__NOTE, "there is no GPU",
                           "nothing to do if that is meant"},
    [PIPC__CODE_SOURCE] = {"PCI014", PIPC__SEV_UNKNOWN, "the machine cannot be read",
                           "run it on the machine, or name what can be read"},
};

static const char *const names[PIPC__SEVERITIES] = {"ok", "note", "unknown", "warn", "drain"};

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
