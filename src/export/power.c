/* Power over time as CSV, a line per interval and board, for spreadsheets and pandas. The sum of `energy_j`
 * is the energy that the sensors saw. */
#include "attribute/rollup/power_over_time.h"
#include "base/plain.h"
#include "base/status.h"
#include "base/utf8.h"
#include "export/format.h"
#include "export/put.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Ten lines per second; for a day one in nine seconds. */
enum { BINS_PER_SECOND = 10, BINS_MIN = 10, BINS_MAX = 10000 };

static size_t count_bins(const jm_report *report)
{
    double bin_count = BINS_PER_SECOND * jm_report_totals_get(report)->duration_s;
    return bin_count > BINS_MIN ? (size_t)fmin(bin_count, BINS_MAX) : BINS_MIN;
}

/* Empty if unknown. */
static void write_real(FILE *out, double value)
{
    fputc(',', out);
    if (isfinite(value)) jm__print_to(out, "%.9g", value);
}

static void write_bin(FILE *out, const jm_report_board *at, const char *name, const jm_power_bin *bin,
                      int64_t begin_ns)
{
    fprintf(out, "%" PRId64, bin->from_ns);
    write_real(out, 1e-9 * (double)(bin->from_ns - begin_ns));
    write_real(out, 1e-9 * (double)(bin->to_ns - bin->from_ns));
    fprintf(out, ",%s,%" PRId32 ",", jm_board_kind_text(jm_board_kind_of(at->board)), at->index);
    jm__csv_put(out, name);
    write_real(out, bin->mean_w);
    write_real(out, bin->least_w);
    write_real(out, bin->most_w);
    write_real(out, bin->mean_w * bin->seen_s);
    write_real(out, bin->clock_mhz);
    fprintf(out, ",%s\n", at->board->simulated ? "true" : "false");
}

static jm_status write_boards(const jm_report *report, jm__power_over_time *power, jm_power_bin *bins,
                              size_t count, FILE *out, jm_error *err)
{
    for (size_t b = 0; b < jm_report_board_count(report); b++) {
        jm_report_board at;
        jm__strbuf name = {0};
        JM_TRY(jm_report_board_get(report, b, &at, err));
        JM_TRY(jm__power_over_time_bins(power, b, bins, count, err));
        jm__utf8_add(&name, at.board->name, true);
        for (size_t i = 0; !name.failed && i < count; i++)
            write_bin(out, &at, name.text != NULL ? name.text : "", &bins[i], bins[0].from_ns);
        bool failed = name.failed;
        jm__strbuf_free(&name);
        if (failed) return jm__no_memory(err, "jm_export");
    }
    return JM_OK;
}

static jm_status write_power(const jm_report *report, FILE *out, jm_error *err)
{
    size_t count = count_bins(report);
    jm__power_over_time *power;
    JM_TRY(jm__power_over_time_begin(&power, report, err));
    jm_power_bin *bins = calloc(count, sizeof *bins);
    fputs("from_ns,time_s,width_s,kind,index,board,power_w,power_least_w,power_most_w,energy_j,clock_mhz,"
          "simulated\n",
          out);
    jm_status status =
        bins != NULL ? write_boards(report, power, bins, count, out, err) : jm__no_memory(err, "jm_export");
    free(bins);
    jm__power_over_time_free(power);
    return status;
}

const jm__export_format jm__export_power = {"power", .write = write_power};
