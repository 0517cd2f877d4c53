/* tools/topo/cpu.c - see cpu.h */
#include "runtime/tools/topo/cpu.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "runtime/base/file.h"

/* "key<blanks>: value", the first one; NULL when it is not there. */
static const char *value_of(const char *text, const char *key)
{
    const char *p = strstr(text, key), *colon = p ? strchr(p, ':') : NULL;

    return colon && !memchr(p, '\n', (size_t)(colon - p)) ? colon + 1 + strspn(colon + 1, " \t")
                                                          : NULL;
}

static int number(const char *text, const char *key)
{
    const char *value = value_of(text, key);

    return value ? (int)strtol(value, NULL, 10) : PIPC__UNKNOWN;
}

void topo_cpu_read(const char *root, pipc__xml_cpu_t *cpu)
{
    static const struct {
        const char *machine, *name; /* as uname() and as NCCL calls it */
    } archs[] = {{"x86_64", "x86_64"}, {"aarch64", "arm64"}, {"ppc64le", "ppc64"}};
    static char vendor[32];
    char text[4096] = "";
    struct utsname u;

    *cpu = (pipc__xml_cpu_t){NULL, NULL, PIPC__UNKNOWN, PIPC__UNKNOWN};
    for (size_t i = 0; i < sizeof(archs) / sizeof(archs[0]) && uname(&u) == 0; i++)
        if (!strcmp(u.machine, archs[i].machine))
            cpu->arch = archs[i].name;
    pipc__file_read(root, text, sizeof(text), NULL, "proc/cpuinfo"); /* the first CPU is enough */
    const char *v = value_of(text, "vendor_id");
    size_t n = v ? strcspn(v, "\n") : 0;
    if (n > 0 && n < sizeof(vendor) && strcspn(v, "<>&\"") > n) {
        memcpy(vendor, v, n);
        vendor[n] = '\0';
        cpu->vendor = vendor;
        cpu->family = number(text, "cpu family");
        cpu->model = number(text, "model\t");
    }
}
