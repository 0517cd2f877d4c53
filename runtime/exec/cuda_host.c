/* exec/cuda_host.c - staging in host memory, for ranks that can't write each other's device memory.
 * See cuda_exec.h
 *
 *     GPU of rank 0 --writes--> segment of rank 1 <--reads-- GPU of rank 1
 *
 * A rank's segment is a memfd as the CPU executor's (segment.h), laid out as staging on the device;
 * each process that touches it pins its own mapping. It is made at the start, since its handle
 * travels with the others, and costs nothing until a plan asks for it: pages are taken when they
 * are pinned, on the NUMA node of the owner's GPU.
 */
#include "runtime/base/file.h"
#include "runtime/exec/cuda_exec.h"
#include "runtime/exec/cuda_pin.h"

static pipc__segment_t *segment_of(pipc__cuda_exec_t *x, int r)
{
    return r == x->rank ? &x->own_host : &x->peer_host[r];
}

static pipc_status_t pin(pipc__cuda_exec_t *x, int r, const char *name, pipc__error_t *err)
{
    pipc__segment_t *seg = segment_of(x, r);
    CUdeviceptr there = 0;
    CUresult rc = pipc__cuda_pin(x->cu, seg->base, seg->bytes, &there);

    if (rc)
        return pipc__cuda_fail(
            x->cu, rc, err,
            "staging of %s in host memory, %zu bytes, can't be pinned; give less "
            "staging_bytes: cuMemHostRegister",
            name, seg->bytes);
    x->args.host[r] = (char *)(there + PIPC__SEGMENT_HEAD);
    if (r == x->rank && x->args.scrub[0])
        x->args.scrub[1] = x->args.host[r] + x->layout.ll_at;
    return PIPC_OK;
}

void pipc__cuda_place_host(pipc__cuda_exec_t *x, const char *bdf)
{
    int64_t node;

    if (pipc__file_int(NULL, &node, "sys/bus/pci/devices/%s/numa_node", bdf) && node >= 0)
        pipc__segment_prefer_node(&x->own_host, (int)node);
}

pipc_status_t pipc__cuda_reach_host(pipc__cuda_exec_t *x, int r, pipc__error_t *err)
{
    pipc__error_t why;
    char name[128];

    if (x->args.host[r])
        return PIPC_OK;
    pipc__control_name(x->base.ctl, r, name, sizeof(name));
    if (r != x->rank && pipc__segment_open(&x->peer_host[r], &x->handle[r].host, &why))
        return pipc__fail(err, why.status, "staging of %s in host memory: %s", name, why.text);
    pipc_status_t st = pin(x, r, name, err);
    if (st && r != x->rank)
        pipc__segment_close(&x->peer_host[r]);
    return st;
}

void pipc__cuda_leave_host(pipc__cuda_exec_t *x, int r)
{
    pipc__segment_t *seg = segment_of(x, r);

    if (x->args.host[r])
        pipc__cuda_unpin(x->cu, seg->base);
    x->args.host[r] = NULL;
    if (r != x->rank)
        pipc__segment_close(seg);
}
