/* prolog/kernel_ras.c - the AER service's reports as rasdaemon keeps them (ras-mc-ctl --errors)
 *
 *     aer_event: 2024-03-11 10:02:11 +0000 0000:40:01.1 Corrected error: Bad TLP
 *     aer_event: ... 0000:40:01.1 Uncorrected (Non-Fatal) error: Completion Timeout
 */
#include <string.h>

#include "prolog/kernel_line.h"

static const struct {
    const char *name;
    uint32_t bit;
} corrected[] = {
    {"Receiver Error", PIPC__CE_RECEIVER},
    {"Bad TLP", PIPC__CE_BAD_TLP},
    {"Bad DLLP", PIPC__CE_BAD_DLLP},
    {"Rollover", PIPC__CE_ROLLOVER},
    {"Replay Timer Timeout", PIPC__CE_TIMEOUT},
    {"Advisory Non-Fatal", PIPC__CE_ADVISORY},
};

bool pipc__kernel_take_ras(pipc__kernel_log_t *log, const char *line)
{
    const char *mild = strstr(line, " Corrected error: "), *bad = strstr(line, " Uncorrected (");
    char name[PIPC__FACT_NAME_MAX];

    if ((!mild && !(bad && strstr(bad, ") error: "))) || !pipc__kernel_name(line, name))
        return false;
    pipc__event_t *e =
        pipc__kernel_count(log, name, mild ? PIPC__EVENT_CORRECTED : PIPC__EVENT_UNCORRECTED, 0);
    for (size_t i = 0; mild && i < sizeof(corrected) / sizeof(corrected[0]); i++)
        if (strstr(mild, corrected[i].name))
            pipc__kernel_bits(e, corrected[i].bit);
    if (bad && strstr(bad, "Unsupported Request"))
        pipc__kernel_bits(e, PIPC__UE_UNSUPPORTED);
    return true;
}
