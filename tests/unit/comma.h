/* tests/unit/comma.h - a locale that writes 1,5, made here: few machines have one installed */
#ifndef TESTS_UNIT_COMMA_H
#define TESTS_UNIT_COMMA_H

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Take decimals as that locale does from now on; false where it can't be made. */
static inline bool comma_begin(void)
{
    static char folder[] = "/tmp/pipc-comma-XXXXXX";
    char command[256];

    if (!mkdtemp(folder))
        return false;
    snprintf(command, sizeof(command),
             "cd %s && printf 'escape_char /\\ncomment_char %%%%\\nLC_NUMERIC\\ndecimal_point \",\"\\n"
             "thousands_sep \".\"\\ngrouping 3;3\\nEND LC_NUMERIC\\n' >source && "
             "localedef --no-archive -c -i source ./comma >log 2>&1",
             folder);
    (void)!system(command); /* it warns of what is not there, by its status too */
    setenv("LOCPATH", folder, 1);
    bool made = setlocale(LC_NUMERIC, "comma") != NULL;
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    (void)!system(command);
    unsetenv("LOCPATH");
    snprintf(command, sizeof(command), "%.1f", 1.5);
    return made && command[1] == ',';
}

static inline void comma_end(void)
{
    setlocale(LC_NUMERIC, "C");
}

#endif
