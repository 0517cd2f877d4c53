/* topo/cpuset.h - the kernel's two ways to write a set of CPUs, read with a bound.
 *
 * Why not hwloc_bitmap_list_sscanf(): the text comes from a file that anyone may have written, and
 * "0-4294967295" makes it allocate half a gigabyte.
 */
#ifndef PIPC_TOPO_CPUSET_H
#define PIPC_TOPO_CPUSET_H

#include <hwloc.h>
#include <stdbool.h>

#define PIPC__CPU_MAX 65536         /* CPU numbers are below this */
#define PIPC__CPUSET_TEXT_MAX 32768 /* bytes that hold every such set as a mask */

/* "0-3,8,16-19"; the empty text is the empty set. False, with @set undefined, when the text is
 * something else, a number is too large, or there is no memory. */
bool pipc__cpuset_from_list(const char *text, hwloc_bitmap_t set);

/* "00000000,0000ffff": groups of 32 bits in hex, the last one holds CPUs 0 to 31. */
bool pipc__cpuset_from_mask(const char *text, hwloc_bitmap_t set);

#endif
