/* spank/say.h - lines for the user who runs the step; they reach srun's stderr and slurmd's log */
#ifndef PIPC_SPANK_SAY_H
#define PIPC_SPANK_SAY_H

/* "pcie-ipc: NODE: TEXT". By slurm_spank_log(): slurm_info() never leaves the node. */
void pipc__say(const char *node, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Replace control characters by '?': a user's text must not start a line of its own in root's log,
 * nor talk to the terminal that it is read on. */
void pipc__say_clean(char *text);

#endif
