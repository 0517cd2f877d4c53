/* prolog/kernel_time.c - when a line of a kernel's log was written
 *
 *     [   12.345678] pcieport ...                     dmesg; also behind "<4>" or "kern  :warn  : "
 *     [Mon Nov 30 08:53:57 2026] pcieport ...         dmesg -T
 *     Nov 30 08:53:57 node7 kernel: pcieport ...      journalctl, syslog
 *     2026-11-30T08:53:57.123456+00:00 node7 kernel:  journalctl -o short-iso, rsyslog
 */
#include <ctype.h>
#include <string.h>

#include "prolog/kernel_line.h"

/* Does @text begin as @form does: 9 a digit, A a letter, all else itself (a blank is a digit too
 * where the form has an underscore)? */
static bool has_form(const char *text, const char *form)
{
    for (; *form; form++, text++) {
        unsigned char c = (unsigned char)*text;
        bool fits = *form == '9'   ? isdigit(c) != 0
                    : *form == 'A' ? isalpha(c) != 0
                    : *form == '_' ? isdigit(c) || c == ' '
                                   : *text == *form;
        if (!fits)
            return false;
    }
    return true;
}

/* "[   12.345678]" */
static bool since_boot(const char *line, long *seconds)
{
    for (const char *p = strchr(line, '['); p; p = strchr(p + 1, '[')) {
        const char *at = p + 1 + strspn(p + 1, " ");
        size_t n = strspn(at, "0123456789");
        size_t fraction = n > 0 && n <= 10 && at[n] == '.' ? strspn(at + n + 1, "0123456789") : 0;
        if (fraction == 0 || at[n + 1 + fraction] != ']') /* an address on a network is none */
            continue;
        *seconds = 0;
        for (size_t i = 0; i < n; i++)
            *seconds = 10 * *seconds + (at[i] - '0');
        return true;
    }
    return false;
}

pipc__event_time_t pipc__kernel_time(const char *line)
{
    static const char *const forms[] = {"AAA AAA _9 99:99:99 9999", "AAA _9 99:99:99",
                                        "9999-99-99T99:99:99"};
    pipc__event_time_t t = {.seconds = -1};
    const char *start = line + (*line == '[');

    if (since_boot(line, &t.seconds))
        return t;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (has_form(start, forms[i])) {
            size_t n = strlen(forms[i]);
            memcpy(t.wall, start, n);
            t.wall[n] = '\0';
            return t;
        }
    return t;
}
