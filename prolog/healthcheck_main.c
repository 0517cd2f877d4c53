/* prolog/healthcheck_main.c - what HealthCheckProgram names: Slurm gives it no arguments */
#include "prolog/start.h"
#include "prolog/state.h"

int main(void)
{
    const pipc__start_t start = {PIPC_CHECKER, {PIPC_OFF, PIPC__START_OFF}, PIPC__RUN_FOLDER, 0};

    return pipc__start_healthcheck(&start);
}
