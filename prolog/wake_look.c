/* prolog/wake_look.c - what is seen of a link while its GPU works. Facts only; see wake.h
 *
 * A read under a copy counts if the copy was still under way after it. CUDA is started with the
 * GPUs alone that are to be touched: it would open all of the node's else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "prolog/express.h"
#include "prolog/gpu_driver.h"
#include "prolog/wake.h"
#include "runtime/base/ask.h"
#include "runtime/base/file.h"

#define READ_EVERY_MS 10
#define TRIES_MAX 200
#define COPY_BYTES ((size_t)16 << 20) /* a third of a millisecond at x16 Gen5 */
#define COPIES 4                      /* enqueued for one read */
#define UUID_MAX 96

/* A copy that has not raised the link by then won't. Tests have no link that takes its time. */
#ifndef PIPC_WAKE_RAISE_MS
#define PIPC_WAKE_RAISE_MS 500
#endif

/* NVML's interface is stable, and no header of it is needed. */
enum { NVML_SUCCESS = 0, NVML_NOT_SUPPORTED = 3, NVML_P0 = 0 };

typedef struct nvml {
    int (*init)(void);
    int (*by_bus_id)(const char *bus_id, void **device);
    int (*p_state)(void *device, int *state);
    int (*uuid)(void *device, char *text, unsigned int cap);
    int (*mig_mode)(void *device, unsigned int *now, unsigned int *pending);
    int (*compute)(void *device, unsigned int *n, void *list);
    int (*graphics)(void *device, unsigned int *n, void *list);
} nvml_t;

static void sleep_ms(int ms)
{
    const struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

    nanosleep(&t, NULL);
}

/* ---- the link ------------------------------------------------------------------------------ */

/* Of the port above it, which says no nonsense while the link trains. */
static int read_mts(const pipc__wake_t *wake, const pipc__wake_link_t *link)
{
    unsigned char config[PIPC__CONFIG_MAX + 1];
    size_t bytes = 0;

    if (!pipc__file_read(wake->sysroot, (char *)config, sizeof(config), &bytes,
                         "sys/bus/pci/devices/%s/config", link->port[0] ? link->port : link->gpu) ||
        pipc__config_all_ones(config, bytes))
        return -1;
    return pipc__express_decode(config, bytes).mts;
}

static bool is_raised(const pipc__wake_link_t *link, int mts)
{
    return mts >= link->want_mts;
}

/* ---- NVML ---------------------------------------------------------------------------------- */

static bool open_nvml(const char *library, nvml_t *nvml)
{
    static const char *const names[] = {
        "nvmlInit_v2",
        "nvmlDeviceGetHandleByPciBusId_v2",
        "nvmlDeviceGetPerformanceState",
        "nvmlDeviceGetUUID",
        "nvmlDeviceGetMigMode",
        /* the newest that is there of each */
        "nvmlDeviceGetComputeRunningProcesses_v3",
        "nvmlDeviceGetComputeRunningProcesses_v2",
        "nvmlDeviceGetComputeRunningProcesses",
        "nvmlDeviceGetGraphicsRunningProcesses_v3",
        "nvmlDeviceGetGraphicsRunningProcesses_v2",
        "nvmlDeviceGetGraphicsRunningProcesses",
    };
    void *f[11], *chosen[7] = {NULL};

    _Static_assert(sizeof(chosen) == sizeof(*nvml), "one pointer a function");
    if (!pipc__ask_open(library, names, 11, 5, f))
        return false;
    memcpy(chosen, f, 5 * sizeof(f[0]));
    for (int i = 5; i < 11; i++)
        if (!chosen[5 + (i - 5) / 3])
            chosen[5 + (i - 5) / 3] = f[i];
    memcpy(nvml, chosen, sizeof(*nvml));
    return nvml->compute && nvml->graphics && nvml->init() == NVML_SUCCESS;
}

/* Asked with no room for an answer, NVML gives success only where there is none. */
static bool has_no_process(const nvml_t *nvml, void *device)
{
    unsigned int compute = 0, graphics = 0;

    return nvml->compute(device, &compute, NULL) == NVML_SUCCESS && compute == 0 &&
           nvml->graphics(device, &graphics, NULL) == NVML_SUCCESS && graphics == 0;
}

static bool is_whole(const nvml_t *nvml, void *device)
{
    unsigned int now = 1, pending = 1;
    int rc = nvml->mig_mode(device, &now, &pending);

    return rc == NVML_NOT_SUPPORTED || (rc == NVML_SUCCESS && !now && !pending);
}

static bool is_awake(const nvml_t *nvml, void *device)
{
    int state = -1;

    return nvml->p_state(device, &state) == NVML_SUCCESS && state == NVML_P0;
}

static void look_by_nvml(const pipc__wake_t *wake, const nvml_t *nvml, pipc__wake_link_t *link)
{
    void *device;
    int mts;

    link->end = PIPC__WAKE_UNKNOWN;
    if (nvml->by_bus_id(link->gpu, &device) != NVML_SUCCESS)
        return;
    link->end = PIPC__WAKE_ASLEEP;
    if (!is_awake(nvml, device))
        return;
    for (link->reads = 0; link->reads < PIPC__WAKE_READS; link->reads++) {
        mts = read_mts(wake, link);
        if (is_raised(link, mts)) {
            link->end = PIPC__WAKE_RAISED;
            return;
        }
        link->mts[link->reads] = mts;
        sleep_ms(READ_EVERY_MS);
    }
    if (is_awake(nvml, device))
        link->end = PIPC__WAKE_STAYED_LOW;
}

/* ---- a copy -------------------------------------------------------------------------------- */

typedef struct copy {
    const pipc__gpu_driver_t *cu;
    pipc__gpu_ptr_t from;
    void *to;
    pipc__gpu_stream_t stream;
} copy_t;

/* One read with copies under way before and after it. 1, 0 (the copies were through: no read), or
 * -1 (a copy failed) */
static int read_under_copy(const pipc__wake_t *wake, const pipc__wake_link_t *link,
                           const copy_t *copy, int *mts)
{
    pipc__gpu_rc_t rc = PIPC__GPU_SUCCESS, after;

    for (int i = 0; i < COPIES && !rc; i++)
        rc = copy->cu->MemcpyDtoHAsync(copy->to, copy->from, COPY_BYTES, copy->stream);
    if (rc)
        return -1;
    *mts = read_mts(wake, link);
    after = copy->cu->StreamQuery(copy->stream);
    if (copy->cu->StreamSynchronize(copy->stream))
        return -1;
    return after == PIPC__GPU_NOT_READY;
}

static long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000L + t.tv_nsec / 1000000L;
}

/* First time for the link to train, then the reads. */
static void read_all(const pipc__wake_t *wake, pipc__wake_link_t *link, const copy_t *copy)
{
    long begin = now_ms();
    int mts = -1, got = 0;

    link->reads = 0;
    for (int tries = 0; tries < TRIES_MAX && link->reads < PIPC__WAKE_READS; tries++) {
        bool settled = now_ms() - begin >= PIPC_WAKE_RAISE_MS;
        got = read_under_copy(wake, link, copy, &mts);
        if (got < 0)
            return; /* end says that it failed */
        if (got && is_raised(link, mts)) {
            link->end = PIPC__WAKE_RAISED;
            return;
        }
        if (got && settled)
            link->mts[link->reads++] = mts;
        sleep_ms(READ_EVERY_MS);
    }
    link->end = PIPC__WAKE_STAYED_LOW; /* with too few reads that is no verdict */
}

static void look_by_copy(const pipc__wake_t *wake, const pipc__gpu_driver_t *cu,
                         pipc__wake_link_t *link)
{
    copy_t copy = {.cu = cu};
    pipc__gpu_context_t context;
    pipc__gpu_device_t device;

    link->end = PIPC__WAKE_UNKNOWN;
    if (cu->DeviceGetByPCIBusId(&device, link->gpu))
        return;
    link->end = PIPC__WAKE_FAILED;
    if (cu->PrimaryCtxRetain(&context, device))
        return;
    copy.to = aligned_alloc(4096, COPY_BYTES);
    if (copy.to)
        memset(copy.to, 0, COPY_BYTES);
    if (copy.to && !cu->CtxSetCurrent(context) && !cu->MemAlloc(&copy.from, COPY_BYTES)) {
        if (!cu->MemHostRegister(copy.to, COPY_BYTES, 0)) {
            if (!cu->StreamCreate(&copy.stream, PIPC__GPU_STREAM_NON_BLOCKING)) {
                read_all(wake, link, &copy);
                cu->StreamDestroy(copy.stream);
            }
            cu->MemHostUnregister(copy.to);
        }
        cu->MemFree(copy.from);
    }
    free(copy.to);
    cu->PrimaryCtxRelease(device);
}

/* Which of the GPUs may be touched: NVML says it, and their names for CUDA go to @visible. */
static int choose(const nvml_t *nvml, pipc__wake_link_t *links, int n, char *visible, size_t cap)
{
    char uuid[UUID_MAX];
    size_t used = 0;
    int chosen = 0;

    for (int i = 0; i < n; i++) {
        void *device;
        links[i].end = PIPC__WAKE_UNKNOWN;
        if (nvml->by_bus_id(links[i].gpu, &device) != NVML_SUCCESS ||
            nvml->uuid(device, uuid, sizeof(uuid)) != NVML_SUCCESS || used + strlen(uuid) + 2 > cap)
            continue;
        if (!is_whole(nvml, device)) {
            links[i].end = PIPC__WAKE_MIG;
        } else if (!has_no_process(nvml, device)) {
            links[i].end = PIPC__WAKE_BUSY;
        } else {
            used += (size_t)sprintf(visible + used, "%s%s", chosen++ ? "," : "", uuid);
            links[i].end = PIPC__WAKE_NO_ANSWER;
        }
    }
    return chosen;
}

void pipc__wake_look(const pipc__wake_t *wake, pipc__wake_link_t *links, int n,
                     void (*done)(void *arg, int i, const pipc__wake_link_t *link), void *arg)
{
    static char visible[65536];
    pipc__gpu_driver_t cu;
    nvml_t nvml = {NULL};
    bool copy = wake->mode == PIPC__WAKE_COPY, can;

    can = open_nvml(wake->nvml ? wake->nvml : PIPC__ASK_NVML, &nvml);
    for (int i = 0; i < n; i++)
        links[i].end = can ? PIPC__WAKE_NO_ANSWER : PIPC__WAKE_NO_DRIVER;
    if (can && copy && choose(&nvml, links, n, visible, sizeof(visible)) > 0) {
        setenv("CUDA_VISIBLE_DEVICES", visible, 1);
        /* As root's client we would make an MPS server root's, and keep it from the users'. */
        setenv("CUDA_MPS_PIPE_DIRECTORY", "/dev/null", 1);
        can = !pipc__gpu_driver_open(wake->cuda ? wake->cuda : PIPC__GPU_DRIVER, &cu, NULL);
    }
    for (int i = 0; i < n; i++) {
        if (links[i].end == PIPC__WAKE_NO_ANSWER && !can)
            links[i].end = PIPC__WAKE_NO_DRIVER;
        else if (links[i].end == PIPC__WAKE_NO_ANSWER && copy)
            look_by_copy(wake, &cu, &links[i]);
        else if (links[i].end == PIPC__WAKE_NO_ANSWER)
            look_by_nvml(wake, &nvml, &links[i]);
        done(arg, i, &links[i]);
    }
}
