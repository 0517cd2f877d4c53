/* tests/unit/topo_text.c - see topo_text.h */
#include "tests/unit/topo_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static char text[8192];

static void put(const char *separator, const char *word)
{
    size_t used = strlen(text);

    snprintf(text + used, sizeof(text) - used, "%s%s", separator, word);
}

static void put_members(const pipc__topo_t *topo, int group, pipc__topo_kind_t kind)
{
    int end = pipc__topo_end(topo, group), last = PIPC__UNKNOWN;
    char bus[16];

    for (int i = group + 1; i < end; i++) {
        const pipc__topo_obj_t *o = &topo->objs[i];
        if (o->kind != kind || (last >= 0 && pipc__topo_same_place(topo, last, i)))
            continue;
        snprintf(bus, sizeof(bus), "%02x", (unsigned int)(o->addr.bus & 0xff));
        put(last >= 0 || kind == PIPC__TOPO_NIC ? " " : "", o->addr.domain < 0 ? o->name : bus);
        last = i;
    }
}

static void put_groups(const pipc__topo_t *topo, int above)
{
    for (int i = above + 1; i < topo->nobjs; i++) {
        if (!pipc__topo_is_group(topo, i) || pipc__topo_group_above(topo, i) != above)
            continue;
        put(*text ? " " : "", "[");
        put_members(topo, i, PIPC__TOPO_GPU);
        if (pipc__topo_list_below(topo, i, PIPC__TOPO_NIC, NULL, 0) > 0)
            put(" ", "|");
        put_members(topo, i, PIPC__TOPO_NIC);
        put_groups(topo, i);
        put("", "]");
    }
}

const char *groups_text(const pipc__topo_t *topo)
{
    text[0] = '\0';
    put_groups(topo, PIPC__UNKNOWN);
    return text;
}

pipc__topo_t *synthetic(const char *description)
{
    pipc__topo_t *topo;
    pipc__error_t err = {PIPC_OK, ""};

    pipc_status_t st = pipc__topo_synthetic(&topo, description, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(st, PIPC_OK);
    assert_well_formed(topo);
    return topo;
}

void assert_well_formed(const pipc__topo_t *topo)
{
    assert_int_equal(topo->objs[0].kind, PIPC__TOPO_MACHINE);
    assert_int_equal(topo->objs[0].parent, PIPC__UNKNOWN);
    for (int i = 1; i < topo->nobjs; i++) {
        const pipc__topo_obj_t *o = &topo->objs[i];
        assert_in_range(o->parent, 0, i - 1);
        assert_true(i < pipc__topo_end(topo, o->parent)); /* preorder */
        assert_true(o->numa >= PIPC__UNKNOWN && o->numa < topo->nnumas);
        assert_int_equal(o->kind == PIPC__TOPO_HOST_BRIDGE, o->parent == 0);
        for (int j = i + 1; j < topo->nobjs; j++) {
            const pipc__pci_addr_t *a = &o->addr, *b = &topo->objs[j].addr;
            if (topo->objs[j].parent != o->parent)
                continue;
            long x = ((long)a->domain << 16) + (a->bus << 8) + a->device * 8 + a->function;
            long y = ((long)b->domain << 16) + (b->bus << 8) + b->device * 8 + b->function;
            assert_true(x < y);
            break;
        }
    }
}
