/* prolog/stress/series.h - a rate over time, a minute or a day of it, in a fixed size. Pure.
 */
#ifndef PIPC_PROLOG_STRESS_SERIES_H
#define PIPC_PROLOG_STRESS_SERIES_H

enum { SERIES_BUCKETS = 1024, SERIES_MINUTE = 60 };

typedef struct stress_series {
    long n; /* samples so far, one a second */
    double min, max;
    double first_sum;              /* of the first minute */
    double last[SERIES_MINUTE];    /* of the last one, a ring */
    double bucket[SERIES_BUCKETS]; /* means of @width samples each, the last one maybe of fewer */
    int buckets, fill;
    long width; /* doubles when the buckets are used up */
} stress_series_t;

void stress_series_start(stress_series_t *s);
void stress_series_add(stress_series_t *s, double value);

/* 0 where there is no sample. The median is one of means where the run was long. */
double stress_series_median(const stress_series_t *s);
double stress_series_first(const stress_series_t *s); /* mean of the first minute */
double stress_series_last(const stress_series_t *s);  /* ... and of the last */

#endif
