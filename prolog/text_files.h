/* prolog/text_files.h - links in a pasted text by other words than lspci's: the files of sysfs, and
 * nvidia-smi. Pure.
 */
#ifndef PIPC_PROLOG_TEXT_FILES_H
#define PIPC_PROLOG_TEXT_FILES_H

#include "prolog/text_entry.h"

typedef enum pipc__link_key {
    PIPC__LINK_NONE,
    PIPC__LINK_WIDTH,
    PIPC__LINK_MAX_WIDTH,
    PIPC__LINK_SPEED,
    PIPC__LINK_MAX_SPEED
} pipc__link_key_t;

/* What a line tells of a link. */
typedef struct pipc__link_word {
    bool named; /* @addr is whose it is; else the device's that is open */
    pipc__pci_addr_t addr;
    pipc__link_key_t key;
    const char *value; /* NULL: it is the next line */
} pipc__link_word_t;

/* "/sys/bus/pci/devices/0000:41:00.0/current_link_width:8", or the same as the name of a file whose
 * text follows: "==> ... <==", "$ cat ...". */
bool pipc__text_sysfs(const char *line, pipc__link_word_t *word);

#define PIPC__SMI_COLUMNS 5

/* Where in nvidia-smi's output a line stands. */
typedef struct pipc__smi {
    enum { PIPC__SMI_ELSEWHERE, PIPC__SMI_GENERATION, PIPC__SMI_WIDTH } section;
    bool table;
    int column[PIPC__SMI_COLUMNS]; /* of the address, then by pipc__link_key_t; -1: not there */
} pipc__smi_t;

/* nvidia-smi -q: "GPU 00000000:41:00.0" begins a device, "Max : 16x" and "Current : 8x" follow in
 * the sections of the link. */
bool pipc__text_smi(pipc__smi_t *smi, const char *line, pipc__link_word_t *word);

/* nvidia-smi --query-gpu=pci.bus_id,... --format=csv: up to four words of one row; how many. */
int pipc__text_smi_row(pipc__smi_t *smi, const char *line, pipc__link_word_t word[4]);

/* Take a word. A speed is "16.0 GT/s", or a generation without a unit. */
void pipc__text_link_word(pipc__text_entry_t *e, const pipc__link_word_t *word);

/* LnkSta: what a link does; -1 for what is not told (text_registers.c). */
void pipc__text_link_status(pipc__fact_t *f, int mts, int width);

#endif
