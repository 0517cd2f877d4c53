/* prolog/prolog.h - what slurmd runs: fails open, whatever happens to the check. libc only, so that
 * no missing library can fail it (a test reads what it needs).
 */
#ifndef PIPC_PROLOG_PROLOG_H
#define PIPC_PROLOG_PROLOG_H

/* slurmd calls a prolog hung at MessageTimeout - 2 s: 8 s */
#define PIPC__PROLOG_DEADLINE_MS 3000

/* The record with which the check refuses the node, up to its newline: a number that only this run
 * knows stands in it, so that no output that happens to be there, and no exit status, can. */
#define PIPC__RECORD_FORMAT "pcie-ipc-verdict 1 %s %s\n" /* nonce, "pass" or "refuse" */
#define PIPC__NONCE_MAX 33

/* Run "@checker gate NONCE JOB GPUS", where JOB is slurmd's SLURM_JOB_ID if it is a number, else
 * "", and @gpus (may be NULL) are the job's as slurmd names them; 1 if its record refuses the node,
 * 0 in every other case. Lines go to stderr and to the system's log. */
int pipc__prolog(const char *checker, const char *gpus, int deadline_ms);

/* Make a crash or a hang of this very process end with status 0, and give it the three standard
 * files. Before anything else in main(). */
void pipc__fail_open(unsigned int seconds);

/* One line, "pcie-ipc: " before it, on stderr and in the system's log. Never waits. */
void pipc__prolog_say(const char *line);

/* The same of each line of a program's output, which is changed; it may bring the prefix along. */
void pipc__prolog_relay(char *said);

#endif
