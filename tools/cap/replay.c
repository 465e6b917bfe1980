/* Runs a search on a recorded sweep from CSV. */
#include "base/csv.h"
#include "base/options.h"
#include "base/status.h"
#include "cap/model.h"
#include "cap/search.h"
#include "format/rows/rows.h"

#include <joulemap/cap.h>
#include <math.h>
#include <stdlib.h>

/* ---- reading a sweep from CSV */

/* A row per cap. With repeats it is their mean, and its uncertainties follow from the pooled spread of all
 * repeats; without repeats they are 0. */
typedef struct jm__cap_sweep {
    jm_cap_probe rows[JM_CAP_MOST_CAPS]; /* in the order of the file */
    size_t count;
} jm__cap_sweep;

static const double max_value = 1e6; /* seconds: eleven days; watts */

typedef struct columns {
    size_t cap, time, power;
} columns;

/* Repeats so far: the number per row, and the pooled squared deviations. */
typedef struct repeats {
    size_t counts[JM_CAP_MOST_CAPS];
    double freedom;     /* degrees of freedom */
    double time, power; /* sums of squared relative deviations */
} repeats;

static jm_status read_positive(const jm__csv *csv, size_t column, double *value, jm_error *err)
{
    JM_TRY(jm__csv_number(csv, column, value, err));
    if (*value >= 1 / max_value && *value <= max_value) return JM_OK;
    return jm__csv_bad(csv, column, err, "%g is not between %g and %g", *value, 1 / max_value, max_value);
}

static jm_status read_watts(const jm__csv *csv, size_t column, double *value, jm_error *err)
{
    JM_TRY(read_positive(csv, column, value, err));
    if (*value <= JM_BOARD_MOST_W) return JM_OK;
    jm__csv_bad(csv, column, err, "%.9g W is more than any board takes", *value);
    return jm__hint(err, JM_BAD_DATA, "give watts: divide milliwatts by 1000");
}

/* Update a running mean. Returns the growth of the sum of squared deviations, relative to the mean. */
static double update_mean(double *mean, double value, double count)
{
    double deviation = value - *mean;
    *mean += deviation / count;
    return deviation * (value - *mean) / (*mean * *mean);
}

static void add_repeat(jm_cap_probe *mean, const jm_cap_probe *row, repeats *r, size_t i)
{
    double count = (double)++r->counts[i];
    r->time += update_mean(&mean->time_s, row->time_s, count);
    r->power += update_mean(&mean->power_w, row->power_w, count);
    r->freedom++;
}

/* Two or three repeats do not give the spread of a cap, so one pooled spread is used for all. */
static void find_uncertainties(jm__cap_sweep *sweep, const repeats *r)
{
    for (size_t i = 0; r->freedom > 0 && i < sweep->count; i++) {
        jm_cap_probe *row = &sweep->rows[i];
        row->time_u_s = fmin(row->time_s * sqrt(r->time / r->freedom / (double)r->counts[i]), row->time_s);
        row->power_u_w =
            fmin(row->power_w * sqrt(r->power / r->freedom / (double)r->counts[i]), row->power_w);
    }
}

static jm_status read_row(const jm__csv *csv, const columns *c, jm__cap_sweep *sweep, repeats *r,
                          jm_error *err)
{
    jm_cap_probe row = {0};
    if (jm__csv_missing(csv, c->time) || jm__csv_missing(csv, c->power)) return JM_OK; /* a gap */
    JM_TRY(read_watts(csv, c->cap, &row.cap_w, err));
    JM_TRY(read_positive(csv, c->time, &row.time_s, err));
    JM_TRY(read_watts(csv, c->power, &row.power_w, err));
    for (size_t i = 0; i < sweep->count; i++) {
        if (!jm__cap_same(sweep->rows[i].cap_w, row.cap_w)) continue;
        add_repeat(&sweep->rows[i], &row, r, i);
        return JM_OK;
    }
    if (sweep->count == JM_CAP_MOST_CAPS) {
        jm__csv_bad(csv, c->cap, err, "more than %d caps", JM_CAP_MOST_CAPS);
        if (err != NULL) err->status = JM_LIMIT;
        return JM_LIMIT;
    }
    r->counts[sweep->count] = 1;
    sweep->rows[sweep->count++] = row;
    return JM_OK;
}

static jm_status read_rows(jm__csv *csv, jm__cap_sweep *sweep, jm_error *err)
{
    columns c;
    repeats r = {0};
    JM_TRY(jm__csv_column(csv, "cap_w", &c.cap, err));
    JM_TRY(jm__csv_column(csv, "time_s", &c.time, err));
    JM_TRY(jm__csv_column(csv, "power_w", &c.power, err));
    for (;;) {
        bool more;
        JM_TRY(jm__csv_next(csv, &more, err));
        if (!more) break;
        JM_TRY(read_row(csv, &c, sweep, &r, err));
    }
    find_uncertainties(sweep, &r);
    if (sweep->count > 0) return JM_OK;
    return jm__csv_bad(csv, c.cap, err,
                       "no row with a value in each column: a sweep has a line for each cap");
}

/* Read CSV with the columns cap_w, time_s, power_w. BAD_DATA: an invalid value, no row. LIMIT. */
static jm_status cap_sweep_read(jm__cap_sweep *sweep, const char *path, jm_error *err)
{
    jm__csv *csv;
    sweep->count = 0;
    JM_TRY(jm__csv_open(&csv, path, err));
    jm_status status = read_rows(csv, sweep, err);
    jm__csv_close(csv);
    return status;
}

/* ---- the search */

static const jm_cap_probe *row_at(const jm__cap_sweep *sweep, double cap_w)
{
    for (size_t i = 0; i < sweep->count; i++)
        if (jm__cap_same(sweep->rows[i].cap_w, cap_w)) return &sweep->rows[i];
    return NULL;
}

static jm_status run_trials(jm_cap_search *search, const jm__cap_sweep *sweep, jm_error *err)
{
    for (;;) {
        jm_cap_trial trial;
        JM_TRY(jm_cap_search_next(search, &trial, err));
        if (trial.stage == JM_CAP_STAGE_OVER) return JM_OK;
        JM_TRY(jm_cap_search_tell(search, row_at(sweep, trial.cap_w), err));
    }
}

/* Recorded data cannot be measured again, so there is no proof. */
static jm_status replay(jm_cap_search **out, const jm__cap_sweep *sweep, jm_cap_plan_options plan,
                        jm_error *err)
{
    const jm_cap_search_options options = {.size = sizeof options, .plan = &plan, .no_proof = true};
    double caps_w[JM_CAP_MOST_CAPS];
    for (size_t i = 0; i < sweep->count; i++)
        caps_w[i] = sweep->rows[i].cap_w;
    plan.caps_w = caps_w;
    plan.cap_count = sweep->count;
    jm_cap_search *search;
    JM_TRY(jm_cap_search_create(&search, &options, err));
    search->plan->once = true;
    jm_status status = run_trials(search, sweep, err);
    if (status == JM_OK)
        *out = search;
    else
        jm_cap_search_free(search);
    return status;
}

jm_status jm_cap_replay(jm_cap_search **out, const char *path, const jm_cap_plan_options *options,
                        jm_error *err)
{
    *out = NULL;
    jm_cap_plan_options o;
    JM_TRY(jm__options_copy(&o, sizeof o, options, "jm_cap_replay", err));
    if (o.caps_w != NULL || o.cap_count > 0 || o.low_w != 0 || o.high_w != 0 || o.step_w != 0 ||
        o.reference_w != 0 || o.drift != 0)
        return jm__fail(err, JM_USAGE, 0, "jm_cap_replay",
                        "caps, reference and drift of a replay are the sweep's");
    jm__cap_sweep *sweep = malloc(sizeof *sweep);
    if (sweep == NULL) return jm__no_memory(err, "jm_cap_replay");
    jm_status status = cap_sweep_read(sweep, path, err);
    if (status == JM_OK) status = replay(out, sweep, o, err);
    free(sweep);
    return status;
}
