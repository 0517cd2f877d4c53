/* tests/cluster/relay.c - a cable that loses frames and takes its time, between a node's network
 * namespace and the bridge. (The kernel's own, netem, is a module that is often not there.)
 *
 *     relay NAMESPACE INNER OUTER [SEED]
 *
 *     bridge -- OUTER ==[ relay ]== INNER in NAMESPACE        both ends are TAP devices
 *
 * Each line of standard input is "LOSS MSEC": from now on LOSS % of the frames of each direction
 * are dropped, and the others are late by MSEC; 0 0 at the beginning. Which frames are dropped
 * follows from SEED and the frame's number alone. Order is kept, also when the delay becomes
 * shorter. QUEUE frames of a direction are on their way at most; those above are dropped, as a
 * switch does. Each line, and the end of input, is answered by one of standard output, counted from
 * the start:
 *
 *     out PASSED DROPPED FULL in PASSED DROPPED FULL          frames; out: of the node
 *
 * The relay ends with its input or with its parent. Exit status 69: no TAP device can be made here.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define QUEUE 4096
#define FRAME 2048 /* bytes: more than Ethernet's 1514 */

typedef struct frame {
    int64_t due; /* nsec */
    size_t bytes;
    char data[FRAME];
} frame_t;

typedef struct direction {
    int from, to;
    frame_t *frames; /* QUEUE of them, from head on */
    unsigned int head, queued;
    uint64_t random; /* state of xorshift64* */
    long passed, dropped, full;
} direction_t;

static struct {
    double loss; /* 0 to 1 */
    int64_t delay;
} wire;

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void die(const char *what, const char *name)
{
    fprintf(stderr, "relay: %s %s: %s\n", what, name, strerror(errno));
    exit(69);
}

/* Without IFF_VNET_HDR the kernel cuts packets to the device's MTU and fills in their checksums. */
static int tap(const char *name)
{
    struct ifreq r = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        die("cannot open", "/dev/net/tun");
    snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
    if (ioctl(fd, TUNSETIFF, &r))
        die("no TAP device", name);
    return fd;
}

static void enter(const char *namespace)
{
    char path[256];

    snprintf(path, sizeof(path), "/run/netns/%s", namespace);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET))
        die("cannot enter", path);
    close(fd);
}

/* Every frame draws a number, also while nothing is dropped: the pattern is the seed's. */
static bool is_dropped(direction_t *d)
{
    d->random ^= d->random >> 12;
    d->random ^= d->random << 25;
    d->random ^= d->random >> 27;
    return (double)(d->random * 0x2545f4914f6cdd1d >> 11) * 0x1p-53 < wire.loss;
}

static void take_frames(direction_t *d)
{
    static char dropped[FRAME];

    for (;;) {
        frame_t *f = &d->frames[(d->head + d->queued) % QUEUE];
        bool full = d->queued == QUEUE;
        ssize_t n = read(d->from, full ? dropped : f->data, FRAME);
        if (n <= 0)
            return;
        if (is_dropped(d)) {
            d->dropped++;
        } else if (full) {
            d->full++;
        } else {
            f->bytes = (size_t)n;
            f->due = now() + wire.delay;
            d->queued++;
        }
    }
}

/* A device that is down takes nothing: the frame is lost, as on a cable that is pulled. */
static void pass_frames(direction_t *d)
{
    for (int64_t t = now(); d->queued && d->frames[d->head].due <= t; d->queued--) {
        frame_t *f = &d->frames[d->head];
        d->passed += write(d->to, f->data, f->bytes) == (ssize_t)f->bytes;
        d->head = (d->head + 1) % QUEUE;
    }
}

static void answer(const direction_t d[2])
{
    printf("out %ld %ld %ld in %ld %ld %ld\n", d[0].passed, d[0].dropped, d[0].full, d[1].passed,
           d[1].dropped, d[1].full);
    fflush(stdout);
}

/* Lines may come in pieces, or several at once. False at the end of input. */
static bool obey(const direction_t d[2])
{
    static char text[256];
    static size_t length;
    double loss, msec;
    char *end;
    ssize_t n = read(0, text + length, sizeof(text) - 1 - length);

    if (n <= 0)
        return n < 0 && errno == EAGAIN;
    length += (size_t)n;
    text[length] = 0;
    while ((end = strchr(text, '\n'))) {
        if (sscanf(text, "%lf %lf", &loss, &msec) == 2) {
            wire.loss = loss / 100;
            wire.delay = (int64_t)(msec * 1e6);
        }
        answer(d);
        length -= (size_t)(end + 1 - text);
        memmove(text, end + 1, length + 1);
    }
    return length < sizeof(text) - 1;
}

static void sleep_until_due(const direction_t d[2], struct pollfd *fds)
{
    int64_t left = 1000000000, t = now();

    for (int i = 0; i < 2; i++)
        if (d[i].queued && d[i].frames[d[i].head].due - t < left)
            left = d[i].frames[d[i].head].due - t;
    const struct timespec limit = {0, left < 0 ? 0 : left > 999999999 ? 999999999 : left};
    ppoll(fds, 3, &limit, NULL);
}

int main(int argc, char **argv)
{
    pid_t parent = getppid();
    uint64_t seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;

    if (argc < 4)
        return 64;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        return 0;
    int outer = tap(argv[3]);
    enter(argv[1]);
    int inner = tap(argv[2]);
    direction_t d[2] = {{.from = inner, .to = outer, .random = seed * 2 + 1},
                        {.from = outer, .to = inner, .random = ~(seed * 2)}};
    for (int i = 0; i < 2; i++)
        if (!(d[i].frames = malloc(QUEUE * sizeof(frame_t))))
            return 69;
    struct pollfd fds[3] = {{0, POLLIN, 0}, {inner, POLLIN, 0}, {outer, POLLIN, 0}};
    answer(d); /* the devices are there */
    for (bool go = true; go;) {
        sleep_until_due(d, fds);
        if (fds[0].revents)
            go = obey(d);
        for (int i = 0; i < 2; i++) {
            take_frames(&d[i]);
            pass_frames(&d[i]);
        }
    }
    answer(d);
    return 0;
}
