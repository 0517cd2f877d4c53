/* prolog/codes.h - every code once: its severity, what it says, why, and what to do about it. The
 * judgement, explain, --help and the tests of the manual read this table.
 */
#ifndef PIPC_PROLOG_CODES_H
#define PIPC_PROLOG_CODES_H

#include <stdbool.h>

/* In order: the worst finding is the verdict. "unknown" stands below "warn": what could not be
 * judged says nothing against a node, a warning does. */
typedef enum pipc__severity {
    PIPC__OK,
    PIPC__NOTE,
    PIPC__SEV_UNKNOWN,
    PIPC__WARN,
    PIPC__DRAIN,
    PIPC__SEVERITIES
} pipc__severity_t;

typedef enum pipc__code {
    PIPC__CODE_WIDTH,       /* PCI001 */
    PIPC__CODE_LOST,        /* PCI002 */
    PIPC__CODE_SPEED,       /* PCI003 */
    PIPC__CODE_TARGET,      /* PCI004 */
    PIPC__CODE_ASPM,        /* PCI005 */
    PIPC__CODE_SLOT,        /* PCI006 */
    PIPC__CODE_STARVED,     /* PCI007 */
    PIPC__CODE_UNCONFIRMED, /* PCI008 */
    PIPC__CODE_NO_LINK,     /* PCI009 */
    PIPC__CODE_ASLEEP,      /* PCI010 */
    PIPC__CODE_NO_PORT,     /* PCI011 */
    PIPC__CODE_HIDDEN,      /* PCI012 */
    PIPC__CODE_NO_GPU,      /* PCI013 */
    PIPC__CODE_SOURCE,      /* PCI014 */
    PIPC__CODE_ACS,         /* PCI015 */
    PIPC__CODE_STATUS,      /* PCI016 */
    PIPC__CODE_COUNTER,     /* PCI017 */
    PIPC__CODE_RECORD,      /* PCI018 */
    PIPC__CODE_LOG,         /* PCI019 */
    PIPC__CODE_MISSING,     /* PCI020 */
    PIPC__CODE_BAR,         /* PCI021 */
    PIPC__CODE_IOMMU,       /* PCI022 */
    PIPC__CODE_DRIVER,      /* PCI023 */
    PIPC__CODE_UNCOUNTED,   /* PCI024 */
    PIPC__CODE_NVML,        /* PCI025 */
    PIPC__CODE_LANES,       /* PCI026 */
    PIPC__CODE_ABILITY,     /* PCI027 */
    PIPC__CODE_STALE,       /* PCI028 */
    PIPC__CODE_GONE,        /* PCI029 */
    PIPC__CODE_GROWING,     /* PCI030 */
    PIPC__CODE_CHANGED,     /* PCI031 */
    PIPC__CODE_STAYS_SLOW,  /* PCI032 */
    PIPC__CODE_RULES,       /* PCI033 */
    PIPC__CODE_UNCORRECTED, /* PCI034 */
    PIPC__CODES
} pipc__code_t;

typedef struct pipc__code_entry {
    const char *name; /* "PCI001" */
    pipc__severity_t severity;
    const char *what;   /* one clause, no full stop */
    const char *remedy; /* one clause, no full stop */
    const char *why;    /* sentences: why it is judged so */
    bool no_fault;      /* of itself no fault of the node: limits.conf cannot make it drain */
    bool past;          /* a record of what was: an administrator can acknowledge it */
} pipc__code_entry_t;

extern const pipc__code_entry_t pipc__codes[PIPC__CODES];

/* The most severe that limits.conf can make of a code: warn for what cannot be told. */
pipc__severity_t pipc__code_most(pipc__code_t code);

/* "ok", "note", "unknown", "warn", "drain" */
const char *pipc__severity_name(pipc__severity_t severity);

/* Back from the name; PIPC__SEVERITIES when there is none such. */
pipc__severity_t pipc__severity_parse(const char *name);

#endif
