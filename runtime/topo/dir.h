/* topo/dir.h - listing a folder below a settable root (base/file.h reads the files in it) */
#ifndef PIPC_TOPO_DIR_H
#define PIPC_TOPO_DIR_H

#include <dirent.h>
#include <stdbool.h>

/* Open <root>/<path>; NULL, with errno set, when it is absent or no folder. End with
 * pipc__dir_close(). */
DIR *pipc__dir_open(const char *root, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The next name, without those that start with "."; NULL at the end. */
const char *pipc__dir_next(DIR *dir);

void pipc__dir_close(DIR *dir); /* NULL is allowed; keeps errno */

/* Is there a folder <root>/<path>, or a link to one? */
bool pipc__dir_exists(const char *root, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
