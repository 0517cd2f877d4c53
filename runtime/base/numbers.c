/* base/numbers.c - see numbers.h */
#include "runtime/base/numbers.h"

/* Of the other categories the thread's own stay: texts of errors are the user's. */
void pipc__numbers_begin(pipc__numbers_t *n)
{
    locale_t own = duplocale(uselocale((locale_t)0));

    n->before = (locale_t)0;
    n->plain = own ? newlocale(LC_NUMERIC_MASK, "C", own) : (locale_t)0;
    if (n->plain)
        n->before = uselocale(n->plain);
    else if (own)
        freelocale(own);
}

void pipc__numbers_end(pipc__numbers_t *n)
{
    if (!n->plain)
        return;
    uselocale(n->before);
    freelocale(n->plain);
}
