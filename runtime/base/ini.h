/* base/ini.h - INI files that steer what runs as root: whose they are, their form, and each key
 */
#ifndef PIPC_BASE_INI_H
#define PIPC_BASE_INI_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "runtime/base/error.h"

#define PIPC__INI_PATH_MAX 256
#define PIPC__INI_LINE_MAX 198        /* bytes; inih cuts longer lines in two, in silence */
#define PIPC__INI_SECTION_MAX 49      /* bytes of a section's name; longer ones it cuts */
#define PIPC__INI_ANYBODY ((uid_t)-1) /* the caller named the file and answers for it */

/* Take "key = value" of a section; false, with @why, when that is wrong. */
typedef bool pipc__ini_take_t(void *arg, const char *section, const char *key, const char *value,
                              char *why, size_t cap);

/* Hand each key of the text to @take, in their order, up to the first that is wrong. What is not of
 * the form "[section]" or "key = value" is found before any is handed over; either may be indented.
 * @from is the text's name in errors, "from: line 3: why". */
pipc_status_t pipc__ini_text(const char *from, const char *text, pipc__ini_take_t *take, void *arg,
                             pipc__error_t *err);

/* The same of the file at @path, which is smaller than @max bytes. PIPC_ERR_NOT_FOUND when there is
 * none. Refused is a file, or a folder that holds it, which somebody other than @owner owns or can
 * write. */
pipc_status_t pipc__ini_file(const char *path, uid_t owner, size_t max, pipc__ini_take_t *take,
                             void *arg, pipc__error_t *err);

/* A number from @least to @most, digits alone. */
bool pipc__ini_number(const char *text, long least, long most, int *out);

/* Copy @from, cut to @cap, as it can stand behind "key = " and is read back as the same: one line
 * of plain text, no comment in it, no blanks around it. */
void pipc__ini_plain(char *to, size_t cap, const char *from);

#endif
