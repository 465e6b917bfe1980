/* Power over time as JSON. */
#include "attribute/rollup/power_over_time.h"
#include "base/json_value.h"
#include "base/status.h"

#include <joulemap/report.h>
#include <stdlib.h>

static json_t *bin_json(const jm_power_bin *bin)
{
    return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "from_ns", (json_int_t)bin->from_ns, "to_ns",
                     (json_int_t)bin->to_ns, "seen_s", jm__json_real(bin->seen_s), "mean_w",
                     jm__json_real(bin->mean_w), "least_w", jm__json_real(bin->least_w), "most_w",
                     jm__json_real(bin->most_w), "clock_mhz", jm__json_real(bin->clock_mhz));
}

static json_t *board_json(const jm_report_board *at, const jm_power_bin *bins, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(array, bin_json(&bins[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    return json_pack("{s:i, s:o, s:o}", "index", at->index, "name", jm__json_text(at->board->name), "bins",
                     array);
}

static jm_status add_boards(json_t *boards, const jm_report *report, const jm__power_over_time *power,
                            jm_power_bin *bins, size_t count, jm_error *err)
{
    for (size_t b = 0; b < jm_report_board_count(report); b++) {
        jm_report_board at;
        JM_TRY(jm_report_board_get(report, b, &at, err));
        JM_TRY(jm__power_over_time_bins(power, b, bins, count, err));
        if (json_array_append_new(boards, board_json(&at, bins, count)) != 0)
            return jm__no_memory(err, "jm_report_power_json");
    }
    return JM_OK;
}

jm_status jm_report_power_json(const jm_report *report, size_t bins, char **out, jm_error *err)
{
    jm_power_bin *room = calloc(bins + 1, sizeof *room);
    json_t *boards = json_array(), *root = NULL;
    *out = NULL;
    jm__power_over_time *power = NULL;
    jm_status status = jm__power_over_time_begin(&power, report, err);
    if (status == JM_OK)
        status = room != NULL && boards != NULL ? add_boards(boards, report, power, room, bins, err)
                                                : jm__no_memory(err, "jm_report_power_json");
    jm__power_over_time_free(power);
    if (status == JM_OK) {
        root =
            json_pack("{s:b, s:O}", "simulated", jm_report_totals_get(report)->simulated, "boards", boards);
        *out = root != NULL ? json_dumps(root, JSON_INDENT(2)) : NULL;
        if (*out == NULL) status = jm__no_memory(err, "jm_report_power_json");
    }
    json_decref(root);
    json_decref(boards);
    free(room);
    return status;
}
