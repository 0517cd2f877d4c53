/* base/hash.h - FNV-1a, 64 bits: digests of tables and topologies that ranks compare.
 * Not cryptographic: it finds disagreement, not tampering.
 * Source: G. Fowler, L. C. Noll, K.-P. Vo, draft-eastlake-fnv.
 */
#ifndef PIPC_BASE_HASH_H
#define PIPC_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define PIPC__HASH_INIT 0xcbf29ce484222325ull

static inline uint64_t pipc__hash(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ p[i]) * 0x100000001b3ull;
    return hash;
}

#endif
