/* exec/path_hint.h - what on the way between two GPUs is known to spoil peer traffic.
 */
#ifndef PIPC_EXEC_PATH_HINT_H
#define PIPC_EXEC_PATH_HINT_H

#include <stdbool.h>
#include <stddef.h>

#define PIPC__BRIDGES_MAX 24 /* between two GPUs */

/* Facts; false or 0 also means that nothing could be read. */
typedef struct pipc__path_facts {
    bool known;   /* both devices have a place in sysfs */
    int bridges;  /* above one of the two and not above both: peer traffic turns at or below them */
    int hidden;   /* those whose ACS can't be told: their config space is root's alone */
    char acs[16]; /* the first one that redirects peer requests upstream; "" none */
    char iommu[16]; /* type of the group of either GPU, when it translates: "DMA", "DMA-FQ"; "" */
} pipc__path_facts_t;

/* Read sysfs below @root (NULL: /) for the GPUs at addresses @a and @b, "0000:41:00.0". */
void pipc__path_facts(pipc__path_facts_t *facts, const char *a, const char *b, const char *root);

/* A config space of @bytes bytes: 1 its ACS redirects peer requests, 0 it has none or does not, -1
 * it can't be told from what is there. Pure. */
int pipc__acs_redirects(const unsigned char *config, size_t bytes);

/* "ACS of 0000:02:08.0 redirects, the IOMMU translates (DMA)" in a buffer of the caller's, which it
 * returns; "" when nothing is known to be in the way. Pure. */
const char *pipc__path_hint(const pipc__path_facts_t *facts, char *buf, size_t cap);

#endif
