/* Layers of a Llama in training on an H200 at its power limit, by the power sensor alone, against the same
 * layers in bursts (shared/data/h200-counters-llama). */
#include "attribute/report.h"
#include "base/csv.h"
#include "base/vec.h"
#include <joulemap/joulemap.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define DATA JM_SOURCE_DIR "/../shared/data/h200-counters-llama/"

enum { LAYERS = 6 };

/* The truth is of 1980 MHz, the run of 1830: with it goes the voltage, which is worth 5 %
 * (shared/attribution.md). */
static const double clock_worth = 0.05;

/* No layer may be further off than this, no interval of the block wider. */
static const double most_off = 0.15, block_half = 0.046;

typedef struct layer {
    char path[64];
    double truth_j;
    double energy_j, low_j, high_j; /* of all forward calls */
    JM_VEC(size_t) calls;           /* rows */
} layer;

static char folder[] = "/tmp/joulemap-test-XXXXXX";
static char path[64];

static int set_up(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/llama.joulemap", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static bool unpack(void)
{
    char command[512];
    snprintf(command, sizeof command, "xz -dc '%s' > '%s' 2> /dev/null", DATA "run.joulemap.xz", path);
    if (access(DATA "run.joulemap.xz", R_OK) == 0 && system(command) == 0) return true;
    print_message("%s is not here, or xz is not: nothing to compare with\n", DATA "run.joulemap.xz");
    return false;
}

static void read_truth(layer layers[LAYERS])
{
    jm__csv *csv = NULL;
    bool more;
    size_t name, energy, count = 0;
    assert_int_equal(jm__csv_open(&csv, DATA "truth.csv", NULL), JM_OK);
    assert_int_equal(jm__csv_column(csv, "path", &name, NULL), JM_OK);
    assert_int_equal(jm__csv_column(csv, "energy_mj", &energy, NULL), JM_OK);
    while (jm__csv_next(csv, &more, NULL) == JM_OK && more) {
        assert_true(count < LAYERS);
        layer *row = &layers[count++];
        *row = (layer){0};
        snprintf(row->path, sizeof row->path, "%s", jm__csv_text(csv, name));
        assert_int_equal(jm__csv_number(csv, energy, &row->truth_j, NULL), JM_OK);
        row->truth_j *= 1e-3;
    }
    assert_int_equal(count, LAYERS);
    jm__csv_close(csv);
}

/* The calls of a layer are one sum: what a call draws more than another is none of its error. */
static void add_calls(layer layers[LAYERS], const jm_report *report)
{
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        if (strcmp(row->kind, "forward") != 0) continue;
        for (size_t n = 0; n < LAYERS; n++)
            if (strcmp(row->path, layers[n].path) == 0) assert_true(jm__vec_push(&layers[n].calls, i));
    }
    for (size_t n = 0; n < LAYERS; n++) {
        jm_sum sum;
        assert_int_equal(jm_report_sum(report, layers[n].calls.items, layers[n].calls.count, &sum, NULL),
                         JM_OK);
        layers[n].energy_j = sum.energy_j;
        layers[n].low_j = sum.low_j;
        layers[n].high_j = sum.high_j;
    }
}

static void check(const layer *l)
{
    double calls = (double)l->calls.count, energy_j = l->energy_j / calls, low_j = l->low_j / calls,
           high_j = l->high_j / calls;
    double here_j = l->truth_j * (1 - clock_worth), half = (high_j - low_j) / 2 / energy_j;
    print_message(
        "%-32s %6.1f mJ +-%4.1f %%, truth at 1980 MHz %6.1f mJ (%+5.1f %%), here %6.1f mJ (%+5.1f %%)\n",
        l->path, 1e3 * energy_j, 100 * half, 1e3 * l->truth_j, 100 * (energy_j / l->truth_j - 1),
        1e3 * here_j, 100 * (energy_j / here_j - 1));
    assert_true(l->calls.count > 100);
    assert_true(fabs(energy_j / here_j - 1) <= most_off);
    assert_true(low_j <= l->truth_j &&
                high_j >= here_j); /* what the clock is worth is not known to a percent */
    if (strcmp(l->path, "model.layers.7") == 0) assert_true(half <= block_half);
}

static void test_layers_of_a_llama_in_training_draw_what_bursts_of_them_draw(void **state)
{
    (void)state;
    layer layers[LAYERS];
    jm_recording *recording = NULL;
    jm_report *report = NULL;
    jm_error err = {0};
    const jm_report_options options = {.size = sizeof options, .by = JM_BY_SPAN, .phase = "live"};
    if (!unpack()) skip();
    read_truth(layers);
    if (jm_recording_open(&recording, path, &err) != JM_OK) fail_msg("%s", err.text);
    if (jm_report_create(&report, recording, &options, &err) != JM_OK) fail_msg("%s", err.text);
    add_calls(layers, report);
    for (size_t n = 0; n < LAYERS; n++) {
        check(&layers[n]);
        jm__vec_free(&layers[n].calls);
    }
    jm_report_free(report);
    jm_recording_close(recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers_of_a_llama_in_training_draw_what_bursts_of_them_draw),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
