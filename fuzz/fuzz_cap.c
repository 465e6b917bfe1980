/* A recorded sweep of anybody, read by `joulemap cap search --replay`; and a search that is told anything.
 *
 * The first byte is the objective, and a search where its highest bit is set; the second the bound of
 * slowdown in percent, the third how many probes, or the sweep; of a search two bytes more are a window each.
 * JM_CAP_MOST_PROBES of a sweep of 67 caps take a minute with sanitizers, so there are fewer. */
#include "fuzz.h"

#include <joulemap/cap.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check(jm_cap_search *search)
{
    char *text = NULL;
    FUZZ_PROMISE(jm_cap_search_text(search, 80, &text, NULL) == JM_OK && text[0] != '\0');
    free(text);
    FUZZ_PROMISE(jm_cap_search_json(search, &text, NULL) == JM_OK && strstr(text, "chosen_cap_w") != NULL);
    FUZZ_PROMISE(strstr(text, "\"chosen_cap_w\": null") == NULL);
    free(text);
}

/* From a thousandth to a thousand times. */
static double around(double usual, uint8_t byte)
{
    return usual * pow(1000, (byte - 128) / 128.);
}

/* Refusals are fine; whatever it takes, it says what it knows, and it ends. */
static void drive(const uint8_t *data, size_t size)
{
    static const double clocks_mhz[] = {1000, 1500, 2000};
    const jm_cap_plan_options plan = {.size = sizeof plan,
                                      .objective = (jm_cap_objective)(data[0] % JM_CAP_OBJECTIVE_COUNT),
                                      .max_slowdown = data[1] / 100.,
                                      .low_w = 100,
                                      .high_w = 300,
                                      .step_w = 50,
                                      .most_probes = 4,
                                      .drift = .003};
    const jm_cap_search_options options = {.size = sizeof options,
                                           .plan = &plan,
                                           .sweep_count = data[2] % 6,
                                           .clocks_mhz = clocks_mhz,
                                           .clock_count = data[2] % 4,
                                           .proof_blocks = 2};
    jm_cap_search *search;
    if (jm_cap_search_create(&search, &options, NULL) != JM_OK) return;
    for (size_t i = 3; i + 1 < size && i < 300; i += 2) {
        jm_cap_trial trial;
        jm_cap_probe probe = {.time_s = around(1, data[i]), .power_w = around(200, data[i + 1])};
        probe.time_u_s = .01 * probe.time_s;
        probe.power_u_w = .01 * probe.power_w;
        FUZZ_PROMISE(jm_cap_search_next(search, &trial, NULL) == JM_OK);
        if (trial.stage == JM_CAP_STAGE_OVER) break;
        FUZZ_PROMISE(jm_cap_search_tell(search, &probe, NULL) == JM_OK);
    }
    if (jm_cap_search_told_count(search) > 0) check(search);
    jm_cap_search_free(search);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3) return 0;
    if (data[0] & 0x80) {
        drive(data, size);
        return 0;
    }
    const jm_cap_plan_options options = {.size = sizeof options,
                                         .objective = (jm_cap_objective)(data[0] % JM_CAP_OBJECTIVE_COUNT),
                                         .max_slowdown = data[1] / 100.,
                                         .most_probes = data[2] % 17};
    fuzz_clear();
    const char *path = fuzz_file("sweep.csv", data + 3, size - 3);
    jm_cap_search *search;
    jm_error err = {0};
    if (jm_cap_replay(&search, path, &options, &err) == JM_OK) {
        check(search);
        jm_cap_search_free(search);
    } else {
        FUZZ_PROMISE(err.text[0] != '\0' && search == NULL);
    }
    return 0;
}
