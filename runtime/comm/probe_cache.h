/* comm/probe_cache.h - what a probe of paths found, kept until the node boots.
 *
 * A file of the user's own in a folder of the user's own:
 *
 *     pcie-ipc-paths 1
 *     boot 6f0c...          all four must be as now, else nothing of the file counts
 *     driver 580.95.05
 *     package 0.1.0
 *     uid 1000
 *     0000:41:00.0/GPU-8f... 0000:61:00.0/GPU-02... good
 *
 * It can save time and never changes what is right: a pair that it calls good is verified with all
 * others at once, one that it calls bad goes through host memory.
 */
#ifndef PIPC_COMM_PROBE_CACHE_H
#define PIPC_COMM_PROBE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "runtime/comm/request.h"
#include "runtime/exec/probe.h"

#define PIPC__CACHE_PAIRS 1024
#define PIPC__CACHE_BYTES (256 << 10) /* of the file; a longer one is not ours */
#define PIPC__CACHE_NAME 72           /* "0000:41:00.0/GPU-8-4-4-4-12" */

typedef struct pipc__cache_pair {
    char from[PIPC__CACHE_NAME], to[PIPC__CACHE_NAME];
    pipc__path_state_t
        state; /* GOOD, WRONG or TIMED_OUT: what the links do, not what a process sees */
} pipc__cache_pair_t;

typedef struct pipc__cache {
    char boot[40], driver[40], package[24];
    unsigned int uid;
    int n;
    pipc__cache_pair_t pair[PIPC__CACHE_PAIRS];
} pipc__cache_t;

/* What stands in @text[bytes], which may be anything. False, and @cache empty, unless it is whole
 * and without a fault: bad bytes in a file say that nobody knows what it is. Pure. */
bool pipc__cache_parse(pipc__cache_t *cache, const char *text, size_t bytes);

/* The text of @cache into buf[cap]; its length, 0 when it does not fit. Pure. */
size_t pipc__cache_format(const pipc__cache_t *cache, char *buf, size_t cap);

/* Put in or replace a pair. A full cache forgets all: it holds 32 GPUs' pairs. Pure. */
void pipc__cache_set(pipc__cache_t *cache, const char *from, const char *to,
                     pipc__path_state_t state);
pipc__path_state_t pipc__cache_get(const pipc__cache_t *cache, const char *from, const char *to);

/* An empty cache of here and now; @root as in base/file.h. False when the boot or the driver is not
 * known: then nothing may be kept. */
bool pipc__cache_begin(pipc__cache_t *cache, const char *root);

/* The folder for it, opened: XDG_RUNTIME_DIR, else /run/user/UID below @root, else the step's
 * folder (PCIE_IPC_DIR), the first that belongs to the user and that nobody else may open. -1: none
 * does. The caller closes. */
int pipc__cache_folder(pipc__getenv_t lookup, const char *root);

/* Take into @cache, begun, what the file in @folder says, if it says it of here and now. */
void pipc__cache_load(pipc__cache_t *cache, int folder);

/* Write the file anew, as a whole or not at all. False, with errno set, when it can't be. */
bool pipc__cache_save(const pipc__cache_t *cache, int folder);

#endif
