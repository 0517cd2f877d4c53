/* tests/unit/fatbin.c - the kernels that are linked in: reading fat binaries, which to load, and
 * that the library holds code for what configure was told, as found in the file itself
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/exec/fatbin.h"

#define COUNT(a) (int)(sizeof(a) / sizeof((a)[0]))

/* --- a fat binary by hand --------------------------------------------------------------------- */

typedef struct made {
    unsigned char bytes[1024];
    size_t size;
} made_t;

static void put(made_t *m, uint64_t value, int width)
{
    for (int i = 0; i < width; i++)
        m->bytes[m->size++] = i < 8 ? (unsigned char)(value >> 8 * i) : 0;
}

/* @codes as "90 p90 70": machine code and PTX, with as many bytes of content as the number says. */
static made_t make(const char *codes)
{
    made_t m = {.size = 16};
    char text[128], *rest = text;

    snprintf(text, sizeof(text), "%s", codes);
    for (char *word; (word = strsep(&rest, " ")) && *word;) {
        bool ptx = *word == 'p';
        unsigned int arch = (unsigned int)atoi(word + ptx);
        put(&m, ptx ? 1 : 2, 2);
        put(&m, 0x0101, 2);
        put(&m, 64, 4);
        put(&m, arch, 8);
        put(&m, 0, 12);
        put(&m, arch, 4);
        put(&m, 0, 32);
        m.size += arch; /* content */
    }
    size_t size = m.size;
    m.size = 0;
    put(&m, 0xba55ed50, 4);
    put(&m, 1, 2);
    put(&m, 16, 2);
    put(&m, size - 16, 8);
    m.size = size;
    return m;
}

static void read_back(const char *codes, const char *want)
{
    made_t m = make(codes);
    pipc__fatbin_t list[] = {{13000, m.bytes, m.size}, {0, NULL, 0}};
    char text[128];

    assert_string_equal(pipc__fatbin_describe(list, text, sizeof(text)), want);
}

static void codes_are_read_in_order(void **state)
{
    (void)state;
    read_back("90", "sm_90 by CUDA 13.0");
    read_back("75 80 120 p120", "sm_75 sm_80 sm_120 compute_120 by CUDA 13.0");
    read_back("", "by CUDA 13.0");
}

/* One byte of a good one is changed, or it is cut. */
static void what_is_malformed_is_refused(void **state)
{
    static const struct {
        size_t at;
        unsigned char byte;
    } faults[] = {
        {0, 0x51},        /* the magic number */
        {4, 2},           /* its version */
        {6, 8},           /* a head shorter than a head */
        {7, 0x10},        /* and longer than all */
        {9, 0x40},        /* more bytes than there are */
        {15, 0x80},       /* many more */
        {16 + 4, 8},      /* the head of a code too short */
        {16 + 7, 0x80},   /* and too long */
        {16 + 9, 0x10},   /* a code longer than the rest */
        {16 + 15, 0xff},  /* so long that sums wrap */
        {16 + 8, 90 - 1}, /* the next one begins a byte too soon */
    };
    pipc__fatbin_code_t code[PIPC__FATBIN_CODES];
    made_t good = make("90 80");

    (void)state;
    assert_int_equal(pipc__fatbin_read(good.bytes, good.size, code, NULL), 2);
    for (int i = 0; i < COUNT(faults); i++) {
        made_t m = good;
        m.bytes[faults[i].at] = faults[i].byte;
        if (pipc__fatbin_read(m.bytes, m.size, code, NULL) != -1)
            fail_msg("fault %d was not seen", i);
    }
    for (size_t size = 0; size < good.size; size++)
        assert_int_equal(pipc__fatbin_read(good.bytes, size, code, NULL), -1);
}

static void many_codes_do_not_overflow(void **state)
{
    pipc__fatbin_code_t code[PIPC__FATBIN_CODES + 1];
    unsigned char bytes[16 + 64 * 40] = {0};
    made_t one = make("p0 1");

    (void)state;
    memcpy(bytes, one.bytes, 16);
    for (int i = 0; i < 40; i++) {
        memcpy(bytes + 16 + 64 * i, one.bytes + 16, 64);
        bytes[16 + 64 * i + 28] = 90;
    }
    bytes[8] = (unsigned char)(64 * 40 & 255);
    bytes[9] = 64 * 40 >> 8;
    code[PIPC__FATBIN_CODES].arch = 7;
    assert_int_equal(pipc__fatbin_read(bytes, sizeof(bytes), code, NULL), PIPC__FATBIN_CODES);
    assert_int_equal(code[PIPC__FATBIN_CODES].arch, 7);
}

/* --- choosing --------------------------------------------------------------------------------- */

static void the_newest_that_is_not_newer_than_the_driver_comes_first(void **state)
{
    static const struct {
        int driver, first;
    } cases[] = {{13000, 0}, {13020, 0}, {14000, 0}, {12090, 1}, {12000, 1}, {11080, 0}};
    const pipc__fatbin_t list[] = {{13000, NULL, 0}, {12040, NULL, 0}, {0, NULL, 0}};
    int order[PIPC__FATBINS];

    (void)state;
    for (int i = 0; i < COUNT(cases); i++) {
        assert_int_equal(pipc__fatbin_order(list, cases[i].driver, order), 2);
        assert_int_equal(order[0], cases[i].first);
        assert_int_equal(order[1], !cases[i].first);
    }
    assert_int_equal(pipc__fatbin_order(list + 1, 11080, order),
                     1); /* it is offered all the same */
    assert_int_equal(pipc__fatbin_order(list + 2, 13000, order), 0);
}

static void gpu_and_driver_decide_what_fits(void **state)
{
    static const struct {
        const char *cuda13, *cuda12; /* NULL: built without */
        int driver, arch;
        pipc__fatbin_fit_t fit;
        int needs;
    } cases[] = {
        /* machine code: the same major number, from its minor number on */
        {"80", NULL, 13000, 80, PIPC__FATBIN_FITS, 13000},
        {"80", NULL, 13000, 89, PIPC__FATBIN_FITS, 13000},
        {"86", NULL, 13000, 80, PIPC__FATBIN_NO_CODE, 0},
        {"80", NULL, 13000, 90, PIPC__FATBIN_NO_CODE, 0},
        {"100", NULL, 13000, 103, PIPC__FATBIN_FITS, 13000},
        {"100", NULL, 13000, 120, PIPC__FATBIN_NO_CODE, 0},
        /* PTX: every newer one, and the driver must know this PTX */
        {"p80", NULL, 13000, 120, PIPC__FATBIN_FITS, 13000},
        {"p80", NULL, 13000, 75, PIPC__FATBIN_NO_CODE, 0},
        {NULL, "p80", 12040, 90, PIPC__FATBIN_FITS, 12040},
        {NULL, "p80", 12020, 90, PIPC__FATBIN_OLD_DRIVER, 12040},
        /* minor versions are compatible in machine code */
        {NULL, "80 p80", 12020, 80, PIPC__FATBIN_FITS, 12000},
        {NULL, "80", 11080, 80, PIPC__FATBIN_OLD_DRIVER, 12000},
        {"75 90", NULL, 12090, 90, PIPC__FATBIN_OLD_DRIVER, 13000},
        /* both */
        {"75 90", "70 90", 12020, 90, PIPC__FATBIN_FITS, 12000},
        {"75 90", "70 90", 13000, 70, PIPC__FATBIN_FITS, 12000},
        {"75 90 p90", "70", 12020, 100, PIPC__FATBIN_OLD_DRIVER, 13000},
        {"75 90 p90", "70", 13000, 60, PIPC__FATBIN_NO_CODE, 0},
        {"", "", 13000, 90, PIPC__FATBIN_NO_CODE, 0},
    };

    (void)state;
    for (int i = 0; i < COUNT(cases); i++) {
        made_t m[2];
        pipc__fatbin_t list[3] = {{0, NULL, 0}};
        int n = 0, needs;
        for (int k = 0; k < 2; k++) {
            const char *codes = k ? cases[i].cuda12 : cases[i].cuda13;
            if (!codes)
                continue;
            m[n] = make(codes);
            list[n] = (pipc__fatbin_t){k ? 12040 : 13000, m[n].bytes, m[n].size};
            n++;
        }
        pipc__fatbin_fit_t fit = pipc__fatbin_fit(list, cases[i].driver, cases[i].arch, &needs);
        if (fit != cases[i].fit || needs != cases[i].needs)
            fail_msg("case %d: fit %d, needs %d", i, (int)fit, needs);
    }
    assert_int_equal(pipc__fatbin_branch(13000), 580);
    assert_int_equal(pipc__fatbin_branch(12000), 525);
    assert_int_equal(pipc__fatbin_branch(15000), 0);
}

/* --- what the library holds ------------------------------------------------------------------- */

typedef struct codes {
    int n;
    bool has[2][1000]; /* [ptx][arch] */
} codes_t;

/* "-gencode arch=compute_80,code=[sm_80,compute_80] ...": what stands behind code= */
static codes_t told(const char *gencode)
{
    static const char *const words[] = {"sm_", "compute_"};
    codes_t c = {.n = 0};

    for (const char *p = gencode; (p = strstr(p, "code=")); p++) {
        const char *end = p + strcspn(p, " ");
        for (int ptx = 0; ptx < 2; ptx++)
            for (const char *w = p; (w = strstr(w, words[ptx])) && w < end; w++) {
                int arch = atoi(w + strlen(words[ptx]));
                assert_in_range(arch, 1, 999);
                c.n += !c.has[ptx][arch];
                c.has[ptx][arch] = true;
            }
    }
    return c;
}

static bool are(const pipc__fatbin_code_t *code, int n, const codes_t *want)
{
    for (int i = 0; i < n; i++)
        if (!want->has[code[i].ptx][code[i].arch])
            return false;
    return n == want->n;
}

static int words_in(const char *text)
{
    int n = 0;

    for (text = text ? text : ""; *(text += strspn(text, " ")); text += strcspn(text, " "))
        n++;
    return n;
}

/* Every fat binary in @bytes; a list of them on stderr. found[k]: those that hold just want[k]. */
static int search(const unsigned char *bytes, size_t size, const codes_t want[2], int found[2])
{
    pipc__fatbin_code_t code[PIPC__FATBIN_CODES];
    int all = 0;
    size_t used;

    for (size_t at = 0; at < size; at += 8) {
        int n = pipc__fatbin_read(bytes + at, size - at, code, &used);
        if (n < 0)
            continue;
        fprintf(stderr, "# %8zu bytes:", used);
        for (int i = 0; i < n; i++)
            fprintf(stderr, " %s_%d", code[i].ptx ? "compute" : "sm", code[i].arch);
        fprintf(stderr, "\n");
        all++;
        for (int k = 0; k < 2; k++)
            found[k] += are(code, n, &want[k]);
    }
    return all;
}

/* PIPC_KERNELS names the kernels, PIPC_CUDA_GENCODE and PIPC_CUDA12_GENCODE what each compiler was
 * told; empty: none. All from configure, the file from the linker. */
static void the_library_holds_what_configure_was_told(void **state)
{
    const char *gencode[2] = {getenv("PIPC_CUDA_GENCODE"), getenv("PIPC_CUDA12_GENCODE")};
    const char *folder = getenv("PIPC_BUILDDIR");
    int kernels = words_in(getenv("PIPC_KERNELS")), found[2] = {0, 0}, makers = 0;
    codes_t want[2];
    char path[4096];
    struct stat st;

    (void)state;
    if (!folder || !gencode[0] || !*gencode[0]) {
        print_message("# a build without CUDA: the library holds nothing\n");
        return;
    }
    for (int k = 0; k < 2; k++) {
        want[k] = told(gencode[k] ? gencode[k] : "");
        makers += want[k].n != 0;
    }
    assert_true(want[0].n > 0 && kernels > 0);
    snprintf(path, sizeof(path), "%s/.libs/libpcie-ipc.so", folder);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && !fstat(fd, &st));
    void *file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    assert_ptr_not_equal(file, MAP_FAILED);
    close(fd);
    int all = search(file, (size_t)st.st_size, want, found);
    munmap(file, (size_t)st.st_size);
    assert_int_equal(all, kernels * makers);
    if (!memcmp(&want[0], &want[1], sizeof(want[0])))
        kernels *= 2; /* what each compiler made is what the other was told */
    assert_int_equal(found[0], kernels);
    assert_int_equal(found[1], makers == 2 ? kernels : 0);
}

/* The control: one architecture more or less is seen. */
static void other_code_than_was_told_is_seen(void **state)
{
    made_t m = make("80 90 p90");
    const codes_t want[2] = {told("-gencode arch=compute_80,code=sm_80 "
                                  "-gencode arch=compute_90,code=[sm_90,compute_90]"),
                             told("-gencode arch=compute_80,code=sm_80")};
    int found[2] = {0, 0};

    (void)state;
    assert_int_equal(search(m.bytes, sizeof(m.bytes) / 8 * 8, want, found), 1);
    assert_int_equal(found[0], 1);
    assert_int_equal(found[1], 0);
    m = make("80 90");
    assert_int_equal(search(m.bytes, sizeof(m.bytes) / 8 * 8, want, found), 1);
    assert_int_equal(found[0] + found[1], 1); /* as before */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_are_read_in_order),
        cmocka_unit_test(what_is_malformed_is_refused),
        cmocka_unit_test(many_codes_do_not_overflow),
        cmocka_unit_test(the_newest_that_is_not_newer_than_the_driver_comes_first),
        cmocka_unit_test(gpu_and_driver_decide_what_fits),
        cmocka_unit_test(the_library_holds_what_configure_was_told),
        cmocka_unit_test(other_code_than_was_told_is_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
