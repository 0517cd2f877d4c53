/* prolog/ack.h - records of the past that an administrator knows of: ack.conf in the state folder
 *
 *     [0123456789abcdef]
 *     code = PCI016
 *     object = 0000:41:00.0
 *     seen = corrected errors at some time: receiver error
 *     reason = of the riser that was replaced
 *
 * A section is of one finding, by what it says: when it says anything else, as of one more error,
 * it counts again; so does a fatal error of another boot. Never of a fault that is there now:
 * pipc__code_entry_t.past.
 */
#ifndef PIPC_PROLOG_ACK_H
#define PIPC_PROLOG_ACK_H

#include <sys/types.h>

#include "prolog/judge.h"

#define PIPC__ACK_NAME "ack.conf"
#define PIPC__DIGEST_MAX 17 /* bytes of 16 digits and their end */
#define PIPC__ACKS_MAX 1024
#define PIPC__ACK_REASON_MAX 100

typedef struct pipc__ack {
    char digest[PIPC__DIGEST_MAX]; /* of code, object, what was seen, and which event */
    int code;                      /* pipc__code_t */
    char object[PIPC__FACT_NAME_MAX], seen[160], reason[PIPC__ACK_REASON_MAX];
    unsigned int had; /* for the reader: a bit for each key */
} pipc__ack_t;

typedef struct pipc__acks {
    pipc__ack_t *list;
    int n, cap;
} pipc__acks_t;

/* Read @folder/ack.conf; absent, it is empty. A file that is wrong or not @owner's is refused
 * whole: all counts then. The caller releases @out, also after a failure. */
pipc_status_t pipc__acks_read(const char *folder, uid_t owner, pipc__acks_t *out,
                              pipc__error_t *err);
pipc_status_t pipc__acks_parse(const char *from, const char *text, pipc__acks_t *out,
                               pipc__error_t *err);
pipc_status_t pipc__acks_write(int folder, const pipc__acks_t *acks, pipc__error_t *err);
void pipc__acks_free(pipc__acks_t *acks);

/* Add this finding, with the reason (plain text of one line, "" for none); false when it is there
 * already, or there is no room. */
bool pipc__acks_add(pipc__acks_t *acks, const pipc__finding_t *finding, const char *reason);

/* Forget what was acknowledged of this object; how many that were. */
int pipc__acks_remove(pipc__acks_t *acks, pipc__code_t code, const char *object);

/* Make notes of the findings that were acknowledged, their remedy the reason. */
pipc_status_t pipc__acks_apply(const pipc__acks_t *acks, pipc__findings_t *findings,
                               pipc__error_t *err);

#endif
