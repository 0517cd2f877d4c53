/* prolog/text_first.c - a device's first line, as lspci writes it:
 *
 *     41:00.0 VGA compatible controller: NVIDIA Corporation ... [10de:2206] (rev a1)
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "prolog/text_entry.h"
#include "runtime/topo/device.h"
#include "runtime/topo/dump.h"

enum { NVIDIA = 0x10de, AMD = 0x1002, INTEL = 0x8086 };

/* The same as its words would say. */
static void take_numbers(pipc__text_entry_t *e, int class_code, int vendor, int device)
{
    pipc__fact_t *f = &e->fact;
    pipc__device_role_t role = pipc__device_role_of(e->addr, class_code << 8, vendor, device);

    f->vendor = vendor;
    f->device = device;
    f->gpu = role == PIPC__ROLE_GPU;
    f->nic = role == PIPC__ROLE_NIC;
    f->companion =
        vendor == NVIDIA && (class_code == 0x0403 || class_code == 0x0c03 || class_code == 0x0c80);
    if (role == PIPC__ROLE_BRIDGE)
        e->as = PIPC__LISTED_PORT;
    else if (class_code == 0x0600)
        e->as = PIPC__LISTED_HOST;
    else
        e->as = f->gpu || f->companion ? PIPC__LISTED_MAYBE : PIPC__LISTED_OTHER;
    e->relevant |= f->gpu || f->companion || f->nic || role == PIPC__ROLE_BRIDGE;
}

/* "[10de:2206]". Without it the words are all there is to know one card from another by. */
static void identify(pipc__fact_t *f, const char *text)
{
    unsigned int vendor, device, hash = 2166136261u;
    size_t end = strcspn(text, "(");

    for (const char *p = strchr(text, '['); p; p = strchr(p + 1, '['))
        if (strlen(p) >= 11 && p[5] == ':' && p[10] == ']' &&
            sscanf(p, "[%4x:%4x]", &vendor, &device) == 2) {
            f->vendor = (int)vendor;
            f->device = (int)device;
            return;
        }
    if (strstr(text, "NVIDIA"))
        f->vendor = NVIDIA;
    else if (strstr(text, "AMD/ATI"))
        f->vendor = AMD;
    else if (strstr(text, "Intel"))
        f->vendor = INTEL;
    for (size_t i = 0; i < end; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    if (f->vendor >= 0)
        f->device = (int)(hash >> 2 | 0x10000); /* no number that a card has */
}

static bool is_companion(const pipc__fact_t *f, const char *text)
{
    return f->vendor == NVIDIA &&
           (strcasestr(text, "Audio device") || strcasestr(text, "USB controller") ||
            strcasestr(text, "Serial bus controller"));
}

/* Display controllers of other makers are of no interest: a server's console is one, also where it
 * is of a maker of GPUs. */
static bool is_gpu(const char *text)
{
    if (strstr(text, "ES1000") || strstr(text, "Rage XL"))
        return false;
    return pipc__dump_names_gpu(text) || strstr(text, "GPU") || strstr(text, "0x0302") ||
           strstr(text, "0x1200") || strstr(text, "0x0b40");
}

static bool is_nic(const char *text)
{
    return strcasestr(text, "Ethernet controller") || strcasestr(text, "Infiniband controller") ||
           strcasestr(text, "Network controller");
}

void pipc__text_port(pipc__text_entry_t *e, const char *text)
{
    static const struct {
        const char *words;
        int port;
    } ports[] = {{"Root Port", PIPC__EXPRESS_ROOT},
                 {"Upstream Port", PIPC__EXPRESS_UPSTREAM},
                 {"Downstream Port", PIPC__EXPRESS_DOWNSTREAM},
                 {"Integrated Endpoint", PIPC__EXPRESS_INTEGRATED},
                 {"Legacy Endpoint", PIPC__EXPRESS_LEGACY},
                 {"Endpoint", PIPC__EXPRESS_ENDPOINT}};

    for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++)
        if (strstr(text, ports[i].words)) {
            e->fact.link.port = ports[i].port;
            e->relevant |= i < 3;
            if (i < 3)
                e->as = PIPC__LISTED_PORT;
            return;
        }
}

/* "Non-Volatile memory controller: ...", "SMBus [0c05]: ...": what lspci calls a device of any
 * kind, up to a colon. */
bool pipc__text_has_class(const char *text)
{
    static const char *const words[] = {"controller", "bridge",     "device",      "memory",
                                        "processor",  "processing", "accelerator", "peripheral",
                                        "SMBus",      "counters",   "Class ",      "class"};
    const char *colon = strstr(text, ": ");
    int vendor, device;
    char head[64];

    if (pipc__dump_numbers(text, &vendor, &device) >= 0)
        return true;
    if (!colon || colon - text >= (long)sizeof(head))
        return false;
    memcpy(head, text, (size_t)(colon - text));
    head[colon - text] = '\0';
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcasestr(head, words[i]))
            return true;
    return false;
}

static pipc__listed_as_t listed_as(const pipc__fact_t *f, const char *text)
{
    if (strcasestr(text, "Host bridge"))
        return PIPC__LISTED_HOST;
    if (strcasestr(text, "PCI bridge") || f->link.port == PIPC__EXPRESS_ROOT ||
        f->link.port == PIPC__EXPRESS_UPSTREAM || f->link.port == PIPC__EXPRESS_DOWNSTREAM)
        return PIPC__LISTED_PORT;
    if (f->gpu || f->companion || !pipc__text_has_class(text))
        return PIPC__LISTED_MAYBE;
    return PIPC__LISTED_OTHER;
}

/* Devices that a hypervisor invents: where one is, ports may be invented too. */
bool pipc__text_is_of_guest(const char *text)
{
    static const char *const makers[] = {"QEMU",   "Red Hat", "Virtio", "VMware", "Hyper-V",
                                         "[1af4:", "[1b36:",  "[15ad:", "[1414:"};

    for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
        if (strstr(text, makers[i]))
            return true;
    return false;
}

/* People write of such a revision too. */
bool pipc__text_is_lost(const char *text)
{
    return strstr(text, "(rev ff)") && pipc__text_has_class(text);
}

void pipc__text_first_line(pipc__text_entry_t *e, const char *text)
{
    pipc__fact_t *f = &e->fact;
    int vendor, device;
    int class_code = pipc__dump_numbers(text, &vendor, &device);

    if (class_code >= 0) {
        take_numbers(e, class_code, vendor, device);
        return;
    }
    identify(f, text);
    e->vga = strcasestr(text, "VGA compatible");
    f->companion = is_companion(f, text);
    f->gpu = !f->companion && !strcasestr(text, "Audio device") && is_gpu(text);
    f->nic = !f->gpu && is_nic(text);
    e->relevant |= f->gpu || f->companion || f->nic || strcasestr(text, "PCI bridge");
    pipc__text_port(e, text);
    e->as = listed_as(f, text);
}
