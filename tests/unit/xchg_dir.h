/* tests/unit/xchg_dir.h - a step's directory, and ranks that exchange over a socket in it */
#ifndef TESTS_UNIT_XCHG_DIR_H
#define TESTS_UNIT_XCHG_DIR_H

#include <stdbool.h>

#include "runtime/xchg/xchg.h"

#define RECORD 700 /* bytes of a record in these tests */

/* The directory of the moment; cmocka's set-up and tear-down. */
extern char dir[64];
int make_dir(void **state);
int remove_dir(void **state);

#define IN_A_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

/* How many files are in a directory. */
int entries(const char *path);

/* Set a variable of the environment. */
void set_int(const char *name, int value);

/* This process is rank @rank of @n; the node's first rank is rank 10 of the job. */
void be(const char *path, int rank, int n);

/* Collective: open, exchange records that @round tells apart, close. @right: they are what they should be. */
pipc_status_t exchange_in(unsigned int tag, int round, bool *right, pipc__error_t *err);

/* The same once, without a tag; what is not right is an error. */
pipc_status_t exchange(pipc__error_t *err);

#endif
