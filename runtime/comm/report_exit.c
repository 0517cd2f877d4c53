/* comm/report_exit.c - see report.h: the report of this process, and its end
 *
 * The one place of the library, beside library.c, that writes to where the user looks: he asked
 * srun for it. Nothing of CUDA is called any more then, and what a forked child inherited is not
 * its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <pcie-ipc/comm.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/log.h"
#include "runtime/comm/report.h"
#include "runtime/comm/tables.h"

static struct {
    pthread_mutex_t lock; /* of table and several */
    pipc__report_wish_t wish;
    pid_t pid;
    char table[PIPC__TABLE_PATH];
    bool several;
    pipc__report_t report;
} here = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Whole lines, in one write: other ranks' and other jobs' lines may go to the same file. NULL, or
 * what is in the way. A process that ends must not wait for who reads a pipe, if anybody does; and
 * disks and the like are no place for a line. */
static const char *write_whole(int fd, const char *text, size_t len)
{
    struct stat st;

    if (fd < 0 || fstat(fd, &st))
        return strerror(errno);
    if (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode) && !S_ISFIFO(st.st_mode))
        return "neither a file nor a pipe";
    ssize_t n = write(fd, text, len);
    return n == (ssize_t)len ? NULL : n < 0 ? strerror(errno) : "there was room for a part only";
}

static void append(const char *text, size_t len)
{
    int fd = open(here.wish.file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                  0666);
    const char *why = write_whole(fd, text, len);

    if (why)
        fprintf(stderr, "pcie-ipc: report: %s: %s; name another file by report:json:FILE\n",
                here.wish.file, why);
    if (fd >= 0)
        close(fd);
}

static void write_report(void)
{
    pipc__table_file_t file = {.ntimes = 0};
    const char *table = *here.table && !here.several ? here.table : NULL;
    char host[64] = "?", *text = NULL;
    pipc__error_t err;
    size_t len = 0;

    if (getpid() != here.pid)
        return;
    if (table && pipc__tables_read(&file, table, true, &err))
        table = NULL;
    gethostname(host, sizeof(host) - 1);
    FILE *out = open_memstream(&text, &len);
    if (out) {
        bool some = pipc__report_write(&here.report, here.wish.how == PIPC__REPORT_JSON, host,
                                       table, file.times, file.ntimes, out);
        bool good = !fclose(out);
        if (some && good && here.wish.how == PIPC__REPORT_JSON)
            append(text, len);
        else if (some && good)
            fwrite(text, 1, len, stderr);
    }
    free(text);
    if (table)
        pipc__table_file_free(&file);
}

static const char *environment(const char *name)
{
    return secure_getenv(name);
}

static void begin(void)
{
    pipc__report_parse(&here.wish, environment);
    if (*here.wish.unknown)
        pipc__log(PIPC__LOG_WARN,
                  "PCIE_IPC_REPORT=%s: no such report; use none, summary, json or "
                  "json:FILE",
                  here.wish.unknown);
    here.pid = getpid();
    if (here.wish.how != PIPC__REPORT_NONE && atexit(write_report))
        here.wish.how = PIPC__REPORT_NONE;
}

bool pipc__report_begin(void)
{
    pthread_once(&once, begin);
    return here.wish.how != PIPC__REPORT_NONE;
}

void pipc__report_table(const char *from)
{
    pthread_mutex_lock(&here.lock);
    if (*here.table && strcmp(here.table, from))
        here.several = true;
    else
        snprintf(here.table, sizeof(here.table), "%s", from);
    pthread_mutex_unlock(&here.lock);
}

pipc__report_t *pipc__report_here(void)
{
    return &here.report;
}

void pipc_report_nccl(const char *why, size_t bytes)
{
    if (why && pipc__report_begin())
        pipc__report_nccl(&here.report, why, bytes);
}
