/* spank/devices.h - which GPUs a process may open */
#ifndef PIPC_SPANK_DEVICES_H
#define PIPC_SPANK_DEVICES_H

#include <stdint.h>

/* Bit N: this process may open DEVDIR/nvidiaN, N in 0..63. Asks access(2), which the device cgroup
 * answers too; never open(2), which can start the driver or wake a GPU. access(2) judges by the
 * real user: in user_init that is root, so only the cgroup shows there. */
uint64_t pipc__devices_granted(const char *devdir);

#endif
