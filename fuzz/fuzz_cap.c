/* A recorded sweep of anybody, read by `joulemap cap search --replay`.
 *
 * The first byte is the objective, the second the bound of slowdown in percent, the third how many probes. */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3) return 0;
    const jm_cap_plan_options options = {.size = sizeof options,
                                         .objective = (jm_cap_objective)(data[0] % JM_CAP_OBJECTIVE_COUNT),
                                         .max_slowdown = data[1] / 100.,
                                         .most_probes = data[2] % (JM_CAP_MOST_PROBES + 1)};
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
