/* prolog/express.c - see express.h */
#include "prolog/express.h"

#include <stdint.h>
#include <stdio.h>

#define UNKNOWN (-1)

enum { CAP_POWER = 0x01, CAP_EXPRESS = 0x10 };
enum { POWER_STATE = 0x04 }; /* offset from the capability of power management */

/* Offsets from the Express capability */
enum {
    FLAGS = 0x02,
    LNKCAP = 0x0c,
    LNKCTL = 0x10,
    LNKSTA = 0x12,
    LNKCTL2 = 0x30,
    LNKSTA2 = 0x32,
    V2_END = 0x34
};

int pipc__express_width(int w)
{
    return w == 1 || w == 2 || w == 4 || w == 8 || w == 12 || w == 16 || w == 32 ? w : UNKNOWN;
}

/* The speed fields hold a number of a generation. */
static int speed(unsigned int generation)
{
    static const int mts[] = {UNKNOWN, 2500, 5000, 8000, 16000, 32000, 64000};

    return generation < sizeof(mts) / sizeof(mts[0]) ? mts[generation] : UNKNOWN;
}

static unsigned int word(const unsigned char *config, size_t at)
{
    return config[at] | (unsigned int)config[at + 1] << 8;
}

bool pipc__config_all_ones(const unsigned char *config, size_t bytes)
{
    size_t i = 0;

    while (i < bytes && config[i] == 0xff)
        i++;
    return bytes >= 64 && i >= 64;
}

/* Where capability @id is with @size bytes of it, or 0. At most 48 fit: more hops are a loop. */
static size_t find(const unsigned char *config, size_t bytes, unsigned int id, size_t size)
{
    size_t at;

    if (bytes < 64 || !(config[0x06] & 0x10)) /* status: has a capability list */
        return 0;
    at = config[0x34] & 0xfcu;
    for (int hops = 0; hops < 48 && at >= 0x40 && at + size <= bytes; hops++) {
        if (config[at] == id)
            return at;
        at = config[at + 1] & 0xfcu;
    }
    return 0;
}

pipc__express_t pipc__express_unknown(void)
{
    return (pipc__express_t){UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN,
                             UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN};
}

pipc__express_t pipc__express_decode(const unsigned char *config, size_t bytes)
{
    pipc__express_t e = pipc__express_unknown();
    size_t at = find(config, bytes, CAP_POWER, POWER_STATE + 2);

    if (at && word(config, at + POWER_STATE) != 0xffff)
        e.d_state = config[at + POWER_STATE] & 3;
    at = find(config, bytes, CAP_EXPRESS, LNKSTA + 2);
    if (!at)
        return e;
    e.port = (int)(word(config, at + FLAGS) >> 4 & 0xf);
    unsigned int cap = word(config, at + LNKCAP), sta = word(config, at + LNKSTA);
    unsigned int ctl = word(config, at + LNKCTL);
    if (cap != 0xffff) {
        e.max_mts = speed(cap & 0xf);
        e.max_width = pipc__express_width((int)(cap >> 4 & 0x3f));
    }
    /* All ones are no answer (a link in training), though they would decode. */
    if (sta != 0xffff) {
        e.mts = speed(sta & 0xf);
        e.width = pipc__express_width((int)(sta >> 4 & 0x3f));
    }
    if (ctl != 0xffff)
        e.aspm = (int)(ctl & 3);
    if ((word(config, at + FLAGS) & 0xf) < 2 || at + V2_END > bytes)
        return e;
    if (word(config, at + LNKCTL2) != 0xffff)
        e.target_mts = speed(word(config, at + LNKCTL2) & 0xf);
    if (word(config, at + LNKSTA2) != 0xffff)
        e.equalized = (int)(word(config, at + LNKSTA2) >> 1 & 1);
    return e;
}

const char *pipc__speed_text(int mts, char out[24])
{
    if (mts % 1000)
        snprintf(out, 24, "%d.%d GT/s", mts / 1000, mts % 1000 / 100);
    else
        snprintf(out, 24, "%d GT/s", mts / 1000);
    return out;
}
