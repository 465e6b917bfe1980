/* The search for a power cap that a recording was made for: its JSON, as the recording has it, to what the
 * page shows. What a file says may be anything: what is not as expected is no search. */
#include "page/parts.h"

#include <joulemap/cap.h>
#include <math.h>
#include <stdio.h>

/* Where a recording has it, as `joulemap cap search --json` prints it. */
#define META_KEY "cap_search"

enum { MOST_CAPS = JM_CAP_MOST_CAPS, MOST_TRIALS = 512 };

static bool is_number(const json_t *value)
{
    return json_is_number(value) && isfinite(json_number_value(value));
}

/* `to`'s key, as `from` has it; false: it is none of that kind, or memory is out. */
static bool copy_number(json_t *to, const char *key, const json_t *from, const char *of)
{
    json_t *value = json_object_get(from, of);
    return is_number(value) && json_object_set(to, key, value) == 0;
}

static bool copy_text(json_t *to, const char *key, const json_t *from)
{
    json_t *value = json_object_get(from, key);
    return json_is_string(value) && json_object_set(to, key, value) == 0;
}

/* [value, low, high] */
static bool copy_figure(json_t *to, const char *key, const json_t *from)
{
    json_t *figure = json_object_get(from, key);
    if (!json_is_array(figure) || json_array_size(figure) != 3) return false;
    for (size_t i = 0; i < 3; i++)
        if (!is_number(json_array_get(figure, i))) return false;
    return json_object_set(to, key, figure) == 0;
}

/* The items of an array, each made by `make`; NULL: one could not be, or there are none or too many. */
static json_t *make_all(const json_t *items, size_t most, bool (*make)(json_t *to, const json_t *item))
{
    size_t count = json_array_size(items);
    json_t *array = count > 0 && count <= most ? json_array() : NULL;
    for (size_t i = 0; array != NULL && i < count; i++) {
        json_t *to = json_object();
        bool made = to != NULL && make(to, json_array_get(items, i)) && json_array_append(array, to) == 0;
        json_decref(to);
        if (made) continue;
        json_decref(array);
        array = NULL;
    }
    return array;
}

static bool make_cap(json_t *to, const json_t *item)
{
    const json_t *relative = json_object_get(item, "relative");
    bool whole = copy_number(to, "cap_w", item, "cap_w");
    for (int o = 0; whole && o < JM_CAP_OBJECTIVE_COUNT; o++)
        whole = copy_figure(to, jm_cap_objective_text((jm_cap_objective)o), relative);
    return whole;
}

static bool make_trial(json_t *to, const json_t *item)
{
    return copy_number(to, "number", item, "number") && copy_text(to, "stage", item) &&
           copy_number(to, "cap_w", item, "cap_w") && copy_number(to, "time_s", item, "time_s") &&
           copy_number(to, "power_w", item, "power_w");
}

/* What the proof measured of `what`; null: there was none. */
static bool put_proof(json_t *to, const char *what, const json_t *proof)
{
    char low[16], high[16];
    snprintf(low, sizeof low, "%s_low", what);
    snprintf(high, sizeof high, "%s_high", what);
    const json_t *parts[] = {json_object_get(proof, what), json_object_get(proof, low),
                             json_object_get(proof, high)};
    bool known = is_number(parts[0]) && is_number(parts[1]) && is_number(parts[2]);
    json_t *figure = known ? json_pack("[f f f]", json_number_value(parts[0]), json_number_value(parts[1]),
                                       json_number_value(parts[2]))
                           : json_null();
    return json_object_set_new(to, what, figure) == 0;
}

static bool fill(json_t *to, const json_t *search)
{
    const json_t *caps = json_object_get(json_object_get(search, "predicted"), "caps");
    const json_t *proof = json_object_get(search, "proof");
    return copy_text(to, "objective", search) && copy_text(to, "verdict", search) &&
           copy_number(to, "reference_w", search, "reference_cap_w") &&
           copy_number(to, "chosen_w", search, "chosen_cap_w") && put_proof(to, "saving", proof) &&
           put_proof(to, "slowdown", proof) &&
           json_object_set_new(to, "caps", make_all(caps, MOST_CAPS, make_cap)) == 0 &&
           json_object_set_new(to, "trials",
                               make_all(json_object_get(search, "trials"), MOST_TRIALS, make_trial)) == 0;
}

json_t *jm__page_cap(const jm_recording *recording)
{
    const char *text = recording != NULL ? jm_recording_meta(recording, META_KEY) : NULL;
    json_t *search = text != NULL ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    json_t *shown = search != NULL ? json_object() : NULL;
    if (shown != NULL && !fill(shown, search)) {
        json_decref(shown);
        shown = NULL;
    }
    json_decref(search);
    return shown != NULL ? shown : json_null();
}
