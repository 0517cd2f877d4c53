/* tests/unit/gpu_fake.c - a library with the names of the CUDA driver and of NVML, and no GPU
 * behind it: what prolog/gpu_driver.h and prolog/wake_look.c ask for. A test calls it libcuda.so.1,
 * libnvidia-ml.so.1 or both.
 *
 * FAKE_GPUS: the GPUs' addresses, with commas. FAKE_GPU: what is odd about them, words with blanks:
 *   mig, busy, graphics, p8, tired (P0 at first), hang, crash, no-nvml
 *   no-peer, nvlink, fails (copies do), wrong (one copy changes a byte), lost (one copy does
 *   nothing), stops (copies never end after some), dies (they fail after some),
 *   quick (copies are through at once), careless (streams do not wait for events)
 * FAKE_LINK: a file of config space that says Gen4 once something was copied; FAKE_LINK_AT: the
 * byte of the link's speed in it.
 * FAKE_TOUCHED: a file that gets the address of each GPU whose context is made.
 *
 * What is enqueued is done later, streams against each other in a random order, as far as events
 * let them. What needs a context, or one that fits, fails without.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prolog/gpu_driver.h"

#pragma GCC visibility push(default)
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define GPUS_MAX 16

enum { INVALID_DEVICE = 101, INVALID_CONTEXT = 201, INVALID_HANDLE = 400, LAUNCH_FAILED = 719 };

struct CUctx_st {
    int device;
};

struct CUevent_st {
    struct CUctx_st *context;
    long recorded, done; /* the last of each */
};

typedef struct op {
    enum { COPY, RECORD, WAIT } kind;
    void *to;
    const void *from;
    size_t bytes;
    struct CUevent_st *event;
    long serial; /* of the event's record */
} op_t;

#define OPS_MAX 64
#define STREAMS_MAX 256

struct CUstream_st {
    struct CUctx_st *context;
    op_t op[OPS_MAX];
    int head, n;
};

static struct CUctx_st contexts[GPUS_MAX];
static struct CUctx_st *current; /* one thread at a time uses this driver */
static struct CUstream_st *streams[STREAMS_MAX];
static int nstreams;
static long copies;
static unsigned int chance = 1;

static int is(const char *word)
{
    const char *words = getenv("FAKE_GPU"), *at = words ? strstr(words, word) : NULL;

    return at && (at == words || at[-1] == ' ') && (!at[strlen(word)] || at[strlen(word)] == ' ');
}

static int gpus(char out[GPUS_MAX][32])
{
    char text[512];
    int n = 0;

    snprintf(text, sizeof(text), "%s", getenv("FAKE_GPUS") ? getenv("FAKE_GPUS") : "");
    for (char *save = NULL, *g = strtok_r(text, ",", &save); g; g = strtok_r(NULL, ",", &save))
        snprintf(out[n++], 32, "%s", g);
    return n;
}

static int index_of(const char *bdf)
{
    char list[GPUS_MAX][32];
    int n = gpus(list);

    for (int i = 0; i < n; i++)
        if (strcasecmp(list[i], bdf) == 0)
            return i;
    return -1;
}

/* ---- NVML ---------------------------------------------------------------------------------- */

int nvmlInit_v2(void)
{
    while (is("hang"))
        pause();
    if (is("crash"))
        abort();
    return is("no-nvml") ? 9 : 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bdf, void **device)
{
    *device = (char *)contexts + index_of(bdf);
    return index_of(bdf) < 0 ? 6 : 0;
}

int nvmlDeviceGetUUID(void *device, char *text, unsigned int cap)
{
    snprintf(text, cap, "GPU-%d", (int)((char *)device - (char *)contexts));
    return 0;
}

int nvmlDeviceGetPerformanceState(void *device, int *state)
{
    static int asked;

    *state = is("p8") || (is("tired") && asked++ > 0) ? 8 : 0;
    return 0;
}

int nvmlDeviceGetMigMode(void *device, unsigned int *now, unsigned int *pending)
{
    *now = *pending = is("mig") ? 1 : 0;
    return is("mig") ? 0 : 3; /* not supported */
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned int *n, void *list)
{
    *n = is("busy") ? 1 : 0;
    return is("busy") ? 7 : 0; /* insufficient size */
}

int nvmlDeviceGetGraphicsRunningProcesses(void *device, unsigned int *n, void *list)
{
    *n = is("graphics") ? 1 : 0;
    return is("graphics") ? 7 : 0;
}

/* ---- driver and device --------------------------------------------------------------------- */

pipc__gpu_rc_t cuInit(unsigned int flags)
{
    char list[GPUS_MAX][32];

    return gpus(list) > 0 ? PIPC__GPU_SUCCESS : PIPC__GPU_NO_DEVICE;
}

pipc__gpu_rc_t cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

pipc__gpu_rc_t cuGetErrorName(pipc__gpu_rc_t rc, const char **name)
{
    *name = rc == LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED" : "CUDA_ERROR_FAKE";
    return 0;
}

pipc__gpu_rc_t cuGetErrorString(pipc__gpu_rc_t rc, const char **words)
{
    *words = "the fake driver refuses";
    return 0;
}

pipc__gpu_rc_t cuDeviceGetCount(int *n)
{
    char list[GPUS_MAX][32];

    *n = gpus(list);
    return 0;
}

pipc__gpu_rc_t cuDeviceGet(pipc__gpu_device_t *device, int i)
{
    *device = i;
    return 0;
}

pipc__gpu_rc_t cuDeviceGetName(char *name, int cap, pipc__gpu_device_t device)
{
    snprintf(name, (size_t)cap, "NVIDIA Fake");
    return 0;
}

pipc__gpu_rc_t cuDeviceGetPCIBusId(char *bdf, int cap, pipc__gpu_device_t device)
{
    char list[GPUS_MAX][32];

    gpus(list);
    snprintf(bdf, (size_t)cap, "%s", list[device]);
    for (char *p = bdf; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    return 0;
}

/* CUDA shows those alone that are named, and gives them numbers from 0 on. */
pipc__gpu_rc_t cuDeviceGetByPCIBusId(pipc__gpu_device_t *device, const char *bdf)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    char uuid[32];

    *device = index_of(bdf);
    snprintf(uuid, sizeof(uuid), "GPU-%d", *device);
    return *device < 0 || (visible && !strstr(visible, uuid)) ? INVALID_DEVICE : 0;
}

pipc__gpu_rc_t cuDeviceCanAccessPeer(int *can, pipc__gpu_device_t a, pipc__gpu_device_t b)
{
    *can = !is("no-peer");
    return 0;
}

pipc__gpu_rc_t cuDeviceGetP2PAttribute(int *value, unsigned int which, pipc__gpu_device_t a,
                                       pipc__gpu_device_t b)
{
    *value = which == PIPC__GPU_P2P_NATIVE_ATOMICS && is("nvlink");
    return 0;
}

/* ---- context ------------------------------------------------------------------------------- */

pipc__gpu_rc_t cuDevicePrimaryCtxRetain(pipc__gpu_context_t *context, pipc__gpu_device_t device)
{
    const char *path = getenv("FAKE_TOUCHED");
    FILE *f = path ? fopen(path, "a") : NULL;
    char bdf[32];

    *context = &contexts[device];
    if (f) {
        cuDeviceGetPCIBusId(bdf, sizeof(bdf), device);
        fprintf(f, "%s\n", bdf);
        fclose(f);
    }
    return 0;
}

pipc__gpu_rc_t cuDevicePrimaryCtxRelease_v2(pipc__gpu_device_t device)
{
    return 0;
}

pipc__gpu_rc_t cuCtxSetCurrent(pipc__gpu_context_t context)
{
    current = context;
    return context ? 0 : INVALID_CONTEXT;
}

pipc__gpu_rc_t cuCtxEnablePeerAccess(pipc__gpu_context_t peer, unsigned int flags)
{
    return !current || peer == current ? INVALID_CONTEXT : PIPC__GPU_PEER_ENABLED;
}

/* ---- memory -------------------------------------------------------------------------------- */

pipc__gpu_rc_t cuMemAlloc_v2(pipc__gpu_ptr_t *p, size_t bytes)
{
    void *memory = current ? malloc(bytes) : NULL;

    *p = (pipc__gpu_ptr_t)(size_t)memory;
    return memory ? 0 : INVALID_CONTEXT;
}

pipc__gpu_rc_t cuMemFree_v2(pipc__gpu_ptr_t p)
{
    free((void *)(size_t)p);
    return 0;
}

pipc__gpu_rc_t cuMemHostRegister_v2(void *p, size_t bytes, unsigned int flags)
{
    return current ? 0 : INVALID_CONTEXT;
}

pipc__gpu_rc_t cuMemHostUnregister(void *p)
{
    return 0;
}

pipc__gpu_rc_t cuMemsetD8Async(pipc__gpu_ptr_t p, unsigned char value, size_t bytes,
                               pipc__gpu_stream_t stream)
{
    memset((void *)(size_t)p, value, bytes);
    return 0;
}

static void raise_link(void)
{
    const char *path = getenv("FAKE_LINK"), *at = getenv("FAKE_LINK_AT");
    FILE *f = path && at ? fopen(path, "r+") : NULL;

    if (!f)
        return;
    fseek(f, atol(at), SEEK_SET);
    fputc(4, f); /* the low byte of LnkSta: Gen4; its lanes are in the next */
    fclose(f);
}

static void copy(const op_t *op)
{
    const long odd = 1000;

    copies++;
    if (copies == 3)
        raise_link();
    if (is("lost") && copies == odd)
        return;
    memcpy(op->to, op->from, op->bytes);
    if (is("wrong") && copies == odd)
        ((unsigned char *)op->to)[op->bytes / 2] ^= 0x10;
}

/* The next thing of a stream; false where there is none, or it has to wait. */
static int advance(struct CUstream_st *s)
{
    const op_t *op = &s->op[s->head];

    if (s->n == 0 || (op->kind == WAIT && op->event->done < op->serial && !is("careless")))
        return 0;
    if (op->kind == COPY)
        copy(op);
    if (op->kind == RECORD)
        op->event->done = op->serial;
    s->head = (s->head + 1) % OPS_MAX;
    s->n--;
    return 1;
}

static unsigned int any(void)
{
    chance = chance * 1103515245u + 12345u;
    return chance >> 16;
}

static int advance_any(void)
{
    unsigned int at = any();

    for (int i = 0; i < nstreams; i++)
        if (advance(streams[(at + (unsigned int)i) % (unsigned int)nstreams]))
            return 1;
    return 0;
}

static pipc__gpu_rc_t enqueue(struct CUstream_st *s, op_t op)
{
    if (!current || s->context != current)
        return INVALID_CONTEXT;
    while (s->n == OPS_MAX && advance_any())
        ;
    if (s->n == OPS_MAX)
        return INVALID_HANDLE; /* streams that wait for each other */
    s->op[(s->head + s->n++) % OPS_MAX] = op;
    return 0;
}

static pipc__gpu_rc_t enqueue_copy(struct CUstream_st *s, void *to, const void *from, size_t bytes)
{
    if (is("fails") || (is("dies") && copies > 500))
        return LAUNCH_FAILED;
    return enqueue(s, (op_t){.kind = COPY, .to = to, .from = from, .bytes = bytes});
}

pipc__gpu_rc_t cuMemcpyHtoDAsync_v2(pipc__gpu_ptr_t to, const void *from, size_t bytes,
                                    pipc__gpu_stream_t stream)
{
    return enqueue_copy(stream, (void *)(size_t)to, from, bytes);
}

pipc__gpu_rc_t cuMemcpyDtoHAsync_v2(void *to, pipc__gpu_ptr_t from, size_t bytes,
                                    pipc__gpu_stream_t stream)
{
    return enqueue_copy(stream, to, (void *)(size_t)from, bytes);
}

pipc__gpu_rc_t cuMemcpyDtoDAsync_v2(pipc__gpu_ptr_t to, pipc__gpu_ptr_t from, size_t bytes,
                                    pipc__gpu_stream_t stream)
{
    return enqueue_copy(stream, (void *)(size_t)to, (void *)(size_t)from, bytes);
}

/* ---- streams and events -------------------------------------------------------------------- */

pipc__gpu_rc_t cuStreamCreate(pipc__gpu_stream_t *stream, unsigned int flags)
{
    *stream = current && nstreams < STREAMS_MAX ? calloc(1, sizeof(**stream)) : NULL;
    if (!*stream)
        return INVALID_CONTEXT;
    (*stream)->context = current;
    streams[nstreams++] = *stream;
    return 0;
}

pipc__gpu_rc_t cuStreamSynchronize(pipc__gpu_stream_t stream)
{
    while (stream && stream->n > 0)
        if (!advance(stream) && !advance_any())
            return INVALID_HANDLE;
    return 0;
}

pipc__gpu_rc_t cuStreamDestroy_v2(pipc__gpu_stream_t stream)
{
    int i = 0;

    cuStreamSynchronize(stream);
    while (streams[i] != stream)
        i++;
    streams[i] = streams[--nstreams];
    free(stream);
    return 0;
}

pipc__gpu_rc_t cuStreamQuery(pipc__gpu_stream_t stream)
{
    if (is("quick"))
        cuStreamSynchronize(stream);
    return stream->n > 0 ? PIPC__GPU_NOT_READY : 0;
}

pipc__gpu_rc_t cuEventCreate(pipc__gpu_event_t *event, unsigned int flags)
{
    *event = current ? calloc(1, sizeof(**event)) : NULL;
    if (!*event)
        return INVALID_CONTEXT;
    (*event)->context = current;
    return 0;
}

pipc__gpu_rc_t cuEventDestroy_v2(pipc__gpu_event_t event)
{
    free(event);
    return 0;
}

pipc__gpu_rc_t cuEventRecord(pipc__gpu_event_t event, pipc__gpu_stream_t stream)
{
    if (event->context != stream->context)
        return INVALID_HANDLE;
    return enqueue(stream, (op_t){.kind = RECORD, .event = event, .serial = ++event->recorded});
}

/* For what the event has recorded by now, of whichever GPU it is. */
pipc__gpu_rc_t cuStreamWaitEvent(pipc__gpu_stream_t stream, pipc__gpu_event_t event,
                                 unsigned int flags)
{
    return enqueue(stream, (op_t){.kind = WAIT, .event = event, .serial = event->recorded});
}

pipc__gpu_rc_t cuEventQuery(pipc__gpu_event_t event)
{
    if (is("stops") && copies > 500)
        return PIPC__GPU_NOT_READY;
    for (int i = (int)(any() % 8); i > 0; i--)
        advance_any();
    return event->done < event->recorded ? PIPC__GPU_NOT_READY : 0;
}
