/* Texts for people: UTF-8, C++ names, figures with units. */
#include "base/demangle.h"
#include "base/utf8.h"
#include "report/format.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ELLIPSIS    "\xe2\x80\xa6"
#define REPLACEMENT "\xef\xbf\xbd"

static void check_clean(const char *given, bool printable, const char *requested)
{
    jm__strbuf out = {0};
    jm__utf8_add(&out, given, printable);
    char *text = jm__strbuf_take(&out);
    assert_string_equal(text, requested);
    free(text);
}

static void check_wrapped(const char *given, const char *requested)
{
    jm__strbuf out = {0};
    jm__wrap(&out, "", 0, given, 16);
    char *text = jm__strbuf_take(&out);
    assert_string_equal(text, requested);
    free(text);
}

static void test_a_figure_stays_with_its_unit(void **state)
{
    (void)state;
    check_wrapped("in all 1234567 W, least", "in all\n1234567 W, least\n");
    check_wrapped("it takes 12.5 \302\2610.3 kJ.", "it takes\n12.5 \302\2610.3 kJ.\n");
    check_wrapped("so warm, a 61.4 \302\260C", "so warm, a\n61.4 \302\260C\n");
    check_wrapped("of sensors, all \302\2618 %", "of sensors, all\n\302\2618 %\n");
    check_wrapped("the sum is 12345 joules", "the sum is 12345\njoules\n");
    check_wrapped("1 2 3 4 5 6 7 8 9 10", "1 2 3 4 5 6 7 8\n9 10\n");
}

static void test_bytes_that_are_not_utf8_are_replaced(void **state)
{
    (void)state;
    check_clean("plain \xc2\xb1 \xe2\x82\xac \xf0\x9f\x94\xa5", false,
                "plain \xc2\xb1 \xe2\x82\xac \xf0\x9f\x94\xa5");
    check_clean("\xc3", false, REPLACEMENT);                                 /* cut short */
    check_clean("\xc0\xaf", false, REPLACEMENT REPLACEMENT);                 /* longer than need be */
    check_clean("\xed\xa0\x80", false, REPLACEMENT REPLACEMENT REPLACEMENT); /* half of a pair */
    check_clean("\xf4\x90\x80\x80x", false, REPLACEMENT REPLACEMENT REPLACEMENT REPLACEMENT "x");
    check_clean("a\tb\033[1m\xc2\x9b", false, "a\tb\033[1m\xc2\x9b");
    check_clean("a\tb\033[1m\xc2\x9b", true, "a" REPLACEMENT "b" REPLACEMENT "[1m" REPLACEMENT);
}

static void test_cut_keeps_both_ends_and_whole_characters(void **state)
{
    (void)state;
    const char *text = "\xc3\xa4\xc3\xb6\xc3\xbc"
                       "bcdefghij";
    for (size_t columns = 0; columns <= 14; columns++) {
        jm__strbuf out = {0};
        jm__utf8_add_cut(&out, text, columns);
        char *cut = jm__strbuf_take(&out);
        assert_int_equal(jm__utf8_columns(cut), columns < 12 ? columns : 12);
        for (const char *c = cut; *c != '\0'; c += jm__utf8_character(c))
            assert_true(jm__utf8_character(c) > 0);
        if (columns >= 4 && columns < 12) {
            assert_non_null(strstr(cut, ELLIPSIS));
            assert_int_equal(strncmp(cut, text, 2), 0);
            assert_int_equal(cut[strlen(cut) - 1], 'j');
        }
        free(cut);
    }
}

static void test_mangled_names_become_readable(void **state)
{
    (void)state;
    char *name;
    assert_true(jm__demangle(&name, "_ZN2at6native18elementwise_kernelILi128ELi4EfEEvi"));
    assert_non_null(name);
    assert_string_equal(name, "void at::native::elementwise_kernel<128, 4, float>(int)");
    free(name);
    assert_true(jm__demangle(&name, "ampere_sgemm_128x64_nn"));
    assert_null(name);
    assert_true(jm__demangle(&name, "_Zbroken"));
    assert_null(name);
}

static void check_short(const char *name, jm__brevity brevity, const char *requested)
{
    jm__strbuf out = {0};
    jm__strbuf_add(&out, "x: "); /* only what is added changes */
    jm__kernel_name_add(&out, name, brevity);
    char *text = jm__strbuf_take(&out);
    assert_string_equal(text + 3, requested);
    free(text);
}

static void test_kernel_names_lose_first_what_says_least(void **state)
{
    (void)state;
    const char *name = "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, c10::BFloat16, "
                       "at::native::(anonymous namespace)::Epilogue>(float*, int (*)(int))";
    assert_true(jm__is_cpp_name(name));
    assert_false(jm__is_cpp_name("Linear(768, 3072)"));
    assert_false(jm__is_cpp_name("blocks.0.attn"));
    check_short(name, JM_BREVITY_SIGNATURE,
                "at::native::(anonymous namespace)::cunn_SoftMaxForward<4, c10::BFloat16, "
                "at::native::(anonymous namespace)::Epilogue>");
    check_short(name, JM_BREVITY_NAMESPACES, "cunn_SoftMaxForward<4, BFloat16, Epilogue>");
    check_short("f<4, Gelu<float>, std::array<char*, Two<2ul> > >", JM_BREVITY_INNER,
                "f<4, Gelu<>, array<> >");
    check_short(name, JM_BREVITY_TEMPLATES, "cunn_SoftMaxForward<>");
    check_short("a::Sum<int>::run(int)", JM_BREVITY_NAMESPACES, "Sum<int>::run");
    check_short("::global::f", JM_BREVITY_NAMESPACES, "::f");
    check_short("at::(anonymous namespace)", JM_BREVITY_SIGNATURE, "at::(anonymous namespace)");
    check_short("f(unbalanced))", JM_BREVITY_SIGNATURE, "f(unbalanced))");
    check_short("", JM_BREVITY_TEMPLATES, "");
}

static void test_what_is_cut_out_of_a_kernel_name_tells_least(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t columns;
        const char *requested;
    } cases[] = {
        {"vectorized_elementwise_kernel<4, GeluFunctor<>, array<> >", 30,
         "vectori" ELLIPSIS "rnel<4, GeluFunctor<>" ELLIPSIS},
        {"vectorized_elementwise_kernel<4>", 20, "vectorized" ELLIPSIS "kernel<4>"},
        {"short<4, GeluFunctor<>, array<> >", 20, "short<4, GeluFuncto" ELLIPSIS},
        {"fits<4>", 20, "fits<4>"},
        {"no_arguments_at_all_here", 10, "no_arg" ELLIPSIS "ere"},
        {"<strange>", 5, "<str" ELLIPSIS},
        {"x<y>", 0, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        jm__strbuf out = {0};
        jm__kernel_name_add_cut(&out, cases[i].name, cases[i].columns);
        char *text = jm__strbuf_take(&out);
        assert_true(jm__utf8_columns(text) <= cases[i].columns);
        assert_string_equal(text, cases[i].requested);
        free(text);
    }
}

static void check_energy(double energy_j, double low_j, double high_j, const char *requested)
{
    char text[JM_CELL];
    jm__format_energy(text, energy_j, low_j, high_j);
    assert_string_equal(text, requested);
}

static void test_energy_has_the_digits_that_are_known(void **state)
{
    (void)state;
    check_energy(12345, 12035, 12655,
                 "12.35 \xc2\xb1"
                 "0.31 kJ");
    check_energy(920, 876, 964,
                 "920 \xc2\xb1"
                 "44 J");
    check_energy(5021, 5020.1, 5021.9,
                 "5.02100 \xc2\xb1"
                 "0.00090 kJ");
    check_energy(0.00123, NAN, NAN, "1.230 mJ");
    check_energy(0, NAN, NAN, "0 J");
    check_energy(0, 0, 0, "0 J");
    check_energy(0, 0, 3,
                 "0.0 \xc2\xb1"
                 "1.5 J");
    check_energy(-0.006, -19, 19,
                 "0 \xc2\xb1"
                 "19 J");
    check_energy(-3, NAN, NAN, "-3.000 J");
    check_energy(999.96, NAN, NAN, "1.000 kJ");
    check_energy(3, 3, 3,
                 "3.000 \xc2\xb1"
                 "0.000 J");
    check_energy(NAN, 1, 2, "-");
    check_energy(INFINITY, NAN, NAN, "-");
    check_energy(1e-9, NAN, NAN, "0.001000 uJ");
}

static void test_figures_choose_a_unit_that_fits(void **state)
{
    (void)state;
    char text[JM_CELL];
    static const struct {
        void (*format)(char *, double);
        double value;
        const char *requested;
    } cases[] = {
        {jm__format_power, 612.4, "612 W"},
        {jm__format_power, 28.66, "28.7 W"},
        {jm__format_power, 0.0105, "10.5 mW"},
        {jm__format_power, 2500, "2.50 kW"},
        {jm__format_power, NAN, "-"},
        {jm__format_power, 0, "0 W"},
        {jm__format_time, 0.00000123, "1.23 us"},
        {jm__format_time, 0.9999, "1.00 s"},
        {jm__format_time, 4000, "4000 s"},
        {jm__format_share, 0.1234, "12.3 %"},
        {jm__format_share, NAN, "-"},
        {jm__format_share, -0.0001, "0.0 %"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cases[i].format(text, cases[i].value);
        assert_string_equal(text, cases[i].requested);
    }
    static const struct {
        int64_t count;
        const char *requested;
    } counts[] = {
        {0, "0"}, {99999, "99999"}, {123456, "123k"}, {999999, "1.00M"}, {INT64_C(1230000000000), "1230G"}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        jm__format_count(text, counts[i].count);
        assert_string_equal(text, counts[i].requested);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_figure_stays_with_its_unit),
        cmocka_unit_test(test_bytes_that_are_not_utf8_are_replaced),
        cmocka_unit_test(test_cut_keeps_both_ends_and_whole_characters),
        cmocka_unit_test(test_mangled_names_become_readable),
        cmocka_unit_test(test_kernel_names_lose_first_what_says_least),
        cmocka_unit_test(test_what_is_cut_out_of_a_kernel_name_tells_least),
        cmocka_unit_test(test_energy_has_the_digits_that_are_known),
        cmocka_unit_test(test_figures_choose_a_unit_that_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
