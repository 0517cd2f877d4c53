/* comm/report_exit.c - see report.h: the report of this process, and its end
 *
 * The one place of the library, beside library.c, that writes to where the user looks: he asked
 * srun for it. Nothing of CUDA is called any more then, and what a forked child inherited is not
 * its own.
 */
#include <fcntl.h>
#include <pthread.h>
#include <pcie-ipc/comm.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Whole lines, in one write: other ranks' and other jobs' lines may go to the same file. */
static void append(const char *text, size_t len)
{
    int fd = open(here.wish.file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);

    if (fd < 0 || write(fd, text, len) != (ssize_t)len)
        fprintf(stderr, "pcie-ipc: report: %s: %m; name another file by report:json:FILE\n",
                here.wish.file);
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
