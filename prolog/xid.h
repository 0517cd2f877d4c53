/* prolog/xid.h - the numbers by which NVIDIA's driver reports errors in a kernel's log
 */
#ifndef PIPC_PROLOG_XID_H
#define PIPC_PROLOG_XID_H

typedef enum pipc__xid_kind {
    PIPC__XID_PROGRAM, /* what a faulty program does to its own GPU context: no fault of a node */
    PIPC__XID_TOLD,    /* of hardware, and dealt with; or a number that is in no list here */
    PIPC__XID_HARDWARE /* a reason to look at the GPU */
} pipc__xid_kind_t;

typedef struct pipc__xid {
    int number;
    pipc__xid_kind_t kind;
    const char *what;
} pipc__xid_t;

/* What @number is; one that is not known is PIPC__XID_TOLD. Never NULL. */
const pipc__xid_t *pipc__xid(int number);

#endif
