/* Counter rates of each class from windows with several classes: against dense least squares, and against
 * drawn noise. */
#include "attribute/prior/counters.h"
#include "base/clock.h"
#include "counter_samples.h"
#include "dense.h"
#include "proof.h"

#include <stdio.h>

enum { CLASSES = 4, COLUMNS = 6, METRICS = 3, WINDOWS = 600, PIECES_MAX = 20000 };

/* counters.c: the ridge, and the correlation of neighbouring windows */
static const double ridge = 1e-3, correlation_factor = 2;

static const int64_t window_ns = JM_NS_PER_MS;
static const char *const metrics[METRICS] = {"a", "b", "c"};

/* ---- what ran, as the test sees it and as pieces */

typedef struct interval {
    int64_t start_ns, end_ns;
    double share[COLUMNS];
} interval;

typedef struct scene {
    interval items[PIECES_MAX];
    size_t count;
    uint32_t column_of[COLUMNS];
    jm__pieces pieces;
    counter_samples samples;
    jm__dataset dataset;
    jm_board boards[2];
    jm_sensor sensor;
    jm_reading clocks[8];
    double truth[COLUMNS * METRICS]; /* a second */
} scene;

static void begin(scene *s, size_t room)
{
    memset(s, 0, sizeof *s);
    for (uint32_t k = 0; k < COLUMNS; k++)
        s->column_of[k] = k;
    for (size_t i = 0; i < 2; i++)
        s->boards[i] = (jm_board){.id = (int64_t)i + 1, .name = "Synthetic"};
    s->sensor = (jm_sensor){.id = 1, .board_id = 1, .name = "clock_sm", .quantity = JM_QUANTITY_CLOCK_SM};
    s->dataset = (jm__dataset){.boards = s->boards,
                               .board_count = 2,
                               .sensors = &s->sensor,
                               .sensor_count = 1,
                               .readings = s->clocks};
    jm__pieces_begin(&s->pieces, 0, room);
    s->pieces.column_of = s->column_of;
}

static void end(scene *s)
{
    jm__pieces_free(&s->pieces);
    samples_free(&s->samples);
    free(s);
}

/* An interval in which `count` columns ran beside each other. */
static void run_beside(scene *s, const uint32_t *columns, const float *shares, size_t count, int64_t end_ns)
{
    assert_true(s->count < PIECES_MAX);
    interval *item = &s->items[s->count];
    item->start_ns = s->count == 0 ? 0 : item[-1].end_ns;
    item->end_ns = end_ns;
    for (size_t i = 0; i < count; i++) {
        item->share[columns[i]] += (double)shares[i];
        assert_true(jm__pieces_add(&s->pieces, end_ns, columns[i], shares[i], i + 1 < count));
    }
    s->count++;
}

static void run_one(scene *s, uint32_t column, int64_t end_ns)
{
    const float whole = 1;
    run_beside(s, &column, &whole, 1, end_ns);
}

/* Kernels of 20 us to 2 ms by themselves, two streams beside each other, and idling; the mix changes from
 * time to time, as work does. */
static void run_work(scene *s, int64_t end_ns)
{
    const float halves[] = {0.5f, 0.5f}, thirds[] = {0.25f, 0.5f, 0.25f};
    for (int64_t now = 0; now < end_ns;) {
        now += (int64_t)(20e3 * pow(100, dense_uniform()));
        uint32_t first = (uint32_t)(CLASSES * dense_uniform()), second = (first + 1) % CLASSES;
        const uint32_t both[] = {first, second}, idle[] = {first, CLASSES, second};
        double way = dense_uniform();
        if (way < 0.5)
            run_one(s, first, now);
        else if (way < 0.7)
            run_beside(s, both, halves, 2, now);
        else if (way < 0.8)
            run_beside(s, idle, thirds, 3, now);
        else
            run_one(s, way < 0.9 ? CLASSES : CLASSES + 1, now);
    }
    assert_true(jm__pieces_end(&s->pieces));
}

/* The part of [start, end] that each column took, interval by interval. */
static void shares_of(const scene *s, int64_t start_ns, int64_t end_ns, double *share)
{
    memset(share, 0, COLUMNS * sizeof *share);
    for (size_t i = 0; i < s->count; i++) {
        int64_t from = s->items[i].start_ns > start_ns ? s->items[i].start_ns : start_ns;
        int64_t to = s->items[i].end_ns < end_ns ? s->items[i].end_ns : end_ns;
        for (size_t k = 0; k < COLUMNS && to > from; k++)
            share[k] += s->items[i].share[k] * (double)(to - from) / (double)(end_ns - start_ns);
    }
}

/* ---- windows */

/* Windows that used, as rows of shares and of rates a second. */
typedef struct design {
    double share[WINDOWS * COLUMNS];
    double rate[WINDOWS * METRICS];
    size_t rows;
} design;

static void add_window(scene *s, design *d, size_t set, int64_t start_ns, int64_t end_ns, const double *noise)
{
    double *share = d->share + d->rows * COLUMNS, *rate = d->rate + d->rows * METRICS;
    double counted[METRICS], seconds = (double)(end_ns - start_ns) * 1e-9;
    shares_of(s, start_ns, end_ns, share);
    for (size_t m = 0; m < METRICS; m++) {
        rate[m] = noise[m];
        for (size_t k = 0; k < COLUMNS; k++)
            rate[m] += share[k] * s->truth[k * METRICS + m];
        if (rate[m] < 0) rate[m] = 0;                      /* no counter counts backwards */
        counted[m] = m == 2 ? rate[m] : rate[m] * seconds; /* c is in percent */
    }
    samples_add(&s->samples, set, start_ns, end_ns, counted);
    d->rows++;
}

static size_t usual_set(scene *s)
{
    return samples_set(&s->samples, 1, METRICS, "[\"a\", \"b\", \"c\"]", "[\"count\", \"count\", \"%\"]");
}

static jm__rate_choice usual_choice(void)
{
    return (jm__rate_choice){metrics, METRICS, NAN, 0, 0};
}

static void find(jm__class_rates *rates, scene *s, const jm__rate_choice *choice)
{
    jm_error err = {0};
    s->dataset.counters = samples_source(&s->samples);
    if (jm__class_rates_find(rates, &s->dataset, 1, choice, &s->pieces, COLUMNS, CLASSES, &err) != JM_OK)
        fail_msg("%s", err.text);
}

/* Work with windows of about a ms over it, which begin anywhere. */
static scene *make(design *d, double noise, size_t room)
{
    scene *s = malloc(sizeof *s);
    begin(s, room);
    run_work(s, (WINDOWS + 10) * window_ns);
    for (size_t k = 0; k < COLUMNS; k++)
        for (size_t m = 0; m < METRICS; m++)
            s->truth[k * METRICS + m] = k < CLASSES ? 1e3 * (1 + (double)((3 * k + 5 * m) % 7)) : 0;
    size_t set = usual_set(s);
    *d = (design){0};
    for (int64_t at = 123456; d->rows < WINDOWS;) {
        double off[METRICS];
        int64_t length = window_ns - 5000 + (int64_t)(10e3 * dense_uniform());
        for (size_t m = 0; m < METRICS; m++)
            off[m] = noise * dense_normal();
        add_window(s, d, set, at, at + length, off);
        bool worked = false;
        for (size_t k = 0; k < CLASSES; k++)
            worked = worked || d->share[(d->rows - 1) * COLUMNS + k] > 0;
        if (!worked) d->rows--; /* left out: its sample stays */
        at += length;
        if (at + 2 * window_ns > s->items[s->count - 1].end_ns) break;
    }
    return s;
}

/* G = A'A + ridge and A'y of a design. */
static void normal_equations(const design *d, double *gram, double *products)
{
    double turned[COLUMNS * WINDOWS];
    dense_transpose(turned, d->share, d->rows, COLUMNS);
    dense_multiply(gram, turned, d->share, COLUMNS, d->rows, COLUMNS);
    dense_multiply(products, turned, d->rate, COLUMNS, d->rows, METRICS);
    for (size_t k = 0; k < COLUMNS; k++)
        gram[k * COLUMNS + k] += ridge;
}

/* ---- least squares */

/* x >= 0, no slope down where x is 0, none at all elsewhere: there is but one such x. */
static void assert_is_least(const double *gram, const double *products, const double *rate)
{
    for (size_t m = 0; m < METRICS; m++)
        for (size_t k = 0; k < COLUMNS; k++) {
            double x = rate[k * METRICS + m], slope = -products[k * METRICS + m];
            for (size_t j = 0; j < COLUMNS; j++)
                slope += gram[k * COLUMNS + j] * rate[j * METRICS + m];
            double least = 1e-9 * (1 + fabs(products[k * METRICS + m]));
            assert_true(x >= 0 && slope >= -least);
            if (x > 0) assert_true(fabs(slope) <= least);
        }
}

/* correlation_factor * (residual of metric a) . (of metric b) / freedom */
static void assert_left_over(const design *d, const jm__class_rates *rates)
{
    double freedom = fmax((double)d->rows - COLUMNS, (double)d->rows / 10 + 1),
           stated[METRICS * METRICS] = {0};
    for (size_t i = 0; i < d->rows; i++) {
        double rest[METRICS];
        for (size_t m = 0; m < METRICS; m++) {
            rest[m] = d->rate[i * METRICS + m];
            for (size_t k = 0; k < COLUMNS; k++)
                rest[m] -= d->share[i * COLUMNS + k] * rates->rate[k * METRICS + m];
        }
        for (size_t a = 0; a < METRICS; a++)
            for (size_t b = 0; b < METRICS; b++)
                stated[a * METRICS + b] += correlation_factor * rest[a] * rest[b] / freedom;
    }
    dense_assert_covariance("what is left", rates->covariance, stated, METRICS, 1e-6);
}

static void check_against_dense(double noise, size_t room)
{
    static design d;
    scene *s = make(&d, noise, room);
    jm__class_rates rates;
    const jm__rate_choice choice = usual_choice();
    double gram[COLUMNS * COLUMNS], products[COLUMNS * METRICS], seen_s[COLUMNS] = {0};
    find(&rates, s, &choice);
    assert_true(d.rows > WINDOWS / 2);
    assert_int_equal(rates.windows, d.rows);
    normal_equations(&d, gram, products);
    assert_is_least(gram, products, rates.rate);
    assert_left_over(&d, &rates);
    dense_invert(gram, COLUMNS);
    dense_assert_covariance("inverse", rates.inverse, gram, COLUMNS, 1e-9);
    size_t row = 0;
    for (size_t i = 0; i < s->samples.items.count; i++) {
        const one_sample *w = &s->samples.items.items[i];
        double share[COLUMNS], work = 0;
        shares_of(s, w->start_ns, w->end_ns, share);
        for (size_t k = 0; k < CLASSES; k++)
            work += share[k];
        for (size_t k = 0; k < COLUMNS && work > 0; k++)
            seen_s[k] += share[k] * (double)(w->end_ns - w->start_ns) * 1e-9;
        row += work > 0;
    }
    assert_int_equal(row, d.rows);
    for (size_t k = 0; k < COLUMNS; k++)
        assert_true(fabs(rates.seen_s[k] - seen_s[k]) < 1e-9);
    jm__class_rates_free(&rates);
    end(s);
}

static void test_rates_are_those_of_least_squares_in_full(void **state)
{
    (void)state;
    check_against_dense(20, SIZE_MAX);
    check_against_dense(800, SIZE_MAX);
    check_against_dense(800, 0); /* pieces in a file */
}

/* Without noise, each class gets its true rates, beside others or alone. */
static void test_kernels_beside_each_other_get_their_own_counts(void **state)
{
    (void)state;
    static design d;
    scene *s = make(&d, 0, SIZE_MAX);
    jm__class_rates rates;
    const jm__rate_choice choice = usual_choice();
    find(&rates, s, &choice);
    for (size_t k = 0; k < COLUMNS; k++)
        for (size_t m = 0; m < METRICS; m++) {
            double truth = s->truth[k * METRICS + m], stated = rates.rate[k * METRICS + m];
            assert_true(fabs(stated - truth) <= 1e-3 * 7e3); /* the ridge: a thousandth of a window */
        }
    jm__class_rates_free(&rates);
    end(s);
}

/* ---- noise */

/* The errors of the rates over many draws are as `inverse` states, and `covariance` is twice the noise, by
 * the correlation factor. No rate is near 0, where the limit would bias it. */
static void test_errors_of_rates_are_what_draws_of_noise_give(void **state)
{
    (void)state;
    static design d;
    const double noise = 60;
    const int runs = proof_some(1000, 100);
    const double wider = sqrt(1000.0 / runs); /* limits of chance than of 1000 */
    scene *s = make(&d, 0, SIZE_MAX);
    for (size_t k = 0; k < COLUMNS * METRICS; k++)
        s->truth[k] = 2e3 + 100 * (double)k; /* idle, too: its rates would lie at the limit */
    size_t windows = s->samples.items.count;
    double spread[COLUMNS * COLUMNS] = {0}, mean[COLUMNS] = {0}, square = 0, between = 0;
    double inverse[COLUMNS * COLUMNS];
    one_sample *kept = malloc(windows * sizeof *kept);
    memcpy(kept, s->samples.items.items, windows * sizeof *kept);
    for (size_t run = 0; run < (size_t)runs; run++) {
        jm__class_rates rates;
        const jm__rate_choice choice = usual_choice();
        double off[COLUMNS];
        s->samples.items.count = 0;
        for (size_t i = 0; i < windows; i++) {
            double off_m[METRICS];
            d.rows = 0;
            for (size_t m = 0; m < METRICS; m++)
                off_m[m] = noise * dense_normal();
            off_m[1] = 0.6 * off_m[0] + 0.8 * off_m[1];
            add_window(s, &d, 0, kept[i].start_ns, kept[i].end_ns, off_m);
        }
        find(&rates, s, &choice);
        for (size_t k = 0; k < COLUMNS; k++) {
            off[k] = rates.rate[k * METRICS] - s->truth[k * METRICS];
            mean[k] += off[k] / runs;
        }
        for (size_t k = 0; k < COLUMNS; k++)
            for (size_t j = 0; j < COLUMNS; j++)
                spread[k * COLUMNS + j] += off[k] * off[j] / runs / (noise * noise);
        square += rates.covariance[0] / runs;
        between += rates.covariance[1] / runs;
        memcpy(inverse, rates.inverse, sizeof inverse);
        jm__class_rates_free(&rates);
    }
    for (size_t k = 0; k < COLUMNS; k++)
        assert_true(fabs(mean[k]) < 0.2 * wider * noise * sqrt(inverse[k * COLUMNS + k]) + 1);
    /* a variance of 1000 draws is known to 4.5 %: 4 of those */
    dense_assert_covariance("drawn", spread, inverse, COLUMNS, 0.18 * wider);
    assert_true(fabs(square / (correlation_factor * noise * noise) - 1) < 0.02 * wider);
    assert_true(fabs(between / (correlation_factor * 0.6 * noise * noise) - 1) < 0.03 * wider);
    free(kept);
    end(s);
}

/* ---- windows that are left out */

static void assert_same_rates(const jm__class_rates *one, const jm__class_rates *other)
{
    assert_int_equal(one->windows, other->windows);
    assert_memory_equal(one->rate, other->rate, COLUMNS * METRICS * sizeof(double));
    assert_memory_equal(one->seen_s, other->seen_s, COLUMNS * sizeof(double));
    assert_memory_equal(one->inverse, other->inverse, COLUMNS * COLUMNS * sizeof(double));
    assert_memory_equal(one->covariance, other->covariance, METRICS * METRICS * sizeof(double));
}

/* An even scene: 2 ms of each class in turn, then 2 ms of idling; windows of 1 ms from 10 to 100 ms. */
static scene *make_even(void)
{
    scene *s = malloc(sizeof *s);
    begin(s, SIZE_MAX);
    for (int64_t i = 0; i < 59; i++)
        run_one(s, (uint32_t)(i % (CLASSES + 1)), (i + 1) * 2 * window_ns);
    assert_true(jm__pieces_end(&s->pieces));
    return s;
}

static void add_even(scene *s, size_t set, int64_t at_ms, const double *values)
{
    samples_add(&s->samples, set, at_ms * window_ns, (at_ms + 1) * window_ns, values);
}

static void test_windows_that_tell_nothing_are_left_out(void **state)
{
    (void)state;
    static const double absurd[METRICS] = {1e12, 1e12, 1e12}, gap[METRICS] = {1e12, NAN, 1e12},
                        minus[METRICS] = {1e12, -1, 1e12}, endless[METRICS] = {INFINITY, 1, 1},
                        broken[METRICS] = {1, 1e300, 1}; /* a bit of an exponent */
    jm__class_rates clean, spoilt;
    const jm__rate_choice choice = usual_choice();
    scene *s = make_even(), *t = make_even();
    size_t set = usual_set(s), same = usual_set(t);
    samples_add(&t->samples, same, -5 * window_ns, -4 * window_ns, absurd); /* before all pieces */
    samples_add(&t->samples, same, -window_ns / 2, window_ns / 2, absurd);
    for (int64_t at = 10; at < 100; at++) {
        double usual[METRICS] = {5 + (double)at, 7, 40};
        bool idle = at % 10 >= 8;
        if (!idle) add_even(s, set, at, usual);
        if (at % 17 == 3 && !idle) { /* the same, twice, and one that ends where it begins */
            add_even(t, same, at, usual);
            add_even(t, same, at, absurd);
            samples_add(&t->samples, same, at * window_ns + 5, (at + 1) * window_ns + 5, absurd);
            samples_add(&t->samples, same, (at + 1) * window_ns, (at + 1) * window_ns, absurd);
            add_even(t, same, at - 4, absurd); /* out of order */
        } else {
            add_even(t, same, at, idle ? absurd : usual); /* no kernel ran */
        }
    }
    static const double *const wrong[] = {gap, minus, endless, broken};
    for (int64_t at = 100; at < 106; at++)
        add_even(t, same, at, wrong[at % 4]);
    samples_add(&t->samples, same, 117 * window_ns + 1, 118 * window_ns + 1, absurd); /* beyond all pieces */
    samples_add(&t->samples, same, 500 * window_ns, 501 * window_ns, absurd);
    find(&clean, s, &choice);
    find(&spoilt, t, &choice);
    assert_int_equal(clean.windows, 72);
    assert_same_rates(&clean, &spoilt);
    jm__class_rates_free(&clean);
    jm__class_rates_free(&spoilt);
    end(s);
    end(t);
}

static void test_without_windows_there_are_no_rates_and_no_error(void **state)
{
    (void)state;
    jm__class_rates rates;
    const jm__rate_choice choice = usual_choice();
    scene *s = make_even();
    find(&rates, s, &choice);
    assert_int_equal(rates.windows, 0);
    jm__class_rates_free(&rates);
    static const double some[METRICS] = {1, 2, 3};
    size_t other =
        samples_set(&s->samples, 2, METRICS, "[\"a\", \"b\", \"c\"]", "[\"count\", \"count\", \"%\"]");
    add_even(s, other, 20, some); /* of another board */
    find(&rates, s, &choice);
    assert_int_equal(rates.windows, 0);
    jm__class_rates_free(&rates);
    end(s);
}

/* ---- sets */

/* Sampling that began anew, with its metrics in another order and one more; beside it another board's, and
 * one that lacks a metric. */
static void test_sets_are_read_by_the_names_of_their_metrics(void **state)
{
    (void)state;
    jm__class_rates one, several;
    const jm__rate_choice choice = usual_choice();
    scene *s = make_even(), *t = make_even();
    size_t set = usual_set(s), first = usual_set(t);
    size_t anew = samples_set(&t->samples, 1, 4, "[\"c\", \"else\", \"b\", \"a\"]",
                              "[\"%\", \"count\", \"count\", \"count\"]");
    size_t other =
        samples_set(&t->samples, 2, METRICS, "[\"a\", \"b\", \"c\"]", "[\"count\", \"count\", \"%\"]");
    size_t lacks = samples_set(&t->samples, 1, 2, "[\"a\", \"b\"]", "[\"count\", \"count\"]");
    for (int64_t at = 10; at < 100; at++) {
        const double a = 5 + (double)at, usual[METRICS] = {a, 7, 40}, turned[] = {40, 1e12, 7, a};
        static const double absurd[METRICS] = {1e12, 1e12, 1e12};
        add_even(s, set, at, usual);
        if (at < 50) {
            add_even(t, first, at, usual);
        } else {
            if (at % 10 == 5) add_even(t, other, at, absurd);
            if (at % 10 == 6) add_even(t, lacks, at, absurd);
            add_even(t, anew, at, turned);
        }
    }
    find(&one, s, &choice);
    find(&several, t, &choice);
    assert_true(one.windows > 50);
    assert_same_rates(&one, &several);
    jm__class_rates_free(&one);
    jm__class_rates_free(&several);
    bool known;
    assert_int_equal(jm__rates_available(&known, &t->dataset, 1, &choice, NULL), JM_OK);
    assert_true(known);
    assert_int_equal(jm__rates_available(&known, &t->dataset, 2, &choice, NULL), JM_OK);
    assert_true(known);
    static const char *const unknown[] = {"a", "d"};
    const jm__rate_choice none = {unknown, 2, NAN, 0, 0};
    assert_int_equal(jm__rates_available(&known, &t->dataset, 1, &none, NULL), JM_OK);
    assert_false(known);
    end(s);
    end(t);
}

static void test_the_metrics_of_a_board_are_those_that_are_no_slots(void **state)
{
    (void)state;
    scene *s = make_even();
    char **texts;
    size_t count;
    jm_error err = {0};
    samples_set(&s->samples, 2, 1, "[\"other\"]", "[\"count\"]");
    samples_set(&s->samples, 1, 3, "[\"x\", \"slots\", \"y\"]", "[\"count\", \"slot-cycle\", \"%\"]");
    s->dataset.counters = samples_source(&s->samples);
    assert_int_equal(jm__metrics_of(&texts, &count, &s->dataset, 1, &err), JM_OK);
    assert_int_equal(count, 2);
    assert_string_equal(texts[0], "x");
    assert_string_equal(texts[1], "y");
    jm__metrics_free(texts, count);
    static const char *const bad[] = {"[1, 2, 3]", "[\"x\", \"y\"]", "no JSON", "{}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        s->samples.sets[1].metrics = bad[i];
        assert_int_equal(jm__metrics_of(&texts, &count, &s->dataset, 1, &err), JM_BAD_DATA);
        assert_non_null(strstr(err.text, "set of counters 2"));
        assert_int_equal(count, 0);
    }
    s->dataset.counters.set_count = 1;
    assert_int_equal(jm__metrics_of(&texts, &count, &s->dataset, 1, &err), JM_OK);
    assert_int_equal(count, 0);
    end(s);
}

/* ---- the clock */

typedef struct seen_windows {
    jm__rate_window items[16];
    double rates[16];
    size_t count;
} seen_windows;

static jm_status see(void *taker, const jm__rate_window *window, jm_error *err)
{
    (void)err;
    seen_windows *seen = taker;
    assert_true(seen->count < 16);
    seen->items[seen->count] = *window;
    seen->rates[seen->count++] = window->rate[0];
    return JM_OK;
}

enum { SLOTS = 1000 };

/* Counts of 1 in a ms, with these cycles counted for each slot by two metrics together. */
static seen_windows clocked(double exponent, double slots, bool nvml, const double *mhz, size_t count)
{
    seen_windows seen = {0};
    static const char *const only[] = {"n"};
    const jm__rate_choice choice = {only, 1, 1980, exponent, slots};
    scene *s = make_even();
    size_t set = samples_set(&s->samples, 1, 3, "[\"busy\", \"n\", \"free\"]",
                             "[\"slot-cycle\", \"count\", \"slot-cycle\"]");
    for (size_t i = 0; i < count; i++) {
        double cycles = mhz[i] * 1e3 * SLOTS;
        const double values[] = {0.3 * cycles, 1, 0.7 * cycles};
        add_even(s, set, 10 + (int64_t)i, values);
    }
    s->clocks[0] = (jm_reading){1, 5 * window_ns, 1000};
    s->clocks[1] = (jm_reading){1, 10 * window_ns + window_ns / 2, 1200};
    s->clocks[2] = (jm_reading){1, 14 * window_ns + window_ns / 2, 1600};
    s->clocks[3] = (jm_reading){1, 15 * window_ns, 0}; /* none: the board was lost */
    s->dataset.reading_count = nvml ? 4 : 0;
    s->dataset.counters = samples_source(&s->samples);
    assert_int_equal(jm__rates_each(&s->dataset, 1, &choice, see, &seen, NULL), JM_OK);
    assert_int_equal(seen.count, count);
    end(s);
    return seen;
}

static void test_rates_go_with_the_clock_that_slots_tell(void **state)
{
    (void)state;
    static const double mhz[] = {1980, 1530, 990, 2300};
    seen_windows seen = clocked(2, SLOTS, true, mhz, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_true(fabs(seen.items[i].slot_mhz / (mhz[i] * SLOTS) - 1) < 1e-12);
        assert_true(fabs(seen.rates[i] / (1e3 * pow(mhz[i] / 1980, 2)) - 1) < 1e-12);
    }
}

/* Less than 0.3 of the model's clock, or more than 1.2: a counter is missing. */
static void test_a_clock_that_no_board_has_is_not_assumed(void **state)
{
    (void)state;
    static const double mhz[] = {590, 600, 2370, 2380, NAN, 0};
    static const double nvml[] = {1200, 1300, 1400, 1500, 1600, 1600}; /* the line between its readings */
    static const bool assumed[] = {false, true, true, false, false, false};
    seen_windows seen = clocked(1, SLOTS, true, mhz, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_true(fabs(seen.items[i].clock_mhz - nvml[i]) < 1e-9);
        assert_true(fabs(seen.rates[i] / (1e3 * (assumed[i] ? mhz[i] : nvml[i]) / 1980) - 1) < 1e-9);
    }
}

static void test_without_slots_the_clock_is_nvmls_and_without_that_none(void **state)
{
    (void)state;
    static const double mhz[] = {1500, 1500, 1500, 1500, 1500};
    seen_windows seen = clocked(1, 0, true, mhz, 5);
    for (size_t i = 0; i < 5; i++)
        assert_true(fabs(seen.rates[i] / (1e3 * (1200 + 100 * (double)i) / 1980) - 1) < 1e-9);
    seen = clocked(1, 0, false, mhz, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_true(isnan(seen.items[i].clock_mhz));
        assert_true(fabs(seen.rates[i] / 1e3 - 1) < 1e-12);
    }
    seen = clocked(1, SLOTS, false, mhz, 5); /* slots do not need NVML's clock */
    assert_true(fabs(seen.rates[0] / (1e3 * 1500 / 1980) - 1) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates_are_those_of_least_squares_in_full),
        cmocka_unit_test(test_kernels_beside_each_other_get_their_own_counts),
        cmocka_unit_test(test_errors_of_rates_are_what_draws_of_noise_give),
        cmocka_unit_test(test_windows_that_tell_nothing_are_left_out),
        cmocka_unit_test(test_without_windows_there_are_no_rates_and_no_error),
        cmocka_unit_test(test_sets_are_read_by_the_names_of_their_metrics),
        cmocka_unit_test(test_the_metrics_of_a_board_are_those_that_are_no_slots),
        cmocka_unit_test(test_rates_go_with_the_clock_that_slots_tell),
        cmocka_unit_test(test_a_clock_that_no_board_has_is_not_assumed),
        cmocka_unit_test(test_without_slots_the_clock_is_nvmls_and_without_that_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
