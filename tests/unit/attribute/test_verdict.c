/* The verdict on a report: the worst of its checks. */
#include "attribute/notes/quality.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *name;
    double fair, poor;
} checks[] = {
#define X(name, fair, poor, before, form, after) {#name, fair, poor},
    JM_CHECK_MAP(X)
#undef X
};

static jm__check_figures nothing_known(void)
{
    jm__check_figures facts = {0};
    for (jm__check check = 0; check < JM_CHECK_COUNT; check++)
        facts.figures[check] = NAN;
    return facts;
}

static jm__verdict verdict_on(const jm__check_figures *facts)
{
    jm__verdict verdict;
    assert_true(jm__verdict_find(&verdict, facts));
    assert_true(verdict.sentences.count >= 1);
    assert_null(verdict.sentences.items[verdict.sentences.count]);
    return verdict;
}

static void expect_grade(const jm__check_figures *facts, jm__grade grade)
{
    jm__verdict verdict = verdict_on(facts);
    assert_int_equal(verdict.grade, grade);
    jm__verdict_free(&verdict);
}

static void test_nothing_known_against_the_figures_is_good(void **state)
{
    (void)state;
    jm__check_figures facts = nothing_known();
    expect_grade(&facts, JM_GRADE_GOOD);
    for (jm__check check = 0; check < JM_CHECK_COUNT; check++)
        facts.figures[check] = 0;
    jm__verdict verdict = verdict_on(&facts);
    assert_int_equal(verdict.grade, JM_GRADE_GOOD);
    assert_int_equal(verdict.sentences.count, 1);
    assert_string_equal(verdict.sentences.items[0], "no check found anything against these figures");
    jm__verdict_free(&verdict);
}

static void test_each_check_decides_from_its_limits_on(void **state)
{
    (void)state;
    for (jm__check check = 0; check < JM_CHECK_COUNT; check++) {
        double fair = checks[check].fair, poor = checks[check].poor;
        jm__check_figures facts = nothing_known();
        assert_true(fair > 0 && poor >= fair);
        facts.figures[check] = 0.999 * fair;
        expect_grade(&facts, JM_GRADE_GOOD);
        facts.figures[check] = fair;
        expect_grade(&facts, poor > fair ? JM_GRADE_FAIR : JM_GRADE_POOR);
        facts.figures[check] = isinf(poor) ? 1e9 : 0.999 * poor;
        expect_grade(&facts, poor > fair ? JM_GRADE_FAIR : JM_GRADE_GOOD);
        if (isinf(poor)) continue;
        facts.figures[check] = poor;
        expect_grade(&facts, JM_GRADE_POOR);
    }
}

static void test_the_worst_is_the_reason_and_the_others_are_marked_too(void **state)
{
    (void)state;
    jm__check_figures facts = nothing_known();
    facts.total_is_measured = true;
    facts.figures[JM_CHECK_unseen] = 0.02;
    facts.figures[JM_CHECK_prediction] = 0.139;
    facts.figures[JM_CHECK_closure] = 0.08;
    facts.figures[JM_CHECK_throttled] = 0.99;
    jm__verdict verdict = verdict_on(&facts);
    static const char *const expected[] = {
        "the fit of the rest misses the mean power of an eighth of the run by 14 %: single parts are "
        "indicative, the total is sound",
        "the fit and the total are 8.0 % apart, more than 3 standard uncertainties: the parts do not add up "
        "to "
        "what was measured",
        "2.0 % of the energy is interpolated across gaps in the readings",
        "99 % of the time the GPU throttled: the same work may draw another power below its limit",
    };
    assert_int_equal(verdict.grade, JM_GRADE_POOR);
    assert_int_equal(verdict.sentences.count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < verdict.sentences.count; i++)
        assert_string_equal(verdict.sentences.items[i], expected[i]);
    jm__verdict_free(&verdict);
}

static void test_kernels_in_no_layer_are_marked_with_the_reason(void **state)
{
    (void)state;
    jm__check_figures facts = nothing_known();
    facts.figures[JM_CHECK_no_layer] = 0.063;
    facts.no_layer_why = "CUDA graphs";
    jm__verdict verdict = verdict_on(&facts);
    assert_string_equal(verdict.sentences.items[0],
                        "6.3 % of the kernels' energy is in no layer: CUDA graphs");
    jm__verdict_free(&verdict);
}

static void test_the_page_on_reports_lists_all_checks_with_their_limits(void **state)
{
    (void)state;
    char *page = calloc(1, 1 << 20);
    FILE *file = fopen(JM_SOURCE_DIR "/docs/report.md", "r");
    assert_non_null(page);
    assert_non_null(file);
    assert_true(fread(page, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    for (jm__check check = 0; check < JM_CHECK_COUNT; check++) {
        char line[128];
        double fair = checks[check].fair, poor = checks[check].poor;
        int used = snprintf(line, sizeof line, "| `%s` | %g |", checks[check].name, fair);
        if (isinf(poor))
            snprintf(line + used, sizeof line - (size_t)used, " never |");
        else
            snprintf(line + used, sizeof line - (size_t)used, " %g |", poor);
        if (strstr(page, line) == NULL) fail_msg("docs/report.md has no line %s", line);
    }
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_known_against_the_figures_is_good),
        cmocka_unit_test(test_each_check_decides_from_its_limits_on),
        cmocka_unit_test(test_the_worst_is_the_reason_and_the_others_are_marked_too),
        cmocka_unit_test(test_kernels_in_no_layer_are_marked_with_the_reason),
        cmocka_unit_test(test_the_page_on_reports_lists_all_checks_with_their_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
