/* tests/fuzz/health_log.c - a kernel's log of a captured machine: records of /dev/kmsg, or lines as
 * dmesg prints them; read and judged
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "prolog/facts_parts.h"
#include "prolog/judge.h"

/* A machine whose log is memory: nothing is made or removed from input to input. */
static int make_root(char root[64])
{
    char path[96], target[64];
    int fd = memfd_create("kmsg", MFD_CLOEXEC);
    const char *tmp = getenv("TMPDIR");

    snprintf(root, 64, "%.40s/fuzz-log.XXXXXX", tmp ? tmp : "/tmp");
    if (fd < 0 || !mkdtemp(root))
        abort();
    snprintf(path, sizeof(path), "%s/kmsg", root);
    snprintf(target, sizeof(target), "/proc/self/fd/%d", fd);
    if (symlink(target, path))
        abort();
    return fd;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static char root[64];
    static int fd = -1;
    pipc__limits_t limits = pipc__limits_default();
    pipc__findings_t findings = {.n = 0};
    pipc__facts_t facts = {.excerpt = size % 2};

    if (fd < 0)
        fd = make_root(root);
    if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    if (!pipc__facts_log(&facts, root, NULL))
        pipc__judge(&facts, &limits, &findings, NULL);
    pipc__findings_free(&findings);
    pipc__facts_free(&facts);
    return 0;
}
