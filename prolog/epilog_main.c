/* prolog/epilog_main.c - what a link in epilog.d points to */
#include "prolog/epilog.h"
#include "prolog/prolog.h"

int main(void)
{
    pipc__fail_open(PIPC__EPILOG_SECONDS);
    return pipc__epilog();
}
