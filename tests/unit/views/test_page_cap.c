/* What the page shows of a search for a cap; what is not as expected is no search. */
#include "page/parts.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RELATIVE "\"relative\":{\"energy\":[1,2,3],\"edp\":[4,5,6],\"ed2p\":[7,8,9],\"time\":[1,1.5,2]}"

static const char searched[] =
    "{\"objective\":\"edp\",\"verdict\":\"better\",\"reference_cap_w\":700,\"chosen_cap_w\":450,\"more\":1,"
    "\"predicted\":{\"caps\":[{\"cap_w\":450," RELATIVE "},{\"cap_w\":700," RELATIVE ",\"more\":0}]},"
    "\"trials\":[{\"number\":1,\"stage\":\"probe\",\"cap_w\":700,\"time_s\":2,\"power_w\":600,\"more\":1}],"
    "\"proof\":{\"saving\":0.2,\"saving_low\":0.1,\"saving_high\":0.3,\"slowdown\":0.02,\"slowdown_low\":0."
    "01}}";

static const char shown[] =
    "{\"caps\":[{\"cap_w\":450,\"ed2p\":[7,8,9],\"edp\":[4,5,6],\"energy\":[1,2,3],\"time\":[1,1.5,2]},"
    "{\"cap_w\":700,\"ed2p\":[7,8,9],\"edp\":[4,5,6],\"energy\":[1,2,3],\"time\":[1,1.5,2]}],"
    "\"chosen_w\":450,\"objective\":\"edp\",\"reference_w\":700,\"saving\":[0.2,0.1,0.3],\"slowdown\":null,"
    "\"trials\":[{\"cap_w\":700,\"number\":1,\"power_w\":600,\"stage\":\"probe\",\"time_s\":2}],\"verdict\":"
    "\"better\"}";

/* As text; the caller frees it. */
static char *shown_of(json_t *search)
{
    assert_non_null(search);
    json_t *page = jm__page_cap_of(search);
    assert_non_null(page);
    char *text = json_dumps(page, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    json_decref(page);
    json_decref(search);
    return text;
}

static json_t *whole(void)
{
    return json_loads(searched, 0, NULL);
}

static void test_a_search_is_shown_with_what_the_page_needs(void **state)
{
    (void)state;
    char *text = shown_of(whole());
    assert_string_equal(text, shown);
    free(text);
}

/* Without a key, or with a text or a number in its place. */
static void expect_none(const char *path, const char *key)
{
    json_t *const others[] = {NULL, json_true(), json_array(), json_string("450"), json_real(3)};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        json_t *search = whole(), *at = search;
        if (strcmp(path, "caps") == 0)
            at = json_array_get(json_object_get(json_object_get(search, "predicted"), path), 1);
        if (strcmp(path, "relative") == 0)
            at = json_object_get(
                json_array_get(json_object_get(json_object_get(search, "predicted"), "caps"), 0), path);
        if (strcmp(path, "trials") == 0) at = json_array_get(json_object_get(search, path), 0);
        json_t *was = json_incref(json_object_get(at, key));
        assert_non_null(was);
        if (others[i] == NULL)
            json_object_del(at, key);
        else
            json_object_set(at, key, others[i]);
        bool alike = others[i] != NULL && (json_is_number(was) ? json_is_number(others[i])
                                                               : json_typeof(was) == json_typeof(others[i]) &&
                                                                     !json_is_array(was));
        json_decref(was);
        char *text = shown_of(search);
        if ((strcmp(text, "null") == 0) == alike) fail_msg("%s of %s, %zu: %s", key, path, i, text);
        free(text);
        json_decref(others[i]);
    }
}

static void test_what_lacks_something_is_no_search(void **state)
{
    (void)state;
    static const char *const of_all[] = {"objective",    "verdict",   "reference_cap_w",
                                         "chosen_cap_w", "predicted", "trials"};
    static const char *const of_trial[] = {"number", "stage", "cap_w", "time_s", "power_w"};
    static const char *const of_relative[] = {"energy", "edp", "ed2p", "time"};
    for (size_t i = 0; i < sizeof of_all / sizeof *of_all; i++)
        expect_none("", of_all[i]);
    for (size_t i = 0; i < sizeof of_trial / sizeof *of_trial; i++)
        expect_none("trials", of_trial[i]);
    for (size_t i = 0; i < sizeof of_relative / sizeof *of_relative; i++)
        expect_none("relative", of_relative[i]);
    expect_none("caps", "cap_w");
    expect_none("caps", "relative");
}

static void test_a_search_without_a_proof_shows_no_saving(void **state)
{
    (void)state;
    json_t *search = whole();
    json_object_del(search, "proof");
    char *text = shown_of(search);
    assert_non_null(strstr(text, "\"saving\":null,\"slowdown\":null"));
    free(text);
}

/* More trials than a search has, or figures of four numbers. */
static void test_what_is_too_much_is_no_search(void **state)
{
    (void)state;
    json_t *search = whole(), *trials = json_object_get(search, "trials");
    while (json_array_size(trials) < 512)
        json_array_append(trials, json_array_get(trials, 0));
    json_incref(search);
    char *text = shown_of(search);
    assert_string_not_equal(text, "null");
    free(text);
    json_array_append(trials, json_array_get(trials, 0));
    text = shown_of(search);
    assert_string_equal(text, "null");
    free(text);
    search = whole();
    json_t *cap = json_array_get(json_object_get(json_object_get(search, "predicted"), "caps"), 0);
    json_array_append_new(json_object_get(json_object_get(cap, "relative"), "time"), json_real(4));
    text = shown_of(search);
    assert_string_equal(text, "null");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_search_is_shown_with_what_the_page_needs),
        cmocka_unit_test(test_what_lacks_something_is_no_search),
        cmocka_unit_test(test_a_search_without_a_proof_shows_no_saving),
        cmocka_unit_test(test_what_is_too_much_is_no_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
