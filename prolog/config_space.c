/* prolog/config_space.c - see config_space.h
 *
 * libpci's own error callback prints and calls exit(1), which in a prolog drains the node. Ours
 * leaves libpci by longjmp() and never returns to it: it expects that no more than it expects a
 * second life of its data, so after an error nothing of it is touched or freed.
 */
#include "prolog/config_space.h"

#include <pci/pci.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "prolog/extended.h"

struct pipc__config_space {
    struct pci_access *access;
    char path[PIPC__ERROR_MAX]; /* of sys/bus/pci */
    bool broken;
};

/* One program, one thread, one call at a time: the callbacks get no argument to tell more apart. */
static jmp_buf gave_up;
static char reason[256];

static void on_error(char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
static void on_error(char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(reason, sizeof(reason), fmt, ap);
    va_end(ap);
    longjmp(gave_up, 1);
}

static void say_nothing(char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void say_nothing(char *fmt, ...)
{
    (void)fmt;
}

static pipc_status_t refuse(pipc__config_space_t *space, pipc__error_t *err)
{
    space->broken = true;
    return pipc__fail(err, PIPC_ERR_SYSTEM, "libpci: %s", reason);
}

pipc_status_t pipc__config_space_open(pipc__config_space_t **out, const char *root,
                                      pipc__error_t *err)
{
    static char name[] = "sysfs.path"; /* libpci's parameters are not const */
    pipc__config_space_t *space = calloc(1, sizeof(*space));

    *out = space;
    if (!space)
        return pipc__fail(err, PIPC_ERR_NOMEM, "out of memory");
    if (snprintf(space->path, sizeof(space->path), "%s/sys/bus/pci", root) >=
        (int)sizeof(space->path))
        return pipc__fail(err, PIPC_ERR_INVALID, "the root's path is too long; use a shorter one");
    if (setjmp(gave_up))
        return refuse(space, err);
    space->access = pci_alloc();
    space->access->error = on_error;
    space->access->warning = say_nothing;
    space->access->debug = say_nothing;
    space->access->method = PCI_ACCESS_SYS_BUS_PCI;
    pci_set_param(space->access, name, space->path);
    pci_init(space->access);
    return PIPC_OK;
}

/* libpci waits for whoever writes to a pipe, which a captured machine may have in its place. */
static bool is_file(const pipc__config_space_t *space, pipc__pci_addr_t a)
{
    char name[PIPC__NAME_MAX], path[PIPC__ERROR_MAX + 64];
    struct stat st;

    pipc__pci_format(a, name);
    snprintf(path, sizeof(path), "%s/devices/%s/config", space->path, name);
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

pipc_status_t pipc__config_space_read(pipc__config_space_t *space, pipc__pci_addr_t a,
                                      unsigned char config[PIPC__CONFIG_MAX], size_t *bytes,
                                      pipc__error_t *err)
{
    *bytes = 0;
    if (!is_file(space, a))
        return PIPC_OK;
    if (setjmp(gave_up))
        return refuse(space, err);
    struct pci_dev *dev = pci_get_dev(space->access, a.domain, a.bus, a.device, a.function);
    /* libpci reads all that it is asked for, or says nothing: so the header first. */
    if (pci_read_block(dev, 0, config, 64))
        *bytes = 64;
    if (*bytes && pci_read_block(dev, 64, config + 64, PIPC__CONFIG_MAX - 64))
        *bytes = PIPC__CONFIG_MAX;
    pci_free_dev(dev);
    return PIPC_OK;
}

static bool extended_word(void *dev, size_t at, unsigned char out[4])
{
    return pci_read_block(dev, (int)at, out, 4) != 0;
}

pipc_status_t pipc__config_space_extended(pipc__config_space_t *space, pipc__pci_addr_t a,
                                          unsigned char config[PIPC__CONFIG_WHOLE_MAX],
                                          size_t *bytes, pipc__error_t *err)
{
    if (setjmp(gave_up))
        return refuse(space, err);
    struct pci_dev *dev = pci_get_dev(space->access, a.domain, a.bus, a.device, a.function);
    *bytes = pipc__extended_read(extended_word, dev, config);
    pci_free_dev(dev);
    return PIPC_OK;
}

void pipc__config_space_close(pipc__config_space_t *space)
{
    static struct pci_access *volatile left; /* left, not lost: a leak checker finds it here */

    if (!space)
        return;
    if (space->access && !space->broken && !setjmp(gave_up))
        pci_cleanup(space->access);
    else
        left = space->access;
    (void)left;
    free(space);
}
