/* tests/unit/place_case.h - for tests of what becomes of a task: a tree, and what a step and one of
 * its tasks are shown of it
 */
#ifndef TESTS_UNIT_PLACE_CASE_H
#define TESTS_UNIT_PLACE_CASE_H

#include "spank/place.h"

#define ALL8 0xff
#define EIGHT "2x[sw:4gpu+1nic]"

/* A synthetic tree; the test fails when the text is refused. */
pipc__topo_t *tree(const char *text);

/* GPU-0a0 to GPU-0a3, GPU-1a4 to GPU-1a7, ... by minor. */
void name_uuids(pipc__topo_t *topo);

/* @list NULL: there is none. */
pipc__view_t view(uint64_t minors, const char *list);

/* A task, and what is to become of it. */
struct place_case {
    const char *what, *topology;
    int rank, nranks;
    uint64_t step_minors;
    const char *step_list;
    uint64_t task_minors;
    const char *task_list;
    bool none; /* bind:none */
    pipc__shown_t shown;
    int ngpus, hidden;
    const char *list;  /* the new one, "" for unchanged; "*": idle GPUs in any order */
    const char *minor; /* the task's GPU, "" for none */
};

/* What pipc__place() is asked for @c, with 16 CPUs that the tasks share. */
void fill(const struct place_case *c, pipc__place_in_t *in);

#endif
