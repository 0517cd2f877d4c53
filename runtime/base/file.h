/* base/file.h - small files below a settable root: "/" for the live machine, another folder for
 * a captured one. Every reader of sysfs and procfs goes through here.
 */
#ifndef PIPC_BASE_FILE_H
#define PIPC_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"

/* All functions take @root (NULL or "" is "/") and a path below it, built with a printf format.
 * They return false, with errno set, when the file is absent or unreadable: absence is a fact for
 * the caller to judge, so no error text is made here. */

/* Read at most @cap - 1 bytes, end them with 0. *len (may be NULL) gets the count of bytes read. */
bool pipc__file_read(const char *root, char *buf, size_t cap, size_t *len, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* The first line without its newline and without blanks at either end. */
bool pipc__file_line(const char *root, char *buf, size_t cap, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* A number in C notation (0x..., decimal, with sign); trailing text after white space is ignored
 * ("8 GT/s" gives 8). False with EINVAL when the file does not start with a number. */
bool pipc__file_int(const char *root, int64_t *value, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The target of a symbolic link, as stored. */
bool pipc__file_link(const char *root, char *buf, size_t cap, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
