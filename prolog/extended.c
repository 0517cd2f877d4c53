/* prolog/extended.c - see extended.h
 *
 *     31       20 19   16 15          0
 *     [next      |version|id          ]    at 0x100, and where each next leads; next 0 ends the
 * list
 */
#include "prolog/extended.h"

#include <string.h>

#define FIRST 0x100
#define HOPS_MAX 96 /* no device has as many: more is a loop */

enum { ID_AER = 0x0001, ID_SERIAL = 0x0003, ID_ACS = 0x000d, ID_BARS = 0x0015 };

/* Offsets from a capability's header */
enum { UE_STATUS = 0x04, UE_MASK = 0x08, CE_STATUS = 0x10, CE_MASK = 0x14, AER_END = 0x18 };
enum { SERIAL_LOW = 0x04, SERIAL_HIGH = 0x08, SERIAL_END = 0x0c };
enum { ACS_CONTROL = 0x06, ACS_END = 0x08 };
/* ... and Resizable BAR's: two words each, of which no GPU has more than three */
enum { BARS_FIRST = 0x04, BARS_CONTROL = 0x04, BARS_EACH = 0x08, BARS_MOST = 3 };
enum { BARS_END = BARS_FIRST + BARS_MOST * BARS_EACH, BAR_LOG_MAX = 43 /* 8 TB */ };

static uint32_t dword(const unsigned char *config, size_t at)
{
    return config[at] | (uint32_t)config[at + 1] << 8 | (uint32_t)config[at + 2] << 16 |
           (uint32_t)config[at + 3] << 24;
}

/* A status of ones is that of a device that does not answer. */
static int64_t unmasked(const unsigned char *config, size_t status, size_t mask)
{
    uint32_t s = dword(config, status), m = dword(config, mask);

    return s == 0xffffffff ? -1 : (int64_t)(s & ~m);
}

static size_t size_of(uint32_t header)
{
    switch (header & 0xffff) {
    case ID_AER:
        return AER_END;
    case ID_SERIAL:
        return SERIAL_END;
    case ID_ACS:
        return ACS_END;
    case ID_BARS:
        return BARS_END;
    default:
        return 4;
    }
}

static bool is_header(uint32_t header)
{
    return header != 0 && header != 0xffffffff;
}

pipc__extended_t pipc__extended_unknown(void)
{
    return (pipc__extended_t){-1, -1, -1, -1, -1, 0};
}

/* The largest of them as it is, and the largest size that it may have: bits 4 on are 1 MB, 2 MB ...
 */
static void decode_bars(const unsigned char *c, pipc__extended_t *e)
{
    int n = c[BARS_FIRST + BARS_CONTROL] >> 5;

    for (int i = 0; i < n && i < BARS_MOST; i++) {
        const unsigned char *each = c + BARS_FIRST + i * BARS_EACH;
        uint32_t sizes = dword(each, 0), control = dword(each, BARS_CONTROL);
        int log = (int)(control >> 8 & 0x3f) + 20;
        if (sizes == 0xffffffff || control == 0xffffffff || log > BAR_LOG_MAX ||
            (int64_t)1 << log <= e->bar)
            continue;
        e->bar = (int64_t)1 << log;
        e->bar_max = -1;
        for (int bit = 4; bit < 28; bit++)
            if (sizes >> bit & 1)
                e->bar_max = (int64_t)1 << (bit + 16);
    }
}

pipc__extended_t pipc__extended_decode(const unsigned char *config, size_t bytes)
{
    pipc__extended_t e = pipc__extended_unknown();
    size_t at = FIRST;

    for (int hops = 0; hops < HOPS_MAX && at >= FIRST && at + 4 <= bytes; hops++) {
        uint32_t header = dword(config, at);
        bool whole = at + size_of(header) <= bytes;
        if (!is_header(header))
            break;
        if (whole && (header & 0xffff) == ID_AER) {
            e.uncorrected = unmasked(config, at + UE_STATUS, at + UE_MASK);
            e.corrected = unmasked(config, at + CE_STATUS, at + CE_MASK);
        }
        if (whole && (header & 0xffff) == ID_SERIAL)
            e.serial =
                (uint64_t)dword(config, at + SERIAL_HIGH) << 32 | dword(config, at + SERIAL_LOW);
        if (e.serial == UINT64_MAX)
            e.serial = 0;
        if (whole && (header & 0xffff) == ID_ACS)
            e.acs = config[at + ACS_CONTROL] | config[at + ACS_CONTROL + 1] << 8;
        if (whole && (header & 0xffff) == ID_BARS)
            decode_bars(config + at, &e);
        if (e.acs == 0xffff)
            e.acs = -1;
        at = header >> 20 & ~3u;
    }
    return e;
}

size_t pipc__extended_read(pipc__extended_word_t *word, void *arg,
                           unsigned char config[PIPC__CONFIG_WHOLE_MAX])
{
    size_t at = FIRST;

    memset(config + FIRST, 0, PIPC__CONFIG_WHOLE_MAX - FIRST);
    for (int hops = 0; hops < HOPS_MAX && at >= FIRST; hops++) {
        if (!word(arg, at, config + at))
            return at == FIRST ? FIRST : PIPC__CONFIG_WHOLE_MAX;
        uint32_t header = dword(config, at);
        if (!is_header(header))
            break;
        for (size_t k = 4; k < size_of(header) && at + k + 4 <= PIPC__CONFIG_WHOLE_MAX; k += 4)
            if (!word(arg, at + k, config + at + k))
                memset(config + at, 0, 4); /* half read is not there: the list ends */
        at = header >> 20 & ~3u;
    }
    return PIPC__CONFIG_WHOLE_MAX;
}
