/* tests/fuzz/health_dump.c - the text of lspci -xxxx, unpacked, read as a machine and judged: the
 * dump's reader and that of captured sysfs
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "prolog/judge.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    pipc__limits_t limits = pipc__limits_default();
    pipc__findings_t findings = {.n = 0};
    pipc__facts_t facts = {.n = 0};
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        return 0;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (!pipc__facts_dump(&facts, path, NULL))
        pipc__judge(&facts, &limits, &findings, NULL);
    pipc__findings_free(&findings);
    pipc__facts_free(&facts);
    close(fd);
    return 0;
}
