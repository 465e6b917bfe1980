/* Samples of counters into rates. A board may have several sets (sampling that began anew): each is read by
 * the names of its metrics. */
#include "attribute/counters/rate_windows.h"

#include "attribute/work/clock_track.h"
#include "base/status.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Values of this unit are events of the whole window; all others are rates already. */
static const char counted[] = "count";

/* The n-th text of a JSON array; NULL if there is none. */
static const char *text_at(const json_t *array, size_t n)
{
    return json_string_value(json_array_get(array, n));
}

void jm__metrics_free(char **metrics, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(metrics[i]);
    free(metrics);
}

static jm_status no_texts(const jm__counter_set *set, jm_error *err)
{
    return jm__fail(err, JM_BAD_DATA, 0, "jm__metrics_of",
                    "the metrics of the set of counters %lld are no texts", (long long)set->id);
}

static jm_status copy_texts(char ***out, size_t *count, const jm__counter_set *set, jm_error *err)
{
    json_t *names = json_loads(set->metrics, 0, NULL);
    size_t wanted = (size_t)set->metric_count;
    if (json_array_size(names) != wanted) {
        json_decref(names);
        return no_texts(set, err);
    }
    jm_status status = JM_OK;
    char **texts = calloc(wanted, sizeof *texts);
    if (texts == NULL) status = jm__no_memory(err, "jm__metrics_of");
    for (size_t i = 0; status == JM_OK && i < wanted; i++) {
        const char *name = text_at(names, i);
        if (name == NULL)
            status = no_texts(set, err);
        else if ((texts[i] = strdup(name)) == NULL)
            status = jm__no_memory(err, "jm__metrics_of");
    }
    json_decref(names);
    if (status != JM_OK) {
        if (texts != NULL) jm__metrics_free(texts, wanted);
        return status;
    }
    *out = texts;
    *count = wanted;
    return JM_OK;
}

jm_status jm__metrics_of(char ***metrics, size_t *count, const jm__dataset *dataset, int64_t board_id,
                         jm_error *err)
{
    *metrics = NULL;
    *count = 0;
    for (size_t i = 0; i < dataset->counters.set_count; i++) {
        const jm__counter_set *set = &dataset->counters.sets[i];
        if (set->board_id == board_id && set->metric_count > 0) return copy_texts(metrics, count, set, err);
    }
    return JM_OK;
}

/* Where the chosen metrics are in each set, and how they are read. */
typedef struct reading {
    const jm__dataset *dataset;
    int64_t board_id;
    const jm__rate_choice *choice;
    int32_t *place;   /* [sets * choice->count]: index in the set; -1 in the first: the set lacks one */
    bool *is_counted; /* likewise */
    bool any;
} reading;

/* False if memory is out. A set that lacks a metric, or whose texts are none, is not read. */
static void find_in_set(reading *r, size_t s)
{
    const jm__counter_set *set = &r->dataset->counters.sets[s];
    int32_t *place = r->place + s * r->choice->count;
    bool *is_counted = r->is_counted + s * r->choice->count;
    json_t *names = json_loads(set->metrics, 0, NULL), *units = json_loads(set->units, 0, NULL);
    bool all = set->board_id == r->board_id;
    for (size_t m = 0; m < r->choice->count; m++)
        place[m] = -1;
    for (size_t m = 0; all && m < r->choice->count; m++) {
        for (size_t i = 0; i < (size_t)set->metric_count && place[m] < 0; i++) {
            const char *name = text_at(names, i), *unit = text_at(units, i);
            if (name == NULL || strcmp(name, r->choice->metrics[m]) != 0) continue;
            place[m] = (int32_t)i;
            is_counted[m] = unit != NULL && strcmp(unit, counted) == 0;
        }
        all = place[m] >= 0;
    }
    if (!all && r->choice->count > 0) place[0] = -1;
    r->any = r->any || (all && r->choice->count > 0);
    json_decref(names);
    json_decref(units);
}

static jm_status begin(reading *r, const jm__dataset *dataset, int64_t board_id,
                       const jm__rate_choice *choice, jm_error *err)
{
    size_t sets = dataset->counters.set_count;
    *r = (reading){.dataset = dataset, .board_id = board_id, .choice = choice};
    r->place = calloc(sets * choice->count + 1, sizeof *r->place);
    r->is_counted = calloc(sets * choice->count + 1, sizeof *r->is_counted);
    if (r->place == NULL || r->is_counted == NULL) return jm__no_memory(err, "jm__rates_each");
    for (size_t s = 0; s < sets; s++)
        find_in_set(r, s);
    return JM_OK;
}

static void end(reading *r)
{
    free(r->place);
    free(r->is_counted);
}

jm_status jm__rates_known(bool *known, const jm__dataset *dataset, int64_t board_id,
                          const jm__rate_choice *choice, jm_error *err)
{
    reading r;
    jm_status status = begin(&r, dataset, board_id, choice, err);
    *known = r.any;
    end(&r);
    return status;
}

/* While blocks pass. */
typedef struct passing {
    reading read;
    jm__clock_between clock;
    jm__rate_taker take;
    void *taker;
    int64_t end_ns; /* of the last window */
    double rate[JM_COUNTER_METRICS_MAX];
    jm__counter_sample sample;
} passing;

/* The rates of a sample; false if one was not measured. */
static bool rates_of(passing *p, const int32_t *place, const bool *is_counted, double factor)
{
    double seconds = (double)(p->sample.end_ns - p->sample.start_ns) * 1e-9;
    for (size_t m = 0; m < p->read.choice->count; m++) {
        double value = p->sample.values[place[m]];
        if (!isfinite(value) || value < 0) return false;
        p->rate[m] = factor * (is_counted[m] ? value / seconds : value);
    }
    return true;
}

static jm_status take_block(void *context, const jm__counter_block *block, jm_error *err)
{
    passing *p = context;
    const jm__rate_choice *choice = p->read.choice;
    size_t s = (size_t)block->set_id - 1;
    const int32_t *place = p->read.place + s * choice->count;
    if (place[0] < 0) return JM_OK;
    for (int64_t i = 0; i < block->count; i++) {
        jm__counter_block_sample(block, p->read.dataset->counters.sets[s].metric_count, i, &p->sample);
        if (p->sample.start_ns < p->end_ns || p->sample.end_ns <= p->sample.start_ns) continue;
        double mhz = jm__clock_between_at(&p->clock, (p->sample.start_ns + p->sample.end_ns) / 2);
        bool scaled = isfinite(mhz) && isfinite(choice->clock_mhz);
        double factor = scaled ? pow(mhz / choice->clock_mhz, choice->clock_exponent) : 1;
        p->end_ns = p->sample.end_ns;
        if (!rates_of(p, place, p->read.is_counted + s * choice->count, factor)) continue;
        const jm__rate_window window = {p->sample.start_ns, p->sample.end_ns, mhz, p->rate};
        JM_TRY(p->take(p->taker, &window, err));
    }
    return JM_OK;
}

jm_status jm__rates_each(const jm__dataset *dataset, int64_t board_id, const jm__rate_choice *choice,
                         jm__rate_taker take, void *taker, jm_error *err)
{
    if (dataset->counters.each == NULL || choice->count == 0) return JM_OK;
    passing *p = calloc(1, sizeof *p);
    if (p == NULL) return jm__no_memory(err, "jm__rates_each");
    p->take = take;
    p->taker = taker;
    p->end_ns = INT64_MIN;
    jm_status status = begin(&p->read, dataset, board_id, choice, err);
    if (status == JM_OK && !jm__clock_between_begin(&p->clock, dataset, &dataset->boards[board_id - 1]))
        status = jm__no_memory(err, "jm__rates_each");
    if (status == JM_OK && p->read.any)
        status = dataset->counters.each(dataset->counters.context, take_block, p, err);
    jm__clock_between_free(&p->clock);
    end(&p->read);
    free(p);
    return status;
}
