/* Power over time for the page's chart. */
#include "attribute/report.h"
#include "attribute/rollup/power_over_time.h"
#include "base/status.h"
#include "page/column.h"
#include "page/parts.h"

#include <math.h>
#include <stdlib.h>

/* A zoom shows single readings, which come every 20 ms at best, of a minute and more; eight GPUs stay below a
 * megabyte. */
enum { MOST_BINS = 4000, MOST_BINS_IN_ALL = 16000, LEAST_BINS = 500 };
static const double finest_s = 0.01;

static json_t *seen_of(const void *context, size_t i)
{
    return jm__json_real(((const jm_power_bin *)context)[i].seen_s);
}

static json_t *mean_of(const void *context, size_t i)
{
    return jm__json_real(((const jm_power_bin *)context)[i].mean_w);
}

static json_t *least_of(const void *context, size_t i)
{
    return jm__json_real(((const jm_power_bin *)context)[i].least_w);
}

static json_t *most_of(const void *context, size_t i)
{
    return jm__json_real(((const jm_power_bin *)context)[i].most_w);
}

static json_t *clock_of(const void *context, size_t i)
{
    return jm__json_real(((const jm_power_bin *)context)[i].clock_mhz);
}

static const jm__page_column columns[] = {{"seen_s", seen_of},
                                          {"mean_w", mean_of},
                                          {"least_w", least_of},
                                          {"most_w", most_of},
                                          {"clock_mhz", clock_of}};

static size_t bins_for(const jm_report *report)
{
    double seconds = jm_report_totals_get(report)->duration_s;
    size_t boards = jm_report_board_count(report);
    size_t most = MOST_BINS_IN_ALL / (boards > 0 ? boards : 1);
    if (most > MOST_BINS) most = MOST_BINS;
    if (most < LEAST_BINS) most = LEAST_BINS;
    double finest = seconds / finest_s;
    return finest >= 1 && finest < (double)most ? (size_t)finest : most;
}

typedef struct asked {
    const jm_report *report;
    jm__power_over_time *power;
    jm_power_bin *bins;
    size_t count;
    jm_error *err;
} asked;

static json_t *board_power(const void *context, size_t board)
{
    const asked *a = context;
    jm_report_board info;
    if (jm_report_board_get(a->report, board, &info, a->err) != JM_OK ||
        jm__power_over_time_bins(a->power, board, a->bins, a->count, a->err) != JM_OK)
        return NULL;
    json_t *object = jm__page_columns(columns, sizeof columns / sizeof *columns, a->count, a->bins);
    if (json_object_set_new(object, "index", json_integer(info.index)) == 0 &&
        json_object_set_new(object, "name", jm__json_text(info.board->name)) == 0)
        return object;
    json_decref(object);
    return NULL;
}

json_t *jm__page_power(const jm_report *report, jm_error *err)
{
    enum { MOST_BOARDS = 16 };
    size_t boards = jm_report_board_count(report), bins = bins_for(report);
    asked a = {.report = report, .bins = calloc(bins, sizeof *a.bins), .count = bins, .err = err};
    json_t *list = NULL;
    if (a.bins != NULL && jm__power_over_time_begin(&a.power, report, err) == JM_OK)
        list = jm__page_array(boards < MOST_BOARDS ? boards : MOST_BOARDS, board_power, &a);
    jm__power_over_time_free(a.power);
    if (list == NULL) {
        free(a.bins);
        return NULL;
    }
    double start_ns = (double)jm__report_dataset(report)->start_ns;
    double from_s = boards > 0 ? ((double)a.bins[0].from_ns - start_ns) * 1e-9 : NAN;
    double to_s = boards > 0 ? ((double)a.bins[bins - 1].to_ns - start_ns) * 1e-9 : NAN;
    free(a.bins);
    return json_pack("{so so so}", "from_s", jm__json_real(from_s), "to_s", jm__json_real(to_s), "boards",
                     list);
}
