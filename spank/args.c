/* spank/args.c - see args.h */
#include "spank/args.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct arg {
    const char *name;
    size_t offset;
    bool path;
} arg_table[] = {
    {"synthetic", offsetof(pipc__args_t, synthetic), false},
    {"sysroot", offsetof(pipc__args_t, sysroot), true},
    {"devdir", offsetof(pipc__args_t, devdir), true},
    {"rundir", offsetof(pipc__args_t, rundir), true},
    {"health", offsetof(pipc__args_t, health), true},
};

/* The value of @text if it is "NAME=...". */
static const char *value_of(const struct arg *arg, const char *text)
{
    size_t n = strlen(arg->name);

    return strncmp(text, arg->name, n) || text[n] != '=' ? NULL : text + n + 1;
}

static bool set(pipc__args_t *args, const struct arg *arg, const char *value)
{
    if (!*value || (arg->path && *value != '/'))
        return false;
    *(const char **)(void *)((char *)args + arg->offset) = value;
    return true;
}

static bool read_one(pipc__args_t *args, const char *text)
{
    for (size_t i = 0; i < sizeof(arg_table) / sizeof(arg_table[0]); i++) {
        const char *value = value_of(&arg_table[i], text);
        if (value)
            return set(args, &arg_table[i], value);
    }
    return false;
}

void pipc__args_read(int argc, char **argv, pipc__args_t *args)
{
    memset(args, 0, sizeof(*args));
    args->devdir = "/dev";
    /* Below a folder that only root writes, where the snapshot is: in one that all can write
     * anybody could stand in its way, by a folder of that name. */
    args->rundir = "/run/pcie-ipc/steps";
    args->health = "/run/pcie-ipc/health.json";
    for (int i = 0; i < argc; i++)
        if (!read_one(args, argv[i]) && !*args->complaint)
            snprintf(args->complaint, sizeof(args->complaint),
                     "plugstack.conf: argument \"%.80s\" ignored; use synthetic=TOPOLOGY, "
                     "sysroot=/FOLDER, devdir=/FOLDER, rundir=/FOLDER, health=/FILE",
                     argv[i]);
    if (args->synthetic && args->sysroot && !*args->complaint)
        snprintf(args->complaint, sizeof(args->complaint),
                 "plugstack.conf: sysroot= ignored; synthetic= goes first, use one of them");
}
