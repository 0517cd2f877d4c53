/* exec/fd.h - descriptors that are kept stay clear of standard input, output and error.
 */
#ifndef PIPC_EXEC_FD_H
#define PIPC_EXEC_FD_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* @fd, new and close-on-exec, or a copy of it above 2 and @fd closed; -1 with errno. In a program
 * that has closed one of these, its own messages would be written into what we keep there, or its
 * next open() of a log would close it. */
static inline int pipc__fd_keep(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int kept = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int saved = errno;
    close(fd);
    errno = saved;
    return kept;
}

#endif
