/* spank/report.c - see report.h */
#include "spank/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Append to a text of PIPC__REPORT_MAX bytes; what does not fit is cut. */
static void add(char *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(char *buf, const char *fmt, ...)
{
    size_t used = strlen(buf);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(buf + used, PIPC__REPORT_MAX - used, fmt, ap);
    va_end(ap);
}

static bool isset(const pipc__cpus_t *mask, unsigned int cpu)
{
    return cpu < PIPC__CPUS_MAX &&
           mask->word[cpu / PIPC__CPU_WORD_BITS] >> cpu % PIPC__CPU_WORD_BITS & 1;
}

void pipc__report_cpus(const pipc__cpus_t *mask, char *buf, size_t cap)
{
    size_t used = 0;

    buf[0] = '\0';
    for (unsigned int first = 0; first < PIPC__CPUS_MAX; first++) {
        unsigned int last = first;
        char range[32];
        if (!isset(mask, first))
            continue;
        while (isset(mask, last + 1))
            last++;
        int n = snprintf(range, sizeof(range), first == last ? "%s%u" : "%s%u-%u", used ? "," : "",
                         first, last);
        if (used + (size_t)n + sizeof("...") > cap) { /* always leave room for this */
            snprintf(buf + used, cap - used, "...");
            return;
        }
        memcpy(buf + used, range, (size_t)n + 1);
        used += (size_t)n;
        first = last;
    }
}

static void add_gpus(const pipc__place_out_t *out, char *buf)
{
    if (out->ngpus == 0)
        add(buf, "%s", out->step_ngpus ? "GPUs as Slurm gave them" : "no GPU");
    else if (out->shown == PIPC__SHOWN_ONE && out->ngpus > 1)
        add(buf, "%d GPUs in this order: %s", out->ngpus, out->gpus);
    else if (*out->bdf)
        add(buf, "GPU %s (minor %s)", out->bdf, out->minor);
    else
        add(buf, "%d GPUs of several models, in CUDA's own order", out->ngpus);
    if (*out->sw)
        add(buf, ", switch %s", out->sw);
    if (*out->numa)
        add(buf, ", NUMA node %s", out->numa);
}

static void add_cores(const pipc__place_in_t *in, const pipc__place_out_t *out, char *buf)
{
    char cpus[256];

    pipc__report_cpus(&out->cpus, cpus, sizeof(cpus));
    add(buf, ", cores %s", *cpus ? cpus : "not known");
    if (!in->bind)
        add(buf, " (bind:none)");
    else if (in->keep_cpus)
        add(buf, " (--cpu-bind)");
    else if (*out->bdf && !out->near && *out->numa)
        add(buf, " (none of them near the GPU)");
}

void pipc__report_task(const pipc__place_in_t *in, const pipc__place_out_t *out, unsigned int rank,
                       bool memory, char buf[PIPC__REPORT_MAX])
{
    buf[0] = '\0';
    add(buf, "rank %u (local %d): ", rank, in->rank);
    add_gpus(out, buf);
    add_cores(in, out, buf);
    if (memory)
        add(buf, ", memory of node %d preferred", out->mem_node);
    if (*out->nic)
        add(buf, ", NIC %s", out->nic);
    if (out->way_cut)
        add(buf, ", PCIE_IPC_WAY without its inner levels (too long)");
}

void pipc__report_far(const pipc__place_in_t *in, const pipc__place_out_t *out,
                      char buf[PIPC__REPORT_MAX])
{
    buf[0] = '\0';
    if (in->cpus_shared)
        add(buf, "%d of %d tasks have no granted core near their GPU; they keep", out->far,
            in->nranks);
    else
        add(buf, "local task %d has no granted core near its GPU; it keeps", in->rank);
    add(buf, " the cores that Slurm granted; --gres-flags=enforce-binding asks for near ones");
}

void pipc__report_node(const pipc__place_in_t *in, const pipc__place_out_t *out, const char *mode,
                       char buf[PIPC__REPORT_MAX])
{
    static const char *const shown[] = {
        [PIPC__SHOWN_SAME] = "all tasks see the same list",
        [PIPC__SHOWN_OWN] = "each task sees a list of its own",
        [PIPC__SHOWN_ONE] = "the task sees all",
    };

    buf[0] = '\0';
    add(buf, "%s: %d task%s, ", mode, in->nranks, in->nranks == 1 ? "" : "s");
    if (out->step_ngpus)
        add(buf, "%d GPU%s, %s", out->step_ngpus, out->step_ngpus == 1 ? "" : "s",
            shown[out->shown]);
    else
        add(buf, "no GPU granted");
    add(buf, "; topology: %s", out->source);
}

bool pipc__has_task_sharing(const char *version)
{
    unsigned int major = 0, minor = 0;

    if (!version || sscanf(version, "%u.%u", &major, &minor) != 2)
        return false;
    return major > 23 || (major == 23 && minor >= 11);
}

void pipc__report_hidden(const pipc__place_out_t *out, const char *version,
                         char buf[PIPC__REPORT_MAX])
{
    buf[0] = '\0';
    add(buf,
        "the device cgroup hides %d of the step's %d GPUs on this node from each task, so CUDA "
        "IPC can't reach %s; ",
        out->hidden, out->step_ngpus, out->hidden == 1 ? "that peer" : "those peers");
    if (pipc__has_task_sharing(version))
        add(buf, "add --gres-flags=allow-task-sharing");
    else
        add(buf, "use --gpus-per-node=%d in place of --gpus-per-task or --gpu-bind",
            out->step_ngpus);
}

bool pipc__pmix_is_ours(const char *nspace, unsigned int step)
{
    static const char slurms[] = "slurm.pmix.";
    const char *dot;

    if (!nspace || !*nspace)
        return false;
    if (strncmp(nspace, slurms, sizeof(slurms) - 1))
        return true;
    dot = strrchr(nspace, '.');
    return strtoul(dot + 1, NULL, 10) == step;
}
