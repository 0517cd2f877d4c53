/* prolog/text_files.c - see text_files.h: the files of sysfs */
#include "prolog/text_files.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/topo/device.h"

static const struct {
    const char *name;
    pipc__link_key_t key;
} files[] = {
    {"current_link_width", PIPC__LINK_WIDTH},
    {"max_link_width", PIPC__LINK_MAX_WIDTH},
    {"current_link_speed", PIPC__LINK_SPEED},
    {"max_link_speed", PIPC__LINK_MAX_SPEED},
};

/* The name of the folder that ends before @end: an address. */
static bool folder(const char *line, const char *end, pipc__pci_addr_t *addr)
{
    char word[PIPC__NAME_MAX];
    const char *start;

    if (end == line || end[-1] != '/')
        return false;
    end--;
    for (start = end; start > line && start[-1] != '/'; start--)
        ;
    if (end - start >= (long)sizeof(word))
        return false;
    memcpy(word, start, (size_t)(end - start));
    word[end - start] = '\0';
    return pipc__pci_parse(word, addr);
}

bool pipc__text_sysfs(const char *line, pipc__link_word_t *word)
{
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        const char *at = strstr(line, files[i].name), *v = at ? at + strlen(files[i].name) : NULL;
        if (!at)
            continue;
        *word = (pipc__link_word_t){.key = files[i].key};
        word->named = folder(line, at, &word->addr);
        v += strspn(v, " :=\t");
        word->value = *v >= '0' && *v <= '9' ? v : NULL;
        return true;
    }
    return false;
}

/* "16.0 GT/s PCIe"; "4", a generation */
static int speed(const char *text)
{
    static const int mts[] = {-1, 2500, 5000, 8000, 16000, 32000, 64000};
    char *end;
    unsigned long generation = strtoul(text, &end, 10);

    if (strstr(text, "T/s"))
        return pipc__link_speed_mts(text);
    return end != text && generation < sizeof(mts) / sizeof(mts[0]) ? mts[generation] : -1;
}

void pipc__text_link_word(pipc__text_entry_t *e, const pipc__link_word_t *word)
{
    int number = atoi(word->value);

    switch (word->key) {
    case PIPC__LINK_WIDTH:
        pipc__text_link_status(&e->fact, -1, pipc__link_width(number));
        break;
    case PIPC__LINK_MAX_WIDTH:
        e->fact.link.max_width = pipc__link_width(number);
        break;
    case PIPC__LINK_SPEED:
        pipc__text_link_status(&e->fact, speed(word->value), -1);
        break;
    case PIPC__LINK_MAX_SPEED:
        e->fact.link.max_mts = speed(word->value);
        break;
    case PIPC__LINK_NONE:
        break;
    }
}
