/* Reads the tables of ncu's names from their embedded JSON; looks up values of a kernel by name; converts
 * them to model features. */
#include "import/ncu/sheet.h"

#include "base/json_value.h"
#include "base/status.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool places_read(jm__ncu_places *places, const json_t *list)
{
    places->count = json_array_size(list);
    if (places->count > JM_PLACES_MAX) return false;
    for (size_t i = 0; i < places->count; i++) {
        const json_t *entry = json_array_get(list, i);
        jm__ncu_place *place = &places->items[i];
        if (!jm__json_copy_text(place->section, sizeof place->section, json_array_get(entry, 0)) ||
            !jm__json_copy_text(place->name, sizeof place->name, json_array_get(entry, 1)) ||
            !jm__json_copy_text(place->unit, sizeof place->unit, json_array_get(entry, 2)))
            return false;
    }
    return true;
}

/* Texts of at most `width` bytes each. */
static bool texts_read(char *texts, size_t width, size_t most, size_t *count, const json_t *list)
{
    *count = json_array_size(list);
    if (*count > most) return false;
    for (size_t i = 0; i < *count; i++)
        if (!jm__json_copy_text(texts + i * width, width, json_array_get(list, i))) return false;
    return true;
}

static const char *const part_names[JM_PART_COUNT] = {"", "sm", "l1", "l2", "dram"};

static jm__ncu_unit_part part_of(const char *name)
{
    for (int part = 1; name != NULL && part < JM_PART_COUNT; part++)
        if (strcmp(name, part_names[part]) == 0) return (jm__ncu_unit_part)part;
    return JM_PART_NONE;
}

static bool word_read(jm__ncu_word *word, const json_t *entry)
{
    size_t pair;
    *word = (jm__ncu_word){0};
    if (!texts_read(word->counters[0], sizeof word->counters[0], JM_NAMES_MAX, &word->counter_count,
                    json_object_get(entry, "counters")) ||
        !texts_read(word->percents[0], sizeof word->percents[0], JM_NAMES_MAX, &word->percent_count,
                    json_object_get(entry, "percents")) ||
        !texts_read(word->pair[0], sizeof word->pair[0], 2, &pair, json_object_get(entry, "all_of_pair")))
        return false;
    word->peak = json_number_value(json_object_get(entry, "peak"));
    word->of_dram = json_object_get(entry, "peak_of") != NULL;
    word->always = json_is_true(json_object_get(entry, "always"));
    word->within = part_of(json_string_value(json_object_get(entry, "within")));
    return jm__json_copy_text(word->feature, sizeof word->feature, json_object_get(entry, "feature")) &&
           places_read(&word->labels, json_object_get(entry, "labels")) &&
           places_read(&word->times, json_object_get(entry, "times")) &&
           places_read(&word->shares, json_object_get(entry, "shares")) &&
           places_read(&word->shares_of_both, json_object_get(entry, "shares_of_both")) &&
           places_read(&word->shares_of_other, json_object_get(entry, "shares_of_other")) &&
           (word->always || word->counter_count + word->percent_count > 0);
}

static bool board_read(jm__ncu_board *board, const json_t *entry)
{
    board->multiprocessors = json_number_value(json_object_get(entry, "multiprocessors"));
    board->dram_hz = json_number_value(json_object_get(entry, "dram_hz"));
    board->dram_bytes_per_second = json_number_value(json_object_get(entry, "dram_bytes_per_second"));
    board->l2_bytes = json_number_value(json_object_get(entry, "l2_bytes"));
    board->limit_w = json_number_value(json_object_get(entry, "limit_w"));
    board->clock_mhz = json_number_value(json_object_get(entry, "clock_mhz"));
    const json_t *match = json_object_get(entry, "match");
    board->match[0] = '\0';
    return jm__json_copy_text(board->name, sizeof board->name, json_object_get(entry, "name")) &&
           jm__json_copy_text(board->profile, sizeof board->profile, json_object_get(entry, "profile")) &&
           (match == NULL || jm__json_copy_text(board->match, sizeof board->match, match)) &&
           board->multiprocessors > 0 && board->dram_hz > 0 && board->dram_bytes_per_second > 0 &&
           board->limit_w > 0 && board->clock_mhz > 0;
}

static bool lists_read(jm__ncu_words *words, const json_t *root)
{
    const json_t *features = json_object_get(root, "features"), *boards = json_object_get(root, "boards");
    const json_t *within = json_object_get(root, "within");
    words->count = json_array_size(features);
    words->board_count = json_array_size(boards);
    if (words->count == 0 || words->count > JM_WORDS_MAX) return false;
    if (words->board_count == 0 || words->board_count > sizeof words->boards / sizeof words->boards[0])
        return false;
    for (size_t i = 0; i < words->count; i++)
        if (!word_read(&words->words[i], json_array_get(features, i))) return false;
    for (size_t i = 0; i < words->board_count; i++)
        if (!board_read(&words->boards[i], json_array_get(boards, i))) return false;
    for (size_t p = 1; p < JM_PART_COUNT; p++)
        if (!places_read(&words->within[p], json_object_get(within, part_names[p]))) return false;
    return true;
}

static jm_status words_read(jm__ncu_words *words, const jm__embedded *data, jm_error *err)
{
    json_error_t json_err;
    json_t *root = json_loadb(data->text, data->length, JSON_REJECT_DUPLICATES, &json_err);
    if (root == NULL && json_err.text[0] == '\0') return jm__no_memory(err, "json_loadb");
    if (root == NULL)
        return jm__fail(err, JM_BAD_DATA, 0, "json_loadb", "ncu's words of chip %s: line %d: %s", data->name,
                        json_err.line, json_err.text);
    const json_t *capability = json_object_get(root, "capability");
    *words = (jm__ncu_words){.cc_major = (int)json_integer_value(json_array_get(capability, 0)),
                             .cc_minor = (int)json_integer_value(json_array_get(capability, 1))};
    bool is_valid = jm__json_copy_text(words->chip, sizeof words->chip, json_object_get(root, "chip")) &&
                    jm__json_copy_text(words->title, sizeof words->title, json_object_get(root, "title")) &&
                    words->cc_major > 0 && lists_read(words, root);
#define X(member) is_valid = is_valid && places_read(&words->member, json_object_get(root, #member));
    JM_NCU_FACTS_MAP(X)
#undef X
    json_decref(root);
    if (is_valid) return JM_OK;
    return jm__fail(err, JM_BAD_DATA, 0, NULL, "ncu's words of chip %s: a key is missing or wrong",
                    data->name);
}

jm_status jm__ncu_words_load(jm__ncu_words *words, int cc_major, int cc_minor, jm_error *err)
{
    char found[256] = "";
    size_t used = 0;
    for (const jm__embedded *data = jm__ncu_words_table; data->name != NULL; data++) {
        JM_TRY(words_read(words, data, err));
        if (cc_major == 0 || (words->cc_major == cc_major && words->cc_minor == cc_minor)) return JM_OK;
        int added = snprintf(found + used, sizeof found - used, "%s%d.%d (%s)", used > 0 ? ", " : "",
                             words->cc_major, words->cc_minor, words->title);
        used += added > 0 && (size_t)added < sizeof found - used ? (size_t)added : 0;
    }
    jm__fail(err, JM_NOT_SUPPORTED, 0, NULL,
             "ncu's counters are not mapped for chips of compute capability %d.%d, only for %s", cc_major,
             cc_minor, found);
    return jm__hint(err, JM_NOT_SUPPORTED, "train a model of your own: joulemap estimate --train");
}

const char *jm__ncu_feature_name(const char *metric)
{
    static const char sampler[] = ".TriageCompute.";
    const char *at = strstr(metric, sampler);
    return at != NULL ? at + sizeof sampler - 1 : metric;
}

const jm__ncu_word *jm__ncu_word_of(const jm__ncu_words *words, const char *metric)
{
    const char *name = jm__ncu_feature_name(metric);
    for (size_t i = 0; i < words->count; i++)
        if (strcmp(words->words[i].feature, name) == 0) return &words->words[i];
    return NULL;
}

static bool is_form_of(const char *name, const char *counter)
{
    size_t length = strlen(counter);
    return length > 0 && strncmp(name, counter, length) == 0 && name[length] == '.';
}

static bool is_place(const jm__ncu_places *places, const char *section, const char *name)
{
    for (size_t i = 0; i < places->count; i++)
        if (strcmp(places->items[i].name, name) == 0 &&
            (places->items[i].section[0] == '\0' || strcmp(places->items[i].section, section) == 0))
            return true;
    return false;
}

bool jm__ncu_words_filter(const void *context, const char *section, const char *name, const char *unit)
{
    (void)unit;
    const jm__ncu_words *words = context;
    for (size_t w = 0; w < words->count; w++) {
        const jm__ncu_word *word = &words->words[w];
        for (size_t i = 0; i < word->counter_count; i++)
            if (is_form_of(name, word->counters[i])) return true;
        for (size_t i = 0; i < word->percent_count; i++)
            if (strcmp(name, word->percents[i]) == 0) return true;
        if (is_form_of(name, word->pair[0]) || is_form_of(name, word->pair[1])) return true;
        if (is_place(&word->labels, section, name) || is_place(&word->times, section, name) ||
            is_place(&word->shares, section, name) || is_place(&word->shares_of_both, section, name) ||
            is_place(&word->shares_of_other, section, name))
            return true;
    }
    for (size_t p = 0; p < JM_PART_COUNT; p++)
        if (is_place(&words->within[p], section, name)) return true;
#define X(member)                                                                                            \
    if (is_place(&words->member, section, name)) return true;
    JM_NCU_FACTS_MAP(X)
#undef X
    return false;
}

/* ---- a kernel's values by name ---- */

/* Values of one metric may differ by rounding. */
static const double same_within = 0.02;

/* Metric names with two underscores are unique; others are labels of a section. */
static void make_key(char *key, size_t size, const char *section, const char *name, const char *unit)
{
    bool alone = strstr(name, "__") != NULL;
    snprintf(key, size, "%.180s\n%.240s\n%.24s", alone ? "" : section, name, unit);
}

/* Extracts the metric of "SM Frequency (smsp__cycles_elapsed.avg.per_second)", as printed with
 * --print-metric-name label-name. */
static const char *plain_name(const char *name, char *room, size_t size)
{
    const char *open = strrchr(name, '('), *close = open != NULL ? strchr(open, ')') : NULL;
    if (close == NULL || close[1] != '\0' || strstr(open, "__") == NULL || open == name) return name;
    snprintf(room, size, "%.*s", (int)(close - open - 1), open + 1);
    return room;
}

static jm_status add_slots(jm__ncu_sheet *sheet, jm_error *err)
{
    for (size_t i = 0; i < sheet->ncu->metric_count; i++) {
        char key[480], room[256];
        const jm__ncu_metric *metric = &sheet->ncu->metrics[i];
        make_key(key, sizeof key, metric->section, plain_name(metric->name, room, sizeof room), metric->unit);
        int64_t slot = jm__text_ids_add(&sheet->keys, key);
        if (slot < 0) return jm__no_memory(err, "jm__ncu_sheet_init");
        sheet->slot_of[i] = (size_t)slot;
    }
    return JM_OK;
}

jm_status jm__ncu_sheet_init(jm__ncu_sheet *sheet, const jm__ncu *ncu, jm_error *err)
{
    size_t n = ncu->metric_count + 1;
    *sheet = (jm__ncu_sheet){
        .ncu = ncu, .slot_of = calloc(n, sizeof *sheet->slot_of), .values = calloc(n, sizeof *sheet->values)};
    jm_status status = sheet->slot_of != NULL && sheet->values != NULL
                           ? add_slots(sheet, err)
                           : jm__no_memory(err, "jm__ncu_sheet_init");
    if (status != JM_OK) jm__ncu_sheet_free(sheet);
    return status;
}

void jm__ncu_sheet_free(jm__ncu_sheet *sheet)
{
    jm__text_ids_free(&sheet->keys);
    free(sheet->slot_of);
    free(sheet->values);
    *sheet = (jm__ncu_sheet){0};
}

void jm__ncu_sheet_fill(jm__ncu_sheet *sheet, const jm__ncu_kernel *kernel)
{
    for (size_t i = 0; i < sheet->keys.items.count; i++)
        sheet->values[i] = (jm__ncu_value){.number = NAN};
    for (size_t i = 0; i < kernel->count; i++) {
        const jm__ncu_value *value = &sheet->ncu->values[kernel->first + i];
        jm__ncu_value *slot = &sheet->values[sheet->slot_of[value->metric]];
        if (isnan(value->number) && value->text == NULL) continue;
        if (slot->line == 0)
            *slot = *value;
        else if (!(fabs(slot->number - value->number) <= same_within * fabs(value->number)))
            slot->number = NAN;
    }
}

/* A missing one has neither a number nor a text. */
static jm__ncu_value find(const jm__ncu_sheet *sheet, const char *section, const char *name, const char *unit)
{
    char key[480];
    make_key(key, sizeof key, section, name, unit);
    int64_t slot = jm__text_ids_find(&sheet->keys, key);
    return slot >= 0 ? sheet->values[slot] : (jm__ncu_value){.number = NAN};
}

/* The units that a metric may have. Counts have many: the event's own. */
static const char *const count_units[] = {"inst",        "cycle", "",        "byte",     "sector",
                                          "thread_inst", "warp",  "request", "wavefront"};
static const char *const rate_units[] = {"inst/second",     "cycle/second",       "",         "byte/second",
                                         "sector/second",   "thread_inst/second", "1/second", "hz",
                                         "wavefront/second"};
static const char *const cycle_units[] = {
    "inst/cycle",        "",        "cycle/cycle", "byte/cycle",     "sector/cycle",
    "thread_inst/cycle", "1/cycle", "cycle",       "wavefront/cycle"};
static const char *const percent_units[] = {"%"};

static double number_in(const jm__ncu_sheet *sheet, const char *name, const char *const *units, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double number = find(sheet, "", name, units[i]).number;
        if (!isnan(number)) return number;
    }
    return NAN;
}

#define IN(units) units, sizeof units / sizeof units[0]

/* A metric with a unique name ("sm__inst_executed.sum"); NAN: missing. */
static double unique_metric(const jm__ncu_sheet *sheet, const char *name)
{
    bool percent = strstr(name, "pct_of_peak") != NULL;
    return percent ? number_in(sheet, name, IN(percent_units)) : number_in(sheet, name, IN(count_units));
}

double jm__ncu_sheet_place(const jm__ncu_sheet *sheet, const jm__ncu_places *places)
{
    for (size_t i = 0; i < places->count; i++) {
        const jm__ncu_place *place = &places->items[i];
        double number = find(sheet, place->section, place->name, place->unit).number;
        if (!isnan(number)) return number;
    }
    return NAN;
}

const char *jm__ncu_sheet_text(const jm__ncu_sheet *sheet, const jm__ncu_places *places)
{
    for (size_t i = 0; i < places->count; i++) {
        const jm__ncu_place *place = &places->items[i];
        const char *text = find(sheet, place->section, place->name, place->unit).text;
        if (text != NULL) return text;
    }
    return NULL;
}

double jm__ncu_sheet_total(const jm__ncu_sheet *sheet, const char *counter, double peak,
                           const jm__ncu_scale *scale)
{
    bool of_quarter = strncmp(counter, "smsp__", 6) == 0;
    double units = scale->multiprocessors * (of_quarter ? 4 : 1);
    double all_active = scale->active_cycles * scale->multiprocessors * peak / 100;
    double all_cycles = scale->cycles * scale->multiprocessors * peak / 100;
    const struct {
        const char *suffix;
        const char *const *in;
        size_t count;
        double factor;
    } forms[] = {
        {".sum", IN(count_units), 1},
        {".sum.per_second", IN(rate_units), scale->duration_s},
        {".avg", IN(count_units), units},
        {".sum.per_cycle_elapsed", IN(cycle_units), scale->cycles},
        {".avg.per_cycle_elapsed", IN(cycle_units), scale->cycles * units},
        {".sum.per_cycle_active", IN(cycle_units), scale->active_cycles},
        {".avg.per_cycle_active", IN(cycle_units), scale->active_cycles * units},
        {".avg.per_second", IN(rate_units), scale->duration_s * units},
        {".sum.pct_of_peak_sustained_active", IN(percent_units), peak > 0 ? all_active : NAN},
        {".avg.pct_of_peak_sustained_active", IN(percent_units), peak > 0 ? all_active : NAN},
        {".sum.pct_of_peak_sustained_elapsed", IN(percent_units), peak > 0 ? all_cycles : NAN},
        {".avg.pct_of_peak_sustained_elapsed", IN(percent_units), peak > 0 ? all_cycles : NAN},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        char name[160];
        snprintf(name, sizeof name, "%s%s", counter, forms[i].suffix);
        double value = number_in(sheet, name, forms[i].in, forms[i].count) * forms[i].factor;
        if (!isnan(value) && value >= 0) return value;
    }
    return NAN;
}

/* ---- amounts of a kernel, in the units of model features ---- */

static double counter_total(const jm__ncu_word *word, const jm__ncu_sheet *sheet, const jm__ncu_scale *scale)
{
    for (size_t i = 0; i < word->counter_count; i++) {
        double total = jm__ncu_sheet_total(sheet, word->counters[i], word->peak, scale);
        if (!isnan(total)) return total;
    }
    if (word->pair[0][0] != '\0') {
        double all = jm__ncu_sheet_total(sheet, word->pair[0], 2 * word->peak, scale);
        double less = jm__ncu_sheet_total(sheet, word->pair[1], word->peak, scale);
        if (!isnan(all) && !isnan(less) && all >= less) return all - less;
    }
    double all_cycles = word->peak / 100 * scale->multiprocessors * scale->cycles;
    double share = jm__ncu_sheet_place(sheet, &word->shares);
    if (!isnan(share)) return share * all_cycles;
    double both = jm__ncu_sheet_place(sheet, &word->shares_of_both);
    double other = jm__ncu_sheet_place(sheet, &word->shares_of_other);
    if (!isnan(both) && !isnan(other)) return fmax(2 * both - other, 0) * all_cycles;
    double sum = jm__ncu_sheet_place(sheet, &word->labels);
    return word->times.count > 0 ? sum * jm__ncu_sheet_place(sheet, &word->times) : sum;
}

double jm__ncu_amount(const jm__ncu_word *word, const jm__ncu_board *board, const jm__ncu_sheet *sheet,
                      const jm__ncu_scale *scale)
{
    for (size_t i = 0; i < word->percent_count; i++) {
        double percent = unique_metric(sheet, word->percents[i]);
        if (!isnan(percent)) return percent * scale->duration_s;
    }
    double total = counter_total(word, sheet, scale);
    return word->of_dram ? 100 * total / board->dram_bytes_per_second : total;
}

void jm__ncu_scale_find(jm__ncu_scale *scale, double *clock_hz, const jm__ncu_words *words,
                        const jm__ncu_board *board, const jm__ncu_sheet *sheet)
{
    scale->duration_s = jm__ncu_sheet_place(sheet, &words->duration);
    scale->cycles = jm__ncu_sheet_place(sheet, &words->cycles);
    *clock_hz = jm__ncu_sheet_place(sheet, &words->clock);
    if (isnan(*clock_hz)) *clock_hz = scale->cycles / scale->duration_s;
    if (!(*clock_hz > 1e7 && *clock_hz < 1e11)) *clock_hz = NAN;
    if (isnan(scale->cycles)) scale->cycles = *clock_hz * scale->duration_s;
    scale->active_cycles = jm__ncu_sheet_place(sheet, &words->active);
    if (isnan(scale->active_cycles)) scale->active_cycles = scale->cycles;
    scale->multiprocessors = jm__ncu_sheet_place(sheet, &words->multiprocessors);
    if (isnan(scale->multiprocessors)) scale->multiprocessors = board->multiprocessors;
}

const jm__ncu_board *jm__ncu_board_by_memory(const jm__ncu_words *words, double dram_hz)
{
    const jm__ncu_board *nearest = &words->boards[0];
    if (isnan(dram_hz)) return nearest;
    for (size_t i = 1; i < words->board_count; i++)
        if (fabs(log(words->boards[i].dram_hz / dram_hz)) < fabs(log(nearest->dram_hz / dram_hz)))
            nearest = &words->boards[i];
    return nearest;
}
