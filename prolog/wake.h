/* prolog/wake.h - is a link that runs below its speed slow, or does its GPU only sleep?
 *
 * An idle GPU trains its link down, so that its speed says nothing until the GPU has work. Here it
 * is given some, or NVML is asked whether it has (wake.c: which links; wake_look.c: what is seen of
 * one; wake_judge.c: what that means). What cannot be told stays the note that it was.
 */
#ifndef PIPC_PROLOG_WAKE_H
#define PIPC_PROLOG_WAKE_H

#include "prolog/judge.h"

#define PIPC__WAKE_READS 5 /* of the link, all of which must say the same */

typedef enum pipc__wake_mode {
    PIPC__WAKE_NEVER,
    PIPC__WAKE_NVML, /* touches no GPU: NVML must say P0 before and after the reads */
    PIPC__WAKE_COPY  /* copies from the GPU to the host while the link is read */
} pipc__wake_mode_t;

/* "never", "nvml", "copy", NULL */
extern const char *const pipc__wake_names[];

/* Back from the name; -1 when there is none such. */
int pipc__wake_parse(const char *name);

typedef struct pipc__wake {
    pipc__wake_mode_t mode;
    const char *sysroot;     /* where links are read; the driver is always this machine's */
    const char *const *gpus; /* these alone ("0000:41:00.0"), NULL-ended; NULL: all */
    int deadline_ms;         /* for all links together */
    const char *nvml, *cuda; /* libraries; NULL: the driver's own */
} pipc__wake_t;

/* A link to look at, and how far that got. In order: a later one has passed the earlier. */
typedef enum pipc__wake_end {
    PIPC__WAKE_NO_ANSWER,  /* nothing came in time: the driver hangs or is still starting */
    PIPC__WAKE_NO_DRIVER,  /* NVML or CUDA cannot be opened */
    PIPC__WAKE_UNKNOWN,    /* the driver does not know this GPU */
    PIPC__WAKE_MIG,        /* it is in parts, or that can't be told: not touched */
    PIPC__WAKE_BUSY,       /* somebody uses it, or that can't be told: not touched */
    PIPC__WAKE_FAILED,     /* the copy failed */
    PIPC__WAKE_ASLEEP,     /* not in P0 before or after */
    PIPC__WAKE_RAISED,     /* the link reached its speed */
    PIPC__WAKE_STAYED_LOW, /* it did not, in any of @reads */
    PIPC__WAKE_ENDS
} pipc__wake_end_t;

typedef struct pipc__wake_link {
    char gpu[PIPC__FACT_NAME_MAX];
    char port[PIPC__FACT_NAME_MAX]; /* whose LnkSta is read; "": not in view, the GPU's own is */
    int want_mts;
    pipc__wake_mode_t mode;
    pipc__wake_end_t end;
    int reads, mts[PIPC__WAKE_READS]; /* -1: all ones, or none that PCIe has */
} pipc__wake_link_t;

typedef enum pipc__wake_verdict {
    PIPC__WAKE_CANT_TELL,
    PIPC__WAKE_FAST,
    PIPC__WAKE_SLOW
} pipc__wake_verdict_t;

/* Pure. @why gets what to add to the finding: "5 reads under a copy", "somebody uses the GPU". */
pipc__wake_verdict_t pipc__wake_judge(const pipc__wake_link_t *link, bool virtual_machine,
                                      char why[96]);

/* Look at @n links in this process: opens the driver, may hang or crash. @done is called after each
 * one. For the child of pipc__wake(), and for tests. */
void pipc__wake_look(const pipc__wake_t *wake, pipc__wake_link_t *links, int n,
                     void (*done)(void *arg, int i, const pipc__wake_link_t *link), void *arg);

/* Look at the links of GPUs that @findings note as slow (PCI003), and change these findings: one
 * that is confirmed becomes PCI032, the others say what was seen. A process of its own asks the
 * driver, and is left behind at the deadline. Fails only without memory. */
pipc_status_t pipc__wake(const pipc__wake_t *wake, const pipc__facts_t *facts,
                         const pipc__limits_t *limits, pipc__findings_t *findings,
                         pipc__error_t *err);

#endif
