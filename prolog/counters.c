/* prolog/counters.c - see counters.h */
#include "prolog/counters.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "prolog/places.h"
#include "runtime/base/file.h"
#include "runtime/topo/scan.h"

#define AER_SERVICE "sys/bus/pci_express/drivers/aer"

const char *const pipc__count_names[PIPC__COUNTS] = {
    "receiver error",      "bad TLP",        "bad DLLP",    "replay rollover", "replay timeout",
    "unsupported request", "nonfatal error", "fatal error",
};

void pipc__boot_id(char out[PIPC__BOOT_ID_MAX])
{
    if (!pipc__file_line("/", out, PIPC__BOOT_ID_MAX, "proc/sys/kernel/random/boot_id"))
        out[0] = '\0';
}

double pipc__uptime(void)
{
    struct timespec t = {0, 0};

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- errors -------------------------------------------------------------------------------- */

/* Which kind the kernel's word in a file is of; PIPC__COUNTS: none that is kept. What comes in a
 * file's last line is the sum of the others, which some kernels leave out. */
static pipc__count_t kind_of(const char *word, pipc__count_t others)
{
    static const struct {
        const char *word;
        pipc__count_t kind;
    } words[] = {
        {"RxErr", PIPC__COUNT_RECEIVER},   {"BadTLP", PIPC__COUNT_BAD_TLP},
        {"BadDLLP", PIPC__COUNT_BAD_DLLP}, {"Rollover", PIPC__COUNT_ROLLOVER},
        {"Timeout", PIPC__COUNT_TIMEOUT},  {"UnsupReq", PIPC__COUNT_UNSUPPORTED},
    };

    if (strncmp(word, "TOTAL", 5) == 0)
        return PIPC__COUNTS;
    if (others == PIPC__COUNT_FATAL)
        return others;
    for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
        if (strcmp(word, words[k].word) == 0)
            return words[k].kind;
    return others;
}

/* Add the lines "WORD NUMBER" of a file; those of no kind of their own go to @others. */
static void add_file(const char *root, const char *dir, const char *file, pipc__count_t others,
                     int64_t count[PIPC__COUNTS])
{
    char text[2048], *save = NULL, word[32];
    long long n;

    if (!pipc__file_read(root, text, sizeof(text), NULL, "%s/%s", dir, file))
        return;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (sscanf(line, "%31s %18lld", word, &n) != 2 || n < 0 || n > PIPC__COUNT_MAX)
            continue;
        pipc__count_t kind = kind_of(word, others);
        if (kind < PIPC__COUNTS)
            count[kind] = (count[kind] < 0 ? 0 : count[kind]) + n;
    }
}

static void read_errors(const char *root, const char *dir, int64_t count[PIPC__COUNTS])
{
    for (int k = 0; k < PIPC__COUNTS; k++)
        count[k] = -1;
    add_file(root, dir, "aer_dev_correctable", PIPC__COUNTS, count);
    add_file(root, dir, "aer_dev_nonfatal", PIPC__COUNT_NONFATAL, count);
    add_file(root, dir, "aer_dev_fatal", PIPC__COUNT_FATAL, count);
}

/* Is @entry, as "0000:00:01.0:pcie002", the service of this port? */
static bool is_service_of(const char *entry, const char *port)
{
    size_t n = strlen(port);

    return strncmp(entry, port, n) == 0 && entry[n] == ':';
}

/* Under firmware-first no port is bound, and the counters exist and stay 0. The kernel may have
 * been given some root ports and not others. */
static void read_service(const char *root, pipc__counters_t *c)
{
    char path[PIPC__DEVICE_DIR_MAX];
    struct dirent *entry;
    DIR *dir;

    c->counting = false;
    for (int i = 0; i < c->n; i++)
        c->dev[i].counts = false;
    if ((size_t)snprintf(path, sizeof(path), "%s/" AER_SERVICE, root) >= sizeof(path) ||
        !(dir = opendir(path)))
        return;
    while ((entry = readdir(dir))) {
        c->counting |= strchr(entry->d_name, ':') != NULL;
        for (int i = 0; i < c->n; i++)
            if (c->dev[i].parent < 0 && is_service_of(entry->d_name, c->dev[i].name))
                c->dev[i].counts = true;
    }
    closedir(dir);
}

/* A device counts as its root port does; one whose port is not in view if any does. */
static void inherit_service(pipc__counters_t *c)
{
    for (int i = 0; i < c->n; i++) {
        int top = i, hops = 0;
        while (c->dev[top].parent >= 0 && hops++ < c->n)
            top = c->dev[top].parent;
        c->dev[i].counts = c->dev[top].link ? c->counting : c->dev[top].counts;
    }
}

/* ---- links --------------------------------------------------------------------------------- */

static bool is_asleep(const char *root, const char *dir)
{
    char text[32];

    return pipc__file_line(root, text, sizeof(text), "%s/power/runtime_status", dir) &&
           strcmp(text, "suspended") == 0;
}

/* Two registers by their files; config space where a captured machine has no such files. */
static void read_link(const char *root, const char *dir, pipc__counter_t *d)
{
    char text[PIPC__CONFIG_MAX + 1], speed[48];
    int64_t width;
    size_t n = 0;

    if (is_asleep(root, dir))
        return;
    d->width = d->mts = -1;
    if (pipc__file_int(root, &width, "%s/current_link_width", dir) &&
        pipc__file_line(root, speed, sizeof(speed), "%s/current_link_speed", dir)) {
        d->width = width > 0 && width < 64 ? pipc__link_width((int)width) : -1;
        d->mts = pipc__link_speed_mts(speed);
        return;
    }
    if (pipc__file_read(root, text, sizeof(text), &n, "%s/config", dir)) {
        pipc__express_t link = pipc__express_decode((const unsigned char *)text, n);
        d->width = link.width;
        d->mts = link.mts;
    }
}

void pipc__counters_sample(pipc__counters_t *c, const char *root)
{
    char link[PIPC__DEVICE_DIR_MAX], dir[PIPC__DEVICE_DIR_MAX];

    pipc__boot_id(c->boot_id);
    c->uptime = pipc__uptime();
    c->time = time(NULL);
    read_service(root, c);
    inherit_service(c);
    for (int i = 0; i < c->n; i++) {
        pipc__counter_t *d = &c->dev[i];
        bool linked = pipc__file_link(root, link, sizeof(link), PIPC__SCAN_DEVICES "/%s", d->name);
        pipc__device_dir(d->name, linked ? link : NULL, dir);
        read_errors(root, dir, d->count);
        read_link(root, dir, d);
    }
}

/* ---- a set of them ------------------------------------------------------------------------- */

static pipc_status_t make(pipc__counters_t *c, int n, pipc__error_t *err)
{
    memset(c, 0, sizeof(*c));
    c->dev = calloc((size_t)n + 1, sizeof(*c->dev));
    if (!c->dev)
        return pipc__fail(err, PIPC_ERR_NOMEM, "out of memory");
    c->n = n;
    return PIPC_OK;
}

pipc_status_t pipc__counters_take(const pipc__facts_t *facts, const char *root,
                                  pipc__counters_t *out, pipc__error_t *err)
{
    pipc_status_t st = make(out, facts->n, err);

    if (st)
        return st;
    for (int i = 0; i < facts->n; i++) {
        const pipc__fact_t *f = &facts->dev[i];
        pipc__counter_t *d = &out->dev[i];
        snprintf(d->name, sizeof(d->name), "%s", f->name);
        d->parent = f->parent;
        d->gpu = f->gpu;
        d->link = pipc__has_link(facts, f) || (f->parent < 0 && (f->gpu || f->nic));
        d->vendor = f->vendor;
        d->device = f->device;
        d->width = d->mts = -1;
    }
    pipc__counters_sample(out, root);
    return PIPC_OK;
}

pipc_status_t pipc__counters_find(const char *root, pipc__counters_t *out, pipc__error_t *err)
{
    pipc__facts_t facts;
    pipc_status_t st = pipc__facts_sysfs(&facts, root, PIPC__LOOK_LINKS, err);

    memset(out, 0, sizeof(*out));
    if (!st)
        st = pipc__counters_take(&facts, root, out, err);
    pipc__facts_free(&facts);
    return st;
}

pipc_status_t pipc__counters_copy(const pipc__counters_t *from, pipc__counters_t *to,
                                  pipc__error_t *err)
{
    pipc__counter_t *dev;
    pipc_status_t st = make(to, from->n, err);

    if (st)
        return st;
    dev = to->dev;
    *to = *from;
    to->dev = dev;
    if (from->n)
        memcpy(dev, from->dev, sizeof(*dev) * (size_t)from->n);
    return PIPC_OK;
}

void pipc__counters_free(pipc__counters_t *c)
{
    free(c->dev);
    memset(c, 0, sizeof(*c));
}
