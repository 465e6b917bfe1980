/* The pass over the work of boards: any order, any amount and any depth give the same report. */
#include "attribute/report.h"
#include "attribute/work/sweep.h"
#include "figures.h"
#include "format/writer.h"
#include "proof.h"
#include "synthetic.h"

#include <joulemap/report.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

static jm_report *report_of(const jm__dataset *dataset, jm_by by)
{
    const jm_report_options options = {.size = sizeof options, .by = by};
    jm_error err = {0};
    jm_report *report = NULL;
    if (jm__report_from_dataset(&report, dataset, &options, &err) != JM_OK) fail_msg("%s", err.text);
    figures_kept(__BASE_FILE__, report);
    return report;
}

static const jm_row *row_of(const jm_report *report, const char *path)
{
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        if (strcmp(jm_report_row(report, i)->path, path) == 0) return jm_report_row(report, i);
    fail_msg("no row %s", path);
    return NULL;
}

/* ---- order */

static void swap(synthetic *s, size_t i, size_t j)
{
    jm__kernel_run kernel = s->kernels.items[i];
    s->kernels.items[i] = s->kernels.items[j];
    s->kernels.items[j] = kernel;
}

/* Two classes, kernels that overlap on two streams of a board, in a phase. */
static synthetic *overlapping(size_t kernels)
{
    synthetic *s = syn_create(7, 1, kernels + 2000);
    int64_t start = 1000000000, now = start;
    int64_t a = syn_class(s, "a", 1, 300), b = syn_class(s, "b", 2, 500);
    int64_t phase = syn_span(s, JM_SPAN_PHASE, "train", "", 0, start, start + 15000000000, 100);
    for (size_t i = 0; i < kernels; i++) {
        int64_t length = 20000 + (int64_t)(100000 * syn_uniform(s));
        syn_kernel(s, syn_uniform(s) < 0.5 ? a : b, 0, i % 3 == 0 ? phase : 0, now, now + length);
        now += (int64_t)((double)length * (0.5 + syn_uniform(s)));
    }
    for (int64_t t = start; t < now + 100000000; t += 20000000)
        s->readings[s->dataset.reading_count++] = (jm_reading){1, t, 300 + 100 * syn_uniform(s)};
    s->dataset.start_ns = start;
    s->dataset.end_ns = now + 100000000;
    return s;
}

static void assert_same_rows(const jm_report *one, const jm_report *other)
{
    assert_int_equal(jm_report_row_count(one), jm_report_row_count(other));
    for (size_t i = 0; i < jm_report_row_count(one); i++) {
        const jm_row *a = jm_report_row(one, i), *b = jm_report_row(other, i);
        assert_string_equal(a->path, b->path);
        assert_true(a->calls == b->calls && a->start_ns == b->start_ns && a->end_ns == b->end_ns);
        assert_true(fabs(a->busy_s - b->busy_s) < 1e-9);
        assert_true(fabs(a->energy_j - b->energy_j) < 1e-6 &&
                    fabs(a->energy_high_j - b->energy_high_j) < 1e-6);
    }
}

/* Each item is moved by at most this many places. */
static void check_orders(size_t kernels, const size_t *reach, size_t count)
{
    synthetic *s = overlapping(kernels);
    jm_report *sorted[2] = {report_of(&s->dataset, JM_BY_LAYER), report_of(&s->dataset, JM_BY_KERNEL)};
    for (size_t r = 0; r < count; r++) {
        for (size_t i = 0; i + 1 < kernels; i++) {
            size_t room = kernels - i < reach[r] ? kernels - i : reach[r];
            if (i % 3 == 0) swap(s, i, i + (size_t)(syn_uniform(s) * (double)room));
        }
        jm_report *layer = report_of(&s->dataset, JM_BY_LAYER),
                  *kernel = report_of(&s->dataset, JM_BY_KERNEL);
        assert_same_rows(sorted[0], layer);
        assert_same_rows(sorted[1], kernel);
        jm_report_free(layer);
        jm_report_free(kernel);
    }
    jm_report_free(sorted[0]);
    jm_report_free(sorted[1]);
    syn_free(s);
}

/* A few places off, as in rings; farther than the buffer holds, as no recorder does. */
static void test_the_order_of_rows_in_a_file_does_not_matter(void **state)
{
    (void)state;
    static const size_t reach[] = {40, 5000, SIZE_MAX};
    if (proof_runs()) {
        check_orders(150000, reach, 3);
    } else {
        check_orders(10000, reach, 2);
        check_orders(2 * JM_ORDER_REACH + 5000, reach + 2, 1); /* the buffer is given away in parts */
    }
}

/* ---- a file */

static char file_path[] = "/tmp/joulemap-test-work-XXXXXX";

/* A recording of which most pages are kernels. */
static void write_kernels(size_t count)
{
    jm__writer *writer;
    jm_error err = {0};
    if (jm__writer_create(&writer, file_path, true, &err) != JM_OK) fail_msg("%s", err.text);
    jm_board board = {.id = 1, .backend = "nvml", .name = "Synthetic", .uuid = "GPU-1"};
    assert_int_equal(jm__writer_board(writer, &board, &err), JM_OK);
    jm__kernel_class class = {
        .name_id = jm__writer_name(writer, "gemm"), .work = JM_WORK_KERNEL, .grid = {1, 1, 1}};
    jm__stream stream = {.process_id = 100, .board_id = board.id};
    assert_int_equal(jm__writer_kernel_class(writer, &class, &err), JM_OK);
    assert_int_equal(jm__writer_stream(writer, &stream, &err), JM_OK);
    for (size_t i = 0; i < count; i++) {
        int64_t start_ns = 1000000000 + (int64_t)i * 100000;
        jm__kernel kernel = {.start_ns = start_ns,
                             .end_ns = start_ns + 90000,
                             .class_id = class.id,
                             .stream_id = stream.id,
                             .launch_ns = -1,
                             .calls = 1};
        jm__writer_kernels(writer, &kernel, 1);
    }
    assert_int_equal(jm__writer_close(writer, &err), JM_OK);
}

/* Loading the rest of the recording does not read those pages. */
static void test_damage_among_kernels_costs_some_of_them_and_is_marked(void **state)
{
    (void)state;
    enum { KERNELS = 50000, PAGE = 4096 };
    int made = mkstemp(file_path);
    assert_true(made >= 0);
    close(made);
    write_kernels(KERNELS);
    FILE *file = fopen(file_path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    assert_int_equal(fseek(file, ftell(file) / PAGE / 2 * PAGE, SEEK_SET), 0);
    for (int i = 0; i < 3 * PAGE; i++)
        assert_int_equal(fputc(0xff, file), 0xff);
    assert_int_equal(fclose(file), 0);
    jm_error err = {0};
    jm_recording *recording = NULL;
    if (jm_recording_open(&recording, file_path, &err) != JM_OK) fail_msg("%s", err.text);
    assert_null(jm_recording_damage(recording));
    const jm_report_options options = {.size = sizeof options, .by = JM_BY_KERNEL};
    jm_report *report = NULL;
    if (jm_report_create(&report, recording, &options, &err) != JM_OK) fail_msg("%s", err.text);
    figures_kept(__BASE_FILE__, report);
    assert_non_null(strstr(jm_recording_damage(recording), "parts of the file are damaged"));
    /* Three pages of some 200 rows each. */
    assert_in_range(row_of(report, "gemm")->calls, KERNELS - 1000, KERNELS - 100);
    bool found = false;
    for (size_t i = 0; i < jm_report_note_count(report); i++)
        found = found || strstr(jm_report_note(report, i), "parts of the file are damaged") != NULL;
    assert_true(found);
    jm_report_free(report);
    jm_recording_close(recording);
    unlink(file_path);
}

/* ---- pieces */

enum { MOMENTS = 30000 };

static const uint32_t columns[] = {0, 1, 2, 3};

/* Alone, then two beside each other, then alone again; lengths of 1 to 5 us. */
static void write_pieces(jm__pieces *pieces, size_t room)
{
    int64_t t_ns = 1000;
    jm__pieces_begin(pieces, t_ns, room);
    for (int i = 0; i < MOMENTS; i++) {
        t_ns += 1000 * (i % 5 + 1);
        if (i % 3 == 1) assert_true(jm__pieces_add(pieces, t_ns, 1, 0.5F, true));
        assert_true(jm__pieces_add(pieces, t_ns, i % 3 == 1 ? 2 : 3, i % 3 == 1 ? 0.5F : 1, false));
    }
    assert_true(jm__pieces_end(pieces));
    pieces->column_of = columns;
}

static void check_walk(jm__pieces *pieces, bool in_file)
{
    jm__piece_cursor cursor;
    assert_int_equal(jm__cursor_init(&cursor, pieces, NULL), JM_OK);
    assert_true((pieces->file >= 0) == in_file);
    jm__cursor_seek(&cursor, INT64_MIN);
    int64_t t_ns = 1000, column_ns[4] = {0};
    for (; !jm__cursor_at_end(&cursor); jm__cursor_next(&cursor)) {
        assert_true(cursor.now.start_ns == t_ns && cursor.now.end_ns > t_ns);
        t_ns = cursor.now.end_ns;
        for (size_t i = 0; i < cursor.now.count; i++)
            column_ns[jm__cursor_column(&cursor, i)] +=
                (int64_t)((double)cursor.now.items[i].share * (double)(t_ns - cursor.now.start_ns));
    }
    /* 3 us each on average; a third of the moments are shared */
    assert_true(t_ns == 1000 + MOMENTS * INT64_C(3000));
    assert_true(column_ns[0] == 0 && column_ns[1] == MOMENTS * 500 && column_ns[1] == column_ns[2]);
    assert_true(column_ns[3] == MOMENTS * 2000);
    for (int64_t at = 0; at < t_ns; at += 977001) { /* jumps, also back */
        int64_t to_ns = t_ns - at;
        jm__cursor_seek(&cursor, to_ns - 1);
        assert_true(cursor.now.start_ns < to_ns && cursor.now.end_ns >= to_ns);
    }
    jm__cursor_seek(&cursor, t_ns);
    assert_true(jm__cursor_at_end(&cursor));
    assert_false(pieces->failed);
    jm__cursor_free(&cursor);
}

static void test_pieces_beyond_the_memory_lie_in_a_file_or_stay(void **state)
{
    (void)state;
    jm__pieces pieces;
    write_pieces(&pieces, 1 << 30);
    check_walk(&pieces, false);
    jm__pieces_free(&pieces);
    write_pieces(&pieces, 100000);
    check_walk(&pieces, true);
    assert_true(pieces.blocks.items[0].items != NULL); /* the first ones, which fit */
    assert_null(pieces.blocks.items[pieces.blocks.count - 1].items);
    jm__pieces_free(&pieces);
    setenv("TMPDIR", "/nonexistent", 1);
    write_pieces(&pieces, 100000);
    unsetenv("TMPDIR");
    check_walk(&pieces, false);
    jm__pieces_free(&pieces);
}

static void test_pieces_beyond_a_file_limit_stay_in_memory(void **state)
{
    (void)state;
    jm__pieces pieces;
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 200000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    write_pieces(&pieces, 100000); /* exceeding the limit raises a signal that kills */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    check_walk(&pieces, true);
    assert_non_null(pieces.blocks.items[pieces.blocks.count - 1].items);
    jm__pieces_free(&pieces);
}

/* A damaged file may have a kernel years away from all others: the time between them is one piece. */
static void test_any_length_of_time_is_one_piece(void **state)
{
    (void)state;
    static const int64_t ends_ns[] = {2000, 2000000000000000000, 2000000000000005000, 2200000000000000000,
                                      2200000000000000001};
    enum { COUNT = sizeof ends_ns / sizeof *ends_ns };
    for (size_t room = 0; room <= 100000; room += 100000) {
        jm__pieces pieces;
        jm__piece_cursor cursor;
        jm__pieces_begin(&pieces, 1000, room);
        for (size_t i = 0; i < COUNT; i++) {
            if (i == 3) assert_true(jm__pieces_add(&pieces, ends_ns[i], 1, 0.5F, true));
            assert_true(jm__pieces_add(&pieces, ends_ns[i], i == 3 ? 2 : 3, i == 3 ? 0.5F : 1, false));
        }
        assert_true(jm__pieces_end(&pieces));
        pieces.column_of = columns;
        size_t moments = 0;
        assert_int_equal(jm__cursor_init(&cursor, &pieces, NULL), JM_OK);
        for (jm__cursor_seek(&cursor, INT64_MIN); !jm__cursor_at_end(&cursor); jm__cursor_next(&cursor)) {
            assert_true(moments < COUNT && cursor.now.end_ns == ends_ns[moments]);
            assert_true(cursor.now.start_ns == (moments == 0 ? 1000 : ends_ns[moments - 1]));
            assert_int_equal(cursor.now.count, moments == 3 ? 2 : 1);
            assert_int_equal(jm__cursor_column(&cursor, 0), moments == 3 ? 1 : 3);
            moments++;
        }
        assert_int_equal(moments, COUNT);
        jm__cursor_seek(&cursor, 1000000000000000000);
        assert_true(cursor.now.start_ns == ends_ns[0] && cursor.now.end_ns == ends_ns[1]);
        jm__cursor_free(&cursor);
        jm__pieces_free(&pieces);
    }
}

static void test_a_kernel_far_away_costs_a_piece_and_no_more(void **state)
{
    (void)state;
    static const int64_t far_ns = 1000000000000000; /* 11 days */
    const jm__intervals none = {0};
    jm__pieces pieces;
    jm__tally tally = {0};
    jm__sweep sweep;
    size_t count = 0;
    jm__pieces_begin(&pieces, 0, 1 << 20);
    jm__sweep_begin(&sweep, &pieces, &tally, &none, &none, &none, 0);
    for (int64_t i = 1; i <= 2; i++) { /* the second runs as long as it is away */
        const jm__item item = {.start_ns = i * far_ns, .end_ns = i == 1 ? far_ns + 1000 : 4 * far_ns};
        const jm__counted_as as = {.outside = true,
                                   .place = JM_PLACE_UNLAYERED,
                                   .cell = JM__NO_CELL,
                                   .sum = SIZE_MAX,
                                   .lent = JM__NO_CELL};
        assert_true(jm__sweep_take(&sweep, &item, &as));
    }
    assert_true(jm__sweep_end(&sweep, 5 * far_ns) && jm__pieces_end(&pieces));
    for (size_t b = 0; b < pieces.blocks.count; b++)
        count += pieces.blocks.items[b].count;
    assert_in_range(count, 1, 5);
    jm__sweep_free(&sweep);
    jm__tally_free(&tally);
    jm__pieces_free(&pieces);
}

/* ---- depth and names */

/* Each phase has one kernel of its own before the next one opens inside it. */
static void test_forty_phases_inside_each_other_keep_their_energy(void **state)
{
    (void)state;
    enum { DEPTH = 40 };
    synthetic *s = syn_create(11, 1, 20000);
    int64_t class_id = syn_class(s, "work", 1, 400), now = 1000000000, end = 21000000000, parent = 0;
    char name[16], path[40 * 4] = "";
    for (int depth = 0; depth < DEPTH; depth++) {
        snprintf(name, sizeof name, "p%d", depth);
        snprintf(path + strlen(path), sizeof path - strlen(path), "%s%s", depth > 0 ? "/" : "", name);
        parent = syn_span(s, JM_SPAN_PHASE, name, "", parent, now, end, 100);
        syn_kernel(s, class_id, 0, parent, now, now + 200000000);
        now += 250000000;
    }
    syn_measure(s, 0, 500000000, end + 500000000);
    syn_finish(s);
    jm_report *report = report_of(&s->dataset, JM_BY_PHASE);
    const jm_row *outermost = row_of(report, "p0"), *innermost = row_of(report, path);
    assert_int_equal(innermost->depth, DEPTH - 1);
    assert_true(fabs(outermost->busy_s - 20) < 0.01); /* work and idle time of all of them */
    double truth_j = syn_energy_j(s, class_id, 0, INT64_MAX) + s->idle_w * (20 - DEPTH * 0.2);
    assert_true(fabs(outermost->energy_j - truth_j) < 0.02 * truth_j);
    jm_report_free(report);
    syn_free(s);
}

static void test_a_phase_with_a_slash_is_not_the_phase_inside_another(void **state)
{
    (void)state;
    synthetic *s = syn_create(12, 1, 20000);
    int64_t class_id = syn_class(s, "work", 1, 400);
    int64_t outer = syn_span(s, JM_SPAN_PHASE, "a", "", 0, 1000000000, 5000000000, 100);
    int64_t inner = syn_span(s, JM_SPAN_PHASE, "b", "", outer, 2000000000, 4000000000, 100);
    int64_t slash = syn_span(s, JM_SPAN_PHASE, "a/b", "", 0, 6000000000, 7000000000, 100);
    syn_kernel(s, class_id, 0, inner, 2000000000, 4000000000);
    syn_kernel(s, class_id, 0, slash, 6000000000, 7000000000);
    syn_measure(s, 0, 500000000, 8000000000);
    syn_finish(s);
    jm_report *report = report_of(&s->dataset, JM_BY_PHASE);
    assert_true(fabs(row_of(report, "a/b")->busy_s - 2) < 1e-6);
    assert_true(fabs(row_of(report, "a\\/b")->busy_s - 1) < 1e-6);
    assert_string_equal(row_of(report, "a\\/b")->name, "a/b");
    assert_int_equal(row_of(report, "a\\/b")->depth, 0);
    jm_report_free(report);
    syn_free(s);
}

/* Without kernels the spans themselves are the work: a span of no length has none of what follows it. */
static void test_a_span_of_no_length_holds_nothing_after_it(void **state)
{
    (void)state;
    synthetic *s = syn_create(15, 1, 20000);
    (void)syn_class(s, "work", 1, 400);
    syn_span(s, JM_SPAN_FORWARD, "first", "Linear", 0, 1000000000, 2000000000, 100);
    syn_span(s, JM_SPAN_FORWARD, "empty", "Identity", 0, 2000000000, 2000000000, 100);
    syn_span(s, JM_SPAN_FORWARD, "second", "Linear", 0, 3000000000, 4000000000, 100);
    syn_measure(s, 0, 500000000, 5500000000);
    syn_finish(s);
    jm_report *report = report_of(&s->dataset, JM_BY_LAYER);
    assert_true(fabs(row_of(report, "first")->busy_s - 1) < 1e-9);
    assert_true(fabs(row_of(report, "second")->busy_s - 1) < 1e-9);
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        if (strcmp(jm_report_row(report, i)->path, "empty") == 0)
            assert_true(jm_report_row(report, i)->busy_s == 0);
    jm_report_free(report);
    syn_free(s);
}

/* Idle time is classified by the length of its gaps, each a row with their number. */
static void test_idle_time_is_marked_by_its_gaps(void **state)
{
    (void)state;
    synthetic *s = syn_create(21, 1, 20000);
    int64_t class_id = syn_class(s, "work", 1, 400), now = 1000000000;
    static const int64_t gaps_ns[] = {20000, 30000, 500000, 5000000, 100000000};
    for (size_t i = 0; i < sizeof gaps_ns / sizeof *gaps_ns; i++) {
        syn_kernel(s, class_id, 0, 0, now, now + 100000000);
        now += 100000000 + gaps_ns[i];
    }
    syn_kernel(s, class_id, 0, 0, now, now + 100000000);
    syn_measure(s, 0, 500000000, 2500000000);
    syn_finish(s);
    static const jm_by views[] = {JM_BY_LAYER, JM_BY_KERNEL, JM_BY_TYPE, JM_BY_SPAN};
    for (size_t v = 0; v < sizeof views / sizeof *views; v++) {
        jm_report *report = report_of(&s->dataset, views[v]);
        static const struct {
            const char *path;
            int64_t gaps;
            double seconds;
        } expected[] = {{"(idle)/between kernels, < 50 us", 2, 50e-6},
                        {"(idle)/launch or host late, < 1 ms", 1, 500e-6},
                        {"(idle)/waiting, 1 ms and more", 2, 0.105},
                        {"(idle)/before and after", 2, 0.5 + 0.79445}};
        const jm_row *idle = row_of(report, "(idle)");
        double energy_j = 0, seconds = 0;
        for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
            const jm_row *gap = row_of(report, expected[i].path);
            assert_string_equal(gap->kind, "gap");
            assert_int_equal(gap->depth, 1);
            assert_int_equal(gap->calls, expected[i].gaps);
            assert_true(fabs(gap->busy_s - expected[i].seconds) < 1e-6);
            energy_j += gap->energy_j;
            seconds += gap->busy_s;
        }
        assert_true(fabs(idle->busy_s - seconds) < 1e-9 && fabs(idle->energy_j - energy_j) < 1e-6 * energy_j);
        assert_true(idle->energy_self_j == 0);
        jm_report_free(report);
    }
    syn_free(s);
}

/* Two steps of 8 and 4 samples; the first is cut into two of 4 that do not count again. */
static void test_samples_are_counted_once(void **state)
{
    (void)state;
    synthetic *s = syn_create(13, 1, 20000);
    int64_t class_id = syn_class(s, "work", 1, 400);
    int64_t epoch = syn_span(s, JM_SPAN_PHASE, "epoch", "", 0, 1000000000, 5000000000, 100);
    int64_t step = syn_span(s, JM_SPAN_STEP, "step", "", epoch, 1000000000, 3000000000, 100);
    int64_t half = syn_span(s, JM_SPAN_STEP, "half", "", step, 1000000000, 2000000000, 100);
    int64_t rest = syn_span(s, JM_SPAN_STEP, "half", "", step, 2000000000, 3000000000, 100);
    int64_t next = syn_span(s, JM_SPAN_STEP, "step", "", epoch, 3000000000, 5000000000, 100);
    s->spans[step - 1].samples = 8;
    s->spans[half - 1].samples = s->spans[rest - 1].samples = s->spans[next - 1].samples = 4;
    s->spans[half - 1].tokens = s->spans[rest - 1].tokens = 100;
    s->spans[next - 1].tokens = 50;
    syn_kernel(s, class_id, 0, half, 1000000000, 2000000000);
    syn_kernel(s, class_id, 0, next, 3000000000, 5000000000);
    syn_measure(s, 0, 500000000, 5500000000);
    syn_finish(s);
    jm_report *report = report_of(&s->dataset, JM_BY_PHASE);
    assert_int_equal(jm_report_totals_get(report)->samples, 12);
    assert_int_equal(row_of(report, "epoch")->samples, 12);
    assert_int_equal(jm_report_totals_get(report)->tokens, 250); /* the enclosing step has none */
    assert_int_equal(row_of(report, "epoch")->tokens, 250);
    assert_int_equal(row_of(report, "(idle)")->samples, -1);
    jm_report_free(report);
    for (size_t i = 0; i < s->dataset.span_count; i++)
        s->spans[i].samples = s->spans[i].tokens = 0;
    report = report_of(&s->dataset, JM_BY_PHASE);
    assert_int_equal(jm_report_totals_get(report)->samples, -1);
    assert_int_equal(row_of(report, "epoch")->samples, -1);
    assert_int_equal(jm_report_totals_get(report)->tokens, -1);
    jm_report_free(report);
    syn_free(s);
}

/* By span: a layer by the last part of its path, all others by their whole name. */
static void test_rows_of_spans_have_short_names_of_layers(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"blocks.0.mlp", "mlp"}, {"GPT", "GPT"}, {"odd.", "odd."}, {"load.data", "load.data"}};
    synthetic *s = syn_create(14, 1, 20000);
    int64_t class_id = syn_class(s, "work", 1, 400), now = 1000000000;
    for (size_t i = 0; i < 4; i++, now += 1000000000) {
        int64_t span = syn_span(s, i < 3 ? JM_SPAN_FORWARD : JM_SPAN_NVTX, names[i][0], "", 0, now,
                                now + 900000000, 100);
        syn_kernel(s, class_id, 0, span, now, now + 900000000);
    }
    syn_measure(s, 0, 500000000, now + 500000000);
    syn_finish(s);
    jm_report *report = report_of(&s->dataset, JM_BY_SPAN);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(row_of(report, names[i][0])->name, names[i][1]);
    jm_report_free(report);
    syn_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_span_of_no_length_holds_nothing_after_it),
        cmocka_unit_test(test_samples_are_counted_once),
        cmocka_unit_test(test_rows_of_spans_have_short_names_of_layers),
        cmocka_unit_test(test_the_order_of_rows_in_a_file_does_not_matter),
        cmocka_unit_test(test_damage_among_kernels_costs_some_of_them_and_is_marked),
        cmocka_unit_test(test_pieces_beyond_the_memory_lie_in_a_file_or_stay),
        cmocka_unit_test(test_pieces_beyond_a_file_limit_stay_in_memory),
        cmocka_unit_test(test_any_length_of_time_is_one_piece),
        cmocka_unit_test(test_a_kernel_far_away_costs_a_piece_and_no_more),
        cmocka_unit_test(test_idle_time_is_marked_by_its_gaps),
        cmocka_unit_test(test_forty_phases_inside_each_other_keep_their_energy),
        cmocka_unit_test(test_a_phase_with_a_slash_is_not_the_phase_inside_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
