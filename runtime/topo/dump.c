/* topo/dump.c - see dump.h
 *
 *     0000:41:00.0 VGA compatible controller: NVIDIA Corporation ... (rev a1)
 *             NUMA node: 0                                   (with -v)
 *     00: de 10 06 22 07 04 10 00 ...
 *     10: ...
 *
 * The text comes from anywhere: every size has a limit, and lines that are none of these forms are
 * skipped. (libpci can read dumps too; it gives up at the first line it does not like, and people
 * paste what they have.)
 */
#include "runtime/topo/dump.h"

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

#include "runtime/topo/device.h"
#include "runtime/topo/text.h"
#include "runtime/topo/topo.h"

#define DEVICES_MAX 8192
#define SPACE_MAX 4096

typedef struct unpack {
    const char *root;
    char name[PIPC__NAME_MAX];
    bool open;                      /* a device's lines are being collected */
    int class_code, vendor, device; /* as its first line has them, or PIPC__UNKNOWN */
    int numa;
    unsigned char config[SPACE_MAX];
    size_t bytes;       /* without a gap from 0 */
    size_t indent;      /* of all lines, as a web page's blocks have it */
    int devices, whole; /* those named, those with their bytes */
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

static bool all_ones(const unsigned char *config)
{
    for (int i = 0; i < 64; i++)
        if (config[i] != 0xff)
            return false;
    return true;
}

/* A virtual function has no ids of its own: those are ones, and the rest is not. */
static bool is_virtual(const unsigned char *config)
{
    return config[0] == 0xff && config[1] == 0xff && config[2] == 0xff && config[3] == 0xff;
}

/* A device that is gone has ones for its class too: what its first line calls it is what the kernel
 * remembers. Of no interest are those that are neither GPU nor NIC nor bridge. */
static bool put_lost(const unpack_t *u)
{
    pipc__pci_addr_t addr;

    if (u->class_code < 0 || !pipc__pci_parse(u->name, &addr) ||
        pipc__device_role_of(addr, u->class_code << 8, u->vendor, u->device) == PIPC__ROLE_OTHER)
        return true;
    return (u->vendor < 0 || put_number(u, "vendor", (unsigned int)u->vendor)) &&
           (u->device < 0 || put_number(u, "device", (unsigned int)u->device)) &&
           put_number(u, "class", (unsigned int)u->class_code << 8) &&
           put(u, "config", u->config, u->bytes);
}

/* Write what was collected. */
static bool flush(unpack_t *u)
{
    const unsigned char *c = u->config;
    char path[256];

    if (!u->open || u->bytes < 64)
        return true;
    u->open = false;
    u->whole++;
    snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s", u->root, u->name);
    if (mkdir(path, 0700) && errno != EEXIST)
        return false;
    if (u->numa >= 0 && !put_number(u, "numa_node", (unsigned int)u->numa))
        return false;
    if (!all_ones(c) && is_virtual(c)) {
        snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/physfn", u->root, u->name);
        if (mkdir(path, 0700) && errno != EEXIST)
            return false;
    }
    if (all_ones(c))
        return put_lost(u);
    return put_number(u, "vendor", c[0] | (unsigned int)c[1] << 8) &&
           put_number(u, "device", c[2] | (unsigned int)c[3] << 8) &&
           put_number(u, "class", c[9] | (unsigned int)c[10] << 8 | (unsigned int)c[11] << 16) &&
           put(u, "config", c, u->bytes);
}

bool pipc__dump_names_gpu(const char *text)
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

int pipc__dump_numbers(const char *text, int *vendor, int *device)
{
    unsigned int class_code, v, d;

    text += strspn(text, " \t");
    text += strncmp(text, "Class ", 6) == 0 ? 6 : 0;
    if (strspn(text, "0123456789abcdef") != 4 || sscanf(text, "%4x:", &class_code) != 1)
        return PIPC__UNKNOWN;
    if (sscanf(text + 4, ": %4x:%4x", &v, &d) != 2 &&
        sscanf(text + 4, ": Device %4x:%4x", &v, &d) != 2)
        return PIPC__UNKNOWN;
    *vendor = (int)v;
    *device = (int)d;
    return (int)class_code;
}

/* "3D controller [0302]: NVIDIA Corporation ... [10de:2206]", as lspci -nn writes it. */
static int numbers_beside_names(const char *text, int *vendor, int *device)
{
    unsigned int class_code, v, d;
    const char *colon = strstr(text, "]: "), *open = colon ? colon - strlen("[0302") : NULL;

    if (!open || open < text || sscanf(open, "[%4x]", &class_code) != 1)
        return PIPC__UNKNOWN;
    for (const char *p = strchr(colon, '['); p; p = strchr(p + 1, '['))
        if (strlen(p) >= 11 && p[5] == ':' && p[10] == ']' && sscanf(p, "[%4x:%4x]", &v, &d) == 2) {
            *vendor = (int)v;
            *device = (int)d;
            return (int)class_code;
        }
    return PIPC__UNKNOWN;
}

/* By names alone makers are not known, so that of displays only those count that are GPUs. */
static int class_of_names(const char *text)
{
    static const struct {
        const char *name;
        int class_code;
    } names[] = {{"PCI bridge", 0x0604},
                 {"Ethernet controller", 0x0200},
                 {"Infiniband controller", 0x0207},
                 {"Network controller", 0x0280}};

    if (pipc__dump_names_gpu(text))
        return 0x0302;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcasestr(text, names[i].name))
            return names[i].class_code;
    return PIPC__UNKNOWN;
}

/* What a device's first line says that it is. */
static void identify(unpack_t *u, const char *text)
{
    u->vendor = u->device = PIPC__UNKNOWN;
    u->class_code = pipc__dump_numbers(text, &u->vendor, &u->device);
    if (u->class_code < 0)
        u->class_code = numbers_beside_names(text, &u->vendor, &u->device);
    if (u->class_code < 0)
        u->class_code = class_of_names(text);
}

/* "41:00.0 text" or "0000:41:00.0 text" starts a device. */
static bool is_header(const char *line, size_t *n, pipc__pci_addr_t *addr)
{
    char word[PIPC__NAME_MAX];

    *n = strcspn(line, " \t");
    if (*n == 0 || *n >= sizeof(word))
        return false;
    memcpy(word, line, *n);
    word[*n] = '\0';
    return pipc__pci_parse(word, addr);
}

static bool header(unpack_t *u, const char *line)
{
    pipc__pci_addr_t addr;
    size_t n;

    if (!is_header(line, &n, &addr))
        return false;
    u->open = true;
    u->devices++;
    u->bytes = 0;
    u->numa = PIPC__UNKNOWN;
    identify(u, line + n);
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

/* "        NUMA node: 1"; anything else that stands indented is of no interest. */
static void indented_line(unpack_t *u, const char *line)
{
    static const char key[] = "NUMA node: ";
    char *end;

    line += strspn(line, " \t");
    if (strncmp(line, key, strlen(key)) || !isdigit((unsigned char)line[strlen(key)]))
        return;
    long numa = strtol(line + strlen(key), &end, 10);
    if (numa < 65536)
        u->numa = (int)numa;
}

/* Without the "> " of a mail, and as far to the left as a device's first line began. */
static const char *unquoted(unpack_t *u, const char *line)
{
    while (*line == '>') {
        line++;
        line += *line == ' ';
    }
    size_t blank = strspn(line, " \t"), n;
    pipc__pci_addr_t addr;
    if (u->devices == 0 && blank > 0 && is_header(line + blank, &n, &addr))
        u->indent = blank;
    return line + (blank < u->indent ? blank : u->indent);
}

/* False when a file could not be written. */
static bool one_line(unpack_t *u, const char *line)
{
    line = unquoted(u, line);
    const char *colon = strchr(line, ':'), *dot = strchr(line, '.');

    if (isxdigit((unsigned char)*line) && colon && dot && colon < dot) {
        if (!flush(u))
            return false;
        if (header(u, line))
            return true;
    }
    if (u->open && (*line == ' ' || *line == '\t'))
        indented_line(u, line);
    else if (u->open)
        hex_line(u, line);
    return true;
}

static pipc_status_t unpack(unpack_t *u, const char *file, char *text, pipc__error_t *err)
{
    char *save = NULL;

    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (!one_line(u, line))
            return pipc__fail_errno(err, "%s: %s cannot be written", file, u->root);
        if (u->devices > DEVICES_MAX)
            return pipc__fail(err, PIPC_ERR_INVALID,
                              "%s: more than %d devices; is this one "
                              "machine?",
                              file, DEVICES_MAX);
    }
    if (!flush(u))
        return pipc__fail_errno(err, "%s: %s cannot be written", file, u->root);
    if (u->devices == 0)
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "%s: no device in it; lspci -xxxx writes such a text", file);
    if (u->whole == 0)
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "%s: it names devices but holds no bytes of them; lspci -xxxx, as root, "
                          "writes them",
                          file);
    return PIPC_OK;
}

static bool make_root(char *root)
{
    static const char *const folders[] = {"sys", "sys/bus", "sys/bus/pci", "sys/bus/pci/devices"};
    char path[128];

    snprintf(root, PIPC__DUMP_ROOT_MAX, "/tmp/pcie-ipc-dump.XXXXXX");
    if (!mkdtemp(root)) {
        root[0] = '\0';
        return false;
    }
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", root, folders[i]);
        if (mkdir(path, 0700))
            return false;
    }
    return true;
}

pipc_status_t pipc__dump_unpack(const char *file, char root[PIPC__DUMP_ROOT_MAX],
                                pipc__error_t *err)
{
    pipc_status_t st;
    size_t len;
    char *text;
    unpack_t *u;

    root[0] = '\0';
    st = pipc__text_read(&text, file, &len, err);
    if (st)
        return st;
    pipc__text_clean(text, len);
    u = calloc(1, sizeof(*u));
    if (u)
        u->root = root;
    if (!u)
        st = pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", file);
    else if (!make_root(root))
        st = pipc__fail_errno(err, "%s: /tmp: no folder can be made to unpack it", file);
    else
        st = unpack(u, file, text, err);
    free(text);
    free(u);
    return st;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

void pipc__dump_remove(const char *root)
{
    int saved = errno;

    if (root[0])
        nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    errno = saved;
}
