/* prolog/start.h - how the processes that slurmd starts begin: the prolog and the healthcheck. libc
 * only; they end with status 0 whatever happens, but for a prolog that refuses the node.
 */
#ifndef PIPC_PROLOG_START_H
#define PIPC_PROLOG_START_H

#include <sys/types.h>

/* Where things are and whose they must be; tests have their own. */
typedef struct pipc__start {
    const char *checker; /* the program that checks */
    const char
        *off[2];     /* while one of these files is there, nothing is looked at and nobody acts */
    const char *run; /* the folder of this boot */
    uid_t owner;
} pipc__start_t;

#define PIPC__START_OFF "/run/pcie-ipc/off"
#define PIPC__DEADLINE_FILE "deadline" /* in the folder of this boot: seconds, as configured */
#define PIPC__HEALTHCHECK_MS 45000     /* slurmd ends a HealthCheckProgram after 60 s */

/* The file of @start->off that is there, or NULL. */
const char *pipc__start_off(const pipc__start_t *start);

/* The deadline that the last check left; PIPC__PROLOG_DEADLINE_MS without one. */
int pipc__start_deadline_ms(const pipc__start_t *start);

/* The job's GPUs are those that slurmd names in SLURM_JOB_GPUS or CUDA_VISIBLE_DEVICES. */
int pipc__start_prolog(const pipc__start_t *start);

/* Run "healthcheck --node=NAME" of the checker, where slurmd gives the name in SLURMD_NODENAME. */
int pipc__start_healthcheck(const pipc__start_t *start);

#endif
