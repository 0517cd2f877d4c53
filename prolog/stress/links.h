/* prolog/stress/links.h - what links and error counters do while there is traffic. Facts only;
 * verdict.h judges.
 */
#ifndef PIPC_PROLOG_STRESS_LINKS_H
#define PIPC_PROLOG_STRESS_LINKS_H

#include "prolog/deltas.h"
#include "prolog/stress/traffic.h"

/* A link on the way of a GPU, by its lower end. Unknown is -1. */
typedef struct stress_link {
    char lower[PIPC__FACT_NAME_MAX], upper[PIPC__FACT_NAME_MAX]; /* upper "": not in view */
    int want_width, want_mts; /* by both ends; unknown where only one is in view */
    bool loaded; /* there is PCIe traffic on it all the time: its speed says something */
    int width;   /* at the begin */
    int least_width, least_mts, most_mts; /* seen under load */
    long drops; /* how often a look found it narrower or slower than the one before */
    bool gone;  /* it stopped to answer */
    int64_t count[PIPC__COUNTS]; /* errors since the begin, both ends together */
} stress_link_t;

typedef struct stress_links {
    stress_link_t *link;
    int n;
    bool counting; /* false: the kernel counts no errors here */
    pipc__counters_t begin, now;
    char why[PIPC__ERROR_MAX]; /* not "": nothing can be read */
} stress_links_t;

/* Those of @facts; the counters of this moment are the begin. */
pipc_status_t stress_links_open(stress_links_t *l, const pipc__facts_t *facts, const char *root,
                                pipc__error_t *err);

/* Leave out what stands above no GPU of @traffic, whose lanes tell what is loaded. */
void stress_links_keep(stress_links_t *l, const pipc__facts_t *facts,
                       const stress_traffic_t *traffic);

/* A look under load. */
pipc_status_t stress_links_look(stress_links_t *l, const char *root, pipc__error_t *err);

void stress_links_close(stress_links_t *l);

#endif
