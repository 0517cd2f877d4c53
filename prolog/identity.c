/* prolog/identity.c - see identity.h */
#include "prolog/identity.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/base/ini.h"

#define SLOTS "sys/bus/pci/slots"
#define SLOTS_MAX 1024

/* "0000:41:00" is the address of the slot of "0000:41:00.0" and its other functions. */
static void give_slot(pipc__facts_t *facts, const char *address, const char *slot)
{
    size_t n = strlen(address);

    for (int i = 0; n > 0 && i < facts->n; i++)
        if (strncmp(facts->dev[i].name, address, n) == 0 && facts->dev[i].name[n] == '.')
            pipc__ini_plain(facts->dev[i].who.slot, sizeof(facts->dev[i].who.slot), slot);
}

static void read_slots(const char *root, pipc__facts_t *facts)
{
    char path[512], address[32];
    struct dirent *e;
    DIR *d;
    int n = 0;

    if (snprintf(path, sizeof(path), "%s/" SLOTS, root) >= (int)sizeof(path) ||
        !(d = opendir(path)))
        return;
    while (n++ < SLOTS_MAX && (e = readdir(d)))
        if (e->d_name[0] != '.' &&
            pipc__file_line(root, address, sizeof(address), SLOTS "/%s/address", e->d_name))
            give_slot(facts, address, e->d_name);
    closedir(d);
}

/* The driver says it without being woken: "GPU UUID: \t GPU-...", with ? before it knows. */
static void read_uuid(const char *root, pipc__fact_t *f)
{
    static const char key[] = "GPU UUID:";
    char text[4096], *at;

    if (!pipc__file_read(root, text, sizeof(text), NULL, "proc/driver/nvidia/gpus/%s/information",
                         f->name) ||
        !(at = strstr(text, key)))
        return;
    at += sizeof(key) - 1;
    at += strspn(at, " \t");
    at[strcspn(at, " \t\n")] = '\0';
    if (!strchr(at, '?'))
        pipc__ini_plain(f->who.uuid, sizeof(f->who.uuid), at);
}

void pipc__identity_read(const char *root, bool ask_driver, pipc__facts_t *facts)
{
    char line[256];

    if (pipc__file_line(root, line, sizeof(line), "sys/class/dmi/id/bios_version"))
        pipc__ini_plain(facts->bios, sizeof(facts->bios), line);
    read_slots(root, facts);
    for (int i = 0; ask_driver && i < facts->n; i++)
        if (facts->dev[i].gpu)
            read_uuid(root, &facts->dev[i]);
}
