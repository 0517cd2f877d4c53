/* base/error.h - errors carry a status and a text that names the object and the remedy.
 *
 * A function that can fail returns pipc_status_t and fills a pipc__error_t of the caller's
 * (NULL when the caller does not want the text). Libraries never print.
 */
#ifndef PIPC_BASE_ERROR_H
#define PIPC_BASE_ERROR_H

#include <pcie-ipc/status.h>

#define PIPC__ERROR_MAX 512 /* bytes of an error text, the final 0 included */

typedef struct pipc__error {
    pipc_status_t status;
    char text[PIPC__ERROR_MAX]; /* no "pcie-ipc: " prefix, no newline */
} pipc__error_t;

/* Fill @err (may be NULL) and return @status, so that callers write
 *     return pipc__fail(err, PIPC_ERR_INVALID, "%s: ...; use ...", name);
 * Keeps errno. A text too long for the buffer is cut. */
pipc_status_t pipc__fail(pipc__error_t *err, pipc_status_t status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* As pipc__fail() with PIPC_ERR_SYSTEM, and ": strerror(errno)" appended. */
pipc_status_t pipc__fail_errno(pipc__error_t *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
