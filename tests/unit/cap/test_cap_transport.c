/* What a holder of a lease and its helper say to each other: every request and answer, and what is none. */
#include "base/clock.h"
#include "base/status.h"
#include "cap/lease/transport.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* As it goes over the wire, and what is read of it. */
static void test_a_request_says_what_is_asked(void **state)
{
    (void)state;
    static const struct {
        jm__request request;
        const char *text;
    } cases[] = {
        {{.kind = JM_REQUEST_TAKE, .uuid = "G", .who = "me", .for_ns = 7, .detached = true, .pid = 9},
         "{\"take\": {\"board\": \"G\", \"who\": \"me\", \"for_ns\": 7, \"detached\": true, \"pid\": 9}}"},
        {{.kind = JM_REQUEST_TAKE, .index = 3, .pid = INT32_MAX},
         "{\"take\": {\"board\": 3, \"who\": \"\", \"for_ns\": 0, \"detached\": false, \"pid\": "
         "2147483647}}"},
        {{.kind = JM_REQUEST_SET, .number = 400.5}, "{\"set_w\": 400.5}"},
        {{.kind = JM_REQUEST_SET, .number = 1e-3}, "{\"set_w\": 0.001}"},
        {{.kind = JM_REQUEST_CLOCK}, "{\"clock_mhz\": 0.0}"},
        {{.kind = JM_REQUEST_END}, "{\"end\": true}"},
        {{.kind = JM_REQUEST_RESTORE, .uuid = "GPU-1"}, "{\"restore\": \"GPU-1\"}"},
        {{.kind = JM_REQUEST_RESET, .uuid = "GPU-2"}, "{\"reset\": \"GPU-2\"}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *object = jm__request_json(&cases[i].request);
        char *text = json_dumps(object, 0);
        jm__request read;
        jm_error err = {0};
        assert_string_equal(text, cases[i].text);
        if (jm__request_read(&read, object, &err) != JM_OK) fail_msg("%s", err.text);
        assert_memory_equal(&read, &cases[i].request, sizeof read);
        free(text);
        json_decref(object);
    }
}

static void test_what_is_no_request_is_refused_with_its_cause(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{}", "a request has one member"},
        {"{\"end\": true, \"set_w\": 5}", "a request has one member"},
        {"{\"end\": false}", "a request is none of take, set_w, clock_mhz, end, restore, reset"},
        {"{\"restore\": \"\"}", "a request is none of take, set_w, clock_mhz, end, restore, reset"},
        {"{\"set_w\": 0}", "\"set_w\" is not a number of watts above 0"},
        {"{\"set_w\": \"400\"}", "\"set_w\" is not a number of watts above 0"},
        {"{\"clock_mhz\": -1}", "\"clock_mhz\" is not a number of MHz from 0 on"},
        {"{\"take\": {\"pid\": 1}}", "\"take\" names no board"},
        {"{\"take\": {\"board\": -1, \"pid\": 1}}", "\"take\" names no board"},
        {"{\"take\": {\"board\": 2147483647, \"pid\": 1}}", "\"take\" names no board"},
        {"{\"take\": {\"board\": 0}}", "\"take\" names no holder"},
        {"{\"take\": {\"board\": 0, \"pid\": 2147483648}}", "\"take\" names no holder"},
        {"{\"take\": {\"board\": 0, \"pid\": 1, \"for_ns\": -1}}", "\"for_ns\" is not between 0 and a year"},
        {"{\"take\": {\"board\": 0, \"pid\": 1, \"for_ns\": 1.5}}", "\"for_ns\" is not between 0 and a year"},
        {"{\"take\": {\"board\": 0, \"pid\": 1, \"for_ns\": 31622400000000001}}",
         "\"for_ns\" is not between 0 and a year"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *object = json_loads(cases[i][0], 0, NULL);
        jm__request read;
        jm_error err = {0};
        assert_non_null(object);
        assert_int_equal(jm__request_read(&read, object, &err), JM_BAD_DATA);
        assert_string_equal(err.text, cases[i][1]);
        assert_int_equal(err.code, 0);
        json_decref(object);
    }
}

static void test_an_answer_is_a_board_an_error_or_the_end(void **state)
{
    (void)state;
    jm_cap_board board = {.index = 2,
                          .uuid = "GPU-2",
                          .name = "NVIDIA H200",
                          .simulated = true,
                          .cap_w = 650,
                          .enforced_w = 640,
                          .default_w = 700,
                          .low_w = 200,
                          .high_w = NAN,
                          .may_set = "you are not root"},
                 read;
    json_t *answer = jm__answer_board(&board);
    jm__answer_board_read(&read, answer);
    assert_true(isnan(read.high_w));
    read.high_w = board.high_w = 0;
    assert_memory_equal(&read, &board, sizeof read);
    jm_error told = {0}, err = {0};
    assert_int_equal(jm__answer_status(answer, &err), JM_OK);
    json_decref(answer);

    jm__fail(&told, JM_NO_PERMISSION, 5, "call", "it may not");
    jm__hint(&told, JM_NO_PERMISSION, "become root");
    answer = jm__answer_fault(&told);
    assert_int_equal(jm__answer_status(answer, &err), JM_NO_PERMISSION);
    assert_string_equal(err.text, "it may not");
    assert_string_equal(err.hint, "become root");
    assert_int_equal(err.code, 0);
    json_object_set_new(answer, "status", json_string("NO_SUCH"));
    assert_int_equal(jm__answer_status(answer, &err), JM_INTERNAL);
    json_decref(answer);
    bool back = false;
    answer = json_pack("{s:s, s:b}", "over", "killed", "back", 1);
    assert_int_equal(jm__answer_status(answer, &err), JM_BAD_DATA);
    assert_string_equal(err.text, "the answer is none");
    assert_string_equal(jm__answer_over(answer, &back), "killed");
    assert_true(back);
    json_decref(answer);
    answer = jm__answer_ok();
    assert_int_equal(jm__answer_status(answer, &err), JM_OK);
    assert_null(jm__answer_over(answer, &back));
    assert_false(back);
    json_decref(answer);
}

static void test_a_rule_pins_watts_from_the_lower_to_the_higher(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",      "300",      "300:",    ":600",   "600:300",
                                        "0:600", "300:600w", "300:inf", "300,600"};
    double low_w, high_w;
    assert_true(jm__within_read("300:600.5", &low_w, &high_w));
    assert_true(low_w == 300 && high_w == 600.5);
    assert_true(jm__within_read("300:300", &low_w, &high_w));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (jm__within_read(wrong[i], &low_w, &high_w)) fail_msg("%s", wrong[i]);
}

/* Lines come in pieces and several at once; what is none ends all. */
static void test_objects_are_lines_however_they_come(void **state)
{
    (void)state;
    int ends[2];
    json_t *object = NULL;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    jm__transport here = {.fd = ends[0]}, there = {.fd = ends[1]};
    assert_int_equal(jm__transport_receive(&here, &object, 0), JM_TRANSPORT_LATE);
    assert_int_equal(jm__transport_send(&there, jm__answer_ok(), jm__now_ns() + JM_NS_PER_S),
                     JM_TRANSPORT_LINE);
    assert_int_equal(jm__transport_send(&there, json_pack("{s:i}", "set_w", 5), jm__now_ns() + JM_NS_PER_S),
                     JM_TRANSPORT_LINE);
    assert_int_equal(write(ends[1], "{\"end\":", 7), 7);
    static const char *const keys[] = {"ok", "set_w", "end"};
    for (size_t i = 0; i < 3; i++) {
        if (i == 2) {
            assert_int_equal(jm__transport_receive(&here, &object, jm__now_ns() + JM_NS_PER_MS),
                             JM_TRANSPORT_LATE);
            assert_int_equal(write(ends[1], " true}\n[1]\n", 11), 11);
        }
        assert_int_equal(jm__transport_receive(&here, &object, 0), JM_TRANSPORT_LINE);
        assert_int_equal(json_object_size(object), 1);
        assert_non_null(json_object_get(object, keys[i]));
        json_decref(object);
    }
    assert_int_equal(jm__transport_receive(&here, &object, 0), JM_TRANSPORT_GARBAGE);
    close(ends[1]);
    here.count = 0;
    assert_int_equal(jm__transport_receive(&here, &object, jm__now_ns() + JM_NS_PER_S), JM_TRANSPORT_CLOSED);
    assert_int_equal(jm__transport_send(&here, NULL, 0), JM_TRANSPORT_GARBAGE);
    assert_int_equal(jm__transport_send(&here, jm__answer_ok(), jm__now_ns() + JM_NS_PER_S),
                     JM_TRANSPORT_CLOSED);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_request_says_what_is_asked),
        cmocka_unit_test(test_what_is_no_request_is_refused_with_its_cause),
        cmocka_unit_test(test_an_answer_is_a_board_an_error_or_the_end),
        cmocka_unit_test(test_a_rule_pins_watts_from_the_lower_to_the_higher),
        cmocka_unit_test(test_objects_are_lines_however_they_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
