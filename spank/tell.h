/* spank/tell.h - which of a task's facts are told, and by whom: one line a fact, once a node where
 * it is the same for all tasks of the node */
#ifndef PIPC_SPANK_TELL_H
#define PIPC_SPANK_TELL_H

#include "spank/task.h"

/* After the task has been bound: what went wrong, and with verbose what was done. */
void pipc__tell(const pipc__task_t *task);

/* The option's text was not understood. */
void pipc__tell_ignored(const pipc__task_t *task, const char *why);

/* What health:... has to say. False: health:require ends the step. */
bool pipc__tell_health(const pipc__task_t *task);

#endif
