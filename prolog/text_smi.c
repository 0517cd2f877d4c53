/* prolog/text_smi.c - links by nvidia-smi's words, see text_files.h. Its "max" is of GPU and slot
 * together on some boards and of the GPU alone on others, so that it is taken for the GPU's.
 */
#include <string.h>

#include "prolog/text_files.h"

#define BLANK " \t"
#define HEX "0123456789abcdefABCDEF"

/* "00000000:41:00.0": the domain has eight digits here. */
static bool bus_id(const char *text, pipc__pci_addr_t *addr)
{
    char word[PIPC__NAME_MAX];
    size_t n = strspn(text, HEX ":.");

    if (n < 12 || n >= sizeof(word))
        return false;
    memcpy(word, text, n);
    word[n] = '\0';
    return pipc__pci_parse(strncmp(word, "0000", 4) == 0 && n == 16 ? word + 4 : word, addr);
}

/* "Max                       : 16x": what is behind @key and a colon */
static const char *value_of(const char *line, const char *key)
{
    size_t n = strlen(key);

    if (strncmp(line, key, n) != 0)
        return NULL;
    line += n + strspn(line + n, BLANK);
    return *line == ':' && line[1] == ' ' && line[2] >= '0' && line[2] <= '9' ? line + 2 : NULL;
}

bool pipc__text_smi(pipc__smi_t *smi, const char *line, pipc__link_word_t *word)
{
    const char *v;

    line += strspn(line, BLANK);
    *word = (pipc__link_word_t){.key = PIPC__LINK_NONE};
    if (strncmp(line, "GPU ", 4) == 0 && bus_id(line + 4, &word->addr)) {
        smi->section = PIPC__SMI_ELSEWHERE;
        return word->named = true;
    }
    if (strcmp(line, "PCIe Generation") == 0) {
        smi->section = PIPC__SMI_GENERATION;
        return true;
    }
    if (strcmp(line, "Link Width") == 0) {
        smi->section = PIPC__SMI_WIDTH;
        return true;
    }
    if (smi->section == PIPC__SMI_ELSEWHERE)
        return false;
    bool width = smi->section == PIPC__SMI_WIDTH;
    if ((v = value_of(line, "Max")))
        word->key = width ? PIPC__LINK_MAX_WIDTH : PIPC__LINK_MAX_SPEED;
    else if ((v = value_of(line, "Current")))
        word->key = width ? PIPC__LINK_WIDTH : PIPC__LINK_SPEED;
    else if (strncmp(line, "Device ", 7) != 0 && strncmp(line, "Host ", 5) != 0)
        smi->section = PIPC__SMI_ELSEWHERE;
    word->value = v;
    return v != NULL;
}

/* The column that begins at *at, without blanks; *at is moved to the next one. */
static const char *column(const char **at, size_t *n)
{
    const char *start = *at + strspn(*at, BLANK);

    *n = strcspn(start, ",");
    *at = start[*n] ? start + *n + 1 : NULL;
    return start;
}

/* The names of the columns: "pci.bus_id, pcie.link.gen.current, ..." */
static bool take_names(pipc__smi_t *smi, const char *line)
{
    static const char *const names[PIPC__SMI_COLUMNS] = {
        "bus_id", "pcie.link.width.current", "pcie.link.width.max", "pcie.link.gen.current",
        "pcie.link.gen.max"};
    size_t n;

    if (!strstr(line, "bus_id") || !strstr(line, "pcie.link.width.current") ||
        strstr(line, "--query"))
        return false;
    for (int i = 0; i < PIPC__SMI_COLUMNS; i++)
        smi->column[i] = -1;
    int c = 0;
    for (const char *at = line; at; c++) {
        const char *name = column(&at, &n);
        for (int i = 0; i < PIPC__SMI_COLUMNS; i++) {
            const char *found = strstr(name, names[i]);
            if (found && found < name + n)
                smi->column[i] = c;
        }
    }
    return smi->table = smi->column[0] >= 0;
}

int pipc__text_smi_row(pipc__smi_t *smi, const char *line, pipc__link_word_t word[4])
{
    pipc__pci_addr_t addr = {PIPC__UNKNOWN, 0, 0, 0};
    bool named = false;
    int words = 0, c = 0;
    size_t n;

    if (take_names(smi, line) || !smi->table)
        return 0;
    for (const char *at = line; at; c++) {
        const char *text = column(&at, &n);
        if (c == smi->column[0])
            named = bus_id(text, &addr);
        for (int key = 1; key < PIPC__SMI_COLUMNS; key++)
            if (c == smi->column[key] && *text >= '0' && *text <= '9')
                word[words++] = (pipc__link_word_t){.key = (pipc__link_key_t)key, .value = text};
    }
    for (int i = 0; i < words; i++) {
        word[i].named = true;
        word[i].addr = addr;
    }
    smi->table = named; /* it ends with its last row */
    return named ? words : 0;
}
