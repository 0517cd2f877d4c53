/* tests/unit/config.c - pcie-ipc.conf: what is believed, and what is refused whole
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/config.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static char folder[64], path[128];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/pipc-config-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof(path), "%s/pcie-ipc.conf", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    rmdir(path);
    return rmdir(folder);
}

static void put(const char *text, size_t n)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    fclose(f);
    assert_int_equal(chmod(path, 0644), 0);
}

static void assert_defaults(const pipc__config_t *c)
{
    assert_int_equal(c->mode, PIPC__MODE_REPORT);
    assert_int_equal(c->cache, 10);
    assert_string_equal(c->sysroot, "/");
    assert_int_equal(c->scope, PIPC__SCOPE_NODE);
    assert_int_equal(c->wake, 0);
    assert_int_equal(c->deadline, 3);
    assert_int_equal(c->undrain, PIPC__UNDRAIN_AUTO);
    assert_int_equal(c->max_drain.n, 0);
    assert_string_equal(c->census, "");
    assert_string_equal(c->scontrol, "/usr/bin/scontrol");
    assert_string_equal(c->slurm_conf, "");
}

/* Refused, for a reason that has @says in it, with all defaults. */
static void assert_refused(uid_t owner, const char *says)
{
    pipc__config_t c;
    pipc__error_t err = {PIPC_OK, ""};

    assert_int_not_equal(pipc__config_read(path, owner, &c, &err), PIPC_OK);
    if (!strstr(err.text, says) || strncmp(err.text, path, strlen(path)))
        fail_msg("wanted \"%s: ... %s\", got \"%s\"", path, says, err.text);
    assert_defaults(&c);
}

static void absent_is_default(void **state)
{
    pipc__config_t c;
    pipc__error_t err = {PIPC_OK, ""};

    (void)state;
    assert_int_equal(pipc__config_read(path, geteuid(), &c, &err), PIPC_OK);
    assert_defaults(&c);
    assert_int_equal(pipc__config_read("/nonexistent/folder/file", 0, &c, &err), PIPC_OK);
    assert_defaults(&c);
}

static void keys_are_read(void **state)
{
    static const char text[] = "# why\n\n[gate]\nmode = enforce ; why\ncache=0\nsysroot = /a b\n"
                               "scope = job\ndeadline = 5\nwake = copy\n[slurm]\nundrain = never\n"
                               "max_drain = 10%\ncensus = gpu-01.rack2\nconf = /opt/slurm.conf\n";
    pipc__config_t c;
    pipc__error_t err = {PIPC_OK, ""};

    (void)state;
    put(text, sizeof(text) - 1);
    assert_int_equal(pipc__config_read(path, geteuid(), &c, &err), PIPC_OK);
    assert_int_equal(c.mode, PIPC__MODE_ENFORCE);
    assert_int_equal(c.cache, 0);
    assert_string_equal(c.sysroot, "/a b");
    assert_int_equal(c.scope, PIPC__SCOPE_JOB);
    assert_int_equal(c.wake, 2);
    assert_int_equal(c.deadline, 5);
    assert_int_equal(c.undrain, PIPC__UNDRAIN_NEVER);
    assert_int_equal(c.max_drain.n, 10);
    assert_true(c.max_drain.percent);
    assert_string_equal(c.census, "gpu-01.rack2");
    assert_string_equal(c.slurm_conf, "/opt/slurm.conf");
}

static void wrong_text_is_refused_whole(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"[gate]\nmode = enforec\n",
         "line 2: mode: wrong value \"enforec\"; use one of: report, enforce"},
        {"[gate]\nmode = enforce\ncolor = red\n",
         "line 3: there is no key \"color\" in section \"gate\""},
        {"mode = enforce\n", "line 1: there is no key \"mode\" in section \"\""},
        {"[gate]\nmode = enforce\nmode = report\n", "line 3: mode stands there twice"},
        {"[gate]\nmode = enforce\n more\n", "line 3: neither"},
        {"[gate]\n mode = enforce\n\tmood = report\n", "line 3: there is no key \"mood\""},
        {"[gate]\nmode = enforce\ncache = -1\n", "cache: wrong value \"-1\"; use 0 to 300"},
        {"[gate]\nmode = enforce\ncache = 301\n", "wrong value \"301\""},
        {"[gate]\nmode = enforce\ncache = 1x\n", "wrong value \"1x\""},
        {"[gate]\nmode = enforce\ncache = 99999999999999999999\n", "wrong value"},
        {"[gate]\nmode = enforce\nsysroot = here\n", "use a path that starts with /"},
        {"[gate\nmode = enforce\n", "line 1: neither"},
        {"[gate]\nmode = enforce\nnothing\n", "line 3: neither"},
        {"[gate]\nmode =\n", "wrong value \"\""},
        {"[gate]\ndeadline = 0\n", "deadline: wrong value \"0\"; use 1 to 60"},
        {"[gate]\nsysroot = none\n", "use a path that starts with /"},
        {"[slurm]\nmax_drain = 101%\n", "use a number of nodes, or 0% to 100%"},
        {"[slurm]\nmax_drain = %\n", "use a number of nodes"},
        {"[slurm]\nmax_drain = -1\n", "use a number of nodes"},
        {"[slurm]\nmax_drain = 10000000000\n", "use a number of nodes"},
        {"[slurm]\ncensus = -n1\n", "use a node's name, or none"},
        {"[slurm]\ncensus = n[1-4]\n", "use a node's name, or none"},
        {"[gate]\nmax_drain = 1\n", "there is no key \"max_drain\" in section \"gate\""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        put(cases[i].text, strlen(cases[i].text));
        assert_refused(geteuid(), cases[i].says);
    }
    put("[gate]\0mode = enforce\n", 22);
    assert_refused(geteuid(), "not a text");
}

static void long_text_is_refused(void **state)
{
    static char text[70000];

    (void)state;
    memset(text, '#', sizeof(text));
    put(text, 300);
    assert_refused(geteuid(), "line 1: longer than");
    for (size_t i = 0; i < sizeof(text); i += 2)
        text[i] = '\n';
    put(text, sizeof(text));
    assert_refused(geteuid(), "not a text of less than");
}

static void what_others_can_write_is_refused(void **state)
{
    static const char text[] = "[gate]\nmode = enforce\n";
    char target[160];

    (void)state;
    put(text, sizeof(text) - 1);
    assert_refused(geteuid() + 1, "belongs to user");
    assert_int_equal(chmod(path, 0664), 0);
    assert_refused(geteuid(), "others can write the file; chmod go-w it");
    assert_int_equal(chmod(path, 0646), 0);
    assert_refused(geteuid(), "others can write the file");
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(chmod(folder, 01777), 0);
    assert_refused(geteuid(), "others can write its folder");
    assert_int_equal(chmod(folder, 0700), 0);

    snprintf(target, sizeof(target), "%s/other", folder);
    assert_int_equal(rename(path, target), 0);
    assert_int_equal(symlink(target, path), 0);
    assert_refused(geteuid(), "cannot be opened"); /* a link leads to where nobody looked */
    assert_int_equal(unlink(target), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0644), 0);
    assert_refused(geteuid(), "not a plain file"); /* and does not hang */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_refused(geteuid(), "not a plain file");
}

static char *slurp(const char *name)
{
    char full[512], *text = NULL;
    size_t size = 0;

    snprintf(full, sizeof(full), "%s/%s", getenv("PIPC_SRCDIR"), name);
    FILE *f = fopen(full, "r");
    assert_non_null(f);
    assert_true(getdelim(&text, &size, '\0', f) > 0);
    fclose(f);
    return text;
}

/* Every key stands in the installed file, commented, at its default; and in the manual. */
static void every_key_is_documented(void **state)
{
    char want[256];

    (void)state;
    if (!getenv("PIPC_SRCDIR"))
        skip();
    char *file = slurp("etc/pcie-ipc.conf"), *page = slurp("doc/pcie-ipc.conf.5");
    for (const pipc__config_key_t *k = pipc__config_keys; k->key; k++) {
        snprintf(want, sizeof(want), "\n#%s = %s\n", k->key, k->def);
        if (!strstr(file, want))
            fail_msg("etc/pcie-ipc.conf has no line \"#%s = %s\"", k->key, k->def);
        snprintf(want, sizeof(want), ".It Cm %s ", k->key);
        if (!strstr(page, want))
            fail_msg("doc/pcie-ipc.conf.5 has no \"%s\"", want);
        snprintf(want, sizeof(want), "The default is\n.Ql %s .", k->def);
        if (!strstr(page, want))
            fail_msg("doc/pcie-ipc.conf.5: %s: no \"%s\"", k->key, want);
        for (const char *const *v = k->values; v && *v; v++) {
            snprintf(want, sizeof(want), "Cm %s", *v);
            if (!strstr(page, want))
                fail_msg("doc/pcie-ipc.conf.5: %s has no value %s", k->key, *v);
        }
    }
    free(page);

    /* As installed it is right, and changes nothing; with its keys switched on neither. */
    pipc__config_t c;
    pipc__error_t err = {PIPC_OK, ""};
    put(file, strlen(file));
    assert_int_equal(pipc__config_read(path, geteuid(), &c, &err), PIPC_OK);
    assert_defaults(&c);
    for (const pipc__config_key_t *k = pipc__config_keys; k->key; k++) {
        snprintf(want, sizeof(want), "\n#%s = ", k->key);
        strstr(file, want)[1] = ' ';
    }
    for (char *p = file; (p = strstr(p, "\n ")); p++) /* a blank at a line's start continues one */
        memmove(p + 1, p + 2, strlen(p + 1));
    put(file, strlen(file));
    if (pipc__config_read(path, geteuid(), &c, &err))
        fail_msg("%s", err.text);
    assert_defaults(&c);
    free(file);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(absent_is_default),
        IN_FOLDER(keys_are_read),
        IN_FOLDER(wrong_text_is_refused_whole),
        IN_FOLDER(long_text_is_refused),
        IN_FOLDER(what_others_can_write_is_refused),
        IN_FOLDER(every_key_is_documented),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
