/* nccl/tuner/seen.h - what a process that has no communicator of ours can tell of the machine:
 * which GPUs it sees, their kind, the driver, and the NCCL that calls.
 */
#ifndef PIPC_NCCL_TUNER_SEEN_H
#define PIPC_NCCL_TUNER_SEEN_H

#include <stdbool.h>

#include "runtime/comm/request.h"
#include "runtime/tune/file.h"

#define PIPC__SEEN_MAX 64 /* GPUs of a machine */

typedef struct pipc__seen {
    int ngpus; /* -1: can't be told */
    char bdf[PIPC__SEEN_MAX][16];
    pipc__table_key_t key; /* gpu ("" where kinds differ), driver, nccl, build */
} pipc__seen_t;

/* Those GPUs of /proc/driver/nvidia/gpus whose device file may be opened, in bus order; of them
 * what CUDA_VISIBLE_DEVICES names, by number or by UUID. Read below @root (NULL: the live machine).
 * @nccl: the version of NCCL, "" unknown. */
void pipc__seen_read(pipc__seen_t *seen, const char *nccl, pipc__getenv_t lookup, const char *root);

/* The version of the library that holds the code at @caller, "2.28.9"; "" when that is no NCCL, or
 * one that does not say. The library may have been loaded RTLD_LOCAL. */
void pipc__seen_nccl(const void *caller, char version[16]);

/* Was @table measured on what is seen here: all of the GPUs and no other, of this kind, with this
 * driver, NCCL and build? */
bool pipc__seen_fits(const pipc__seen_t *seen, const pipc__table_key_t *table);

#endif
