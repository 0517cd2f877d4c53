/* prolog/express.h - what the first 256 bytes of a function's config space say of its link. Pure.
 */
#ifndef PIPC_PROLOG_EXPRESS_H
#define PIPC_PROLOG_EXPRESS_H

#include <stdbool.h>
#include <stddef.h>

#define PIPC__CONFIG_MAX 256        /* the Express capability lies in the first 256 bytes */
#define PIPC__CONFIG_WHOLE_MAX 4096 /* extended.h reads on */

/* Port types as the capability has them */
enum {
    PIPC__EXPRESS_ENDPOINT = 0,
    PIPC__EXPRESS_LEGACY = 1,
    PIPC__EXPRESS_ROOT = 4,
    PIPC__EXPRESS_UPSTREAM = 5,
    PIPC__EXPRESS_DOWNSTREAM = 6,
    PIPC__EXPRESS_INTEGRATED = 9 /* in the root complex: has no link */
};

/* What is not there, or is no value that PCIe has, is -1. */
typedef struct pipc__express {
    int port;
    int max_width, max_mts; /* LnkCap: lanes, mega-transfers a second and lane */
    int width, mts;         /* LnkSta */
    int target_mts;         /* LnkCtl2; of use in the port that is above the link */
    int aspm;               /* LnkCtl: 0 off, 1 L0s, 2 L1, 3 both */
    int equalized;          /* LnkSta2: 1 if the link trained to 8 GT/s or more since its reset */
    int d_state;            /* power management: 0 on ... 3 */
} pipc__express_t;

/* Decode @bytes of config space; fewer than 64, or no capability, makes all unknown. */
pipc__express_t pipc__express_decode(const unsigned char *config, size_t bytes);

/* Is this what a device that is gone leaves: all ones? A virtual function has a vendor id of ones,
 * by the standard, and is well: so the whole header has to be ones. */
bool pipc__config_all_ones(const unsigned char *config, size_t bytes);

/* A width or speed that PCIe has, else -1. */
int pipc__express_width(int lanes);

/* "2.5 GT/s", of mega-transfers; returns @out. */
const char *pipc__speed_text(int mts, char out[24]);

/* What is not known of a link: all of it. */
pipc__express_t pipc__express_unknown(void);

#endif
