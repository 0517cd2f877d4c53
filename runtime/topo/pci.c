/* topo/pci.c - PCI addresses as text */
#include "runtime/topo/build.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Read min..max hex digits at *p and step over them; -1 when there are fewer or the value does not
 * fit an int. Not strtol() or sscanf(): they take signs, blanks and "0x", which no address has. */
static int hex_field(const char **p, int min, int max)
{
    unsigned int value = 0;
    int n = 0;

    for (; n < max && hex_digit(**p) >= 0; n++, (*p)++)
        value = value << 4 | (unsigned int)hex_digit(**p);
    return n >= min && value <= INT_MAX ? (int)value : -1;
}

bool pipc__pci_parse(const char *text, pipc__pci_addr_t *addr)
{
    pipc__pci_addr_t a = {0, 0, 0, 0};
    const char *p = text, *colon = text ? strchr(text, ':') : NULL;

    if (!colon)
        return false;
    if (strchr(colon + 1, ':')) { /* domains have more than 4 digits below Intel VMD */
        a.domain = hex_field(&p, 4, 8);
        if (a.domain < 0 || *p++ != ':')
            return false;
    }
    a.bus = hex_field(&p, 1, 2);
    if (a.bus < 0 || *p++ != ':')
        return false;
    a.device = hex_field(&p, 1, 2);
    if (a.device < 0 || a.device > 0x1f || *p++ != '.')
        return false;
    a.function = hex_field(&p, 1, 1);
    if (a.function < 0 || a.function > 7 || *p)
        return false;
    *addr = a;
    return true;
}

void pipc__pci_format(pipc__pci_addr_t a, char out[PIPC__NAME_MAX])
{
    if (a.domain < 0)
        out[0] = '\0';
    else if (a.device < 0)
        snprintf(out, PIPC__NAME_MAX, "%04x:%02x", (unsigned int)a.domain, (unsigned int)a.bus);
    else
        snprintf(out, PIPC__NAME_MAX, "%04x:%02x:%02x.%x", (unsigned int)a.domain,
                 (unsigned int)a.bus, (unsigned int)a.device, (unsigned int)a.function);
}

int pipc__pci_compare(pipc__pci_addr_t a, pipc__pci_addr_t b)
{
    if (a.domain != b.domain)
        return a.domain < b.domain ? -1 : 1;
    if (a.bus != b.bus)
        return a.bus - b.bus;
    if (a.device != b.device)
        return a.device - b.device;
    return a.function - b.function;
}
