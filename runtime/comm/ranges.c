/* comm/ranges.c - see ranges.h. The one file that sees NVTX, whose header has all of it: nothing is
 * linked, and the library that NVTX_INJECTION64_PATH names is opened, or none.
 */
#include "runtime/comm/ranges.h"

#include "config.h"

#ifdef HAVE_NVTX

#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/auxv.h>

static nvtxDomainHandle_t domain; /* NULL: nobody listens; written by open_once() alone */

/* Texts stay: a profiler that registers no strings gets them with every range. */
static struct {
    char text[48];
    nvtxStringHandle_t registered;
} name[PIPC__RANGES];

static void name_all(void)
{
    snprintf(name[PIPC__RANGE_CREATE].text, sizeof(name->text), "pipc_comm_create");
    for (int k = 0; k < PIPC__ALGOS; k++)
        for (int p = 0; p < PIPC__PROTOS; p++) {
            int which = pipc__range_of_call((pipc__choice_t){k, (pipc__proto_t)p, 0});
            snprintf(name[which].text, sizeof(name->text), "AllReduce %s%s%s", pipc__algo_name(k),
                     p ? "/" : "", p ? pipc__proto_name((pipc__proto_t)p) : "");
        }
}

/* NVTX asks getenv(): in a program that runs with more than its caller's rights the variable would
 * name what is opened with them. */
static void open_once(void)
{
    nvtxDomainHandle_t found = getauxval(AT_SECURE) ? NULL : nvtxDomainCreateA("pcie-ipc");

    if (!found)
        return;
    name_all();
    for (int i = 0; i < PIPC__RANGES; i++)
        name[i].registered = nvtxDomainRegisterStringA(found, name[i].text);
    domain = found;
}

void pipc__ranges_open(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, open_once);
}

void pipc__range_begin(int which, size_t bytes)
{
    if (!domain)
        return;
    nvtxEventAttributes_t a = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    if (bytes) {
        a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
        a.payload.ullValue = bytes;
    }
    if (name[which].registered) {
        a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
        a.message.registered = name[which].registered;
    } else {
        a.messageType = NVTX_MESSAGE_TYPE_ASCII;
        a.message.ascii = name[which].text;
    }
    nvtxDomainRangePushEx(domain, &a);
}

void pipc__range_end(void)
{
    if (domain)
        nvtxDomainRangePop(domain);
}

#else

void pipc__ranges_open(void)
{
}

void pipc__range_begin(int which, size_t bytes)
{
    (void)which, (void)bytes;
}

void pipc__range_end(void)
{
}

#endif
