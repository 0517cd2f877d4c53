/* spank/say.c - see say.h */
#include "spank/say.h"

#include <stdarg.h>
#include <stdio.h>

#include <slurm/spank.h>

void pipc__say_clean(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
}

void pipc__say(const char *node, const char *fmt, ...)
{
    char text[1280];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    pipc__say_clean(text);
    slurm_spank_log("pcie-ipc: %s: %s", node, text);
}
