/* prolog/facts.h - what is known of the GPUs of a machine and of every port above them. Facts only:
 * judge.h makes findings of them.
 */
#ifndef PIPC_PROLOG_FACTS_H
#define PIPC_PROLOG_FACTS_H

#include <stdbool.h>

#include "prolog/express.h"
#include "runtime/base/error.h"

#define PIPC__FACT_NAME_MAX 48

typedef enum pipc__answer {
    PIPC__ANSWERS,
    PIPC__SILENT, /* config space cannot be read here: nothing is known */
    PIPC__LOST,   /* it reads all ones */
    PIPC__ASLEEP  /* all ones, and the kernel says that it has powered it off */
} pipc__answer_t;

typedef struct pipc__fact {
    char name[PIPC__FACT_NAME_MAX]; /* "0000:41:00.0" */
    int parent;                     /* index of the port above it, which stands anywhere; or -1 */
    bool gpu;           /* a GPU, or the switch of a GPU's card where no GPU is in view */
    int vendor, device; /* -1: unknown */
    pipc__answer_t answer;
    pipc__express_t link; /* by config space; what that does not say, by the files of sysfs */
} pipc__fact_t;

typedef struct pipc__facts {
    pipc__fact_t *dev; /* in order of address */
    int n;
    bool virtual_machine; /* its ports may be invented */
} pipc__facts_t;

/* Collect the facts below @root ("/" is this machine). PIPC_ERR_NOT_FOUND without
 * sys/bus/pci/devices. The caller releases @facts, also after a failure. */
pipc_status_t pipc__facts_sysfs(pipc__facts_t *facts, const char *root, pipc__error_t *err);

/* The same of the text that lspci -xxxx (or -x, -xxx) wrote to @file. */
pipc_status_t pipc__facts_dump(pipc__facts_t *facts, const char *file, pipc__error_t *err);

void pipc__facts_free(pipc__facts_t *facts);

#endif
