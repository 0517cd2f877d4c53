/* prolog/facts_nvml.c - what NVML says of this machine's NVIDIA GPUs
 *
 * A process of its own asks: NVML has been seen to hang on a GPU that fell off the bus, and without
 * persistence mode it starts every GPU first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prolog/facts.h"
#include "runtime/base/ask.h"

#define VENDOR_NVIDIA 0x10de
#define GPUS_MAX 64

/* The part of NVML's interface that is used; it is stable, and no header of it is needed to build.
 */
enum { NVML_SUCCESS = 0, NVML_P2P_READ = 0, NVML_P2P_WRITE = 1 };

typedef struct nvml {
    int (*init)(void);
    int (*by_bus_id)(const char *bus_id, void **device);
    /* These a library may lack. */
    int (*p_state)(void *device, unsigned int *out);
    int (*persistence)(void *device, unsigned int *out);
    int (*generation)(void *device, unsigned int *out);
    int (*max_generation)(void *device, unsigned int *out);
    int (*width)(void *device, unsigned int *out);
    int (*max_width)(void *device, unsigned int *out);
    int (*replays)(void *device, unsigned int *out);
    int (*p2p_status)(void *a, void *b, int index, int *status);
} nvml_t;

/* Of one GPU (@b < 0), or of a pair; indexes of the facts. */
typedef struct record {
    int a, b, status;
    pipc__nvml_t values;
} record_t;

typedef struct question {
    const pipc__facts_t *facts;
    const char *library;
} question_t;

/* ---- the other process ----------------------------------------------------------------------- */

static bool open_nvml(const char *library, nvml_t *nvml)
{
    static const char *const names[] = {
        "nvmlInit_v2",
        "nvmlDeviceGetHandleByPciBusId_v2",
        "nvmlDeviceGetPerformanceState",
        "nvmlDeviceGetPersistenceMode",
        "nvmlDeviceGetCurrPcieLinkGeneration",
        "nvmlDeviceGetMaxPcieLinkGeneration",
        "nvmlDeviceGetCurrPcieLinkWidth",
        "nvmlDeviceGetMaxPcieLinkWidth",
        "nvmlDeviceGetPcieReplayCounter",
        "nvmlDeviceGetP2PStatus",
    };
    void *functions[10];

    _Static_assert(sizeof(functions) == sizeof(*nvml), "one pointer a function");
    if (!pipc__ask_open(library, names, 10, 2, functions))
        return false;
    memcpy(nvml, functions, sizeof(*nvml));
    return nvml->init() == NVML_SUCCESS;
}

/* -1 where NVML has no answer. */
static int64_t ask(int (*question)(void *, unsigned int *), void *device)
{
    unsigned int value = 0;

    return question && question(device, &value) == NVML_SUCCESS ? (int64_t)value : -1;
}

static pipc__nvml_t values_of(const nvml_t *nvml, void *device)
{
    return (pipc__nvml_t){.told = true,
                          .p_state = (int)ask(nvml->p_state, device),
                          .persistence = (int)ask(nvml->persistence, device),
                          .generation = (int)ask(nvml->generation, device),
                          .max_generation = (int)ask(nvml->max_generation, device),
                          .width = (int)ask(nvml->width, device),
                          .max_width = (int)ask(nvml->max_width, device),
                          .replays = ask(nvml->replays, device)};
}

/* What is in the way of reads or, where these are well, of writes. */
static int status_of(const nvml_t *nvml, void *a, void *b)
{
    int status = -1;

    for (int index = NVML_P2P_READ; index <= NVML_P2P_WRITE; index++)
        if (!nvml->p2p_status || nvml->p2p_status(a, b, index, &status) != NVML_SUCCESS)
            return -1;
        else if (status != 0)
            return status;
    return status;
}

static bool is_asked(const pipc__fact_t *f)
{
    return f->gpu && f->vendor == VENDOR_NVIDIA && f->answer != PIPC__LOST;
}

static bool answer(void *arg, int fd)
{
    const question_t *q = arg;
    void *device[GPUS_MAX];
    int of[GPUS_MAX], n = 0;
    nvml_t nvml;

    if (!open_nvml(q->library, &nvml))
        return false;
    for (int i = 0; i < q->facts->n && n < GPUS_MAX; i++) {
        if (!is_asked(&q->facts->dev[i]) ||
            nvml.by_bus_id(q->facts->dev[i].name, &device[n]) != NVML_SUCCESS)
            continue;
        record_t r = {.a = i, .b = -1, .values = values_of(&nvml, device[n])};
        if (!pipc__ask_put(fd, &r, sizeof(r)))
            return false;
        of[n++] = i;
    }
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            record_t r = {.a = of[a], .b = of[b]};
            if (a == b)
                continue;
            r.status = status_of(&nvml, device[a], device[b]);
            if (!pipc__ask_put(fd, &r, sizeof(r)))
                return false;
        }
    return true;
}

/* ---- this process ---------------------------------------------------------------------------- */

static void take(pipc__facts_t *facts, const record_t *r)
{
    pipc__pair_t *pair;

    if (r->b < 0) {
        facts->dev[r->a].nvml = r->values;
        return;
    }
    pair = &facts->pair[facts->pairs++];
    pair->a = r->a;
    pair->b = r->b;
    pair->status = r->status < 0 || r->status >= PIPC__P2P_STATUSES ? PIPC__P2P_UNKNOWN
                                                                    : (pipc__p2p_t)r->status;
}

pipc_status_t pipc__facts_nvml(pipc__facts_t *facts, const char *library, int timeout_msec,
                               pipc__error_t *err)
{
    question_t q = {facts, library};
    record_t *records;
    int n, gpus = 0;

    for (int i = 0; i < facts->n; i++)
        gpus += is_asked(&facts->dev[i]);
    if (gpus == 0)
        return PIPC_OK;
    gpus = gpus < GPUS_MAX ? gpus : GPUS_MAX;
    records = calloc((size_t)gpus * (size_t)gpus, sizeof(*records));
    facts->pair = calloc((size_t)gpus * (size_t)gpus, sizeof(*facts->pair));
    if (!records || !facts->pair) {
        free(records);
        return pipc__fail(err, PIPC_ERR_NOMEM, "out of memory");
    }
    n = pipc__ask(answer, &q, timeout_msec, records, sizeof(*records), gpus * gpus);
    facts->nvml = n < 0 ? PIPC__NVML_SILENT : PIPC__NVML_ANSWERED;
    for (int i = 0; i < n; i++)
        take(facts, &records[i]);
    free(records);
    return PIPC_OK;
}
