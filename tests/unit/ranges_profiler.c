/* tests/unit/ranges_profiler.c - see ranges_profiler.h. As profilers do, it puts its functions into
 * the tables of the NVTX that opened it.
 */
#include "tests/unit/ranges_profiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get);
EXPORT const ranges_record_t *ranges_record(void);

static ranges_record_t r;

const ranges_record_t *ranges_record(void)
{
    return &r;
}

static nvtxDomainHandle_t create(const char *text)
{
    r.domains++;
    snprintf(r.domain, sizeof(r.domain), "%s", text);
    return (nvtxDomainHandle_t)&r;
}

/* A handle is the address of the copy. */
static nvtxStringHandle_t register_string(nvtxDomainHandle_t domain, const char *text)
{
    if (domain != (nvtxDomainHandle_t)&r || r.strings == RANGES_MOST)
        abort();
    snprintf(r.string[r.strings], sizeof(r.string[0]), "%s", text);
    return (nvtxStringHandle_t)r.string[r.strings++];
}

static int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
    if (domain != (nvtxDomainHandle_t)&r || r.ranges == RANGES_MOST ||
        a->size != sizeof(nvtxEventAttributes_t))
        abort();
    bool registered = a->messageType == NVTX_MESSAGE_TYPE_REGISTERED;
    snprintf(r.range[r.ranges].text, sizeof(r.range[0].text), "%s",
             registered ? (const char *)a->message.registered : a->message.ascii);
    r.range[r.ranges].registered = registered;
    r.range[r.ranges].has_payload = a->payloadType == NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    r.range[r.ranges].bytes = a->payload.ullValue;
    r.range[r.ranges++].depth = r.open;
    return r.open++;
}

static int pop(nvtxDomainHandle_t domain)
{
    if (domain != (nvtxDomainHandle_t)&r || !r.open)
        abort();
    return --r.open;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get)
{
    const NvtxExportTableCallbacks *callbacks = get(NVTX_ETID_CALLBACKS);
    const char *what = getenv("RANGES_PROFILER");
    NvtxFunctionTable core;
    unsigned int n;

    what = what ? what : "";
    if (!strcmp(what, "refuse") || !callbacks ||
        !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &core, &n) ||
        n <= NVTX_CBID_CORE2_DomainCreateA)
        return 0;
    if (strcmp(what, "no-domains"))
        *core[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create;
    if (strcmp(what, "no-strings"))
        *core[NVTX_CBID_CORE2_DomainRegisterStringA] = (NvtxFunctionPointer)register_string;
    *core[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
    *core[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
    return 1;
}
