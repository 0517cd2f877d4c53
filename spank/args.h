/* spank/args.h - the plugin's arguments in plugstack.conf */
#ifndef PIPC_SPANK_ARGS_H
#define PIPC_SPANK_ARGS_H

typedef struct pipc__args {
    const char *synthetic; /* a topology in one line, instead of the machine's; or NULL */
    const char *sysroot;   /* a folder that holds a captured machine's sys/ and proc/; or NULL */
    const char *devdir;    /* where nvidia0, nvidia1, ... are */
    const char *rundir;    /* where steps have their private folders; "%h" is the host */
    const char *health;    /* the health snapshot's file */
    char complaint[256];   /* what was not understood, with the remedy; "" if all was */
} pipc__args_t;

/* Never fails: a wrong argument is left out and complained about, since an error here would keep
 * slurmd from starting and every job from running. The texts stay in argv. */
void pipc__args_read(int argc, char **argv, pipc__args_t *args);

#endif
