/* comm/probe_cache.c - see probe_cache.h */
#include "runtime/comm/probe_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "runtime/base/file.h"

#define FILE_NAME "pcie-ipc-paths"
#define FIRST_LINE FILE_NAME " 1"

/* --- text ------------------------------------------------------------------------------------- */

/* A name in the file: what addresses and UUIDs are made of, and no more. */
static bool is_name(const char *s)
{
    static const char allowed[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "._:/+-";
    size_t len = strlen(s);

    return len > 0 && strspn(s, allowed) == len;
}

static bool is_kept(pipc__path_state_t s)
{
    return s == PIPC__PATH_GOOD || s == PIPC__PATH_WRONG || s == PIPC__PATH_TIMED_OUT;
}

/* Cut the next line off *at; its words, at most three, end up in word[]. Their number, -1 for a
 * line that is none: no newline, too many words, a blank too many. */
static int cut_line(char **at, char *word[3])
{
    char *end = strchr(*at, '\n'), *p = *at;
    int n = 0;

    if (!end)
        return -1;
    *end = '\0';
    *at = end + 1;
    for (;;) {
        size_t len = strcspn(p, " ");
        if (n == 3 || len == 0)
            return -1;
        word[n++] = p;
        if (!p[len])
            return n;
        p[len] = '\0';
        p += len + 1;
    }
}

static bool take_value(char **at, const char *key, char *out, size_t cap)
{
    char *word[3];

    if (cut_line(at, word) != 2 || strcmp(word[0], key) != 0 || !is_name(word[1]) ||
        strlen(word[1]) >= cap)
        return false;
    snprintf(out, cap, "%s", word[1]);
    return true;
}

static bool take_pair(pipc__cache_t *c, char **at)
{
    pipc__cache_pair_t *p = &c->pair[c->n];
    char *word[3];

    if (c->n == PIPC__CACHE_PAIRS || cut_line(at, word) != 3)
        return false;
    p->state = pipc__path_from_word(word[2]);
    if (!is_kept(p->state) || !is_name(word[0]) || !is_name(word[1]) ||
        strlen(word[0]) >= sizeof(p->from) || strlen(word[1]) >= sizeof(p->to))
        return false;
    snprintf(p->from, sizeof(p->from), "%s", word[0]);
    snprintf(p->to, sizeof(p->to), "%s", word[1]);
    c->n++;
    return true;
}

static bool take_all(pipc__cache_t *c, char *text)
{
    char *at = text, *word[3], uid[12];

    if (cut_line(&at, word) != 2 || strcmp(word[0], FILE_NAME) != 0 || strcmp(word[1], "1") != 0)
        return false;
    if (!take_value(&at, "boot", c->boot, sizeof(c->boot)) ||
        !take_value(&at, "driver", c->driver, sizeof(c->driver)) ||
        !take_value(&at, "package", c->package, sizeof(c->package)) ||
        !take_value(&at, "uid", uid, sizeof(uid)) || strspn(uid, "0123456789") != strlen(uid))
        return false;
    c->uid = (unsigned int)strtoul(uid, NULL, 10);
    while (*at)
        if (!take_pair(c, &at))
            return false;
    return true;
}

bool pipc__cache_parse(pipc__cache_t *c, const char *text, size_t bytes)
{
    char *copy = bytes && bytes <= PIPC__CACHE_BYTES && !memchr(text, '\0', bytes)
                     ? malloc(bytes + 1)
                     : NULL;
    bool good = false;

    memset(c, 0, sizeof(*c));
    if (!copy)
        return false;
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    good = take_all(c, copy);
    if (!good)
        memset(c, 0, sizeof(*c));
    free(copy);
    return good;
}

size_t pipc__cache_format(const pipc__cache_t *c, char *buf, size_t cap)
{
    int n = snprintf(buf, cap, FIRST_LINE "\nboot %s\ndriver %s\npackage %s\nuid %u\n", c->boot,
                     c->driver, c->package, c->uid);
    size_t used = n < 0 ? cap : (size_t)n;

    for (int i = 0; used < cap && i < c->n; i++) {
        n = snprintf(buf + used, cap - used, "%s %s %s\n", c->pair[i].from, c->pair[i].to,
                     pipc__path_word(c->pair[i].state));
        used = n < 0 ? cap : used + (size_t)n;
    }
    return used < cap ? used : 0;
}

static int find(const pipc__cache_t *c, const char *from, const char *to)
{
    int i = 0;

    while (i < c->n && (strcmp(c->pair[i].from, from) != 0 || strcmp(c->pair[i].to, to) != 0))
        i++;
    return i;
}

void pipc__cache_set(pipc__cache_t *c, const char *from, const char *to, pipc__path_state_t state)
{
    int i = find(c, from, to);

    if (!is_kept(state) || !is_name(from) || !is_name(to) || strlen(from) >= PIPC__CACHE_NAME ||
        strlen(to) >= PIPC__CACHE_NAME)
        return;
    if (i == PIPC__CACHE_PAIRS)
        i = c->n = 0;
    if (i == c->n)
        c->n++;
    snprintf(c->pair[i].from, sizeof(c->pair[i].from), "%s", from);
    snprintf(c->pair[i].to, sizeof(c->pair[i].to), "%s", to);
    c->pair[i].state = state;
}

pipc__path_state_t pipc__cache_get(const pipc__cache_t *c, const char *from, const char *to)
{
    int i = find(c, from, to);

    return i < c->n ? c->pair[i].state : PIPC__PATH_UNTESTED;
}

/* --- here and now ----------------------------------------------------------------------------- */

bool pipc__cache_begin(pipc__cache_t *c, const char *root)
{
    memset(c, 0, sizeof(*c));
    snprintf(c->package, sizeof(c->package), "%s", PACKAGE_VERSION);
    c->uid = (unsigned int)geteuid();
    return pipc__file_line(root, c->boot, sizeof(c->boot), "proc/sys/kernel/random/boot_id") &&
           pipc__file_line(root, c->driver, sizeof(c->driver), "sys/module/nvidia/version") &&
           is_name(c->boot) && is_name(c->driver);
}

/* Owner and mode are looked at through the open folder: a name can be changed in between. Whoever
 * else can write to it could put a file there, and could read what we write. */
static int open_own(const char *path)
{
    struct stat st;
    int fd = *path == '/' ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;

    if (fd >= 0 && (fstat(fd, &st) || st.st_uid != geteuid() || st.st_mode & 077)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

int pipc__cache_folder(pipc__getenv_t lookup, const char *root)
{
    const char *xdg = lookup("XDG_RUNTIME_DIR"), *step = lookup("PCIE_IPC_DIR");
    char user[512];
    int fd = xdg ? open_own(xdg) : -1;

    snprintf(user, sizeof(user), "%s/run/user/%u", root ? root : "", (unsigned int)geteuid());
    if (fd < 0)
        fd = open_own(user);
    if (fd < 0 && step)
        fd = open_own(step);
    return fd;
}

/* --- the file --------------------------------------------------------------------------------- */

/* All of a file that only its user can have written; NULL else. The caller frees. */
static char *read_own(int folder, size_t *bytes)
{
    struct stat st;
    char *text = NULL;
    ssize_t n = -1;
    /* Never wait for a pipe that somebody put there. */
    int fd = openat(folder, FILE_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return NULL;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022) &&
        st.st_size <= PIPC__CACHE_BYTES)
        text = malloc(PIPC__CACHE_BYTES + 1);
    if (text)
        n = read(fd, text, PIPC__CACHE_BYTES + 1);
    close(fd);
    if (n < 0) {
        free(text);
        return NULL;
    }
    *bytes = (size_t)n;
    return text;
}

void pipc__cache_load(pipc__cache_t *c, int folder)
{
    pipc__cache_t *found = malloc(sizeof(*found));
    size_t bytes = 0;
    char *text = found ? read_own(folder, &bytes) : NULL;

    if (text && pipc__cache_parse(found, text, bytes) && !strcmp(found->boot, c->boot) &&
        !strcmp(found->driver, c->driver) && !strcmp(found->package, c->package) &&
        found->uid == c->uid)
        *c = *found;
    free(text);
    free(found);
}

static bool write_all(int fd, const char *text, size_t bytes)
{
    while (bytes) {
        ssize_t n = write(fd, text, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text += n;
        bytes -= (size_t)n;
    }
    return true;
}

bool pipc__cache_save(const pipc__cache_t *c, int folder)
{
    char part[64], *text = malloc(PIPC__CACHE_BYTES);
    size_t bytes = text ? pipc__cache_format(c, text, PIPC__CACHE_BYTES) : 0;
    bool good = false;

    snprintf(part, sizeof(part), "." FILE_NAME ".%d", (int)getpid());
    unlinkat(folder, part, 0); /* of a process of this number that was killed here */
    int fd = bytes
                 ? openat(folder, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
                 : -1;
    if (fd >= 0) {
        good = write_all(fd, text, bytes);
        good = !close(fd) && good;
        good = good && !renameat(folder, part, folder, FILE_NAME);
        if (!good)
            unlinkat(folder, part, 0);
    }
    free(text);
    return good;
}
