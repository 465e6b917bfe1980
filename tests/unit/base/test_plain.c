/* In a locale with a decimal comma texts are read and written as ever. */
#include "base/plain.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char folder[] = "/tmp/joulemap-test-XXXXXX";
static char command[160];

/* German as Germany has it, whichever locales the machine has. */
static int make_locale(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
    int code = system(command);
    (void)code; /* where there is no localedef, the test is skipped */
    return setenv("LOCPATH", folder, 1);
}

static int remove_locale(void **state)
{
    (void)state;
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void test_numbers_have_a_point_in_any_locale(void **state)
{
    (void)state;
    char text[32], *end;
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL) skip();
    assert_int_equal(localeconv()->decimal_point[0], ',');
    assert_int_equal(jm__print(text, sizeof text, "%.2f %d", 0.5, 7), 6);
    assert_string_equal(text, "0.50 7");
    assert_true(jm__real_of("1.25 W", &end) == 1.25);
    assert_string_equal(end, " W");
    assert_string_equal(setlocale(LC_NUMERIC, NULL), "de_DE.UTF-8");
    snprintf(text, sizeof text, "%.1f", 0.5); /* the program's own are as it wants them */
    assert_string_equal(text, "0,5");
    setlocale(LC_ALL, "C");
}

static void test_letters_are_told_apart_in_ascii_alone(void **state)
{
    (void)state;
    assert_true(jm__equal_ignoring_case("MIG-1a", "mig-1A"));
    assert_false(jm__equal_ignoring_case("mig", "mig-"));
    assert_false(jm__equal_ignoring_case("mig-", "mig"));
    assert_false(jm__equal_ignoring_case("\xc3\x84", "\xc3\xa4"));
    assert_int_equal(jm__lower('I'), 'i');
    assert_int_equal(jm__lower('['), '[');
}

static void test_a_byte_order_mark_is_no_part_of_a_file(void **state)
{
    (void)state;
    static const char *const texts[][2] = {{"\xef\xbb\xbf{}", "{}"},
                                           {"{}", "{}"},
                                           {"\xef\xbb", "\xef\xbb"},
                                           {"abcd", "abcd"},
                                           {"\xff\xfe{", "\xff\xfe{"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char read[8] = "";
        FILE *file = tmpfile();
        assert_non_null(file);
        fputs(texts[i][0], file);
        rewind(file);
        assert_true(jm__skip_bom(file) == (texts[i][0][0] != '\xff')); /* that is UTF-16 */
        assert_int_equal(fread(read, 1, sizeof read - 1, file), strlen(texts[i][1]));
        assert_string_equal(read, texts[i][1]);
        fclose(file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_numbers_have_a_point_in_any_locale, make_locale, remove_locale),
        cmocka_unit_test(test_letters_are_told_apart_in_ascii_alone),
        cmocka_unit_test(test_a_byte_order_mark_is_no_part_of_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
