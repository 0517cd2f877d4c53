/* nccl/say.h - what the user hears of the hook.
 *
 * A library prints nothing; this one is there since the user asked srun for it, and what it can't
 * do is a line on standard error. What it does is one only with --pcie-ipc=verbose.
 */
#ifndef PIPC_NCCL_SAY_H
#define PIPC_NCCL_SAY_H

#include <stdbool.h>

/* Was srun --pcie-ipc=verbose asked for (PCIE_IPC_VERBOSE=1)? */
bool pipc__is_verbose(void);

/* "pcie-ipc: LINE", in one write. */
void pipc__say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same, the first time that a line of these words, @fmt, comes in this process. */
void pipc__say_once(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
