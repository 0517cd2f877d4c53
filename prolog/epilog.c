/* prolog/epilog.c - see epilog.h */
#include "prolog/epilog.h"

/* An epilog that fails drains the node, for a job that is over: so whatever this finds, it is 0. */
int pipc__epilog(void)
{
    return 0;
}
