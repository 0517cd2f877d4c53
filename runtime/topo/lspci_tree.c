/* topo/lspci_tree.c - a tree from the text of lspci -tv
 *
 *     -+-[0000:c0]-+-01.1-[c1]--+-00.0  NVIDIA Corporation ...
 *      |           |            \-00.1  NVIDIA Corporation ... Audio Controller
 *      |           \-03.1-[c2-c4]----00.0-[c3-c4]--+-00.0-[c4]----00.0  NVIDIA ...
 *      \-[0000:00]-+-...
 *
 * A device is on the bus whose '+' or '\' its line continues, which the column tells; "-[c1]"
 * behind it makes it the bridge to that bus. Switches are found by their shape, as in a capture
 * without config space.
 */
#include "runtime/topo/lspci_tree.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/topo/build.h"
#include "runtime/topo/files.h"
#include "runtime/topo/text.h"

#define BUSES_MAX PIPC__TOPO_DEPTH_MAX

typedef struct bus {
    long column; /* of the sign where its other devices go on; PIPC__UNKNOWN: it has no other */
    int domain, number;
    int bridge; /* the device that leads to it; PIPC__UNKNOWN: a root bus */
} bus_t;

typedef struct reader {
    const char *path;
    pipc__error_t *err;
    pipc__scan_t scan;
    bus_t bus[BUSES_MAX]; /* the way to the bus of the moment; bus[0] holds the root buses */
    int depth;            /* of these; 0: no tree so far */
    int line;
    bool named;                /* some device has a name */
    pipc__topo_obj_t rdma_nic; /* what is known of one; of the others nothing is */
} reader_t;

static pipc_status_t wrong(const reader_t *r, const char *what)
{
    return pipc__fail(r->err, PIPC_ERR_INVALID,
                      "%s: line %d: %s; is the text as lspci -tv wrote it?", r->path, r->line,
                      what);
}

/* A hexadecimal number of at most @digits at *p, which moves behind it. */
static bool hex(const char **p, int digits, int *out)
{
    int n = 0;

    *out = 0;
    for (; n < digits && isxdigit((unsigned char)**p); n++, (*p)++)
        *out = *out << 4 |
               (isdigit((unsigned char)**p) ? **p - '0' : tolower((unsigned char)**p) - 'a' + 10);
    return n > 0;
}

/* "[0000:c0]", "[c1]" or "[c2-c4]": the domain, if one is named, and the first bus. */
static bool buses(const char **p, int *domain, int *number)
{
    int first, last;

    if (*(*p)++ != '[' || !hex(p, 7, &first))
        return false;
    if (**p == ':') {
        *domain = first;
        (*p)++;
        if (!hex(p, 2, &first))
            return false;
    }
    *number = first;
    if (**p == '-' && ((*p)++, !hex(p, 2, &last)))
        return false;
    return *(*p)++ == ']' && *number <= 0xff;
}

/* Go down to a bus, whose devices begin behind "-", "--+-" or "----" at *p. */
static bool enter(reader_t *r, const char *line, const char **p, bus_t bus)
{
    if (r->depth == BUSES_MAX)
        return false;
    *p += strspn(*p, "-");
    bus.column = PIPC__UNKNOWN;
    if (**p == '+') {
        bus.column = *p - line;
        *p += 1 + strspn(*p + 1, "-");
    }
    r->bus[r->depth++] = bus;
    return true;
}

/* A device that is no bridge: what its name says. */
static void by_name(reader_t *r, const char *name, pipc__scan_device_t *d)
{
    bool rdma;

    name += strspn(name, " ");
    r->named |= *name != '\0';
    d->part = pipc__lspci_part(name, &rdma);
    if (rdma)
        d->known = &r->rdma_nic;
}

/* "01.1-[c1]--+-" or "00.0  NVIDIA Corporation ...", on the bus of the moment. */
static pipc_status_t device(reader_t *r, const char *line, const char **p, bool *bridge)
{
    bus_t at = r->bus[r->depth - 1], below = at;
    pipc__pci_addr_t addr = {at.domain, at.number, 0, 0};

    if (!hex(p, 2, &addr.device) || *(*p)++ != '.' || !hex(p, 1, &addr.function) ||
        addr.device > 31 || addr.function > 7)
        return wrong(r, "no device where one should be");
    pipc__scan_device_t d = pipc__scan_device(addr);
    d.parent = at.bridge;
    d.known = &pipc__topo_nothing_known;
    *bridge = strncmp(*p, "-[", 2) == 0;
    if (*bridge)
        d.part = PIPC__PART_BRIDGE;
    else
        by_name(r, *p, &d);
    below.bridge = r->scan.n;
    pipc_status_t st = pipc__scan_append(&r->scan, d, r->err);
    if (st || !*bridge)
        return st;
    (*p)++;
    if (!buses(p, &below.domain, &below.number) || !enter(r, line, p, below))
        return wrong(r, "no bus where one should be");
    return PIPC_OK;
}

/* The line's first sign makes it go on with a bus that is open. One column off is what people do to
 * text; the signs of two buses are ten apart. */
static bool go_back(reader_t *r, long column)
{
    while (r->depth > 1 &&
           (r->bus[r->depth - 1].column < 0 || labs(r->bus[r->depth - 1].column - column) > 1))
        r->depth--;
    return r->depth > 1;
}

/* "-+-[0000:c0]-..." begins a tree, "-[0000:00]-..." one of a single root bus. */
static bool begins(const char *p)
{
    return strncmp(p, "-[", 2) == 0 || strncmp(p, "-+-[", 4) == 0;
}

/* "+-01.0..." or "\-[0000:80]...": what stands behind the sign; NULL: it is no line of a tree. */
static const char *entry(const char *p)
{
    const char *q = p + 1;

    if ((*p != '+' && *p != '\\') || *q != '-')
        return NULL;
    q += strspn(q, "-");
    return *q == '[' ||
                   (isxdigit((unsigned char)q[0]) && isxdigit((unsigned char)q[1]) && q[2] == '.')
               ? q
               : NULL;
}

/* The bus that a line is about, or the one that it goes on with; *p moves to what is new there.
 * *tree is false for a line of another kind, which a text may hold before, in and behind the tree.
 */
static pipc_status_t find_place(reader_t *r, const char *line, const char **p, bool *tree)
{
    const char *at = line + strspn(line, " |"), *behind = entry(at);
    bus_t roots = {.bridge = PIPC__UNKNOWN};

    *tree = true;
    if (r->depth == 0 && begins(at)) {
        *p = at;
        enter(r, line, p, roots);
    } else if (r->depth > 0 && behind) {
        *p = behind;
        if (*behind == '[')
            r->depth = 1;
        else if (!go_back(r, at - line))
            return wrong(r, "it goes on with no bus");
    } else if (r->depth > 0 && begins(at)) {
        return wrong(r, "a second tree; one machine at a time");
    } else {
        *tree = false;
    }
    return PIPC_OK;
}

static const char *unquoted(const char *line)
{
    while (*line == '>')
        line += line[1] == ' ' ? 2 : 1;
    return line;
}

static pipc_status_t one_line(reader_t *r, const char *line)
{
    bus_t root = {.bridge = PIPC__UNKNOWN};
    const char *p;
    bool tree;
    pipc_status_t st = find_place(r, line, &p, &tree);

    if (st || !tree)
        return st;
    if (r->depth == 1 && (!buses(&p, &root.domain, &root.number) || !enter(r, line, &p, root)))
        return wrong(r, "no bus where one should be");
    for (bool bridge = true; bridge && *p && *p != ' ' && !st;)
        st = device(r, line, &p, &bridge);
    return st;
}

static pipc_status_t read_lines(reader_t *r, char *text)
{
    pipc_status_t st = PIPC_OK;

    for (char *line = text, *next; line && !st; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        r->line++;
        st = one_line(r, unquoted(line));
    }
    if (!st && r->scan.n == 0)
        st = pipc__fail(r->err, PIPC_ERR_INVALID,
                        "%s: no tree -[0000:00]-+-00.0 ... in it; lspci -tv writes one", r->path);
    if (!st && !r->named)
        st = pipc__fail(r->err, PIPC_ERR_INVALID,
                        "%s: its devices have no names; lspci -tv writes them", r->path);
    return st;
}

pipc_status_t pipc__topo_lspci_tree(pipc__topo_t **topo, const char *path, pipc__error_t *err)
{
    reader_t r = {.path = path,
                  .err = err,
                  .scan = {.root = path, .folder = ""},
                  .rdma_nic = pipc__topo_nothing_known};
    pipc_status_t st = pipc__topo_new(topo, "lspci -tv", err);
    char *text = NULL;
    size_t len;

    r.rdma_nic.rdma = true;
    if (!st)
        st = pipc__text_read(&text, path, &len, err);
    if (!st) {
        pipc__text_clean(text, len);
        st = read_lines(&r, text);
    }
    if (!st) {
        pipc__scan_link(&r.scan);
        st = pipc__topo_add_scan(*topo, &r.scan, err);
    }
    free(text);
    free(r.scan.dev);
    if (st) {
        pipc__topo_free(*topo);
        *topo = NULL;
    }
    return st;
}
