/* Power from ncu's counters against what a sensor measured on the same H200 (tests/data/ncu). */
#include "chance.h"
#include "estimate/power.h"
#include "proof.h"

#include <joulemap/estimate.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "figures.h"

#define assert_near(value, truth, within) assert_true(fabs((value) - (truth)) <= (within))

#define DATA  JM_SOURCE_DIR "/tests/data/ncu/"
#define MODEL DATA "model.json"
#define H100  JM_SOURCE_DIR "/tests/data/ncu-h100/"

static jm_error err;

/* Its kernels as sums whose weights tell them apart, and its totals stay what they are. */
static void estimate_kept(const jm_estimate *estimate)
{
    const jm_estimated_total *t = jm_estimate_total(estimate);
    double sums[9] = {0};
    size_t marked = 0;
    for (size_t i = 0; i < jm_estimate_count(estimate); i++) {
        const jm_estimated_kernel *k = jm_estimate_kernel(estimate, i);
        const double of[] = {k->duration_s, k->clock_mhz, k->power_w,   k->power_low_w,  k->power_high_w,
                             k->energy_j,   k->beyond_w,  k->missing_w, k->ncu_clock_mhz};
        for (size_t n = 0; n < 9 && k->reason[0] == '\0'; n++)
            if (isfinite(of[n])) sums[n] += (1 + (double)(i % 7)) * of[n];
        marked += k->extrapolated;
    }
    figures_keep(__BASE_FILE__, NULL, sums, 9, (uint32_t)marked);
    const jm_estimated_range *ranges[] = {&t->min_w,     &t->average_w, &t->peak_w,
                                          &t->kernels_j, &t->program_j, &t->idle_w};
    for (size_t i = 0; i < 6; i++)
        figures_keep(__BASE_FILE__, NULL, (double[]){ranges[i]->value, ranges[i]->low, ranges[i]->high}, 3,
                     0);
    const double all[] = {t->kernels_s, t->program_s, t->idle_s,
                          t->limit_w,   t->limit_mhz, (double)t->estimated};
    figures_keep(__BASE_FILE__, NULL, all, sizeof all / sizeof *all, (uint32_t)t->launches);
    for (size_t i = 0; i < jm_estimate_part_count(estimate); i++) {
        const jm_estimate_part *part = jm_estimate_part_at(estimate, i);
        figures_keep(__BASE_FILE__, NULL, (double[]){part->energy_j, part->share}, 2, 0);
    }
}

static jm_estimate *make(const jm_estimate_options *queried)
{
    jm_estimate_options options = *queried;
    jm_estimate *estimate;
    options.size = sizeof options;
    if (jm_estimate_make(&estimate, &options, &err) != JM_OK) fail_msg("%s (%s)", err.text, err.hint);
    estimate_kept(estimate);
    return estimate;
}

static bool has_note(const jm_estimate *estimate, const char *words)
{
    for (size_t i = 0; i < jm_estimate_note_count(estimate); i++)
        if (strstr(jm_estimate_note(estimate, i), words) != NULL) return true;
    return false;
}

/* ---- against the sensor */

typedef struct measured {
    const char *file;
    double steps, seconds, energy_j;
} measured;

static const measured programs[] = {
    /* programs.csv */
    {DATA "stencil.csv.gz", 1404, 12.033, 5947.0},
    {DATA "resnet.csv.gz", 1390, 12.033, 7587.6},
    {DATA "gpt.csv.gz", 253, 12.074, 8335.5},
};

static const measured on_h100[] = {
    /* the same two, counted on the H200 and measured on an H100: tests/data/ncu-h100/programs.csv */
    {DATA "stencil.csv.gz", 1224, 12.021, 5542.8},
    {DATA "resnet.csv.gz", 1171, 12.042, 6887.3},
};

static void test_programs_that_no_model_has_seen_are_within_8_percent(void **state)
{
    (void)state;
    for (size_t p = 0; p < 3; p++) {
        jm_estimate *estimate = make(&(jm_estimate_options){.csv = programs[p].file, .model = "h200"});
        const jm_estimated_total *total = jm_estimate_total(estimate);
        double watts = programs[p].energy_j / programs[p].seconds,
               joules = programs[p].energy_j / programs[p].steps;
        if (fabs(total->average_w.value / watts - 1) > 0.08)
            fail_msg("%s: %.0f W for %.0f", programs[p].file, total->average_w.value, watts);
        assert_true(total->average_w.low < watts && watts < total->average_w.high);
        if (p > 0) assert_true(fabs(total->kernels_j.value / joules - 1) < 0.1);
        assert_true(total->kernels_j.low < joules && joules < total->kernels_j.high);
        assert_int_equal(total->kernels, total->estimated);
        jm_estimate_free(estimate);
    }
}

static void test_the_boards_own_model_is_nearer_where_the_limit_holds(void **state)
{
    (void)state;
    static const double within[] = {0.10, 0.05, 0.05};
    for (size_t p = 0; p < 3; p++) {
        jm_estimate *estimate = make(&(jm_estimate_options){.csv = programs[p].file, .model = MODEL});
        const jm_estimated_total *total = jm_estimate_total(estimate);
        double watts = programs[p].energy_j / programs[p].seconds,
               joules = programs[p].energy_j / programs[p].steps;
        if (fabs(total->average_w.value / watts - 1) > within[p])
            fail_msg("%s: %.0f W for %.0f", programs[p].file, total->average_w.value, watts);
        if (fabs(total->kernels_j.value / joules - 1) > within[p])
            fail_msg("%s: %.3f J for %.3f", programs[p].file, total->kernels_j.value, joules);
        assert_true(total->average_w.value <= 700.01);
        jm_estimate_free(estimate);
    }
}

/* Kernels of the suite: id, kernel, data, power. */
typedef struct line {
    long id;
    char name[96], data[16];
    double power_w;
} line;

static size_t read_powers(line *lines, size_t most)
{
    size_t count = 0;
    char text[256];
    FILE *file = fopen(DATA "suite-power.csv", "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    while (count < most && fgets(text, sizeof text, file) != NULL) {
        line *l = &lines[count++];
        assert_int_equal(sscanf(text, "%ld,%95[^,],%15[^,],%lf", &l->id, l->name, l->data, &l->power_w), 4);
    }
    fclose(file);
    return count;
}

/* Shares that lie in their ranges, and the mean error of those on real data. */
typedef struct holding {
    double real, constant, error;
} holding;

static holding held_by(const char *model)
{
    static line lines[256];
    size_t count = read_powers(lines, 256), told = 0, inside = 0, constant = 0, constant_inside = 0;
    double error = 0;
    jm_estimate *estimate =
        make(&(jm_estimate_options){.csv = DATA "suite.csv.gz", .model = model, .limit_w = INFINITY});
    for (size_t i = 0; i < count; i++) {
        const jm_estimated_kernel *k = jm_estimate_kernel(estimate, (size_t)lines[i].id);
        bool holds = k->power_low_w <= lines[i].power_w && lines[i].power_w <= k->power_high_w;
        assert_int_equal(k->id, lines[i].id);
        if (strcmp(lines[i].data, "random") == 0 || strcmp(lines[i].data, "trained") == 0) {
            error += fabs(k->power_w / lines[i].power_w - 1);
            inside += holds;
            told++;
        } else {
            constant++;
            constant_inside += holds;
        }
    }
    assert_true(told > 150 && constant > 15);
    jm_estimate_free(estimate);
    return (holding){(double)inside / (double)told, (double)constant_inside / (double)constant,
                     error / (double)told};
}

static void test_kernels_of_the_suite_are_told_within_8_percent_and_nine_of_ten_intervals_hold(void **state)
{
    (void)state;
    const holding own = held_by(MODEL);
    if (own.error > 0.08) fail_msg("%.3f", own.error);
    assert_true(own.real > 0.85);
    assert_true(own.constant > 0.85);
}

/* It was learnt from other kernels on another board, all of whose powers it tells too low by an eighth. */
static void test_intervals_of_the_shipped_model_hold_nine_of_ten_on_another_board(void **state)
{
    (void)state;
    const holding shipped = held_by("h200");
    if (!(shipped.real > 0.85 && shipped.real < 0.95)) fail_msg("%.3f", shipped.real);
    assert_true(shipped.constant > 0.85);
}

/* Of a program that is one kernel, the sum is no less sure than the kernel. */
static void test_a_program_of_one_kernel_is_as_sure_as_the_kernel(void **state)
{
    (void)state;
    jm_estimate *estimate = make(&(jm_estimate_options){.csv = DATA "stencil.csv.gz", .model = MODEL});
    const jm_estimated_total *total = jm_estimate_total(estimate);
    double low = 0, high = 0;
    for (size_t i = 0; i < jm_estimate_count(estimate); i++) {
        low += jm_estimate_kernel(estimate, i)->energy_low_j;
        high += jm_estimate_kernel(estimate, i)->energy_high_j;
    }
    assert_true(total->kernels_j.high <= high * 1.000001 && total->kernels_j.low >= low * 0.999999);
    jm_estimate_free(estimate);
}

static void test_zeros_and_random_numbers_of_one_matrix_product_both_lie_in_its_interval(void **state)
{
    (void)state;
    static line lines[256];
    size_t count = read_powers(lines, 256), seen = 0;
    jm_estimate *estimate =
        make(&(jm_estimate_options){.csv = DATA "suite.csv.gz", .model = MODEL, .limit_w = INFINITY});
    for (size_t i = 0; i < count; i++) {
        if (strcmp(lines[i].name, "product/wgmma-4096x4096x4096-bf16") != 0) continue;
        const jm_estimated_kernel *k = jm_estimate_kernel(estimate, (size_t)lines[i].id);
        seen++;
        if (!(k->power_low_w <= lines[i].power_w && lines[i].power_w <= k->power_high_w))
            fail_msg("%s %s: %.0f W, not in %.0f to %.0f", lines[i].name, lines[i].data, lines[i].power_w,
                     k->power_low_w, k->power_high_w);
    }
    assert_true(seen >= 3);
    jm_estimate_free(estimate);
}

/* ---- the details page */

#define DETAILS JM_SOURCE_DIR "/tests/data/ncu-details/"

/* A call of PyTorch: its kernels have one power together. */
typedef struct call {
    char name[96];
    double truth_w, seconds, energy_j, low_j, high_j;
} call;

static size_t read_calls(call *calls, size_t most, const char *name, const jm_estimate *estimate)
{
    char path[512], text[256];
    size_t count = 0;
    snprintf(path, sizeof path, DETAILS "%s-power.csv", name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    for (size_t i = 0; fgets(text, sizeof text, file) != NULL; i++) {
        call next = {0};
        long id;
        assert_int_equal(sscanf(text, "%ld,%95[^,],%lf", &id, next.name, &next.truth_w), 3);
        if (count == 0 || strcmp(calls[count - 1].name, next.name) != 0) calls[count++] = next;
        assert_true(count <= most);
        const jm_estimated_kernel *k = jm_estimate_kernel(estimate, i);
        call *now = &calls[count - 1];
        assert_int_equal(k->id, id);
        now->seconds += k->duration_s;
        now->energy_j += k->energy_j;
        now->low_j += k->power_low_w * k->duration_s;
        now->high_j += k->power_high_w * k->duration_s;
    }
    fclose(file);
    return count;
}

/* Kernels of PyTorch that the model has not learnt from, on an H200: 23 % off, and two of three held, by the
 * counters that the page has. */
static void test_kernels_on_the_details_page_are_told_within_10_percent(void **state)
{
    (void)state;
    static call calls[128];
    static const struct {
        const char *name;
        size_t least;
        double most_off;
    } sets[] = {{"others", 20, 0.10}, {"suite", 90, 0.08}};
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        char path[512];
        snprintf(path, sizeof path, DETAILS "%s.csv.gz", sets[s].name);
        jm_estimate *estimate = make(&(jm_estimate_options){.csv = path, .limit_w = INFINITY});
        size_t count = read_calls(calls, 128, sets[s].name, estimate), inside = 0;
        double error = 0;
        for (size_t i = 0; i < count; i++) {
            double truth_j = calls[i].truth_w * calls[i].seconds;
            error += fabs(calls[i].energy_j / truth_j - 1) / (double)count;
            inside += calls[i].low_j <= truth_j && truth_j <= calls[i].high_j;
        }
        print_message("%s: %zu calls, %.1f %% off on average, %zu intervals hold\n", sets[s].name, count,
                      100 * error, inside);
        assert_true(count >= sets[s].least);
        assert_true(error < sets[s].most_off);
        assert_true((double)inside >= 0.85 * (double)count);
        assert_true(has_note(estimate, "is of ncu's details page"));
        jm_estimate_free(estimate);
    }
}

/* The same file as if ncu had set one clock: what the board does not choose tells nothing of the power. */
static void test_a_details_page_at_a_clock_that_ncu_set_has_a_model_without_the_clock(void **state)
{
    (void)state;
    static call calls[128];
    char path[] = "/tmp/jm_details_XXXXXX.csv", text[2048];
    FILE *to = fdopen(mkstemps(path, 4), "w");
    gzFile from = gzopen(DETAILS "others.csv.gz", "r");
    assert_true(to != NULL && from != NULL);
    while (gzgets(from, text, sizeof text) != NULL) {
        char *clock = strstr(text, "\"SM Frequency\",\"Ghz\",");
        if (clock != NULL) strcpy(clock, "\"SM Frequency\",\"Ghz\",\"1.59\"\n");
        assert_true(fputs(text, to) >= 0);
    }
    gzclose(from);
    fclose(to);
    jm_estimate *estimate = make(&(jm_estimate_options){.csv = path, .limit_w = INFINITY});
    assert_true(has_note(estimate, "h200_details_base"));
    size_t count = read_calls(calls, 128, "others", estimate);
    double error = 0;
    for (size_t i = 0; i < count; i++)
        error += fabs(calls[i].energy_j / (calls[i].truth_w * calls[i].seconds) - 1) / (double)count;
    print_message("%zu calls, %.1f %% off on average\n", count, 100 * error);
    assert_true(error < 0.15);
    jm_estimate_free(estimate);
    unlink(path);
}

/* ---- forms */

static void test_every_form_of_the_same_kernels_gives_rows_whose_intervals_meet(void **state)
{
    (void)state;
    static const struct {
        const char *file, *note;
        bool lacks;
    } forms[] = {{DATA "form-details.csv.gz", "is of ncu's details page", false},
                 {DATA "form-details-all.csv.gz", "lack counters that the model needs", true},
                 {DATA "form-live.csv.gz", "lack counters that the model needs", true}};
    jm_estimate *raw = make(&(jm_estimate_options){.csv = DATA "form-raw.csv.gz", .limit_w = INFINITY});
    for (size_t f = 0; f < 3; f++) {
        jm_estimate *other = make(&(jm_estimate_options){.csv = forms[f].file, .limit_w = INFINITY});
        assert_true(jm_estimate_count(other) >= 2);
        for (size_t i = 0; i < 2; i++) {
            const jm_estimated_kernel *a = jm_estimate_kernel(raw, i), *b = jm_estimate_kernel(other, i);
            assert_string_equal(a->kernel, b->kernel);
            assert_int_equal(a->id, b->id);
            assert_true(fabs(a->duration_s / b->duration_s - 1) < 0.02);
            assert_true(a->power_low_w < b->power_high_w && b->power_low_w < a->power_high_w);
            assert_true((b->missing_w > 0) == forms[f].lacks);
        }
        assert_true(has_note(other, forms[f].note));
        jm_estimate_free(other);
    }
    jm_estimate_free(raw);
}

static char temporary[64];

static const char *write_file(const char *text)
{
    snprintf(temporary, sizeof temporary, "/tmp/joulemap-test-estimate-%d.csv", (int)getpid());
    FILE *file = fopen(temporary, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return temporary;
}

#define RAW(cc, names, units, values)                                                                        \
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\",\"Block "   \
    "Size\",\"Grid "                                                                                         \
    "Size\",\"Device\",\"CC\"," names "\n\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"," units      \
    "\n\"0\",\"1\",\"p\",\"h\",\"k\",\"1\",\"7\",\"(1, 1, 1)\",\"(1, 1, 1)\",\"0\",\"" cc "\"," values "\n"

static void expect_failure(const char *text, const jm_estimate_options *queried, jm_status status,
                           const char *words)
{
    jm_estimate *estimate;
    jm_estimate_options options = *queried;
    options.size = sizeof options;
    options.csv = write_file(text);
    assert_int_equal(jm_estimate_make(&estimate, &options, &err), status);
    assert_null(estimate);
    if (strstr(err.text, words) == NULL && strstr(err.hint, words) == NULL)
        fail_msg("%s (%s)", err.text, err.hint);
    assert_int_equal(err.status, status);
    assert_int_equal(err.code, 0); /* no call of a library's failed */
    assert_string_equal(err.call, "");
    unlink(temporary);
}

static void test_what_cannot_be_told_is_refused_with_its_cause(void **state)
{
    (void)state;
    const jm_estimate_options usual = {0}, nobody = {.model = "gx999"};
    expect_failure(RAW("8.6", "\"gpu__time_duration.sum\"", "\"us\"", "\"10.5\""), &usual, JM_NOT_SUPPORTED,
                   "compute capability 8.6");
    expect_failure(RAW("9.0", "\"dram__bytes_read.sum\"", "\"byte\"", "\"10\""), &usual, JM_BAD_DATA,
                   "gpu__time_duration");
    expect_failure(RAW("9.0", "\"gpu__time_duration.sum\"", "\"us\"", "\"n/a\""), &usual, JM_BAD_DATA,
                   "line 3");
    expect_failure(RAW("9.0", "\"gpu__time_duration.sum\"", "\"us\"", "\"0\""), &usual, JM_BAD_DATA,
                   "its duration is invalid");
    expect_failure(RAW("9.0", "\"gpu__time_duration.sum\"", "\"us\"", "\"10.5\""), &nobody, JM_NOT_FOUND,
                   "gx999");
    expect_failure(RAW("9.0", "\"gpu__time_duration.sum\"", "\"us\"", "\"10.5\""), &usual, JM_BAD_DATA,
                   "too little of what the model needs");
    expect_failure(RAW("9.0", "\"gpu__time_duration.sum\"", "\"us\"", "\"10.5\""), &usual, JM_BAD_DATA,
                   "--metrics");
}

/* ncu of before 2022.3, which knew no chip that a model is of. */
static void test_a_file_that_tells_no_chip_is_of_none_that_is_known(void **state)
{
    (void)state;
    const char *const files[] = {
        "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
        "\"0\",\"k\",\"gpu__time_duration.sum\",\"nsecond\",\"12,672\"\n"
        "\"0\",\"k\",\"dram__cycles_elapsed.avg.per_second\",\"cycle/second\",\"1,215,000,000.00\"\n",
        RAW("", "\"gpu__time_duration.sum\"", "\"us\"", "\"10.5\""),
        RAW("", "\"gpu__time_duration.sum\",\"device__attribute_display_name\"", "\"us\",\"\"",
            "\"10.5\",\"NVIDIA A100-SXM4-80GB\""),
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        expect_failure(files[i], &(jm_estimate_options){0}, JM_NOT_SUPPORTED, "--board h100");
    /* Who says what it is gets further, as does a file that names a board that is known. */
    expect_failure(files[1], &(jm_estimate_options){.board = "h100"}, JM_BAD_DATA, "--metrics");
    expect_failure(files[1], &(jm_estimate_options){.model = "h200"}, JM_BAD_DATA, "--metrics");
    expect_failure(RAW("", "\"gpu__time_duration.sum\",\"device__attribute_display_name\"", "\"us\",\"\"",
                       "\"10.5\",\"NVIDIA H200\""),
                   &(jm_estimate_options){0}, JM_BAD_DATA, "--metrics");
}

/* ---- clocks */

static void test_the_time_of_work_scales_with_the_clock_and_that_of_memory_does_not(void **state)
{
    (void)state;
    assert_near(jm__time_at(1, 0, 2, 1), 0.5, 1e-12);
    assert_near(jm__time_at(1, 0.3, 1, 1), 1, 1e-12);
    assert_true(jm__time_at(1, 0.999, 2, 1) > 0.99);
    assert_true(jm__time_at(1, 0.999, 0.5, 1) < 1.02);
    assert_true(jm__time_at(1, 0.7, 2, 1) > 0.7);
    assert_near(jm__time_at(1, 0.999, 1, 2), 0.5, 0.06); /* all memory, and twice as fast a one */
    assert_near(jm__time_at(1, 0, 1, 2), 1, 1e-12);
    double before = 0;
    for (double memory = 0; memory < 1; memory += 0.1) { /* the more memory, the less a clock helps */
        double now = jm__time_at(1, memory, 1.5, 1);
        assert_true(now >= before && now <= 1);
        before = now;
    }
}

static void read_lines(char *text, size_t size, const char *command)
{
    FILE *lines = popen(command, "r");
    assert_non_null(lines);
    text[fread(text, 1, size - 1, lines)] = '\0';
    pclose(lines);
}

/* The first kernels of the suite are large matrix products, at 1660 MHz by themselves. Where nothing says
 * that ncu left the clock alone, they are taken for the usual clock, at which no board can run them. */
static void test_what_no_board_can_draw_is_taken_at_a_lower_clock(void **state)
{
    (void)state;
    static char text[8192];
    read_lines(text, sizeof text, "gzip -dc '" DATA "suite.csv.gz' | head -4");
    jm_estimate *locked =
        make(&(jm_estimate_options){.csv = write_file(text), .model = MODEL, .limit_w = INFINITY});
    const jm_estimated_kernel *k = jm_estimate_kernel(locked, 0);
    assert_true(k->ncu_clock_mhz < 1750);
    assert_true(k->clock_mhz > k->ncu_clock_mhz && k->clock_mhz < 1975);
    assert_true(k->power_w < 1000 && fabs(k->power_w / 910.1 - 1) < 0.08); /* the sensor's */
    assert_true(has_note(locked, "it sets the base clock"));
    jm_estimate_free(locked);
    unlink(temporary);
}

static void test_another_clock_is_told_as_extrapolated_and_is_less_sure(void **state)
{
    (void)state;
    jm_estimate *usual = make(&(jm_estimate_options){.csv = programs[0].file, .model = MODEL});
    jm_estimate *slow =
        make(&(jm_estimate_options){.csv = programs[0].file, .model = MODEL, .clock_mhz = 1200});
    const jm_estimated_kernel *a = jm_estimate_kernel(usual, 0), *b = jm_estimate_kernel(slow, 0);
    assert_false(a->extrapolated);
    assert_true(b->extrapolated && jm_estimate_total(slow)->extrapolated);
    assert_true(has_note(slow, "extrapolated"));
    assert_true(b->power_w < 0.9 * a->power_w && b->duration_s > a->duration_s);
    assert_true(b->power_high_w / b->power_w > a->power_high_w / a->power_w);
    jm_estimate_free(usual);
    jm_estimate_free(slow);
}

static void test_another_board_of_the_chip_is_told_and_wider(void **state)
{
    (void)state;
    jm_estimate *other = make(&(jm_estimate_options){.csv = programs[0].file, .model = "h100"});
    assert_true(jm_estimate_total(other)->extrapolated);
    assert_true(has_note(other, "was scaled to h200"));
    jm_estimate_free(other);
}

/* Counters of an H200, told as if the programs ran on an H100: against what an H100 drew and took for them.
 * The board's own errors are 5 to 10 % on these programs (bench/results/estimate.txt), boards of a kind
 * differ by 5 %. */
static void test_what_if_on_another_board_comes_near_what_that_one_drew(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        double seconds = on_h100[i].seconds / on_h100[i].steps,
               joules = on_h100[i].energy_j / on_h100[i].steps;
        jm_estimate *there =
            make(&(jm_estimate_options){.csv = on_h100[i].file, .model = MODEL, .board = "h100"});
        const jm_estimated_total *t = jm_estimate_total(there);
        assert_true(t->extrapolated && has_note(there, "figures are for h100"));
        assert_true(has_note(there, "was scaled to h100"));
        assert_true(fabs(t->kernels_s / seconds - 1) < 0.06);
        assert_true(fabs(t->kernels_j.value / joules - 1) < 0.15);
        assert_true(t->kernels_j.low < joules && joules < t->kernels_j.high);
        jm_estimate_free(there);
    }
}

/* Emptied caches are no other program: the same two, with --cache-control all and without. */
static void test_emptied_caches_change_little(void **state)
{
    (void)state;
    static const char *const names[] = {"stencil.csv.gz", "resnet.csv.gz"};
    for (size_t i = 0; i < 2; i++) {
        char kept[512], flushed[512];
        snprintf(kept, sizeof kept, H100 "%s", names[i]);
        snprintf(flushed, sizeof flushed, H100 "flushed/%s", names[i]);
        jm_estimate *a = make(&(jm_estimate_options){.csv = kept, .model = H100 "model.json"});
        jm_estimate *b = make(&(jm_estimate_options){.csv = flushed, .model = H100 "model.json"});
        const jm_estimated_total *t = jm_estimate_total(a), *u = jm_estimate_total(b);
        assert_true(fabs(u->kernels_j.value / t->kernels_j.value - 1) < 0.04); /* two boards of a kind, too */
        assert_true(u->kernels_j.low < t->kernels_j.value && t->kernels_j.value < u->kernels_j.high);
        jm_estimate_free(a);
        jm_estimate_free(b);
    }
}

/* On an H100 nothing was tuned: its own model, its own sensor. */
static void test_on_another_chip_of_the_family_ranges_hold_too(void **state)
{
    (void)state;
    static const double joules[] = {5542.8 / 1224, 6887.3 / 1171}; /* programs.csv */
    static const char *const files[] = {H100 "stencil.csv.gz", H100 "resnet.csv.gz"};
    for (size_t i = 0; i < 2; i++)
        for (size_t shipped = 0; shipped < 2; shipped++) {
            jm_estimate *made =
                make(&(jm_estimate_options){.csv = files[i], .model = shipped ? "h100" : H100 "model.json"});
            const jm_estimated_total *t = jm_estimate_total(made);
            assert_false(t->extrapolated);
            assert_true(t->kernels_j.low < joules[i] && joules[i] < t->kernels_j.high);
            jm_estimate_free(made);
        }
}

/* A smaller board has fewer multiprocessors, less memory and less power: it takes longer for the same. */
static void test_a_smaller_board_takes_longer_within_its_limit(void **state)
{
    (void)state;
    jm_estimate *full = make(&(jm_estimate_options){.csv = programs[0].file, .model = MODEL});
    jm_estimate *small = make(&(jm_estimate_options){.csv = programs[0].file, .board = "h100-pcie"});
    const jm_estimated_total *a = jm_estimate_total(full), *b = jm_estimate_total(small);
    assert_true(b->kernels_s > 1.15 * a->kernels_s); /* 132 / 114 at the least */
    assert_true(b->average_w.value <= 350.5 && b->limit_w == 350);
    assert_true(b->kernels_j.high / b->kernels_j.value > a->kernels_j.high / a->kernels_j.value);
    jm_estimate_free(full);
    jm_estimate_free(small);
    expect_failure(RAW("9.0", "\"gpu__time_duration.sum\"", "\"us\"", "\"10.5\""),
                   &(jm_estimate_options){.board = "h300"}, JM_NOT_FOUND, "h100, h200, h100-pcie, h100-nvl");
}

static void test_gaps_are_idle_and_add_to_the_program(void **state)
{
    (void)state;
    jm_estimate *estimate =
        make(&(jm_estimate_options){.csv = programs[0].file, .model = MODEL, .program_s = 0.1});
    const jm_estimated_total *t = jm_estimate_total(estimate);
    assert_near(t->idle_s, 0.1 - t->kernels_s, 1e-12);
    assert_near(t->idle_w.value, 128.127215, 0.01); /* the model's own, "longer" */
    assert_near(t->program_j.value, t->kernels_j.value + t->idle_s * t->idle_w.value, 1e-9);
    assert_near(t->average_w.value, t->program_j.value / 0.1, 1e-9);
    assert_near(t->min_w.value, t->idle_w.value, 1e-9);
    assert_true(t->peak_w.value > 400);
    double sum = 0;
    for (size_t i = 0; i < jm_estimate_part_count(estimate); i++)
        sum += jm_estimate_part_at(estimate, i)->energy_j;
    assert_near(sum, t->kernels_j.value, 1e-6 * sum);
    jm_estimate_free(estimate);
}

static void test_views_hold_all_rows_in_the_files_order(void **state)
{
    (void)state;
    char *json, *csv, *text;
    jm_estimate *estimate = make(&(jm_estimate_options){.csv = DATA "stencil.csv.gz"});
    assert_int_equal(jm_estimate_json(estimate, &json, &err), JM_OK);
    assert_int_equal(jm_estimate_csv(estimate, &csv, &err), JM_OK);
    assert_int_equal(jm_estimate_text(estimate, 80, 5, &text, &err), JM_OK);
    assert_non_null(strstr(json, "\"power_low_w\""));
    assert_int_equal(strncmp(csv, "id,kernel,duration_s,power_w,power_low_w,power_high_w,energy_j,", 63), 0);
    size_t lines = 0;
    for (const char *at = csv; *at != '\0'; at++)
        lines += *at == '\n';
    assert_int_equal(lines, 1 + jm_estimate_count(estimate));
    assert_non_null(strstr(text, "and 12 kernels of less energy"));
    free(json);
    free(csv);
    free(text);
    jm_estimate_free(estimate);
}

/* ---- damage: a power with an interval around it, or why there is none, never 0 */

static uint64_t seed = 3;

static unsigned below(unsigned n)
{
    return chance_below(&seed, n);
}

static void check_kernels(const jm_estimate *estimate, size_t *told, size_t *unmarked)
{
    for (size_t i = 0; i < jm_estimate_count(estimate); i++) {
        const jm_estimated_kernel *k = jm_estimate_kernel(estimate, i);
        assert_true(isfinite(k->power_w) == (k->reason[0] == '\0'));
        ++*(isfinite(k->power_w) ? told : unmarked);
        if (!isfinite(k->power_w)) continue;
        assert_true(k->power_w > 100 && k->duration_s > 0 && k->energy_j > 0);
        assert_true(0 < k->power_low_w && k->power_low_w <= k->power_w && k->power_w <= k->power_high_w);
        assert_true(0 < k->energy_low_j && k->energy_low_j <= k->energy_j && k->energy_j <= k->energy_high_j);
    }
}

static void test_damaged_files_of_a_real_board_tell_powers_or_why_there_are_none(void **state)
{
    (void)state;
    static char whole[32768], text[32768];
    FILE *unzipped = popen("gzip -dc '" DATA "stencil.csv.gz' | head -5", "r");
    assert_non_null(unzipped);
    size_t size = fread(whole, 1, sizeof whole - 64, unzipped), refused = 0, told = 0, unmarked = 0;
    pclose(unzipped);
    assert_true(size > 1000);
    const size_t files = (size_t)proof_some(2000, 100);
    for (size_t i = 0; i < files; i++) {
        static const char *const inserts[] = {"\"", ",", "\n", "n/a", "-", "e9", "0", "9", "(", "Kbyte"};
        size_t length = size;
        memcpy(text, whole, size + 1);
        for (unsigned times = 1 + below(6); times > 0; times--) {
            unsigned at = below((unsigned)length - 40);
            const char *insert = inserts[below(10)];
            size_t cut = below(2) ? below(30) : 0;
            memmove(text + at, text + at + cut, length - at - cut + 1);
            length -= cut;
            memmove(text + at + strlen(insert), text + at, length - at + 1);
            memcpy(text + at, insert, strlen(insert));
            length += strlen(insert);
        }
        jm_estimate *estimate;
        const jm_estimate_options options = {.size = sizeof options, .csv = write_file(text)};
        jm_status status = jm_estimate_make(&estimate, &options, &err);
        refused += status != JM_OK;
        if (status != JM_OK) assert_true(err.text[0] != '\0');
        if (status == JM_OK) check_kernels(estimate, &told, &unmarked);
        jm_estimate_free(estimate);
    }
    unlink(temporary);
    print_message("%zu refused, %zu told, %zu untold\n", refused, told, unmarked);
    assert_true(refused > files / 10 && told > files / 2);
    if (proof_runs()) assert_true(unmarked > 0); /* few are */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs_that_no_model_has_seen_are_within_8_percent),
        cmocka_unit_test(test_the_boards_own_model_is_nearer_where_the_limit_holds),
        cmocka_unit_test(test_kernels_of_the_suite_are_told_within_8_percent_and_nine_of_ten_intervals_hold),
        cmocka_unit_test(test_intervals_of_the_shipped_model_hold_nine_of_ten_on_another_board),
        cmocka_unit_test(test_a_program_of_one_kernel_is_as_sure_as_the_kernel),
        cmocka_unit_test(test_zeros_and_random_numbers_of_one_matrix_product_both_lie_in_its_interval),
        cmocka_unit_test(test_kernels_on_the_details_page_are_told_within_10_percent),
        cmocka_unit_test(test_a_details_page_at_a_clock_that_ncu_set_has_a_model_without_the_clock),
        cmocka_unit_test(test_every_form_of_the_same_kernels_gives_rows_whose_intervals_meet),
        cmocka_unit_test(test_what_cannot_be_told_is_refused_with_its_cause),
        cmocka_unit_test(test_a_file_that_tells_no_chip_is_of_none_that_is_known),
        cmocka_unit_test(test_the_time_of_work_scales_with_the_clock_and_that_of_memory_does_not),
        cmocka_unit_test(test_what_no_board_can_draw_is_taken_at_a_lower_clock),
        cmocka_unit_test(test_another_clock_is_told_as_extrapolated_and_is_less_sure),
        cmocka_unit_test(test_another_board_of_the_chip_is_told_and_wider),
        cmocka_unit_test(test_what_if_on_another_board_comes_near_what_that_one_drew),
        cmocka_unit_test(test_emptied_caches_change_little),
        cmocka_unit_test(test_on_another_chip_of_the_family_ranges_hold_too),
        cmocka_unit_test(test_a_smaller_board_takes_longer_within_its_limit),
        cmocka_unit_test(test_gaps_are_idle_and_add_to_the_program),
        cmocka_unit_test(test_views_hold_all_rows_in_the_files_order),
        cmocka_unit_test(test_damaged_files_of_a_real_board_tell_powers_or_why_there_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
