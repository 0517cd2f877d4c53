/* topo/xml_out.c - see xml_out.h
 *
 *     <system version="1">
 *       <cpu numaid="0" affinity="0000ffff" arch="x86_64" vendor="GenuineIntel" ...>
 *         <pci busid="0000:18:00.0" class="0x060400" vendor="0x1000" ... link_width="16">
 *           <pci busid="0000:1b:00.0" class="0x030200" ...><gpu dev="0"/></pci>
 *           <pci busid="0000:1a:00.0" class="0x020700" ...><nic><net name="mlx5_0"/></nic></pci>
 *
 * As NCCL writes it: a cpu a NUMA node, upstream ports of switches but no root ports, link speeds
 * and widths that both ends can do. Its reader is not a whole XML parser: no declaration, and
 * attributes in double quotes.
 *
 * What is not known is left out: for every device that it uses, and all above it, NCCL asks the
 * machine for the attributes that are not there, and believes those that are. An empty link_speed
 * would be a link of 8 GT/s to it, and a network device's speed of 0 one of 10 Gbit/s.
 */
#include "runtime/topo/xml_out.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/topo/link.h"

typedef struct writer {
    const pipc__topo_t *topo;
    FILE *out;
    int depth;
    int nets;    /* so far: NCCL numbers them */
    int made_up; /* addresses that switches without one got */
} writer_t;

static void indent(const writer_t *w)
{
    fprintf(w->out, "%*s", 2 * w->depth, "");
}

/* The value of an attribute; what XML reserves does not stand in the names of interfaces. */
static void put_name(const char *name, FILE *out)
{
    for (; *name; name++)
        fputc(strchr("<>&\"'", *name) || *name < ' ' || *name > '~' ? '_' : *name, out);
}

static bool is_endpoint(const pipc__topo_obj_t *o)
{
    return o->kind == PIPC__TOPO_GPU || o->kind == PIPC__TOPO_NIC;
}

static void put_gpu(writer_t *w, int obj)
{
    bool links = false;

    indent(w);
    fprintf(w->out, "<gpu dev=\"%d\"", pipc__topo_bus_index(w->topo, obj)); /* as NVML numbers */
    for (int i = 0; i < w->topo->nobjs; i++) {
        int n = pipc__topo_nvlinks(w->topo, obj, i);
        if (n <= 0)
            continue;
        fprintf(w->out, "%s%*s<nvlink target=\"%s\" count=\"%d\" tclass=\"0x030200\"/>\n",
                links ? "" : ">\n", 2 * w->depth + 2, "", w->topo->objs[i].name, n);
        links = true;
    }
    if (links)
        indent(w);
    fputs(links ? "</gpu>\n" : "/>\n", w->out);
}

static void put_nic(writer_t *w, const pipc__topo_obj_t *o)
{
    indent(w);
    if (!o->netdev[0]) {
        fputs("<nic/>\n", w->out);
        return;
    }
    fputs("<nic><net name=\"", w->out);
    put_name(o->netdev, w->out);
    fprintf(w->out, "\" dev=\"%d\"/></nic>\n", w->nets++);
}

static int class_of(const pipc__topo_obj_t *o)
{
    if (o->class_code >= 0)
        return o->class_code;
    if (o->kind == PIPC__TOPO_GPU)
        return 0x030200;
    if (o->kind == PIPC__TOPO_NIC)
        return o->rdma ? 0x020700 : 0x020000;
    return 0x060400;
}

static void put_id(writer_t *w, const char *name, int id)
{
    if (id >= 0)
        fprintf(w->out, " %s=\"0x%04x\"", name, (unsigned int)id);
}

static void put_pci(writer_t *w, int obj)
{
    const pipc__topo_obj_t *o = &w->topo->objs[obj];
    int width = pipc__link_possible_width(w->topo, obj),
        mts = pipc__link_possible_mts(w->topo, obj);
    char name[PIPC__NAME_MAX];

    pipc__pci_format(o->addr, name);
    if (o->addr.domain < 0) { /* as the files of clouds do */
        snprintf(name, sizeof(name), "ffff:%02x:%02x.0", 0xffu - (unsigned int)w->made_up / 32,
                 (unsigned int)w->made_up % 32);
        w->made_up++;
    }
    indent(w);
    fprintf(w->out, "<pci busid=\"%s\" class=\"0x%06x\"", name, (unsigned int)class_of(o));
    put_id(w, "vendor", o->vendor);
    put_id(w, "device", o->device);
    if (mts >= 0)
        fprintf(w->out, " link_speed=\"%d.%d GT/s PCIe\"", mts / 1000, mts % 1000 / 100);
    if (width >= 0)
        fprintf(w->out, " link_width=\"%d\"", width);
    fputs(">\n", w->out);
}

/* All below @top, whose end is @end: switches as they nest, bridges left out. */
static void put_below(writer_t *w, int top, int end)
{
    for (int i = top + 1, next; i < end; i = next) {
        const pipc__topo_obj_t *o = &w->topo->objs[i];
        next = pipc__topo_end(w->topo, i);
        if (!is_endpoint(o) && o->kind != PIPC__TOPO_SWITCH) {
            put_below(w, i, next);
            continue;
        }
        put_pci(w, i);
        w->depth++;
        if (o->kind == PIPC__TOPO_GPU)
            put_gpu(w, i);
        else if (o->kind == PIPC__TOPO_NIC)
            put_nic(w, o);
        put_below(w, i, next);
        w->depth--;
        indent(w);
        fputs("</pci>\n", w->out);
    }
}

/* A mask as the kernel writes it, in groups of 32 bits; hwloc's own text has "0x" in it. */
static void put_affinity(hwloc_const_bitmap_t cpus, FILE *out)
{
    int last = hwloc_bitmap_last(cpus);

    for (int group = last < 0 ? -1 : last / 32; group >= 0; group--) {
        unsigned int bits = 0;
        for (int i = 0; i < 32; i++)
            bits |= (unsigned int)hwloc_bitmap_isset(cpus, (unsigned int)(32 * group + i)) << i;
        fprintf(out, "%08x%s", bits, group ? "," : "");
    }
}

static void open_cpu(writer_t *w, int numa, const pipc__xml_cpu_t *cpu)
{
    const pipc__topo_numa_t *n = numa < 0 ? NULL : &w->topo->numas[numa];

    indent(w);
    fprintf(w->out, "<cpu numaid=\"%d\"", n ? n->os_index : -1);
    if (n && !hwloc_bitmap_iszero(n->cpus)) {
        fputs(" affinity=\"", w->out);
        put_affinity(n->cpus, w->out);
        fputc('"', w->out);
    }
    if (cpu && cpu->arch)
        fprintf(w->out, " arch=\"%s\"", cpu->arch);
    if (cpu && cpu->arch && cpu->vendor && cpu->family >= 0 && cpu->model >= 0)
        fprintf(w->out, " vendor=\"%s\" familyid=\"%d\" modelid=\"%d\"", cpu->vendor, cpu->family,
                cpu->model);
    fputs(">\n", w->out);
    w->depth++;
}

/* A NUMA node, or all that is on none that is known (@numa PIPC__UNKNOWN). */
static void put_cpu(writer_t *w, int numa, const pipc__xml_cpu_t *cpu)
{
    bool open = false;

    for (int i = 1, next; i < w->topo->nobjs; i = next) {
        next = pipc__topo_end(w->topo, i);
        if (pipc__topo_numa_of(w->topo, i) != numa)
            continue;
        if (!open)
            open_cpu(w, numa, cpu);
        open = true;
        put_below(w, i, next);
    }
    if (!open)
        return;
    w->depth--;
    indent(w);
    fputs("</cpu>\n", w->out);
}

pipc_status_t pipc__topo_print_xml(const pipc__topo_t *topo, const pipc__xml_cpu_t *cpu, FILE *out,
                                   pipc__error_t *err)
{
    writer_t w = {.topo = topo, .out = out};

    for (int i = 1; i < topo->nobjs; i++)
        if (is_endpoint(&topo->objs[i]) && topo->objs[i].addr.domain < 0)
            return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                              "--xml: %s has no PCI address in this source (%s), and NCCL finds "
                              "devices by it; use a source with addresses",
                              topo->objs[i].name, topo->source);
    fputs("<system version=\"1\">\n", out);
    w.depth = 1;
    for (int n = 0; n < topo->nnumas; n++)
        put_cpu(&w, n, cpu);
    put_cpu(&w, PIPC__UNKNOWN, cpu);
    fputs("</system>\n", out);
    return ferror(out) ? pipc__fail_errno(err, "output") : PIPC_OK;
}
