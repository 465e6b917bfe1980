/* The base: errors, clocks, texts, vectors. */
#include "base/clock.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_an_error_carries_cause_code_and_cure(void **state)
{
    (void)state;
    jm_error err;
    assert_int_equal(jm__fail(&err, JM_DISK_FULL, 28, "write", "no room for %d bytes in %s", 7, "x"),
                     JM_DISK_FULL);
    assert_string_equal(err.text, "no room for 7 bytes in x");
    assert_string_equal(err.call, "write");
    assert_int_equal(err.code, 28);
    assert_string_equal(err.hint, jm_status_hint(JM_DISK_FULL));
    assert_int_equal(jm__hint(&err, JM_DISK_FULL, "buy a disk"), JM_DISK_FULL);
    assert_string_equal(err.hint, "buy a disk");
    assert_int_equal(jm__fail(NULL, JM_IO, 0, NULL, "nobody listens"), JM_IO);
}

static void test_every_status_has_a_name_and_an_exit_code(void **state)
{
    (void)state;
    for (int status = 1; status < JM_STATUS_COUNT; status++) {
        assert_true(strlen(jm_status_name((jm_status)status)) > 0);
        assert_in_range(jm_status_exit_code((jm_status)status), 1, 255);
    }
    assert_string_equal(jm_status_name((jm_status)999), "INTERNAL");
}

static void test_an_anchor_converts_realtime_within_microseconds(void **state)
{
    (void)state;
    jm__anchor first = jm__anchor_take();
    jm__sleep_ns(5 * JM_NS_PER_MS);
    jm__anchor second = jm__anchor_take();
    int64_t error_ns = jm__anchor_convert(&first, second.realtime_ns) - second.monotonic_ns;
    assert_true(error_ns > -200 * JM_NS_PER_US && error_ns < 200 * JM_NS_PER_US);
    assert_true(second.monotonic_ns - first.monotonic_ns >= 5 * JM_NS_PER_MS);
}

static void test_a_text_grows_and_is_handed_over(void **state)
{
    (void)state;
    jm__strbuf buffer = {0};
    for (int i = 0; i < 1000; i++)
        jm__strbuf_format(&buffer, "%03d,", i);
    assert_int_equal(buffer.length, 4000);
    char *text = jm__strbuf_take(&buffer);
    assert_memory_equal(text + 3996, "999,", 5);
    free(text);
    text = jm__strbuf_take(&buffer);
    assert_string_equal(text, "");
    free(text);
}

static void test_a_vector_keeps_what_was_pushed(void **state)
{
    (void)state;
    JM_VEC(int) numbers = {0};
    for (int i = 0; i < 1000; i++)
        assert_true(jm__vec_push(&numbers, i));
    assert_int_equal(numbers.count, 1000);
    assert_int_equal(numbers.items[999], 999);
    jm__vec_free(&numbers);
    assert_null(numbers.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_error_carries_cause_code_and_cure),
        cmocka_unit_test(test_every_status_has_a_name_and_an_exit_code),
        cmocka_unit_test(test_an_anchor_converts_realtime_within_microseconds),
        cmocka_unit_test(test_a_text_grows_and_is_handed_over),
        cmocka_unit_test(test_a_vector_keeps_what_was_pushed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
