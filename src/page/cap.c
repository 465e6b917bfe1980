/* The search for a power cap that a recording was made for: its JSON, as the recording has it, to what the
 * page shows. What a file says may be anything: what is not as expected is no search. */
#include "page/parts.h"

#include <joulemap/cap.h>
#include <stdio.h>

/* Where a recording has it, as `joulemap cap search --json` prints it. */
#define META_KEY "cap_search"

enum { MOST_CAPS = JM_CAP_MOST_CAPS, MOST_TRIALS = 512 };

static bool is_figure(const json_t *value)
{
    return json_is_array(value) && json_array_size(value) == 3 && json_is_number(json_array_get(value, 0)) &&
           json_is_number(json_array_get(value, 1)) && json_is_number(json_array_get(value, 2));
}

/* ---- is it one */

static bool are_all(const json_t *items, size_t most, bool (*is)(const json_t *item))
{
    size_t count = json_array_size(items);
    for (size_t i = 0; i < count; i++)
        if (!is(json_array_get(items, i))) return false;
    return count > 0 && count <= most;
}

static bool is_cap(const json_t *item)
{
    const json_t *relative = json_object_get(item, "relative");
    for (int o = 0; o < JM_CAP_OBJECTIVE_COUNT; o++)
        if (!is_figure(json_object_get(relative, jm_cap_objective_text((jm_cap_objective)o)))) return false;
    return json_is_number(json_object_get(item, "cap_w"));
}

static const char *const trial_numbers[] = {"number", "cap_w", "time_s", "power_w"};

static bool is_trial(const json_t *item)
{
    for (size_t i = 0; i < sizeof trial_numbers / sizeof *trial_numbers; i++)
        if (!json_is_number(json_object_get(item, trial_numbers[i]))) return false;
    return json_is_string(json_object_get(item, "stage"));
}

static const json_t *caps_of(const json_t *search)
{
    return json_object_get(json_object_get(search, "predicted"), "caps");
}

static bool is_search(const json_t *search)
{
    return json_is_string(json_object_get(search, "objective")) &&
           json_is_string(json_object_get(search, "verdict")) &&
           json_is_number(json_object_get(search, "reference_cap_w")) &&
           json_is_number(json_object_get(search, "chosen_cap_w")) &&
           are_all(caps_of(search), MOST_CAPS, is_cap) &&
           are_all(json_object_get(search, "trials"), MOST_TRIALS, is_trial);
}

/* ---- what is shown of it: false, or NULL, if memory is out */

static bool copy(json_t *to, const char *key, const json_t *from, const char *of)
{
    return json_object_set(to, key, json_object_get(from, of)) == 0;
}

static bool fill_cap(json_t *to, const json_t *item)
{
    const json_t *relative = json_object_get(item, "relative");
    bool whole = copy(to, "cap_w", item, "cap_w");
    for (int o = 0; whole && o < JM_CAP_OBJECTIVE_COUNT; o++) {
        const char *key = jm_cap_objective_text((jm_cap_objective)o);
        whole = copy(to, key, relative, key);
    }
    return whole;
}

static bool fill_trial(json_t *to, const json_t *item)
{
    bool whole = copy(to, "stage", item, "stage");
    for (size_t i = 0; whole && i < sizeof trial_numbers / sizeof *trial_numbers; i++)
        whole = copy(to, trial_numbers[i], item, trial_numbers[i]);
    return whole;
}

static json_t *make_all(const json_t *items, bool (*fill)(json_t *to, const json_t *item))
{
    json_t *array = json_array();
    for (size_t i = 0; array != NULL && i < json_array_size(items); i++) {
        json_t *to = json_object();
        bool made = to != NULL && fill(to, json_array_get(items, i)) && json_array_append(array, to) == 0;
        json_decref(to);
        if (made) continue;
        json_decref(array);
        array = NULL;
    }
    return array;
}

/* What the proof measured of `what`: [value, low, high]; null: there was none. */
static json_t *proof_figure(const char *what, const json_t *proof)
{
    char low[16], high[16];
    snprintf(low, sizeof low, "%s_low", what);
    snprintf(high, sizeof high, "%s_high", what);
    const json_t *parts[] = {json_object_get(proof, what), json_object_get(proof, low),
                             json_object_get(proof, high)};
    if (!json_is_number(parts[0]) || !json_is_number(parts[1]) || !json_is_number(parts[2]))
        return json_null();
    return json_pack("[f f f]", json_number_value(parts[0]), json_number_value(parts[1]),
                     json_number_value(parts[2]));
}

static bool fill_search(json_t *to, const json_t *search)
{
    const json_t *proof = json_object_get(search, "proof");
    return copy(to, "objective", search, "objective") && copy(to, "verdict", search, "verdict") &&
           copy(to, "reference_w", search, "reference_cap_w") &&
           copy(to, "chosen_w", search, "chosen_cap_w") &&
           json_object_set_new(to, "saving", proof_figure("saving", proof)) == 0 &&
           json_object_set_new(to, "slowdown", proof_figure("slowdown", proof)) == 0 &&
           json_object_set_new(to, "caps", make_all(caps_of(search), fill_cap)) == 0 &&
           json_object_set_new(to, "trials", make_all(json_object_get(search, "trials"), fill_trial)) == 0;
}

json_t *jm__page_cap_of(const json_t *search)
{
    if (!is_search(search)) return json_null();
    json_t *shown = json_object();
    if (shown == NULL || fill_search(shown, search)) return shown;
    json_decref(shown);
    return NULL;
}

json_t *jm__page_cap(const jm_recording *recording)
{
    const char *text = recording != NULL ? jm_recording_meta(recording, META_KEY) : NULL;
    json_error_t error;
    json_t *search = text != NULL ? json_loads(text, JSON_REJECT_DUPLICATES, &error) : json_null();
    if (search == NULL && json_error_code(&error) == json_error_out_of_memory) return NULL;
    json_t *shown = jm__page_cap_of(search);
    json_decref(search);
    return shown;
}
