/* In a locale with a decimal comma texts are read and written as ever. */
#include "base/plain.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_numbers_have_a_point_in_any_locale(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[32], *end;
        if (setlocale(LC_ALL, names[i]) == NULL) continue; /* not every machine has it */
        const char *mine = setlocale(LC_NUMERIC, NULL);
        assert_int_equal(jm__print(text, sizeof text, "%.2f %d", 0.5, 7), 6);
        assert_string_equal(text, "0.50 7");
        assert_true(jm__real_of("1.25 W", &end) == 1.25);
        assert_string_equal(end, " W");
        assert_string_equal(setlocale(LC_NUMERIC, NULL), mine);
        snprintf(text, sizeof text, "%.1f", 0.5); /* the program's own are as it wants them */
        assert_string_equal(text + 2, "5");
        assert_true((text[1] == ',') == (localeconv()->decimal_point[0] == ','));
    }
    setlocale(LC_ALL, "C");
}

static void test_letters_are_told_apart_in_ascii_alone(void **state)
{
    (void)state;
    assert_true(jm__same_letters("MIG-1a", "mig-1A"));
    assert_false(jm__same_letters("mig", "mig-"));
    assert_false(jm__same_letters("mig-", "mig"));
    assert_false(jm__same_letters("\xc3\x84", "\xc3\xa4"));
    assert_int_equal(jm__lower('I'), 'i');
    assert_int_equal(jm__lower('['), '[');
}

static void test_a_byte_order_mark_is_no_part_of_a_file(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"\xef\xbb\xbf{}", "{}"}, {"{}", "{}"}, {"\xef\xbb", "\xef\xbb"}, {"abcd", "abcd"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char read[8] = "";
        FILE *file = tmpfile();
        assert_non_null(file);
        fputs(texts[i][0], file);
        rewind(file);
        jm__pass_mark(file);
        assert_int_equal(fread(read, 1, sizeof read - 1, file), strlen(texts[i][1]));
        assert_string_equal(read, texts[i][1]);
        fclose(file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_have_a_point_in_any_locale),
        cmocka_unit_test(test_letters_are_told_apart_in_ascii_alone),
        cmocka_unit_test(test_a_byte_order_mark_is_no_part_of_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
