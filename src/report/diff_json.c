/* A diff as JSON: all rows, every figure in full, null where there is none. */
#include "base/status.h"
#include "report/diff_parts.h"
#include "report/json_add.h"

static json_t *row_object(const jm_diff_row *row, bool is_total)
{
    const struct {
        const char *key;
        double value;
    } figures[] = {{"a_j", row->a_j},
                   {"a_low_j", row->a_low_j},
                   {"a_high_j", row->a_high_j},
                   {"b_j", row->b_j},
                   {"b_low_j", row->b_low_j},
                   {"b_high_j", row->b_high_j},
                   {"a_deviation_j", row->a_deviation_j},
                   {"b_deviation_j", row->b_deviation_j},
                   {"change", row->change},
                   {"change_low", row->change_low},
                   {"change_high", row->change_high}};
    json_t *object = json_object();
    bool whole = object != NULL;
    if (!is_total)
        whole = json_object_set_new(object, "path", jm__json_text(row->path)) == 0 &&
                json_object_set_new(object, "kind", jm__json_text(row->kind)) == 0;
    for (size_t i = 0; whole && i < sizeof figures / sizeof *figures; i++)
        whole = json_object_set_new(object, figures[i].key, jm__json_real(figures[i].value)) == 0;
    whole = whole && json_object_set_new(object, "a_runs", json_integer((json_int_t)row->a_runs)) == 0 &&
            json_object_set_new(object, "b_runs", json_integer((json_int_t)row->b_runs)) == 0;
    whole = whole && json_object_set_new(object, "verdict", jm__json_text(jm_change_text(row->verdict))) == 0;
    if (whole) return object;
    json_decref(object);
    return NULL;
}

static json_t *run_object(const jm__diff_run *run)
{
    const jm_report_quality *quality = jm_report_quality_get(run->report);
    return json_pack("{so sI so so so so so}", "name", jm__json_text(run->name), "units",
                     (json_int_t)run->units, "clock_mhz", jm__json_real(quality->clock_mhz), "temperature_c",
                     jm__json_real(quality->temperature_c), "throttled_share",
                     jm__json_real(quality->throttled_share), "verdict", jm__json_text(quality->verdict),
                     "verdict_reason", jm__json_text(quality->verdict_reason));
}

static json_t *runs_array(const jm_diff *diff, int side)
{
    json_t *runs = json_array();
    for (size_t r = 0; runs != NULL && r < jm__diff_run_count(diff); r++) {
        if (diff->runs[r].side != side || json_array_append_new(runs, run_object(&diff->runs[r])) == 0)
            continue;
        json_decref(runs);
        return NULL;
    }
    return runs;
}

/* A side of one run says of itself what the run does. */
static json_t *side_object(const jm_diff *diff, int side)
{
    jm__diff_conditions conditions = jm__diff_conditions_of(diff, side);
    const jm__diff_run *worst = jm__diff_worst_run(diff, side);
    const jm_report_quality *quality = jm_report_quality_get(worst->report);
    json_int_t units = 0;
    for (size_t r = 0; r < jm__diff_run_count(diff); r++)
        units += diff->runs[r].side == side ? diff->runs[r].units : 0;
    return json_pack("{so sI so so so so so so}", "name", jm__json_text(diff->names[side]), "units", units,
                     "clock_mhz", jm__json_real(conditions.clock_mhz), "temperature_c",
                     jm__json_real(conditions.temperature_c), "throttled_share",
                     jm__json_real(conditions.throttled_share), "verdict", jm__json_text(quality->verdict),
                     "verdict_reason", jm__json_text(quality->verdict_reason), "runs",
                     runs_array(diff, side));
}

static json_t *rows_array(const jm_diff *diff)
{
    json_t *rows = json_array();
    for (size_t i = 0; rows != NULL && i < diff->rows.count; i++) {
        if (json_array_append_new(rows, row_object(&diff->rows.items[i], false)) == 0) continue;
        json_decref(rows);
        return NULL;
    }
    return rows;
}

static json_t *diff_object(const jm_diff *diff)
{
    jm_by by = jm_report_options_get(diff->runs[0].report)->by;
    return json_pack("{ss ss ss sb so so ss sf so so}", "version", jm_version(), "by", jm_by_text(by), "per",
                     jm_per_text(diff->per), "simulated", (int)jm__diff_is_simulated(diff), "a",
                     side_object(diff, 0), "b", side_object(diff, 1), "gpu",
                     jm_sameness_text(diff->gains.sameness), "gain_u", diff->gain_u, "total",
                     row_object(&diff->total, true), "rows", rows_array(diff));
}

jm_status jm_diff_json(const jm_diff *diff, char **out, jm_error *err)
{
    json_t *root = diff_object(diff);
    jm__strbuf text = {0};
    bool whole = jm__json_add(&text, root, 0);
    json_decref(root);
    jm__strbuf_add(&text, "\n");
    *out = whole ? jm__strbuf_take(&text) : NULL;
    jm__strbuf_free(&text);
    return *out != NULL ? JM_OK : jm__no_memory(err, "jm_diff_json");
}
