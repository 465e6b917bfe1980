/* The path of an error, as a build with JM_TRACE_ERRORS shows it: this test is one, whatever the library is.
 */
#include "base/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MADE_AT = __LINE__ + 4 };

static jm_status read_page(int page, jm_error *err)
{
    return page < 3 ? JM_OK : jm__fail(err, JM_BAD_DATA, page, "read", "page %d is torn", page);
}

static jm_status read_table(jm_error *err)
{
    JM_TRY(read_page(1, err));
    JM_TRY(read_page(7, err));
    return JM_OK;
}

static jm_status open_file(jm_error *err)
{
    JM_TRY(read_table(err));
    return JM_OK;
}

/* What a call writes to stderr. */
static void capture(jm_status (*call)(jm_error *err), jm_error *err, jm_status *status, char *text,
                    size_t size)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stderr);
    int before = dup(STDERR_FILENO);
    assert_true(before >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    *status = call(err);
    fflush(stderr);
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

static void test_an_error_shows_where_it_was_made_and_who_passed_it_on(void **state)
{
    (void)state;
    char text[2048];
    jm_error err = {0};
    jm_status status;
    capture(open_file, &err, &status, text, sizeof text);
    assert_int_equal(status, JM_BAD_DATA);
    assert_string_equal(err.text, "page 7 is torn");
    char first[256];
    snprintf(first, sizeof first, "error path: %s:%d: read_page: BAD_DATA: made here\n", __FILE__, MADE_AT);
    assert_memory_equal(text, first, strlen(first));
    const char *second = strchr(text, '\n') + 1, *third = strchr(second, '\n') + 1;
    assert_non_null(strstr(second, ": read_table: BAD_DATA: read_page(7, err)\n"));
    assert_non_null(strstr(third, ": open_file: BAD_DATA: read_table(err)\n"));
    assert_string_equal(strchr(third, '\n'), "\n"); /* and nothing else */
}

static jm_status fail_without_memory(jm_error *err)
{
    return jm__no_memory(err, "test");
}

static void test_memory_that_is_out_is_shown_where_it_was_missed(void **state)
{
    (void)state;
    char text[2048];
    jm_error err = {0};
    jm_status status;
    capture(fail_without_memory, &err, &status, text, sizeof text);
    assert_int_equal(status, JM_NO_MEMORY);
    assert_non_null(strstr(text, ": fail_without_memory: NO_MEMORY: made here\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_error_shows_where_it_was_made_and_who_passed_it_on),
        cmocka_unit_test(test_memory_that_is_out_is_shown_where_it_was_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
