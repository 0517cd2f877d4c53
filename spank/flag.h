/* spank/flag.h - the option --pcie-ipc[=key:value,...] of srun, sbatch and salloc */
#ifndef PIPC_SPANK_FLAG_H
#define PIPC_SPANK_FLAG_H

#include <slurm/spank.h>

#include "runtime/base/error.h"
#include "spank/options.h"

/* Register the option where it is typed and where it is acted on. From slurm_spank_init() only. */
void pipc__flag_register(spank_t sp);

/* Was the option given, and not "off"? In slurmstepd, and in srun after it has read its options. */
bool pipc__flag_given(void);

/* What it says. When the text can't be understood here (an older plugin on this node than where
 * srun ran), the error is returned and *options are not to be used. */
pipc_status_t pipc__flag_options(pipc__spank_options_t *options, pipc__error_t *err);

#endif
