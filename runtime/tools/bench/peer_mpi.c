/* tools/bench/peer_mpi.c - MPI as a peer on CPUs, through bench_mpi.so. See mpi_module.h */
#include <dlfcn.h>

#include "runtime/tools/bench/mpi_module.h"
#include "runtime/tools/bench/peer.h"

static const bench_mpi_module_t *mpi;
static pipc__error_t failed; /* what start() met */
static const char *library;  /* of --peer mpi:PATH; NULL: the installed one */

/* RTLD_GLOBAL: MPI libraries open components of their own, which need the library's symbols. */
static pipc_status_t load(const char *path, pipc__error_t *err)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);

    if (!lib)
        return pipc__fail(err, PIPC_ERR_NOT_FOUND,
                          "%s; it is installed where MPI was there to build it, "
                          "or give --peer mpi:PATH",
                          dlerror());
    const bench_mpi_module_t *m = dlsym(lib, BENCH_MPI_SYMBOL);
    if (!m || m->version != BENCH_MPI_VERSION)
        return pipc__fail(err, PIPC_ERR_MISMATCH, "%s belongs to another pcie-ipc", path);
    mpi = m;
    return PIPC_OK;
}

static bool mpi_parse(const char *spec)
{
    library = spec;
    return !spec || *spec;
}

/* Before there is a communicator: Open MPI 4.1 can't start in a process in which PMIx was
 * finalised, and our exchange finalises it, unless MPI holds it already. */
static void mpi_start(void)
{
    if (load(library ? library : PIPC_BENCH_MPI, &failed))
        return;
    int rc = mpi->start();
    if (rc)
        pipc__fail(&failed, PIPC_ERR_SYSTEM, "MPI_Init: error %d", rc);
}

static pipc_status_t mpi_open(pipc_comm_t *comm, const bench_device_t *device, size_t bytes,
                              pipc__error_t *err)
{
    pipc_status_t st = bench_peer_agree(comm, "MPI", &failed, err);

    (void)device;
    (void)bytes;
    if (st)
        return st;
    int rc = mpi->open(pipc__rails_needed(&comm->rails) ? 0 : comm->recs[0].rank, comm->rank);
    return rc ? pipc__fail(err, PIPC_ERR_SYSTEM, "MPI_Comm_split: error %d", rc) : PIPC_OK;
}

static int mpi_variants(void)
{
    return 1;
}

static const char *mpi_variant(int v)
{
    (void)v;
    return "default";
}

static bool mpi_usable(int v)
{
    return mpi && v == 0;
}

static const char *mpi_why_not(int v) /* its one variant: open() fails without it */
{
    (void)v;
    return NULL;
}

static pipc_status_t mpi_allreduce(int v, const void *send, void *recv, size_t count,
                                   pipc_dtype_t dtype, pipc_redop_t op, void *stream,
                                   pipc__error_t *err)
{
    int rc = mpi->allreduce(send, recv, count, pipc_dtype_string(dtype), pipc_redop_string(op));

    (void)v;
    (void)stream;
    if (rc == -1)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                          "MPI has no %s of %zu %s; leave out --peer mpi", pipc_redop_string(op),
                          count, pipc_dtype_string(dtype));
    return rc ? pipc__fail(err, PIPC_ERR_SYSTEM, "MPI_Allreduce: error %d", rc) : PIPC_OK;
}

static const char *mpi_version(void)
{
    return mpi ? mpi->library() : "MPI";
}

static void mpi_close(void)
{
    if (mpi)
        mpi->close();
    mpi = NULL;
}

const bench_peer_t bench_peer_mpi = {
    .name = "mpi",
    .on_gpu = false,
    .parse = mpi_parse,
    .wants = "mpi or mpi:PATH",
    .start = mpi_start,
    .open = mpi_open,
    .variants = mpi_variants,
    .variant = mpi_variant,
    .usable = mpi_usable,
    .why_not = mpi_why_not,
    .allreduce = mpi_allreduce,
    .version = mpi_version,
    .close = mpi_close,
};
