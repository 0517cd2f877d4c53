/* prolog/stress/series.c - see series.h */
#include "prolog/stress/series.h"

#include <stdlib.h>
#include <string.h>

void stress_series_start(stress_series_t *s)
{
    memset(s, 0, sizeof(*s));
    s->width = 1;
}

/* Two by two: half as many, of twice the time. */
static void halve(stress_series_t *s)
{
    for (int i = 0; i < SERIES_BUCKETS / 2; i++)
        s->bucket[i] = (s->bucket[2 * i] + s->bucket[2 * i + 1]) / 2;
    s->buckets = SERIES_BUCKETS / 2;
    s->width *= 2;
}

void stress_series_add(stress_series_t *s, double value)
{
    if (s->n == 0 || value < s->min)
        s->min = value;
    if (s->n == 0 || value > s->max)
        s->max = value;
    if (s->n < SERIES_MINUTE)
        s->first_sum += value;
    s->last[s->n % SERIES_MINUTE] = value;
    s->n++;
    if (s->fill == 0) {
        if (s->buckets == SERIES_BUCKETS)
            halve(s);
        s->bucket[s->buckets++] = 0;
    }
    double *b = &s->bucket[s->buckets - 1];
    *b += (value - *b) / ++s->fill;
    if (s->fill == s->width)
        s->fill = 0;
}

static int by_value(const void *a, const void *b)
{
    double x, y;

    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

double stress_series_median(const stress_series_t *s)
{
    double sorted[SERIES_BUCKETS];
    int n = s->buckets;

    if (n == 0)
        return 0;
    memcpy(sorted, s->bucket, sizeof(*sorted) * (size_t)n);
    qsort(sorted, (size_t)n, sizeof(*sorted), by_value);
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

double stress_series_first(const stress_series_t *s)
{
    return s->n ? s->first_sum / (double)(s->n < SERIES_MINUTE ? s->n : SERIES_MINUTE) : 0;
}

double stress_series_last(const stress_series_t *s)
{
    long n = s->n < SERIES_MINUTE ? s->n : SERIES_MINUTE;
    double sum = 0;

    for (long i = 0; i < n; i++)
        sum += s->last[i];
    return n ? sum / (double)n : 0;
}
