/* prolog/kernel_origin.c - who speaks in a record of the kernel's log?
 *
 * The kernel repeats what users call things: a program that crashes is "NAME[123]: segfault at ...
 * in FILE", with any NAME of 15 bytes and any FILE of 255. So a record counts by how it begins, and
 * by nothing that may stand in the middle: else a file's name could report a fatal error, and drain
 * the node. Drivers of GPUs name programs too: their lines count up to there.
 */
#include "prolog/kernel_line.h"

#include <string.h>
#include <strings.h>

#define DIGITS "0123456789"
#define WORD "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" DIGITS "_-."
#define NAME_END 64 /* 15 bytes of a program's name, each of which may be escaped as \x0a */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* "{1}[Hardware Error]: ", "[Hardware Error]: ": longer than a program's name. */
static bool is_firmware(const char *text)
{
    if (*text == '{') {
        text += 1 + strspn(text + 1, DIGITS);
        text += *text == '}';
    }
    return begins(text, "[Hardware Error]: ");
}

/* "pcieport 0000:40:01.1: ", "pciehp 0000:40:01.1:pcie004: ": a driver and its device. With the
 * blank it is longer than a program's name. */
static bool is_device(const char *text)
{
    size_t driver = strspn(text, WORD), n;
    char address[PIPC__NAME_MAX];
    pipc__pci_addr_t addr;

    if (driver == 0 || text[driver] != ' ')
        return false;
    text += driver + 1;
    n = strspn(text, DIGITS "abcdefABCDEF:.");
    while (n > 0 && text[n - 1] == ':')
        n--;
    if (n < 12 || n >= sizeof(address))
        return false;
    memcpy(address, text, n);
    address[n] = '\0';
    text += n;
    if (begins(text, ":pcie"))
        text += strlen(":pcie") + strspn(text + strlen(":pcie"), DIGITS);
    return pipc__pci_parse(address, &addr) && begins(text, ": ");
}

/* NVIDIA's driver, and no program that is called like it: "NVRM: x[123]: segfault ..." */
static bool is_nvidia(const char *text)
{
    if (!begins(text, PIPC__KERNEL_NVIDIA))
        return false;
    for (const char *p = text; (p = strchr(p, '[')) && p - text < NAME_END; p++) {
        size_t n = strspn(p + 1, DIGITS);
        if (n > 0 && p[1 + n] == ']')
            return false;
    }
    return true;
}

bool pipc__kernel_is_own(const char *text)
{
    static const char *const others[] = {"Hypervisor detected: ",
                                         "nvidia: probe of ",
                                         "amdgpu: probe of ",
                                         "DMAR: [DMA Read] Request device [",
                                         "DMAR: [DMA Write] Request device [",
                                         "DMAR: [DMA Read NO_PASID] Request device [",
                                         "DMAR: [DMA Write NO_PASID] Request device [",
                                         "AMD-Vi: Event logged [IO_PAGE_FAULT "};

    if (is_firmware(text) || is_device(text) || is_nvidia(text))
        return true;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (begins(text, others[i]))
            return true;
    return false;
}

/* "amdgpu 0000:c3:00.0: amdgpu: page fault (... for process NAME pid 1 thread NAME pid 1)", "i915
 * 0000:03:00.0: [drm] GPU HANG: ecode 12:1:85dffffb, in NAME [1234]" */
size_t pipc__kernel_own_part(const char *line)
{
    static const char *const namers[] = {" process ", " thread ", "GPU HANG", "Timedout job"};
    size_t n = strlen(line);

    for (size_t i = 0; i < sizeof(namers) / sizeof(namers[0]); i++) {
        const char *at = strcasestr(line, namers[i]);
        if (at && (size_t)(at - line) < n)
            n = (size_t)(at - line);
    }
    return n;
}
