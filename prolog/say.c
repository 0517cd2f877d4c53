/* prolog/say.c - a process that fails open, and its lines. libc only. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "prolog/prolog.h"

#define DAEMON_WARNING 28 /* LOG_DAEMON | LOG_WARNING */

static void let_the_job_run(int number)
{
    (void)number;
    _exit(0);
}

void pipc__fail_open(unsigned int seconds)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM, SIGSYS, SIGXCPU};
    sigset_t none;

    for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
        signal(fatal[i], let_the_job_run);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL); /* ignored, children could not be asked how they ended */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    alarm(seconds);
    for (int fd = open("/dev/null", O_RDWR); fd >= 0; fd = open("/dev/null", O_RDWR)) {
        if (fd > 2) {
            close(fd);
            break;
        }
    }
}

/* syslog() waits while the log's daemon is stuck, which a deadline does not allow. */
static void to_log(const char *line)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
    char text[1024];
    int n = snprintf(text, sizeof(text), "<%d>pcie-ipc: %s", DAEMON_WARNING, line);
    int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    size_t bytes = n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1;

    if (s < 0)
        return;
    sendto(s, text, bytes, MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&to, sizeof(to));
    close(s);
}

void pipc__prolog_say(const char *line)
{
    char clean[900];
    size_t n = 0;

    for (; n < sizeof(clean) - 1 && line[n]; n++)
        clean[n] = line[n] >= ' ' && line[n] <= '~' ? line[n] : '?';
    clean[n] = '\0';
    dprintf(2, "pcie-ipc: %s\n", clean);
    to_log(clean);
}

void pipc__prolog_relay(char *said)
{
    static const char prefix[] = "pcie-ipc: ";
    char *save = NULL;

    for (char *line = strtok_r(said, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        size_t skip = strncmp(line, prefix, sizeof(prefix) - 1) == 0 ? sizeof(prefix) - 1 : 0;
        pipc__prolog_say(line + skip);
    }
}
