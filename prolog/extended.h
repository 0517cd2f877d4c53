/* prolog/extended.h - what the extended config space, from byte 256 on, says of errors, of ACS and
 * of BARs. Pure.
 */
#ifndef PIPC_PROLOG_EXTENDED_H
#define PIPC_PROLOG_EXTENDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "prolog/express.h"

/* Bits of the AER status of corrected errors: those that a link makes */
enum {
    PIPC__CE_RECEIVER = 1 << 0,
    PIPC__CE_BAD_TLP = 1 << 6,
    PIPC__CE_BAD_DLLP = 1 << 7,
    PIPC__CE_ROLLOVER = 1 << 8,
    PIPC__CE_TIMEOUT = 1 << 12,
    PIPC__CE_ADVISORY = 1 << 13,
    /* A receiver error alone comes with each change of speed, which an idle GPU makes all day. */
    PIPC__CE_SICK = PIPC__CE_BAD_TLP | PIPC__CE_BAD_DLLP | PIPC__CE_ROLLOVER | PIPC__CE_TIMEOUT
};

/* ... of uncorrected ones. A request that is not supported is what enumeration leaves behind. */
enum { PIPC__UE_COMPLETION_TIMEOUT = 1 << 14, PIPC__UE_UNSUPPORTED = 1 << 20 };

/* Bits of ACS control. The first says no more than that a request's sender is who it says. Those of
 * PIPC__ACS_REDIRECTS lead what one GPU writes to another through the root complex. */
enum {
    PIPC__ACS_SOURCE = 1 << 0,
    PIPC__ACS_REQUEST = 1 << 2,
    PIPC__ACS_COMPLETION = 1 << 3,
    PIPC__ACS_UPSTREAM = 1 << 4,
    PIPC__ACS_EGRESS = 1 << 5,
    PIPC__ACS_REDIRECTS =
        PIPC__ACS_REQUEST | PIPC__ACS_COMPLETION | PIPC__ACS_UPSTREAM | PIPC__ACS_EGRESS
};

/* What is not there is -1. */
typedef struct pipc__extended {
    int acs;              /* ACS control */
    int64_t bar, bar_max; /* bytes of the BAR for a GPU's memory, and as many as there can be */
    int64_t uncorrected, corrected; /* AER status, masked bits aside. These stick: they say that it
                                       happened, not when or how often. */
    uint64_t serial;                /* 0: there is none */
} pipc__extended_t;

pipc__extended_t pipc__extended_unknown(void);

/* Decode what was read of config space; 256 bytes or fewer make all unknown. */
pipc__extended_t pipc__extended_decode(const unsigned char *config, size_t bytes);

/* Read 4 bytes at @at; false when that cannot be. */
typedef bool pipc__extended_word_t(void *arg, size_t at, unsigned char out[4]);

/* Fill @config from byte 256 on with no more than what pipc__extended_decode() looks at: each word
 * of config space is a round trip on the bus. How many bytes of @config are good then: 256, or all
 * (the others are set to zero). */
size_t pipc__extended_read(pipc__extended_word_t *word, void *arg,
                           unsigned char config[PIPC__CONFIG_WHOLE_MAX]);

#endif
