/* Board profiles: from JSON, embedded or a file, checked as they are read. */
#include "profile.h"

#include "noise.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_MS 1e6

typedef struct reader {
    char *why;
    size_t why_size;
    bool failed;
} reader;

__attribute__((format(printf, 2, 3))) static void reject(reader *in, const char *format, ...)
{
    if (in->failed) return;
    va_list args;
    va_start(args, format);
    vsnprintf(in->why, in->why_size, format, args);
    va_end(args);
    in->failed = true;
}

/* A number that must be there unless `fallback` is not negative. */
static double number(reader *in, const json_t *object, const char *key, double fallback)
{
    const json_t *value = json_object_get(object, key);
    if (value == NULL && fallback >= 0) return fallback;
    if (!json_is_number(value)) {
        reject(in, "profile: \"%s\" is missing or no number", key);
        return 0;
    }
    double result = json_number_value(value);
    if (!(result >= 0 && result < 1e15)) reject(in, "profile: \"%s\" is out of range", key);
    return result;
}

static void text(reader *in, const json_t *object, const char *key, char *out, size_t size)
{
    const char *value = json_string_value(json_object_get(object, key));
    if (value == NULL || strlen(value) >= size)
        reject(in, "profile: \"%s\" is missing or no text of less than %zu bytes", key, size);
    else
        memcpy(out, value, strlen(value) + 1);
}

static int64_t duration(reader *in, const json_t *object, const char *key, double fallback)
{
    return (int64_t)(number(in, object, key, fallback) * NS_PER_MS);
}

/* "key": [least, most] in ms */
static void range(reader *in, const json_t *object, const char *key, int64_t *least, int64_t *most)
{
    const json_t *pair = json_object_get(object, key);
    double low = json_number_value(json_array_get(pair, 0));
    double high = json_number_value(json_array_get(pair, 1));
    if (json_array_size(pair) != 2 || !(low >= 0 && low <= high && high < 1e6))
        reject(in, "profile: \"%s\" is missing or no pair of rising numbers", key);
    *least = (int64_t)(low * NS_PER_MS);
    *most = (int64_t)(high * NS_PER_MS);
}

static void read_channel(reader *in, const json_t *from, const char *name, sim_channel_profile *to)
{
    if (from == NULL) return;
    char response[32] = "";
    text(in, from, "response", response, sizeof response);
    to->period_ns = duration(in, from, "period_ms", -1);
    if (strcmp(response, "first_order") == 0) {
        to->response = SIM_RESPONSE_FIRST_ORDER;
        to->tau_ns = duration(in, from, "tau_ms", -1);
    } else if (strcmp(response, "box") == 0) {
        to->response = SIM_RESPONSE_BOX;
        to->window_ns = duration(in, from, "window_ms", -1);
    } else if (strcmp(response, "counter") == 0) {
        to->response = SIM_RESPONSE_COUNTER;
    } else {
        reject(in, "profile: response \"%s\" of %s is none of first_order, box, counter", response, name);
    }
    to->lag_ns = duration(in, from, "lag_ms", 0);
    range(in, from, "delay_ms", &to->delay_min_ns, &to->delay_max_ns);
    to->jitter_ns = duration(in, from, "jitter_ms", 0);
    const json_t *late = json_object_get(from, "late");
    if (late != NULL) {
        to->late_every = (int64_t)number(in, late, "every", -1);
        to->late_share = number(in, late, "share", -1);
        range(in, late, "by_ms", &to->late_min_ns, &to->late_max_ns);
    }
    to->depth = (int64_t)number(in, from, "depth", 32);
    to->noise = number(in, from, "noise", 0);
    to->noise_throttled = number(in, from, "noise_throttled", to->noise);
    to->read_cost_ns = duration(in, from, "read_cost_ms", 0);
    const json_t *tail = json_object_get(from, "read_cost_tail");
    if (tail != NULL) {
        to->read_tail_share = number(in, tail, "share", -1);
        to->read_tail_ns = duration(in, tail, "ms", -1);
    }
    if (to->period_ns < 1000000) reject(in, "profile: period of %s is under 1 ms", name);
    if (to->depth < 2 || to->depth > 4096) reject(in, "profile: depth of %s is not in 2..4096", name);
    if (to->lag_ns + to->delay_min_ns - to->jitter_ns < SIM_HORIZON_NS)
        reject(in, "profile: lag and least delay, less the jitter, of %s are under 10 ms", name);
    if (to->response == SIM_RESPONSE_BOX && to->window_ns < 1000000)
        reject(in, "profile: window of %s is under 1 ms", name);
    if (to->response == SIM_RESPONSE_FIRST_ORDER && to->tau_ns < 1000000)
        reject(in, "profile: tau of %s is under 1 ms", name);
}

static void read_live(reader *in, const json_t *live, sim_profile *profile)
{
    static const char *const directions[SIM_DIRECTIONS] = {"forward", "backward", "optimizer", "other"};
    const json_t *unknown = json_object_get(live, "unknown_w");
    profile->unknown_min_w = number(in, unknown, "min", -1);
    profile->unknown_max_w = number(in, unknown, "max", -1);
    const char *type;
    json_t *watts;
    json_object_foreach(json_object_get(live, "types"), type, watts)
    {
        if (profile->live_count == SIM_LIVE_TYPES || strlen(type) >= SIM_TEXT) {
            reject(in, "profile: more than %d types, or a name of more than %d bytes", SIM_LIVE_TYPES,
                   SIM_TEXT - 1);
            return;
        }
        sim_live_type *entry = &profile->live[profile->live_count++];
        memcpy(entry->type, type, strlen(type) + 1);
        for (int i = 0; i < SIM_DIRECTIONS; i++)
            entry->power_w[i] = number(in, watts, directions[i], 0);
    }
}

static void read_idle(reader *in, const json_t *idle, sim_profile *profile)
{
    profile->idle_no_context_w = number(in, idle, "no_context_w", -1);
    profile->idle_context_w = number(in, idle, "context_w", -1);
    size_t index;
    json_t *stage;
    json_array_foreach(json_object_get(idle, "after_work"), index, stage)
    {
        if (index == SIM_STAGES) {
            reject(in, "profile: more than %d stages of idling", SIM_STAGES);
            return;
        }
        profile->stages[index].until_ns = duration(in, stage, "until_ms", -1);
        profile->stages[index].power_w = number(in, stage, "power_w", -1);
        if (index > 0 && profile->stages[index].until_ns <= profile->stages[index - 1].until_ns)
            reject(in, "profile: stages of idling are not in order");
        profile->stage_count++;
    }
}

static void read_identity(reader *in, const json_t *root, sim_profile *profile)
{
    text(in, root, "id", profile->id, sizeof profile->id);
    text(in, root, "name", profile->name, sizeof profile->name);
    text(in, root, "driver", profile->driver, 80);
    text(in, root, "nvml", profile->nvml, 80);
    profile->cuda_driver = (int)number(in, root, "cuda_driver", -1);
    const json_t *capability = json_object_get(root, "compute_capability");
    profile->cc_major = (int)json_integer_value(json_array_get(capability, 0));
    profile->cc_minor = (int)json_integer_value(json_array_get(capability, 1));
    profile->architecture = (unsigned)number(in, root, "architecture", -1);
    const json_t *pci = json_object_get(root, "pci");
    profile->pci_device_id = (unsigned)number(in, pci, "device_id", -1);
    profile->pci_subsystem_id = (unsigned)number(in, pci, "subsystem_id", -1);
    const json_t *memory = json_object_get(root, "memory");
    profile->memory_bytes = (uint64_t)number(in, memory, "total_mib", -1) << 20;
    profile->memory_reserved_bytes = (uint64_t)number(in, memory, "reserved_mib", -1) << 20;
    profile->multiprocessors = (int)number(in, root, "multiprocessors", 0);
    profile->mig_capable = json_is_true(json_object_get(root, "mig_capable"));
    char usage[16] = "";
    text(in, root, "power_usage", usage, sizeof usage);
    profile->power_usage_is_average = strcmp(usage, "average") == 0;
}

static void read_physics(reader *in, const json_t *root, sim_profile *profile)
{
    const json_t *limit = json_object_get(root, "power_limit_w");
    profile->limit_min_w = number(in, limit, "min", -1);
    profile->limit_max_w = number(in, limit, "max", -1);
    profile->limit_default_w = number(in, limit, "default", -1);
    const json_t *clock = json_object_get(root, "clock_mhz");
    profile->clock_max_mhz = number(in, clock, "max", -1);
    profile->clock_min_mhz = number(in, clock, "min", -1);
    profile->clock_idle_mhz = number(in, clock, "idle", -1);
    profile->memory_clock_mhz = number(in, clock, "memory", -1);
    profile->clock_exponent = number(in, json_object_get(root, "cap"), "clock_exponent", -1);
    const json_t *memory = json_object_get(root, "memory_power");
    profile->memory_idle_w = number(in, memory, "idle_w", -1);
    profile->memory_share = number(in, memory, "share", -1);
    profile->memory_busy_share = number(in, root, "memory_busy_share", -1);
    profile->pm_sampler_w = number(in, root, "pm_sampler_w", 0);
    const json_t *thermal = json_object_get(root, "thermal");
    profile->ambient_c = number(in, thermal, "ambient_c", -1);
    profile->thermal_c_per_w = number(in, thermal, "c_per_w", -1);
    profile->thermal_tau_ns = (int64_t)(number(in, thermal, "tau_s", -1) * 1e9);
    if (profile->clock_exponent <= 0 || profile->clock_max_mhz <= 0 || profile->thermal_tau_ns <= 0)
        reject(in, "profile: exponent, clock and thermal time must be above 0");
    if (profile->pm_sampler_w > profile->limit_min_w)
        reject(in, "profile: \"pm_sampler_w\" is over the least power limit");
}

static json_t *parse(const char *source, char *why, size_t why_size)
{
    json_error_t error;
    json_t *root = NULL;
    if (strchr(source, '/') != NULL || strstr(source, ".json") != NULL) {
        root = json_load_file(source, JSON_REJECT_DUPLICATES, &error);
        if (root == NULL) snprintf(why, why_size, "profile %s: line %d: %s", source, error.line, error.text);
        return root;
    }
    for (size_t i = 0; i < sim_embedded_profile_count; i++) {
        if (strcmp(sim_embedded_profiles[i].name, source) != 0) continue;
        root = json_loadb(sim_embedded_profiles[i].text, sim_embedded_profiles[i].length, 0, &error);
        if (root == NULL) snprintf(why, why_size, "profile %s: line %d: %s", source, error.line, error.text);
        return root;
    }
    int used = snprintf(why, why_size, "no board profile \"%s\"; there are", source);
    for (size_t i = 0; i < sim_embedded_profile_count && used > 0 && (size_t)used < why_size; i++)
        used += snprintf(why + used, why_size - (size_t)used, " %s", sim_embedded_profiles[i].name);
    return NULL;
}

bool sim_profile_load(sim_profile *profile, const char *source, char *why, size_t why_size)
{
    static const char *const channel_names[SIM_CHANNEL_COUNT] = {
#define X(name, text) text,
        SIM_CHANNEL_MAP(X)
#undef X
    };
    memset(profile, 0, sizeof *profile);
    json_t *root = parse(source, why, why_size);
    if (root == NULL) return false;
    reader in = {.why = why, .why_size = why_size};
    read_identity(&in, root, profile);
    read_physics(&in, root, profile);
    read_idle(&in, json_object_get(root, "idle"), profile);
    const json_t *channels = json_object_get(root, "channels");
    for (int i = 0; i < SIM_CHANNEL_COUNT; i++)
        read_channel(&in, json_object_get(channels, channel_names[i]), channel_names[i],
                     &profile->channels[i]);
    if (profile->channels[SIM_CHANNEL_COUNTER].response != SIM_RESPONSE_COUNTER)
        reject(&in, "profile: there is no counter");
    read_live(&in, json_object_get(root, "live"), profile);
    json_decref(root);
    return !in.failed;
}

double sim_profile_watts(const sim_profile *profile, const char *type, int direction)
{
    size_t length = strcspn(type, "(");
    for (int i = 0; i < profile->live_count; i++) {
        const sim_live_type *entry = &profile->live[i];
        if (strncmp(entry->type, type, length) == 0 && entry->type[length] == '\0' &&
            entry->power_w[direction] > 0)
            return entry->power_w[direction];
    }
    uint64_t key = sim_key(sim_text_key(type, length), (uint64_t)direction);
    return profile->unknown_min_w + sim_uniform(key) * (profile->unknown_max_w - profile->unknown_min_w);
}

int sim_profiles_load(sim_profile *profiles, int most, char *why, size_t why_size)
{
    const char *list = getenv("JOULEMAP_SIM");
    char *copy = strdup(list == NULL || list[0] == '\0' ? "h200" : list);
    char *rest = copy;
    int count = 0;
    bool good = copy != NULL;
    for (const char *name; good && (name = strsep(&rest, ",")) != NULL;) {
        good = count < most;
        if (good)
            good = sim_profile_load(&profiles[count++], name, why, why_size);
        else
            snprintf(why, why_size, "more than %d boards in JOULEMAP_SIM", most);
    }
    free(copy);
    return good ? count : 0;
}
