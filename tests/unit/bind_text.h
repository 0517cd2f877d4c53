/* tests/unit/bind_text.h - for tests of binding: requests from texts, results as texts */
#ifndef PIPC_TESTS_BIND_TEXT_H
#define PIPC_TESTS_BIND_TEXT_H

#include "runtime/bind/bind.h"
#include "tests/unit/topo_text.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Minors as "3 1 2" -> request. "" is no GPU, NULL is all of the tree. */
pipc__bind_request_t request(const pipc__topo_t *t, int nranks, const char *minors);

/* The binding of a request that is right. */
pipc__binding_t binding_of(const pipc__topo_t *t, const pipc__bind_request_t *req);

/* Object indexes as minors: "0 1 2 3". A static buffer. */
const char *minors_text(const pipc__topo_t *t, const int *gpus, int n);

/* Give the NUMA nodes of @t the CPUs that the text says: "16-31 0-15", "-" for none known. */
void set_cpus(pipc__topo_t *t, const char *text);

hwloc_bitmap_t one_set(const char *list);

/* "0-3 4-7 ...", a set a rank; returns how many. free_sets() releases them. */
int rank_sets(const char *text, hwloc_const_bitmap_t *sets);
void free_sets(hwloc_const_bitmap_t *sets, int n);

/* "0 1 2" into numbers; returns how many. */
int numbers(const char *text, int *out);

/* The cores of each rank as "0-3 4-7", '*' after a set that is not near; with @own each rank's
 * grant is its own. A static buffer. */
const char *cores_text(const pipc__topo_t *t, const pipc__binding_t *b, const char *granted,
                       bool own);

/* The same sequence in every run: 0 to sides - 1. */
int roll(int sides);

/* A machine of 1 to 3 NUMA nodes with switches, nested ones, GPUs below none, and NICs in some of
 * these places. */
void random_machine(char *text, size_t cap, int gpus_at_most);

#endif
