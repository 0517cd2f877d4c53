/* prolog/facts_log.c - facts from the kernel's log of a machine, as far as its ring still has it
 *
 *     6,1234,12345678,-;pcieport 0000:40:01.1: AER: ...\x0aa second line
 *      SUBSYSTEM=pci
 *
 * is a record of /dev/kmsg: facility and level, sequence, microseconds since boot, flags; text.
 * Only the kernel's own records count: others are what programs have written to it. Of these, only
 * such as begin as they should: see kernel_origin.c. A captured
 * machine has a plain file dev/kmsg, or kmsg, of such records or of lines as dmesg prints them.
 */
#include "prolog/facts_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "prolog/kernel_log.h"
#include "runtime/base/file.h"
#include "runtime/topo/text.h"

#define RECORD_MAX 8192 /* the kernel's own limit */
#define BYTES_MAX (16 << 20)
#define SECONDS_MAX 1

static bool is_over(const struct timespec *start)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec - start->tv_sec > SECONDS_MAX;
}

/* A text of several lines is one record, its ends of lines escaped. Only one driver's counts whole:
 * elsewhere a name may have the others in it. */
static pipc_status_t take_text(pipc__kernel_log_t *log, double seconds, char *text,
                               pipc__error_t *err)
{
    char line[RECORD_MAX + 32];
    pipc_status_t st = PIPC_OK;
    bool taken;

    if (!pipc__kernel_is_own(text))
        return PIPC_OK;
    bool whole = strncmp(text, PIPC__KERNEL_NVIDIA, strlen(PIPC__KERNEL_NVIDIA)) == 0;
    for (char *next; !st && text; text = whole ? next : NULL) {
        next = strstr(text, "\\x0a");
        if (next) {
            *next = '\0';
            next += 4;
        }
        snprintf(line, sizeof(line), "[%.6f] %s", seconds, text);
        st = pipc__kernel_log_line(log, line, &taken, err);
    }
    return st;
}

/* A record, or a line as dmesg prints it; changed by this. */
static pipc_status_t take_line(pipc__kernel_log_t *log, char *line, pipc__error_t *err)
{
    unsigned long long sequence, usec;
    unsigned int level;
    int end = 0;
    bool taken;

    if (sscanf(line, "%u,%llu,%llu,%n", &level, &sequence, &usec, &end) != 3 || end == 0)
        return pipc__kernel_log_line(log, line, &taken, err);
    char *text = strchr(line + end, ';');
    if (level >> 3 || !text)
        return PIPC_OK;
    return take_text(log, (double)usec / 1e6, text + 1, err);
}

static pipc_status_t take_ring(pipc__kernel_log_t *log, int fd, pipc__error_t *err)
{
    char record[RECORD_MAX + 1];
    struct timespec start;
    pipc_status_t st = PIPC_OK;
    size_t bytes = 0;

    clock_gettime(CLOCK_MONOTONIC, &start);
    for (unsigned int n = 0; !st && bytes < BYTES_MAX; n++) {
        ssize_t got = read(fd, record, RECORD_MAX);
        if (got < 0 && (errno == EPIPE || errno == EINTR)) /* overwritten: on with the next one */
            got = 0;
        else if (got <= 0 || is_over(&start))
            break;
        record[got] = '\0';
        record[strcspn(record, "\n")] = '\0'; /* what follows are the device's properties */
        bytes += (size_t)got + 1;
        st = got > 0 ? take_line(log, record, err) : PIPC_OK;
    }
    return st;
}

/* The end of a file, from where a line begins: what is said last is so now. NULL, with errno, when
 * it cannot be read. */
static char *read_end(int fd, off_t size, size_t *len)
{
    off_t from = size > BYTES_MAX ? size - BYTES_MAX : 0;
    char *text = malloc((size_t)(size - from) + 1);
    ssize_t n = 1;

    *len = 0;
    while (text && n > 0 && *len < (size_t)(size - from)) {
        n = pread(fd, text + *len, (size_t)(size - from) - *len, from + (off_t)*len);
        *len += n > 0 ? (size_t)n : 0;
    }
    if (text && n < 0) {
        free(text);
        return NULL;
    }
    const char *line = text && from > 0 ? memchr(text, '\n', *len) : NULL;
    if (line) {
        *len -= (size_t)(line + 1 - text);
        memmove(text, line + 1, *len);
    }
    return text;
}

static pipc_status_t take_file(pipc__kernel_log_t *log, int fd, off_t size, pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;
    size_t len;

    errno = 0;
    char *text = read_end(fd, size, &len);
    if (!text && errno == ENOMEM)
        return pipc__fail(err, PIPC_ERR_NOMEM, "a kernel's log: out of memory");
    if (!text) {
        log->facts->log_unread = true;
        return PIPC_OK;
    }
    log->facts->log = true;
    pipc__text_clean(text, len);
    for (char *line = text, *next; !st && line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (strlen(line) < RECORD_MAX)
            st = take_line(log, line, err);
    }
    free(text);
    return st;
}

pipc_status_t pipc__facts_log(pipc__facts_t *facts, const char *root, pipc__error_t *err)
{
    static const char *const names[] = {"dev/kmsg", "kmsg"};
    pipc__kernel_log_t log = {.facts = facts};
    pipc_status_t st = PIPC_OK;
    char path[PATH_MAX];
    struct stat s;

    if (!pipc__file_line(root, facts->boot, sizeof(facts->boot), "proc/sys/kernel/random/boot_id"))
        facts->boot[0] = '\0';
    for (size_t i = 0; i < 2 && !st && !facts->log; i++) {
        if (snprintf(path, sizeof(path), "%s/%s", root, names[i]) >= (int)sizeof(path))
            return PIPC_OK;
        int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        if (fd < 0)
            continue;
        bool is = fstat(fd, &s) == 0, ring = is && S_ISCHR(s.st_mode);
        if (ring && s.st_rdev == makedev(1, 11)) { /* a container's may be anything */
            facts->log = true;
            st = take_ring(&log, fd, err);
        } else if (is && S_ISREG(s.st_mode)) {
            st = take_file(&log, fd, s.st_size, err);
        }
        close(fd);
    }
    pipc__kernel_log_end(&log);
    return st;
}
