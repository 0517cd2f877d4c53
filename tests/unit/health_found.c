/* tests/unit/health_found.c - see health_found.h */
#include "tests/unit/health_found.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/health_tree.h"

const char *judged(pipc__machine_t source, char *out, size_t cap)
{
    pipc__findings_t f;
    size_t used;

    assert_int_equal(pipc__check(&source, &f, NULL), PIPC_OK);
    used = (size_t)snprintf(out, cap, "%s", pipc__severity_name(f.verdict));
    for (int i = 0; i < f.n && used < cap; i++)
        used += (size_t)snprintf(out + used, cap - used, " %s:%s", f.list[i].object,
                                 pipc__codes[f.list[i].code].name);
    pipc__findings_free(&f);
    return out;
}

const char *found(const char *dump, char *out, size_t cap)
{
    return judged((pipc__machine_t){.sysroot = tree, .dump = dump}, out, cap);
}
