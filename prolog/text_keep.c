/* prolog/text_keep.c - of all devices that a text tells of: who is above whom, which are GPUs, and
 * which are of interest
 */
#include <stdlib.h>

#include "prolog/text_entry.h"
#include "runtime/topo/build.h"

#define VENDOR_AMD 0x1002
#define VENDOR_INTEL 0x8086

typedef struct text {
    pipc__text_entry_t *list;
    int n;
    pipc__facts_t *facts;
} text_t;

bool pipc__text_has_link(const pipc__text_entry_t *e)
{
    return e->fact.link.width >= 0 || e->fact.link.max_width >= 0;
}

static int compare(const void *a, const void *b)
{
    const pipc__text_entry_t *x = a, *y = b;

    if (x->addr.domain < 0 || y->addr.domain < 0) /* those without an address as they came */
        return x->addr.domain < 0 && y->addr.domain < 0 ? x->addr.bus - y->addr.bus
                                                        : x->addr.domain - y->addr.domain;
    return pipc__pci_compare(x->addr, y->addr);
}

static int bridge_to(const text_t *r, int i)
{
    const pipc__text_entry_t *e = &r->list[i];

    for (int b = 0; b < r->n; b++)
        if (r->list[b].secondary == e->addr.bus && r->list[b].addr.domain == e->addr.domain &&
            r->list[b].addr.bus != e->addr.bus)
            return b;
    return -1;
}

/* Ways up end: one that does not, or is longer than any machine's, is cut. */
static void find_parents(text_t *r)
{
    for (int i = 0; i < r->n; i++)
        if (r->list[i].addr.domain >= 0)
            r->list[i].fact.parent = bridge_to(r, i);
    for (int i = 0; i < r->n; i++) {
        int steps = 0;
        for (int k = i; k >= 0 && steps <= 32; k = r->list[k].fact.parent)
            steps++;
        if (steps > 32)
            r->list[i].fact.parent = -1;
    }
}

static bool same_slot(pipc__pci_addr_t a, pipc__pci_addr_t b)
{
    return a.domain >= 0 && a.domain == b.domain && a.bus == b.bus && a.device == b.device;
}

/* Intel's graphics in the processor have no link, and no place but this one (topo/device.c says the
 * same of devices with numbers). */
static bool is_integrated(const pipc__text_entry_t *e)
{
    return e->fact.gpu && e->fact.vendor == VENDOR_INTEL && e->addr.domain == 0 &&
           e->addr.bus == 0 && e->addr.device == 2 && (e->vga || e->addr.function == 1);
}

/* Of people who show the lines of a link alone, it is the GPU's that they ask about. Where devices
 * are told by name, lines without one are nobody's. */
static void take_for_gpu(text_t *r, pipc__text_entry_t *e)
{
    bool end = e->fact.link.port < 0 || e->fact.link.port == PIPC__EXPRESS_ENDPOINT ||
               e->fact.link.port == PIPC__EXPRESS_LEGACY;

    if (e->as != PIPC__LISTED_MAYBE || e->fact.companion || !end || !pipc__text_has_link(e))
        return;
    for (int i = 0; e->addr.domain < 0 && i < r->n; i++)
        if (r->list[i].addr.domain >= 0)
            return;
    e->fact.gpu = e->relevant = true;
}

/* Status bits without those that nobody wants to be told; both may be unknown, -1. */
static int64_t unmasked(int64_t status, int64_t mask)
{
    return status > 0 && mask > 0 ? status & ~mask : status;
}

static int routing_id(pipc__pci_addr_t a)
{
    return a.bus << 8 | a.device << 3 | a.function;
}

/* Is @v a virtual function of @f? It is the same card, no second one, and its registers of the link
 * say nothing. */
static bool is_virtual_of(const pipc__text_entry_t *v, const pipc__text_entry_t *f)
{
    if (f->vf_off || f->vfs < 1 || f->vf_offset < 1 || v->addr.domain < 0 ||
        v->addr.domain != f->addr.domain)
        return false;
    int at = routing_id(v->addr) - routing_id(f->addr) - f->vf_offset;
    int stride = f->vf_stride > 0 ? f->vf_stride : 1;
    return at >= 0 && at % stride == 0 && at / stride < f->vfs;
}

static void leave_out_virtual(text_t *r)
{
    for (int f = 0; f < r->n; f++)
        for (int v = 0; v < r->n && r->list[f].vfs > 0; v++)
            if (v != f && is_virtual_of(&r->list[v], &r->list[f])) {
                pipc__fact_t *fact = &r->list[v].fact;
                fact->gpu = fact->nic = fact->companion = r->list[v].relevant = false;
                r->list[v].as = PIPC__LISTED_OTHER;
                r->list[v].virtual = true;
            }
}

/* Functions of a GPU's card that are not its maker's words for it (AMD's audio); an AMD card's
 * switch where no more of the card is told (facts_sysfs.c does the same). */
static void know_cards(text_t *r)
{
    for (int i = 0; i < r->n; i++) {
        pipc__text_entry_t *e = &r->list[i];
        bool above = false;
        if (is_integrated(e)) {
            e->fact.gpu = e->relevant = false;
            e->as = PIPC__LISTED_OTHER;
        }
        for (int k = i - 1; k >= 0 && same_slot(r->list[k].addr, e->addr); k--)
            if (r->list[k].fact.gpu && !e->fact.gpu && !e->virtual)
                e->fact.companion = e->relevant = true;
        take_for_gpu(r, e);
        for (int k = 0; k < r->n && e->fact.link.port == PIPC__EXPRESS_UPSTREAM; k++)
            above |= r->list[k].fact.parent == i;
        if (e->fact.link.port == PIPC__EXPRESS_UPSTREAM && !above && e->fact.vendor == VENDOR_AMD)
            e->fact.gpu = true;
        e->fact.more.uncorrected = unmasked(e->fact.more.uncorrected, e->ue_mask);
        e->fact.more.corrected = unmasked(e->fact.more.corrected, e->ce_mask);
    }
}

/* What leads elsewhere is no matter of GPUs, nor is a device of another kind, whatever its own ACS
 * does. Ports above a NIC are kept with it. */
static pipc_status_t leave_out(text_t *r, pipc__error_t *err)
{
    pipc__listed_t *list = calloc((size_t)r->n + 1, sizeof(*list));
    bool *elsewhere = calloc((size_t)r->n + 1, sizeof(*elsewhere));
    pipc_status_t st = PIPC_ERR_NOMEM;

    for (int i = 0; list && i < r->n; i++) {
        const pipc__text_entry_t *e = &r->list[i];
        bool maybe = e->fact.gpu || e->fact.companion;
        list[i] = (pipc__listed_t){e->addr, e->fact.parent, e->secondary,
                                   maybe ? PIPC__LISTED_MAYBE : e->as};
    }
    if (list && elsewhere)
        st = pipc__elsewhere(list, r->n, elsewhere, err);
    else
        pipc__fail(err, st, "out of memory");
    for (int i = 0; !st && i < r->n; i++) {
        pipc__text_entry_t *e = &r->list[i];
        bool other = e->as == PIPC__LISTED_OTHER && !e->fact.nic && !e->fact.companion;
        e->fact.bridge = e->as == PIPC__LISTED_PORT;
        e->fact.dead_slot = e->as == PIPC__LISTED_PORT && e->present && e->down;
        if (other || (elsewhere[i] && !e->fact.gpu && !e->fact.dead_slot))
            e->relevant = false;
    }
    free(list);
    free(elsewhere);
    return st;
}

/* Keep what is of interest, and what is above it. */
static pipc_status_t keep(text_t *r, const char *from, pipc__error_t *err)
{
    pipc__facts_t *facts = r->facts;
    int *to = calloc((size_t)r->n + 1, sizeof(*to));

    facts->dev = calloc((size_t)r->n + 1, sizeof(*facts->dev));
    if (!to || !facts->dev) {
        free(to);
        return pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", from);
    }
    for (int i = 0; i < r->n; i++)
        for (int k = i; r->list[i].relevant && k >= 0; k = r->list[k].fact.parent)
            to[k] = 1;
    for (int i = 0; i < r->n; i++)
        to[i] = to[i] ? facts->n++ : -1;
    for (int i = 0; i < r->n; i++)
        if (to[i] >= 0) {
            facts->dev[to[i]] = r->list[i].fact;
            if (r->list[i].fact.parent >= 0)
                facts->dev[to[i]].parent = to[r->list[i].fact.parent];
        }
    free(to);
    return PIPC_OK;
}

pipc_status_t pipc__text_keep(pipc__text_entry_t *list, int n, pipc__facts_t *facts,
                              const char *from, pipc__error_t *err)
{
    text_t r = {list, n, facts};
    pipc_status_t st;

    if (n > 0)
        qsort(list, (size_t)n, sizeof(*list), compare);
    find_parents(&r);
    leave_out_virtual(&r);
    know_cards(&r);
    st = leave_out(&r, err);
    return st ? st : keep(&r, from, err);
}
