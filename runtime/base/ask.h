/* base/ask.h - ask a driver's library that may hang or crash: in a process of its own, with a
 * deadline
 */
#ifndef PIPC_BASE_ASK_H
#define PIPC_BASE_ASK_H

#include <stdbool.h>
#include <stddef.h>

#define PIPC__ASK_NVML "libnvidia-ml.so.1"
#define PIPC__ASK_NVML_MSEC 10000 /* without persistence mode the driver first starts every GPU */

/* What the other process does, which has no file of ours open but @fd: open what it needs,
 * pipc__ask_put() its records; true when that was all there is to say. */
typedef bool pipc__ask_t(void *arg, int fd);

/* One record more; false when nobody listens any longer. */
bool pipc__ask_put(int fd, const void *record, size_t size);

/* Run @ask(@arg) in a new process, which is killed after @timeout_msec, and gather its records,
 * @size bytes each (4 or more), @max at most; their number, or -1 when it did not say all: it
 * crashed, hung, said no or could not be started. A process that the driver holds is not waited
 * for. */
int pipc__ask(pipc__ask_t *ask, void *arg, int timeout_msec, void *records, size_t size, int max);

/* The same where a part is worth something: the records that came, and whether they are @all. */
int pipc__ask_some(pipc__ask_t *ask, void *arg, int timeout_msec, void *records, size_t size,
                   int max, bool *all);

/* Open @library and find @n functions; false unless the first @needed are there. Those that are not
 * are NULL. The library stays open: for a process that ends soon. */
bool pipc__ask_open(const char *library, const char *const names[], int n, int needed,
                    void *functions[]);

#endif
