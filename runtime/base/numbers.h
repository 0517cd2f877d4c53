/* base/numbers.h - decimals with a point, whatever the program's locale: files are read on other
 * machines, and JSON knows no comma.
 */
#ifndef PIPC_BASE_NUMBERS_H
#define PIPC_BASE_NUMBERS_H

#include <locale.h>

/* Between both of these strtod(), printf() and their like of this thread read and write decimals as
 * in the C locale. Without memory for that all stays as it is. */
typedef struct pipc__numbers {
    locale_t plain, before; /* (locale_t)0: none */
} pipc__numbers_t;

void pipc__numbers_begin(pipc__numbers_t *numbers);
void pipc__numbers_end(pipc__numbers_t *numbers);

#endif
