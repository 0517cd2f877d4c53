/* prolog/epilog.c - see epilog.h */
#include "prolog/epilog.h"

#include <stdio.h>

#include "prolog/guard.h"
#include "prolog/job_id.h"
#include "prolog/prolog.h"
#include "spank/stepdir.h"

int pipc__epilog(const char *folder, const char *job)
{
    uint32_t number;

    if (pipc__job_id(job, &number))
        pipc__stepdir_sweep(folder, number);
    return 0;
}

void pipc__epilog_report(const char *checker, const char *job, const char *uid, int deadline_ms)
{
    static pipc__guard_t g; /* static: see prolog.c */
    static char verb[] = "job-end";
    char name[256], job_text[16], uid_text[16], line[256];
    char *const argv[] = {name, verb, job_text, uid_text, NULL};
    uint32_t number, user;

    if (!pipc__job_id(job, &number) || !pipc__user_id(uid, &user))
        return;
    snprintf(name, sizeof(name), "%s", checker);
    snprintf(job_text, sizeof(job_text), "%u", number);
    snprintf(uid_text, sizeof(uid_text), "%u", user);
    pipc__guard_run(name, argv, deadline_ms, &g);
    pipc__prolog_relay(g.said);
    if (g.clean)
        return;
    snprintf(line, sizeof(line), "epilog: job %u: its report %s", number, g.why);
    pipc__prolog_say(line);
}
