/* tests/unit/health_nvml_fake.c - a library that answers as NVML does, for health_nvml.c. FAKE_NVML
 * says what kind of machine it is.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { NOT_SUPPORTED = 3, NOT_FOUND = 6 };

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **device);
EXPORT int nvmlDeviceGetPerformanceState(void *device, unsigned int *out);
EXPORT int nvmlDeviceGetPersistenceMode(void *device, unsigned int *out);
EXPORT int nvmlDeviceGetCurrPcieLinkGeneration(void *device, unsigned int *out);
EXPORT int nvmlDeviceGetMaxPcieLinkGeneration(void *device, unsigned int *out);
EXPORT int nvmlDeviceGetCurrPcieLinkWidth(void *device, unsigned int *out);
EXPORT int nvmlDeviceGetMaxPcieLinkWidth(void *device, unsigned int *out);
EXPORT int nvmlDeviceGetPcieReplayCounter(void *device, unsigned int *out);
EXPORT int nvmlDeviceGetP2PStatus(void *a, void *b, int index, int *status);

static int is(const char *word)
{
    return strcmp(getenv("FAKE_NVML"), word) == 0;
}

int nvmlInit_v2(void)
{
    if (is("hang"))
        for (;;)
            pause();
    if (is("crash"))
        abort();
    return is("no-driver") ? 9 : 0;
}

static char gpu[2]; /* a handle is the address of one of these: buses 1 and 2 */

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **device)
{
    const char *bus = strchr(bus_id, ':');

    if (!bus || (bus[2] != '1' && bus[2] != '2') || (bus[2] == '2' && is("one")))
        return NOT_FOUND;
    *device = &gpu[bus[2] - '1'];
    return 0;
}

static int say(unsigned int *out, unsigned int value)
{
    *out = value;
    return is("mute") ? NOT_SUPPORTED : 0;
}

int nvmlDeviceGetPerformanceState(void *device, unsigned int *out)
{
    (void)device;
    return say(out, 8);
}

int nvmlDeviceGetPersistenceMode(void *device, unsigned int *out)
{
    return say(out, !(is("not-persistent") && device == &gpu[1]));
}

int nvmlDeviceGetCurrPcieLinkGeneration(void *device, unsigned int *out)
{
    (void)device;
    return say(out, 1);
}

int nvmlDeviceGetMaxPcieLinkGeneration(void *device, unsigned int *out)
{
    (void)device;
    return say(out, 4);
}

int nvmlDeviceGetCurrPcieLinkWidth(void *device, unsigned int *out)
{
    return say(out, is("narrow") && device == &gpu[0] ? 8 : 16);
}

int nvmlDeviceGetMaxPcieLinkWidth(void *device, unsigned int *out)
{
    (void)device;
    return say(out, 16);
}

int nvmlDeviceGetPcieReplayCounter(void *device, unsigned int *out)
{
    return say(out, is("replays") && device == &gpu[0] ? 7 : 0);
}

int nvmlDeviceGetP2PStatus(void *a, void *b, int index, int *status)
{
    (void)b;
    *status = is("apart") ? 1 : is("writes") && index == 1 && a == &gpu[1] ? 4 : 0;
    return is("mute") ? NOT_SUPPORTED : 0;
}
