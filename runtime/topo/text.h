/* topo/text.h - a whole file of somebody else's in memory, with a bound */
#ifndef PIPC_TOPO_TEXT_H
#define PIPC_TOPO_TEXT_H

#include <stddef.h>

#include "runtime/base/error.h"

#define PIPC__TEXT_MAX (16 << 20) /* a dump of 1,000 functions with 4,096 bytes each */

/* Read @path into *text: its bytes with a 0 after them, *len of them; the caller frees. On failure
 * *text is NULL and @err names the file: PIPC_ERR_SYSTEM when it can't be read, PIPC_ERR_INVALID when
 * it is a folder, empty or longer than PIPC__TEXT_MAX. A pipe is read to its end; one that nobody
 * writes to is empty. */
pipc_status_t pipc__text_read(char **text, const char *path, size_t *len, pipc__error_t *err);

/* Make lines of it: bytes of 0 become ends of lines, escape sequences of terminals ("ESC [ 4 m") and
 * carriage returns go away, the blanks at which browsers do not break become blanks, and UTF-16
 * becomes ASCII. */
void pipc__text_clean(char *text, size_t len);

#endif
