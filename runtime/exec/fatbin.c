/* exec/fatbin.c - see fatbin.h
 *
 * A fat binary as nvcc writes it (numbers little-endian), seen with those of CUDA 12.4 to 13.0:
 *
 *      0  magic 0xba55ed50        then for each piece of code
 *      4  version 1, 16 bits       0  kind, 16 bits: 1 PTX, 2 machine code
 *      6  bytes of this head       4  bytes of this head
 *      8  bytes behind it          8  bytes behind it, compressed or not
 *                                 28  architecture: 80
 */
#include "runtime/exec/fatbin.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MAGIC 0xba55ed50u
#define HEAD 16
#define CODE_HEAD 64
#define KIND_PTX 1
#define KIND_CODE 2

static uint32_t u16(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t u32(const unsigned char *p)
{
    return u16(p) | u16(p + 2) << 16;
}

static uint64_t u64(const unsigned char *p)
{
    return (uint64_t)u32(p) | (uint64_t)u32(p + 4) << 32;
}

/* One piece of code at @p, @left bytes before the end; returns its length, 0 where it is malformed.
 * Other kinds than the two are stepped over: arch 0. */
static size_t read_code(const unsigned char *p, size_t left, pipc__fatbin_code_t *code)
{
    if (left < CODE_HEAD)
        return 0;
    uint32_t kind = u16(p), head = u32(p + 4);
    uint64_t bytes = u64(p + 8);
    if (head < CODE_HEAD || head > left || bytes > left - head)
        return 0;
    code->ptx = kind == KIND_PTX;
    code->arch = kind == KIND_PTX || kind == KIND_CODE ? (int)(u32(p + 28) & 0xffff) : 0;
    return head + (size_t)bytes;
}

int pipc__fatbin_read(const unsigned char *bytes, size_t size,
                      pipc__fatbin_code_t code[PIPC__FATBIN_CODES], size_t *used)
{
    int n = 0;

    if (size < HEAD || u32(bytes) != MAGIC || u16(bytes + 4) != 1)
        return -1;
    uint32_t head = u16(bytes + 6);
    uint64_t body = u64(bytes + 8);
    if (head < HEAD || head > size || body > size - head)
        return -1;
    for (size_t at = head, end = head + (size_t)body; at < end;) {
        pipc__fatbin_code_t one;
        size_t length = read_code(bytes + at, end - at, &one);
        if (!length)
            return -1;
        if (one.arch && n < PIPC__FATBIN_CODES)
            code[n++] = one;
        at += length;
    }
    if (used)
        *used = head + (size_t)body;
    return n;
}

int pipc__fatbin_order(const pipc__fatbin_t *list, int driver, int order[PIPC__FATBINS])
{
    int n = 0;

    for (int newer = 0; newer < 2; newer++)
        for (int i = 0; list[i].release && n < PIPC__FATBINS; i++)
            if ((list[i].release / 1000 > driver / 1000) == newer)
                order[n++] = i;
    return n;
}

/* The release that a driver must have to run @code of @f on a GPU of @arch; 0: none can. */
static int least_driver(const pipc__fatbin_t *f, const pipc__fatbin_code_t *code, int arch)
{
    if (code->arch > arch || (!code->ptx && code->arch / 10 != arch / 10))
        return 0;
    return code->ptx ? f->release : f->release / 1000 * 1000;
}

pipc__fatbin_fit_t pipc__fatbin_fit(const pipc__fatbin_t *list, int driver, int arch, int *needs)
{
    pipc__fatbin_code_t code[PIPC__FATBIN_CODES];

    *needs = 0;
    for (; list->release; list++) {
        int n = pipc__fatbin_read(list->bytes, list->size, code, NULL);
        for (int i = 0; i < n; i++) {
            int least = least_driver(list, &code[i], arch);
            if (least && (!*needs || least < *needs))
                *needs = least;
        }
    }
    return !*needs            ? PIPC__FATBIN_NO_CODE
           : *needs <= driver ? PIPC__FATBIN_FITS
                              : PIPC__FATBIN_OLD_DRIVER;
}

int pipc__fatbin_branch(int release)
{
    static const int known[][2] = {{12000, 525}, {12010, 530}, {12020, 535}, {12030, 545},
                                   {12040, 550}, {12050, 555}, {12060, 560}, {12080, 570},
                                   {12090, 575}, {13000, 580}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i][0] == release)
            return known[i][1];
    return 0;
}

static void add(char *buf, size_t cap, const char *words)
{
    size_t used = strlen(buf);

    snprintf(buf + used, cap - used, "%s", words);
}

const char *pipc__fatbin_describe(const pipc__fatbin_t *list, char *buf, size_t cap)
{
    pipc__fatbin_code_t code[PIPC__FATBIN_CODES];
    char word[32];

    snprintf(buf, cap, "%s", "");
    for (; list->release; list++) {
        int n = pipc__fatbin_read(list->bytes, list->size, code, NULL);
        add(buf, cap, *buf ? ", " : "");
        for (int i = 0; i < n; i++) {
            snprintf(word, sizeof(word), "%s_%d ", code[i].ptx ? "compute" : "sm", code[i].arch);
            add(buf, cap, word);
        }
        snprintf(word, sizeof(word), "by CUDA %d.%d", list->release / 1000,
                 list->release % 1000 / 10);
        add(buf, cap, word);
    }
    return buf;
}
