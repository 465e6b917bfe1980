/* What ranks waited for each other in their collectives, on two boards whose truth is known. */
#include "attribute/work/collective_waits.h"
#include "synthetic_report.h"

#define ALL_REDUCE "ncclDevKernel_AllReduce_Sum_f32"

enum { STEPS = 50 };

static const int64_t US = 1000, MS = 1000000;

typedef struct truth {
    double wait_s[2]; /* of the rank on this board */
    int64_t waits[2];
    int64_t start_ns;
} truth;

/* Steps in which each rank works, 10 ms and what it is late, and then reduces with the other one, 5 ms from
 * when the last has begun. In every `turn`-th step rank 0 is the late one; 0: never. */
static synthetic *make_ddp(truth *t, int turn)
{
    synthetic *s = syn_create(3, 2, 4000);
    int64_t work = syn_class(s, "gemm", 1, 600), all_reduce = syn_class(s, ALL_REDUCE, 24, 220),
            other_shape = syn_class(s, ALL_REDUCE, 16, 220), now = 1000 * MS;
    *t = (truth){.start_ns = now};
    for (int i = 0; i < STEPS; i++) {
        int late = turn > 0 && i % turn == 0 ? 0 : 1;
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

static void assert_near(double value, double wanted, double within)
{
    if (!(fabs(value - wanted) <= within)) fail_msg("%.9g, not %.9g", value, wanted);
}

static void assert_adds_up(const jm_report *report)
{
    double sum_j = 0, total_j = jm_report_totals_get(report)->total_energy_j;
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        sum_j += jm_report_row(report, i)->energy_self_j;
    assert_near(sum_j, total_j, 1e-9 * total_j);
}

/* Both launch shapes draw 220 W: the joules of the waiting are its seconds times that, as sure as the row
 * says. */
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
    assert_near(row->energy_j, 220 * seconds, 0.05 * 220 * seconds);
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

/* The window begins 1 ms after rank 0 began to wait, and ends where both are at it. */
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

/* What ran beside the collective of rank 0 has half of that time, and of the waiting. */
static void test_waiting_beside_other_work_is_shared(void **state)
{
    (void)state;
    truth t;
    synthetic *s = make_ddp(&t, 0);
    for (size_t i = 0, count = s->kernels.count; i < count; i++) {
        const jm__kernel_run *call = &s->kernels.items[i];
        if (call->class_id != 1 && call->stream_id == 1) syn_kernel(s, 1, 0, 0, call->start_ns, call->end_ns);
    }
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_LAYER});
    assert_near(row_of_kind(report, "wait")->busy_s, t.wait_s[0] / 2, 1e-7);
    assert_near(jm_report_totals_get(report)->collective_wait_s, t.wait_s[0] / 2, 1e-7);
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

static void test_ranks_that_called_it_unequally_often_are_not_compared(void **state)
{
    (void)state;
    truth t;
    synthetic *s = make_ddp(&t, 0);
    s->kernels.items[s->kernels.count - 1].class_id = 1; /* rank 1's last call */
    assert_nothing_is_said(s);
    syn_free(s);
}

/* Two of 50 calls of rank 1 begin when rank 0's are over: they belong to others. */
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

/* ---- calls as they pass */

static void add(jm__collective_calls *calls, const char *name, size_t rank, int64_t from_ns, int64_t to_ns,
                uint32_t count)
{
    const jm__item item = {
        .start_ns = from_ns, .end_ns = to_ns, .process_id = 100 + (int64_t)rank, .calls = count};
    assert_true(jm__collective_calls_add(calls, name, &item, rank));
}

static size_t count_waits(const jm__collective_calls *calls, jm__collective_waits *waits)
{
    jm__windows all = {0};
    assert_true(jm__windows_add(&all, 0, INT64_MAX));
    const jm__windows *const windows[] = {&all, &all, &all};
    waits->count = 0;
    assert_true(jm__collective_waits_find(waits, calls, windows));
    jm__vec_free(&all);
    return waits->count;
}

static void test_three_ranks_wait_for_the_last(void **state)
{
    (void)state;
    static const char name[] = "nccl";
    jm__collective_calls calls = {0};
    jm__collective_waits waits = {0};
    double share;
    add(&calls, name, 0, 100, 900, 1);
    add(&calls, name, 1, 300, 900, 1);
    add(&calls, name, 2, 600, 900, 1);
    assert_int_equal(count_waits(&calls, &waits), 3);
    static const double wait_ns[] = {500, 300, 0};
    for (size_t r = 0; r < 3; r++) {
        assert_near(waits.items[r].wait_s, 1e-9 * wait_ns[r], 1e-15);
        assert_int_equal(waits.items[r].calls, r < 2);
    }
    assert_near(waits.items[2].awaited_s, 800e-9, 1e-15);
    assert_int_equal(jm__collective_awaited(&waits, name, &share), 2);
    assert_near(share, 1, 1e-12);
    assert_true(jm__collective_awaited(&waits, "another", &share) == SIZE_MAX);
    jm__collective_calls_free(&calls);
    jm__vec_free(&waits);
}

/* Memory is bounded: of more calls than are kept nothing is said, nor of a record that stands for several. */
static void test_nothing_is_said_of_too_many_calls(void **state)
{
    (void)state;
    static const char name[] = "nccl", other[] = "other", several[] = "several";
    jm__collective_calls calls = {0};
    jm__collective_waits waits = {0};
    for (int64_t i = 0; i < JM_COLLECTIVE_CALLS_MAX / 2; i++)
        for (size_t rank = 0; rank < 2; rank++)
            add(&calls, name, rank, 1000 * i + (int64_t)rank, 1000 * i + 500, 1);
    assert_int_equal(count_waits(&calls, &waits), 2);
    for (size_t rank = 0; rank < 2; rank++) {
        add(&calls, name, rank, INT64_MAX / 2, INT64_MAX / 2 + 1, 1);
        add(&calls, other, rank, 10 * (int64_t)rank, 100, 1);
        add(&calls, several, rank, 10 * (int64_t)rank, 100, 7);
    }
    assert_int_equal(count_waits(&calls, &waits), 2);
    assert_ptr_equal(waits.items[0].name, other);
    for (size_t r = 0; r < calls.ranks.count; r++)
        if (calls.ranks.items[r].collective == 0) assert_int_equal(calls.ranks.items[r].calls.capacity, 0);
    jm__collective_calls_free(&calls);
    jm__vec_free(&waits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_rank_that_came_first_waited),
        cmocka_unit_test(test_no_gpu_is_named_where_both_were_late),
        cmocka_unit_test(test_a_process_has_its_own_waits),
        cmocka_unit_test(test_a_window_has_what_lies_in_it),
        cmocka_unit_test(test_waiting_beside_other_work_is_shared),
        cmocka_unit_test(test_ranks_that_called_it_unequally_often_are_not_compared),
        cmocka_unit_test(test_calls_that_were_not_at_one_time_are_not_compared),
        cmocka_unit_test(test_a_rank_alone_is_not_compared),
        cmocka_unit_test(test_three_ranks_wait_for_the_last),
        cmocka_unit_test(test_nothing_is_said_of_too_many_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
