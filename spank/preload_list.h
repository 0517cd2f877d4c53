/* spank/preload_list.h - the text of LD_PRELOAD; pure */
#ifndef PIPC_SPANK_PRELOAD_LIST_H
#define PIPC_SPANK_PRELOAD_LIST_H

#include <stdbool.h>
#include <stddef.h>

#define PIPC__PRELOAD_ENV "LD_PRELOAD"
#define PIPC__PRELOAD_MAX 8192 /* a longer list of the user's is left as it is */

/* @list, libraries separated by blanks or colons as ld.so(8) takes them, with @path behind them, in
 * buf[cap]. False when it stands there already, or does not fit. */
bool pipc__preload_with(const char *list, const char *path, char *buf, size_t cap);

/* @list without @path. False when it does not stand there. */
bool pipc__preload_without(const char *list, const char *path, char *buf, size_t cap);

#endif
