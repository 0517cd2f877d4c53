/* prolog/conditions.c - see conditions.h */
#include "prolog/conditions.h"

#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/hash.h"

#define DIGEST_MAX 17
#define FILE_MAX (4 << 20) /* bytes that are digested: more is no file of rules */

/* The bytes as they are: a comment that changes makes a first look of the next, no more. Whose file
 * it is does not matter: what the check does not believe is digested all the same. */
static void digest(const char *path, char out[DIGEST_MAX])
{
    char buf[4096];
    uint64_t hash = PIPC__HASH_INIT;
    size_t have = 0;
    ssize_t n;
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;

    strcpy(out, "none");
    if (fd < 0)
        return;
    while (have < FILE_MAX && (n = read(fd, buf, sizeof(buf))) > 0) {
        hash = pipc__hash(hash, buf, (size_t)n);
        have += (size_t)n;
    }
    close(fd);
    snprintf(out, DIGEST_MAX, "%016" PRIx64, hash);
}

static void version(const char *sysroot, const char *path, char out[64])
{
    if (!pipc__file_line(sysroot, out, 64, "%s", path) || !out[0])
        strcpy(out, "unknown");
}

void pipc__conditions(const char *sysroot, const char *limits, const char *baseline,
                      char out[PIPC__CONDITIONS_MAX])
{
    char kernel[64], driver[64], of_limits[DIGEST_MAX], of_baseline[DIGEST_MAX];

    version(sysroot, "proc/sys/kernel/osrelease", kernel);
    version(sysroot, "sys/module/nvidia/version", driver);
    if (strcmp(driver, "unknown") == 0)
        version(sysroot, "sys/module/amdgpu/version", driver);
    digest(limits, of_limits);
    digest(baseline, of_baseline);
    snprintf(out, PIPC__CONDITIONS_MAX,
             "kernel %s, driver %s, package " PACKAGE_VERSION ", limits %s, baseline %s", kernel,
             driver, of_limits, of_baseline);
}
