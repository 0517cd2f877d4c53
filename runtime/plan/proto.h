/* plan/proto.h - how the bytes of a plan's steps are moved and their arrival is told.
 */
#ifndef PIPC_PLAN_PROTO_H
#define PIPC_PLAN_PROTO_H

typedef enum pipc__proto {
    PIPC__PROTO_SIMPLE, /* flags beside the data: kernels/allreduce.cu, the CPU executor */
    PIPC__PROTO_LL,     /* flags in the data: small messages, one-shot alone */
    PIPC__PROTO_CE,     /* copy engines */
    PIPC__PROTOS
} pipc__proto_t;

#endif
