/* prolog/facts_sysfs.c - facts from a machine's sysfs: topo/scan.h says what is a GPU and who is
 * above whom, libpci reads config space, sysfs files stand in where that says nothing
 */
#include "prolog/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prolog/config_space.h"
#include "prolog/elsewhere.h"
#include "prolog/facts_parts.h"
#include "runtime/base/file.h"
#include "runtime/topo/scan.h"

#define VENDOR_AMD 0x1002
#define VENDOR_NVIDIA 0x10de

typedef struct reader {
    pipc__scan_t scan;
    pipc__config_space_t *space;
    pipc__topo_t *scratch; /* an empty tree for the NUMA nodes that topo/device.h finds */
    int *index;            /* scan -> facts, or -1 */
    bool *gpu, *elsewhere; /* of scan */
    bool all, excerpt;
} reader_t;

/* Config space of one device; its capabilities beyond byte 256 as well. */
typedef struct space {
    unsigned char config[PIPC__CONFIG_WHOLE_MAX];
    size_t bytes;
} space_t;

static bool second_function(const pipc__scan_t *s, int i)
{
    const pipc__pci_addr_t *a = &s->dev[i].addr, *b = i > 0 ? &s->dev[i - 1].addr : a;

    return i > 0 && s->dev[i - 1].part == PIPC__PART_GPU && a->domain == b->domain &&
           a->bus == b->bus && a->device == b->device;
}

/* Is anything of this machine below device @i? */
static bool is_above_another(const pipc__scan_t *s, int i)
{
    for (int k = 0; k < s->n; k++)
        if (s->dev[k].parent == i)
            return true;
    return false;
}

/* The link of an AMD card to its slot is at the card's own switch. Where a dump shows no more of
 * the card than that, it stands for the card. */
static bool stands_for_card(const reader_t *r, int i)
{
    const pipc__scan_device_t *d = &r->scan.dev[i];
    char name[PIPC__NAME_MAX], dir[PIPC__DEVICE_DIR_MAX];
    int64_t vendor;

    if (!d->listed || d->part != PIPC__PART_BRIDGE || d->port != PIPC__PORT_UPSTREAM ||
        is_above_another(&r->scan, i))
        return false;
    pipc__scan_locate(&r->scan, d, name, dir);
    return pipc__file_int(r->scan.root, &vendor, "%s/vendor", dir) && vendor == VENDOR_AMD;
}

static bool is_gpu(const reader_t *r, int i)
{
    const pipc__scan_device_t *d = &r->scan.dev[i];

    if (d->part == PIPC__PART_GPU)
        return !d->virtual && !second_function(&r->scan, i);
    return stands_for_card(r, i);
}

/* Take device @i and all that is above it. Ways up end: topo/scan.h. */
static void take(reader_t *r, int i)
{
    for (int k = i; k >= 0 && r->index[k] < 0; k = r->scan.dev[k].parent)
        r->index[k] = 0;
}

/* In an excerpt a card's sound or USB function may stand without its GPU. */
static bool is_companion_alone(const reader_t *r, int i)
{
    char name[PIPC__NAME_MAX], dir[PIPC__DEVICE_DIR_MAX];
    int64_t vendor, class_code;

    pipc__scan_locate(&r->scan, &r->scan.dev[i], name, dir);
    if (!r->excerpt || !pipc__file_int(r->scan.root, &vendor, "%s/vendor", dir) ||
        vendor != VENDOR_NVIDIA || !pipc__file_int(r->scan.root, &class_code, "%s/class", dir))
        return false;
    return class_code >> 8 == 0x0403 || class_code >> 8 == 0x0c03 || class_code >> 8 == 0x0c80;
}

/* A function beside a GPU's own: sound, USB. */
static bool is_companion(const reader_t *r, int i)
{
    const pipc__pci_addr_t *a = &r->scan.dev[i].addr;

    if (!r->scan.dev[i].listed || r->scan.dev[i].part != PIPC__PART_OTHER || r->scan.dev[i].virtual)
        return false;
    for (int k = i - 1; k >= 0; k--) { /* in order of address */
        const pipc__pci_addr_t *b = &r->scan.dev[k].addr;
        if (a->domain != b->domain || a->bus != b->bus || a->device != b->device)
            break;
        if (r->gpu[k])
            return true;
    }
    return is_companion_alone(r, i);
}

/* Is a GPU below a port that is above this NIC too? */
static bool is_beside_gpu(const reader_t *r, int i)
{
    const pipc__scan_device_t *d = &r->scan.dev[i];

    if (d->part != PIPC__PART_NIC || d->virtual)
        return false;
    for (int k = d->parent; k >= 0; k = r->scan.dev[k].parent)
        if (r->index[k] >= 0)
            return true;
    return false;
}

/* A port that is gone says no more which kind it is. */
static bool is_gone(const reader_t *r, const pipc__scan_device_t *d)
{
    char name[PIPC__NAME_MAX], dir[PIPC__DEVICE_DIR_MAX], config[64 + 1];
    size_t n = 0;

    pipc__scan_locate(&r->scan, d, name, dir);
    return pipc__file_read(r->scan.root, config, sizeof(config), &n, "%s/config", dir) &&
           pipc__config_all_ones((const unsigned char *)config, n);
}

/* In an excerpt what is beside a GPU, or above one, may be shown without it. */
static bool stands_in_excerpt(const reader_t *r, int i)
{
    const pipc__scan_device_t *d = &r->scan.dev[i];

    return d->listed && !d->virtual &&
           (d->part == PIPC__PART_NIC ||
            (d->part == PIPC__PART_BRIDGE && !r->elsewhere[i] &&
             (d->port == PIPC__PORT_ROOT || d->port == PIPC__PORT_DOWNSTREAM || is_gone(r, d))));
}

static pipc__listed_as_t listed_as(const reader_t *r, int i)
{
    const pipc__scan_device_t *d = &r->scan.dev[i];
    char name[PIPC__NAME_MAX], dir[PIPC__DEVICE_DIR_MAX];
    int64_t class_code;

    if (d->part == PIPC__PART_BRIDGE)
        return PIPC__LISTED_PORT;
    if (!d->listed || r->gpu[i] || is_companion(r, i))
        return PIPC__LISTED_MAYBE;
    pipc__scan_locate(&r->scan, d, name, dir);
    if (!pipc__file_int(r->scan.root, &class_code, "%s/class", dir))
        return PIPC__LISTED_MAYBE;
    return class_code >> 8 == 0x0600 ? PIPC__LISTED_HOST : PIPC__LISTED_OTHER;
}

/* Which ports lead to no GPU, in an excerpt that shows as much. */
static pipc_status_t look_elsewhere(reader_t *r, pipc__error_t *err)
{
    pipc__listed_t *list = calloc((size_t)r->scan.n + 1, sizeof(*list));
    pipc_status_t st;

    if (!list)
        return pipc__fail(err, PIPC_ERR_NOMEM, "out of memory");
    for (int i = 0; i < r->scan.n; i++) {
        const pipc__scan_device_t *d = &r->scan.dev[i];
        list[i] = (pipc__listed_t){d->addr, d->parent, d->secondary, listed_as(r, i)};
    }
    st = pipc__elsewhere(list, r->scan.n, r->elsewhere, err);
    free(list);
    return st;
}

/* Number the GPUs, what is above them and, where all is wanted, what is beside them; how many. */
static pipc_status_t choose(reader_t *r, int *chosen, pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;
    int n = 0;

    for (int i = 0; i < r->scan.n; i++) {
        r->index[i] = -1;
        r->gpu[i] = is_gpu(r, i);
    }
    if (r->excerpt && (st = look_elsewhere(r, err)))
        return st;
    for (int i = 0; i < r->scan.n; i++)
        if (r->gpu[i])
            take(r, i);
    for (int i = 0; r->all && i < r->scan.n; i++)
        if (is_companion(r, i) || is_beside_gpu(r, i) || (r->excerpt && stands_in_excerpt(r, i)))
            take(r, i);
    for (int i = 0; i < r->scan.n; i++)
        if (r->index[i] == 0)
            r->index[i] = n++;
    *chosen = n;
    return PIPC_OK;
}

/* In a captured tree an absolute link would lead libpci out of it: there we read ourselves. */
static pipc_status_t read_config(reader_t *r, const pipc__scan_device_t *d, const char *dir,
                                 space_t *s, pipc__error_t *err)
{
    char text[PIPC__CONFIG_WHOLE_MAX + 1];
    pipc_status_t st = PIPC_OK;

    s->bytes = 0;
    if (strncmp(dir, PIPC__SCAN_DEVICES, strlen(PIPC__SCAN_DEVICES)) == 0) {
        st = pipc__config_space_read(r->space, d->addr, s->config, &s->bytes, err);
        if (!st && r->all && s->bytes == PIPC__CONFIG_MAX &&
            !pipc__config_all_ones(s->config, s->bytes))
            st = pipc__config_space_extended(r->space, d->addr, s->config, &s->bytes, err);
        return st;
    }
    if (pipc__file_read(r->scan.root, text, r->all ? sizeof(text) : PIPC__CONFIG_MAX + 1, &s->bytes,
                        "%s/config", dir))
        memcpy(s->config, text, s->bytes);
    return PIPC_OK;
}

/* A device that the kernel has powered off reads all ones too, and is well. */
static pipc__answer_t answer(const char *root, const char *dir, const unsigned char *config,
                             size_t bytes)
{
    char state[32], runtime[32];

    if (bytes < 64)
        return PIPC__SILENT;
    if (!pipc__config_all_ones(config, bytes))
        return PIPC__ANSWERS;
    if (pipc__file_line(root, state, sizeof(state), "%s/power_state", dir) &&
        pipc__file_line(root, runtime, sizeof(runtime), "%s/power/runtime_status", dir) &&
        strcmp(state, "D3cold") == 0 && strcmp(runtime, "suspended") == 0)
        return PIPC__ASLEEP;
    return PIPC__LOST;
}

static void fill(int *value, int other)
{
    if (*value < 0)
        *value = other;
}

/* "D0" ... "D3hot", "D3cold"; -1 for what is none. */
static int power_state(const char *root, const char *dir)
{
    char state[32];

    if (!pipc__file_line(root, state, sizeof(state), "%s/power_state", dir) || state[0] != 'D' ||
        state[1] < '0' || state[1] > '3')
        return -1;
    return state[1] - '0';
}

/* What sysfs says where config space says nothing; of a device that does not answer these are what
 * ones decode to, or what the kernel remembers. */
static bool add_files(reader_t *r, const char *dir, pipc__fact_t *f)
{
    pipc__topo_obj_t obj = {.kind = PIPC__TOPO_BRIDGE};

    if (!pipc__device_facts(r->scratch, r->scan.root, dir, &obj))
        return false;
    f->vendor = obj.vendor;
    f->device = obj.device;
    if (f->answer == PIPC__LOST || f->answer == PIPC__ASLEEP)
        return true;
    if (f->link.d_state < 0)
        f->link.d_state = power_state(r->scan.root, dir);
    fill(&f->link.width, obj.link.width);
    fill(&f->link.max_width, obj.link.max_width);
    fill(&f->link.mts, obj.link.speed_mts);
    fill(&f->link.max_mts, obj.link.max_speed_mts);
    return true;
}

static pipc_status_t read_device(reader_t *r, int i, pipc__fact_t *f, pipc__error_t *err)
{
    const pipc__scan_device_t *d = &r->scan.dev[i];
    char name[PIPC__NAME_MAX], dir[PIPC__DEVICE_DIR_MAX];
    space_t s;

    pipc__scan_locate(&r->scan, d, name, dir);
    memcpy(f->name, name, sizeof(f->name));
    f->parent = d->parent >= 0 ? r->index[d->parent] : -1;
    f->vendor = f->device = -1;
    f->answer = PIPC__SILENT;
    f->nic = d->part == PIPC__PART_NIC;
    f->bridge = d->part == PIPC__PART_BRIDGE;
    f->companion = is_companion(r, i);
    f->errors = f->uncorrected = -1;
    f->link = pipc__express_unknown();
    f->more = pipc__extended_unknown();
    if (!d->listed) /* known as an ancestor only */
        return PIPC_OK;
    pipc_status_t st = read_config(r, d, dir, &s, err);
    if (st)
        return st;
    f->answer = answer(r->scan.root, dir, s.config, s.bytes);
    if (f->answer == PIPC__ANSWERS) {
        f->link = pipc__express_decode(s.config, s.bytes);
        f->more = pipc__extended_decode(s.config, s.bytes);
        f->who.serial = f->more.serial;
    }
    if (r->all && r->gpu[i])
        pipc__facts_memory(f, r->scan.root, dir);
    if (r->all)
        pipc__facts_counters(f, r->scan.root, dir);
    if (!add_files(r, dir, f))
        return pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", f->name);
    return PIPC_OK;
}

static pipc_status_t read_all(reader_t *r, pipc__facts_t *facts, pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;
    size_t n = r->scan.n > 0 ? (size_t)r->scan.n : 1;

    r->gpu = calloc(n, sizeof(*r->gpu));
    r->elsewhere = calloc(n, sizeof(*r->elsewhere));
    r->index = calloc(n, sizeof(*r->index));
    if (r->gpu && r->elsewhere && r->index)
        facts->dev = calloc(n, sizeof(*facts->dev));
    if (!facts->dev)
        st = pipc__fail(err, PIPC_ERR_NOMEM, "out of memory");
    else
        st = choose(r, &facts->n, err);
    for (int i = 0; !st && i < r->scan.n; i++) {
        if (r->index[i] < 0)
            continue;
        facts->dev[r->index[i]].gpu = r->gpu[i];
        st = read_device(r, i, &facts->dev[r->index[i]], err);
    }
    return st;
}

pipc_status_t pipc__facts_sysfs(pipc__facts_t *facts, const char *root, pipc__look_t look,
                                pipc__error_t *err)
{
    reader_t r = {.scan = {.root = root},
                  .all = look != PIPC__LOOK_LINKS,
                  .excerpt = look == PIPC__LOOK_EXCERPT};
    pipc_status_t st;

    memset(facts, 0, sizeof(*facts));
    st = pipc__scan(&r.scan, err);
    r.scratch = calloc(1, sizeof(*r.scratch));
    if (!st && !r.scratch)
        st = pipc__fail(err, PIPC_ERR_NOMEM, "out of memory");
    if (!st)
        st = pipc__config_space_open(&r.space, root, err);
    facts->excerpt = r.excerpt;
    facts->virtual_machine = !st && pipc__facts_guest(&r.scan);
    if (!st)
        st = read_all(&r, facts, err);
    if (!st && r.all && !r.excerpt) { /* a dump has none of it */
        pipc__facts_node(facts, root);
        st = pipc__facts_log(facts, root, err);
    }
    pipc__config_space_close(r.space);
    pipc__topo_free(r.scratch);
    free(r.scan.dev);
    free(r.index);
    free(r.gpu);
    free(r.elsewhere);
    return st;
}

void pipc__facts_free(pipc__facts_t *facts)
{
    free(facts->dev);
    free(facts->event);
    free(facts->pair);
    memset(facts, 0, sizeof(*facts));
}
