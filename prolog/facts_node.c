/* prolog/facts_node.c - see facts_parts.h */
#include "prolog/facts_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/topo/dir.h"
#include "runtime/topo/device.h"

#define SERVICES "sys/bus/pci_express/drivers"
#define BARS 6

/* Flags of a BAR in the file resource */
enum { RESOURCE_MEMORY = 0x200, RESOURCE_PREFETCH = 0x2000 };

/* The sum of a file's counters, "NAME N" a line: those named in @kinds, or all but these. */
static int64_t sum(const char *root, const char *dir, const char *file, const char *const kinds[],
                   bool all_but)
{
    char text[2048], *save = NULL, name[32];
    int64_t total = -1;
    long long n;

    if (!pipc__file_read(root, text, sizeof(text), NULL, "%s/%s", dir, file))
        return -1;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        bool named = false;
        if (sscanf(line, "%31s %18lld", name, &n) != 2 || n < 0 || total > INT64_MAX / 4)
            continue;
        for (int k = 0; kinds[k]; k++)
            named |= strncmp(name, kinds[k], strlen(kinds[k])) == 0;
        if (named != all_but)
            total = (total < 0 ? 0 : total) + n;
    }
    return total;
}

void pipc__facts_counters(pipc__fact_t *f, const char *root, const char *dir)
{
    static const char *const link[] = {"RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout", NULL};
    static const char *const harmless[] = {"TOTAL_", "UnsupReq", NULL};
    int64_t fatal = sum(root, dir, "aer_dev_fatal", harmless, true);

    f->errors = sum(root, dir, "aer_dev_correctable", link, false); /* advisory: of software */
    f->uncorrected = sum(root, dir, "aer_dev_nonfatal", harmless, true);
    if (fatal >= 0)
        f->uncorrected = (f->uncorrected < 0 ? 0 : f->uncorrected) + fatal;
}

void pipc__facts_policy(const char *text, char out[PIPC__POLICY_MAX])
{
    const char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;

    out[0] = '\0';
    if (close && close - open - 1 < PIPC__POLICY_MAX)
        snprintf(out, PIPC__POLICY_MAX, "%.*s", (int)(close - open - 1), open + 1);
    if (strspn(out, "abcdefghijklmnopqrstuvwxyz_") != strlen(out))
        out[0] = '\0';
}

/* Root ports, by the register or, where that is hidden, by being on top with something below. */
static bool is_root_port(const pipc__facts_t *facts, int i)
{
    const pipc__fact_t *f = &facts->dev[i];

    if (f->parent >= 0 || f->gpu || f->nic || f->companion)
        return false;
    return f->link.port == PIPC__EXPRESS_ROOT || f->link.port < 0;
}

/* "0000:00:01.0:pcie002" */
static void mark_bound(pipc__facts_t *facts, const char *entry)
{
    const char *end = strrchr(entry, ':');
    size_t n = end ? (size_t)(end - entry) : 0;

    for (int i = 0; i < facts->n; i++)
        if (n > 0 && strlen(facts->dev[i].name) == n && strncmp(facts->dev[i].name, entry, n) == 0)
            facts->dev[i].aer = PIPC__AER_COUNTS;
}

static void read_services(pipc__facts_t *facts, const char *root)
{
    DIR *dir = pipc__dir_open(root, SERVICES "/aer");
    const char *entry;

    /* Without the folder above it nothing is known; with it, the kernel has no such service. */
    if (!dir && !pipc__dir_exists(root, SERVICES))
        return;
    for (int i = 0; i < facts->n; i++)
        if (is_root_port(facts, i))
            facts->dev[i].aer = PIPC__AER_UNBOUND;
    while (dir && (entry = pipc__dir_next(dir)))
        mark_bound(facts, entry);
    pipc__dir_close(dir);
}

static const pipc__fact_t *root_of(const pipc__facts_t *facts, int i)
{
    while (facts->dev[i].parent >= 0) /* ways up end: topo/scan.h */
        i = facts->dev[i].parent;
    return &facts->dev[i];
}

void pipc__facts_node(pipc__facts_t *facts, const char *root)
{
    char text[128];

    if (pipc__file_line(root, text, sizeof(text), "sys/module/pcie_aspm/parameters/policy"))
        pipc__facts_policy(text, facts->aspm_policy);
    read_services(facts, root);
    for (int i = 0; i < facts->n; i++)
        if (root_of(facts, i)->aer == PIPC__AER_UNBOUND) {
            pipc__fact_t *f = &facts->dev[i];
            f->errors = f->errors > 0 ? f->errors : -1;
            f->uncorrected = f->uncorrected > 0 ? f->uncorrected : -1;
        }
}

static void read_group(pipc__fact_t *f, const char *root, const char *dir)
{
    char link[PIPC__DEVICE_DIR_MAX], type[32];
    const char *name;

    if (!pipc__file_link(root, link, sizeof(link), "%s/iommu_group", dir)) {
        if (pipc__dir_exists(root, "sys/kernel/iommu_groups"))
            f->iommu = PIPC__IOMMU_NONE;
        return;
    }
    name = strrchr(link, '/') ? strrchr(link, '/') + 1 : link;
    size_t digits = strspn(name, "0123456789");
    if (digits == 0 || digits > 8 || name[digits])
        return;
    f->iommu_group = atoi(name);
    f->iommu = PIPC__IOMMU_GROUP;
    if (!pipc__file_line(root, type, sizeof(type), "sys/kernel/iommu_groups/%d/type",
                         f->iommu_group))
        return;
    if (strncmp(type, "DMA", 3) == 0)
        f->iommu = PIPC__IOMMU_TRANSLATES;
    else if (strcmp(type, "identity") == 0)
        f->iommu = PIPC__IOMMU_IDENTITY;
}

/* The largest BAR that may be prefetched is that for memory: a line each, "start end flags". */
static void read_bars(pipc__fact_t *f, const char *root, const char *dir)
{
    char text[2048], *save = NULL;
    unsigned long long start, end, flags;
    int n = 0;

    if (!pipc__file_read(root, text, sizeof(text), NULL, "%s/resource", dir))
        return;
    for (char *line = strtok_r(text, "\n", &save); line && n < BARS;
         line = strtok_r(NULL, "\n", &save), n++) {
        if (sscanf(line, "%llx %llx %llx", &start, &end, &flags) != 3 || end <= start ||
            !(flags & RESOURCE_MEMORY) || !(flags & RESOURCE_PREFETCH) || end - start >= INT64_MAX)
            continue;
        int64_t size = (int64_t)(end - start) + 1;
        if (size > f->more.bar)
            f->more.bar = size;
    }
}

void pipc__facts_memory(pipc__fact_t *f, const char *root, const char *dir)
{
    read_group(f, root, dir);
    read_bars(f, root, dir);
}
