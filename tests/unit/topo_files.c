/* tests/unit/topo_files.c - see topo_files.h */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/topo_files.h"
#include "tests/unit/topo_text.h"

char topo_file[64];

int make_topo_file(void **state)
{
    int fd;

    (void)state;
    strcpy(topo_file, "/tmp/pipc-source-XXXXXX");
    fd = mkstemp(topo_file);
    return fd < 0 ? -1 : close(fd);
}

int remove_topo_file(void **state)
{
    (void)state;
    return unlink(topo_file);
}

void put_topo_file(const char *text, size_t n)
{
    unlink(topo_file); /* a file that is cut to nothing and written again waits for the disk */
    FILE *f = fopen(topo_file, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    fclose(f);
}

void assert_consistent(const pipc__topo_t *t)
{
    assert_int_equal(t->objs[0].kind, PIPC__TOPO_MACHINE);
    assert_int_equal(t->objs[0].parent, PIPC__UNKNOWN);
    for (int i = 1; i < t->nobjs; i++) {
        const pipc__topo_obj_t *o = &t->objs[i];
        assert_in_range(o->parent, 0, i - 1);
        assert_true(i < pipc__topo_end(t, o->parent)); /* preorder */
        assert_int_equal(o->kind == PIPC__TOPO_HOST_BRIDGE, o->parent == 0);
        assert_true(o->name[0] != '\0');
        assert_true(o->numa >= PIPC__UNKNOWN && o->numa < t->nnumas);
        assert_true(o->link.width != 0 && o->link.max_width != 0);
        assert_true(o->link.speed_mts != 0 && o->link.max_speed_mts != 0);
        int group = pipc__topo_switch_of(t, i);
        if (o->kind == PIPC__TOPO_GPU && group >= 0)
            assert_true(pipc__topo_is_group(t, group));
    }
    for (int i = 0; i < t->nnumas; i++) {
        assert_true(t->numas[i].os_index >= 0);
        for (int j = 0; j < i; j++)
            assert_int_not_equal(t->numas[i].os_index, t->numas[j].os_index);
    }
}

static pipc_status_t load(pipc__source_kind_t kind, const char *text, pipc__topo_t **topo,
                          pipc__error_t *err)
{
    const pipc__source_t source = {kind, topo_file};

    put_topo_file(text, strlen(text));
    *err = (pipc__error_t){PIPC_OK, ""};
    return pipc__topo_load(topo, &source, err);
}

pipc__topo_t *read_right(pipc__source_kind_t kind, const char *text)
{
    pipc__topo_t *t;
    pipc__error_t err;
    pipc_status_t st = load(kind, text, &t, &err);

    assert_string_equal(err.text, "");
    assert_int_equal(st, PIPC_OK);
    assert_consistent(t);
    return t;
}

void assert_groups(pipc__source_kind_t kind, const char *input, const char *expected)
{
    pipc__topo_t *t = read_right(kind, input);

    assert_string_equal(groups_text(t), expected);
    pipc__topo_free(t);
}

const pipc__topo_obj_t *object(const pipc__topo_t *t, const char *name)
{
    for (int i = 0; i < t->nobjs; i++)
        if (strcmp(t->objs[i].name, name) == 0)
            return &t->objs[i];
    fail_msg("no object %s", name);
    return NULL;
}

int numa_number(const pipc__topo_t *t, const char *name)
{
    int numa = object(t, name)->numa;

    return numa < 0 ? PIPC__UNKNOWN : t->numas[numa].os_index;
}

int links_between(const pipc__topo_t *t, const char *a, const char *b)
{
    return pipc__topo_nvlinks(t, (int)(object(t, a) - t->objs), (int)(object(t, b) - t->objs));
}

void assert_refused(pipc__source_kind_t kind, const wrong_t *w)
{
    const pipc__source_t source = {kind, topo_file};
    pipc__topo_t *t;
    pipc__error_t err;
    pipc_status_t st = load(kind, w->input, &t, &err);

    if (st != w->status || strncmp(err.text, topo_file, strlen(topo_file)) ||
        !strstr(err.text, w->says))
        fail_msg("\"%.60s\": status %d, %s", w->input, (int)st, err.text);
    assert_null(t);
    assert_int_equal(pipc__source_exit(&source, st), 2);
}

/* ---- noise -------------------------------------------------------------------------------------
 */

static uint32_t seed;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(seed >> 8) * below >> 24);
}

/* Damage text[n] in one to four places; its new length. */
static size_t damage(char *t, size_t n, size_t cap)
{
    static const char *const words[] = {"<pci busid=\"0000:14:00.0\">",
                                        "</pci>",
                                        "<cpu numaid=\"1\">",
                                        "\"",
                                        ">",
                                        "<",
                                        "&#0;",
                                        "\t",
                                        "GPU1",
                                        "PIX",
                                        "SYS",
                                        "NV9",
                                        "-1",
                                        "0xffffffff",
                                        "99999999999999999999",
                                        "\n",
                                        "",
                                        "cpuset=\"0xffffffff\"",
                                        "<object type=\"PCIDev\">",
                                        "00: ff ff",
                                        "0000:01:00.0 x\n"};

    for (uint32_t times = 1 + draw(4); times > 0 && n > 0; times--) {
        size_t at = draw((uint32_t)n), len = 1 + draw(40);
        const char *word = words[draw(COUNT(words))];
        len = at + len > n ? n - at : len;
        switch (draw(5)) {
        case 0: /* another byte */
            t[at] = (char)draw(256);
            break;
        case 1: /* a piece missing */
            memmove(t + at, t + at + len, n - at - len);
            n -= len;
            break;
        case 2: /* cut off */
            n = draw(8) ? n : at;
            break;
        case 3: /* a word too many */
            len = strlen(word);
            if (n + len > cap)
                break;
            memmove(t + at + len, t + at, n - at);
            memcpy(t + at, word, len);
            n += len;
            break;
        default: /* a piece twice */
            if (n + len > cap)
                break;
            memmove(t + at + len, t + at, n - at);
            n += len;
            break;
        }
    }
    return n;
}

/* What is read, or refused, is one or the other: a tree that holds together, or an error. */
void read_damaged(pipc__source_kind_t kind, const char *input, int rounds)
{
    const pipc__source_t source = {kind, topo_file};
    size_t n = strlen(input), cap = n + 512;
    char *t = malloc(cap);
    int right = 0;

    assert_non_null(t);
    seed = 1;
    for (int i = 0; i < rounds; i++) {
        pipc__error_t err = {PIPC_OK, ""};
        pipc__topo_t *topo;
        memcpy(t, input, n);
        put_topo_file(t, damage(t, n, cap));
        pipc_status_t st = pipc__topo_load(&topo, &source, &err);
        if (st) {
            assert_null(topo);
            assert_true(err.text[0] != '\0');
            continue;
        }
        right++;
        assert_consistent(topo);
        pipc__topo_free(topo);
    }
    assert_true(rounds == 0 || (right > 0 && right < rounds)); /* both ends were reached */
    free(t);
}
