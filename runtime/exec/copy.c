/* exec/copy.c - see copy.h */
#include "runtime/exec/copy.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#if defined(__SSE2__)
#include <emmintrin.h>

#define LINE ((size_t)64)

/* Whole lines from a line's start on, so that each leaves the processor in one piece. */
static void copy_lines(char *dst, const char *src, size_t n)
{
    for (size_t at = 0; at < n; at += LINE) {
        const __m128i *s = (const void *)(src + at);
        __m128i *d = (void *)(dst + at);
        __m128i a = _mm_loadu_si128(s), b = _mm_loadu_si128(s + 1);
        __m128i c = _mm_loadu_si128(s + 2), e = _mm_loadu_si128(s + 3);
        _mm_stream_si128(d, a);
        _mm_stream_si128(d + 1, b);
        _mm_stream_si128(d + 2, c);
        _mm_stream_si128(d + 3, e);
    }
}

void pipc__copy_past_caches(void *dst, const void *src, size_t n)
{
    char *d = dst;
    const char *s = src;
    size_t head = -(uintptr_t)d % LINE;

    if (n < head + LINE) {
        memcpy(d, s, n);
        return;
    }
    size_t lines = (n - head) / LINE * LINE, tail = n - head - lines;
    memcpy(d, s, head);
    copy_lines(d + head, s + head, lines);
    memcpy(d + head + lines, s + head + lines, tail);
    _mm_sfence(); /* such stores are not ordered by themselves, a release store does not do it */
}

#else

void pipc__copy_past_caches(void *dst, const void *src, size_t n)
{
    memcpy(dst, src, n);
}

#endif

size_t pipc__copy_cache_bytes(void)
{
    long bytes = 0;

#ifdef _SC_LEVEL3_CACHE_SIZE
    bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    return bytes > 0 ? (size_t)bytes : (size_t)32 << 20;
}
