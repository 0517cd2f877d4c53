/* prolog/act.h - what the healthcheck does to a node. Pure: a verdict, what Slurm says, what we
 * remember -> one action.
 *
 * A drain that is not ours is never touched: neither its reason nor its state. Ours is one that we
 * set, with that very text, user and time; not one that looks like it.
 */
#ifndef PIPC_PROLOG_ACT_H
#define PIPC_PROLOG_ACT_H

#include <stdbool.h>

#include "prolog/codes.h"
#include "runtime/base/config.h"

#define PIPC__WELL_CHECKS                                                                          \
    2 /* in a row, before a node comes back: a link that trains anew is none */
#define PIPC__UNDRAINS_A_DAY 3 /* a fault that comes and goes is one */

typedef enum pipc__whose {
    PIPC__REASON_NONE,   /* empty */
    PIPC__REASON_PROLOG, /* Slurm's own "Prolog error" */
    PIPC__REASON_OURS,
    PIPC__REASON_OTHERS
} pipc__whose_t;

typedef enum pipc__act {
    PIPC__ACT_NOTHING,
    PIPC__ACT_DRAIN,  /* with our reason */
    PIPC__ACT_REASON, /* the node is out already: our reason in place of none, Slurm's or ours */
    PIPC__ACT_ASK,    /* the census, which drains within max_drain */
    PIPC__ACT_UNASK,
    PIPC__ACT_UNDRAIN
} pipc__act_t;

typedef struct pipc__scene {
    const pipc__config_t *config;
    pipc__severity_t verdict; /* what may be acted on: after the breaker */
    pipc__severity_t seen;    /* what was found: a fault that is only held is still there */
    bool drained, out;        /* see pipc__node_t */
    pipc__whose_t whose;      /* the reason there */
    bool current;             /* what is ours there says what we would say now */
    bool refused;             /* our prolog refused the node, and that is why Slurm drained it */
    bool asked;               /* the census is asked already */
    bool busy;                /* the field that it is asked in belongs to somebody else */
    int well;                 /* checks in a row, with this one, that found less than drain */
    int undrains;             /* of the last 24 h, by us */
} pipc__scene_t;

/* @why gets why it is so, for the log: a literal. */
pipc__act_t pipc__act(const pipc__scene_t *s, const char **why);

#endif
