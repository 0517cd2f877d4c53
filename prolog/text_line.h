/* prolog/text_line.h - one line of a pasted text: what people's mail, web pages and shells put
 * around it, and whose it is. Pure.
 */
#ifndef PIPC_PROLOG_TEXT_LINE_H
#define PIPC_PROLOG_TEXT_LINE_H

#include <stdbool.h>

#include "runtime/topo/topo.h"

/* Take off what quotes it: entities and tags of a web page, "> " of mails, "+" of a patch. @line is
 * changed; returns where what was quoted begins. */
char *pipc__text_plain(char *line);

/* The address that a device's first line begins with, and what follows it; NULL without one. A
 * line that is indented, behind a bullet or behind a host's name begins a device only where it has
 * a domain or goes on as lspci's do. */
const char *pipc__text_address(const char *line, pipc__pci_addr_t *addr);

typedef enum pipc__text_asked {
    PIPC__ASKED_NOTHING,
    PIPC__ASKED_VENDOR, /* VENDOR_ID: what is gone answers ones */
    PIPC__ASKED_ACS     /* the control register of ACS */
} pipc__text_asked_t;

/* "$ lspci -vvv -s 41:00.0 | grep Lnk", "setpci -s 41:00.0 VENDOR_ID.w": the lines that follow are
 * of this device, the next one the answer to what setpci asked. */
bool pipc__text_command(const char *line, pipc__pci_addr_t *addr, pipc__text_asked_t *asked);

/* A text that is nothing but a number of setpci's, "001d", "= 0x001d"; -1 for what is none. */
long pipc__text_answer(const char *line);

#endif
