/* Priors given by a person, in the fit of a recording with known truth. */
#include "attribute/report.h"
#include "synthetic_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/joulemap-test-XXXXXX";
static char path[64];

static int set_up(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/known.csv", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* Two kernels that always run one after the other, 100 us each: nothing but their sum can be seen. They are
 * the layers `a.up` and `a.down`, both of `a`; `b` runs at other times. */
static synthetic *make_pair(void)
{
    synthetic *s = syn_create(12, 1, 100000);
    int64_t start = JM_NS_PER_S, end = 7 * JM_NS_PER_S;
    syn_class(s, "first", 8, 800);
    syn_class(s, "second", 8, 400);
    syn_class(s, "other", 8, 300);
    for (int64_t now = start + JM_NS_PER_S; now < end - JM_NS_PER_S;) {
        bool pair = syn_uniform(s) < (now / 300000000 % 2 == 0 ? 0.8 : 0.3);
        int64_t until = now + (pair ? 200000 : 250000);
        int64_t outer = syn_span(s, JM_SPAN_FORWARD, pair ? "a" : "b", "Net", 0, now, until, 100);
        if (pair) {
            int64_t up = syn_span(s, JM_SPAN_FORWARD, "a.up", "Up", outer, now, now + 100000, 100);
            int64_t down = syn_span(s, JM_SPAN_FORWARD, "a.down", "Down", outer, now + 100000, until, 100);
            syn_kernel(s, 1, 0, up, now, now + 100000);
            syn_kernel(s, 2, 0, down, now + 100000, now + 200000);
        } else {
            syn_kernel(s, 3, 0, outer, now, now + 100000);
        }
        now = until;
    }
    syn_measure(s, 0, start, end);
    syn_finish(s);
    return s;
}

/* The same, two launch shapes of one kernel; now and then a copy runs beside the first. */
static synthetic *make_shapes(void)
{
    synthetic *s = syn_create(13, 1, 100000);
    int64_t start = JM_NS_PER_S, end = 7 * JM_NS_PER_S;
    syn_class(s, "product", 8, 700);
    syn_class(s, "product", 16, 500);
    syn_class(s, "copy", 1, 300);
    for (int64_t now = start + JM_NS_PER_S; now < end - JM_NS_PER_S; now += 250000) {
        int64_t up = syn_span(s, JM_SPAN_FORWARD, "up", "Up", 0, now, now + 100000, 100);
        int64_t down = syn_span(s, JM_SPAN_FORWARD, "down", "Down", 0, now + 100000, now + 200000, 100);
        bool beside = syn_uniform(s) < 0.05;
        syn_kernel(s, 1, 0, up, now, now + 100000);
        if (beside) syn_kernel(s, 3, 0, up, now + 50000, now + 60000);
        syn_kernel(s, 2, 0, down, now + 100000, now + 200000);
    }
    syn_measure(s, 0, start, end);
    syn_finish(s);
    return s;
}

static jm_report *report_of(const synthetic *s, const char *prior)
{
    return syn_report(s, (jm_report_options){.by = JM_BY_KERNEL, .prior = prior});
}

static const jm_row *row_of(const jm_report *report, const char *name)
{
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        if (strcmp(jm_report_row(report, i)->name, name) == 0) return jm_report_row(report, i);
    fail_msg("no row %s", name);
    return NULL;
}

static double half_w(const jm_row *row)
{
    return (row->energy_high_j - row->energy_low_j) / 2 / row->busy_s;
}

/* The readings determine their sum, so a prior of one determines the other. */
static void test_a_known_kernel_tells_the_power_of_the_one_it_always_runs_with(void **state)
{
    (void)state;
    synthetic *s = make_pair();
    write_file("kernel,power_w,u_w\nfirst,800,2\n\"never ran\",500,1\n");
    jm_report *without = report_of(s, NULL), *with = report_of(s, path);
    const jm_row *blind = row_of(without, "second"), *seen = row_of(with, "second");
    assert_true(half_w(blind) > 100); /* the weakest prior: 30 % of the mean busy power, split in two */
    assert_true(half_w(seen) < 25);
    assert_true(fabs(seen->power_w - 400) < half_w(seen));
    assert_int_equal(row_of(with, "first")->provenance, JM_PROVENANCE_GIVEN);
    assert_true(fabs(row_of(with, "first")->power_w - 800) < 6);
    assert_int_equal(row_of(with, "other")->provenance, row_of(without, "other")->provenance);
    bool found = false;
    for (size_t i = 0; i < jm_report_note_count(with); i++)
        found = found || strstr(jm_report_note(with, i), "1 of the 2 lines") != NULL;
    assert_true(found);
    jm_report_free(without);
    jm_report_free(with);
    syn_free(s);
}

static jm_report *layers_of(const synthetic *s, const char *prior)
{
    return syn_report(s, (jm_report_options){.by = JM_BY_LAYER, .prior = prior});
}

/* The mean of the two shapes is what the readings say already: which of them draws more stays open. */
static void test_shapes_of_a_known_kernel_are_weighted_by_time_whatever_runs_beside_them(void **state)
{
    (void)state;
    synthetic *s = make_shapes();
    write_file("kernel,power_w,u_w\nproduct,600,2\n");
    jm_report *report = layers_of(s, path);
    const jm_row *up = row_of(report, "up");
    assert_true(half_w(up) > 100);
    assert_true(fabs(up->power_w - 700) < half_w(up));
    jm_report_free(report);
    syn_free(s);
}

/* 0.08 J a call: 800 W for 100 us. The prior of one of the two determines the other. */
static void test_a_layer_that_ran_alone_is_known_in_the_run(void **state)
{
    (void)state;
    synthetic *s = make_pair();
    write_file(
        "path,type,direction,energy_j,u_j,call_s\na.up,Up,forward,0.08,0.0004,1e-4\nc,C,forward,1,0.1,1\n"
        "a.up,Up,backward,0.3,0.1,1\n");
    jm_report *without = layers_of(s, NULL), *with = layers_of(s, path);
    const jm_row *up = row_of(with, "up"), *down = row_of(with, "down");
    assert_true(half_w(row_of(without, "up")) > 100);
    assert_int_equal(up->provenance, JM_PROVENANCE_ISOLATED);
    assert_true(half_w(up) < 60); /* 3 % of it for another place, twice */
    assert_true(fabs(up->power_w - 800) < half_w(up));
    assert_true(fabs(down->power_w - 400) < half_w(down));
    assert_true(half_w(down) < 70);
    bool found = false;
    for (size_t i = 0; i < jm_report_note_count(with); i++)
        found = found || strstr(jm_report_note(with, i), "1 of the 3 lines") != NULL;
    assert_true(found);
    jm_report_free(without);
    jm_report_free(with);
    syn_free(s);
}

/* The readings determine `a` as a whole: its prior is about all kernels in it. */
static void test_a_layer_alone_is_all_that_lies_in_it(void **state)
{
    (void)state;
    synthetic *s = make_pair();
    write_file("path,direction,energy_j,u_j\na,forward,0.24,0.0001\n"); /* twice the truth */
    jm_report *without = layers_of(s, NULL), *with = layers_of(s, path);
    double right_w = row_of(without, "a")->power_w, marked_w = row_of(with, "a")->power_w;
    assert_true(fabs(right_w - 600) < 20);
    assert_true(marked_w >
                right_w + fmax(1, half_w(row_of(without, "a")) / 4)); /* the readings determine it well */
    jm_report_free(without);
    jm_report_free(with);
    syn_free(s);
}

/* A prior that is much wider than the readings changes next to nothing. */
static void test_a_vague_prior_gives_way_to_the_readings(void **state)
{
    (void)state;
    synthetic *s = syn_create(5, 1, 40000);
    syn_class(s, "real", 8, 600);
    syn_class(s, "other", 8, 300);
    syn_random_work(s, 0, 1, 2, 0, 2 * JM_NS_PER_S, 30 * JM_NS_PER_S);
    syn_measure(s, 0, JM_NS_PER_S, 31 * JM_NS_PER_S);
    syn_finish(s);
    write_file("kernel,power_w,u_w\nother,900,500\n");
    jm_report *without = report_of(s, NULL), *with = report_of(s, path);
    const jm_row *row = row_of(with, "other");
    assert_true(fabs(row->power_w - row_of(without, "other")->power_w) < 3);
    assert_int_equal(row->provenance, JM_PROVENANCE_FITTED);
    jm_report_free(without);
    jm_report_free(with);
    syn_free(s);
}

static void test_a_line_that_is_wrong_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"kernel,power_w,u_w\nfirst,800,2\nsecond,-1,2\n", "line 3, column \"power_w\""},
        {"kernel,power_w,u_w\nfirst,800,0\n", "line 2, column \"u_w\""},
        {"kernel,power_w,u_w\nfirst,800,1e-200\n", "line 2, column \"u_w\""},
        {"kernel,power_w,u_w\nfirst,1e300,1e-10\n", "line 2, column \"u_w\""},
        {"kernel,power_w,u_w\nfirst,many,2\n", "\"many\" is not a number"},
        {"kernel,power_w\nfirst,800\n", "kernel,power_w,u_w (powers of kernels)"},
        {"path,direction,energy_j,u_j\na,sideways,1,1\n", "neither forward nor backward"},
        {"path,direction,energy_j,u_j\na,forward,0,1\n", "line 2, column \"energy_j\""},
        {"path,direction,energy_j,u_j\na,forward,1,-1\n", "line 2, column \"u_j\""},
    };
    synthetic *s = make_pair();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        jm_error err = {0};
        jm_report *report = NULL;
        const jm_report_options options = {.size = sizeof options, .by = JM_BY_KERNEL, .prior = path};
        write_file(cases[i].text);
        assert_int_equal(jm__report_from_dataset(&report, &s->dataset, &options, &err), JM_BAD_DATA);
        assert_null(report);
        if (strstr(err.text, cases[i].words) == NULL) fail_msg("%s", err.text);
    }
    syn_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_known_kernel_tells_the_power_of_the_one_it_always_runs_with),
        cmocka_unit_test(test_shapes_of_a_known_kernel_are_weighted_by_time_whatever_runs_beside_them),
        cmocka_unit_test(test_a_layer_that_ran_alone_is_known_in_the_run),
        cmocka_unit_test(test_a_layer_alone_is_all_that_lies_in_it),
        cmocka_unit_test(test_a_vague_prior_gives_way_to_the_readings),
        cmocka_unit_test(test_a_line_that_is_wrong_is_named),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
