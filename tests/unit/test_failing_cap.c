/* Memory that runs out while a sweep is replayed: an error, or the search as it is. */
#include "failing_each.h"

#include <joulemap/cap.h>
#include <unistd.h>

static char path[] = "/tmp/joulemap-test-sweep-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    static const char sweep[] = "cap_w,time_s,power_w\n100,3,95\n200,2,180\n300,1.9,250\n";
    int file = mkstemp(path);
    assert_true(file >= 0 && write(file, sweep, sizeof sweep - 1) == (ssize_t)sizeof sweep - 1);
    return close(file);
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

typedef struct told {
    char *text, *json;
} told;

static jm_status work(void *context, jm_error *err)
{
    const jm_cap_plan_options options = {.size = sizeof options, .objective = JM_CAP_ED2P, .most_probes = 2};
    told *t = context;
    jm_cap_search *search;
    *t = (told){0};
    jm_status status = jm_cap_replay(&search, path, &options, err);
    if (status != JM_OK) return status;
    status = jm_cap_search_text(search, 80, &t->text, err);
    if (status == JM_OK) status = jm_cap_search_json(search, &t->json, err);
    jm_cap_search_free(search);
    if (status != JM_OK) free(t->text);
    return status;
}

static char *tell(void *context)
{
    const told *t = context;
    char *all = NULL;
    return asprintf(&all, "%s%s", t->text, t->json) >= 0 ? all : NULL;
}

static void drop(void *context)
{
    told *t = context;
    free(t->text);
    free(t->json);
}

static void test_a_replay_without_memory_is_an_error_or_the_same(void **state)
{
    (void)state;
    told t;
    const failing_trial trial = {"replay", &t, work, tell, drop, failing_for_memory};
    failing_each_of(&trial, FAILING_MEMORY, failing_some(FAILING_MEMORY, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_replay_without_memory_is_an_error_or_the_same)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
