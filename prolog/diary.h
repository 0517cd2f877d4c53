/* prolog/diary.h - what a watch saw, kept over months in files of fixed size: one ring for lanes
 * and errors, and one for changes of speed, which busy nodes make by the thousand and which must
 * not push out the others
 */
#ifndef PIPC_PROLOG_DIARY_H
#define PIPC_PROLOG_DIARY_H

#include "prolog/changes.h"

#define PIPC__DIARY_CHANGES "watch.ring"
#define PIPC__DIARY_SPEEDS "speed.ring"
#define PIPC__DIARY_PLACES 32768       /* 4 MB */
#define PIPC__DIARY_SPEED_PLACES 16384 /* 2 MB */

typedef struct pipc__record {
    int dir, lock;
    pipc__ring_t changes, speeds;
} pipc__diary_t;

/* Open for writing, in @folder of @owner's. PIPC_ERR_NOT_FOUND: another watch has it. The caller
 * closes @r, also after a failure. */
pipc_status_t pipc__diary_open(pipc__diary_t *r, const char *folder, uid_t owner,
                               pipc__error_t *err);
pipc_status_t pipc__diary_add(pipc__diary_t *r, const pipc__change_t *change, pipc__error_t *err);
void pipc__diary_flush(const pipc__diary_t *r);
void pipc__diary_close(pipc__diary_t *r);

typedef enum pipc__watched {
    PIPC__WATCHED_NOT, /* what changed and came back was not seen */
    PIPC__WATCHED_PARTLY,
    PIPC__WATCHED_WHOLE
} pipc__watched_t;

typedef struct pipc__window {
    int64_t from_ms, to_ms; /* both included */
    bool speeds;            /* changes of speed too */
} pipc__window_t;

/* What was recorded in a window, in order of time, and whether a watch ran in it (@watched may be
 * NULL). Without a record there is nothing, which is no error. The caller releases @out. */
pipc_status_t pipc__diary_read(const char *folder, uid_t owner, const pipc__window_t *window,
                               pipc__changes_t *out, pipc__watched_t *watched, pipc__error_t *err);

#endif
