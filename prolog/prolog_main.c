/* prolog/prolog_main.c - what a link in prolog.d points to. Arguments are of no concern to it. */
#include "prolog/prolog.h"

int main(void)
{
    pipc__fail_open(PIPC__PROLOG_DEADLINE_MS / 1000 + 1);
    return pipc__prolog(PIPC_CHECKER, PIPC__PROLOG_DEADLINE_MS);
}
