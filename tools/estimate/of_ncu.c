/* An estimate from an ncu file, with a board's model. */
#include "attribute/work/classes.h"
#include "base/status.h"
#include "estimate/estimate.h"
#include "estimate/model_choice.h"
#include "estimate/power.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The clock's exponent was tested within this ratio of clocks, in both directions (docs/board-model.md). */
static const double tested_clock_ratio = 0.9;

typedef struct ncu_estimate {
    jm_estimate *to;
    const jm_estimate_options *options;
    jm__ncu ncu;
    jm__ncu_words words;
    jm__ncu_sheet sheet;
    jm__model_choice choice;
    jm__estimate_setup setup;
    jm__estimate_sums sums;
    double *features;
    jm__errors errors;
    /* counts and figures for the notes */
    size_t no_clock, with_missing, beyond, refused, other_chip, over_limit;
    double ncu_clock_mhz, flushed_j;
    jm_estimated_range peak, lowest;
    char missing[400];
} ncu_estimate;

/* ---- kernels as rows */

static bool is_of_chip(const ncu_estimate *m, const jm__ncu_kernel *kernel)
{
    return kernel->cc_major == 0 ||
           (kernel->cc_major == m->words.cc_major && kernel->cc_minor == m->words.cc_minor);
}

static void list_missing(ncu_estimate *m)
{
    size_t used = 0;
    if (m->missing[0] != '\0') return;
    for (size_t f = 0; f < m->setup.model->count; f++) {
        const jm__feature *feature = &m->setup.model->features[f];
        const jm__ncu_word *word = jm__ncu_word_of(&m->words, feature->metric);
        if (!(feature->weight_w > 0) || word == NULL || word->always || word->counter_count == 0) continue;
        double total =
            jm__ncu_sheet_total(&m->sheet, word->counters[0], word->peak, &(jm__ncu_scale){1, 1, 1, 1});
        if (!isnan(total)) continue;
        int added = snprintf(m->missing + used, sizeof m->missing - used, "%s%s", used > 0 ? ", " : "",
                             word->counters[0]);
        if (added < 0 || (size_t)added >= sizeof m->missing - used) {
            m->missing[used] = '\0';
            return;
        }
        used += (size_t)added;
    }
}

/* Fills in figures and their ranges. Returns the range of the energy without constant data. */
static jm__sides fill_row(ncu_estimate *m, jm_estimated_kernel *row, const jm__kernel_power *power)
{
    const jm__board_model *model = m->setup.model;
    jm__sides of_w, of_j;
    jm__kernel_sides(&of_w, &of_j, model, &m->errors, power, m->features);
    double base_w = 0.5 * model->constant_w;
    row->power_w = power->power_w;
    row->power_low_w = fmax(power->power_w - hypot(of_w.down, power->data_w), base_w);
    row->power_high_w = power->power_w + of_w.up;
    row->energy_j = power->power_w * power->duration_s;
    row->energy_low_j = row->energy_j - hypot(of_j.down, power->data_w * power->duration_s);
    row->energy_low_j = fmax(row->energy_low_j, base_w * power->duration_s * (1 - fmin(power->time_u, 0.9)));
    row->energy_high_j = row->energy_j + of_j.up;
    row->beyond_w = power->beyond_w;
    row->missing_w = power->missing_w;
    return of_j;
}

static void count_row(ncu_estimate *m, const jm_estimated_kernel *row, const jm__kernel_power *power)
{
    jm_estimated_range range = {row->power_w, row->power_low_w, row->power_high_w};
    m->no_clock += power->no_clock;
    m->with_missing += power->missing > 0;
    m->beyond += power->beyond_w > 0.05 * power->power_w;
    m->over_limit += row->power_w > m->to->total.limit_w;
    m->flushed_j += power->flushed_u_w * power->duration_s * (double)row->launches;
    if (!power->no_clock) m->ncu_clock_mhz = power->ncu_clock_mhz;
    if (m->to->total.estimated == 0 || range.value > m->peak.value) m->peak = range;
    if (m->to->total.estimated == 0 || range.value < m->lowest.value) m->lowest = range;
    m->to->total.estimated++;
    m->to->total.launches += row->launches;
}

/* Stores the rates at the kernel's clock, without the factor of its voltage. */
static jm_status store_rates(ncu_estimate *m, const jm__kernel_power *power, jm_error *err)
{
    const jm__board_model *model = m->setup.model;
    double voltage = pow(power->clock_mhz / model->clock_mhz, model->clock_exponent);
    for (size_t f = 0; f < model->count; f++) {
        double rate = power->reason == NULL ? m->features[f] * model->features[f].reference / voltage : NAN;
        if (!jm__vec_push(&m->to->rates, rate)) return jm__no_memory(err, "jm_estimate_make");
    }
    return JM_OK;
}

/* Stores the names of the features in the rates. */
static jm_status name_features(ncu_estimate *m, jm_error *err)
{
    for (size_t f = 0; f < m->setup.model->count; f++) {
        const char *name = jm__estimate_text(m->to, jm__ncu_feature_name(m->setup.model->features[f].metric));
        if (name == NULL || !jm__vec_push(&m->to->features, name))
            return jm__no_memory(err, "jm_estimate_make");
    }
    return JM_OK;
}

/* Adds one kernel of the file, at the clocks of m->setup: a row, and its part of the sums. */
static jm_status add_kernel(ncu_estimate *m, const jm__ncu_kernel *kernel, jm_error *err)
{
    jm__kernel_power power = {.reason = "it ran on another chip"};
    jm_estimated_kernel row = jm__estimated_empty();
    row.id = kernel->id;
    row.line = kernel->line;
    row.launches = kernel->launches;
    row.process_id = kernel->process_id;
    row.kernel = kernel->name;
    row.process = kernel->process;
    row.device = kernel->device;
    row.grid = kernel->grid;
    row.block = kernel->block;
    row.extrapolated = m->to->total.extrapolated;
    if (is_of_chip(m, kernel)) {
        jm__ncu_sheet_fill(&m->sheet, kernel);
        jm__kernel_power_find(&power, m->features, &m->setup, &m->sheet);
        row.duration_s = power.duration_s;
        row.ncu_duration_s = power.ncu_duration_s;
        row.ncu_clock_mhz = power.ncu_clock_mhz;
        row.clock_mhz = power.clock_mhz;
        if (power.missing > 0) list_missing(m);
    } else {
        m->other_chip++;
    }
    if (power.reason == NULL) {
        jm__sides row_j = fill_row(m, &row, &power);
        count_row(m, &row, &power);
        int family = (int)jm__kernel_family_of(kernel->name);
        JM_TRY(jm__estimate_sums_add(&m->sums, &power, m->features, family,
                                     (jm__same_kernel){kernel->name, kernel->grid}, (double)kernel->launches,
                                     row_j, err));
    } else {
        m->refused++;
        row.reason = power.reason;
    }
    m->to->total.kernels++;
    JM_TRY(store_rates(m, &power, err));
    return jm__vec_push(&m->to->kernels, row) ? JM_OK : jm__no_memory(err, "jm_estimate_make");
}

/* ---- totals */

/* Relative error of the idle power if the model has none: its constant is used (docs/board-model.md, "Idle").
 */
static const double idle_u = 0.35;

static void find_idle(ncu_estimate *m, jm_estimated_range *idle)
{
    const jm__board_model *model = m->setup.model;
    const jm__model_idle *rest = &model->idle[JM_IDLE_LONG];
    double power_w = rest->u_w > 0 ? rest->power_w : model->constant_w;
    double u = rest->u_w > 0 && !model->shipped ? hypot(0.25, rest->u_w / rest->power_w) : idle_u;
    *idle = (jm_estimated_range){power_w, fmax(power_w * (1 - JM_ESTIMATE_Z * u), 0),
                                 power_w * (1 + JM_ESTIMATE_Z * u)};
}

/* The range of a sum, extended down by `data` for constant data, divided by `divisor`. */
static jm_estimated_range make_range(double value, double data, jm__sides sides, double divisor)
{
    return (jm_estimated_range){value / divisor, fmax(value - hypot(sides.down, data), 0) / divisor,
                                (value + sides.up) / divisor};
}

/* Totals of all rows, and their energy by parts of the chip. */
static void find_totals(ncu_estimate *m)
{
    jm_estimated_total *total = &m->to->total;
    jm__sides of_j = jm__estimate_sums_sides(&m->sums);
    double seconds = m->sums.seconds, program_s = m->options->program_s;
    jm_estimated_range none = {NAN, NAN, NAN};
    total->kernels_s = seconds;
    total->kernels_j = make_range(m->sums.energy_j, m->sums.data_j, of_j, 1);
    total->peak_w = m->peak;
    total->min_w = m->lowest;
    find_idle(m, &total->idle_w);
    total->program_s = program_s > 0 ? program_s : NAN;
    total->idle_s = program_s > 0 ? fmax(program_s - seconds, 0) : NAN;
    total->program_j = none;
    double all_s = seconds, all_j = m->sums.energy_j;
    if (program_s > 0) {
        double idle_j = (total->idle_w.high - total->idle_w.value) * total->idle_s;
        all_s = fmax(program_s, seconds);
        all_j += total->idle_w.value * total->idle_s;
        of_j = (jm__sides){hypot(of_j.down, idle_j), hypot(of_j.up, idle_j)};
        total->program_j = make_range(all_j, m->sums.data_j, of_j, 1);
        if (total->idle_s > 0 && total->idle_w.value < total->min_w.value) total->min_w = total->idle_w;
    }
    total->average_w = make_range(all_j, m->sums.data_j, of_j, all_s);
    jm__estimate_sums_parts(&m->sums, m->to);
}

/* ---- notes on the figures */

static void note_file(ncu_estimate *m)
{
    jm__estimate_notes *notes = &m->to->notes;
    jm_estimate *to = m->to;
    const jm_estimated_total *total = &to->total;
    const char *why = m->choice.why, *separator = why[0] != '\0' ? ": " : "";
    jm__estimate_note(notes, "model: %s, learnt on %s%s%s", to->model, to->board, separator, why);
    const char *how = isnan(m->choice.dram_hz) ? "the usual one: the file has no memory clock either"
                                               : "the nearest by its memory's clock";
    if (!m->choice.board_stated && m->choice.file_name != NULL)
        jm__estimate_note(
            notes, "extrapolated: the file is from %.80s, for which there is no model: taken as %s, %s",
            m->choice.file_name, m->choice.file_board->name, how);
    else if (!m->choice.board_stated)
        jm__estimate_note(notes,
                          "the file does not name its board (a raw page with "
                          "device__attribute_display_name does): taken as %s, %s",
                          m->choice.file_board->name, how);
    if (m->choice.unread[0] != '\0')
        jm__estimate_note(notes, "a kept model cannot be read: %s", m->choice.unread);
    if (m->choice.board != m->choice.file_board)
        jm__estimate_note(notes,
                          "extrapolated: the file is from %s, figures are for %s: times by multiprocessors, "
                          "clock and memory",
                          m->choice.file_board->name, m->choice.board->name);
    if (m->choice.is_scaled)
        jm__estimate_note(notes, "extrapolated: the model of %s was scaled to %s: %.0f %% wider", to->board,
                          m->choice.board->name, 100 * m->choice.scale_u);
    if (m->refused > 0)
        jm__estimate_note(notes, "%zu of %zu kernels have no figure and are in no total (column reason)",
                          m->refused, total->kernels);
    if (m->other_chip > 0)
        jm__estimate_note(notes, "%zu kernels ran on another chip than %s", m->other_chip, m->words.title);
}

static void note_conditions(ncu_estimate *m)
{
    jm__estimate_notes *notes = &m->to->notes;
    const jm_estimated_total *total = &m->to->total;
    double model_mhz = m->setup.model->clock_mhz, mhz = m->setup.clock_mhz;
    if (m->no_clock > 0)
        jm__estimate_note(notes,
                          "%zu kernels have no clock of ncu's (SM Frequency): their times are taken as "
                          "they are, 15 %% wider",
                          m->no_clock);
    if (total->estimated > m->no_clock && m->setup.clocks_free && !m->setup.clock_is_fixed &&
        m->setup.board == m->setup.file_board)
        jm__estimate_note(notes, "ncu left the clock as the board sets it: kernels are taken at theirs");
    else if (total->estimated > m->no_clock)
        jm__estimate_note(
            notes,
            "ncu ran at %.0f MHz (it sets the base clock, but for --clock-control none); figures "
            "are for %.0f MHz: time that does not wait for the memory scales with the clock",
            m->ncu_clock_mhz, mhz);
    if (fabs(mhz / model_mhz - 1) > 1 - tested_clock_ratio)
        jm__estimate_note(notes, "extrapolated: to %.0f MHz, the model was learnt at %.0f", mhz, model_mhz);
    if (m->flushed_j > 0.01 * m->sums.energy_j)
        jm__estimate_note(
            notes,
            "ncu empties the caches before each kernel (but for --cache-control none): up to %.0f MB of "
            "its reads may come from the cache in the program; intervals allow for it",
            m->setup.board->l2_bytes / 1e6);
    if (m->with_missing > 0)
        jm__estimate_note(notes, "%zu kernels lack counters that the model needs; intervals are wider: %s",
                          m->with_missing, m->missing);
    if (m->beyond > 0)
        jm__estimate_note(notes,
                          "%zu kernels do more than any that the model was learnt from; intervals are wider",
                          m->beyond);
    if (isfinite(total->limit_mhz))
        jm__estimate_note(
            notes,
            "at the board's power limit, %.0f W: it lowers its clock to some %.0f MHz, for which the "
            "figures are (--power-limit none: kernels that run for some ms only)",
            total->limit_w, total->limit_mhz);
    else if (m->over_limit > 0)
        jm__estimate_note(
            notes,
            "%zu kernels draw more than the board's limit, %.0f W, the mean of all does not: an "
            "interval of theirs that lasts longer than some 0.1 s runs at a lower clock",
            m->over_limit, total->limit_w);
    if (m->options->program_s > 0 && m->sums.seconds > m->options->program_s)
        jm__estimate_note(notes,
                          "the kernels take %.3g s, the program %.3g: they overlap there, or are slower "
                          "under ncu; no gaps are counted",
                          m->sums.seconds, m->options->program_s);
    if (!(m->options->program_s > 0))
        jm__estimate_note(notes,
                          "gaps between kernels are not in the totals: ncu does not see them (--program "
                          "SECONDS gives the program's time)");
    if (total->program_s > 0 && !(m->setup.model->idle[JM_IDLE_LONG].u_w > 0))
        jm__estimate_note(notes, "the model has no idle power: its constant is used, %.0f W",
                          total->idle_w.value);
}

/* Outside that ratio, the relative error of the change in a clock's logarithm. A choice. */
static const double extrapolated_u = 0.5;

enum { LIMIT_ROUNDS = 10 };

/* ---- files */

/* Counters have the same names on other chips, but other weights. ncu files name the chip since 2022.3, the
 * first version that supports chips with a model. */
static jm_status check_chip(ncu_estimate *m, jm_error *err)
{
    jm__ncu_sheet_fill(&m->sheet, &m->ncu.kernels[0]);
    bool is_requested = m->options->board != NULL || m->options->model != NULL;
    if (is_requested || jm__model_file_names_board(&m->words, &m->sheet)) return JM_OK;
    jm__fail(err, JM_NOT_SUPPORTED, 0, NULL,
             "%s does not name its chip; ncu does since 2022.3, in its column CC", m->options->csv);
    return jm__hint(err, JM_NOT_SUPPORTED, "if it is from one of %s, add --board %s", m->words.title,
                    m->words.boards[0].name);
}

/* Loads ncu's words for the file's chip: that of the first kernel with a chip. */
static jm_status read_file(ncu_estimate *m, jm_error *err)
{
    jm__ncu file;
    JM_TRY(jm__ncu_words_load(&m->words, 0, 0, err));
    JM_TRY(jm__ncu_read(&file, m->options->csv, jm__ncu_words_filter, &m->words, err));
    size_t k = 0;
    while (k + 1 < file.count && file.kernels[k].cc_major == 0)
        k++;
    int major = file.kernels[k].cc_major, minor = file.kernels[k].cc_minor;
    jm_status status = jm__ncu_words_load(&m->words, major, minor, err);
    m->ncu = file;
    if (status != JM_OK) return status;
    JM_TRY(jm__ncu_sheet_init(&m->sheet, &m->ncu, err));
    return major == 0 ? check_chip(m, err) : JM_OK;
}

/* The highest power of a kernel in the model's training, in bursts too short for the limit of the mean power.
 */
static double max_kernel_power(const jm__board_model *model)
{
    double max_w = 0;
    for (size_t i = 0; i < model->kernel_count; i++)
        if (model->kernels[i].power_w > max_w) max_w = model->kernels[i].power_w;
    return max_w > 0 ? max_w : INFINITY;
}

/* The highest clock of the file's kernels; infinite where ncu says that it left the clock to the board. */
static double max_clock(ncu_estimate *m)
{
    double max_mhz = m->ncu.clocks_free ? INFINITY : 0;
    for (size_t k = 0; k < m->ncu.count && isfinite(max_mhz); k++) {
        jm__ncu_sheet_fill(&m->sheet, &m->ncu.kernels[k]);
        max_mhz = fmax(max_mhz, 1e-6 * jm__ncu_sheet_place(&m->sheet, &m->words.clock)); /* NaN: none */
    }
    return max_mhz;
}

static jm_status choose_model(ncu_estimate *m, jm_error *err)
{
    jm__model_request request = {
        .model = m->options->model, .board = m->options->board, .max_mhz = max_clock(m)};
    jm__ncu_sheet_fill(&m->sheet, &m->ncu.kernels[0]);
    JM_TRY(jm__model_choose(&m->choice, request, &m->words, &m->sheet, err));
    const jm__board_model *model = &m->choice.model;
    bool other_board = m->choice.board != m->choice.file_board;
    double board_mhz =
        m->choice.is_scaled ? fmin(model->clock_mhz, m->choice.board->clock_mhz) : model->clock_mhz;
    m->setup = (jm__estimate_setup){
        .model = model, .words = &m->words, .board = m->choice.board, .file_board = m->choice.file_board};
    m->setup.clock_mhz = m->options->clock_mhz > 0 ? m->options->clock_mhz : board_mhz;
    jm__data_shares(model, &m->setup.data_min, &m->setup.data_typical);
    double ratio = m->setup.clock_mhz / model->clock_mhz;
    bool far = ratio < tested_clock_ratio || ratio > 1 / tested_clock_ratio;
    JM_TRY(jm__errors_find(&m->errors, model, m->choice.scale_u, far ? extrapolated_u * fabs(log(ratio)) : 0,
                           err));
    bool unknown = !m->choice.board_stated && m->choice.file_name != NULL;
    m->to->total.extrapolated = far || m->choice.is_scaled || other_board || unknown;
    m->to->total.limit_w = m->options->limit_w > 0       ? m->options->limit_w
                           : m->setup.board->limit_w > 0 ? m->setup.board->limit_w
                                                         : NAN;
    for (size_t f = 0; f < model->count; f++)
        m->setup.word_of[f] = jm__ncu_word_of(&m->words, model->features[f].metric);
    m->setup.clock_is_fixed = m->options->clock_mhz > 0;
    m->setup.caches_kept = m->ncu.caches_kept;
    m->setup.max_mhz = INFINITY;
    m->setup.max_w = max_kernel_power(model);
    m->setup.clocks_free = jm__clock_is_full(request.max_mhz, model->clock_mhz);
    snprintf(m->to->board, sizeof m->to->board, "%.100s", model->board);
    snprintf(m->to->model, sizeof m->to->model, "%s", m->choice.name);
    m->features = calloc(model->count + 1, sizeof *m->features);
    return m->features != NULL ? JM_OK : jm__no_memory(err, "jm_estimate_make");
}

/* ---- all kernels, at the clock within the board's power limit */

static jm_status estimate_kernels(ncu_estimate *m, jm_error *err)
{
    jm_estimated_total *total = &m->to->total;
    total->kernels = total->estimated = 0;
    total->launches = 0;
    m->to->kernels.count = m->to->part_count = m->to->rates.count = 0;
    m->no_clock = m->with_missing = m->beyond = m->refused = m->other_chip = m->over_limit = 0;
    m->flushed_j = 0;
    memset(m->to->parts, 0, sizeof m->to->parts);
    jm__estimate_sums_free(&m->sums);
    JM_TRY(jm__estimate_sums_init(&m->sums, m->setup.model, &m->errors, err));
    for (size_t k = 0; k < m->ncu.count; k++)
        JM_TRY(add_kernel(m, &m->ncu.kernels[k], err));
    return JM_OK;
}

/* A board lowers its clock until its mean power over some tenths of a second is within its limit. */
static jm_status apply_limit(ncu_estimate *m, jm_error *err)
{
    jm_estimated_total *total = &m->to->total;
    total->limit_mhz = NAN;
    if (m->setup.clock_is_fixed || !(total->average_w.value > total->limit_w)) return JM_OK;
    double low = 0.4 * m->setup.clock_mhz, high = m->setup.clock_mhz;
    for (int i = 0; i < LIMIT_ROUNDS; i++) {
        m->setup.max_mhz = i + 1 < LIMIT_ROUNDS ? (low + high) / 2 : low;
        JM_TRY(estimate_kernels(m, err));
        find_totals(m);
        if (total->average_w.value > total->limit_w)
            high = m->setup.max_mhz;
        else
            low = m->setup.max_mhz;
    }
    total->limit_mhz = m->setup.max_mhz;
    return JM_OK;
}

static jm_status make_estimate(ncu_estimate *m, jm_error *err)
{
    JM_TRY(read_file(m, err));
    JM_TRY(choose_model(m, err));
    JM_TRY(name_features(m, err));
    JM_TRY(estimate_kernels(m, err));
    if (m->to->total.estimated == 0) {
        const jm_estimated_kernel *first = &m->to->kernels.items[0];
        jm_status status = jm__fail(
            err, JM_BAD_DATA, 0, NULL, "%s, line %" PRId64 ": no kernel can be estimated; the first: %s%s%s",
            m->options->csv, first->line, first->reason, m->missing[0] != '\0' ? ": " : "", m->missing);
        return jm__hint(
            err, status,
            "count what it needs: ncu --csv --page raw --metrics \"$(joulemap estimate --metrics)\"");
    }
    find_totals(m);
    JM_TRY(apply_limit(m, err));
    note_file(m);
    note_conditions(m);
    return JM_OK;
}

jm_status jm__estimate_of_ncu(jm_estimate *estimate, const jm_estimate_options *options, jm_error *err)
{
    ncu_estimate *m = calloc(1, sizeof *m);
    if (m == NULL) return jm__no_memory(err, "jm_estimate_make");
    m->to = estimate;
    m->options = options;
    jm_status status = make_estimate(m, err);
    jm__estimate_sums_free(&m->sums);
    jm__model_free(&m->choice.model);
    jm__ncu_sheet_free(&m->sheet);
    estimate->ncu_texts = m->ncu.texts.store; /* rows refer to these texts */
    m->ncu.texts.store = (jm__text_store){0};
    jm__ncu_free(&m->ncu);
    free(m->features);
    free(m);
    return status;
}
