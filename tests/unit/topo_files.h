/* tests/unit/topo_files.h - for tests of trees that are read from a file of another program */
#ifndef PIPC_TESTS_TOPO_FILES_H
#define PIPC_TESTS_TOPO_FILES_H

#include "runtime/topo/source.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The input of the moment, in a file of its own for each test. */
extern char topo_file[64];
int make_topo_file(void **state);
int remove_topo_file(void **state);
void put_topo_file(const char *text, size_t n);

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, make_topo_file, remove_topo_file)

/* What a tree has to be, whatever it was made of. */
void assert_consistent(const pipc__topo_t *t);

/* The tree of a text that is right; the caller frees it. */
pipc__topo_t *read_right(pipc__source_kind_t kind, const char *text);

/* Its groups, as groups_text() (topo_text.h) writes them. */
void assert_groups(pipc__source_kind_t kind, const char *input, const char *expected);

/* The object of a name; the number of its NUMA node; NVLinks between two. */
const pipc__topo_obj_t *object(const pipc__topo_t *t, const char *name);
int numa_number(const pipc__topo_t *t, const char *name);
int links_between(const pipc__topo_t *t, const char *a, const char *b);

/* An input that is refused: the status, and what the error says after the name of the file. */
typedef struct wrong {
    const char *input;
    pipc_status_t status;
    const char *says;
} wrong_t;

void assert_refused(pipc__source_kind_t kind, const wrong_t *w);

/* Damage a right text in so many ways, always the same: each is read or refused, and both happen.
 */
void read_damaged(pipc__source_kind_t kind, const char *input, int rounds);

#endif
