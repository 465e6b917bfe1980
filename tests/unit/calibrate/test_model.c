/* A board's model as a file: nothing of it is lost, nothing that is wrong is assumed, and it lies where it
 * is looked for. */
#include "base/embedded.h"
#include "base/status.h"
#include "dense.h"
#include "estimate/power.h"
#include "model/board_model.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

extern const jm__embedded jm__shipped_models[];

static char folder[] = "/tmp/joulemap-test-XXXXXX";
static char path[80];

static int set_up(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/model.json", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static void put(const char *text, size_t size)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* free() it */
static char *content(size_t *size)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = calloc(1, 1 << 20);
    *size = fread(text, 1, 1 << 20, file);
    fclose(file);
    return text;
}

/* ---- there and back */

/* Numbers of nine digits, as a file holds. */
static jm__board_model make(void)
{
    jm__board_model m;
    assert_int_equal(jm__model_init(&m, 2, NULL), JM_OK);
    assert_true(isnan(m.response.lag_ns) && isnan(m.response.width_ns) && isnan(m.noise_w) &&
                !jm__model_has_idle(&m));
    m.board = strdup("NVIDIA \"H200\" \xc3\xa9");
    m.uuid = strdup("GPU-1");
    m.driver = strdup("");
    m.date = strdup("2026-11-22");
    m.features[0] = (jm__feature){strdup("inst.sum"), 9.12832681e11, 61.3317233, 8.68752149e11};
    m.features[1] = (jm__feature){strdup("dram.pct"), 93.5, 0, 0};
    const double covariance[] = {4, -1.25, 0.5, -1.25, 9.00000001, 2e-7, 0.5, 2e-7, 123456789};
    memcpy(m.covariance, covariance, sizeof covariance);
    m.constant_w = 163.480474;
    m.clock_mhz = 1980;
    m.clock_exponent = 1.5;
    m.slots = 8447.83257;
    m.relative_u = 0.0803970681;
    m.family_u = 0.0451;
    m.gain_u = 0.03;
    m.residual_w = 14.8619536;
    m.response.lag_ns = 3544125.28;
    m.response.width_ns = 12419513.5;
    m.noise_w = 3.99210884;
    m.sampler_w = 34.5;
    m.sampler_u_w = 1.25;
    m.idle[JM_IDLE_20_MS] = (jm__model_idle){144.210345, 0.75, 31.5};
    m.idle[JM_IDLE_LONG] = (jm__model_idle){123.0625, 0.25, 6};
    m.kernels = calloc(2, sizeof *m.kernels);
    m.kernel_count = 2;
    m.kernels[0] =
        (jm__model_kernel){strdup("mm/bf16"), strdup("mm"), strdup("random"), 0.5, 901, 888.5, false};
    m.kernels[1] = (jm__model_kernel){strdup("mm/zeros"), strdup("mm"), strdup(""), 1.25, 475, 1003, true};
    return m;
}

static void assert_same_kernel(const jm__model_kernel *a, const jm__model_kernel *b)
{
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->family, b->family);
    assert_string_equal(a->data, b->data);
    assert_true(a->seconds == b->seconds && a->power_w == b->power_w && a->predicted_w == b->predicted_w);
    assert_int_equal(a->left_out, b->left_out);
}

static void assert_same(const jm__board_model *a, const jm__board_model *b)
{
    assert_string_equal(a->board, b->board);
    assert_string_equal(a->uuid, b->uuid);
    assert_string_equal(a->driver, b->driver);
    assert_string_equal(a->date, b->date);
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        const jm__feature *f = &a->features[i], *g = &b->features[i];
        assert_string_equal(f->metric, g->metric);
        assert_true(f->reference == g->reference && f->weight_w == g->weight_w && f->most == g->most);
    }
    for (size_t i = 0; i < (a->count + 1) * (a->count + 1); i++)
        assert_true(a->covariance[i] == b->covariance[i]);
    assert_true(a->constant_w == b->constant_w && a->clock_exponent == b->clock_exponent);
    assert_true(a->clock_mhz == b->clock_mhz || (isnan(a->clock_mhz) && isnan(b->clock_mhz)));
    assert_true(a->slots == b->slots && a->relative_u == b->relative_u && a->family_u == b->family_u);
    assert_true(a->gain_u == b->gain_u && a->residual_w == b->residual_w);
    assert_true(a->response.lag_ns == b->response.lag_ns ||
                (isnan(a->response.lag_ns) && isnan(b->response.lag_ns)));
    assert_true(a->response.width_ns == b->response.width_ns ||
                (isnan(a->response.width_ns) && isnan(b->response.width_ns)));
    assert_true(a->noise_w == b->noise_w || (isnan(a->noise_w) && isnan(b->noise_w)));
    assert_true(a->sampler_w == b->sampler_w || (isnan(a->sampler_w) && isnan(b->sampler_w)));
    assert_true(a->sampler_u_w == b->sampler_u_w || (isnan(a->sampler_u_w) && isnan(b->sampler_u_w)));
    for (int i = 0; i < JM_IDLE_STATES; i++) {
        const jm__model_idle *x = &a->idle[i], *y = &b->idle[i];
        assert_true(x->power_w == y->power_w && x->u_w == y->u_w && x->seconds == y->seconds);
    }
    assert_int_equal(a->kernel_count, b->kernel_count);
    for (size_t i = 0; i < a->kernel_count; i++)
        assert_same_kernel(&a->kernels[i], &b->kernels[i]);
    assert_int_equal(a->shipped, b->shipped);
}

static void check_there_and_back(const jm__board_model *model)
{
    jm__board_model back;
    jm_error err = {0};
    assert_int_equal(jm__model_write(model, path, &err), JM_OK);
    if (jm__model_read(&back, path, &err) != JM_OK) fail_msg("%s", err.text);
    assert_same(model, &back);
    jm__model_free(&back);
}

static void test_a_model_comes_back_as_it_was_written(void **state)
{
    (void)state;
    jm__board_model model = make();
    check_there_and_back(&model);
    model.clock_mhz = model.response.lag_ns = model.response.width_ns = model.noise_w = NAN; /* not known */
    model.sampler_w = model.sampler_u_w = NAN;
    memset(model.idle, 0, sizeof model.idle);
    check_there_and_back(&model);
    jm__model_free(&model);
}

/* More digits than a file holds: the nine of it, and never again another number. */
static void test_a_model_that_was_read_is_written_as_the_same_bytes(void **state)
{
    (void)state;
    jm__board_model model = make(), back;
    jm_error err = {0};
    size_t first_size, second_size;
    model.constant_w = 1000.0 / 7;
    model.covariance[1] = model.covariance[3] = -1.0 / 3;
    assert_int_equal(jm__model_write(&model, path, &err), JM_OK);
    char *first = content(&first_size);
    if (jm__model_read(&back, path, &err) != JM_OK) fail_msg("%s", err.text);
    assert_true(fabs(back.constant_w / model.constant_w - 1) < 1e-8);
    assert_int_equal(jm__model_write(&back, path, &err), JM_OK);
    char *second = content(&second_size);
    assert_int_equal(first_size, second_size);
    assert_memory_equal(first, second, first_size);
    free(first);
    free(second);
    jm__model_free(&model);
    jm__model_free(&back);
}

/* ---- what is wrong */

static json_t *whole_json(void)
{
    jm__board_model model = make();
    jm_error err = {0};
    assert_int_equal(jm__model_write(&model, path, &err), JM_OK);
    jm__model_free(&model);
    json_t *root = json_load_file(path, 0, NULL);
    assert_non_null(root);
    return root;
}

/* The value at KEY/KEY/... of `root`; numbers are places in arrays. `value` takes its place, NULL: it goes.
 */
static void change(json_t *root, const char *where, const char *value)
{
    char keys[128], *rest = keys, *key, *next;
    json_t *at = root, *now = value != NULL ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL;
    assert_true(value == NULL || now != NULL);
    snprintf(keys, sizeof keys, "%s", where);
    for (key = strsep(&rest, "/"); (next = strsep(&rest, "/")) != NULL; key = next)
        at = json_is_array(at) ? json_array_get(at, (size_t)atoi(key)) : json_object_get(at, key);
    assert_non_null(at);
    if (json_is_array(at) && now != NULL)
        assert_int_equal(json_array_set_new(at, (size_t)atoi(key), now), 0);
    else if (json_is_array(at))
        assert_int_equal(json_array_remove(at, (size_t)atoi(key)), 0);
    else if (now != NULL)
        assert_int_equal(json_object_set_new(at, key, now), 0);
    else
        assert_int_equal(json_object_del(at, key), 0);
}

static void expect_refused(const char *text, size_t size, const char *words)
{
    jm__board_model model;
    jm_error err = {0};
    put(text, size);
    assert_int_equal(jm__model_read(&model, path, &err), JM_BAD_DATA);
    if (strstr(err.text, words) == NULL || strstr(err.text, path) == NULL)
        fail_msg("\"%s\" is not in: %s", words, err.text);
    assert_int_equal(model.count, 0); /* nothing to free */
    assert_null(model.features);
    assert_int_equal(jm__model_parse(&model, text, size, path, &err), JM_BAD_DATA);
}

static void expect_changed_refused(const char *where, const char *value, const char *words)
{
    json_t *root = whole_json();
    change(root, where, value);
    char *text = json_dumps(root, 0);
    expect_refused(text, strlen(text), words);
    free(text);
    json_decref(root);
}

static void expect_changed_fine(const char *where, const char *value)
{
    jm__board_model model;
    jm_error err = {0};
    json_t *root = whole_json();
    change(root, where, value);
    char *text = json_dumps(root, 0);
    if (jm__model_parse(&model, text, strlen(text), "it", &err) != JM_OK) fail_msg("%s", err.text);
    jm__model_free(&model);
    free(text);
    json_decref(root);
}

/* The last of the keys, as it is quoted. */
static const char *named(const char *where)
{
    static char words[64];
    const char *slash = strrchr(where, '/');
    snprintf(words, sizeof words, "\"%s\"", slash != NULL ? slash + 1 : where);
    return words;
}

static void test_a_number_that_is_missing_or_none_is_named(void **state)
{
    (void)state;
    static const char *const numbers[] = {"version",
                                          "constant_w",
                                          "clock/exponent",
                                          "clock/slots",
                                          "errors/kernel",
                                          "errors/family",
                                          "errors/gain",
                                          "errors/residual_w",
                                          "features/0/most",
                                          "features/0/reference",
                                          "features/1/weight_w",
                                          "kernels/0/seconds",
                                          "kernels/0/power_w",
                                          "kernels/1/predicted_w",
                                          "idle/0/power_w",
                                          "idle/1/u_w",
                                          "idle/0/seconds"};
    static const char *const wrong[] = {NULL, "\"7\"", "null", "true", "[1]", "{}", "-1", "1e300"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++)
            expect_changed_refused(numbers[i], wrong[w], named(numbers[i]));
    expect_changed_refused("clock/exponent", "4.1", "\"exponent\"");
    expect_changed_refused("clock/reference_mhz", "0", "\"reference_mhz\"");
    expect_changed_refused("features/0/reference", "0", "\"reference\"");
    expect_changed_refused("features/0/reference", "1e-300", "\"reference\"");
}

static void test_numbers_that_need_not_be_known_must_be_numbers(void **state)
{
    (void)state;
    static const char *const numbers[] = {"clock/reference_mhz", "response/lag_ns", "response/width_ns",
                                          "noise_w"};
    static const char *const wrong[] = {"\"7\"", "true", "[1]", "-1", "1e300"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
            bool early = strcmp(numbers[i], "response/lag_ns") == 0 && strcmp(wrong[w], "-1") == 0;
            if (early) /* stamps may come before what they are of */
                expect_changed_fine(numbers[i], wrong[w]);
            else
                expect_changed_refused(numbers[i], wrong[w], named(numbers[i]));
        }
        expect_changed_fine(numbers[i], NULL);
        expect_changed_fine(numbers[i], "null");
    }
}

static void test_a_text_that_is_missing_or_none_is_named(void **state)
{
    (void)state;
    static const char *const texts[] = {"features/1/metric", "kernels/1/name"};
    static const char *const others[] = {"board",         "uuid", "driver", "date", "kernels/0/family",
                                         "kernels/0/data"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        expect_changed_refused(texts[i], NULL, named(texts[i]));
        expect_changed_refused(texts[i], "5", named(texts[i]));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        expect_changed_refused(others[i], "5", named(others[i]));
        expect_changed_fine(others[i], NULL);
    }
}

static void test_lists_and_groups_that_are_none_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *where, *value, *words;
    } cases[] = {
        {"features", NULL, "\"features\""},
        {"features", "[]", "\"features\""},
        {"features", "{}", "\"features\""},
        {"features", "\"x\"", "\"features\""},
        {"features/0", "5", "\"metric\""},
        {"features/0", NULL, "\"covariance\""},
        {"clock", NULL, "\"exponent\""},
        {"clock", "5", "\"exponent\""},
        {"errors", NULL, "\"kernel\""},
        {"errors", "[]", "\"kernel\""},
        {"response", "5", "\"response\""},
        {"kernels", "{}", "\"kernels\""},
        {"kernels", "\"x\"", "\"kernels\""},
        {"kernels/0", "5", "\"name\""},
        {"kernels/0/left_out", "1", "\"left_out\""},
        {"idle", "{}", "\"idle\""},
        {"idle", "\"x\"", "\"idle\""},
        {"idle/1", "5", "\"gap\""},
        {"format", NULL, "\"format\" is another"},
        {"format", "\"else\"", "\"format\" is another"},
        {"format", "5", "\"format\" is another"},
        {"version", "2", "newer joulemap"},
        {"version", "0", "\"version\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_changed_refused(cases[i].where, cases[i].value, cases[i].words);
    expect_changed_fine("response", NULL);
    expect_changed_fine("kernels", NULL);
    expect_changed_fine("kernels", "[]");
    expect_changed_fine("kernels/0/left_out", NULL);
    expect_changed_fine("something new", "5");
}

/* Rows and columns as many as weights and one, symmetric, and of a sum that no weights can make negative. */
/* A state is one of those that there are, and is told of once; its power is one that a board can draw, and
 * known to something. */
static void test_an_idle_state_that_is_none_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *where, *value, *words;
    } cases[] = {
        {"idle/0/gap", NULL, "\"gap\""},
        {"idle/0/gap", "\"\"", "\"gap\""},
        {"idle/0/gap", "20", "\"gap\""},
        {"idle/0/gap", "\"before the first work\"", "\"gap\""},
        {"idle/0/gap", "\"longer\"", "\"gap\""},
        {"idle/0/power_w", "1.1e5", "\"power_w\""},
        {"idle/0/u_w", "0", "\"u_w\""},
        {"idle/0/u_w", "1.1e5", "\"u_w\""},
        {"noise_w", "1.1e5", "\"noise_w\""},
        {"sampler", "3", "\"sampler\""},
        {"sampler", "{\"power_w\": 1.1e5, \"u_w\": 1}", "\"power_w\""},
        {"sampler", "{\"power_w\": -1, \"u_w\": 1}", "\"power_w\""},
        {"sampler", "{\"power_w\": 35}", "\"u_w\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_changed_refused(cases[i].where, cases[i].value, cases[i].words);
    expect_changed_fine("idle/0/gap", "\"under 50 us\"");
    expect_changed_fine("idle/0/gap", "\"under 1 ms\"");
    expect_changed_fine("idle/0", NULL);
    expect_changed_fine("idle", "[]");
    expect_changed_fine("idle", NULL); /* a file from before there were any */
}

static void test_a_covariance_that_is_none_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        NULL,
        "5",
        "[]",
        "[[1, 0], [0, 1]]",
        "[[1, 0, 0], [0, 1, 0]]",
        "[[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]",
        "[[1, 0, 0], [0, 1], [0, 0, 1]]",
        "[[1, 0, 0], [0, 1, 0], [0, 0, null]]",
        "[[1, 0, 0], [0, 1, 0], [0, 0, \"1\"]]",
        "[[1, 0, 0], [0, -1, 0], [0, 0, 1]]",
        "[[1, 0.5, 0], [0.4, 1, 0], [0, 0, 1]]",
        "[[1, 1.1, 0], [1.1, 1, 0], [0, 0, 1]]",
        "[[0, 1, 0], [1, 5, 0], [0, 0, 1]]",
        "[[1, -0.9, 0.9], [-0.9, 1, 0.9], [0.9, 0.9, 1]]", /* each two of them could be */
        "[[1e300, 0, 0], [0, 1, 0], [0, 0, 1]]",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_changed_refused("covariance", wrong[i], "\"covariance\"");
    expect_changed_fine("covariance", "[[0, 0, 0], [0, 0, 0], [0, 0, 0]]");
    expect_changed_fine("covariance", "[[1, 1, 1], [1, 1, 1], [1, 1, 1]]");
    expect_changed_fine("covariance", "[[1e8, -1e3, 0], [-1e3, 0.01, 0], [0, 0, 1e-12]]");
}

static void test_more_counters_than_a_board_has_are_refused(void **state)
{
    (void)state;
    json_t *root = whole_json(), *features = json_object_get(root, "features");
    while (json_array_size(features) <= JM_MODEL_FEATURES_MAX)
        json_array_append(features, json_array_get(features, 0));
    char *text = json_dumps(root, 0);
    expect_refused(text, strlen(text), "\"features\"");
    free(text);
    json_decref(root);
}

static void test_a_file_that_is_no_json_is_refused_by_its_line(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        " \n",
                                        "no JSON\n",
                                        "{\"format\": \"joulemap board model\",",
                                        "{\"constant_w\": NaN}",
                                        "{\"constant_w\": 1e999}",
                                        "{\"board\": \"\xff\xfe\"}",
                                        "{\"board\": \"a\\u0000b\"}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        expect_refused(texts[i], strlen(texts[i]), "line ");
    expect_refused("{}", 2, "\"format\" is another");
    expect_refused("[]", 2, "\"format\" is another");
    expect_refused("\xef\xbb\xbf{}", 5,
                   "\"format\" is another"); /* who edits it may leave a byte order mark */
    static char deep[100000];
    memset(deep, '[', sizeof deep);
    expect_refused(deep, sizeof deep, "line 1");
    static const char zeros[4096];
    expect_refused(zeros, sizeof zeros, "line 1");
}

/* What fills memory before it is found out to be none. */
static void test_a_file_of_any_size_is_not_read_into_memory(void **state)
{
    (void)state;
    jm__board_model model;
    jm_error err = {0};
    put("[", 1);
    assert_int_equal(truncate(path, INT64_C(65) << 20), 0);
    assert_int_equal(jm__model_read(&model, path, &err), JM_BAD_DATA);
    if (strstr(err.text, "larger than") == NULL) fail_msg("%s", err.text);
}

static void test_a_file_that_is_not_there_is_not_found(void **state)
{
    (void)state;
    jm__board_model model;
    jm_error err = {0};
    unlink(path);
    assert_int_equal(jm__model_read(&model, path, &err), JM_NOT_FOUND);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(jm__model_read(&model, folder, &err), JM_BAD_DATA);
}

/* ---- writing */

/* The old model stays, and nothing is left beside it. */
static void expect_not_written(const char *to, jm_status requested, const char *beside)
{
    jm_error err = {0};
    jm__board_model model = make();
    assert_int_equal(jm__model_write(&model, to, &err), requested);
    if (strstr(err.text, "cannot be written") == NULL) fail_msg("%s", err.text);
    assert_int_equal(access(beside, F_OK), -1);
    jm__model_free(&model);
}

static void test_a_write_that_fails_leaves_the_old_model(void **state)
{
    (void)state;
    char beside[160], other[128];
    static const char old[] = "the old one";
    size_t size;
    put(old, sizeof old);
    snprintf(beside, sizeof beside, "%s.new-%d", path, (int)getpid());
    assert_int_equal(symlink("/dev/full", beside), 0);
    expect_not_written(path, JM_DISK_FULL, beside);
    char *text = content(&size);
    assert_string_equal(text, old);
    free(text);
    snprintf(other, sizeof other, "%s/none/model.json", folder);
    snprintf(beside, sizeof beside, "%s.new-%d", other, (int)getpid());
    expect_not_written(other, JM_IO, beside);
    snprintf(other, sizeof other, "%s/folder", folder);
    snprintf(beside, sizeof beside, "%s.new-%d", other, (int)getpid());
    assert_int_equal(mkdir(other, 0777), 0);
    expect_not_written(other, JM_IO, beside);
    assert_int_equal(rmdir(other), 0);
}

static void test_a_path_that_is_too_long_is_not_cut(void **state)
{
    (void)state;
    static char longest[5000];
    jm_error err = {0};
    jm__board_model model = make();
    memset(longest, 'x', sizeof longest - 1);
    assert_int_equal(jm__model_write(&model, longest, &err), JM_USAGE);
    jm__model_free(&model);
}

/* ---- where it is kept */

static jm_board board_of(const char *uuid, const char *profile)
{
    jm_board board = {.name = "Board"};
    snprintf(board.uuid, sizeof board.uuid, "%s", uuid);
    snprintf(board.profile, sizeof board.profile, "%s", profile);
    return board;
}

static void set_homes(const char *data, const char *home)
{
    if (data != NULL)
        setenv("XDG_DATA_HOME", data, 1);
    else
        unsetenv("XDG_DATA_HOME");
    if (home != NULL)
        setenv("HOME", home, 1);
    else
        unsetenv("HOME");
}

static void test_models_lie_below_the_users_data_folder(void **state)
{
    (void)state;
    static const struct {
        const char *data, *home, *path;
    } cases[] = {{"/d", "/h", "/d/joulemap/models/GPU-1.json"},
                 {"/d", NULL, "/d/joulemap/models/GPU-1.json"},
                 {NULL, "/h", "/h/.local/share/joulemap/models/GPU-1.json"},
                 {"", "/h", "/h/.local/share/joulemap/models/GPU-1.json"},
                 {"relative", "/h", "/h/.local/share/joulemap/models/GPU-1.json"},
                 {NULL, NULL, NULL},
                 {"relative", "relative", NULL},
                 {NULL, "", NULL}};
    const jm_board board = board_of("GPU-1", "generic");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char said[256];
        jm_error err = {0};
        set_homes(cases[i].data, cases[i].home);
        jm_status status = jm__model_own_path(said, sizeof said, &board, &err);
        assert_int_equal(status, cases[i].path != NULL ? JM_OK : JM_NOT_FOUND);
        if (cases[i].path != NULL)
            assert_string_equal(said, cases[i].path);
        else
            assert_non_null(strstr(err.text, "neither XDG_DATA_HOME nor HOME"));
    }
    char small[20];
    set_homes("/d", NULL);
    assert_int_equal(jm__model_own_path(small, sizeof small, &board, NULL), JM_NOT_FOUND);
}

static void test_a_uuid_that_is_no_name_of_a_file_has_no_path(void **state)
{
    (void)state;
    static const char *const strange[] = {"",    "..",         ".",        "a/b", "../../etc/passwd",
                                          "a b", "GPU-1.json", "\xc3\xa9", "a\n"};
    set_homes("/d", NULL);
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        char said[256];
        jm_error err = {0};
        jm__board_model model;
        const jm_board board = board_of(strange[i], "generic");
        assert_int_equal(jm__model_own_path(said, sizeof said, &board, &err), JM_NOT_FOUND);
        assert_non_null(strstr(err.text, "Board has no UUID"));
        assert_int_equal(jm__model_own(&model, &board, &err), JM_OK);
        assert_int_equal(model.count, 0);
    }
}

static void test_folders_of_a_model_are_made_where_they_can_be(void **state)
{
    (void)state;
    char data[96], said[256], made[256];
    jm_error err = {0};
    const jm_board board = board_of("GPU-1", "generic");
    snprintf(data, sizeof data, "%s/new/data", folder);
    set_homes(data, NULL);
    for (int times = 0; times < 2; times++)
        assert_int_equal(jm__model_make_folder(said, sizeof said, &board, &err), JM_OK);
    snprintf(made, sizeof made, "%s/joulemap/models/GPU-1.json", data);
    assert_string_equal(said, made);
    *strrchr(made, '/') = '\0';
    struct stat facts;
    assert_int_equal(stat(made, &facts), 0);
    assert_true(S_ISDIR(facts.st_mode));
    put("a file", 6);
    set_homes(path, NULL); /* where a folder would have to be */
    assert_int_equal(jm__model_make_folder(said, sizeof said, &board, &err), JM_IO);
    assert_non_null(strstr(err.text, "cannot be made"));
}

static void test_a_board_has_its_own_model_and_the_one_of_its_kind(void **state)
{
    (void)state;
    char data[96], own[256];
    jm_error err = {0};
    jm__board_model model = make(), found;
    const jm_board board = board_of("GPU-2", "h100"), other = board_of("GPU-3", "h100"),
                   unknown = board_of("GPU-3", "generic");
    snprintf(data, sizeof data, "%s/own", folder);
    set_homes(data, NULL);
    assert_int_equal(jm__model_make_folder(own, sizeof own, &board, &err), JM_OK);
    assert_int_equal(jm__model_write(&model, own, &err), JM_OK);
    assert_int_equal(jm__model_own(&found, &board, &err), JM_OK);
    assert_same(&model, &found);
    jm__model_free(&found);
    assert_int_equal(jm__model_own(&found, &other, &err), JM_OK);
    assert_int_equal(found.count, 0);
    assert_int_equal(jm__model_shipped(&found, &other, &err), JM_OK);
    assert_true(found.shipped && found.count > 10);
    assert_non_null(strstr(found.board, "H100"));
    assert_true(found.gain_u == 0.05); /* it was learnt on another board */
    jm__model_free(&found);
    assert_int_equal(jm__model_shipped(&found, &unknown, &err), JM_OK);
    assert_int_equal(found.count, 0);
    FILE *file = fopen(own, "w");
    fclose(file);
    assert_int_equal(jm__model_own(&found, &board, &err), JM_BAD_DATA);
    assert_non_null(strstr(err.text, own));
    jm__model_free(&model);
}

/* ---- those that come with joulemap */

/* In units of their standard deviations, no sum of weights has a variance below zero, but for the digits. */
static void assert_covariance(const jm__board_model *m)
{
    size_t n = m->count + 1;
    double *matrix = calloc(n * n, sizeof *matrix), *values = calloc(n, sizeof *values);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double scale = sqrt(m->covariance[i * n + i] * m->covariance[j * n + j]);
            assert_true(m->covariance[i * n + j] == m->covariance[j * n + i]);
            assert_true(scale > 0 || m->covariance[i * n + j] == 0);
            matrix[i * n + j] = scale > 0 ? m->covariance[i * n + j] / scale : 0;
        }
    assert_int_equal(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'U', (lapack_int)n, matrix, (lapack_int)n, values),
                     0);
    for (size_t i = 0; i < n; i++)
        assert_true(values[i] > -1e-7);
    free(matrix);
    free(values);
}

/* What a board of 700 W can be. */
static void assert_sensible(const jm__board_model *m)
{
    double most_w = m->constant_w;
    assert_true(m->constant_w > 80 && m->constant_w < 250);
    for (size_t i = 0; i < m->count; i++) {
        const jm__feature *f = &m->features[i];
        assert_true(f->most > 0 && f->most <= 1.001 * f->reference);
        assert_true(f->weight_w < 700);
        most_w += f->weight_w;
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(f->metric, m->features[k].metric);
    }
    assert_true(most_w > 700);
    assert_true(m->relative_u > 0.02 && m->relative_u < 0.2);
    assert_true(m->family_u < 0.3 && m->residual_w > 1 && m->residual_w < 40);
    assert_true(m->clock_mhz > 1500 && m->clock_mhz < 2200);
    assert_true(m->clock_exponent >= 0 && m->clock_exponent <= 3);
    assert_true(m->slots > 132 * 64 * 0.97 && m->slots < 132 * 64 * 1.03);
    if (jm__is_details(m->features[0].metric)) return; /* learnt from watts, not from readings */
    assert_true(m->response.lag_ns > 1e6 && m->response.lag_ns < 8e6 && m->response.width_ns > 5e6 &&
                m->response.width_ns < 30e6);
}

static void assert_kernels_told(const jm__board_model *m)
{
    size_t near = 0, told = 0;
    assert_true(m->kernel_count > (jm__is_details(m->features[0].metric) ? 90 : 100));
    for (size_t i = 0; i < m->kernel_count; i++) {
        const jm__model_kernel *k = &m->kernels[i];
        assert_true(k->power_w > 60 && k->power_w < 1200 && k->seconds > 0.05);
        bool constant = strstr(k->data, "zeros") != NULL || strstr(k->data, "constant") != NULL;
        assert_true(!constant || k->left_out);
        if (k->left_out) continue;
        told++;
        near += fabs(k->predicted_w / k->power_w - 1) < 2 * hypot(m->relative_u, m->family_u);
    }
    assert_true((double)near > 0.9 * (double)told);
}

static void test_the_models_that_come_with_joulemap_can_be_assumed(void **state)
{
    (void)state;
    size_t count = 0;
    for (const jm__embedded *known = jm__shipped_models; known->name != NULL; known++, count++) {
        jm__board_model model;
        jm_error err = {0};
        if (jm__model_parse(&model, known->text, known->length, known->name, &err) != JM_OK)
            fail_msg("%s", err.text);
        print_message("%s: %zu counters, %zu kernels\n", known->name, model.count, model.kernel_count);
        assert_true(strcmp(known->name, "h100") == 0 || strcmp(known->name, "h200") == 0 ||
                    strcmp(known->name, "h200_details") == 0 ||
                    strcmp(known->name, "h200_details_base") == 0);
        assert_covariance(&model);
        assert_sensible(&model);
        assert_kernels_told(&model);
        check_there_and_back(&model);
        jm__model_free(&model);
    }
    assert_int_equal(count, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_model_comes_back_as_it_was_written),
        cmocka_unit_test(test_a_model_that_was_read_is_written_as_the_same_bytes),
        cmocka_unit_test(test_a_number_that_is_missing_or_none_is_named),
        cmocka_unit_test(test_numbers_that_need_not_be_known_must_be_numbers),
        cmocka_unit_test(test_a_text_that_is_missing_or_none_is_named),
        cmocka_unit_test(test_lists_and_groups_that_are_none_are_named),
        cmocka_unit_test(test_an_idle_state_that_is_none_is_refused),
        cmocka_unit_test(test_a_covariance_that_is_none_is_refused),
        cmocka_unit_test(test_more_counters_than_a_board_has_are_refused),
        cmocka_unit_test(test_a_file_that_is_no_json_is_refused_by_its_line),
        cmocka_unit_test(test_a_file_of_any_size_is_not_read_into_memory),
        cmocka_unit_test(test_a_file_that_is_not_there_is_not_found),
        cmocka_unit_test(test_a_write_that_fails_leaves_the_old_model),
        cmocka_unit_test(test_a_path_that_is_too_long_is_not_cut),
        cmocka_unit_test(test_models_lie_below_the_users_data_folder),
        cmocka_unit_test(test_a_uuid_that_is_no_name_of_a_file_has_no_path),
        cmocka_unit_test(test_folders_of_a_model_are_made_where_they_can_be),
        cmocka_unit_test(test_a_board_has_its_own_model_and_the_one_of_its_kind),
        cmocka_unit_test(test_the_models_that_come_with_joulemap_can_be_assumed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
