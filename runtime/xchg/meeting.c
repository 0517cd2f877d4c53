/* xchg/meeting.c - see meeting.h */
#include "runtime/xchg/meeting.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/xchg/notice.h"

#define WAIT_MIN_USEC 500
#define WAIT_MAX_USEC 20000
#define CLOCK_GRAIN_NSEC 20000000 /* processes begin in ticks of 10 ms, files get the last tick's time */

/* --- the directory --------------------------------------------------------------------------- */

static pipc_status_t judge_directory(const struct stat *st, const char *path, pipc__error_t *err)
{
    if (!S_ISDIR(st->st_mode))
        return pipc__fail(err, PIPC_ERR_EXCHANGE, "PCIE_IPC_DIR=%s is no directory (links are not "
                          "followed)", path);
    if (st->st_uid != geteuid())
        return pipc__fail(err, PIPC_ERR_EXCHANGE, "PCIE_IPC_DIR=%s belongs to user %u, not to user %u "
                          "who runs this; only a directory of one's own is safe to meet in", path,
                          (unsigned int)st->st_uid, (unsigned int)geteuid());
    if ((st->st_mode & 0777) != 0700)
        return pipc__fail(err, PIPC_ERR_EXCHANGE, "PCIE_IPC_DIR=%s has mode %04o; others must not "
                          "enter it: chmod 0700 it", path, (unsigned int)st->st_mode & 07777);
    return PIPC_OK;
}

/* A slash at the end would make the kernel follow a link. */
static bool without_slashes(char *to, size_t cap, const char *path)
{
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    if (n >= cap)
        return false;
    memcpy(to, path, n);
    to[n] = '\0';
    return true;
}

static void set_name(pipc__meeting_t *m, const char *node, unsigned int tag, unsigned int number)
{
    snprintf(m->name, sizeof(m->name), "meet.%.40s.%u.%u", node, tag, number);
    for (char *p = m->name; *p; p++)
        if (*p == '/')
            *p = '_';
}

pipc_status_t pipc__meeting_open(pipc__meeting_t *m, const char *path, const char *node,
                                 unsigned int tag, unsigned int number, pipc__error_t *err)
{
    char plain[4096];
    struct stat st;

    *m = (pipc__meeting_t){.dir = -1, .path = path};
    set_name(m, node, tag, number);
    if (*path != '/' || !without_slashes(plain, sizeof(plain), path))
        return pipc__fail(err, PIPC_ERR_EXCHANGE, "PCIE_IPC_DIR=%.200s is no absolute path", path);
    m->dir = open(plain, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (m->dir < 0 || fstat(m->dir, &st)) {
        pipc_status_t rc = pipc__fail(err, PIPC_ERR_EXCHANGE, "PCIE_IPC_DIR=%.200s: %s; the plugin of "
                                      "srun --pcie-ipc makes it on each node of the step, and a "
                                      "container must be given it", path, strerror(errno));
        pipc__meeting_close(m);
        return rc;
    }
    pipc_status_t rc = judge_directory(&st, path, err);
    if (rc)
        pipc__meeting_close(m);
    return rc;
}

void pipc__meeting_close(pipc__meeting_t *m)
{
    if (m->dir >= 0)
        close(m->dir);
    m->dir = -1;
}

void pipc__meeting_over(pipc__meeting_t *m)
{
    if (m->made)
        unlinkat(m->dir, m->name, 0);
    m->made = false;
}

/* --- sockets --------------------------------------------------------------------------------- */

static struct sockaddr_un address(const pipc__meeting_t *m, const char *name)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};

    snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/%s", m->dir, name);
    return a;
}

/* A socket connected to @m's name; -1 with errno. */
static int connect_to(const pipc__meeting_t *m)
{
    struct sockaddr_un a = address(m, m->name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, (const struct sockaddr *)&a, sizeof(a))) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

bool pipc__meeting_same_user(int fd, int *pid)
{
    struct ucred who;
    socklen_t len = sizeof(who);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len))
        return false;
    if (pid)
        *pid = who.pid;
    errno = EPERM;
    return who.uid == geteuid();
}

static pipc_status_t fail_foreign(const pipc__meeting_t *m, pipc__error_t *err)
{
    return pipc__fail(err, PIPC_ERR_EXCHANGE, "%s/%s was not made by pcie-ipc and is in the way; "
                      "remove it", m->path, m->name);
}

/* --- local rank 0 ---------------------------------------------------------------------------- */

/* Remove what an earlier process of this step left under the name: a socket nobody listens on, or word
 * of a failure. Anything else stays, and is the error. */
static pipc_status_t clear_leftover(const pipc__meeting_t *m, pipc__error_t *err)
{
    struct stat st;
    pipc__notice_t notice;

    if (fstatat(m->dir, m->name, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? PIPC_OK : pipc__fail_errno(err, "%s/%s", m->path, m->name);
    if (!S_ISSOCK(st.st_mode) &&
        !(S_ISREG(st.st_mode) && pipc__notice_read(m->dir, m->name, &notice)))
        return fail_foreign(m, err);
    int pid = 0, fd = S_ISSOCK(st.st_mode) ? connect_to(m) : -1;
    bool silent = !S_ISSOCK(st.st_mode) || (fd < 0 && errno == ECONNREFUSED);
    if (fd < 0 && (!silent || unlinkat(m->dir, m->name, 0)) && errno != ENOENT)
        return pipc__fail_errno(err, "%s/%s", m->path, m->name);
    if (fd < 0)
        return PIPC_OK;
    pipc__meeting_same_user(fd, &pid);
    close(fd);
    return pipc__fail(err, PIPC_ERR_EXCHANGE, "process %d listens at %s/%s already: two processes say "
                      "that they are local rank 0; start the ranks with srun itself", pid, m->path,
                      m->name);
}

/* Temporary names are random: two processes may have one PID in two PID namespaces. */
static bool random_name(char *name, size_t cap)
{
    uint64_t r;

    if (getrandom(&r, sizeof(r), 0) != sizeof(r))
        return false;
    snprintf(name, cap, ".%016llx", (unsigned long long)r);
    return true;
}

/* Listen under a name of its own first: who finds the right name must find somebody listening. */
static bool listen_at(const pipc__meeting_t *m, int fd, const char *temporary)
{
    struct sockaddr_un a = address(m, temporary);

    return !bind(fd, (const struct sockaddr *)&a, sizeof(a)) && !listen(fd, PIPC__GROUP_MAX);
}

/* Never over another process's: a plain rename would take the name from a second local rank 0, whose
 * peers would then wait for ever. */
static bool publish(pipc__meeting_t *m, const char *temporary)
{
    m->made = !renameat2(m->dir, temporary, m->dir, m->name, RENAME_NOREPLACE);
    if (!m->made && (errno == EINVAL || errno == ENOSYS)) /* a file system without it */
        m->made = !renameat(m->dir, temporary, m->dir, m->name);
    return m->made;
}

static pipc_status_t listen_and_publish(pipc__meeting_t *m, int fd, const char *temporary,
                                        pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;

    if (fd < 0 || !listen_at(m, fd, temporary))
        return pipc__fail_errno(err, "a socket %s/%s", m->path, m->name);
    while (!(st = clear_leftover(m, err)) && !publish(m, temporary))
        if (errno != EEXIST)
            return pipc__fail_errno(err, "%s/%s", m->path, m->name);
    return st;
}

pipc_status_t pipc__meeting_listen(pipc__meeting_t *m, int *fd, pipc__error_t *err)
{
    char temporary[32];

    *fd = -1;
    if (!random_name(temporary, sizeof(temporary)))
        return pipc__fail_errno(err, "getrandom");
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    pipc_status_t st = listen_and_publish(m, *fd, temporary, err);
    if (!st)
        return PIPC_OK;
    unlinkat(m->dir, temporary, 0);
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    return st;
}

void pipc__meeting_failed(pipc__meeting_t *m, const bool *came, int size, const pipc__error_t *why)
{
    char temporary[32];
    pipc__notice_t notice;

    if (!m->made)
        return;
    if (!pipc__notice_fill(&notice, came, size, why)) {
        pipc__meeting_over(m); /* all had come and were told */
        return;
    }
    if (!random_name(temporary, sizeof(temporary)) ||
        !pipc__notice_write(m->dir, temporary, &notice) ||
        renameat(m->dir, temporary, m->dir, m->name))
        unlinkat(m->dir, temporary, 0);
    m->made = false;
}

/* --- the other ranks ------------------------------------------------------------------------- */

/* When this process began, as time of day in nanoseconds; 0 when /proc does not say. */
static int64_t begun_nsec(void)
{
    char line[1024];
    struct timespec now, up;
    long long ticks;

    if (!pipc__file_line(NULL, line, sizeof(line), "proc/self/stat"))
        return 0;
    const char *p = strrchr(line, ')'); /* the program's name may hold anything */
    if (!p || sscanf(p, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
                        "%*d %lld", &ticks) != 1)
        return 0;
    clock_gettime(CLOCK_REALTIME, &now);
    clock_gettime(CLOCK_BOOTTIME, &up);
    return (now.tv_sec - up.tv_sec) * INT64_C(1000000000) + (now.tv_nsec - up.tv_nsec) +
           ticks * (INT64_C(1000000000) / sysconf(_SC_CLK_TCK));
}

/* A socket that nobody listens on: made after this process began, it was its own local rank 0's, who
 * has died; made before, it is an earlier program's, and local rank 0 has yet to come. */
static pipc_status_t judge_silence(const pipc__meeting_t *m, const struct stat *st,
                                   pipc__error_t *err)
{
    int64_t made = st->st_mtim.tv_sec * INT64_C(1000000000) + st->st_mtim.tv_nsec;
    int64_t begun = begun_nsec();

    if (!begun || made + CLOCK_GRAIN_NSEC < begun)
        return PIPC_OK;
    return pipc__fail(err, PIPC_ERR_PEER_LOST, "local rank 0 ended while the ranks were meeting (it "
                      "left %s/%s)", m->path, m->name);
}

/* One look: *fd >= 0 when connected; PIPC_OK with *fd < 0: not yet. */
static pipc_status_t look(const pipc__meeting_t *m, int local_rank, int *fd, pipc__error_t *err)
{
    pipc__notice_t notice;
    struct stat st;

    *fd = -1;
    if (fstatat(m->dir, m->name, &st, AT_SYMLINK_NOFOLLOW)) {
        if (errno == ENOENT)
            return PIPC_OK;
        return pipc__fail(err, PIPC_ERR_EXCHANGE, "%s/%s: %s", m->path, m->name, strerror(errno));
    }
    if (S_ISREG(st.st_mode)) {
        if (pipc__notice_read(m->dir, m->name, &notice))
            return pipc__notice_take(m->dir, m->name, &notice, local_rank, err);
        if (errno == ENOENT || errno == ENXIO) /* gone, or a socket by now: look again */
            return PIPC_OK;
    }
    if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
        return fail_foreign(m, err);
    *fd = connect_to(m);
    if (*fd >= 0 || errno == ENOENT || errno == EAGAIN || errno == EINTR)
        return PIPC_OK;
    if (errno == ECONNREFUSED)
        return judge_silence(m, &st, err);
    return pipc__fail_errno(err, "%s/%s", m->path, m->name);
}

pipc_status_t pipc__meeting_join(pipc__meeting_t *m, int local_rank, int *fd, int *pid,
                                 pipc__error_t *err)
{
    useconds_t wait = WAIT_MIN_USEC;
    pipc_status_t st;

    while (!(st = look(m, local_rank, fd, err)) && *fd < 0) {
        usleep(wait);
        wait = wait * 2 < WAIT_MAX_USEC ? wait * 2 : WAIT_MAX_USEC;
    }
    if (st || pipc__meeting_same_user(*fd, pid))
        return st;
    st = pipc__fail(err, PIPC_ERR_EXCHANGE, "who listens at %s/%s is another user; remove it", m->path,
                    m->name);
    close(*fd);
    *fd = -1;
    return st;
}
