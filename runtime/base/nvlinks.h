/* base/nvlinks.h - which GPUs NVLink joins, put together from what each rank sees.
 *
 * A rank may see some of the node's GPUs only, and may be joined to all of those, while the other
 * ranks' GPUs are among the rest:
 *
 *     rank 0 sees   GPU 0 == GPU 1        == NVLink: a bridge over two cards
 *                     |                    | PCIe
 *     rank 1 sees   GPU 2 == GPU 3
 *
 * So each rank tells which GPUs it means, and ranks are joined where each one's list has all of
 * theirs.
 */
#ifndef PIPC_BASE_NVLINKS_H
#define PIPC_BASE_NVLINKS_H

#include <stdbool.h>
#include <stdint.h>

#define PIPC__NVLINKS_MAX 16

/* A rank's GPU, first, and those that NVLink joins to it; each as domain << 16 | bus << 8 |
 * device << 3 | function, plus 1 so that 0 is none. No value of it is wrong: it comes from other
 * processes. */
typedef struct pipc__nvlinks {
    uint32_t gpu[PIPC__NVLINKS_MAX];
} pipc__nvlinks_t;

/* Add a GPU by its BDF, "0000:41:00.0". Without effect where it is none, has a domain of over 16
 * bits or there is no room: what is not in the list is not joined. */
void pipc__nvlinks_add(pipc__nvlinks_t *links, const char *bdf);

/* Does NVLink join the GPUs of all @n ranks to each other? Of one rank: has it any? */
bool pipc__nvlinks_join(const pipc__nvlinks_t *const ranks[], int n);

#endif
