/* prolog/check.h - read a machine and judge it
 */
#ifndef PIPC_PROLOG_CHECK_H
#define PIPC_PROLOG_CHECK_H

#include "prolog/in_view.h"
#include "prolog/judge.h"
#include "prolog/site.h"
#include "prolog/wake.h"

#define PIPC__LOOK_MS 1250 /* a device that is reset is away for a second at most */

/* Where earlier looks are, for a check of what changed since; a folder of NULL is none. */
typedef struct pipc__past {
    const char *run, *state; /* /run/pcie-ipc and /var/lib/pcie-ipc, of @owner's */
    uid_t owner;
    bool keep; /* leave this look for later ones */
} pipc__past_t;

typedef struct pipc__machine {
    const char *sysroot; /* "/" is this machine */
    const char *dump;    /* not NULL: the text of lspci -xxxx in its place */
    const char *text;    /* not NULL: what facts_text.c reads, in its place */
    bool all;            /* see PIPC__LOOK_ALL: for people; a prolog looks at links alone */
    const char *nvml;    /* not NULL: the library to ask, on this machine */
    int nvml_msec;       /* ... how long */
    int gpus;            /* how many there should be; 0: as limits.conf says */
    pipc__rule_file_t limits, baseline, acks;
    int look_ms;              /* for how long what may pass is looked at again; 0: one look more */
    pipc__in_view_t *view;    /* where to leave which devices were looked at, for the caller to
                                 release;    NULL: nowhere */
    const pipc__wake_t *wake; /* how low speeds are confirmed; NULL: not at all */
    pipc__past_t past;
} pipc__machine_t;

/* Read the facts of @source, and who each device is. The caller releases them, also after a
 * failure.
 */
pipc_status_t pipc__check_facts(const pipc__machine_t *source, pipc__facts_t *facts,
                                pipc__error_t *err);

/* A machine that cannot be read is a finding (unknown) too. A verdict of drain is believed when a
 * second look, a moment later, gives it too: a link may be in training at the first. What a device
 * in reset shows, that it is away or narrow, is believed when all looks in @source->look_ms give
 * it. Fails only without memory. The caller releases @out. */
pipc_status_t pipc__check(const pipc__machine_t *source, pipc__findings_t *out, pipc__error_t *err);

#endif
