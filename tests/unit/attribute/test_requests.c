/* Joules of a server's requests, against runs with known truth. */
#include "synthetic_report.h"

#include "format/rows/marks.h"

enum { MS = 1000000, REQUESTS = 24, RUNNING = 4, MARKS = 4000, META = 400, PROCESS = 100 };

/* A generated server: its marks and its truth. */
typedef struct server {
    synthetic *s;
    jm__mark marks[MARKS];
    char metas[MARKS][META];
    size_t mark_count;
    int64_t now;
    int64_t marked; /* marks of batches */
    int prompt[REQUESTS], answer[REQUESTS], fed[REQUESTS];
    int batch[RUNNING];
    int running, arrived;
    double true_j[REQUESTS], prefill_j[REQUESTS];
    int steps[REQUESTS];
    double shared_j;
    int64_t classes[4];
    double class_variance;
} server;

__attribute__((format(printf, 3, 4))) static void mark(server *v, const char *name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    assert_true(v->mark_count < MARKS);
    vsnprintf(v->metas[v->mark_count], META, format, args);
    va_end(args);
    v->marks[v->mark_count] = (jm__mark){.process_id = PROCESS,
                                         .thread_id = PROCESS,
                                         .t_ns = v->now,
                                         .name_id = syn_name(v->s, name),
                                         .meta = v->metas[v->mark_count]};
    v->mark_count++;
    v->now += 1000;
}

static double add_kernel(server *v, int which, int64_t span, double length_ms)
{
    synthetic *s = v->s;
    int64_t end = v->now + (int64_t)(length_ms * MS);
    syn_kernel(s, v->classes[which], 0, span, v->now, end);
    double *power_w = &s->kernel_w[s->kernels.count - 1];
    *power_w *= 1 + v->class_variance * syn_normal(s);
    double energy_j = *power_w * (double)(end - v->now) * 1e-9;
    v->now = end;
    return energy_j;
}

/* A pause within a step: the board's idle power is all that it draws. */
static double pause(server *v, double length_ms)
{
    int64_t length = (int64_t)(length_ms * MS);
    v->now += length;
    return v->s->idle_w * (double)length * 1e-9;
}

/* One step of the current batch: prompts in pieces of up to 256 tokens beside answers of a token each. */
static void step(server *v)
{
    synthetic *s = v->s;
    char in[META] = "";
    int prefill[RUNNING], decode[RUNNING], prefills = 0, decodes = 0;
    for (int i = 0; i < v->running; i++) {
        int r = v->batch[i], left = v->prompt[r] - v->fed[r];
        prefill[i] = left > 256 ? 256 : left > 0 ? left : 0;
        decode[i] = left > 0 ? 0 : 1;
        prefills += prefill[i];
        decodes += decode[i];
        snprintf(in + strlen(in), sizeof in - strlen(in), "%s\"%d\": [%d, %d]", i > 0 ? ", " : "", r + 1,
                 prefill[i], decode[i]);
    }
    mark(v, JM_MARK_BATCH, "{\"n\": %lld, \"all\": true, \"in\": {%s}}", (long long)++v->marked, in);
    int64_t from = v->now, span = syn_span(s, JM_SPAN_STEP, "step", "", 0, from, from, PROCESS);
    double energy_j = pause(v, 0.2);
    if (prefills > 0)
        energy_j += add_kernel(v, 0, span, 2 + 0.05 * prefills) + add_kernel(v, 1, span, 1 + 0.02 * prefills);
    if (decodes > 0) energy_j += add_kernel(v, 2, span, 8) + add_kernel(v, 3, span, 2.0 + 0.5 * decodes);
    energy_j += pause(v, 0.3 + 2 * syn_uniform(s));
    s->spans[span - 1].end_ns = v->now;
    v->shared_j += energy_j;
    for (int i = 0; i < v->running; i++) {
        int r = v->batch[i];
        double share = (double)(prefill[i] + decode[i]) / (prefills + decodes);
        v->true_j[r] += share * energy_j;
        if (prefill[i] > 0) v->prefill_j[r] += share * energy_j;
        v->fed[r] += prefill[i] + decode[i];
        v->steps[r]++;
    }
}

static void admit_and_let_go(server *v)
{
    for (int i = 0; i < v->running;) {
        int r = v->batch[i];
        if (v->fed[r] < v->prompt[r] + v->answer[r]) {
            i++;
            continue;
        }
        mark(v, JM_MARK_REQUEST_ENDED, "{\"request\": %d}", r + 1);
        v->batch[i] = v->batch[--v->running];
    }
    while (v->running < RUNNING && v->arrived < REQUESTS && (v->running == 0 || syn_uniform(v->s) < 0.2)) {
        int r = v->arrived++;
        v->prompt[r] = 50 + (int)(900 * syn_uniform(v->s));
        v->answer[r] = 10 + (int)(40 * syn_uniform(v->s));
        mark(v, JM_MARK_REQUEST, "{\"request\": %d, \"id\": \"r%d\", \"tokens\": %d}", r + 1, r,
             v->prompt[r]);
        v->batch[v->running++] = r;
    }
}

static server *serve(uint64_t seed, double class_variance)
{
    static const char *const names[] = {"gemm", "attention", "gemv", "paged_attention"};
    static const double power_w[] = {640, 520, 340, 270};
    server *v = calloc(1, sizeof *v);
    v->s = syn_create(seed, 1, 8000);
    v->class_variance = class_variance;
    for (int i = 0; i < 4; i++)
        v->classes[i] = syn_class(v->s, names[i], 64, power_w[i]);
    v->now = 500 * MS;
    while (v->arrived < REQUESTS || v->running > 0) {
        admit_and_let_go(v);
        if (v->running > 0) step(v);
        if (syn_uniform(v->s) < 0.05) { /* something else, between steps */
            int64_t end = v->now + 20 * MS;
            syn_kernel(v->s, v->classes[1], 0, 0, v->now, end);
            v->now = end;
        }
        if (syn_uniform(v->s) < 0.05) v->now += 60 * MS;
    }
    syn_measure(v->s, 0, 0, v->now + 500 * MS);
    syn_finish(v->s);
    v->s->dataset.marks = v->marks;
    v->s->dataset.mark_count = v->mark_count;
    return v;
}

static void leave(server *v)
{
    syn_free(v->s);
    free(v);
}

static jm_report *by_request(server *v)
{
    return syn_report(v->s, (jm_report_options){.by = JM_BY_REQUEST});
}

static const jm_row *row_at(const jm_report *report, const char *path)
{
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        if (strcmp(jm_report_row(report, i)->path, path) == 0) return jm_report_row(report, i);
    fail_msg("there is no row %s", path);
    return NULL;
}

static const jm_row *row_of(const jm_report *report, int request)
{
    char path[16];
    snprintf(path, sizeof path, "r%d", request);
    return row_at(report, path);
}

static double energy_of_requests(const jm_report *report)
{
    double sum_j = 0;
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        if (strcmp(jm_report_row(report, i)->kind, "request") == 0)
            sum_j += jm_report_row(report, i)->energy_j;
    return sum_j;
}

static void test_shares_add_up_to_the_steps_and_all_rows_to_the_total(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        server *v = serve(seed, 0.02);
        jm_report *report = by_request(v);
        double rows_j = 0, total_j = jm_report_totals_get(report)->total_energy_j;
        for (size_t i = 0; i < jm_report_row_count(report); i++)
            rows_j += jm_report_row(report, i)->energy_self_j;
        assert_true(fabs(rows_j - total_j) < 1e-9 * total_j);
        assert_true(fabs(energy_of_requests(report) - v->shared_j) < 0.005 * v->shared_j);
        double rest_j = row_at(report, "(no request)")->energy_j + row_at(report, "(idle)")->energy_j;
        double true_j = syn_total_j(v->s, 0, v->s->dataset.start_ns, v->s->dataset.end_ns);
        assert_true(fabs(energy_of_requests(report) + rest_j - true_j) < 0.005 * true_j);
        jm_report_free(report);
        leave(v);
    }
}

/* Intervals of one run have correlated errors: of all runs together, 19 of 20 contain the truth. */
static void check_intervals(double class_variance)
{
    enum { SEEDS = 20 };
    int held = 0, parts_held = 0, parts = 0, sums_held = 0;
    double error = 0, half = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        server *v = serve(100 + seed, class_variance);
        jm_report *report = by_request(v);
        const jm_report_totals *totals = jm_report_totals_get(report);
        double prefills_j = 0;
        for (int r = 0; r < REQUESTS; r++) {
            const jm_row *row = row_of(report, r), *prefill = row + 1;
            prefills_j += v->prefill_j[r];
            held += row->energy_low_j <= v->true_j[r] && v->true_j[r] <= row->energy_high_j;
            error += fabs(row->energy_j / v->true_j[r] - 1) / (SEEDS * REQUESTS);
            half += (row->energy_high_j - row->energy_low_j) / 2 / v->true_j[r] / (SEEDS * REQUESTS);
            assert_string_equal(prefill->kind, "prefill");
            parts++;
            parts_held +=
                prefill->energy_low_j <= v->prefill_j[r] && v->prefill_j[r] <= prefill->energy_high_j;
        }
        double decodes_j = v->shared_j - prefills_j;
        sums_held += totals->prefill_low_j <= prefills_j && prefills_j <= totals->prefill_high_j;
        sums_held += totals->decode_low_j <= decodes_j && decodes_j <= totals->decode_high_j;
        jm_report_free(report);
        leave(v);
    }
    printf("%d of %d of all prefills and all decodes; ", sums_held, 2 * SEEDS);
    printf("launches uneven by %g %%: %d of %d 95 %% intervals of requests hold the truth, %d of %d of their "
           "prefills; typical error "
           "%.2f %%, "
           "mean half width %.2f %%\n",
           100 * class_variance, held, SEEDS * REQUESTS, parts_held, parts, 100 * error, 100 * half);
    assert_true(held >= 0.95 * SEEDS * REQUESTS);
    assert_true(parts_held >= 0.95 * parts);
    assert_true(sums_held >= 0.95 * 2 * SEEDS);
    assert_true(error < 0.01);
}

static void test_intervals_of_requests_hold(void **state)
{
    (void)state;
    check_intervals(0.02);
    check_intervals(0.05);
}

static void test_a_request_has_its_tokens_steps_and_time(void **state)
{
    (void)state;
    server *v = serve(3, 0);
    jm_report *report = by_request(v);
    const jm_report_totals *totals = jm_report_totals_get(report);
    int64_t prompts = 0, answers = 0;
    for (int r = 0; r < REQUESTS; r++) {
        const jm_row *row = row_of(report, r);
        assert_int_equal(row->calls, v->steps[r]);
        assert_int_equal(row->tokens, v->prompt[r] + v->answer[r]);
        assert_int_equal(row[1].tokens, v->prompt[r]);
        assert_int_equal(row[2].tokens, v->answer[r]);
        assert_true(row->start_ns < row->end_ns && row[1].start_ns >= row->start_ns &&
                    row[2].end_ns <= row->end_ns);
        assert_true(row[2].start_ns >= row[1].end_ns);
        prompts += v->prompt[r];
        answers += v->answer[r];
    }
    assert_int_equal(totals->requests, REQUESTS);
    assert_int_equal(totals->prefill_tokens, prompts);
    assert_int_equal(totals->decode_tokens, answers);
    double parts_j = totals->prefill_j + totals->decode_j;
    assert_true(fabs(parts_j - energy_of_requests(report)) < 1e-9 * parts_j);
    assert_true(totals->prefill_low_j < totals->prefill_j && totals->prefill_j < totals->prefill_high_j);
    assert_true(totals->request_median_j < totals->request_p95_j);
    int below = 0;
    for (int r = 0; r < REQUESTS; r++)
        below += row_of(report, r)->energy_j < totals->request_median_j;
    assert_int_equal(below, REQUESTS / 2);
    jm_report_free(report);
    leave(v);
}

/* Two requests in equal steps of 100 ms each; `tell` marks the batch before the first. */
static server *serve_two(const char *first_batch)
{
    server *v = calloc(1, sizeof *v);
    v->s = syn_create(9, 1, 2000);
    v->classes[0] = syn_class(v->s, "gemm", 64, 500);
    v->now = 100 * MS;
    mark(v, JM_MARK_REQUEST, "{\"request\": 1, \"id\": \"a\"}");
    mark(v, JM_MARK_REQUEST, "{\"request\": 2, \"id\": \"b\"}");
    mark(v, JM_MARK_BATCH, "%s", first_batch);
    return v;
}

static void add_step(server *v)
{
    int64_t span = syn_span(v->s, JM_SPAN_STEP, "step", "", 0, v->now, v->now + 100 * MS, PROCESS);
    add_kernel(v, 0, span, 100);
}

static jm_report *finish(server *v)
{
    v->s->dataset.marks = v->marks;
    v->s->dataset.mark_count = v->mark_count;
    syn_measure(v->s, 0, 0, v->now + 200 * MS);
    syn_finish(v->s);
    return by_request(v);
}

static double ratio(const jm_report *report, const char *a, const char *b)
{
    return row_at(report, a)->energy_j / row_at(report, b)->energy_j;
}

static void test_where_tokens_of_one_are_not_marked_all_have_the_same(void **state)
{
    (void)state;
    server *v = serve_two("{\"n\": 1, \"all\": true, \"in\": {\"1\": [300, 0], \"2\": [0, 100]}}");
    add_step(v);
    jm_report *report = finish(v);
    assert_true(fabs(ratio(report, "a", "b") - 3) < 1e-9);
    jm_report_free(report);
    leave(v);
    v = serve_two("{\"n\": 1, \"all\": true, \"in\": {\"1\": [300, 0], \"2\": [0, -1]}}");
    add_step(v);
    report = finish(v);
    assert_true(fabs(ratio(report, "a", "b") - 1) < 1e-9);
    assert_int_equal(row_at(report, "a")->tokens, 300);
    assert_int_equal(row_at(report, "b")->tokens, -1);
    jm_report_free(report);
    leave(v);
}

/* Marks state changes: who came, who left, and nothing for equal steps. */
static void test_changes_of_a_batch_are_followed(void **state)
{
    (void)state;
    server *v = serve_two("{\"n\": 1, \"all\": true, \"in\": {\"1\": [0, 1]}}");
    add_step(v);
    mark(v, JM_MARK_BATCH, "{\"n\": 2, \"in\": {\"2\": [0, 1]}}");
    add_step(v);
    add_step(v);
    mark(v, JM_MARK_BATCH, "{\"n\": 3, \"out\": [1]}");
    add_step(v);
    mark(v, JM_MARK_BATCH, "{\"n\": 4, \"out\": [2]}");
    add_step(v); /* of no request */
    jm_report *report = finish(v);
    assert_true(fabs(ratio(report, "a", "b") - 1) < 1e-9);
    assert_true(fabs(ratio(report, "a", "(no request)") - 2) < 1e-9);
    assert_int_equal(row_at(report, "a")->calls, 3);
    assert_int_equal(row_at(report, "b")->tokens, 3);
    jm_report_free(report);
    leave(v);
}

/* A lost mark hides who is in the batch until a complete one; steps in between count for no request. */
static void test_a_lost_mark_is_noticed_and_said(void **state)
{
    (void)state;
    server *v = serve_two("{\"n\": 1, \"all\": true, \"in\": {\"1\": [0, 1]}}");
    add_step(v);
    mark(v, JM_MARK_BATCH, "{\"n\": 3, \"out\": [1]}"); /* the second, in which b came, is gone */
    add_step(v);
    add_step(v);
    mark(v, JM_MARK_BATCH, "{\"n\": 4, \"all\": true, \"in\": {\"2\": [0, 1]}}");
    add_step(v);
    jm_report *report = finish(v);
    assert_true(fabs(ratio(report, "a", "b") - 1) < 1e-9);
    assert_true(fabs(ratio(report, "(no request)", "b") - 2) < 1e-9);
    bool found = false;
    for (size_t i = 0; i < jm_report_note_count(report); i++)
        found =
            found || (strncmp(jm_report_note(report, i), "The requests of 2 steps are unknown", 35) == 0 &&
                      jm_report_note_is_essential(report, i));
    assert_true(found);
    jm_report_free(report);
    leave(v);
}

/* Speculation: 5 tokens each step, of which 12 were generated in all. A repeated id is a row of its own. */
static void test_tokens_that_were_made_count_and_an_id_may_come_again(void **state)
{
    (void)state;
    server *v = serve_two("{\"n\": 1, \"all\": true, \"in\": {\"1\": [7, 0]}}");
    add_step(v);
    mark(v, JM_MARK_BATCH, "{\"n\": 2, \"in\": {\"1\": [0, 5]}}");
    for (int i = 0; i < 4; i++)
        add_step(v);
    mark(v, JM_MARK_REQUEST_ENDED, "{\"request\": 1, \"made\": 12}");
    mark(v, JM_MARK_REQUEST, "{\"request\": 3, \"id\": \"a\"}");
    mark(v, JM_MARK_BATCH, "{\"n\": 3, \"out\": [1], \"in\": {\"3\": [4, 0]}}");
    add_step(v);
    jm_report *report = finish(v);
    assert_int_equal(row_at(report, "a/decode")->tokens, 12);
    assert_int_equal(row_at(report, "a")->tokens, 19);
    assert_int_equal(row_at(report, "a (request 3 of process 100)")->tokens, 4);
    assert_int_equal(jm_report_totals_get(report)->requests, 2);
    jm_report_free(report);
    leave(v);
}

/* Unreadable marks are skipped, and count for no request. */
static void test_marks_of_nonsense_harm_nothing(void **state)
{
    (void)state;
    static const char *const nonsense[] = {
        "",
        "{",
        "[]",
        "{\"n\": 2, \"in\": [1]}",
        "{\"n\": 3, \"in\": {\"x\": 3}, \"out\": {}}",
        "{\"n\": 4, \"in\": {\"1\": [-9223372036854775808, 9223372036854775807]}}",
        "{\"n\": 5, \"in\": {\"1\": [\"1\"]}, \"out\": [[], null]}",
        "{\"n\": \"6\", \"all\": 1}"};
    server *v = serve_two("{\"n\": 1, \"all\": true, \"in\": {\"1\": [3, 1]}}");
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        mark(v, JM_MARK_BATCH, "%s", nonsense[i]);
        mark(v, JM_MARK_REQUEST, "%s", nonsense[i]);
        mark(v, JM_MARK_REQUEST_ENDED, "%s", nonsense[i]);
        add_step(v);
    }
    jm_report *report = finish(v);
    double rows_j = 0, total_j = jm_report_totals_get(report)->total_energy_j;
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        rows_j += jm_report_row(report, i)->energy_self_j;
    assert_true(fabs(rows_j - total_j) < 1e-9 * total_j);
    jm_report_free(report);
    leave(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares_add_up_to_the_steps_and_all_rows_to_the_total),
        cmocka_unit_test(test_intervals_of_requests_hold),
        cmocka_unit_test(test_a_request_has_its_tokens_steps_and_time),
        cmocka_unit_test(test_where_tokens_of_one_are_not_marked_all_have_the_same),
        cmocka_unit_test(test_changes_of_a_batch_are_followed),
        cmocka_unit_test(test_a_lost_mark_is_noticed_and_said),
        cmocka_unit_test(test_tokens_that_were_made_count_and_an_id_may_come_again),
        cmocka_unit_test(test_marks_of_nonsense_harm_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
