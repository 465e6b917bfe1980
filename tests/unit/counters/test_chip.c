/* The lists of counters, and which of them are taken where not all can be. */
#include "record/counters/chip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static jm__chip chip;

static void load(const char *name)
{
    jm_error err = {0};
    if (jm__chip_load(&chip, name, &err) != JM_OK) fail_msg("%s", err.text);
}

static void test_every_list_loads_and_names_no_counter_twice(void **state)
{
    (void)state;
    size_t count = 0;
    for (const jm__embedded *data = jm__chip_table; data->name != NULL; data++)
        count++;
    assert_true(count >= 3);
    static const char *const chips[] = {"GH100", "GA100", ""};
    for (size_t c = 0; c < 3; c++) {
        load(chips[c]);
        assert_string_equal(chip.name, chips[c]);
        assert_true(chip.metric_count > 10);
        for (size_t i = 0; i < chip.metric_count; i++) {
            bool percent = strstr(chip.metrics[i].name, ".pct") != NULL;
            bool slots = strstr(chip.metrics[i].name, "tpc__warps_") != NULL;
            assert_string_equal(chip.metrics[i].unit, percent ? "%" : slots ? "slot-cycle" : "count");
            for (size_t k = 0; k < i; k++)
                assert_string_not_equal(chip.metrics[i].name, chip.metrics[k].name);
        }
    }
}

static void test_a_chip_without_a_list_gets_the_one_for_all(void **state)
{
    (void)state;
    load("GX999");
    assert_string_equal(chip.name, "");
}

static void test_a_chip_that_counts_no_time_counts_cycles(void **state)
{
    (void)state;
    load("GA100");
    assert_true(chip.interval_ns == 0 && chip.interval_cycles > 0);
    load("GH100");
    assert_true(chip.interval_ns == 1000000 && chip.interval_cycles == 0);
}

/* What a CUPTI could say of counters called "a", "b", ... */
typedef struct oracle {
    const char *unknown; /* letters */
    const char *apart;   /* two letters that do not go together */
    size_t most;
    int queried;
} oracle;

static bool fit(void *context, const char *const *names, size_t count)
{
    oracle *o = context;
    bool apart[2] = {false, false};
    o->queried++;
    for (size_t i = 0; i < count; i++) {
        if (strchr(o->unknown, names[i][0]) != NULL) return false;
        for (int k = 0; k < 2; k++)
            apart[k] = apart[k] || names[i][0] == o->apart[k];
    }
    return count > 0 && count <= o->most && !(apart[0] && apart[1]);
}

/* Groups are written "ab cd": what is chosen of them. */
static void check(const char *groups, oracle o, const char *expected)
{
    char chosen[64] = "";
    chip = (jm__chip){.interval_ns = 1};
    size_t group = 0;
    for (const char *at = groups; *at != '\0'; at++) {
        if (*at == ' ') {
            group++;
            continue;
        }
        chip.metrics[chip.metric_count].name[0] = *at;
        chip.metrics[chip.metric_count++].group = group;
    }
    size_t count = jm__chip_choose(&chip, fit, &o);
    for (size_t i = 0; i < chip.metric_count; i++)
        chosen[i] = chip.metrics[i].name[0];
    assert_string_equal(chosen, expected);
    assert_int_equal(count, strlen(expected));
    assert_true(o.queried <= 1 + (int)strlen(groups) + (int)group + 1);
}

static void test_all_are_taken_that_fit_together_the_first_before_the_later(void **state)
{
    (void)state;
    check("abc de", (oracle){"", "??", 100, 0}, "abcde");
    check("abc de", (oracle){"", "??", 4, 0}, "abcd");
    check("abc de", (oracle){"", "??", 3, 0}, "abc");
    check("abc de", (oracle){"b", "??", 100, 0}, "acde");
    check("abc de", (oracle){"", "ae", 100, 0}, "abcd");
    check("abc de", (oracle){"ab", "cd", 1, 0}, "c");
    check("a b c", (oracle){"a", "bc", 100, 0}, "b");
    check("abc de", (oracle){"abcde", "??", 100, 0}, "");
}

/* Slots of warps that are in use, and those that are not, make the clock: one of them alone is a count. */
static void test_slots_tell_the_clock_only_where_all_are_sampled(void **state)
{
    (void)state;
    static const struct {
        const char *unknown, *units;
    } cases[] = {{"", "cssc"}, {"a", "ssc"}, {"b", "ccc"}, {"c", "ccc"}, {"bc", "cc"}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        oracle o = {cases[n].unknown, "??", 100, 0};
        char units[8] = "";
        chip = (jm__chip){.interval_ns = 1, .metric_count = 4};
        for (size_t i = 0; i < 4; i++) {
            jm__metric *metric = &chip.metrics[i];
            metric->name[0] = (char)('a' + i);
            snprintf(metric->unit, sizeof metric->unit, i == 1 || i == 2 ? "slot-cycle" : "count");
        }
        jm__chip_choose(&chip, fit, &o);
        for (size_t i = 0; i < chip.metric_count; i++)
            units[i] = chip.metrics[i].unit[0];
        assert_string_equal(units, cases[n].units);
    }
}

static void test_the_unit_of_a_listed_metric_depends_on_what_is_beside_it(void **state)
{
    (void)state;
    static const char *const slots[] = {"TPC.TriageCompute.tpc__warps_active_realtime.sum", "else",
                                        "TPC.TriageCompute.tpc__warps_inactive_sm_active_realtime.sum",
                                        "TPC.TriageCompute.tpc__warps_inactive_sm_idle_realtime.sum"};
    assert_string_equal(jm__metric_unit(slots[0], slots, 4), "slot-cycle");
    assert_string_equal(jm__metric_unit(slots[0], slots, 3), "count");
    assert_string_equal(jm__metric_unit(slots[3], slots + 1, 3), "count");
    assert_null(jm__metric_unit("else", slots, 4));
    static const char *const others[] = {
        "FBSP.TriageCompute.dramc__read_throughput.avg.pct_of_peak_sustained_elapsed",
        "TPC.TriageCompute.sm__cycles_active.sum"};
    assert_string_equal(jm__metric_unit(others[0], others, 2), "%");
    assert_string_equal(jm__metric_unit(others[1], others, 2), "count");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_list_loads_and_names_no_counter_twice),
        cmocka_unit_test(test_a_chip_without_a_list_gets_the_one_for_all),
        cmocka_unit_test(test_a_chip_that_counts_no_time_counts_cycles),
        cmocka_unit_test(test_all_are_taken_that_fit_together_the_first_before_the_later),
        cmocka_unit_test(test_slots_tell_the_clock_only_where_all_are_sampled),
        cmocka_unit_test(test_the_unit_of_a_listed_metric_depends_on_what_is_beside_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
