/* prolog/text_entry.h - a device that a pasted text tells of (facts_text.c), and the lines about it
 */
#ifndef PIPC_PROLOG_TEXT_ENTRY_H
#define PIPC_PROLOG_TEXT_ENTRY_H

#include "prolog/elsewhere.h"
#include "prolog/facts.h"

typedef struct pipc__text_entry {
    pipc__fact_t fact;
    pipc__pci_addr_t addr; /* domain PIPC__UNKNOWN: not told */
    int secondary;         /* the bus below it */
    int64_t ue_mask, ce_mask;
    enum {
        PIPC__FLAGS_NONE,
        PIPC__FLAGS_STATUS,
        PIPC__FLAGS_MASK
    } going_on;                    /* uncorrected errors, whose flags may go on in the next line */
    bool vga, virtual;             /* a virtual function */
    bool present, down;            /* a card is in a port's slot; its link is x0 */
    int vfs, vf_offset, vf_stride; /* its virtual functions, by SR-IOV; 0: none, or not told */
    bool vf_off;                   /* ... are switched off */
    bool virtual_bars;             /* those of its virtual functions follow */
    bool relevant;   /* a GPU, what is beside it, a port, or a function whose ACS is told */
    bool asked_only; /* no line of its own yet, only a command that names it */
    pipc__listed_as_t as;
} pipc__text_entry_t;

/* What lspci's first line says behind the address: what it is. */
void pipc__text_first_line(pipc__text_entry_t *e, const char *text);

/* A device that is gone reads all ones: its revision, in its first line. */
bool pipc__text_is_lost(const char *text);

/* It does not answer; it does. What a text shows last is believed. */
void pipc__text_lose(pipc__fact_t *f);
void pipc__text_answers(pipc__fact_t *f);

/* Any other line: registers, in whatever of them it has. */
void pipc__text_registers(pipc__text_entry_t *e, const char *line);

/* "Root Port", "Endpoint": which it is. */
void pipc__text_port(pipc__text_entry_t *e, const char *text);

bool pipc__text_has_link(const pipc__text_entry_t *e);

/* Make @facts->dev of all @n entries, which are put in order by this: those of interest, and what
 * is above them. PIPC_ERR_NOMEM is all that can go wrong. */
pipc_status_t pipc__text_keep(pipc__text_entry_t *list, int n, pipc__facts_t *facts,
                              const char *from, pipc__error_t *err);

/* Is this a class of devices, in lspci's words, and what follows it? */
bool pipc__text_has_class(const char *text);

/* Is it a device that a hypervisor invents? */
bool pipc__text_is_of_guest(const char *text);

/* Does somebody tell in words that ACS redirects? */
bool pipc__text_tells_acs(const char *line);

#endif
