/* topo/svg.c - see svg.h; layout.c says where things stand
 *
 *        +-------------+
 *        | host bridge |
 *        +------+------+
 *               |           <- BUS below it
 *        +------+------+
 *        | x16 16 GT/s | x16 32 GT/s      <- the link of what is below, right of its line
 *        |             | now x8           <- red
 *     +--+--+       +--+--+
 */
#include "runtime/topo/svg.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/topo/layout.h"
#include "runtime/topo/link.h"

enum { TOP = 96, ROW = 118, BOX = 40, GPU_BOX = 54, BUS = 16, LEGEND = 112, LINE = 14 };
enum { WIDTH_MIN = 900, CHAR = 6 /* width of a character of 11 px */, ARC_SPACE = 130 };

#define RED "#c62828"
#define GREY "#546e7a"

static const struct {
    const char *fill, *stroke, *word;
} styles[] = {
    [PIPC__TOPO_MACHINE] = {"#ffffff", "#cfd8dc", ""},
    [PIPC__TOPO_HOST_BRIDGE] = {"#eceff1", "#78909c", "host bridge"},
    [PIPC__TOPO_BRIDGE] = {"#ffffff", "#cfd8dc", "bridge"},
    [PIPC__TOPO_SWITCH] = {"#fff3e0", "#ef6c00", "switch"},
    [PIPC__TOPO_GPU] = {"#e8f5e9", "#2e7d32", "gpu"},
    [PIPC__TOPO_NIC] = {"#e3f2fd", "#1565c0", "nic"},
};

typedef struct picture {
    const pipc__topo_t *topo;
    pipc__layout_t at;
    FILE *out;
    int width, height, bottom; /* bottom of the last row of boxes */
    bool arcs;                 /* there are NVLinks */
} picture_t;

/* ---- text ---------------------------------------------------------------------------------- */

/* Text of an element: what XML reserves is escaped, what it forbids is a question mark. */
static void put_escaped(const char *text, FILE *out)
{
    for (const char *p = text; *p; p++) {
        if (*p == '&')
            fputs("&amp;", out);
        else if (*p == '<')
            fputs("&lt;", out);
        else if (*p == '>')
            fputs("&gt;", out);
        else
            fputc(*p < ' ' || *p > '~' ? '?' : *p, out);
    }
}

/* One line of text. What is wider than @room pixels (0: any) is cut. */
static void put_text(const picture_t *p, int x, int y, const char *attributes, int room,
                     const char *fmt, ...) __attribute__((format(printf, 6, 7)));
static void put_text(const picture_t *p, int x, int y, const char *attributes, int room,
                     const char *fmt, ...)
{
    char text[512];
    size_t cap = room > 0 ? (size_t)(room / CHAR) : sizeof(text);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (strlen(text) > cap && cap > 3)
        strcpy(text + cap - 3, "...");
    fprintf(p->out, "<text x=\"%d\" y=\"%d\"%s%s>", x, y, *attributes ? " " : "", attributes);
    put_escaped(text, p->out);
    fputs("</text>\n", p->out);
}

static void put_box(const picture_t *p, int x, int y, int w, int h, const char *fill,
                    const char *stroke, bool dashed)
{
    fprintf(p->out,
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\" fill=\"%s\" "
            "stroke=\"%s\"%s/>\n",
            x, y, w, h, fill, stroke, dashed ? " stroke-dasharray=\"4 3\"" : "");
}

static void put_line(const picture_t *p, int x1, int y1, int x2, int y2, bool red)
{
    fprintf(p->out,
            "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"%s\" stroke-width=\"%d\"/>\n",
            x1, y1, x2, y2, red ? RED : GREY, red ? 3 : 2);
}

/* ---- links --------------------------------------------------------------------------------- */

/* "x16 32 GT/s": what it can do. An idle device trains its speed down, so only lanes are compared.
 */
static void link_text(const pipc__topo_t *topo, int obj, char out[64])
{
    const pipc__link_t *l = &topo->objs[obj].link;
    int width = pipc__link_possible_width(topo, obj), mts = pipc__link_possible_mts(topo, obj);

    width = width < 0 ? l->width : width;
    mts = mts < 0 ? l->speed_mts : mts;
    out[0] = '\0';
    if (width >= 0)
        snprintf(out, 64, "x%d", width);
    if (mts >= 0)
        snprintf(out + strlen(out), 64 - strlen(out), "%s%g GT/s", width >= 0 ? " " : "",
                 mts / 1000.0);
}

static int row_y(int row)
{
    return TOP + 44 + row * ROW;
}

static int box_height(const pipc__topo_t *topo, int obj)
{
    pipc__topo_kind_t kind = topo->objs[obj].kind;

    return kind == PIPC__TOPO_GPU || kind == PIPC__TOPO_NIC ? GPU_BOX : BOX;
}

/* The line from a node up to the bus below its parent, and what its link can do. */
static void draw_uplink(const picture_t *p, const pipc__layout_node_t *node)
{
    const pipc__layout_node_t *above = &p->at.nodes[node->parent];
    int y = row_y(node->row), bus = row_y(above->row) + BOX + BUS;
    bool red = pipc__link_is_degraded(p->topo, node->obj);
    char text[64];

    put_line(p, above->x, row_y(above->row) + box_height(p->topo, above->obj), above->x, bus,
             false);
    if (node->x != above->x)
        put_line(p, node->x, bus, above->x, bus, false);
    put_line(p, node->x, y, node->x, bus, red); /* over the others: it may be red */
    link_text(p->topo, node->obj, text);
    put_text(p, node->x + 6, y - LINE - 6, "class=\"s\"", 0, "%s", text);
    if (red)
        put_text(p, node->x + 6, y - 6, "class=\"s r\"", 0, "now x%d",
                 p->topo->objs[node->obj].link.width);
}

/* ---- boxes --------------------------------------------------------------------------------- */

/* "mlx5_0 mlx5_1": the names of all functions of a device, which stand next to each other. */
static void nic_names(const pipc__topo_t *topo, int obj, char out[256])
{
    out[0] = '\0';
    for (int i = obj; i < topo->nobjs && pipc__topo_same_place(topo, obj, i); i++) {
        size_t used = strlen(out);
        if (topo->objs[i].netdev[0] && strcmp(topo->objs[i].netdev, topo->objs[i].name) &&
            used + PIPC__NAME_MAX + 2 < 256)
            snprintf(out + used, 256 - used, "%s%s", used ? " " : "", topo->objs[i].netdev);
    }
}

/* A switch that nothing shares is a part of a card; a host bridge without an address is there
 * because a tree needs one. */
static bool is_dashed(const pipc__topo_t *topo, int obj)
{
    const pipc__topo_obj_t *o = &topo->objs[obj];

    if (o->kind == PIPC__TOPO_HOST_BRIDGE)
        return o->addr.domain < 0;
    return o->kind == PIPC__TOPO_SWITCH && !pipc__topo_is_group(topo, obj);
}

static void draw_box(const picture_t *p, const pipc__layout_node_t *node)
{
    const pipc__topo_obj_t *o = &p->topo->objs[node->obj];
    int room = node->right - node->left, w = room < 150 ? room : 150, y = row_y(node->row);
    bool bridge = o->kind == PIPC__TOPO_HOST_BRIDGE && o->addr.domain < 0;
    char names[256] = "";

    put_box(p, node->x - w / 2, y, w, box_height(p->topo, node->obj), styles[o->kind].fill,
            styles[o->kind].stroke, is_dashed(p->topo, node->obj));
    if (o->kind == PIPC__TOPO_GPU && o->minor >= 0)
        put_text(p, node->x, y + 17, "class=\"m b\"", w, "gpu %d", o->minor);
    else
        put_text(p, node->x, y + 17, "class=\"m b\"", w, "%s", styles[o->kind].word);
    put_text(p, node->x, y + 17 + LINE, "class=\"m\"", w, "%s", bridge ? "not told" : o->name);
    if (o->kind == PIPC__TOPO_NIC)
        nic_names(p->topo, node->obj, names);
    else if (o->vendor >= 0 && o->device >= 0)
        snprintf(names, sizeof(names), "%04x:%04x", (unsigned int)o->vendor,
                 (unsigned int)o->device);
    if (names[0] && box_height(p->topo, node->obj) == GPU_BOX)
        put_text(p, node->x, y + 17 + 2 * LINE, "class=\"m s\"", w, "%s", names);
}

static bool draw_numas(const picture_t *p)
{
    for (int i = 0; i < p->at.nnumas; i++) {
        const pipc__layout_numa_t *box = &p->at.numas[i];
        const pipc__topo_numa_t *n = box->numa < 0 ? NULL : &p->topo->numas[box->numa];
        char *cpus = NULL;
        int x = box->left - 14, w = box->right - box->left + 38;

        put_box(p, x, TOP, w, p->bottom + 14 - TOP, "#fafafa", "#b0bec5", false);
        if (!n)
            put_text(p, x + 10, TOP + 20, "class=\"b\"", w - 20, "NUMA node not known");
        else if (hwloc_bitmap_list_asprintf(&cpus, n->cpus) < 0)
            return false;
        else
            put_text(p, x + 10, TOP + 20, "class=\"b\"", w - 20, "NUMA %d%s%s", n->os_index,
                     *cpus ? ", CPUs " : "", cpus);
        free(cpus);
    }
    return true;
}

/* ---- NVLink -------------------------------------------------------------------------------- */

/* The same number of NVLinks between all GPUs, as with NVSwitches; PIPC__UNKNOWN when not. */
static int uniform_nvlinks(const picture_t *p, int *first, int *last)
{
    const pipc__topo_t *topo = p->topo;
    int links = PIPC__UNKNOWN;

    *first = *last = PIPC__UNKNOWN;
    for (int i = 0; i < p->at.nnodes; i++) {
        if (topo->objs[p->at.nodes[i].obj].kind != PIPC__TOPO_GPU)
            continue;
        for (int j = *first; j >= 0 && j < i; j++) {
            int n = pipc__topo_nvlinks(topo, p->at.nodes[j].obj, p->at.nodes[i].obj);
            if (topo->objs[p->at.nodes[j].obj].kind != PIPC__TOPO_GPU)
                continue;
            if (n <= 0 || (links >= 0 && n != links))
                return PIPC__UNKNOWN;
            links = n;
        }
        *first = *first < 0 ? i : *first;
        *last = i;
    }
    return links;
}

/* The number that all pairs with NVLinks have; 0 when there are none, PIPC__UNKNOWN when they
 * differ. */
static int links_an_arc(const picture_t *p)
{
    int links = 0;

    for (int i = 0; i < p->at.nnodes; i++)
        for (int j = i + 1; j < p->at.nnodes; j++) {
            int n = pipc__topo_nvlinks(p->topo, p->at.nodes[i].obj, p->at.nodes[j].obj);
            if (n > 0 && links > 0 && n != links)
                return PIPC__UNKNOWN;
            links = n > 0 ? n : links;
        }
    return links;
}

static void draw_arc(const picture_t *p, const pipc__layout_node_t *a, const pipc__layout_node_t *b,
                     int links, bool label)
{
    int deep = (b->x - a->x) / 12 + 20;

    deep = deep > ARC_SPACE - 20 ? ARC_SPACE - 20 : deep;
    fprintf(p->out,
            "<path d=\"M %d %d Q %d %d %d %d\" fill=\"none\" stroke=\"#6a1b9a\" "
            "stroke-width=\"%d\"/>\n",
            a->x, p->bottom, (a->x + b->x) / 2, p->bottom + 2 * deep, b->x, p->bottom,
            links > 3 ? 3 : links);
    if (label)
        put_text(p, (a->x + b->x) / 2, p->bottom + deep - 4, "class=\"m s v\"", 0, "NV%d", links);
}

static void draw_arcs(const picture_t *p)
{
    int each = links_an_arc(p);

    for (int i = 0; i < p->at.nnodes; i++)
        for (int j = i + 1; j < p->at.nnodes; j++) {
            int n = pipc__topo_nvlinks(p->topo, p->at.nodes[i].obj, p->at.nodes[j].obj);
            if (n > 0)
                draw_arc(p, &p->at.nodes[i], &p->at.nodes[j], n, each < 0);
        }
    if (each > 0)
        put_text(p, PIPC__MARGIN - 14, p->bottom + ARC_SPACE, "class=\"v\"", 0,
                 "NVLink: NV%d along each arc", each);
}

/* Between boxes and legend: a bar where all GPUs are connected alike, else an arc a pair. */
static void draw_nvlinks(const picture_t *p)
{
    int first, last, links = p->arcs ? uniform_nvlinks(p, &first, &last) : 0;

    if (links > 0) {
        int left = p->at.nodes[first].left, right = p->at.nodes[last].right;
        put_box(p, left, p->bottom + 26, right - left, 24, "#f3e5f5", "#6a1b9a", false);
        put_text(p, (left + right) / 2, p->bottom + 42, "class=\"m\"", right - left,
                 "NVLink: NV%d between each two GPUs", links);
    } else if (links < 0) {
        draw_arcs(p);
    }
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void draw_legend(const picture_t *p, const char *made)
{
    static const struct {
        pipc__topo_kind_t kind;
        const char *word;
        int width;
        bool dashed;
    } boxes[] = {{PIPC__TOPO_HOST_BRIDGE, "host bridge", 110, false},
                 {PIPC__TOPO_SWITCH, "switch", 84, false},
                 {PIPC__TOPO_SWITCH, "switch that nothing shares", 186, true},
                 {PIPC__TOPO_GPU, "gpu", 70, false},
                 {PIPC__TOPO_NIC, "nic", 70, false}};
    int x = PIPC__MARGIN - 14, y = p->height - LEGEND + 16;

    for (size_t i = 0; i < sizeof(boxes) / sizeof(boxes[0]); x += boxes[i++].width) {
        put_box(p, x, y - 11, 18, 14, styles[boxes[i].kind].fill, styles[boxes[i].kind].stroke,
                boxes[i].dashed);
        put_text(p, x + 24, y, "", 0, "%s", boxes[i].word);
    }
    put_line(p, x, y - 4, x + 30, y - 4, false);
    put_text(p, x + 36, y, "", 0, "PCIe link");
    put_line(p, x + 110, y - 4, x + 140, y - 4, true);
    put_text(p, x + 146, y, "", 0, "link that has lost lanes");
    x = PIPC__MARGIN - 14;
    put_text(
        p, x, y + 24, "class=\"s\"", 0,
        "Beside a link: the lanes and the speed that both of its ends can do; in red, the lanes "
        "it has now. Speed is not compared: an idle device lowers it.");
    put_text(p, x, y + 24 + LINE, "class=\"s\"", 0,
             "Where nothing stands the source does not tell. Root ports are not drawn.");
    put_text(p, x, y + 24 + 3 * LINE, "class=\"s g\"", 0, "%s", made);
}

static bool draw(const picture_t *p, const char *title, const char *made)
{
    fprintf(
        p->out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\" height=\"%d\" "
        "viewBox=\"0 0 %d %d\">\n"
        "<style type=\"text/css\">text { font: 11px sans-serif; fill: #263238 } .s { font-size: "
        "10px } .b { font-weight: bold } .m { text-anchor: middle } .r { fill: " RED
        "; font-weight: "
        "bold } .v { fill: #6a1b9a } .g { fill: #78909c }</style>\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
        p->width, p->height, p->width, p->height);
    put_text(p, PIPC__MARGIN - 14, 40, "style=\"font-size: 20px; font-weight: bold\"", 0, "%s",
             title);
    put_text(p, PIPC__MARGIN - 14, 64, "style=\"font-size: 12px\"", 0,
             "GPUs %d, NICs %d, NUMA nodes %d; source: %s",
             pipc__topo_list(p->topo, PIPC__TOPO_GPU, NULL, 0),
             pipc__topo_list(p->topo, PIPC__TOPO_NIC, NULL, 0), p->topo->nnumas, p->topo->source);
    if (!draw_numas(p))
        return false;
    for (int i = 0; i < p->at.nnodes; i++)
        if (p->at.nodes[i].parent >= 0)
            draw_uplink(p, &p->at.nodes[i]);
    for (int i = 0; i < p->at.nnodes; i++)
        draw_box(p, &p->at.nodes[i]);
    if (p->at.nnodes == 0)
        put_text(p, PIPC__MARGIN - 14, TOP + 20, "", 0, "no GPU and no NIC was found");
    draw_nvlinks(p);
    draw_legend(p, made);
    fputs("</svg>\n", p->out);
    return true;
}

pipc_status_t pipc__topo_print_svg(const pipc__topo_t *topo, const char *title, const char *made,
                                   FILE *out, pipc__error_t *err)
{
    picture_t p = {.topo = topo, .out = out};
    bool enough = pipc__layout(topo, &p.at);

    if (enough) {
        p.width = p.at.width < WIDTH_MIN ? WIDTH_MIN : p.at.width;
        p.bottom = p.at.rows ? row_y(p.at.rows - 1) + GPU_BOX : TOP + 40;
        p.arcs = links_an_arc(&p) != 0;
        p.height = p.bottom + (p.arcs ? ARC_SPACE + 20 : 40) + LEGEND;
        enough = draw(&p, title, made);
        free(p.at.nodes);
        free(p.at.numas);
    }
    if (!enough)
        return pipc__fail(err, PIPC_ERR_NOMEM, "topology (%s): out of memory", topo->source);
    return ferror(out) ? pipc__fail_errno(err, "picture") : PIPC_OK;
}
