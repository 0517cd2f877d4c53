/* prolog/ring.c - see ring.h */
#include "prolog/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "prolog/state.h"

#define NUMBER 17 /* "0000000000000012 " */
#define HEAD 26   /* and "8c1f03aa " */

typedef struct place {
    uint64_t number;
    size_t at;
} place_t;

/* FNV-1a of the number and the text: it tells a torn record, nobody forges one. */
static uint32_t checksum(const char *record)
{
    uint32_t sum = 2166136261u;

    for (int i = 0; i < PIPC__RING_RECORD - 1; i++)
        if (i < NUMBER || i >= HEAD)
            sum = (sum ^ (unsigned char)record[i]) * 16777619u;
    return sum;
}

static void make_record(uint64_t number, const char *text, char record[PIPC__RING_RECORD + 1])
{
    char sum[16];

    snprintf(record, PIPC__RING_RECORD + 1, "%016llx %08x %-*s\n", (unsigned long long)number, 0,
             PIPC__RING_TEXT_MAX - 1, text);
    snprintf(sum, sizeof(sum), "%08x", checksum(record));
    memcpy(record + NUMBER, sum, 8);
}

/* @digits of them as make_record() writes them; no sscanf(), which takes signs and blanks, and a
 * check reads tens of thousands. */
static bool read_hex(const char *text, int digits, uint64_t *out)
{
    static const char all[] = "0123456789abcdef";

    *out = 0;
    for (int i = 0; i < digits; i++) {
        const char *digit = memchr(all, text[i], sizeof(all) - 1);
        if (!digit)
            return false;
        *out = *out << 4 | (uint64_t)(digit - all);
    }
    return text[digits] == ' ';
}

static bool read_record(const char *record, uint64_t *number)
{
    uint64_t sum;

    return read_hex(record, NUMBER - 1, number) &&
           read_hex(record + NUMBER, HEAD - NUMBER - 1, &sum) &&
           record[PIPC__RING_RECORD - 1] == '\n' && sum == checksum(record);
}

static int by_number(const void *a, const void *b)
{
    const place_t *x = a, *y = b;

    return x->number < y->number ? -1 : x->number > y->number;
}

/* The good records of a ring, in order; NULL without memory. */
static place_t *find_records(const char *bytes, size_t n, size_t *found)
{
    size_t places = n / PIPC__RING_RECORD;
    place_t *list = calloc(places + 1, sizeof(*list));

    *found = 0;
    for (size_t i = 0; list && i < places; i++) {
        uint64_t number;
        if (read_record(bytes + i * PIPC__RING_RECORD, &number) && number % places == i)
            list[(*found)++] = (place_t){number, i * PIPC__RING_RECORD};
    }
    if (list)
        qsort(list, *found, sizeof(*list), by_number);
    return list;
}

bool pipc__ring_records(const char *bytes, size_t n, pipc__ring_each_t *each, void *arg)
{
    char text[PIPC__RING_TEXT_MAX];
    size_t found;
    place_t *list = find_records(bytes, n, &found);

    for (size_t i = 0; list && i < found; i++) {
        memcpy(text, bytes + list[i].at + HEAD, PIPC__RING_TEXT_MAX - 1);
        size_t end = PIPC__RING_TEXT_MAX - 1;
        while (end > 0 && text[end - 1] == ' ')
            end--;
        text[end] = '\0';
        if (!each(arg, text))
            break;
    }
    free(list);
    return list != NULL;
}

pipc_status_t pipc__ring_read(int dir, const char *name, uid_t owner, pipc__ring_each_t *each,
                              void *arg, pipc__error_t *err)
{
    char *bytes;
    size_t n;
    pipc_status_t st = pipc__state_read(dir, name, owner, PIPC__RING_PLACES_MAX * PIPC__RING_RECORD,
                                        &bytes, &n, err);

    if (st)
        return st;
    if (!pipc__ring_records(bytes, n, each, arg))
        st = pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", name);
    free(bytes);
    return st;
}

/* ---- writing ------------------------------------------------------------------------------- */

/* Where to go on: after the newest record that is there. */
static pipc_status_t find_next(int dir, const char *name, uid_t owner, pipc__ring_t *ring,
                               pipc__error_t *err)
{
    size_t found, n;
    place_t *list;
    char *bytes;
    pipc_status_t st = pipc__state_read(dir, name, owner, PIPC__RING_PLACES_MAX * PIPC__RING_RECORD,
                                        &bytes, &n, err);

    if (st)
        return st;
    list = find_records(bytes, n, &found);
    ring->next = list && found ? list[found - 1].number + 1 : 0;
    free(list);
    free(bytes);
    return list ? PIPC_OK : pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", name);
}

/* All of its blocks are taken now: a disk that is full later loses no record. */
static bool make_room(int fd, off_t size)
{
    struct stat st;

    if (fstat(fd, &st) || !S_ISREG(st.st_mode))
        return false;
    if (st.st_size == size)
        return true;
    if (ftruncate(fd, 0) || ftruncate(fd, size))
        return false;
    int why = posix_fallocate(fd, 0, size);
    return why == 0 || why == EOPNOTSUPP || why == EINVAL;
}

pipc_status_t pipc__ring_open(int dir, const char *name, uid_t owner, uint32_t places,
                              pipc__ring_t *out, pipc__error_t *err)
{
    off_t size = (off_t)places * PIPC__RING_RECORD;
    struct stat st;

    *out = (pipc__ring_t){.fd = -1, .places = places};
    if (places < 1 || places > PIPC__RING_PLACES_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID, "%s: no ring has %u places", name, places);
    out->fd = openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    if (out->fd < 0)
        return pipc__fail_errno(err, "%s: cannot be opened", name);
    pipc_status_t status;
    if (fstat(out->fd, &st) || st.st_uid != owner || st.st_mode & (S_IWGRP | S_IWOTH))
        status = pipc__fail(err, PIPC_ERR_INVALID, "%s: not ours alone to write; remove it", name);
    else if (!make_room(out->fd, size))
        status =
            pipc__fail_errno(err, "%s: cannot be made %lld bytes large", name, (long long)size);
    else
        status = find_next(dir, name, owner, out, err);
    if (status)
        pipc__ring_close(out);
    return status;
}

pipc_status_t pipc__ring_append(pipc__ring_t *ring, const char *text, pipc__error_t *err)
{
    char record[PIPC__RING_RECORD + 1];

    if (strlen(text) >= PIPC__RING_TEXT_MAX || strchr(text, '\n'))
        return pipc__fail(err, PIPC_ERR_INVALID, "%s: does not fit into a record", text);
    make_record(ring->next, text, record);
    off_t at = (off_t)(ring->next % ring->places) * PIPC__RING_RECORD;
    if (pwrite(ring->fd, record, PIPC__RING_RECORD, at) != PIPC__RING_RECORD)
        return pipc__fail_errno(err, "the ring cannot be written");
    ring->next++;
    return PIPC_OK;
}

void pipc__ring_flush(const pipc__ring_t *ring)
{
    if (ring->fd >= 0)
        fdatasync(ring->fd);
}

void pipc__ring_close(pipc__ring_t *ring)
{
    if (ring->fd >= 0)
        close(ring->fd);
    ring->fd = -1;
}
