/* A recording of, and a report on, twice as much takes about twice as much, whatever there is much of. `make
 * bench` has the figures at full size (bench_grown). */
#include "grown_report.h"
#include "proof.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { KERNELS = 2000, RUNS = 3 };

/* Twice is the promise; a machine that is busy with others may say 2.6. What is quadratic says 4. */
static const double most_growth = 2.6;
static const double idle_s = 0.03, idle_mb = 8; /* of a report on next to nothing, which is not doubled */

static const char *self; /* this program */

typedef struct growth {
    grown_kind kind;
    size_t count;
    const char *by;
    bool json;
} growth;

static bool grew_too_much(const grown_cost *once, const grown_cost *twice)
{
    return twice->cpu_s > most_growth * once->cpu_s + idle_s ||
           twice->memory_mb > most_growth * once->memory_mb + idle_mb;
}

static void check_growth(const growth *g)
{
    char folder[] = "/tmp/joulemap-scale-XXXXXX", paths[2][64];
    assert_non_null(mkdtemp(folder));
    grown_cost costs[2] = {0};
    const size_t count = proof_runs() ? g->count : g->count / 2;
    for (size_t i = 0; i < 2; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%zu.joulemap", folder, i);
        assert_true(grown_write_apart(paths[i], g->kind, count << i, KERNELS));
        assert_int_equal(grown_report(paths[i], g->by, g->json, 1, &costs[i]), 0);
    }
    for (size_t i = 0; i < 2 && grew_too_much(&costs[0], &costs[1]); i++)
        assert_int_equal(grown_report(paths[i], g->by, g->json, RUNS, &costs[i]), 0);
    for (size_t i = 0; i < 2; i++)
        unlink(paths[i]);
    rmdir(folder);
    if (grew_too_much(&costs[0], &costs[1]))
        fail_msg("by %s: %zu take %.2f s and %.0f MB, twice as many %.2f s and %.0f MB", g->by, count,
                 costs[0].cpu_s, costs[0].memory_mb, costs[1].cpu_s, costs[1].memory_mb);
}

static void losses_grow_as_they_are_many(void **state)
{
    (void)state;
    check_growth(&(growth){GROWN_LOSSES, 10000, "layer", false});
}

static void classes_grow_as_they_are_many(void **state)
{
    (void)state;
    check_growth(&(growth){GROWN_CLASSES, 4000, "kernel", true});
    check_growth(&(growth){GROWN_SHAPELESS, 4000, "kernel", false});
}

static void names_grow_as_they_are_many(void **state)
{
    (void)state;
    check_growth(&(growth){GROWN_MARKS, 30000, "layer", false});
    check_growth(&(growth){GROWN_LAYERS, 5000, "layer", false});
}

static void ranges_inside_each_other_grow_as_they_are_many(void **state)
{
    (void)state;
    static const char *const views[] = {"layer", "type", "phase", "span"};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        check_growth(&(growth){GROWN_RANGES, 4000, views[i], false});
    check_growth(&(growth){GROWN_RANGES, 4000, "layer", true});
}

static void calls_inside_each_other_grow_as_they_are_many(void **state)
{
    (void)state;
    check_growth(&(growth){GROWN_CALLS, 5000, "layer", false});
}

static void phases_inside_each_other_grow_as_they_are_many(void **state)
{
    (void)state;
    check_growth(&(growth){GROWN_PHASES, 3000, "phase", false});
    check_growth(&(growth){GROWN_PHASES, 5000, "type", false});
}

/* Each is measured by itself. */
static void phases_after_each_other_grow_as_they_are_many(void **state)
{
    (void)state;
    check_growth(&(growth){GROWN_REQUESTS, 8000, "phase", false});
}

/* Rows are written out one by one. (What a sanitizer keeps of freed memory would count.) */
static void json_needs_little_more_memory_than_the_table(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
    char path[] = "/tmp/joulemap-json-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    assert_true(grown_write_apart(path, GROWN_LAYERS, 20000, KERNELS));
    grown_cost table, json;
    int status = grown_report(path, "layer", false, 1, &table) | grown_report(path, "layer", true, 1, &json);
    unlink(path);
    assert_int_equal(status, 0);
    if (json.memory_mb > 2 * table.memory_mb)
        fail_msg("a table takes %.0f MB, JSON %.0f MB", table.memory_mb, json.memory_mb);
}

/* ---- recording: this program is the one that is recorded, too */

static int be_recorded(const char *how, long count)
{
    jm_span_id *open = calloc((size_t)count + 1, sizeof *open);
    if (open == NULL) return 1;
    for (long i = 0; i < count; i++) {
        char text[32];
        snprintf(text, sizeof text, "name %ld", i);
        open[i] = jm_span_begin(JM_SPAN_NVTX, jm_name_intern(text), 0, 0);
        if (strcmp(how, "apart") == 0) jm_span_end(open[i]);
    }
    for (long i = count; i-- > 0 && strcmp(how, "nested") == 0;)
        jm_span_end(open[i]);
    free(open);
    return 0;
}

/* Names are many in both; in the one, ranges lie inside each other. */
static void check_recording(const char *how)
{
    enum { RANGES = 12000 }; /* twice as many fit into a ring, whatever else the machine does */
    char path[] = "/tmp/joulemap-grown-XXXXXX", count[2][16];
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    grown_cost costs[2] = {{INFINITY, INFINITY}, {INFINITY, INFINITY}};
    for (int run = 0; run == 0 || (run < RUNS && grew_too_much(&costs[0], &costs[1])); run++) {
        for (int i = 0; i < 2; i++) {
            grown_cost once = {0};
            snprintf(count[i], sizeof count[i], "%d", RANGES << i);
            const char *const words[GROWN_WORDS] = {"joulemap", "record", "-f", "-o", path,    "--sim",
                                                    "h200",     "--",     self, how,  count[i]};
            assert_int_equal(grown_run(words, &once), 0);
            costs[i].cpu_s = fmin(costs[i].cpu_s, once.cpu_s);
            costs[i].memory_mb = fmin(costs[i].memory_mb, once.memory_mb);
        }
    }
    unlink(path);
    if (grew_too_much(&costs[0], &costs[1]))
        fail_msg("%s: %s take %.2f s and %.0f MB, %s %.2f s and %.0f MB", how, count[0], costs[0].cpu_s,
                 costs[0].memory_mb, count[1], costs[1].cpu_s, costs[1].memory_mb);
}

static void recording_grows_as_names_are_many(void **state)
{
    (void)state;
    check_recording("apart");
}

static void recording_grows_as_ranges_inside_each_other_are_many(void **state)
{
    (void)state;
    check_recording("nested");
}

/* As many as the recorder takes: no walk may need stack for each. */
static void ranges_as_deep_as_the_recorder_takes_are_reported(void **state)
{
    (void)state;
    enum { DEEPEST = 1 << 18 };
    char path[] = "/tmp/joulemap-deep-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    assert_true(grown_write_apart(path, GROWN_RANGES_ALONE, DEEPEST, 0));
    grown_cost cost;
    int status = grown_report(path, "layer", false, 1, &cost);
    unlink(path);
    assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
    if (argc == 3) return be_recorded(argv[1], atol(argv[2]));
    self = argv[0];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_grow_as_they_are_many),
        cmocka_unit_test(classes_grow_as_they_are_many),
        cmocka_unit_test(names_grow_as_they_are_many),
        cmocka_unit_test(ranges_inside_each_other_grow_as_they_are_many),
        cmocka_unit_test(calls_inside_each_other_grow_as_they_are_many),
        cmocka_unit_test(phases_inside_each_other_grow_as_they_are_many),
        cmocka_unit_test(phases_after_each_other_grow_as_they_are_many),
        cmocka_unit_test(json_needs_little_more_memory_than_the_table),
        cmocka_unit_test(recording_grows_as_names_are_many),
        cmocka_unit_test(recording_grows_as_ranges_inside_each_other_are_many),
        cmocka_unit_test(ranges_as_deep_as_the_recorder_takes_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
