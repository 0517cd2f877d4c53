/* prolog/facts_dump.c - facts from the text of lspci -xxxx
 *
 *     0000:41:00.0 VGA compatible controller: NVIDIA Corporation ... (rev a1)
 *     00: de 10 06 22 07 04 10 00 ...
 *     10: ...
 *
 * The text is unpacked into a captured machine in a folder of its own, and read as one: so that a
 * dump and a machine cannot be judged differently. The text comes from anywhere: every size has a
 * limit, and lines that are none of these two forms are skipped. (libpci can read dumps too; it
 * gives up at the first line it does not like, and people paste what they have.)
 */
#include "prolog/facts.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/topo/topo.h"

#define TEXT_MAX (16 << 20) /* a machine of 1,000 functions with 4,096 bytes each */
#define DEVICES_MAX 4096
#define SPACE_MAX 4096

typedef struct unpack {
    char root[64]; /* the folder; "" before it is made */
    char name[PIPC__NAME_MAX];
    bool open; /* a device's lines are being collected */
    bool gpu;  /* its first line calls it one */
    unsigned char config[SPACE_MAX];
    size_t bytes; /* without a gap from 0 */
    int devices;
} unpack_t;

static bool put(const unpack_t *u, const char *file, const void *bytes, size_t n)
{
    char path[256];
    int fd;
    bool ok;

    snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/%s", u->root, u->name, file);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return false;
    ok = write(fd, bytes, n) == (ssize_t)n;
    return close(fd) == 0 && ok;
}

static bool put_number(const unpack_t *u, const char *file, unsigned int value)
{
    char text[16];
    int n = snprintf(text, sizeof(text), "0x%x\n", value);

    return put(u, file, text, (size_t)n);
}

/* Write what was collected. A device that is gone has ones for its class too: what its first line
 * calls it is what the kernel remembers. */
static bool flush(unpack_t *u)
{
    const unsigned char *c = u->config;
    char path[256];
    bool gone = pipc__config_all_ones(c, u->bytes);

    if (!u->open || u->bytes < 64)
        return true;
    u->open = false;
    snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s", u->root, u->name);
    if (mkdir(path, 0700) && errno != EEXIST)
        return false;
    if (gone)
        return !u->gpu || (put_number(u, "class", 0x030200) && put(u, "config", c, u->bytes));
    return put_number(u, "vendor", c[0] | (unsigned int)c[1] << 8) &&
           put_number(u, "device", c[2] | (unsigned int)c[3] << 8) &&
           put_number(u, "class", c[9] | (unsigned int)c[10] << 8 | (unsigned int)c[11] << 16) &&
           put(u, "config", c, u->bytes);
}

/* Does lspci's text for a class and a maker name a GPU? */
static bool names_gpu(const char *text)
{
    static const char *const makers[] = {"NVIDIA", "AMD", "ATI]", "Intel"};

    if (strcasestr(text, "3D controller") || strcasestr(text, "Processing accelerator"))
        return true;
    if (!strcasestr(text, "VGA compatible") && !strcasestr(text, "Display controller"))
        return false;
    for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
        if (strcasestr(text, makers[i]))
            return true;
    return false;
}

/* "41:00.0 text" or "0000:41:00.0 text" starts a device. */
static bool header(unpack_t *u, const char *line)
{
    char word[PIPC__NAME_MAX];
    size_t n = strcspn(line, " \t");
    pipc__pci_addr_t addr;

    if (n == 0 || n >= sizeof(word))
        return false;
    memcpy(word, line, n);
    word[n] = '\0';
    if (!pipc__pci_parse(word, &addr))
        return false;
    u->open = u->devices < DEVICES_MAX;
    u->devices++;
    u->bytes = 0;
    u->gpu = names_gpu(line + n);
    pipc__pci_format(addr, u->name);
    return true;
}

/* "1a0: 00 11 ...": bytes that go on where the last line ended. */
static void hex_line(unpack_t *u, const char *line)
{
    char *end;
    unsigned long at;

    if (!isxdigit((unsigned char)*line))
        return;
    at = strtoul(line, &end, 16);
    if (*end++ != ':' || at != u->bytes)
        return;
    for (int i = 0; i < 16 && u->bytes < SPACE_MAX; i++) {
        end += strspn(end, " \t");
        if (!isxdigit((unsigned char)end[0]) || !isxdigit((unsigned char)end[1]) ||
            isxdigit((unsigned char)end[2]))
            return;
        u->config[u->bytes++] = (unsigned char)strtoul(end, &end, 16);
    }
}

static pipc_status_t unpack(unpack_t *u, char *text, pipc__error_t *err)
{
    char *save = NULL;

    for (char *line = strtok_r(text, "\r\n", &save); line; line = strtok_r(NULL, "\r\n", &save)) {
        bool is_header =
            strchr(line, '.') && strchr(line, ':') && strchr(line, ':') < strchr(line, '.');
        if (is_header && !flush(u))
            return pipc__fail_errno(err, "%s: cannot be written", u->root);
        if (!(is_header && header(u, line)) && u->open)
            hex_line(u, line);
    }
    if (!flush(u))
        return pipc__fail_errno(err, "%s: cannot be written", u->root);
    if (u->devices == 0)
        return pipc__fail(err, PIPC_ERR_INVALID, "no device in it; lspci -xxxx writes such a text");
    return PIPC_OK;
}

/* Read the whole file; NULL with @err. */
static char *read_text(const char *file, pipc__error_t *err)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* a FIFO must not hang us */
    char *text = NULL;
    size_t have = 0;
    ssize_t n = 0;

    if (fd >= 0)
        text = calloc(1, TEXT_MAX + 1);
    while (text && have < TEXT_MAX && (n = read(fd, text + have, TEXT_MAX - have)) > 0)
        have += (size_t)n;
    if (!text || n < 0) {
        pipc__fail_errno(err, "cannot be read");
        free(text);
        text = NULL;
    } else if (have == TEXT_MAX) {
        pipc__fail(err, PIPC_ERR_INVALID, "longer than %d MiB; is this lspci's output?",
                   TEXT_MAX >> 20);
        free(text);
        text = NULL;
    }
    for (size_t i = 0; text && i < have; i++) /* bytes that are no text end a line */
        if (text[i] == '\0')
            text[i] = '\n';
    if (fd >= 0)
        close(fd);
    return text;
}

static bool make_root(unpack_t *u)
{
    static const char *const folders[] = {"sys", "sys/bus", "sys/bus/pci", "sys/bus/pci/devices"};
    char path[128];

    snprintf(u->root, sizeof(u->root), "/tmp/pcie-ipc-dump.XXXXXX");
    if (!mkdtemp(u->root)) {
        u->root[0] = '\0';
        return false;
    }
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", u->root, folders[i]);
        if (mkdir(path, 0700))
            return false;
    }
    return true;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

pipc_status_t pipc__facts_dump(pipc__facts_t *facts, const char *file, pipc__error_t *err)
{
    pipc__error_t why = {PIPC_OK, ""};
    pipc_status_t st = PIPC_ERR_SYSTEM;
    unpack_t *u = calloc(1, sizeof(*u));
    char *text = u ? read_text(file, &why) : NULL;

    memset(facts, 0, sizeof(*facts));
    if (!u)
        pipc__fail(&why, PIPC_ERR_NOMEM, "out of memory");
    else if (text && !make_root(u))
        pipc__fail_errno(&why, "/tmp: no folder can be made to unpack it");
    else if (text)
        st = unpack(u, text, &why);
    if (!st)
        st = pipc__facts_sysfs(facts, u->root, &why);
    if (u && u->root[0])
        nftw(u->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(text);
    free(u);
    return st ? pipc__fail(err, st, "%s: %s", file, why.text) : PIPC_OK;
}
