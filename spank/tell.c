/* spank/tell.c - see tell.h */
#include "spank/tell.h"

#include "spank/report.h"
#include "spank/say.h"

static bool is_first(const pipc__task_t *t)
{
    return t->local == 0;
}

static void tell_node(const pipc__task_t *t)
{
    char text[PIPC__REPORT_MAX];

    if (t->error.status)
        pipc__say(t->node, "%s; the step runs unbound", t->error.text);
    else if (*t->out.note)
        pipc__say(t->node, "%s", t->out.note);
    if (!t->options.verbose)
        return;
    if (t->dir_error.status)
        pipc__say(t->node, "no private folder for the step: %s", t->dir_error.text);
    if (!t->error.status) {
        pipc__report_node(&t->in, &t->out, t->mode, text);
        pipc__say(t->node, "%s", text);
    }
}

/* With one mask for all, the first task has counted for all. */
static void tell_far(const pipc__task_t *t)
{
    char text[PIPC__REPORT_MAX];

    if (t->error.status || !t->out.far || (t->in.cpus_shared && !is_first(t)))
        return;
    pipc__report_far(&t->in, &t->out, text);
    pipc__say(t->node, "%s", text);
}

void pipc__tell(const pipc__task_t *t)
{
    char text[PIPC__REPORT_MAX];

    if (is_first(t))
        tell_node(t);
    tell_far(t);
    if (!t->options.verbose || t->error.status)
        return;
    pipc__report_task(&t->in, &t->out, t->rank, t->memory, text);
    pipc__say(t->node, "%s", text);
}

void pipc__tell_ignored(const pipc__task_t *t, const char *why)
{
    if (is_first(t))
        pipc__say(t->node,
                  "--pcie-ipc ignored: %s; the plugin here may be older than where srun ran", why);
}

bool pipc__tell_health(const pipc__task_t *t)
{
    bool require = t->options.health == PIPC__OPT_HEALTH_REQUIRE;
    bool unknown =
        t->health == PIPC__HEALTH_UNKNOWN || (require && t->health == PIPC__HEALTH_ABSENT);

    if (is_first(t) && t->health == PIPC__HEALTH_BAD)
        pipc__say(t->node, "the node's health check says drain: %s",
                  *t->health_why ? t->health_why : "no reason given");
    if (is_first(t) && unknown && (require || t->options.verbose))
        pipc__say(t->node, "the node's health is not known: %s", t->health_why);
    if (t->health != PIPC__HEALTH_BAD || !require)
        return true;
    if (is_first(t))
        pipc__say(t->node, "health:require: the step ends");
    return false;
}
