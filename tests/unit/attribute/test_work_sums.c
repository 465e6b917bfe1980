/* The sums of the pass, against a computation tick by tick: shares of time, columns of classes, groups of
 * durations, the clock around some work. */
#include "attribute/work/clock_track.h"
#include "attribute/work/columns.h"
#include "attribute/work/joint.h"
#include "attribute/work/sweep.h"
#include "chance.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define US JM_NS_PER_US
#define MS JM_NS_PER_MS

static uint64_t seed = 1;

static uint32_t dice(uint32_t sides)
{
    return chance_below(&seed, sides);
}

static void assert_near(double value, double truth, double within)
{
    if (!(fabs(value - truth) <= within)) fail_msg("%.12g, not %.12g", value, truth);
}

/* ---- the sweep line */

enum { USES = 4, ITEMS = 300, TICKS = 40000, FROM = 100 }; /* a tick is 10 us */

#define TICK_NS (10 * US)

typedef struct use_truth {
    double report_s, learn_s, outside_s, ran_s, place_s[JM_PLACES], cell_s, copies_s;
    int64_t calls;
} use_truth;

static jm__item items[ITEMS];
static uint32_t use_of[ITEMS];
static bool outside_of[ITEMS];

/* `crowded`: so long that a hundred run at once. */
static void make_items(bool crowded)
{
    int64_t at = FROM + 700;
    for (size_t i = 0; i < ITEMS; i++) {
        int64_t length = dice(10) == 0 ? 0 : 1 + dice(crowded ? 5000 : 120);
        items[i] =
            (jm__item){.start_ns = at * TICK_NS, .end_ns = (at + length) * TICK_NS, .calls = 1 + dice(3)};
        items[i].copy = (jm__copy)dice(3);
        items[i].weight = crowded ? (float)(1 + dice(5)) : 0;
        use_of[i] = dice(USES);
        outside_of[i] = dice(2);
        at += i % 60 == 59 ? 2500 : i % 20 == 19 ? 150 : dice(100);
    }
}

static bool is_in(const jm__intervals *windows, int64_t tick)
{
    for (size_t i = 0; i < windows->count; i++)
        if (tick * TICK_NS >= windows->items[i].from_ns && tick * TICK_NS < windows->items[i].to_ns)
            return true;
    return false;
}

static size_t running_at(int64_t tick, size_t *running)
{
    size_t count = 0;
    for (size_t i = 0; i < ITEMS; i++)
        if (items[i].start_ns <= tick * TICK_NS && tick * TICK_NS < items[i].end_ns) running[count++] = i;
    return count;
}

static jm__idle_state idle_of(int64_t ticks, bool before)
{
    if (before) return JM_IDLE_BEFORE;
    return ticks < 5      ? JM_IDLE_50_US
           : ticks < 100  ? JM_IDLE_1_MS
           : ticks < 2000 ? JM_IDLE_20_MS
                          : JM_IDLE_LONG;
}

static double weight_of(size_t item)
{
    return items[item].weight > 0 ? (double)items[item].weight : 1;
}

static void compute_truth(use_truth *uses, jm__seconds *idle, const jm__intervals *report,
                          const jm__intervals *learn)
{
    const double tick_s = 1e-9 * (double)TICK_NS;
    size_t running[ITEMS];
    bool before = true;
    for (size_t i = 0; i < ITEMS; i++) {
        uses[use_of[i]].ran_s += 1e-9 * (double)(items[i].end_ns - items[i].start_ns);
        uses[use_of[i]].calls += items[i].calls;
    }
    for (int64_t tick = FROM; tick < TICKS; tick++) {
        double report_s = is_in(report, tick) ? tick_s : 0, learn_s = is_in(learn, tick) ? tick_s : 0;
        size_t count = running_at(tick, running);
        size_t kernels = 0;
        double weights = 0;
        for (size_t r = 0; r < count; r++) {
            kernels += items[running[r]].copy == JM_NO_COPY;
            weights += weight_of(running[r]);
        }
        for (size_t r = 0; r < count; r++) {
            use_truth *use = &uses[use_of[running[r]]];
            double share = weight_of(running[r]) / weights;
            use->copies_s += kernels == 0 ? report_s * share : 0;
            use->report_s += report_s * share;
            use->learn_s += learn_s * share;
            use->place_s[running[r] % JM_PLACES] += report_s * share;
            if (outside_of[running[r]]) use->outside_s += report_s * share;
            if (running[r] % 3 == 0) use->cell_s += report_s * share;
        }
        if (count > 0) continue;
        /* A gap: to the next item; an item of no length splits it. */
        int64_t first = tick, end = TICKS;
        for (size_t i = 0; i < ITEMS; i++) {
            int64_t start = items[i].start_ns / TICK_NS;
            before = before && start > first;
            if (start > first && start < end) end = start;
        }
        for (; tick < end; tick++) {
            jm__idle_state state = idle_of(tick - first, before);
            idle[state].report_s += is_in(report, tick) ? tick_s : 0;
            idle[state].learn_s += is_in(learn, tick) ? tick_s : 0;
        }
        tick--;
    }
}

static void check_shares(bool crowded)
{
    jm__intervals report = {0}, learn = {0};
    jm__pieces pieces;
    jm__tally tally = {0};
    jm__sweep sweep;
    use_truth expected[USES] = {0};
    jm__seconds idle[JM_IDLE_STATES] = {0};
    make_items(crowded);
    assert_true(jm__intervals_add(&report, 3000 * TICK_NS, 9000 * TICK_NS));
    assert_true(jm__intervals_add(&report, 15000 * TICK_NS, 30000 * TICK_NS));
    assert_true(jm__intervals_add(&learn, 0, TICKS * TICK_NS));
    compute_truth(expected, idle, &report, &learn);
    jm__pieces_begin(&pieces, FROM * TICK_NS, SIZE_MAX);
    jm__sweep_begin(&sweep, &pieces, &tally, &report, &report, &learn, FROM * TICK_NS);
    for (size_t i = 0; i < ITEMS; i++) {
        size_t cell = i % 3 == 0 ? jm__work_cell_at(&tally.work, 7, use_of[i]) : JM__NO_CELL;
        const jm__counted_as as = {.use = use_of[i],
                                   .outside = outside_of[i],
                                   .place = (jm__place)(i % JM_PLACES),
                                   .cell = cell,
                                   .sum = SIZE_MAX,
                                   .lent = JM__NO_CELL};
        assert_true(jm__sweep_take(&sweep, &items[i], &as));
    }
    assert_true(jm__sweep_end(&sweep, TICKS * TICK_NS));
    assert_true(jm__pieces_end(&pieces));
    assert_int_equal(pieces.end_ns, TICKS * TICK_NS);
    for (uint32_t u = 0; u < USES; u++) {
        const jm__use_sum *sum = jm__use_sum_at(&tally.uses, u);
        assert_near(sum->inside.report_s, expected[u].report_s, 1e-9);
        assert_near(sum->inside.steady_s, expected[u].report_s, 1e-9);
        assert_near(sum->inside.learn_s, expected[u].learn_s, 1e-9);
        assert_near(sum->outside_s, expected[u].outside_s, 1e-9);
        assert_true(crowded || (expected[u].copies_s > 0 && expected[u].copies_s < expected[u].report_s));
        assert_near(sum->copies_s, expected[u].copies_s, 1e-9);
        assert_near(sum->ran_s, expected[u].ran_s, 1e-9);
        assert_int_equal(sum->calls, expected[u].calls);
        for (size_t p = 0; p < JM_PLACES; p++)
            assert_near(sum->place_s[p], expected[u].place_s[p], 1e-9);
        size_t at = jm__work_cell_at(&tally.work, 7, u);
        assert_near(tally.work.items.items[at].seconds, expected[u].cell_s, 1e-9);
    }
    for (size_t s = 0; s < JM_IDLE_STATES; s++) {
        assert_true(crowded || idle[s].learn_s > 0); /* all of them are there */
        assert_near(tally.idle[s].report_s, idle[s].report_s, 1e-9);
        assert_near(tally.idle[s].learn_s, idle[s].learn_s, 1e-9);
    }
    jm__sweep_free(&sweep);
    jm__tally_free(&tally);
    jm__pieces_free(&pieces);
    jm__vec_free(&report);
    jm__vec_free(&learn);
}

static void test_time_is_shared_by_what_ran_in_it(void **state)
{
    (void)state;
    check_shares(false);
}

static void test_time_is_shared_by_a_crowd(void **state)
{
    (void)state;
    check_shares(true);
}

/* Hundreds of threads at a few layers: a piece for each layer at each change, not for each thread. */
static void test_pieces_are_as_many_as_kinds_of_work_not_as_threads(void **state)
{
    (void)state;
    enum { THREADS = 400, ROUNDS = 20 };
    jm__intervals all = {0};
    jm__pieces pieces;
    jm__tally tally = {0};
    jm__sweep sweep;
    jm__piece_cursor cursor;
    size_t count = 0;
    assert_true(jm__intervals_add(&all, 0, JM_NS_PER_S));
    jm__pieces_begin(&pieces, 0, SIZE_MAX);
    jm__sweep_begin(&sweep, &pieces, &tally, &all, &all, &all, 0);
    for (int64_t round = 0; round < ROUNDS; round++)
        for (uint32_t thread = 0; thread < THREADS; thread++) {
            const jm__item item = {.start_ns = (round * THREADS + thread) * US,
                                   .end_ns = (round * THREADS + thread + THREADS) * US,
                                   .calls = 1};
            const jm__counted_as as = {
                .use = thread % 3, .cell = JM__NO_CELL, .sum = SIZE_MAX, .lent = JM__NO_CELL};
            assert_true(jm__sweep_take(&sweep, &item, &as));
        }
    assert_true(jm__sweep_end(&sweep, JM_NS_PER_S));
    assert_true(jm__pieces_end(&pieces));
    assert_int_equal(jm__cursor_init(&cursor, &pieces, NULL), JM_OK);
    for (jm__cursor_seek(&cursor, 0); !jm__cursor_at_end(&cursor); jm__cursor_next(&cursor)) {
        double shares = 0;
        for (size_t i = 0; i < cursor.now.count; i++)
            shares += (double)cursor.now.items[i].share;
        assert_near(shares, 1, 1e-6);
        count += cursor.now.count;
    }
    assert_true(count < 3 * (size_t)(ROUNDS + 1) * THREADS + 10);
    jm__cursor_free(&cursor);
    jm__sweep_free(&sweep);
    jm__tally_free(&tally);
    jm__pieces_free(&pieces);
    jm__vec_free(&all);
}

/* Uses 0 and 2 become 1, use 1 becomes 0; use 3 was never counted. */
static void test_sums_of_uses_that_become_one_are_added_up(void **state)
{
    (void)state;
    static const uint32_t final_of[] = {1, 0, 1, 5};
    jm__tally tally = {.idle[JM_IDLE_LONG] = {.report_s = 3, .learn_s = 4}};
    for (uint32_t u = 0; u < 4; u++) {
        double one = u + 1;
        jm__use_sum *sum = jm__use_sum_at(&tally.uses, u);
        assert_true(sum->ran_s == -1);
        if (u == 3) break;
        *sum = (jm__use_sum){
            {one, 5 * one, 10 * one}, 100 * one, {0}, 1000 * one, u + 1, 7 * one, 9 * one, 11 * one};
        for (size_t p = 0; p < JM_PLACES; p++)
            sum->place_s[p] = one * (double)(p + 1);
        size_t at = jm__work_cell_at(&tally.work, 9, u);
        jm__work_cell *cell = &tally.work.items.items[at];
        assert_true(cell->start_ns == INT64_MAX && cell->end_ns == INT64_MIN);
        *cell = (jm__work_cell){
            .row = 9, .use = u, .seconds = one, .calls = u + 1, .start_ns = 50 - u, .end_ns = 60 + u};
        assert_int_equal(jm__work_cell_at(&tally.work, 9, u), u); /* the same again */
    }
    assert_true(jm__tally_renumber(&tally, final_of));
    assert_int_equal(tally.uses.count, 2);
    const jm__use_sum *both = jm__use_sum_at(&tally.uses, 1), *alone = jm__use_sum_at(&tally.uses, 0);
    assert_true(both->inside.report_s == 4 && both->inside.steady_s == 20 && both->inside.learn_s == 40 &&
                both->outside_s == 400);
    assert_true(both->ran_s == 4000 && both->calls == 4 && both->copies_s == 28 && both->place_s[2] == 12 &&
                both->exposed_s == 36 && both->extrapolated_s == 44);
    assert_true(alone->ran_s == 2000 && alone->calls == 2 && alone->place_s[0] == 2);
    assert_int_equal(tally.work.items.count, 2);
    size_t at = jm__work_cell_at(&tally.work, 9, 1);
    const jm__work_cell *cell = &tally.work.items.items[at];
    assert_true(cell->seconds == 4 && cell->calls == 4 && cell->start_ns == 48 && cell->end_ns == 62);
    assert_true(tally.idle[JM_IDLE_LONG].report_s == 3 && tally.idle[JM_IDLE_LONG].learn_s == 4);
    jm__tally_free(&tally);
}

/* ---- columns */

typedef struct program {
    jm__classes classes;
    jm__uses uses;
    jm__tally tally;
    char names[3000][16];
} program;

/* A class of this name that ran for so long, in two uses. */
static void add_class(program *p, const char *name, double seconds)
{
    size_t c = p->classes.count;
    snprintf(p->names[c], sizeof p->names[c], "%s", name);
    assert_true(jm__vec_push(&p->classes, ((jm__class){.name = p->names[c], .kind = "kernel"})));
    for (uint32_t context = 0; context < 2; context++) {
        uint32_t use;
        assert_true(jm__use_number(&p->uses, (uint32_t)c, context, &use));
        jm__use_sum *sum = jm__use_sum_at(&p->tally.uses, use);
        if (seconds >= 0) sum->ran_s = seconds / 2;
    }
}

static void program_free(program *p)
{
    jm__vec_free(&p->classes);
    jm__uses_free(&p->uses);
    jm__tally_free(&p->tally);
    free(p);
}

static jm__columns choose(const program *p)
{
    jm__columns columns;
    assert_int_equal(jm__columns_choose(&columns, &p->tally, &p->uses, &p->classes, false, NULL), JM_OK);
    assert_int_equal(columns.count, columns.class_columns + JM_IDLE_STATES);
    for (size_t u = 0; u < p->uses.items.count; u++)
        assert_int_equal(columns.of_use[u], columns.of_class[p->uses.items.items[u].class_index]);
    for (size_t k = 0; k < columns.count; k++)
        assert_int_equal(columns.first_of[k], k);
    return columns;
}

static void test_classes_that_take_next_to_no_time_share_columns(void **state)
{
    (void)state;
    program *p = calloc(1, sizeof *p);
    add_class(p, "rare", 0.2);
    add_class(p, "gemm", 600);
    add_class(p, "never", -1);
    add_class(p, "norm", 399);
    add_class(p, "odd", 0.25);
    add_class(p, "rare", 0.3);
    add_class(p, "just", 0.3);
    jm__columns columns = choose(p);
    /* The tail is what is under a thousandth together: 0.2 + 0.25 + 0.3 = 0.75; the next would make it 1.05.
     */
    assert_int_equal(columns.of_class[1], 0);
    assert_int_equal(columns.of_class[3], 1);
    assert_int_equal(columns.of_class[2], JM_NO_COLUMN);
    assert_int_equal(columns.merged_count, 3);
    size_t kept_of_three_tenths = 0;
    for (size_t c = 5; c <= 6; c++)
        kept_of_three_tenths += !columns.merged[c];
    assert_int_equal(kept_of_three_tenths, 1);
    assert_true(columns.merged[0] && columns.merged[4] && !columns.merged[1] && !columns.merged[3]);
    jm__columns_free(&columns);
    program_free(p);
}

/* Classes of one name have one column, those alone of their name the last one of all. */
static void test_merged_classes_go_by_name(void **state)
{
    (void)state;
    program *p = calloc(1, sizeof *p);
    add_class(p, "gemm", 1000);
    for (int i = 0; i < 4; i++)
        add_class(p, i % 2 == 0 ? "a" : "b", 0.01);
    add_class(p, "c", 0.01);
    add_class(p, "d", 0.01);
    jm__columns columns = choose(p);
    assert_int_equal(columns.class_columns, 4);
    assert_int_equal(columns.merged_count, 6);
    static const uint32_t expected[] = {0, 1, 2, 1, 2, 3, 3};
    for (size_t c = 0; c < 7; c++)
        assert_int_equal(columns.of_class[c], expected[c]);
    /* A tail of one class needs no merging. */
    jm__columns_free(&columns);
    program_free(p);
    p = calloc(1, sizeof *p);
    add_class(p, "gemm", 1000);
    add_class(p, "a", 0.01);
    columns = choose(p);
    assert_int_equal(columns.class_columns, 2);
    assert_int_equal(columns.merged_count, 0);
    jm__columns_free(&columns);
    program_free(p);
}

static void test_there_are_no_more_columns_than_a_fit_can_bear(void **state)
{
    (void)state;
    enum { CLASSES = 2000 };
    program *p = calloc(1, sizeof *p);
    for (int i = 0; i < CLASSES; i++) {
        char name[16];
        snprintf(name, sizeof name, "kernel %d", i / 4);
        add_class(p, name, 1 + 1e-3 * (CLASSES - i));
    }
    jm__columns columns = choose(p);
    /* 359 of their own, 40 for names and one for the rest. */
    assert_int_equal(columns.class_columns, JM_COLUMNS_MAX);
    assert_int_equal(columns.merged_count, CLASSES - 359);
    for (size_t c = 0; c < CLASSES; c++) {
        assert_true(columns.merged[c] == (c >= 359));
        if (c < 359) assert_int_equal(columns.of_class[c], c);
        assert_true(columns.of_class[c] < JM_COLUMNS_MAX);
    }
    jm__columns_free(&columns);
    program_free(p);
}

/* The learnt seconds of each use, class by class, in the contexts 0, 1, ... */
static void learn(program *p, size_t class, size_t contexts, const double *seconds)
{
    for (uint32_t context = 0; context < contexts; context++) {
        uint32_t use;
        assert_true(jm__use_number(&p->uses, (uint32_t) class, context, &use));
        jm__use_sum_at(&p->tally.uses, use)->inside.learn_s = seconds[context];
    }
}

/* The largest place keeps the column of its class, others have new ones before those of idle states; time
 * that is not worth a column stays, and so does a class that ran in one place. */
static void test_a_class_has_a_column_for_each_place(void **state)
{
    (void)state;
    program *p = calloc(1, sizeof *p);
    jm__context places[] = {{.layer = 1}, {.layer = 2}, {.layer = 2, .phase = 3}, {.layer = 4}};
    const jm__contexts contexts = {.items = {.items = places, .count = 4}};
    add_class(p, "gemm", 600);
    add_class(p, "norm", 400);
    learn(p, 0, 4, (double[]){200, 300, 99, 1});
    learn(p, 1, 4, (double[]){400, 0, 0, 0});
    jm__columns columns = choose(p);
    assert_int_equal(jm__columns_by_place(&columns, &p->tally, &p->uses, &contexts, NULL), JM_OK);
    assert_int_equal(columns.class_columns, 4);
    assert_int_equal(columns.count, 4 + JM_IDLE_STATES);
    static const uint32_t expected[2][4] = {{2, 0, 3, 0}, {1, 1, 1, 1}};
    for (size_t u = 0; u < p->uses.items.count; u++)
        assert_int_equal(columns.of_use[u],
                         expected[p->uses.items.items[u].class_index][p->uses.items.items[u].context]);
    for (size_t k = 0; k < columns.count; k++)
        assert_int_equal(columns.first_of[k], k == 2 || k == 3 ? 0 : k);
    jm__columns_free(&columns);
    program_free(p);
}

/* By type of layer where there are more layers than columns for one class. */
static void test_a_class_in_many_layers_has_a_column_for_each_type(void **state)
{
    (void)state;
    enum { LAYERS = 60 };
    program *p = calloc(1, sizeof *p);
    jm__context places[LAYERS];
    double seconds[LAYERS];
    for (int i = 0; i < LAYERS; i++) {
        places[i] = (jm__context){.layer = 10 + i, .type = 1 + i % 3};
        seconds[i] = i % 3 == 1 ? 3 : 1;
    }
    const jm__contexts contexts = {.items = {.items = places, .count = LAYERS}};
    add_class(p, "gemm", 100);
    learn(p, 0, LAYERS, seconds);
    jm__columns columns = choose(p);
    assert_int_equal(jm__columns_by_place(&columns, &p->tally, &p->uses, &contexts, NULL), JM_OK);
    assert_int_equal(columns.class_columns, 3);
    static const uint32_t expected[] = {1, 0, 2};
    for (size_t u = 0; u < LAYERS; u++)
        assert_int_equal(columns.of_use[u], expected[p->uses.items.items[u].context % 3]);
    jm__columns_free(&columns);
    program_free(p);
}

/* ---- the clock */

/* But not across a jump: the clock of either side is that of its own readings, work takes the nearer. */
static void test_work_ran_at_the_mean_clock_around_it(void **state)
{
    (void)state;
    enum { READINGS = 100 };
    static jm_reading readings[2 * READINGS];
    jm_board board = {.id = 1};
    const jm_sensor sensors[] = {
        {.id = 5, .board_id = 2, .name = "clock_sm", .quantity = JM_QUANTITY_CLOCK_SM},
        {.id = 6, .board_id = 1, .name = "power", .quantity = JM_QUANTITY_POWER},
        {.id = 7, .board_id = 1, .name = "clock_sm", .quantity = JM_QUANTITY_CLOCK_SM}};
    for (int i = 0; i < READINGS; i++) { /* 1980 MHz up to 5 s, then 1200, 5 % more from 8 s on */
        readings[2 * i] = (jm_reading){7, i * 100 * MS, i < 50 ? 1980 : i < 80 ? 1200 : 1260};
        readings[2 * i + 1] = (jm_reading){5, i * 100 * MS, 100};
    }
    readings[20].value = 0; /* at 1 s: no clock */
    const jm__dataset dataset = {
        .sensors = sensors, .sensor_count = 3, .readings = readings, .reading_count = 2 * READINGS};
    jm__clock_track track;
    assert_ptr_equal(jm__clock_sensor(&dataset, &board), &sensors[2]);
    assert_true(jm__clock_track_begin(&track, &dataset, &board));
    const struct {
        double from_ms, to_ms, mhz;
    } cases[] = {{0, 1, 1980},       {990, 1010, 1980},
                 {4600, 4640, 1980}, {4948, 4951, 1980},                        /* to the jump */
                 {4949, 4953, 1200}, {4700, 5500, 1200},                        /* from it on */
                 {5300, 5310, 1200}, {7951, 7952, (2 * 1200 + 3 * 1260) / 5.0}, /* 7800 to 8200 ms */
                 {9990, 10500, 1260}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t step =
            jm__clock_track_step(&track, (int64_t)(cases[i].from_ms * 1e6), (int64_t)(cases[i].to_ms * 1e6));
        assert_near(log(jm__clock_step_mhz(step) / cases[i].mhz), 0, 0.00101); /* a step is 0.2 % */
    }
    jm__clock_track_free(&track);
    /* One that did not move by a step, and a board without: 0. */
    for (int i = 0; i < READINGS; i++)
        readings[2 * i].value = i == 3 ? 1983 : 1980;
    assert_true(jm__clock_track_begin(&track, &dataset, &board));
    assert_int_equal(jm__clock_track_step(&track, 0, 1), 0);
    jm__clock_track_free(&track);
    readings[6].value = 2030;
    assert_true(jm__clock_track_begin(&track, &dataset, &board));
    assert_true(jm__clock_track_step(&track, 0, 1) > 0);
    jm__clock_track_free(&track);
    board.id = 3;
    assert_null(jm__clock_sensor(&dataset, &board));
    assert_true(jm__clock_track_begin(&track, &dataset, &board));
    assert_int_equal(jm__clock_track_step(&track, 0, 1), 0);
    jm__clock_track_free(&track);
}

/* From one reading to the next by more than 8 %: alone, on both sides of one out of line, over one that says
 * nothing. */
static void test_the_clock_is_not_known_while_it_jumps(void **state)
{
    (void)state;
    static const double mhz[] = {1980, 1830, 1680, 1680, 1400, 1680, 1680, 0, 1200, 1200};
    static const jm__interval jumps_ms[] = {{100, 200}, {300, 500}, {600, 800}};
    enum { READINGS = sizeof mhz / sizeof *mhz, JUMPS = sizeof jumps_ms / sizeof *jumps_ms };
    jm_reading readings[READINGS];
    const jm_board board = {.id = 1};
    const jm_sensor sensor = {.id = 7, .board_id = 1, .name = "clock_sm", .quantity = JM_QUANTITY_CLOCK_SM};
    for (int i = 0; i < READINGS; i++)
        readings[i] = (jm_reading){7, i * 100 * MS, mhz[i]};
    const jm__dataset dataset = {
        .sensors = &sensor, .sensor_count = 1, .readings = readings, .reading_count = READINGS};
    jm__clock_track track;
    jm__intervals jumps = {0};
    assert_true(jm__clock_track_begin(&track, &dataset, &board));
    assert_true(jm__clock_jumps(&track, &jumps));
    assert_int_equal(jumps.count, JUMPS);
    for (size_t i = 0; i < JUMPS; i++) {
        assert_int_equal(jumps.items[i].from_ns, jumps_ms[i].from_ns * MS);
        assert_int_equal(jumps.items[i].to_ns, jumps_ms[i].to_ns * MS);
    }
    jm__clock_track_free(&track);
    jm__vec_free(&jumps);
}

/* ---- order */

typedef struct taken {
    int64_t last_ns;
    size_t count;
} taken;

static jm_status take(void *taker, const jm__item *item, jm_error *err)
{
    taken *t = taker;
    (void)err;
    if (item->start_ns < t->last_ns)
        fail_msg("%lld after %lld", (long long)item->start_ns, (long long)t->last_ns);
    t->last_ns = item->start_ns;
    t->count++;
    return JM_OK;
}

static void test_items_go_out_in_order_and_what_is_too_late_is_marked(void **state)
{
    (void)state;
    enum { COUNT = 5 * JM_ORDER_REACH };
    taken t = {.last_ns = -1};
    jm__time_order order;
    bool late;
    jm__time_order_begin(&order, take, &t);
    for (int64_t i = 0; i < COUNT; i++) {
        /* Pairs a place off, now and then one that is as far off as may be. */
        int64_t at = i % 1000 == 999 && i >= JM_ORDER_REACH ? i - JM_ORDER_REACH + 1 : i ^ 1;
        jm__item item = {.start_ns = at * 10, .end_ns = at * 10 + 5};
        assert_int_equal(jm__time_order_add(&order, &item, &late, NULL), JM_OK);
        assert_false(late);
    }
    /* The buffer is full: the next one empties half of it first, and is late if it began before an emitted
     * one. */
    assert_int_equal(t.count, COUNT - 2 * JM_ORDER_REACH);
    jm__item item = {.start_ns = t.last_ns, .end_ns = t.last_ns};
    assert_int_equal(jm__time_order_add(&order, &item, &late, NULL), JM_OK);
    assert_true(late);
    assert_int_equal(t.count, COUNT - JM_ORDER_REACH);
    item.start_ns = t.last_ns - 1;
    assert_int_equal(jm__time_order_add(&order, &item, &late, NULL), JM_OK);
    assert_true(late);
    item.start_ns = t.last_ns; /* here there is still room */
    assert_int_equal(jm__time_order_add(&order, &item, &late, NULL), JM_OK);
    assert_false(late);
    assert_int_equal(jm__time_order_end(&order, NULL), JM_OK);
    assert_int_equal(t.count, COUNT + 1);
    jm__time_order_free(&order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time_is_shared_by_what_ran_in_it),
        cmocka_unit_test(test_time_is_shared_by_a_crowd),
        cmocka_unit_test(test_pieces_are_as_many_as_kinds_of_work_not_as_threads),
        cmocka_unit_test(test_sums_of_uses_that_become_one_are_added_up),
        cmocka_unit_test(test_classes_that_take_next_to_no_time_share_columns),
        cmocka_unit_test(test_merged_classes_go_by_name),
        cmocka_unit_test(test_there_are_no_more_columns_than_a_fit_can_bear),
        cmocka_unit_test(test_a_class_has_a_column_for_each_place),
        cmocka_unit_test(test_a_class_in_many_layers_has_a_column_for_each_type),
        cmocka_unit_test(test_work_ran_at_the_mean_clock_around_it),
        cmocka_unit_test(test_the_clock_is_not_known_while_it_jumps),
        cmocka_unit_test(test_items_go_out_in_order_and_what_is_too_late_is_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
