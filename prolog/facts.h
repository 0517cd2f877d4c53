/* prolog/facts.h - what is known of the GPUs of a machine and of every port above them. Facts only:
 * judge.h makes findings of them.
 */
#ifndef PIPC_PROLOG_FACTS_H
#define PIPC_PROLOG_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "prolog/express.h"
#include "prolog/extended.h"
#include "runtime/base/error.h"

#define PIPC__FACT_NAME_MAX 48
#define PIPC__POLICY_MAX 24
#define PIPC__BOOT_MAX 40

typedef enum pipc__answer {
    PIPC__ANSWERS,
    PIPC__SILENT, /* config space cannot be read here: nothing is known */
    PIPC__LOST,   /* it reads all ones */
    PIPC__ASLEEP  /* all ones, and the kernel says that it has powered it off */
} pipc__answer_t;

#define PIPC__UUID_MAX 48
#define PIPC__SLOT_MAX 32
#define PIPC__BIOS_MAX 64

/* Which one it is, of many alike; what is not known is "" or 0. */
typedef struct pipc__identity {
    char slot[PIPC__SLOT_MAX]; /* as the firmware calls it: "3" */
    char uuid[PIPC__UUID_MAX]; /* of a GPU: what its driver says */
    uint64_t serial;           /* of its config space */
} pipc__identity_t;

typedef enum pipc__iommu {
    PIPC__IOMMU_UNKNOWN,
    PIPC__IOMMU_NONE,      /* in no group: there is none, or it is off */
    PIPC__IOMMU_GROUP,     /* in a group of a type that is not known, or a virtual machine's */
    PIPC__IOMMU_IDENTITY,  /* addresses pass as they are */
    PIPC__IOMMU_TRANSLATES /* ... and here they don't */
} pipc__iommu_t;

/* Of a root port: does the kernel's AER service count what it and those below report? */
typedef enum pipc__aer { PIPC__AER_UNKNOWN, PIPC__AER_UNBOUND, PIPC__AER_COUNTS } pipc__aer_t;

/* What NVML says of a GPU; -1: nothing. */
typedef struct pipc__nvml {
    bool told; /* false: it was not asked, or knows no such GPU, and the rest means nothing */
    int p_state, persistence;
    int generation, max_generation, width, max_width; /* of its link; most of GPU and slot */
    int64_t replays;                                  /* since the driver started */
} pipc__nvml_t;

/* NVML's numbers for a way from one GPU to another */
typedef enum pipc__p2p {
    PIPC__P2P_OK,
    PIPC__P2P_CHIPSET,
    PIPC__P2P_GPU,
    PIPC__P2P_TOPOLOGY,
    PIPC__P2P_OFF,
    PIPC__P2P_UNSUPPORTED,
    PIPC__P2P_UNKNOWN,
    PIPC__P2P_STATUSES
} pipc__p2p_t;

typedef struct pipc__pair {
    int a, b; /* devices of the facts */
    pipc__p2p_t status;
} pipc__pair_t;

typedef struct pipc__fact {
    char name[PIPC__FACT_NAME_MAX]; /* "0000:41:00.0" */
    int parent;                     /* index of the port above it, which stands anywhere; or -1 */
    bool gpu;           /* a GPU, or the switch of a GPU's card where no GPU is in view */
    bool companion;     /* the audio, USB or serial function of a GPU's card */
    bool nic;           /* beside a GPU */
    bool bridge;        /* or port; what is above a GPU, or may be, is known by its place */
    int vendor, device; /* -1: unknown */
    pipc__answer_t answer;
    pipc__express_t link; /* by config space; what that does not say, by the files of sysfs */
    pipc__extended_t more;
    bool dead_slot; /* of a text: a port says that a card is in its slot, and has no lanes */
    int narrowest;  /* of a text that shows its link with several widths: the least; else 0 */
    bool was_lost;  /* of a text: it did not answer, and further down it does */
    /* What the kernel counted since boot; -1: unknown. Corrected ones of its link, and uncorrected
     * ones without requests that are not supported, which enumeration leaves behind. */
    int64_t errors, uncorrected;
    pipc__iommu_t iommu;
    int iommu_group; /* where it is in one */
    pipc__aer_t aer;
    pipc__nvml_t nvml;
    pipc__identity_t who; /* slot and UUID are left to identity.h */
} pipc__fact_t;

typedef enum pipc__event_kind {
    PIPC__EVENT_CORRECTED,
    PIPC__EVENT_UNCORRECTED,
    PIPC__EVENT_RECORD,      /* fatal, and found by the firmware's record at the next boot */
    PIPC__EVENT_LOST,        /* the kernel says that the device is gone */
    PIPC__EVENT_OFF_BUS,     /* a GPU's driver does: nothing but a reset brings it back */
    PIPC__EVENT_UNRECOVERED, /* of a port: an error below it could not be recovered from */
    PIPC__EVENT_REFUSED,     /* an IOMMU refused what it wanted to read or write */
    PIPC__EVENT_LINK_DOWN,   /* of a port: the link below it went down, or did not come up */
    PIPC__EVENT_RETRAINED,   /* ... had to be trained anew */
    PIPC__EVENT_NARROW,      /* enumeration found a link on its way with fewer lanes than it has */
    PIPC__EVENT_XID,         /* NVIDIA's driver gives it a number (xid.h) */
    PIPC__EVENT_NO_START,    /* the driver could not start the GPU */
    PIPC__EVENT_HARDWARE,    /* the driver counts errors of the chip or its memory, uncorrected */
    PIPC__EVENT_GIVEN_UP,    /* the driver could not reset it */
    PIPC__EVENT_KINDS
} pipc__event_kind_t;

typedef struct pipc__event_time {
    long seconds;  /* since boot; -1: not told */
    char wall[25]; /* as the log has it; "": not told */
} pipc__event_time_t;

/* What a kernel's log says of a device, lines of one kind together. */
typedef struct pipc__event {
    char name[PIPC__FACT_NAME_MAX];
    pipc__event_kind_t kind;
    int xid;       /* of PIPC__EVENT_XID; else 0 */
    uint32_t bits; /* of the AER status, masked ones aside; 0: not told, or no line told any */
    bool told;
    bool companion;               /* its driver is one for sound or USB */
    bool before_boot;             /* the log says that the machine has booted since, that the
                                     driver was loaded anew or the device found again */
    int width, can;               /* of PIPC__EVENT_NARROW: lanes there, and of the device */
    char at[PIPC__FACT_NAME_MAX]; /* ... the port above the narrow link, or "" */
    int count;
    pipc__event_time_t last;
} pipc__event_t;

typedef struct pipc__facts {
    pipc__fact_t *dev; /* in order of address */
    int n;
    bool virtual_machine;               /* its ports may be invented */
    char bios[PIPC__BIOS_MAX];          /* its version; left to identity.h */
    bool excerpt;                       /* what is not in it may be there all the same */
    char aspm_policy[PIPC__POLICY_MAX]; /* the kernel's; "": unknown */
    bool log;                           /* a kernel's log was read, or lines of one */
    bool log_unread;                    /* there is one that could not be read */
    char boot[PIPC__BOOT_MAX];          /* whose log it is; "": not told */
    pipc__event_t *event;               /* in order of their first line */
    int events;
    enum { PIPC__NVML_UNASKED, PIPC__NVML_SILENT, PIPC__NVML_ANSWERED } nvml;
    pipc__pair_t *pair; /* of NVIDIA GPUs, both ways */
    int pairs;
} pipc__facts_t;

typedef enum pipc__look {
    PIPC__LOOK_LINKS,  /* what a prolog needs, in few reads */
    PIPC__LOOK_ALL,    /* ACS and errors too, and what stands beside GPUs */
    PIPC__LOOK_EXCERPT /* all, where some devices may be missing */
} pipc__look_t;

/* Collect the facts below @root ("/" is this machine). PIPC_ERR_NOT_FOUND without
 * sys/bus/pci/devices. The caller releases @facts, also after a failure. */
pipc_status_t pipc__facts_sysfs(pipc__facts_t *facts, const char *root, pipc__look_t look,
                                pipc__error_t *err);

/* The same of the text that lspci -xxxx (or -x, -xxx) wrote to @file. */
pipc_status_t pipc__facts_dump(pipc__facts_t *facts, const char *file, pipc__error_t *err);

/* The same of what people paste into tickets: lspci -vvv, whole or cut, setpci's answers, a
 * kernel's log, together and in any order (facts_text.c says what is read). */
pipc_status_t pipc__facts_text(pipc__facts_t *facts, const char *file, pipc__error_t *err);

/* The same of @text itself, which is changed; @from is its name in errors. */
pipc_status_t pipc__facts_parse(pipc__facts_t *facts, char *text, const char *from,
                                pipc__error_t *err);

/* Add what NVML, in @library, says of this machine's GPUs; it is given up after @timeout_msec. Asks
 * only where there is an NVIDIA GPU. PIPC_ERR_NOMEM is all that can go wrong. */
pipc_status_t pipc__facts_nvml(pipc__facts_t *facts, const char *library, int timeout_msec,
                               pipc__error_t *err);

void pipc__facts_free(pipc__facts_t *facts);

#endif
