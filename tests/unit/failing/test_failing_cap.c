/* Memory that runs out while a sweep is replayed, or a search asks and is told: an error, or the search as it
 * is. */
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

static jm_status print(jm_cap_search *search, told *t, jm_error *err)
{
    jm_status status = jm_cap_search_text(search, 80, &t->text, err);
    if (status == JM_OK) status = jm_cap_search_json(search, &t->json, err);
    if (status != JM_OK) free(t->text);
    return status;
}

static jm_status work(void *context, jm_error *err)
{
    const jm_cap_plan_options options = {.size = sizeof options, .objective = JM_CAP_ED2P, .most_probes = 2};
    told *t = context;
    jm_cap_search *search;
    *t = (told){0};
    jm_status status = jm_cap_replay(&search, path, &options, err);
    if (status != JM_OK) return status;
    status = print(search, t, err);
    jm_cap_search_free(search);
    return status;
}

/* A window of work that draws what it may and slows down with the clock. */
static jm_cap_probe window_of(const jm_cap_trial *trial)
{
    double clock = trial->clock_mhz > 0 ? trial->clock_mhz / 2000 : 1, cap = trial->cap_w / 300;
    double wobble = trial->number % 2 == 0 ? 1.002 : 1;
    return (jm_cap_probe){0, wobble * (.6 + .2 / cap + .2 / clock), 280 * cap * clock, .003, 2};
}

static jm_status tell_part(jm_cap_search *search, const jm_cap_trial *trial, const jm_cap_probe *probe,
                           jm_error *err)
{
    if (trial->stage != JM_CAP_STAGE_SWEEP) return JM_OK;
    return jm_cap_search_tell_part(search, trial->number, "decode", probe, err);
}

static jm_status search_all(jm_cap_search *search, jm_error *err)
{
    for (;;) {
        jm_cap_trial trial;
        jm_status status = jm_cap_search_next(search, &trial, err);
        if (status != JM_OK || trial.stage == JM_CAP_STAGE_OVER) return status;
        const jm_cap_probe probe = window_of(&trial);
        status = jm_cap_search_tell(search, &probe, err);
        if (status == JM_OK) status = tell_part(search, &trial, &probe, err);
        if (status != JM_OK) return status;
    }
}

static jm_status work_on_search(void *context, jm_error *err)
{
    static const double clocks_mhz[] = {1400, 1700, 2000};
    const jm_cap_plan_options plan = {.size = sizeof plan,
                                      .objective = JM_CAP_ENERGY,
                                      .low_w = 200,
                                      .high_w = 300,
                                      .step_w = 50,
                                      .most_probes = 2,
                                      .drift = .003};
    const jm_cap_search_options options = {.size = sizeof options,
                                           .plan = &plan,
                                           .sweep_count = 2,
                                           .sweep_rounds = 1,
                                           .clocks_mhz = clocks_mhz,
                                           .clock_count = 3,
                                           .proof_blocks = 9}; /* more windows than there is room at first */
    told *t = context;
    jm_cap_search *search;
    *t = (told){0};
    jm_status status = jm_cap_search_create(&search, &options, err);
    if (status != JM_OK) return status;
    status = search_all(search, err);
    if (status == JM_OK) status = print(search, t, err);
    jm_cap_search_free(search);
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
    failing_each(&trial, FAILING_MEMORY);
}

static void test_a_search_without_memory_is_an_error_or_the_same(void **state)
{
    (void)state;
    told t;
    const failing_trial trial = {"search", &t, work_on_search, tell, drop, failing_for_memory};
    failing_each_of(&trial, FAILING_MEMORY, 20 * failing_step());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_replay_without_memory_is_an_error_or_the_same),
        cmocka_unit_test(test_a_search_without_memory_is_an_error_or_the_same),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
