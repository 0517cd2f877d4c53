/* comm/request.c - see request.h */
#include "runtime/comm/request.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/exec/exec.h"
#include "runtime/plan/plan.h"

_Static_assert((int)PIPC_SCOPE_JOB == PIPC__SCOPE_JOB && (int)PIPC_SCOPE_NODE == PIPC__SCOPE_NODE,
               "scopes are handed on as they are");
_Static_assert((int)PIPC_EXCHANGE_AUTO == PIPC__XCHG_AUTO &&
                   (int)PIPC_EXCHANGE_PMIX == PIPC__XCHG_PMIX &&
                   (int)PIPC_EXCHANGE_SOCKET == PIPC__XCHG_SOCKET &&
                   (int)PIPC_EXCHANGE_CALLBACKS == PIPC__XCHG_CALLBACKS,
               "exchanges are handed on as they are");

const char *pipc__environment(const char *name)
{
    return secure_getenv(name);
}

/* A structure of the program's into the newest one: what an old one lacks stays as it is in @to. A
 * longer one has fields that this library can't heed: it must not pretend to. */
static pipc_status_t copy_in(void *to, size_t known, const void *from, const char *what,
                             const char *init, pipc__error_t *err)
{
    size_t given;

    memcpy(&given, from, sizeof(given)); /* struct_bytes is the first field of each */
    if (given < sizeof(given) || given > known)
        return pipc__fail(err, PIPC_ERR_INVALID, "%s.struct_bytes is %zu, this library knows %zu; "
                          "initialise with %s and run with the library that the program was built "
                          "for, or a newer one", what, given, known, init);
    memcpy(to, from, given);
    return PIPC_OK;
}

static pipc_status_t take_callbacks(pipc__config_t *c, pipc__error_t *err)
{
    pipc_callbacks_t calls = PIPC_CALLBACKS_INIT;

    if (!c->asked.callbacks)
        return PIPC_OK;
    pipc_status_t st = copy_in(&calls, sizeof(calls), c->asked.callbacks, "callbacks",
                               "PIPC_CALLBACKS_INIT", err);
    c->callbacks = (pipc__xchg_callbacks_t){calls.rank, calls.size, calls.allgather, calls.ctx};
    c->want.callbacks = &c->callbacks;
    return st;
}

/* The place of the environment's @name among @words, 0 when it is unset or empty. */
static pipc_status_t look_up(pipc__getenv_t lookup, const char *name, const char *const words[3],
                             const char *what, int *index, pipc__error_t *err)
{
    const char *value = lookup(name);

    *index = 0;
    for (int i = 0; value && *value && i < 3; i++)
        if (!strcmp(value, words[i])) {
            *index = i;
            return PIPC_OK;
        }
    if (!value || !*value)
        return PIPC_OK;
    return pipc__fail(err, PIPC_ERR_INVALID, "%s=%.100s: no such %s; use %s, %s or %s", name, value,
                      what, words[0], words[1], words[2]);
}

/* "16", "max"; 0 when the environment says nothing. */
static pipc_status_t look_up_sms(pipc__getenv_t lookup, int *sms, pipc__error_t *err)
{
    const char *value = lookup("PCIE_IPC_SMS");
    char *end;

    if (!value || !*value)
        return PIPC_OK;
    if (!strcmp(value, "max")) {
        *sms = PIPC_SMS_MAX;
        return PIPC_OK;
    }
    long n = strtol(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || n < 1 || n > 1000000)
        return pipc__fail(err, PIPC_ERR_INVALID, "PCIE_IPC_SMS=%.100s: no number of multiprocessors; "
                          "use 1 or more, or max", value);
    *sms = (int)n;
    return PIPC_OK;
}

/* "split": each rank is a node; "split:2": each two ranks of a host that follow each other are one.
 * Not what Slurm calls a node: ranks of one slurmd, and such as no slurmd has started, can't be set
 * apart by that, and two of a host are found by their own host names or by this. */
static pipc_status_t look_up_split(pipc__getenv_t lookup, uint32_t *split, pipc__error_t *err)
{
    const char *value = lookup("PCIE_IPC_NODES");
    char *end;

    *split = 0;
    if (!value || !*value || !strcmp(value, "auto"))
        return PIPC_OK;
    long n = !strcmp(value, "split") ? 1 : 0;
    if (!strncmp(value, "split:", 6) && value[6] >= '1' && value[6] <= '9') {
        n = strtol(value + 6, &end, 10);
        n = *end ? 0 : n;
    }
    if (n >= 1 && n <= PIPC__RANKS_MAX) {
        *split = (uint32_t)n;
        return PIPC_OK;
    }
    return pipc__fail(err, PIPC_ERR_INVALID, "PCIE_IPC_NODES=%.100s: no such division; use auto, "
                      "split (each rank is a node), or split:N (each N ranks of a host, 1 to %d)",
                      value, PIPC__RANKS_MAX);
}

static pipc_status_t look_up_early(pipc__getenv_t lookup, bool *plain, pipc__error_t *err)
{
    const char *value = lookup("PCIE_IPC_EARLY");

    *plain = value && !strcmp(value, "off");
    if (!value || !*value || *plain || !strcmp(value, "auto"))
        return PIPC_OK;
    return pipc__fail(err, PIPC_ERR_INVALID, "PCIE_IPC_EARLY=%.100s: use auto or off", value);
}

/* How the ranks meet. Whatever is wrong here the other ranks can't be told. */
static pipc_status_t refine_meeting(pipc__config_t *c, pipc__getenv_t lookup, pipc__error_t *err)
{
    static const char *const exchanges[3] = {"auto", "pmix", "socket"};
    int found = 0;

    if (c->asked.exchange || c->asked.callbacks)
        return PIPC_OK;
    pipc_status_t st = look_up(lookup, "PCIE_IPC_EXCHANGE", exchanges, "exchange", &found, err);
    c->asked.exchange = (pipc_exchange_t)found;
    return st;
}

static pipc_status_t refine(pipc__config_t *c, pipc__getenv_t lookup, pipc__error_t *err)
{
    static const char *const paths[3] = {"auto", "p2p", "host"};
    const char *plan = lookup("PCIE_IPC_PLAN");
    pipc_status_t st = PIPC_OK;
    int found = 0;

    if (!c->asked.plan && plan && *plan)
        c->asked.plan = plan;
    if (!c->asked.path) {
        st = look_up(lookup, "PCIE_IPC_PATH", paths, "path", &found, err);
        c->asked.path = (pipc_path_t)found;
    }
    if (!st && !c->asked.sms)
        st = look_up_sms(lookup, &c->asked.sms, err);
    if (!st)
        st = look_up_early(lookup, &c->plain, err);
    return st ? st : look_up_split(lookup, &c->split, err);
}

static pipc_status_t judge_meeting(const pipc_comm_config_t *a, pipc__error_t *err)
{
    if ((unsigned int)a->scope > PIPC_SCOPE_NODE)
        return pipc__fail(err, PIPC_ERR_INVALID, "scope %d does not exist", (int)a->scope);
    if ((unsigned int)a->exchange > PIPC_EXCHANGE_CALLBACKS)
        return pipc__fail(err, PIPC_ERR_INVALID, "exchange %d does not exist", (int)a->exchange);
    if (a->callbacks && a->exchange != PIPC_EXCHANGE_AUTO && a->exchange != PIPC_EXCHANGE_CALLBACKS)
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "config.callbacks is set, but config.exchange asks "
                          "for another exchange; set one of them");
    return PIPC_OK;
}

static pipc_status_t judge(const pipc_comm_config_t *a, pipc__error_t *err)
{
    if ((unsigned int)a->path > PIPC_PATH_HOST)
        return pipc__fail(err, PIPC_ERR_INVALID, "path %d does not exist", (int)a->path);
    if (a->staging_bytes > PIPC__STAGING_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "config.staging_bytes is %zu; use %zu or less, or 0 for "
                          "the default",
                          a->staging_bytes, PIPC__STAGING_MAX);
    if (a->sms < PIPC_SMS_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID, "config.sms is %d; use 0, a number of "
                          "multiprocessors, or PIPC_SMS_MAX", a->sms);
    if (a->leave_nccl != 0 && a->leave_nccl != 1)
        return pipc__fail(err, PIPC_ERR_INVALID, "config.leave_nccl is %d; use 0 or 1", a->leave_nccl);
    if (a->leave_nccl && a->nccl_comm)
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "config.leave_nccl leaves calls to the program, and "
                          "config.nccl_comm gives them to the library; set one of them");
    return PIPC_OK;
}

pipc_status_t pipc__config_take(pipc__config_t *c, const pipc_comm_config_t *asked,
                                pipc__getenv_t lookup, pipc__error_t *err)
{
    static const pipc_comm_config_t defaults = PIPC_COMM_CONFIG_INIT;
    pipc_status_t st = PIPC_OK;

    memset(c, 0, sizeof(*c));
    c->asked = defaults;
    if (asked)
        st = copy_in(&c->asked, sizeof(c->asked), asked, "config", "PIPC_COMM_CONFIG_INIT", err);
    if (!st)
        st = judge_meeting(&c->asked, err);
    if (!st)
        st = take_callbacks(c, err);
    if (!st)
        st = refine_meeting(c, lookup, err);
    c->meets = !st;
    if (!st)
        st = judge(&c->asked, err);
    if (!st)
        st = refine(c, lookup, err);
    c->want.scope = (pipc__scope_t)c->asked.scope;
    c->want.kind = (pipc__xchg_kind_t)c->asked.exchange;
    c->want.tag = c->asked.tag;
    return st;
}
