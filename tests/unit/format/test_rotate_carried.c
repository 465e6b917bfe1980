/* What a part has of the time before it: spans whose kernels run later, requests that are open, who is in a
 * batch, what events said. A server in parts of a minute, and beside it in one file. */
#define FIGURES_NOT_KEPT /* reports are made as arguments, in an order of the compiler */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attribute/input/span_index.h"
#include "day.h"
#include "format/dataset.h"
#include "rotated.h"

#include <inttypes.h>

/* Each two seconds a step, of which one layer launches a kernel that runs eight seconds later, for 1.9 s: at
 * any time one runs, and four wait in the queue. */
enum { SECONDS = 220, PART_S = 60, STEP_S = 2, QUEUE_S = 8, WRITERS = 2 };
#define KERNEL_NS (JM_NS_PER_S * 19 / 10)
#define START_NS  (1000 * JM_NS_PER_S)

enum { STEP, LAYER, GEMM, REQUEST, ENDED, BATCH, OWN, PHASE, GONE, NAMES };

typedef struct both {
    jm__writer *of[WRITERS];
    int64_t names[NAMES], spans, steps, marks;
} both;

static int64_t at(int second)
{
    return START_NS + second * JM_NS_PER_S;
}

static void tell_span(both *b, jm_span_kind kind, int name, int64_t parent, int64_t from_ns, int64_t to_ns)
{
    const jm__span span = {.id = ++b->spans,
                           .process_id = 1,
                           .thread_id = 7,
                           .parent_id = parent,
                           .start_ns = from_ns,
                           .end_ns = to_ns,
                           .name_id = b->names[name],
                           .samples = kind == JM_SPAN_STEP ? 3 : 0,
                           .kind = kind};
    for (int w = 0; w < WRITERS; w++)
        jm__writer_span_begin(b->of[w], &span);
}

static void tell_kernel(both *b, int64_t start_ns, int64_t span)
{
    const jm__kernel kernel = {.start_ns = start_ns,
                               .end_ns = start_ns + KERNEL_NS,
                               .class_id = 1,
                               .stream_id = 1,
                               .span_id = span,
                               .launch_ns = start_ns - QUEUE_S * JM_NS_PER_S,
                               .calls = 1};
    for (int w = 0; w < WRITERS; w++)
        jm__writer_kernels(b->of[w], &kernel, 1);
}

static void tell_mark(both *b, int name, int64_t t_ns, const char *meta)
{
    const jm__mark mark = {
        .process_id = 1, .thread_id = 7, .t_ns = t_ns, .name_id = b->names[name], .meta = meta};
    for (int w = 0; w < WRITERS; w++)
        jm__writer_mark(b->of[w], &mark);
}

static void tell_event(both *b, jm_event_kind kind, int64_t t_ns, int64_t board_id, const char *text)
{
    jm__event event = {.kind = kind, .t_ns = t_ns, .board_id = board_id};
    snprintf(event.text, sizeof event.text, "%s", text);
    for (int w = 0; w < WRITERS; w++)
        jm__writer_event(b->of[w], &event);
}

static void tell_readings(both *b, int second)
{
    for (int i = 0; i < 10; i++) {
        const jm_reading power = {1, at(second) + i * 100 * JM_NS_PER_MS, 300};
        for (int w = 0; w < WRITERS; w++)
            jm__writer_readings(b->of[w], &power, 1);
    }
    const jm_reading energy = {2, at(second), 300.0 * second};
    for (int w = 0; w < WRITERS; w++)
        jm__writer_readings(b->of[w], &energy, 1);
}

static void begin(both *b)
{
    static const char *const names[] = {
        "step",        "layer", "gemm",  JM_MARK_REQUEST, JM_MARK_REQUEST_ENDED,
        JM_MARK_BATCH, "own",   "serve", JM_MARK_ENDED};
    jm_error err;
    const jm__rotation_wanted never = {.every_s = 1e6};
    *b = (both){.of = {[1] = rotated_begin(PART_S, 0, 0)}};
    assert_int_equal(jm__writer_create_parts(&b->of[0], whole_path, false, &never, &err), JM_OK);
    snprintf(whole_path, sizeof whole_path, "%s/whole.0001.joulemap", folder);
    jm_board board = jm__board_blank;
    snprintf(board.name, sizeof board.name, "H200");
    jm_sensor power = day_sensor("power_instant", JM_QUANTITY_POWER, JM_RESPONSE_INSTANT, 100 * JM_NS_PER_MS),
              energy = day_sensor("energy_counter", JM_QUANTITY_ENERGY, JM_RESPONSE_COUNTER, JM_NS_PER_S);
    const jm__process process = {.id = 1, .pid = 4711, .rank = 0, .start_ns = START_NS, .end_ns = START_NS};
    for (int w = 0; w < WRITERS; w++) {
        jm_board row = board;
        jm_sensor first = power, second = energy;
        for (int n = 0; n < NAMES; n++)
            b->names[n] = jm__writer_name(b->of[w], names[n]);
        jm__kernel_class gemm = {.name_id = b->names[GEMM], .work = JM_WORK_KERNEL, .grid = {1, 1, 1}};
        jm__stream stream = {.process_id = 1, .board_id = 1, .context = 1, .stream = 7};
        char start[24];
        snprintf(start, sizeof start, "%" PRId64, START_NS);
        assert_int_equal(jm__writer_board(b->of[w], &row, NULL), JM_OK);
        assert_int_equal(jm__writer_sensor(b->of[w], &first, NULL), JM_OK);
        assert_int_equal(jm__writer_sensor(b->of[w], &second, NULL), JM_OK);
        assert_int_equal(jm__writer_kernel_class(b->of[w], &gemm, NULL), JM_OK);
        assert_int_equal(jm__writer_stream(b->of[w], &stream, NULL), JM_OK);
        jm__writer_process(b->of[w], &process);
        jm__writer_meta(b->of[w], "start_ns", start);
    }
}

/* One request is open all of the time, others come each half minute and go after a minute. */
static void tell_requests(both *b, int second)
{
    char meta[120];
    int number = second / 30 + 2;
    if (second == 0) tell_mark(b, REQUEST, at(0), "{\"request\": 1, \"id\": \"long\", \"tokens\": 9}");
    if (second == 0) tell_mark(b, BATCH, at(0) + 1, "{\"n\":1,\"all\":true,\"in\":{\"1\":[0,1]}}");
    if (second == 0) b->marks = 1;
    if (second % 30 != 0) return;
    snprintf(meta, sizeof meta, "{\"request\": %d, \"id\": \"r%d\"}", number, number);
    tell_mark(b, REQUEST, at(second) + 2, meta);
    snprintf(meta, sizeof meta, "{\"n\":%" PRId64 ",\"in\":{\"%d\":[0,2]},\"out\":[%d]}", ++b->marks, number,
             number - 2 > 1 ? number - 2 : 999);
    tell_mark(b, BATCH, at(second) + 3, meta);
    snprintf(meta, sizeof meta, "{\"request\": %d}", number - 2);
    if (number - 2 > 1) tell_mark(b, ENDED, at(second) + 4, meta);
}

/* Another process has a phase open for five seconds, and dies in it; that is seen five seconds later. */
static int worker_from = -1;

static void tell_worker(both *b, int second)
{
    jm__process worker = {.id = 2,
                          .pid = 4712,
                          .rank = -1,
                          .start_ns = at(worker_from),
                          .end_ns = at(second),
                          .command = "work"};
    const jm__span phase = {.id = b->spans + 1,
                            .process_id = 2,
                            .thread_id = 8,
                            .start_ns = at(second),
                            .end_ns = -1,
                            .name_id = b->names[PHASE],
                            .kind = JM_SPAN_PHASE};
    const jm__mark gone = {.process_id = 2, .thread_id = 8, .t_ns = at(second), .name_id = b->names[GONE]};
    int age = worker_from < 0 ? -1 : second - worker_from;
    b->spans += age == 0;
    for (int w = 0; w < WRITERS; w++) {
        if (age == 0 || age == 5) jm__writer_process(b->of[w], &worker);
        if (age == 0) jm__writer_span_begin(b->of[w], &phase);
        if (age == 10) jm__writer_mark(b->of[w], &gone);
    }
    if (age == 1) tell_event(b, JM_EVENT_CUPTI, at(second), 0, "process 4712: no graphs");
}

static void tell_second(both *b, int second)
{
    tell_worker(b, second);
    tell_readings(b, second);
    tell_requests(b, second);
    tell_mark(b, OWN, at(second) + 500 * JM_NS_PER_MS, NULL);
    if (second == 5) tell_event(b, JM_EVENT_PROCESSES, at(5), 1, "4711 (server)");
    if (second == 6) tell_event(b, JM_EVENT_CUPTI, at(6), 0, "process 4711: as it likes");
    if (second == 7) tell_event(b, JM_EVENT_GAP, at(7), 1, "");
    if (second % STEP_S != 0) return;
    tell_span(b, JM_SPAN_STEP, STEP, 1, at(second), at(second + STEP_S));
    tell_span(b, JM_SPAN_FORWARD, LAYER, b->spans, at(second) + 10, at(second) + 100 * JM_NS_PER_MS);
    b->steps++;
    /* The kernel of the step that was four before runs now. */
    if (b->steps > QUEUE_S / STEP_S) tell_kernel(b, at(second) + 20, b->spans - 2 * (QUEUE_S / STEP_S));
}

static void make(int late_by_s)
{
    both b;
    rotated_empty();
    snprintf(whole_path, sizeof whole_path, "%s/whole.joulemap", folder);
    begin(&b);
    tell_span(&b, JM_SPAN_PHASE, PHASE, 0, at(0), -1);
    for (int second = 0; second < SECONDS; second++) {
        tell_second(&b, second);
        if (late_by_s > 0 && second == 50 + late_by_s) tell_kernel(&b, at(50), 0);
        for (int w = 0; w < WRITERS; w++)
            assert_int_equal(jm__writer_commit(b.of[w], at(second + 1), NULL), JM_OK);
    }
    const jm__span_end end = {.span_id = 1, .end_ns = at(SECONDS)};
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, at(SECONDS));
    for (int w = 0; w < WRITERS; w++) {
        jm__writer_span_end(b.of[w], &end);
        jm__writer_settle(b.of[w], at(SECONDS));
        jm__writer_meta(b.of[w], "end_ns", text);
        assert_int_equal(jm__writer_close(b.of[w], NULL), JM_OK);
    }
}

static int clean(void **state)
{
    (void)state;
    char command[160];
    snprintf(command, sizeof command, "rm -f %s/*", folder);
    assert_int_equal(system(command), 0);
    return 0;
}

/* Of rows by their path, with all below them. */
typedef struct row_sum {
    double energy_j, busy_s;
    int64_t calls;
    int parts; /* that have it */
} row_sum;

static void add_row(row_sum *sum, const char *file, jm_by by, const char *path)
{
    jm_report *report = rotated_report(file, by, NULL);
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        if (strcmp(row->path, path) != 0) continue;
        sum->energy_j += row->energy_j;
        sum->busy_s += row->busy_s;
        sum->calls += row->calls;
        sum->parts++;
    }
    jm_report_free(report);
}

static row_sum row_of(jm_by by, const char *path, bool in_parts)
{
    row_sum sum = {0};
    if (!in_parts) add_row(&sum, whole_path, by, path);
    for (int part = 1; in_parts && rotated_is_there(part); part++)
        add_row(&sum, rotated_path(part), by, path);
    return sum;
}

/* Kernels draw as much as gaps do, so their joules are their time. */
static void check_row(jm_by by, const char *path, int parts)
{
    row_sum whole = row_of(by, path, false), sum = row_of(by, path, true);
    print_message("%s: %.3f J, %.6f s, %lld calls; in %d parts %.3f J, %.6f s, %lld\n", path, whole.energy_j,
                  whole.busy_s, (long long)whole.calls, sum.parts, sum.energy_j, sum.busy_s,
                  (long long)sum.calls);
    assert_int_equal(whole.parts, 1);
    assert_int_equal(sum.parts, parts);
    assert_true(fabs(sum.busy_s - whole.busy_s) < 1e-6);
    assert_true(fabs(sum.energy_j - whole.energy_j) < 0.02 * whole.energy_j);
    assert_int_equal(sum.calls, whole.calls);
}

static void test_a_kernel_has_its_layer_however_long_it_was_queued(void **state)
{
    (void)state;
    make(0);
    assert_int_equal(rotated_count(), 4);
    check_row(JM_BY_LAYER, "layer", 4);
    check_row(JM_BY_KERNEL, "gemm", 4);
    assert_int_equal(row_of(JM_BY_LAYER, "(outside)", true).parts,
                     row_of(JM_BY_LAYER, "(outside)", false).parts);
    for (int part = 2; part <= 4; part++) /* some were taken over */
        assert_true(
            rotated_ask(part, "SELECT count(*) FROM spans, meta WHERE key = 'start_ns' AND end_ns < value - "
                              "6000000000 AND kind_id = 5") > 0);
}

static void test_requests_that_are_open_at_a_cut_have_their_names_and_shares(void **state)
{
    (void)state;
    make(0);
    check_row(JM_BY_REQUEST, "long", 4);
    check_row(JM_BY_REQUEST, "r3", 2);
    check_row(JM_BY_REQUEST, "r2", 2); /* its last kernels run after it has ended, and after the cut */
    assert_int_equal(row_of(JM_BY_REQUEST, "(no request)", true).parts,
                     row_of(JM_BY_REQUEST, "(no request)", false).parts);
}

static void test_marks_of_the_program_are_told_once_and_events_hold(void **state)
{
    (void)state;
    make(0);
    int64_t own = 0;
    for (int part = 1; part <= rotated_count(); part++) {
        jm_error err;
        jm_recording *recording;
        jm__dataset *d;
        int kinds[JM_EVENT_COUNT] = {0};
        assert_int_equal(jm_recording_open(&recording, rotated_path(part), &err), JM_OK);
        assert_int_equal(jm__dataset_load(&d, recording, &err), JM_OK);
        for (size_t i = 0; i < d->mark_count; i++)
            own += strcmp(jm__dataset_text(d, d->marks[i].name_id), "own") == 0;
        for (size_t i = 0; i < d->event_count; i++)
            kinds[d->events[i].kind]++;
        assert_int_equal(kinds[JM_EVENT_PROCESSES], 1);
        assert_int_equal(kinds[JM_EVENT_CUPTI], 1);
        assert_int_equal(kinds[JM_EVENT_GAP], part == 1);
        jm__dataset_free(d);
        jm_recording_close(recording);
    }
    assert_int_equal(own, SECONDS);
}

/* In how many parts the worker's phase is; it must end as the worker is seen to have, though nobody has ended
 * it. */
static int parts_with_worker(void)
{
    int parts = 0;
    for (int part = 1; part <= rotated_count(); part++) {
        jm_error err;
        jm_recording *recording;
        jm__dataset *d;
        char note[400];
        assert_int_equal(jm_recording_open(&recording, rotated_path(part), &err), JM_OK);
        assert_int_equal(jm__dataset_load(&d, recording, &err), JM_OK);
        for (size_t i = 0; i < d->span_count; i++) {
            if (d->spans[i].process_id != 2) continue;
            parts++;
            assert_int_equal(d->spans[i].end_ns, -1);
            bool lives_on = at(worker_from + 10) > d->end_ns;
            assert_int_equal(jm__span_end_ns(d, &d->spans[i]), lives_on ? d->end_ns : at(worker_from + 10));
            assert_int_equal(rotated_note(part, "1 spans never ended", note), !lives_on);
        }
        jm__dataset_free(d);
        jm_recording_close(recording);
    }
    return parts;
}

/* Of months of workers parts would grow. */
static void check_worker_is_forgotten(int last)
{
    for (int part = 1; part <= 4; part++) {
        assert_int_equal(rotated_ask(part, "SELECT count(*) FROM processes WHERE pid = 4712"), 1);
        assert_int_equal(rotated_ask(part, "SELECT count(*) FROM processes WHERE command = 'work'"),
                         part <= last);
        assert_int_equal(rotated_ask(part, "SELECT count(*) FROM events WHERE text LIKE 'process 4712:%'"),
                         part < last);
    }
}

static void test_what_a_dead_worker_left_open_goes_on_in_no_part(void **state)
{
    (void)state;
    worker_from = 20;
    make(0);
    assert_int_equal(rotated_count(), 4);
    assert_int_equal(parts_with_worker(), 1);
    check_worker_is_forgotten(2);
    worker_from = 57; /* it dies after the cut, and that is seen when the part of before is closed */
    make(0);
    assert_int_equal(parts_with_worker(), 2);
    worker_from = -1;
}

static int64_t lost_in(int part)
{
    jm_report *report = rotated_report(rotated_path(part), JM_BY_BOARD, NULL);
    int64_t lost = jm_report_quality_get(report)->lost_records;
    jm_report_free(report);
    return lost;
}

static void test_a_kernel_that_comes_after_its_part_was_closed_is_told_of(void **state)
{
    (void)state;
    make(14); /* in time */
    assert_int_equal(lost_in(1) + lost_in(2) + lost_in(3) + lost_in(4), 0);
    clean(NULL);
    make(60);
    assert_int_equal(lost_in(2), 1);
    assert_int_equal(lost_in(1) + lost_in(3) + lost_in(4), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_kernel_has_its_layer_however_long_it_was_queued, clean),
        cmocka_unit_test_setup(test_requests_that_are_open_at_a_cut_have_their_names_and_shares, clean),
        cmocka_unit_test_setup(test_marks_of_the_program_are_told_once_and_events_hold, clean),
        cmocka_unit_test_setup(test_what_a_dead_worker_left_open_goes_on_in_no_part, clean),
        cmocka_unit_test_setup(test_a_kernel_that_comes_after_its_part_was_closed_is_told_of, clean),
    };
    return cmocka_run_group_tests(tests, rotated_set_up, rotated_tear_down);
}
