/* prolog/kernel_iommu.c - accesses that an IOMMU refused, by the kernel's log
 *
 *     DMAR: [DMA Write NO_PASID] Request device [3b:00.0] fault addr 0x3883fff80000 ...
 *     AMD-Vi: Event logged [IO_PAGE_FAULT device=0000:c1:00.0 domain=0x0045 ...]
 *     nvidia 0000:c1:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0045 ...]
 *
 * What one GPU wrote to another and an IOMMU refused is lost, and nobody else says so.
 */
#include <stdio.h>
#include <string.h>

#include "prolog/kernel_line.h"

/* "3b:00.0", "0x3b:0x00.0", "0000:3b:00.0" */
static bool device(const char *text, char name[PIPC__FACT_NAME_MAX])
{
    pipc__pci_addr_t addr = {0, 0, 0, 0};
    unsigned int domain = 0, bus, slot, function;

    if (sscanf(text, "%x:%x:%x.%u", &domain, &bus, &slot, &function) != 4) {
        domain = 0;
        if (sscanf(text, "%x:%x.%u", &bus, &slot, &function) != 3)
            return false;
    }
    if (domain > 0xffff || bus > 255 || slot > 31 || function > 7)
        return false;
    addr.domain = (int)domain;
    addr.bus = (int)bus;
    addr.device = (int)slot;
    addr.function = (int)function;
    pipc__pci_format(addr, name);
    return true;
}

bool pipc__kernel_take_iommu(pipc__kernel_log_t *log, const char *line)
{
    static const char *const keys[] = {"Request device [", "[IO_PAGE_FAULT device="};
    char name[PIPC__FACT_NAME_MAX];

    if (!strstr(line, "DMAR: [DMA ") && !strstr(line, "[IO_PAGE_FAULT "))
        return false;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *at = strstr(line, keys[i]);
        if (at && device(at + strlen(keys[i]), name)) {
            pipc__kernel_count(log, name, PIPC__EVENT_REFUSED, 0);
            return true;
        }
    }
    if (pipc__kernel_name(line, name))
        pipc__kernel_count(log, name, PIPC__EVENT_REFUSED, 0);
    return true;
}
