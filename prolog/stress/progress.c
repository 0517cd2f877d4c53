/* prolog/stress/progress.c - a line of where it is */
#include <unistd.h>

#include "prolog/stress/stress.h"

#define LINE_EVERY 10 /* seconds, where lines can't be rewritten */

void stress_progress(const stress_run_t *run, double gbps, FILE *out)
{
    long s = (long)run->seconds, all = run->options->seconds, drops = 0;
    bool terminal = isatty(fileno(out));

    if (!terminal && s % LINE_EVERY != 0)
        return;
    for (int i = 0; i < run->links.n; i++)
        drops += run->links.link[i].drops;
    fprintf(out,
            "%s" STRESS_NAME ": %ld:%02ld:%02ld of %ld:%02ld:%02ld, %.1f GB/s, %llu wrong bytes, "
            "%ld link drops%s",
            terminal ? "\r" : "", s / 3600, s / 60 % 60, s % 60, all / 3600, all / 60 % 60,
            all % 60, gbps, (unsigned long long)stress_wrong(&run->traffic), drops,
            terminal ? "   " : "\n");
    fflush(out);
}

void stress_progress_end(FILE *out)
{
    if (isatty(fileno(out)))
        fputc('\n', out);
}
