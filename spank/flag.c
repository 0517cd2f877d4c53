/* spank/flag.c - see flag.h
 *
 * The option's text travels: typed at srun, judged there, carried by Slurm, judged again in
 * slurmstepd. There nobody may be stopped by it: slurmstepd is root, the text is the user's.
 */
#include "spank/flag.h"

#include <stdio.h>
#include <string.h>

#include "spank/say.h"

static struct {
    bool given;
    pipc__spank_options_t options;
    pipc__error_t error; /* the last text was not understood */
} flag;

static pipc_status_t parse(const char *text, pipc__spank_options_t *options, pipc__error_t *err)
{
    pipc_status_t st;

    pipc__options_default(pipc__spank_table, options);
    st = pipc__options_parse(pipc__spank_table, text, options, err);
    if (!st)
        st = pipc__spank_options_judge(options, err);
    if (st)
        pipc__say_clean(err->text);
    return st;
}

static void print_help(void)
{
    char keys[2048];

    pipc__options_help(pipc__spank_table, keys, sizeof(keys));
    printf("--pcie-ipc[=KEY:VALUE,...]\n%s", keys);
    fflush(stdout);
}

/* In srun, sbatch, salloc: before any allocation. A failure makes them end; exit() would skip what
 * they have to clean up. */
static int judge(const char *text)
{
    pipc__spank_options_t options;
    pipc__error_t err = {PIPC_OK, ""};

    if (parse(text, &options, &err)) {
        slurm_error("pcie-ipc: %s", err.text);
        return -1;
    }
    if (options.help) {
        print_help();
        return -1;
    }
    flag.given = true; /* of the environment's and the command line's text the last is obeyed */
    flag.options = options;
    return 0;
}

/* In slurmstepd. Slurm 22.05 calls twice, the second time with "": an empty text never takes back
 * one that said something. */
static int take(const char *text)
{
    bool empty = !text || !*text || !strcmp(text, "(null)");

    if (flag.given && empty)
        return 0;
    flag.given = true;
    flag.error = (pipc__error_t){PIPC_OK, ""};
    parse(text, &flag.options, &flag.error);
    return 0;
}

static int on_option(int val, const char *text, int remote)
{
    (void)val;
    return remote ? take(text) : judge(text);
}

void pipc__flag_register(spank_t sp)
{
    static char name[] = "pcie-ipc", arg[] = "KEY:VALUE,...",
                usage[] = "bind tasks to GPU, cores and NIC of one PCIe switch; "
                          "--pcie-ipc=help lists the keys";
    static struct spank_option option = {name, arg, usage, 2, 0, on_option};
    spank_err_t rc = spank_option_register(sp, &option);

    if (rc != ESPANK_SUCCESS)
        slurm_error("pcie-ipc: --pcie-ipc can't be registered: %s", spank_strerror(rc));
}

bool pipc__flag_given(void)
{
    return flag.given && (flag.error.status || !flag.options.off);
}

pipc_status_t pipc__flag_options(pipc__spank_options_t *options, pipc__error_t *err)
{
    *options = flag.options;
    if (flag.error.status && err)
        *err = flag.error;
    return flag.error.status;
}
