/* exec/fatbin.h - kernels as they are linked in: for which GPUs, and from which driver on. Pure.
 *
 *     pipc__allreduce_code --> {13000, ...}  sm_75 sm_80 sm_90 compute_90   by the nvcc of
 * CUDA 13.0 {12040, ...}  sm_70 sm_75 sm_80              by that of CUDA 12.4 {0}
 *
 * Machine code ("sm_80") runs on GPUs of its major number, from its minor number on, under drivers
 * of the major release of the nvcc that made it, or newer. PTX ("compute_80") is compiled by the
 * driver, for its GPU and every newer one, if the driver is of nvcc's release or newer.
 */
#ifndef PIPC_EXEC_FATBIN_H
#define PIPC_EXEC_FATBIN_H

#include <stdbool.h>
#include <stddef.h>

/* Made by kernels/to-c.sh; a list of them ends with release 0. */
typedef struct pipc__fatbin {
    int release; /* of CUDA, as cuDriverGetVersion has it: 13000 */
    const unsigned char *bytes;
    size_t size;
} pipc__fatbin_t;

/* The code for one GPU in a fat binary. */
typedef struct pipc__fatbin_code {
    int arch; /* 80 */
    bool ptx;
} pipc__fatbin_code_t;

#define PIPC__FATBIN_CODES 32 /* as many as are looked at */

/* What is in the fat binary at @bytes, of which @size bytes may be read: code[0..n). Returns n, or
 * -1 where it is malformed. *used (NULL: none) is its own length. */
int pipc__fatbin_read(const unsigned char *bytes, size_t size,
                      pipc__fatbin_code_t code[PIPC__FATBIN_CODES], size_t *used);

/* The order in which a driver of @driver (13000, ...) is offered the fat binaries of @list:
 * order[0..n), first those that are not newer than it. Returns n, FATBINS at most. */
#define PIPC__FATBINS 4
int pipc__fatbin_order(const pipc__fatbin_t *list, int driver, int order[PIPC__FATBINS]);

typedef enum pipc__fatbin_fit {
    PIPC__FATBIN_FITS,
    PIPC__FATBIN_OLD_DRIVER, /* there is code for this GPU, for newer drivers */
    PIPC__FATBIN_NO_CODE     /* there is none for this GPU */
} pipc__fatbin_fit_t;

/* Does @list hold code for a GPU of @arch (80) under @driver? Where a newer driver would do, *needs
 * is the release that it must have at least. */
pipc__fatbin_fit_t pipc__fatbin_fit(const pipc__fatbin_t *list, int driver, int arch, int *needs);

/* The driver branch that brought @release, 580 for 13000; 0: not known. */
int pipc__fatbin_branch(int release);

/* "sm_75 sm_90 compute_90 by CUDA 13.0, sm_70 by CUDA 12.4" */
const char *pipc__fatbin_describe(const pipc__fatbin_t *list, char *buf, size_t cap);

#endif
