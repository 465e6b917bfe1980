/* The base: errors, clocks, texts, vectors. */
#include "base/clock.h"
#include "base/map.h"
#include "base/options.h"
#include "base/order.h"
#include "base/search.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "chance.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
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
    int64_t error_ns = second.realtime_ns - first.realtime_ns + first.monotonic_ns - second.monotonic_ns;
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

static void test_a_map_holds_what_was_put_and_not_what_was_removed(void **state)
{
    (void)state;
    jm__map map = {.key_size = 16};
    uint64_t random = 1;
    enum { KEYS = 5000 };
    static int64_t truth[KEYS]; /* 0: not there */
    for (int i = 0; i < 200000; i++) {
        uint64_t drawn = chance_next(&random), at = (drawn >> 33) % KEYS, key[2] = {at, at * 7};
        if (drawn >> 63) {
            truth[at] = i + 1;
            assert_true(jm__map_put(&map, key, (jm__map_value){.id = i + 1}));
        } else {
            truth[at] = 0;
            jm__map_remove(&map, key);
        }
    }
    size_t count = 0;
    for (uint64_t at = 0; at < KEYS; at++) {
        uint64_t key[2] = {at, at * 7};
        const jm__map_value *found = jm__map_find(&map, key);
        assert_int_equal(found == NULL ? 0 : found->id, truth[at]);
        count += truth[at] != 0;
    }
    assert_int_equal(map.count, count);
    assert_true(count > KEYS / 4);
    jm__map_free(&map);
}

/* Two texts may be one key: what counts is what they point to. */
typedef struct place {
    const char *folder;
    const char *file;
} place;

static uint64_t place_hash(const void *key)
{
    const place *p = key;
    return jm__map_hash_bytes(jm__map_hash_bytes(0, p->folder, strlen(p->folder)), p->file, strlen(p->file));
}

static bool place_equal(const void *key, const void *another)
{
    const place *a = key, *b = another;
    return strcmp(a->folder, b->folder) == 0 && strcmp(a->file, b->file) == 0;
}

static void test_a_map_that_is_a_set_has_each_key_once(void **state)
{
    (void)state;
    jm__map set = {.key_size = sizeof(int64_t)};
    for (int64_t i = 0; i < 500; i++)
        assert_true(jm__map_add(&set, &(int64_t){i * i % 101}));
    assert_int_equal(set.count, 51); /* the squares modulo a prime */
    for (int64_t i = 0; i < 500; i++)
        assert_non_null(jm__map_find(&set, &(int64_t){i * i % 101}));
    assert_null(jm__map_find(&set, &(int64_t){2})); /* none of them, as 101 is 5 modulo 8 */
    jm__map_free(&set);
}

static void test_a_map_of_texts_goes_by_what_they_say(void **state)
{
    (void)state;
    enum { TEXTS = 20000 };
    static char texts[TEXTS][24];
    jm__map map = JM_MAP_OF_TEXTS;
    for (int i = 0; i < TEXTS; i++) {
        snprintf(texts[i], sizeof texts[i], "layers.%d.mlp", i);
        const char *key = texts[i];
        assert_true(jm__map_put(&map, &key, (jm__map_value){.id = i}));
    }
    for (int i = 0; i < TEXTS; i += 7) {
        char same[24];
        snprintf(same, sizeof same, "layers.%d.mlp", i);
        const char *key = same;
        const jm__map_value *found = jm__map_find(&map, &key);
        assert_non_null(found);
        assert_int_equal(found->id, i);
    }
    const char *absent = "layers.7.ml";
    assert_null(jm__map_find(&map, &absent));
    assert_int_equal(map.count, TEXTS);
    jm__map_free(&map);
}

static void test_a_map_numbers_the_items_of_an_array(void **state)
{
    (void)state;
    typedef struct tally {
        int64_t key, times;
    } tally;
    jm__map numbers = {.key_size = sizeof(int64_t)};
    JM_VEC(tally) items = {0};
    for (int64_t i = 0; i < 100; i++) {
        const tally first = {.key = i % 40};
        size_t at = jm__map_item(&numbers, &first.key, &items, &first);
        assert_int_equal(at, i % 40);
        items.items[at].times++;
    }
    assert_int_equal(items.count, 40);
    for (int64_t i = 0; i < 40; i++) {
        assert_int_equal(items.items[i].key, i);
        assert_int_equal(items.items[i].times, i < 20 ? 3 : 2);
    }
    jm__map_free(&numbers);
    jm__vec_free(&items);
}

static void test_a_map_takes_keys_of_several_texts(void **state)
{
    (void)state;
    jm__map map = {.key_size = sizeof(place), .hash = place_hash, .equal = place_equal};
    place first = {"a", "bc"}, second = {"ab", "c"}, other = {"a", "c"};
    assert_true(jm__map_put(&map, &first, (jm__map_value){.number = 0.5}));
    assert_true(jm__map_put(&map, &second, (jm__map_value){.number = 2.5}));
    char folder[] = "ab", file[] = "c"; /* other addresses */
    place again = {folder, file};
    assert_true(jm__map_find(&map, &first)->number == 0.5);
    assert_true(jm__map_find(&map, &again)->number == 2.5);
    assert_null(jm__map_find(&map, &other));
    jm__map_remove(&map, &again);
    assert_null(jm__map_find(&map, &second));
    assert_int_equal(map.count, 1);
    jm__map_free(&map);
}

static void test_a_search_finds_the_first_that_does_not_lie_before(void **state)
{
    (void)state;
    static const int64_t sorted[] = {-5, 0, 0, 3, 3, 3, 9};
    for (size_t count = 0; count <= sizeof sorted / sizeof *sorted; count++) {
        for (int64_t key = -7; key <= 11; key++) {
            size_t least = 0, past = 0, at; /* by counting */
            for (size_t i = 0; i < count; i++) {
                least += sorted[i] < key;
                past += sorted[i] <= key;
            }
            jm__search(at, count, sorted[at] < key);
            assert_int_equal(at, least);
            jm__search(at, count, sorted[at] <= key);
            assert_int_equal(at, past);
        }
    }
}

static void test_a_cut_text_keeps_whole_characters(void **state)
{
    (void)state;
    static const char text[] = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x94\xa5z"; /* 1, 2, 3, 4 and 1 bytes */
    static const size_t kept[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
    for (size_t most = 0; most < sizeof kept / sizeof *kept; most++)
        assert_int_equal(jm__utf8_cut(text, most), kept[most]);
}

static void test_a_printable_text_is_cut_between_characters_and_always_ends(void **state)
{
    (void)state;
    char out[8];
    assert_string_equal(jm_text_printable(out, sizeof out, "a\x1b[1m"), "a\xef\xbf\xbd[1m");
    assert_string_equal(jm_text_printable(out, sizeof out, "\xe2\x80\xae\xe2\x81\xa6"),
                        "\xef\xbf\xbd\xef\xbf\xbd");
    assert_string_equal(jm_text_printable(out, sizeof out, "\xe2\x80\xa6\xe2\x81\xa0"),
                        "\xe2\x80\xa6\xe2\x81\xa0");
    assert_string_equal(jm_text_printable(out, sizeof out, "aaaaaa\xc3\xa4"),
                        "aaaaaa"); /* 8 bytes and an end */
    assert_string_equal(jm_text_printable(out, sizeof out, "aaaaa\xc3\xa4"), "aaaaa\xc3\xa4");
    assert_string_equal(jm_text_printable(out, 1, "a"), "");
}

static void test_an_errno_becomes_the_status_that_says_what_to_do(void **state)
{
    (void)state;
    static const struct {
        int code;
        jm_status status;
    } known[] = {{EACCES, JM_NO_PERMISSION},
                 {EPERM, JM_NO_PERMISSION},
                 {EROFS, JM_NO_PERMISSION},
                 {ENOENT, JM_NOT_FOUND},
                 {ENOTDIR, JM_NOT_FOUND},
                 {ENOSPC, JM_DISK_FULL},
                 {EDQUOT, JM_DISK_FULL},
                 {EFBIG, JM_DISK_FULL},
                 {ENOMEM, JM_NO_MEMORY},
                 {EIO, JM_IO},
                 {0, JM_IO}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_int_equal(jm_status_of_errno(known[i].code), known[i].status);
}

/* What the library knows, and structs of callers who are older, or newer. */
typedef struct known_options {
    uint32_t size;
    int32_t by;
    int64_t board;
} known_options;

typedef struct newer_options {
    known_options known;
    int64_t wish;
} newer_options;

/* What qsort needs: without it, a figure that is missing leaves the others in any order. */
static void test_figures_of_which_some_are_missing_have_an_order(void **state)
{
    (void)state;
    static const double requested[] = {INFINITY, 7, 0.5, 0, -3, -INFINITY, NAN, NAN};
    enum { COUNT = sizeof requested / sizeof *requested };
    for (int i = 0; i < COUNT; i++)
        for (int k = 0; k < COUNT; k++) {
            int order = i == k || (isnan(requested[i]) && isnan(requested[k])) ? 0 : i < k ? -1 : 1;
            assert_int_equal(jm__largest_first(requested[i], requested[k]), order);
        }
}

static void test_options_of_an_older_caller_are_0_where_he_knew_nothing(void **state)
{
    (void)state;
    struct {
        uint32_t size;
        int32_t by;
    } older = {sizeof older, 3};
    known_options given = {.board = 77};
    assert_int_equal(jm__options_copy(&given, sizeof given, &older, "jm_x", NULL), JM_OK);
    assert_int_equal(given.size, sizeof given);
    assert_int_equal(given.by, 3);
    assert_int_equal(given.board, 0);
    given.board = 77;
    assert_int_equal(jm__options_copy(&given, sizeof given, NULL, "jm_x", NULL), JM_OK);
    assert_int_equal(given.board, 0);
}

static void test_options_of_a_newer_caller_pass_unless_they_ask_for_something_newer(void **state)
{
    (void)state;
    jm_error err;
    newer_options newer = {.known = {sizeof newer, 3, 5}};
    known_options given;
    assert_int_equal(jm__options_copy(&given, sizeof given, &newer, "jm_x", &err), JM_OK);
    assert_int_equal(given.size, sizeof given);
    assert_int_equal(given.by, 3);
    assert_int_equal(given.board, 5);
    newer.wish = INT64_C(1) << 56; /* the last byte alone */
    assert_int_equal(jm__options_copy(&given, sizeof given, &newer, "jm_x", &err), JM_USAGE);
    assert_non_null(strstr(err.text, "made for a newer joulemap"));
    assert_string_equal(err.call, "jm_x");
}

static void test_options_without_their_size_are_refused(void **state)
{
    (void)state;
    jm_error err;
    known_options given;
    for (uint32_t size = 0; size < sizeof size; size++) {
        known_options unset = {.size = size, .by = 1};
        assert_int_equal(jm__options_copy(&given, sizeof given, &unset, "jm_x", &err), JM_USAGE);
    }
    known_options garbage = {.size = UINT32_MAX}; /* nobody may read that far */
    assert_int_equal(jm__options_copy(&given, sizeof given, &garbage, "jm_x", &err), JM_USAGE);
    assert_non_null(strstr(err.text, "size"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_error_carries_cause_code_and_cure),
        cmocka_unit_test(test_every_status_has_a_name_and_an_exit_code),
        cmocka_unit_test(test_an_anchor_converts_realtime_within_microseconds),
        cmocka_unit_test(test_a_text_grows_and_is_handed_over),
        cmocka_unit_test(test_a_vector_keeps_what_was_pushed),
        cmocka_unit_test(test_a_map_holds_what_was_put_and_not_what_was_removed),
        cmocka_unit_test(test_a_map_that_is_a_set_has_each_key_once),
        cmocka_unit_test(test_a_map_of_texts_goes_by_what_they_say),
        cmocka_unit_test(test_a_map_numbers_the_items_of_an_array),
        cmocka_unit_test(test_a_map_takes_keys_of_several_texts),
        cmocka_unit_test(test_a_search_finds_the_first_that_does_not_lie_before),
        cmocka_unit_test(test_a_cut_text_keeps_whole_characters),
        cmocka_unit_test(test_options_of_an_older_caller_are_0_where_he_knew_nothing),
        cmocka_unit_test(test_options_of_a_newer_caller_pass_unless_they_ask_for_something_newer),
        cmocka_unit_test(test_options_without_their_size_are_refused),
        cmocka_unit_test(test_a_printable_text_is_cut_between_characters_and_always_ends),
        cmocka_unit_test(test_figures_of_which_some_are_missing_have_an_order),
        cmocka_unit_test(test_an_errno_becomes_the_status_that_says_what_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
