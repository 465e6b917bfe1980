/* Waits of ranks for each other in their collectives, on two boards with known truth. */
#include "attribute/work/collectives.h"
#include "synthetic_report.h"

#define ALL_REDUCE "ncclDevKernel_AllReduce_Sum_f32"

enum { STEPS = 50 };

static const int64_t US = 1000, MS = 1000000;

typedef struct truth {
    double wait_s[2]; /* of the rank on this board */
    int64_t waits[2];
    int64_t start_ns;
} truth;

/* Steps in which each rank works, 10 ms and its delay, and then reduces with the other one, 5 ms from the
 * start of the last. In every `burst`-th step rank 0 is late; 0: never. */
static synthetic *make_ddp(truth *t, int late_every)
{
    synthetic *s = syn_create(3, 2, 4000);
    int64_t work = syn_class(s, "gemm", 1, 600), all_reduce = syn_class(s, ALL_REDUCE, 24, 220),
            other_shape = syn_class(s, ALL_REDUCE, 16, 220), now = 1000 * MS;
    *t = (truth){.start_ns = now};
    for (int i = 0; i < STEPS; i++) {
        int late = late_every > 0 && i % late_every == 0 ? 0 : 1;
        int64_t by_ns = 2 * MS + i % 7 * MS, start_ns[2] = {now + 10 * MS, now + 10 * MS};
        start_ns[late] += by_ns;
        for (int rank = 0; rank < 2; rank++) {
            syn_kernel(s, work, (size_t)rank, 0, now, start_ns[rank]);
            syn_kernel(s, i % 3 ? all_reduce : other_shape, (size_t)rank, 0, start_ns[rank],
                       start_ns[late] + 5 * MS);
        }
        t->wait_s[!late] += 1e-9 * (double)by_ns;
        t->waits[!late]++;
        now = start_ns[late] + 5 * MS + 20 * US;
    }
    for (size_t b = 0; b < 2; b++)
        syn_measure(s, b, 500 * MS, now + 500 * MS);
    syn_finish(s);
    return s;
}

static const jm_row *row_of_kind(const jm_report *report, const char *kind)
{
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        if (strcmp(jm_report_row(report, i)->kind, kind) == 0) return jm_report_row(report, i);
    return NULL;
}

static void assert_near(double value, double expected, double within)
{
    if (!(fabs(value - expected) <= within)) fail_msg("%.9g, not %.9g", value, expected);
}

static void assert_adds_up(const jm_report *report)
{
    double sum_j = 0, total_j = jm_report_totals_get(report)->total_energy_j;
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        sum_j += jm_report_row(report, i)->energy_self_j;
    assert_near(sum_j, total_j, 1e-9 * total_j);
}

/* Both launch shapes draw 220 W: the joules of the waiting are its seconds times that, within the row's
 * interval. */
static void assert_waited(const jm_row *row, const char *name, int64_t calls, double seconds)
{
    assert_non_null(row);
    assert_string_equal(row->name, name);
    assert_string_equal(row->path, ALL_REDUCE "/waiting");
    assert_int_equal(row->depth, 1);
    assert_int_equal(row->calls, calls);
    assert_near(row->busy_s, seconds, 1e-7);
    if (!(row->energy_low_j <= 220 * seconds && 220 * seconds <= row->energy_high_j))
        fail_msg("%g to %g J, not %g", row->energy_low_j, row->energy_high_j, 220 * seconds);
    assert_near(row->energy_j, 220 * seconds, 0.08 * 220 * seconds);
}

static void test_the_rank_that_came_first_waited(void **state)
{
    (void)state;
    static const jm_by views[] = {JM_BY_LAYER, JM_BY_TYPE};
    truth t;
    synthetic *s = make_ddp(&t, 0);
    for (size_t v = 0; v < 2; v++) {
        jm_report *report = syn_report(s, (jm_report_options){.by = views[v]});
        const jm_report_totals *totals = jm_report_totals_get(report);
        const jm_row *row = row_of_kind(report, "wait"), *all = row_of_kind(report, "collective");
        assert_waited(row, "waiting for GPU 1", STEPS, t.wait_s[0]);
        assert_string_equal(row->boards, "0");
        assert_near(all->busy_s, t.wait_s[0] + 2 * STEPS * 5e-3, 1e-7);
        assert_near(all->energy_self_j, all->energy_j - row->energy_j, 1e-9 * all->energy_j);
        assert_int_equal(all->calls, 2 * STEPS);
        assert_near(totals->collective_wait_s, row->busy_s, 1e-9);
        assert_near(totals->collective_wait_energy_j, row->energy_j, 1e-9 * row->energy_j);
        assert_int_equal(totals->collective_wait_gpu, 1);
        assert_adds_up(report);
        jm_report_free(report);
    }
    syn_free(s);
}

static void test_no_gpu_is_named_where_both_were_late(void **state)
{
    (void)state;
    truth t;
    synthetic *s = make_ddp(&t, 3);
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_LAYER});
    assert_waited(row_of_kind(report, "wait"), "waiting for the others", STEPS, t.wait_s[0] + t.wait_s[1]);
    assert_int_equal(jm_report_totals_get(report)->collective_wait_gpu, 1); /* two in three */
    assert_adds_up(report);
    jm_report_free(report);
    syn_free(s);
}

/* The row of one process has its own waiting; the total is of all. */
static void test_a_process_has_its_own_waits(void **state)
{
    (void)state;
    truth t;
    synthetic *s = make_ddp(&t, 3);
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_LAYER, .process_id = 101});
    assert_waited(row_of_kind(report, "wait"), "waiting for the others", t.waits[1], t.wait_s[1]);
    assert_near(jm_report_totals_get(report)->collective_wait_s, t.wait_s[0] + t.wait_s[1], 1e-7);
    assert_adds_up(report);
    jm_report_free(report);
    syn_free(s);
}

/* The window begins 1 ms after rank 0 began to wait, and ends while both run. */
static void test_a_window_has_what_lies_in_it(void **state)
{
    (void)state;
    truth t;
    synthetic *s = make_ddp(&t, 0);
    int64_t from_ns = t.start_ns + 11 * MS; /* in the first step rank 0 waits 2 ms */
    jm_report *report = syn_report(
        s, (jm_report_options){.by = JM_BY_LAYER, .from_ns = from_ns, .to_ns = t.start_ns + 14 * MS});
    const jm_row *row = row_of_kind(report, "wait");
    assert_non_null(row);
    assert_near(row->busy_s, 1e-3, 1e-9);
    assert_near(row_of_kind(report, "collective")->busy_s, 3e-3 + 2e-3, 1e-9);
    jm_report_free(report);
    syn_free(s);
}

/* The kernel beside rank 0's collective, on three times as many multiprocessors, has three quarters of the
 * shared time, also of the waiting. Rank 1 has nothing beside it. */
static void test_waiting_beside_other_work_is_shared(void **state)
{
    (void)state;
    truth t;
    synthetic *s = make_ddp(&t, 0);
    s->classes[0].grid[0] = 72;
    s->classes[2].grid[0] = 24; /* as the other launch shape */
    for (size_t i = 0, count = s->kernels.count; i < count; i++) {
        const jm__kernel_run *call = &s->kernels.items[i];
        if (call->class_id != 1 && call->stream_id == 1) syn_kernel(s, 1, 0, 0, call->start_ns, call->end_ns);
    }
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_LAYER});
    const jm_report_totals *totals = jm_report_totals_get(report);
    const double move_s = STEPS * 5e-3;
    assert_near(row_of_kind(report, "wait")->busy_s, t.wait_s[0] / 4, 1e-7);
    assert_near(totals->collective_wait_s, t.wait_s[0] / 4, 1e-7);
    assert_near(totals->collective_s, t.wait_s[0] + 2 * move_s, 1e-7);
    assert_near(totals->collective_exposed_s, move_s, 1e-7);
    assert_near(totals->collective_exposed_energy_j, 220 * move_s, 0.05 * 220 * move_s);
    assert_near(row_of_kind(report, "collective")->exposed_s, move_s, 1e-7);
    assert_near(row_of_kind(report, "collective")->busy_s, (t.wait_s[0] + move_s) / 4 + move_s, 1e-7);
    assert_adds_up(report);
    jm_report_free(report);
    syn_free(s);
}

static void assert_nothing_is_said(const synthetic *s)
{
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_LAYER});
    assert_null(row_of_kind(report, "wait"));
    assert_true(isnan(jm_report_totals_get(report)->collective_wait_s));
    assert_true(isnan(jm_report_totals_get(report)->collective_wait_energy_j));
    assert_int_equal(jm_report_totals_get(report)->collective_wait_gpu, -1);
    assert_adds_up(report);
    jm_report_free(report);
}

/* Rank 1 lacks its third call and its last: the others are still matched, since they overlap in time. */
static void test_ranks_that_called_it_unequally_often_are_compared_where_both_did(void **state)
{
    (void)state;
    truth t;
    synthetic *s = make_ddp(&t, 0);
    int call = 0;
    for (size_t i = 0; i < s->kernels.count; i++) {
        if (s->kernels.items[i].class_id == 1 || s->kernels.items[i].stream_id != 2) continue;
        if (call == 2 || call == STEPS - 1) {
            s->kernels.items[i].class_id = 1; /* late by 2 ms and i % 7 more */
            t.wait_s[0] -= 1e-3 * (2 + call % 7);
        }
        call++;
    }
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_LAYER});
    const jm_row *row = row_of_kind(report, "wait");
    assert_non_null(row);
    assert_string_equal(row->name, "waiting for GPU 1");
    assert_int_equal(row->calls, STEPS - 2);
    assert_near(row->busy_s, t.wait_s[0], 1e-7);
    jm_report_free(report);
    syn_free(s);
}

/* Two of 50 calls of rank 1 begin when rank 0's are over: they are not matched. */
static void test_calls_that_were_not_at_one_time_are_not_compared(void **state)
{
    (void)state;
    truth t;
    synthetic *s = make_ddp(&t, 0);
    int changed = 0;
    for (size_t i = 0; i < s->kernels.count && changed < 2; i++) {
        jm__kernel_run *call = &s->kernels.items[i];
        if (call->class_id == 1 || call->stream_id != 2) continue;
        call->start_ns = call->end_ns;
        call->end_ns += 10 * US;
        changed++;
    }
    assert_nothing_is_said(s);
    syn_free(s);
}

static void test_a_rank_alone_is_not_compared(void **state)
{
    (void)state;
    truth t;
    synthetic *s = make_ddp(&t, 0);
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_LAYER, .board_id = 1});
    assert_null(row_of_kind(report, "wait"));
    assert_true(isnan(jm_report_totals_get(report)->collective_wait_s));
    jm_report_free(report);
    syn_free(s);
}

/* ---- calls of the pass */

enum { NAMES = 3 };

/* Calls by the names of their kernels, each a channel of its own. */
typedef struct calls_of_names {
    jm__classes classes;
    jm__collectives collectives;
    jm__collective_waits waits;
    jm__span_index spans;
} calls_of_names;

static void begin_calls(calls_of_names *c)
{
    static const jm__dataset nothing = {0};
    static const char *const names[NAMES] = {"nccl", "other", "several"};
    *c = (calls_of_names){.spans = {.dataset = &nothing}};
    for (size_t i = 0; i < NAMES; i++) {
        const jm__class class = {.name = names[i], .kind = "kernel"};
        assert_true(jm__vec_push(&c->classes, class));
    }
    jm__collectives_init(&c->collectives, &c->spans, &c->classes);
}

static void end_calls(calls_of_names *c)
{
    jm__collectives_free(&c->collectives);
    jm__vec_free(&c->waits);
    jm__vec_free(&c->classes);
}

static void add(calls_of_names *c, uint32_t name, size_t rank, int64_t from_ns, int64_t to_ns, uint32_t count)
{
    const jm__item item = {
        .start_ns = from_ns, .end_ns = to_ns, .process_id = 100 + (int64_t)rank, .calls = count};
    jm__collective_info found;
    assert_true(jm__collective_of(&c->collectives, JM__NO_SPAN, name, &found));
    assert_true(jm__collective_calls_add(&c->collectives, found.collective, c->classes.items[name].name,
                                         &item, rank));
}

static size_t count_waits(calls_of_names *c)
{
    jm__intervals all = {0};
    assert_true(jm__intervals_add(&all, 0, INT64_MAX));
    const jm__intervals *const windows[] = {&all, &all, &all};
    c->waits.count = 0;
    assert_true(jm__collective_waits_find(&c->waits, &c->collectives, windows));
    jm__vec_free(&all);
    return c->waits.count;
}

static void test_three_ranks_wait_for_the_last(void **state)
{
    (void)state;
    calls_of_names c;
    double share;
    begin_calls(&c);
    add(&c, 0, 0, 100, 900, 1);
    add(&c, 0, 1, 300, 900, 1);
    add(&c, 0, 2, 600, 900, 1);
    add(&c, 1, 0, 1000, 1100, 1);
    assert_int_equal(count_waits(&c), 3);
    static const double wait_ns[] = {500, 300, 0};
    for (size_t r = 0; r < 3; r++) {
        assert_near(c.waits.items[r].wait_s, 1e-9 * wait_ns[r], 1e-15);
        assert_int_equal(c.waits.items[r].calls, r < 2);
        assert_int_equal(c.waits.items[r].late, r == 2);
        assert_int_equal(c.waits.items[r].matched, 1);
    }
    assert_near(c.waits.items[2].awaited_s, 800e-9, 1e-15);
    assert_int_equal(jm__collective_awaited(&c.waits, &c.collectives, 0, &share), 2);
    assert_near(share, 1, 1e-12);
    assert_true(jm__collective_awaited(&c.waits, &c.collectives, 1, &share) == SIZE_MAX);
    end_calls(&c);
}

/* Rank 0 has one more call, which overlaps with the first one of rank 1. The call that ends with that one is
 * its match. */
static void test_a_call_more_takes_no_partner_of_another(void **state)
{
    (void)state;
    calls_of_names c;
    begin_calls(&c);
    add(&c, 0, 0, 0, 350, 1);
    for (int64_t i = 0; i < 100; i++) {
        add(&c, 0, 0, 1000 * i + 400, 1000 * i + 900, 1);
        add(&c, 0, 1, 1000 * i + 300, 1000 * i + 905, 1);
    }
    assert_int_equal(count_waits(&c), 2);
    for (size_t r = 0; r < 2; r++) {
        assert_int_equal(c.waits.items[r].matched, 100);
        assert_near(c.waits.items[r].wait_s, r == 1 ? 100 * 100e-9 : 0, 1e-12);
    }
    end_calls(&c);
}

/* Bounded memory: channels with too many calls, or with a record of several calls, are left out. */
static void test_nothing_is_said_of_too_many_calls(void **state)
{
    (void)state;
    calls_of_names c;
    begin_calls(&c);
    for (int64_t i = 0; i < JM_COLLECTIVE_CALLS_MAX / 2; i++)
        for (size_t rank = 0; rank < 2; rank++)
            add(&c, 0, rank, 1000 * i + (int64_t)rank, 1000 * i + 500, 1);
    assert_int_equal(count_waits(&c), 2);
    for (size_t rank = 0; rank < 2; rank++) {
        add(&c, 0, rank, INT64_MAX / 2, INT64_MAX / 2 + 1, 1);
        add(&c, 1, rank, 10 * (int64_t)rank, 100, 1);
        add(&c, 2, rank, 10 * (int64_t)rank, 100, 7);
        add(&c, 2, rank, 200 + 10 * (int64_t)rank, 300, 1); /* nor of what it calls later */
    }
    assert_int_equal(count_waits(&c), 2);
    assert_string_equal(c.collectives.items.items[c.waits.items[0].collective].name, "other");
    for (size_t r = 0; r < c.collectives.ranks.count; r++)
        if (c.collectives.ranks.items[r].channel == 0)
            assert_int_equal(c.collectives.ranks.items[r].calls.capacity, 0);
    end_calls(&c);
}

/* ---- the energy of waiting */

enum { WAIT_W = 180, MOVE_W = 330 };

/* make_ddp's steps, rank 1 late by 4 to 10 ms: a collective that waits draws 180 W, one that moves data 330.
 */
static synthetic *make_slow_rank(double *wait_s)
{
    synthetic *s = syn_create(11, 2, 8000);
    int64_t work = syn_class(s, "gemm", 132, 600), all_reduce = syn_class(s, ALL_REDUCE, 24, MOVE_W),
            now = 1000 * MS;
    *wait_s = 0;
    for (int i = 0; i < 4 * STEPS; i++) {
        int64_t by_ns = 4 * MS + i * 5 % 7 * MS, move_ns = 3 * MS + i % 5 * MS;
        int64_t begin_ns = now + 10 * MS, all_ns = begin_ns + by_ns;
        syn_kernel(s, work, 0, 0, now, begin_ns);
        syn_kernel(s, all_reduce, 0, 0, begin_ns, all_ns);
        s->kernel_w[s->kernels.count - 1] = WAIT_W;
        syn_kernel(s, all_reduce, 0, 0, all_ns, all_ns + move_ns);
        syn_kernel(s, work, 1, 0, now, all_ns);
        syn_kernel(s, all_reduce, 1, 0, all_ns, all_ns + move_ns);
        *wait_s += 1e-9 * (double)by_ns;
        now = all_ns + move_ns + 20 * US + i % 3 * MS;
    }
    for (size_t b = 0; b < 2; b++)
        syn_measure(s, b, 500 * MS, now + 500 * MS);
    size_t kept = 0; /* what was measured as two pieces is recorded as one kernel */
    for (size_t i = 0; i < s->kernels.count; i++) {
        jm__kernel_run *last = kept > 0 ? &s->kernels.items[kept - 1] : NULL, run = s->kernels.items[i];
        if (last != NULL && run.stream_id == 1 && run.class_id == all_reduce &&
            last->class_id == all_reduce && last->stream_id == 1)
            last->end_ns = run.end_ns;
        else
            s->kernels.items[kept++] = run;
    }
    s->kernels.count = kept;
    syn_finish(s);
    return s;
}

/* The promise: within 10 % of waiting power times time, and within its interval. 5.6 s of 180 W with 4 W of
 * noise per reading leave 1 %, and the response of the sensor some more. */
static void test_waiting_costs_what_waiting_power_times_time_says(void **state)
{
    (void)state;
    double wait_s;
    synthetic *s = make_slow_rank(&wait_s);
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_LAYER});
    const jm_row *row = row_of_kind(report, "wait"), *all = row_of_kind(report, "collective");
    assert_non_null(row);
    assert_string_equal(row->name, "waiting for GPU 1");
    assert_near(row->busy_s, wait_s, 1e-6);
    assert_near(row->energy_j, WAIT_W * wait_s, 0.1 * WAIT_W * wait_s);
    assert_true(row->energy_low_j <= WAIT_W * wait_s && WAIT_W * wait_s <= row->energy_high_j);
    double move_s = all->busy_s - row->busy_s;
    assert_near(all->energy_self_j, MOVE_W * move_s, 0.1 * MOVE_W * move_s);
    assert_near(jm_report_totals_get(report)->collective_wait_energy_j, row->energy_j, 1e-9 * row->energy_j);
    assert_string_equal(all->type, "all-reduce");
    assert_adds_up(report);
    jm_report_free(report);
    report = syn_report(s, (jm_report_options){.by = JM_BY_KERNEL});
    assert_near(row_of_kind(report, "wait")->energy_j, WAIT_W * wait_s, 0.1 * WAIT_W * wait_s);
    assert_adds_up(report);
    jm_report_free(report);
    syn_free(s);
}

/* ---- spans of collectives */

static int64_t add_collective(synthetic *s, const char *operation, const char *group, int64_t bytes, int rank,
                              int64_t start_ns)
{
    int64_t span =
        syn_span(s, JM_SPAN_COLLECTIVE, operation, group, 0, start_ns, start_ns + 10 * US, 100 + rank);
    if (bytes < 0) return span;
    s->spans[span - 1].payload_kind = JM_PAYLOAD_INTEGER;
    s->spans[span - 1].payload.integer = bytes;
    return span;
}

static const jm_row *row_at_path(const jm_report *report, const char *path)
{
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        if (strcmp(jm_report_row(report, i)->path, path) == 0) return jm_report_row(report, i);
    fail_msg("no row %s", path);
    return NULL;
}

/* Ranks alternate in being late by 4 ms in an all-reduce of a communicator and in a reduce-scatter, of which
 * some calls have no bytes. Rank 1 sends to rank 0, who waits for 2 ms. */
static synthetic *make_groups(void)
{
    static const char communicator[] = "communicator 00000000000000ab", there[] = "pp (rank 1 to 0)";
    synthetic *s = syn_create(5, 2, 8000);
    int64_t work = syn_class(s, "gemm", 132, 600), all_reduce = syn_class(s, ALL_REDUCE, 24, 220),
            scatter = syn_class(s, "ncclDevKernel_ReduceScatter_Sum_f32", 24, 220),
            pair = syn_class(s, "ncclDevKernel_SendRecv", 2, 220), now = 1000 * MS;
    for (int i = 0; i < STEPS; i++) {
        for (int rank = 0; rank < 2; rank++) {
            int64_t at = now + (i % 2 == rank ? 9 : 5) * MS, send = now + 22 * MS + rank * 2 * MS;
            syn_kernel(s, work, (size_t)rank, 0, now, at);
            syn_kernel(s, all_reduce, (size_t)rank,
                       add_collective(s, "all-reduce", communicator, 1000, rank, at), at, now + 14 * MS);
            syn_kernel(
                s, scatter, (size_t)rank,
                add_collective(s, "reduce-scatter", communicator, i == 7 ? -1 : 10, rank, now + 15 * MS),
                now + 15 * MS, now + 20 * MS);
            syn_kernel(s, pair, (size_t)rank,
                       add_collective(s, rank == 1 ? "send" : "recv", there, 64, rank, send), send,
                       now + 28 * MS);
        }
        now += 30 * MS;
    }
    for (size_t b = 0; b < 2; b++) {
        s->processes[b].rank = 5 - (int64_t)b;
        syn_measure(s, b, 500 * MS, now + 500 * MS);
    }
    syn_finish(s);
    return s;
}

static void test_a_row_is_an_operation_in_a_group_with_its_bytes(void **state)
{
    (void)state;
    synthetic *s = make_groups();
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_LAYER});
    const jm_row *all = row_at_path(report, "all-reduce, ranks 4,5");
    assert_string_equal(all->kind, "collective");
    assert_string_equal(all->type, "all-reduce");
    assert_int_equal(all->calls, 2 * STEPS);
    assert_int_equal(all->bytes, 2 * STEPS * 1000);
    assert_near(all->bytes_per_s, 1000 / 5e-3, 1e-3); /* 5 ms each without waiting */
    const jm_row *scatter = row_at_path(report, "reduce-scatter, ranks 4,5");
    assert_int_equal(scatter->bytes, -1); /* two calls have no bytes */
    assert_true(isnan(scatter->bytes_per_s));
    const jm_row *receives = row_at_path(report, "recv, pp (rank 1 to 0)"),
                 *sends = row_at_path(report, "send, pp (rank 1 to 0)");
    assert_int_equal(sends->bytes, 64 * STEPS);
    assert_near(receives->busy_s, STEPS * 6e-3, 1e-6);
    assert_near(row_at_path(report, "recv, pp (rank 1 to 0)/waiting")->busy_s, STEPS * 2e-3, 1e-6);
    assert_adds_up(report);
    jm_report_free(report);
    syn_free(s);
}

/* Each waited 4 ms in every other step. */
static void test_ranks_that_both_waited_have_a_row_each(void **state)
{
    (void)state;
    synthetic *s = make_groups();
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_LAYER});
    const jm_row *waits = row_at_path(report, "all-reduce, ranks 4,5/waiting"),
                 *first = row_at_path(report, "all-reduce, ranks 4,5/waiting/rank 5 (GPU 0)");
    assert_string_equal(waits->name, "waiting for the others");
    assert_int_equal(waits->calls, STEPS);
    assert_near(waits->busy_s, STEPS * 4e-3, 1e-6);
    assert_string_equal(first->kind, "wait");
    assert_int_equal(first->calls, STEPS / 2);
    assert_near(first->busy_s, STEPS / 2 * 4e-3, 1e-6);
    assert_near(first->energy_j, waits->energy_j / 2, 0.05 * waits->energy_j);
    bool found = false;
    for (size_t i = 0; i < jm_report_note_count(report); i++)
        found = found || strstr(jm_report_note(report, i), "rank 4 (GPU 1) in ") != NULL;
    assert_true(found);
    jm_report_free(report);
    syn_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_rank_that_came_first_waited),
        cmocka_unit_test(test_no_gpu_is_named_where_both_were_late),
        cmocka_unit_test(test_a_process_has_its_own_waits),
        cmocka_unit_test(test_a_window_has_what_lies_in_it),
        cmocka_unit_test(test_waiting_beside_other_work_is_shared),
        cmocka_unit_test(test_ranks_that_called_it_unequally_often_are_compared_where_both_did),
        cmocka_unit_test(test_a_call_more_takes_no_partner_of_another),
        cmocka_unit_test(test_waiting_costs_what_waiting_power_times_time_says),
        cmocka_unit_test(test_calls_that_were_not_at_one_time_are_not_compared),
        cmocka_unit_test(test_a_rank_alone_is_not_compared),
        cmocka_unit_test(test_a_row_is_an_operation_in_a_group_with_its_bytes),
        cmocka_unit_test(test_ranks_that_both_waited_have_a_row_each),
        cmocka_unit_test(test_three_ranks_wait_for_the_last),
        cmocka_unit_test(test_nothing_is_said_of_too_many_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
