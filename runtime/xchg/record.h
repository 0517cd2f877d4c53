/* xchg/record.h - what every rank tells every other rank once, and the judgement of what was told.
 *
 * Facts are read in record_fill(), judged in records_judge(): the second is pure and tested in a
 * table. A rank whose set-up failed still sends its record, with the reason in it: the others must
 * not wait for it, and should know why.
 */
#ifndef PIPC_XCHG_RECORD_H
#define PIPC_XCHG_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/error.h"
#include "runtime/base/nvlinks.h"

#define PIPC__RECORD_MAGIC 0x43504950u /* "PIPC" in memory on little-endian machines */
#define PIPC__RECORD_VERSION 7
#define PIPC__RECORD_HANDLE 160
#define PIPC__RECORD_WAY 128
#define PIPC__RECORD_GPU 64
#define PIPC__RECORD_DRIVER 32

/* PACKAGE_VERSION, filled up with zeros: what ranks compare. */
extern const char pipc__package[16];

/* Fixed widths, no padding, little-endian: every Linux on which CUDA runs is. Versions differ when
 * the layout does; @bytes then still is at the same place. */
typedef struct pipc__record {
    uint32_t magic;
    uint32_t bytes;   /* sizeof(pipc__record_t) */
    uint32_t version; /* PIPC__RECORD_VERSION */
    uint32_t status;  /* pipc_status_t of the local set-up */
    char package[16]; /* "0.1.0" */
    char reason[240]; /* why status is not PIPC_OK */
    int32_t rank, size;
    int32_t pid;
    uint32_t uid;
    char host[64];
    char boot_id[40];
    uint64_t pid_ns, net_ns, mnt_ns, user_ns; /* inode numbers of /proc/self/ns/..; 0 unknown */
    uint32_t backend;
    int32_t minor; /* of the GPU, -1 unknown */
    char bdf[16], uuid[48];
    char way[PIPC__RECORD_WAY]; /* through the machine to the GPU, as plan/shape.h says; "" unknown */
    char gpu[PIPC__RECORD_GPU]; /* "NVIDIA H200"; of a rank on a CPU "cpu AMD EPYC ..." */
    char driver[PIPC__RECORD_DRIVER]; /* "580.159.04"; "" none or unknown */
    uint32_t width;    /* lanes of the GPU's link now; 0 unknown */
    uint32_t split;    /* ranks that are taken as a node; 0: nodes are as they are */
    uint32_t path;     /* pipc_path_t */
    pipc__nvlinks_t nvlinks; /* of those GPUs that this rank sees */
    uint64_t staging_bytes;
    uint64_t digest; /* of every wish that decides a plan */
    uint64_t offset; /* of the staging in the memory that @memory names, bytes */
    uint8_t control[32];                  /* pipc__segment_handle_t of the control page */
    uint8_t memory[PIPC__RECORD_HANDLE];  /* the executor's handle */
} pipc__record_t;

/* Fill everything that the machine tells: package, pid, uid, host, boot id, namespaces. */
void pipc__record_fill(pipc__record_t *rec, int rank, int size);

/* What two ranks asked for differently, as a text for people; NULL where nothing. */
const char *pipc__wishes_differ(bool backend, bool staging, bool path, bool split, bool digest);

/* Can these ranks form a communicator on one node? recs[n] in rank order.
 *   PIPC_ERR_MISMATCH     not a record, another version, backend, staging size, path, plan or split
 *   (another's status)    that rank's set-up failed; its reason is in the text
 *   PIPC_ERR_UNSUPPORTED  the ranks are on several nodes
 *   PIPC_ERR_UNREACHABLE  same node, but PID or user namespaces that keep the processes apart
 * The text names the first rank in the way. Every rank comes to the same status. */
pipc_status_t pipc__records_judge(const pipc__record_t *recs, int n, pipc__error_t *err);

#endif
