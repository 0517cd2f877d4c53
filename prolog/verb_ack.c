/* prolog/verb_ack.c - an administrator knows of a record of the past */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "prolog/ack.h"
#include "prolog/state.h"
#include "prolog/verbs.h"

#define LOCK "ack.lock"

enum { OPT_REASON = 256, OPT_LIST, OPT_REMOVE, OPT_STATE };

const pipc__cli_option_t pipc__ack_options[] = {
    {"reason", "TEXT", "why, for those who come later", OPT_REASON},
    {"list", NULL, "print what was acknowledged", OPT_LIST},
    {"remove", NULL, "let it count again", OPT_REMOVE},
    {"state", "DIR", "keep it there; otherwise " PIPC__STATE_FOLDER, OPT_STATE},
    {NULL, NULL, NULL, 0},
};

typedef struct wants {
    pipc__machine_t source;
    const char *code, *object, *reason, *state;
    bool list, remove;
} wants_t;

static int take(void *wants, int id, const char *value)
{
    wants_t *w = wants;

    switch (id) {
    case PIPC__CLI_ARGUMENT:
        *(w->code ? &w->object : &w->code) = value;
        break;
    case OPT_REASON:
        w->reason = value;
        break;
    case OPT_LIST:
        w->list = true;
        break;
    case OPT_REMOVE:
        w->remove = true;
        break;
    case OPT_STATE:
        w->state = value;
        break;
    default:
        pipc__machine_take(&w->source, id, value);
        break;
    }
    return PIPC__CLI_GO_ON;
}

static const pipc__cli_section_t sections[] = {
    {NULL, pipc__ack_options}, {NULL, pipc__machine_options}, {NULL, NULL}};
static const pipc__cli_t cli = {.name = PIPC__HEALTH_NAME,
                                .version = PACKAGE_VERSION,
                                .sections = sections,
                                .help = &pipc__health_cli,
                                .arguments = 2,
                                .output_failed = PIPC__EXIT_UNKNOWN,
                                .take = take};

static int list(const pipc__acks_t *acks)
{
    for (int i = 0; i < acks->n; i++) {
        const pipc__ack_t *a = &acks->list[i];
        printf("%s %s: %s%s%s\n", pipc__codes[a->code].name, a->object, a->seen,
               a->reason[0] ? "; " : "", a->reason);
    }
    return PIPC__EXIT_OK;
}

/* Every finding of this code and object, as the machine gives them now. */
static int add(const wants_t *w, pipc__code_t code, pipc__acks_t *acks)
{
    pipc__findings_t findings = {.n = 0};
    pipc__error_t err = {PIPC_OK, ""};
    int found = 0, status = PIPC__EXIT_OK;

    if (pipc__check(&w->source, &findings, &err))
        status = pipc__verb_failed(&err);
    for (int i = 0; i < findings.n && !status; i++) {
        const pipc__finding_t *f = &findings.list[i];
        if (f->code != code || strcmp(f->object, w->object) != 0)
            continue;
        found++;
        printf("%s %s: %s: %s\n", pipc__codes[code].name, f->object, f->seen,
               pipc__acks_add(acks, f, w->reason ? w->reason : "")
                   ? "acknowledged"
                   : "was acknowledged, or there is no room");
    }
    pipc__findings_free(&findings);
    if (!status && found == 0) {
        fprintf(stderr, PIPC__HEALTH_NAME ": %s: has no %s now; see \"check\"\n", w->object,
                pipc__codes[code].name);
        status = PIPC__EXIT_WARN;
    }
    return status;
}

static int forget(const wants_t *w, pipc__code_t code, pipc__acks_t *acks)
{
    if (pipc__acks_remove(acks, code, w->object) > 0)
        return PIPC__EXIT_OK;
    fprintf(stderr, PIPC__HEALTH_NAME ": %s: no %s was acknowledged; see --list\n", w->object,
            pipc__codes[code].name);
    return PIPC__EXIT_WARN;
}

/* Read, changed and written under a lock. */
static int change(const wants_t *w, pipc__code_t code, const char *folder, uid_t owner)
{
    pipc__error_t err = {PIPC_OK, ""};
    pipc__acks_t acks = {.n = 0};
    int dir = -1, lock = -1, status = PIPC__EXIT_OK;

    if (pipc__state_open(folder, owner, &dir, &err) ||
        pipc__state_lock(dir, LOCK, -1, &lock, &err) || pipc__acks_read(folder, owner, &acks, &err))
        status = pipc__verb_failed(&err);
    if (!status)
        status = w->remove ? forget(w, code, &acks) : add(w, code, &acks);
    if (!status && pipc__acks_write(dir, &acks, &err))
        status = pipc__verb_failed(&err);
    pipc__acks_free(&acks);
    if (lock >= 0)
        close(lock);
    if (dir >= 0)
        close(dir);
    return status;
}

static int show(const char *folder, uid_t owner)
{
    pipc__error_t err = {PIPC_OK, ""};
    pipc__acks_t acks;
    int status =
        pipc__acks_read(folder, owner, &acks, &err) ? pipc__verb_failed(&err) : list(&acks);

    pipc__acks_free(&acks);
    return status;
}

/* The code, or -1 after the user has been told that it cannot be acknowledged. */
static int code_of(const char *name)
{
    int c = pipc__verb_code(name);

    if (c < 0 || pipc__codes[c].past)
        return c;
    pipc__verb_usage(name, "says what is now, not what was; to excuse a device name it in "
                           "limits.conf: [device ...] ignore =");
    return -1;
}

int pipc__verb_ack(int argc, char **argv)
{
    wants_t w = {.list = false};
    int code, status = pipc__cli_parse(&cli, argc, argv, &w);
    const char *folder = w.state ? w.state : PIPC__STATE_FOLDER;
    uid_t owner = w.state ? geteuid() : 0;

    if (status >= 0 || (status = pipc__machine_ready(&w.source)) >= 0)
        return status;
    if (w.list ? w.code || w.reason || w.remove : !w.object)
        return pipc__verb_usage("ack", "needs CODE OBJECT, as in PCI016 0000:41:00.0, or --list");
    if (w.list) {
        status = show(folder, owner);
    } else {
        code = code_of(w.code);
        status = code < 0 ? PIPC__CLI_USAGE : change(&w, (pipc__code_t)code, folder, owner);
    }
    return pipc__cli_finish(&cli, status);
}
