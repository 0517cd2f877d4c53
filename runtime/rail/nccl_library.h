/* rail/nccl_library.h - NCCL's functions, from a library that is opened at run time.
 *
 * The few declarations that are needed stand here, so that nothing builds against NCCL's header;
 * names and values are those of nccl.h (NCCL 2.x: ncclCommInitRankConfig() since 2.14).
 */
#ifndef PIPC_RAIL_NCCL_LIBRARY_H
#define PIPC_RAIL_NCCL_LIBRARY_H

#include "runtime/rail/nccl_comm.h"

#define PIPC__NCCL_SUCCESS 0
#define PIPC__NCCL_REMOTE_ERROR 6
#define PIPC__NCCL_IN_PROGRESS 7
#define PIPC__NCCL_MAGIC 0xcafebeefu

/* ncclConfig_t as of 2.14; later versions add fields and go by size and version. The last field
 * fills what was padding then, with the value that says "not set" to those that read it. */
typedef struct pipc__nccl_config {
    size_t size;
    unsigned int magic, version;
    int blocking, unset;
} pipc__nccl_config_t;

typedef struct pipc__nccl_library {
    void *handle;
    int (*GetVersion)(int *);
    int (*GetUniqueId)(pipc__nccl_id_t *);
    int (*CommInitRank)(void **, int, pipc__nccl_id_t, int);
    int (*AllReduce)(const void *, void *, size_t, int, int, void *, void *);
    int (*CommGetAsyncError)(void *, int *);
    int (*CommAbort)(void *);
    int (*CommDestroy)(void *);
    const char *(*GetErrorString)(int);
    int (*GroupStart)(void); /* NULL: as if there were none */
    int (*GroupEnd)(void);
    /* Since 2.14; NULL without. */
    int (*CommInitRankConfig)(void **, int, pipc__nccl_id_t, int, pipc__nccl_config_t *);
    int (*CommFinalize)(void *);
} pipc__nccl_library_t;

/* @path and statuses as those of pipc__nccl_comm_open(). */
pipc_status_t pipc__nccl_library_open(pipc__nccl_library_t *lib, const char *path,
                                      char version[PIPC__NCCL_VERSION_TEXT], pipc__error_t *err);

/* NCCL's numbers; -1 for what it has not. */
int pipc__nccl_dtype(pipc_dtype_t dtype);
int pipc__nccl_redop(pipc_redop_t op);

#endif
