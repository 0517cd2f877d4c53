/* topo/matrix.h - the text of "nvidia-smi topo -m" as numbers: matrix_read.c reads it, matrix.c
 * makes a tree of it
 *
 *             GPU0   GPU1   NIC0   CPU Affinity   NUMA Affinity   GPU NUMA ID
 *     GPU0     X     NV18   PIX    0-31           0               N/A
 *     GPU1    NV18    X     SYS    32-63          1               N/A
 *     NIC0    PIX    SYS     X
 *
 *     Legend: ...
 *     NIC Legend:
 *       NIC0: mlx5_0
 */
#ifndef PIPC_TOPO_MATRIX_H
#define PIPC_TOPO_MATRIX_H

#include <hwloc.h>
#include <stdbool.h>

#include "runtime/topo/topo.h"

#define PIPC__MATRIX_MAX 256 /* GPUs and NICs */

/* How near two devices are over PCIe; ascending. */
typedef enum pipc__near {
    PIPC__NEAR_UNKNOWN, /* NVLink, or nothing said */
    PIPC__NEAR_SELF,
    PIPC__NEAR_PIX,  /* below one switch */
    PIPC__NEAR_PXB,  /* below several switches, not through a host bridge */
    PIPC__NEAR_PHB,  /* same host bridge */
    PIPC__NEAR_NODE, /* same NUMA node */
    PIPC__NEAR_SYS
} pipc__near_t;

typedef struct pipc__matrix_device {
    char name[PIPC__NAME_MAX]; /* "GPU0", "NIC0", "mlx5_0" */
    char
        netdev[PIPC__NAME_MAX]; /* by the legend, or the name where it is the device's own; or "" */
    bool gpu;
    int line;            /* of its row */
    hwloc_bitmap_t cpus; /* empty: not told. Owned by the matrix */
    int numa, gpu_numa;  /* or PIPC__UNKNOWN */
} pipc__matrix_device_t;

typedef struct pipc__matrix {
    pipc__matrix_device_t dev[PIPC__MATRIX_MAX];
    int n;
    unsigned char near[PIPC__MATRIX_MAX][PIPC__MATRIX_MAX]; /* pipc__near_t */
    short nvlinks[PIPC__MATRIX_MAX][PIPC__MATRIX_MAX];
} pipc__matrix_t;

/* Read @text, which is changed, into @m, zeroed. PIPC_ERR_INVALID, and @err names the file, the
 * line and the cell, when it is no such text, a row or a cell is missing, a word is no relation or
 * the two cells of a pair differ. Release @m afterwards, also after a failure. */
pipc_status_t pipc__matrix_read(pipc__matrix_t *m, const char *path, char *text,
                                pipc__error_t *err);

void pipc__matrix_release(pipc__matrix_t *m);

#endif
