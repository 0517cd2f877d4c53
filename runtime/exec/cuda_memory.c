/* exec/cuda_memory.c - staging on the GPU: the own, its handle, the peers'. See cuda_exec.h
 *
 * An IPC handle names a whole block of the driver's, 2 MiB or a multiple: what else lay in it,
 * peers could write as well. So staging is whole blocks, and the lanes' state, which peers never
 * touch, is allocated apart.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/exec/cuda_exec.h"
#include "runtime/exec/cuda_pin.h"
#include "runtime/exec/perturb.h"

#define PAGE 4096
#define VERSION 9

_Static_assert(sizeof(pipc__cuda_handle_t) <= PIPC__HANDLE_MAX, "handle fits the record");

/* --- own ------------------------------------------------------------------------------------- */

static pipc_status_t alloc_zeroed(pipc__cuda_exec_t *x, CUdeviceptr *p, size_t bytes,
                                  const char *what, pipc__error_t *err)
{
    CUresult rc = x->cu->MemAlloc(p, bytes);

    if (rc)
        return pipc__cuda_fail(x->cu, rc, err, "%s, %zu bytes on the GPU: cuMemAlloc", what, bytes);
    pipc_status_t st = PIPC__CUDA_TRY(x->cu, err, MemsetD8Async, *p, 0, bytes, x->stream);
    return st ? st : PIPC__CUDA_TRY(x->cu, err, StreamSynchronize, x->stream);
}

/* Let kernels read the abort word and write where they gave up. */
static pipc_status_t reach_page(pipc__cuda_exec_t *x, pipc__error_t *err)
{
    pipc__page_t *page = pipc__control_page(x->base.ctl);
    size_t bytes = (sizeof(*page) + PAGE - 1) / PAGE * PAGE;
    CUdeviceptr there = 0;
    CUresult rc = pipc__cuda_pin(x->cu, page, bytes, &there);

    if (rc)
        return pipc__cuda_fail(x->cu, rc, err, "own control page: cuMemHostRegister");
    x->registered = true;
    x->args.abort = (const uint64_t *)(there + offsetof(pipc__page_t, abort));
    x->args.stalled_round = (uint64_t *)(there + offsetof(pipc__page_t, stalled_round));
    x->args.stalled_step = (uint64_t *)(there + offsetof(pipc__page_t, stalled_step));
    return PIPC_OK;
}

pipc_status_t pipc__cuda_alloc(pipc__cuda_exec_t *x, size_t staging_bytes, pipc__error_t *err)
{
    x->layout = pipc__layout(staging_bytes, 0);
    pipc_status_t st = alloc_zeroed(x, &x->own, x->layout.bytes, "staging", err);
    if (!st)
        st = alloc_zeroed(x, &x->state, sizeof(pipc__lane_state_t), "state", err);
#ifdef PIPC_PERTURB
    if (!st)
        st = PIPC__CUDA_TRY(x->cu, err, MemcpyHtoDAsync,
                            x->state + offsetof(pipc__lane_state_t, calls), &pipc__perturb.calls,
                            sizeof(pipc__perturb.calls), x->stream);
    x->order.launched = x->order.recorded = pipc__perturb.calls;
#endif
    if (!st)
        st = reach_page(x, err);
    if (!st)
        st = pipc__segment_create(&x->own_host, x->layout.bytes, &x->host_handle, err);
    x->args.state = (pipc__lane_state_t *)x->state;
    x->args.scrub[0] = (char *)x->own + x->layout.ll_at;
    return st;
}

/* The ranks of a communicator that failed do not wait for each other's end, and a mapping by IPC
 * would keep the memory for a kernel that still writes there. Without one it stays until the
 * process ends. */
static bool is_used_inside(const pipc__cuda_exec_t *x)
{
    return x->inside && (x->broken.status || pipc__control_state(x->base.ctl, NULL));
}

void pipc__cuda_free(pipc__cuda_exec_t *x)
{
    if (x->registered)
        pipc__cuda_unpin(x->cu, pipc__control_page(x->base.ctl));
    if (x->state)
        x->cu->MemFree(x->state);
    if (x->own && !is_used_inside(x))
        x->cu->MemFree(x->own);
    x->registered = false;
    x->state = x->own = 0;
    pipc__cuda_leave_host(x, x->rank);
    pipc__segment_close(&x->own_host);
}

/* --- handle and place ------------------------------------------------------------------------ */

/* As lspci and sysfs write it: the driver writes capital letters. */
static pipc_status_t find_bdf(const pipc__cuda_exec_t *x, char bdf[16], pipc__error_t *err)
{
    pipc_status_t st = PIPC__CUDA_TRY(x->cu, err, DeviceGetPCIBusId, bdf, 16, x->device);

    for (char *p = bdf; !st && *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return st;
}

/* Has this process a part of a GPU? The driver's name of one ends in "MIG 1g.10gb". */
static bool is_mig(const pipc__cuda_exec_t *x)
{
    char name[128] = "";

    return !x->cu->DeviceGetName(name, sizeof(name), x->device) && strstr(name, " MIG ");
}

/* "GPU-8-4-4-4-12", or "MIG-...", as nvidia-smi -L. */
static pipc_status_t find_uuid(const pipc__cuda_exec_t *x, char uuid[48], pipc__error_t *err)
{
    static const char hex[] = "0123456789abcdef";
    CUuuid id;
    char *p = uuid + 4;
    pipc_status_t st = PIPC__CUDA_TRY(x->cu, err, DeviceGetUuid, &id, x->device);

    if (st)
        return st;
    memcpy(uuid, is_mig(x) ? "MIG-" : "GPU-", 4);
    for (int i = 0; i < 16; i++) {
        unsigned char b = (unsigned char)id.bytes[i];
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *p++ = '-';
        *p++ = hex[b >> 4];
        *p++ = hex[b & 15];
    }
    *p = '\0';
    return PIPC_OK;
}

/* Native atomics between two GPUs are what NVLink has and PCIe has not. A driver that does not
 * answer proves nothing. */
static void find_nvlinks(const pipc__cuda_exec_t *x, const char *own, pipc__nvlinks_t *links)
{
    int count = 0;

    memset(links, 0, sizeof(*links));
    pipc__nvlinks_add(links, own);
    if (x->cu->DeviceGetCount(&count))
        return;
    for (int i = 0; i < count; i++) {
        CUdevice peer;
        int atomics = 0;
        char bdf[16];
        if (!x->cu->DeviceGet(&peer, i) && peer != x->device &&
            !x->cu->DeviceGetP2PAttribute(&atomics, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED,
                                          x->device, peer) &&
            atomics && !x->cu->DeviceGetPCIBusId(bdf, sizeof(bdf), peer))
            pipc__nvlinks_add(links, bdf);
    }
}

pipc_status_t pipc__cuda_describe(pipc__cuda_exec_t *x, uint8_t handle[PIPC__HANDLE_MAX],
                                  pipc__exec_place_t *place, pipc__error_t *err)
{
    pipc__cuda_handle_t h = {.version = VERSION,
                             .most_blocks = x->most_blocks,
                             .capacity = x->capacity,
                             .mig = is_mig(x),
                             .bytes = x->layout.bytes,
                             .own = x->own,
                             .context = (uintptr_t)x->context,
                             .host = x->host_handle};
    CUdeviceptr base = 0;
    size_t whole;
    pipc_status_t st = find_bdf(x, place->bdf, err);

    if (!st)
        st = find_uuid(x, place->uuid, err);
    if (!st)
        st = PIPC__CUDA_TRY(x->cu, err, DeviceGetName, place->gpu, sizeof(place->gpu), x->device);
    if (!st)
        st = PIPC__CUDA_TRY(x->cu, err, MemGetAddressRange, &base, &whole, x->own);
    if (!st)
        st = h.mig ? PIPC_OK : PIPC__CUDA_TRY(x->cu, err, IpcGetMemHandle, &h.ipc, x->own);
    find_nvlinks(x, place->bdf, &place->nvlinks);
    pipc__cuda_place_host(x, place->bdf);
    h.offset = x->own - base;
    memcpy(h.bdf, place->bdf, sizeof(h.bdf));
    memset(handle, 0, PIPC__HANDLE_MAX);
    memcpy(handle, &h, sizeof(h));
    return st;
}

/* --- peers -----------------------------------------------------------------------------------
 *
 * A mapping outlives the process that made the memory: the driver keeps the block until the last
 * mapping is closed. A kernel that still pushes when its peer is killed writes into memory that
 * nobody reads, and no fault comes of it (seen with driver 580 on two H200, pushes under way); it
 * ends at its next wait, by the abort word.
 */

/* What keeps this process from rank @r's GPU, as well as can be told. */
static pipc__path_state_t why_not(const pipc__cuda_exec_t *x, const pipc__cuda_handle_t *h)
{
    CUdevice peer;
    int can = 0;

    if (x->cu->DeviceGetByPCIBusId(&peer, h->bdf))
        return PIPC__PATH_HIDDEN;
    if (peer != x->device && (x->cu->DeviceCanAccessPeer(&can, x->device, peer) || !can))
        return PIPC__PATH_REFUSED;
    return PIPC__PATH_UNOPENED;
}

/* Of a rank of this process, a thread with another GPU, the driver refuses to open a handle: its
 * memory has an address here already. */
static CUresult reach_inside(const pipc__cuda_exec_t *x, const pipc__cuda_handle_t *h,
                             CUdeviceptr *there)
{
    CUcontext context = (CUcontext)(uintptr_t)h->context;
    CUresult rc = context == x->context ? CUDA_SUCCESS : x->cu->CtxEnablePeerAccess(context, 0);

    if (rc == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) /* by the program, or by NCCL */
        rc = CUDA_SUCCESS;
    *there = rc ? 0 : (CUdeviceptr)h->own;
    return rc;
}

/* As cuIpcOpenMemHandle, for ranks here and elsewhere: where staging of rank @r begins. */
static CUresult reach(pipc__cuda_exec_t *x, int r, CUdeviceptr *there)
{
    const pipc__cuda_handle_t *h = &x->handle[r];

    if (pipc__segment_is_own(&h->host))
        return reach_inside(x, h, there);
    CUresult rc = x->cu->IpcOpenMemHandle(&x->peer[r], h->ipc, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    *there = x->peer[r] + h->offset;
    return rc;
}

/* Without P2P the driver's own answer to opening a handle differs from version to version, so its
 * error is for the text alone. Parts of GPUs have no P2P, and are not asked: that a handle opens
 * inside one GPU, as some drivers have it, is no path. */
static pipc__path_state_t open_peer(pipc__cuda_exec_t *x, int r, CUresult *rc)
{
    const pipc__cuda_handle_t *h = &x->handle[r];
    CUdeviceptr there = 0;

    *rc = CUDA_SUCCESS;
    if (x->args.staging[r])
        return PIPC__PATH_GOOD;
    if (h->mig || x->handle[x->rank].mig) {
        *rc = CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
        return PIPC__PATH_MIG;
    }
    *rc = reach(x, r, &there);
    if (*rc == CUDA_SUCCESS) {
        x->args.staging[r] = (char *)there;
        return PIPC__PATH_GOOD;
    }
    x->peer[r] = 0;
    return why_not(x, h);
}

pipc__path_state_t pipc__cuda_open_peer(pipc__cuda_exec_t *x, int r)
{
    CUresult ignored;

    return open_peer(x, r, &ignored);
}

static pipc_status_t map_peer(pipc__cuda_exec_t *x, int r, pipc__error_t *err)
{
    char name[128];
    CUresult rc;
    pipc__path_state_t state = open_peer(x, r, &rc);

    if (state == PIPC__PATH_GOOD)
        return PIPC_OK;
    pipc__cuda_fail(
        x->cu, rc, err,
        "staging of %s on GPU %s can't be mapped: %s; %s%sor go through host memory with "
        "PCIE_IPC_PATH=host: cuIpcOpenMemHandle",
        pipc__control_name(x->base.ctl, r, name, sizeof(name)), x->handle[r].bdf,
        pipc__path_meaning(state), pipc__path_remedy(state), *pipc__path_remedy(state) ? ", " : "");
    if (err)
        err->status = PIPC_ERR_UNREACHABLE;
    return PIPC_ERR_UNREACHABLE;
}

/* Which ranks' memory, device [0] and host [1], the own programs touch: a bit a rank. */
static void note(uint32_t needs[2], int place, int rank)
{
    if (place == PIPC__SLOT || place == PIPC__HOST)
        needs[place == PIPC__HOST] |= 1u << rank;
}

static void find_needs(const pipc__plan_t *plan, int rank, uint32_t needs[2])
{
    for (int s = 0; s < plan->nstages; s++)
        for (int i = 0; i < plan->program[rank][s].nops; i++) {
            const pipc__op_t *op = &plan->program[rank][s].ops[i];
            bool moves = op->kind == PIPC__COPY || op->kind == PIPC__REDUCE;
            note(needs, op->dst.place,
                 moves                      ? op->dst.rank
                 : op->kind == PIPC__SIGNAL ? op->peer
                                            : rank);
            for (int k = 0; k < op->nsrc; k++)
                note(needs, op->src[k].place, op->src[k].rank);
        }
}

pipc_status_t pipc__cuda_reach(pipc__cuda_exec_t *x, const pipc__plan_t *plan, pipc__error_t *err)
{
    uint32_t needs[2] = {0, 0};
    pipc_status_t st = PIPC_OK;

    find_needs(plan, x->rank, needs);
    for (int r = 0; !st && r < x->size; r++) {
        if (needs[0] >> r & 1)
            st = map_peer(x, r, err);
        if (!st && needs[1] >> r & 1)
            st = pipc__cuda_reach_host(x, r, err);
    }
    return st;
}

static pipc_status_t judge_handle(const pipc__cuda_exec_t *x, int r, pipc__error_t *err)
{
    const pipc__cuda_handle_t *h = &x->handle[r];
    char name[128];

    if (h->version == VERSION && h->bytes == x->layout.bytes && h->most_blocks >= 1 &&
        h->capacity >= 1)
        return PIPC_OK;
    return pipc__fail(err, PIPC_ERR_MISMATCH,
                      "%s has staging of %llu bytes (version %u), this "
                      "rank %zu (version %u): use the same options and the same pcie-ipc on "
                      "every rank",
                      pipc__control_name(x->base.ctl, r, name, sizeof(name)),
                      (unsigned long long)h->bytes, h->version, x->layout.bytes, VERSION);
}

/* Of the ranks' GPUs the one that most of them share, under MPS: all blocks of all of these must be
 * resident, or the ranks wait for each other's. A part of a GPU is nobody else's. */
static int most_on_one_gpu(const pipc__cuda_exec_t *x)
{
    int most = 1;

    for (int r = 0; r < x->size; r++) {
        int n = 0;
        for (int q = 0; q < x->size; q++)
            n += !x->handle[r].mig && !strcmp(x->handle[q].bdf, x->handle[r].bdf);
        most = n > most ? n : most;
    }
    return most;
}

static int share_of(int blocks, int ranks)
{
    return blocks > ranks ? blocks / ranks : 1;
}

pipc_status_t pipc__cuda_take_handles(pipc__cuda_exec_t *x,
                                      const uint8_t (*handles)[PIPC__HANDLE_MAX],
                                      pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;

    for (int r = 0; !st && r < x->size; r++) {
        pipc__cuda_handle_t *h = &x->handle[r];
        memcpy(h, handles[r], sizeof(*h));
        h->bdf[sizeof(h->bdf) - 1] = '\0';
        if (r != x->rank) {
            st = judge_handle(x, r, err);
            x->inside |= pipc__segment_is_own(&h->host);
        }
        /* The least of all: every rank comes to the same number. */
        if (!st && h->most_blocks < x->most_blocks)
            x->most_blocks = h->most_blocks;
        if (!st && h->capacity < x->capacity)
            x->capacity = h->capacity;
    }
    int sharing = st ? 1 : most_on_one_gpu(x);
    x->most_blocks = share_of(x->most_blocks, sharing);
    x->capacity = share_of(x->capacity, sharing);
    x->layout = pipc__layout(x->layout.bytes, x->size);
    x->args.area_bytes = x->layout.area_bytes;
    x->args.staging[x->rank] = (char *)x->own;
    x->args.rank = x->rank;
    x->args.nranks = (uint32_t)x->size;
    x->args.nth = 1.0 / x->size;
    x->args.reciprocal = UINT64_MAX / (uint64_t)x->size;
    return st;
}

void pipc__cuda_unmap_peers(pipc__cuda_exec_t *x)
{
    pipc__cuda_ce_end(x); /* its copies go there */
    for (int r = 0; r < PIPC__RANKS_MAX; r++) {
        if (x->peer[r])
            x->cu->IpcCloseMemHandle(x->peer[r]);
        x->peer[r] = 0;
        if (r == x->rank)
            continue;
        x->args.staging[r] = NULL;
        pipc__cuda_leave_host(x, r);
    }
}
