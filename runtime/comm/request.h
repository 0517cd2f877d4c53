/* comm/request.h - what a program asks for, completed by the environment and by defaults.
 */
#ifndef PIPC_COMM_REQUEST_H
#define PIPC_COMM_REQUEST_H

#include <pcie-ipc/comm.h>

#include "runtime/base/error.h"
#include "runtime/xchg/xchg.h"

typedef struct pipc__config {
    pipc_comm_config_t asked; /* whole, whatever version the program was built for */
    pipc__xchg_callbacks_t callbacks;
    pipc__xchg_want_t want; /* points to callbacks: do not copy this structure */
    bool plain;             /* PCIE_IPC_EARLY=off: kernels begin one after the other */
    uint32_t split;         /* so many ranks of a host are taken as a node; 0: the host is one */
    bool meets;             /* the other ranks can be met, even where the rest is wrong */
} pipc__config_t;

/* secure_getenv(), or a test's table. */
typedef const char *(*pipc__getenv_t)(const char *name);
const char *pipc__environment(const char *name); /* the first of them */

/* Fill @c from @asked (NULL: the defaults) and the environment: what the program set wins over
 * PCIE_IPC_PLAN, PCIE_IPC_EXCHANGE, PCIE_IPC_PATH and PCIE_IPC_SMS; PCIE_IPC_NODES and
 * PCIE_IPC_EARLY are the environment's alone. Fails for structures that this library does not know
 * and values outside their enumerations; with c->meets the others wait for this rank, and must hear
 * of it. Plan and backend are judged where they are used. */
pipc_status_t pipc__config_take(pipc__config_t *c, const pipc_comm_config_t *asked,
                                pipc__getenv_t lookup, pipc__error_t *err);

#endif
