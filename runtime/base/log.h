/* base/log.h - libraries never print: they hand lines to a callback of the program's.
 */
#ifndef PIPC_BASE_LOG_H
#define PIPC_BASE_LOG_H

#include <stdbool.h>

typedef enum pipc__log_level {
    PIPC__LOG_ERROR = 0,
    PIPC__LOG_WARN = 1,
    PIPC__LOG_INFO = 2,
    PIPC__LOG_DEBUG = 3
} pipc__log_level_t;

/* Called with one complete line, no newline, no prefix. May be called from any thread. */
typedef void (*pipc__log_fn_t)(void *arg, pipc__log_level_t level, const char *line);

/* Set the process-wide callback; NULL (the default) drops every line. Not thread-safe against
 * concurrent pipc__log(): set it before the first communicator exists. */
void pipc__log_set(pipc__log_fn_t fn, void *arg);

/* Is there one? */
bool pipc__log_is_set(void);

void pipc__log(pipc__log_level_t level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
