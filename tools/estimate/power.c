/* The power of single kernels and the energy of many, with their ranges. */
#include "estimate/power.h"

#include "attribute/fit/nnls.h"
#include "attribute/work/classes.h"
#include "base/order.h"
#include "base/status.h"
#include "estimate/estimate.h"
#include "import/ncu/sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a kernel's counts, its time at another clock, and its power */

/* The part of its peak rate that the memory reaches in long copies (docs/board-model.md: the highest rates of
 * the suite). */
static const double memory_peak_part = 0.92;

/* The relative error of the change of time by the clock, standard. A choice. */
static const double scaling_u = 0.3;

/* Without ncu's clock a kernel's time is not scaled: relative error. A choice: base and usual clocks differ
 * by this much. */
static const double unknown_clock_u = 0.15;

/* As in a report (attribute/prior/counters.c). */
static const double beyond_u = 0.5;

/* Standard deviation of the uniform distribution from 0 to 1. */
static const double uniform_u = 0.28867513459481287;

/* The value for a missing counter, as part of its largest possible value. Choices: all pipes of a
 * multiprocessor share the bound of the busiest, so a pipe gets a quarter of it rather than half; reads and
 * writes share the memory's traffic. */
static const double guess_part = 0.25;
static const double read_share = 0.67;

/* How far compute and memory overlap: 1 would be one after the other, infinity the longer of the two alone.
 * Measured with two programs on an H200 and on an H100, whose memory is 70 % as fast: errors of +0.0 and -1.4
 * % with this value, -9.9 and -7.1 % with 4 (bench/results/estimate.txt). */
static const double overlap = 1.5;

double jm__time_at(double duration_s, double memory_s, double ratio, double memory_ratio)
{
    double m = fmin(memory_s, 0.999 * duration_s);
    double rest = pow(duration_s, overlap) - pow(m, overlap);
    return pow(rest / pow(ratio, overlap) + pow(m / memory_ratio, overlap), 1 / overlap);
}

/* Ratio of the board to estimate for to the file's. */
static double memory_ratio(const jm__estimate_setup *setup)
{
    return setup->board->dram_bytes_per_second / setup->file_board->dram_bytes_per_second;
}

void jm__data_shares(const jm__board_model *model, double *min, double *typical)
{
    double shares[256];
    size_t count = 0;
    for (size_t i = 0; i < model->kernel_count && count < sizeof shares / sizeof shares[0]; i++) {
        const jm__model_kernel *kernel = &model->kernels[i];
        double predicted_w = kernel->predicted_w - model->constant_w;
        if (!kernel->left_out || !(predicted_w > 0) || !isfinite(kernel->power_w)) continue;
        shares[count++] = fmin(fmax((kernel->power_w - model->constant_w) / predicted_w, 0), 1);
    }
    *min = 0.35; /* as on an H100 and an H200, if the model has too few */
    *typical = 0.6;
    if (count < 4) return;
    qsort(shares, count, sizeof shares[0], jm__compare_doubles);
    *min = shares[0];
    *typical = shares[count / 4];
}

/* A kernel's counts, before a clock is chosen. */
typedef struct amounts {
    double total[JM_MODEL_FEATURES_MAX]; /* events, or percent times seconds; NAN: missing */
    jm__ncu_scale scale;
    double clock_hz;
} amounts;

/* ---- features of the details page, in percent: no pipe has its own figure there but the busiest, so what
 * the multiprocessors are busy with beyond issuing is taken as tensor cores. These lower the clock within a
 * few us, which tells more of them (bench/results/estimate.txt). */

static const char details[] = "details/";

bool jm__is_details(const char *metric)
{
    return strncmp(metric, details, sizeof details - 1) == 0;
}

enum { WARP = 32, SCHEDULERS = 4 };

static double details_percent(const char *metric, const jm__estimate_setup *setup, const jm__ncu_sheet *sheet,
                              const amounts *a)
{
    const jm__ncu_words *words = setup->words;
    const char *name = metric + sizeof details - 1;
    double active = a->scale.active_cycles / a->scale.cycles;
    if (strcmp(name, "sm__active") == 0) return 100 * active;
    if (strcmp(name, "lts__throughput") == 0) return jm__ncu_sheet_place(sheet, &words->within[JM_PART_L2]);
    if (strcmp(name, "dram__throughput") == 0)
        return jm__ncu_sheet_place(sheet, &words->within[JM_PART_DRAM]);
    if (strcmp(name, "l1tex__throughput") == 0)
        return active * jm__ncu_sheet_place(sheet, &words->within[JM_PART_L1]);
    if (strcmp(name, "pipe_tensor") == 0)
        return active * fmax(0, jm__ncu_sheet_place(sheet, &words->sm_busy) -
                                    jm__ncu_sheet_place(sheet, &words->issue_busy));
    if (strcmp(name, "sm__inst_threads") == 0) {
        double threads = jm__ncu_sheet_place(sheet, &words->threads);
        return 100.0 / SCHEDULERS * jm__ncu_sheet_place(sheet, &words->ipc) *
               (isnan(threads) ? 1 : threads / WARP);
    }
    return strcmp(name, "clock_drop") == 0 && setup->clocks_free
               ? fmax(0, 100 * (1 - a->clock_hz / (1e6 * setup->model->clock_mhz)))
               : NAN;
}

bool jm__details_suffice(const jm__ncu_words *words, const jm__ncu_board *board, const jm__ncu_sheet *sheet)
{
    jm__ncu_scale scale;
    double clock_hz;
    size_t known = 0;
    if (isnan(jm__ncu_sheet_place(sheet, &words->sm_busy)) || isnan(jm__ncu_sheet_place(sheet, &words->ipc)))
        return false;
    jm__ncu_scale_find(&scale, &clock_hz, words, board, sheet);
    for (size_t i = 0; i < words->count; i++)
        if (!isnan(jm__ncu_amount(&words->words[i], board, sheet, &scale))) known++;
    return 2 * known < words->count;
}

/* The memory's least time for the kernel's bytes, seconds. */
static double memory_time(const jm__estimate_setup *setup, const jm__ncu_sheet *sheet, const amounts *a)
{
    double percent_s = 0;
    bool known = false;
    for (size_t f = 0; f < setup->model->count; f++) {
        const jm__ncu_word *word = setup->word_of[f];
        if (word == NULL || !word->of_dram || isnan(a->total[f])) continue;
        percent_s += a->total[f];
        known = true;
    }
    double percent = jm__ncu_sheet_place(sheet, &setup->words->within[JM_PART_DRAM]);
    if (!known && !isnan(percent)) percent_s = percent * a->scale.duration_s;
    return percent_s / 100 / memory_peak_part;
}

/* A feature missing in the file is between 0 and the most that its unit did. Returns that maximum, as a rate
 * at the clock to estimate for. */
static double find_max_rate(const jm__estimate_setup *setup, const jm__ncu_sheet *sheet, const amounts *a,
                            size_t f, double duration_s, double ratio)
{
    const jm__feature *feature = &setup->model->features[f];
    const jm__ncu_word *word = setup->word_of[f];
    if (word == NULL || word->within == JM_PART_NONE) return feature->most;
    double percent = jm__ncu_sheet_place(sheet, &setup->words->within[word->within]);
    if (isnan(percent)) return feature->most;
    double unit_part = percent / 100 * a->scale.duration_s / duration_s; /* the unit's use at the new time */
    if (word->of_dram) return fmin(feature->most, 100 * unit_part / memory_ratio(setup));
    if (word->percent_count > 0) return fmin(feature->most, 100 * unit_part / ratio);
    if (!(word->peak > 0) || isnan(a->clock_hz)) return feature->most;
    return fmin(feature->most, word->peak * a->scale.multiprocessors * a->clock_hz * unit_part);
}

/* Sets features[f], and the guessed part of the power. */
static void find_feature(jm__kernel_power *out, double *features, const jm__estimate_setup *setup,
                         const jm__ncu_sheet *sheet, const amounts *a, size_t f, double ratio, double voltage)
{
    const jm__feature *feature = &setup->model->features[f];
    const jm__ncu_word *word = setup->word_of[f];
    double rate = a->total[f] / out->duration_s;
    if (word != NULL && word->of_dram) rate /= memory_ratio(setup); /* relative to this memory's peak */
    if (word != NULL && word->always && isnan(rate)) {
        rate = feature->most * out->clock_mhz / setup->model->clock_mhz;
    } else if (isnan(rate)) {
        double max_rate = find_max_rate(setup, sheet, a, f, out->duration_s, ratio);
        bool dram = word != NULL && word->of_dram;
        double part = !dram                                   ? guess_part
                      : strstr(word->feature, "read") != NULL ? read_share
                                                              : 1 - read_share;
        rate = part * max_rate;
        if (feature->weight_w > 0) {
            double max_part_w = feature->weight_w * max_rate / feature->reference * voltage;
            out->missing++;
            out->missing_w += part * max_part_w;
            out->missing_u_w = hypot(out->missing_u_w, uniform_u * max_part_w);
            if (max_rate >= feature->most) out->unbounded_w += part * max_part_w;
        }
    } else if ((word != NULL && word->percent_count > 0) || jm__is_details(feature->metric)) {
        rate /= ratio; /* relative to its peak at this clock */
    }
    if (rate > feature->most)
        out->beyond_w += feature->weight_w * (rate - feature->most) / feature->reference * voltage;
    features[f] = rate / feature->reference * voltage;
}

/* If tensor cores have at least this part of the power above the constant, the rest feeds them (registers,
 * shared memory), and constant data reduce all of it alike. */
static const double product_share = 0.35;

/* Start and end of a launch in ncu's time: in a program the next launch overlaps them. As on an H200
 * (bench/results/estimate.txt: kernels of 14 us draw a quarter more back to back). */
static const double ramp_s = 2.5e-6;

/* ncu flushes the caches before each pass: in the program, up to a cache full of a kernel's reads may be
 * hits. */
static void add_flush(jm__kernel_power *out, const jm__estimate_setup *setup, const amounts *a,
                      double voltage)
{
    for (size_t f = 0; f < setup->model->count; f++) {
        const jm__feature *feature = &setup->model->features[f];
        const jm__ncu_word *word = setup->word_of[f];
        if (word == NULL || !word->of_dram || isnan(a->total[f])) continue;
        double bytes = a->total[f] / 100 * setup->file_board->dram_bytes_per_second;
        out->dram_bytes += bytes;
        if (setup->caches_kept || strstr(word->feature, "read") == NULL) continue;
        double hits_percent = fmin(bytes, setup->board->l2_bytes) / setup->board->dram_bytes_per_second * 100;
        out->flushed_u_w =
            uniform_u * feature->weight_w * hits_percent / out->duration_s / feature->reference * voltage;
    }
}

static void add_power(jm__kernel_power *out, const double *features, const jm__estimate_setup *setup)
{
    const jm__board_model *model = setup->model;
    double above_w = 0, tensor_w = 0;
    for (size_t f = 0; f < model->count; f++) {
        double part_w = model->features[f].weight_w * features[f];
        above_w += part_w;
        if (strstr(model->features[f].metric, "pipe_tensor") != NULL) tensor_w += part_w;
    }
    double tensor = above_w > 0 ? tensor_w / above_w : 0;
    double product = fmin(tensor / product_share, 1);
    double remaining = product * setup->data_min + (1 - product) * setup->data_typical;
    out->power_w = model->constant_w + above_w;
    out->data_w = above_w * (1 - remaining);
    out->time_u = hypot(out->u_duration, fmin(ramp_s / out->ncu_duration_s, 0.5));
    out->own_w = hypot(beyond_u * out->beyond_w, hypot(out->missing_u_w, out->flushed_u_w));
}

static const char *find_time(jm__kernel_power *out, const jm__estimate_setup *setup,
                             const jm__ncu_sheet *sheet, amounts *a)
{
    jm__ncu_scale_find(&a->scale, &a->clock_hz, setup->words, setup->file_board, sheet);
    if (isnan(a->scale.duration_s)) return "the file has no duration of it (gpu__time_duration.sum)";
    if (!(a->scale.duration_s > 0 && a->scale.duration_s < 1e5)) return "its duration is invalid";
    for (size_t f = 0; f < setup->model->count; f++) {
        const char *metric = setup->model->features[f].metric;
        const jm__ncu_word *word = setup->word_of[f];
        if (jm__is_details(metric))
            a->total[f] = a->scale.duration_s * details_percent(metric, setup, sheet, a);
        else
            a->total[f] = word == NULL ? NAN : jm__ncu_amount(word, setup->file_board, sheet, &a->scale);
    }
    out->ncu_duration_s = a->scale.duration_s;
    out->ncu_clock_mhz = a->clock_hz / 1e6;
    out->no_clock = isnan(a->clock_hz);
    return NULL;
}

/* No board draws this much, no kernel takes this long. */
static const double power_max_w = 1e4, duration_max_s = 1e6;

/* The largest part of a power that may be an unbounded guess. A choice. */
static const double guess_max = 0.4;

/* Finds everything that depends on the clock. */
static void find_at_clock(jm__kernel_power *out, double *features, const jm__estimate_setup *setup,
                          const jm__ncu_sheet *sheet, const amounts *a, double clock_mhz)
{
    double ratio = out->no_clock ? 1 : clock_mhz / out->ncu_clock_mhz;
    double ncu_s = a->scale.duration_s;
    double voltage = pow(clock_mhz / setup->model->clock_mhz, setup->model->clock_exponent);
    out->clock_mhz = clock_mhz;
    out->missing = 0;
    out->missing_w = out->missing_u_w = out->unbounded_w = out->beyond_w = out->flushed_u_w =
        out->dram_bytes = 0;
    double size_ratio = setup->board->multiprocessors / setup->file_board->multiprocessors;
    out->duration_s =
        jm__time_at(ncu_s, memory_time(setup, sheet, a), ratio * size_ratio, memory_ratio(setup));
    out->u_duration =
        out->no_clock ? unknown_clock_u : scaling_u * fabs(out->duration_s - ncu_s) / out->duration_s;
    for (size_t f = 0; f < setup->model->count; f++)
        find_feature(out, features, setup, sheet, a, f, ratio, voltage);
    features[setup->model->count] = 1;
    add_flush(out, setup, a, voltage);
    add_power(out, features, setup);
}

/* The clock at which the board runs this kernel without a request, within its power limit. */
static double own_clock(const jm__kernel_power *out, const jm__estimate_setup *setup)
{
    bool full = out->no_clock || jm__clock_is_full(out->ncu_clock_mhz, setup->clock_mhz);
    bool same_clock = setup->clocks_free && setup->board == setup->file_board;
    double clock_mhz = same_clock && !full ? out->ncu_clock_mhz : setup->clock_mhz;
    return fmin(clock_mhz, setup->max_mhz);
}

void jm__kernel_power_find(jm__kernel_power *out, double *features, const jm__estimate_setup *setup,
                           const jm__ncu_sheet *sheet)
{
    amounts a;
    *out = (jm__kernel_power){
        .duration_s = NAN, .power_w = NAN, .ncu_duration_s = NAN, .ncu_clock_mhz = NAN, .clock_mhz = NAN};
    out->reason = find_time(out, setup, sheet, &a);
    if (out->reason != NULL) return;
    double clock_mhz = setup->clock_is_fixed ? setup->clock_mhz : own_clock(out, setup);
    find_at_clock(out, features, setup, sheet, &a, clock_mhz);
    if (!setup->clock_is_fixed && !setup->clocks_free && out->power_w > setup->max_w) {
        double low = 0.5 * clock_mhz, high = clock_mhz;
        for (int i = 0; i < 12; i++) {
            double middle = (low + high) / 2;
            find_at_clock(out, features, setup, sheet, &a, middle);
            if (out->power_w > setup->max_w)
                high = middle;
            else
                low = middle;
        }
    }
    if (!(out->power_w < power_max_w && out->duration_s < duration_max_s)) {
        out->reason = "its counts are more than any board can do";
        out->power_w = NAN;
    } else if (out->unbounded_w > guess_max * out->power_w) {
        out->reason = "too little of what the model needs is in the file";
        out->power_w = NAN;
    }
}

/* ---- ranges of powers and energies */

/* The largest relative error: with it, the true power is ten times the estimate. */
static const double relative_max = 0.9;

/* The rank of the quantile that covers a new kernel: computed for one more kernel than there are (split
 * conformal: Lei and others, Journal of the American Statistical Association 113, 2018). 0: too few kernels.
 */
static size_t rank_of(size_t count)
{
    size_t rank = (size_t)ceil((double)(count + 1) * JM_ESTIMATE_COVERS);
    return rank <= count ? rank : 0;
}

/* Errors of kernels are not normally distributed: most are small, and a few large ones dominate the mean
 * square. So the model's own kernels, each predicted by the other families, give the multiple of the standard
 * deviation. `errors`: a buffer for all kernels. */
static double quantile_factor(const jm__board_model *model, double *errors)
{
    double square = 0;
    size_t count = 0;
    for (size_t i = 0; i < model->kernel_count; i++) {
        const jm__model_kernel *kernel = &model->kernels[i];
        double error = fabs(kernel->predicted_w / kernel->power_w - 1);
        if (kernel->left_out || !isfinite(error)) continue;
        square += error * error;
        errors[count++] = error;
    }
    qsort(errors, count, sizeof *errors, jm__compare_doubles);
    size_t rank = rank_of(count);
    return rank > 0 && square > 0 ? errors[rank - 1] / sqrt(square / (double)count) : JM_ESTIMATE_Z;
}

jm_status jm__errors_find(jm__errors *errors, const jm__board_model *model, double board_u, double clock_u,
                          jm_error *err)
{
    double *buffer = calloc(model->kernel_count + 1, sizeof *buffer);
    if (buffer == NULL) return jm__no_memory(err, "jm_estimate_make");
    *errors = (jm__errors){.kernel_u = model->relative_u,
                           .family_u = model->family_u,
                           .gain_u = hypot(model->gain_u, board_u),
                           .clock_u = clock_u,
                           .kernel_z = quantile_factor(model, buffer)};
    free(buffer);
    return JM_OK;
}

jm__sides jm__sides_of(const jm__errors *errors, double value, double model, double rest)
{
    double relative = fmin(hypot(model, JM_ESTIMATE_Z * errors->gain_u), relative_max);
    double clock = JM_ESTIMATE_Z * errors->clock_u, rest_z = JM_ESTIMATE_Z * rest;
    /* estimate = true * (1 + error): the true power is between estimate / (1 + max) and estimate / (1 - max).
     */
    return (jm__sides){
        .down = hypot(hypot(value * relative / (1 + relative), value * (1 - exp(-clock))), rest_z),
        .up = hypot(hypot(value * relative / (1 - relative), value * (exp(clock) - 1)), rest_z),
    };
}

double jm__model_part(double left_out, double weights)
{
    return fmax(left_out, JM_ESTIMATE_Z * weights);
}

/* ---- sums of kernels and their covariance */

jm_status jm__estimate_sums_init(jm__estimate_sums *sums, const jm__board_model *model,
                                 const jm__errors *errors, jm_error *err)
{
    *sums = (jm__estimate_sums){
        .model = model,
        .errors = errors,
        .features_s = calloc(model->count + 1, sizeof *sums->features_s),
        .family_j = calloc(JM_KERNEL_FAMILY_COUNT, sizeof *sums->family_j),
        .same = {.key_size = sizeof(jm__same_kernel)},
        .own = {.key_size = sizeof(jm__same_kernel)},
    };
    if (sums->features_s != NULL && sums->family_j != NULL) return JM_OK;
    jm__estimate_sums_free(sums);
    return jm__no_memory(err, "jm_estimate_make");
}

void jm__estimate_sums_free(jm__estimate_sums *sums)
{
    free(sums->features_s);
    free(sums->family_j);
    jm__map_free(&sums->same);
    jm__map_free(&sums->own);
    *sums = (jm__estimate_sums){0};
}

static bool add_to(jm__map *map, const jm__same_kernel *same, double value)
{
    const jm__map_value *known = jm__map_find(map, same);
    return jm__map_put(map, same, (jm__map_value){.number = (known != NULL ? known->number : 0) + value});
}

static double squares(const jm__map *map)
{
    double sum = 0;
    for (size_t i = 0; i < map->slots; i++)
        if (map->tags[i] != 0) sum += pow(map->values[i].number, 2);
    return sum;
}

jm_status jm__estimate_sums_add(jm__estimate_sums *sums, const jm__kernel_power *power,
                                const double *features, int family, jm__same_kernel same, double launches,
                                jm__sides row_j, jm_error *err)
{
    double seconds = power->duration_s * launches, energy_j = power->power_w * seconds;
    double time_w = power->time_u * (power->power_w - sums->model->constant_w);
    for (size_t f = 0; f <= sums->model->count; f++)
        sums->features_s[f] += features[f] * seconds;
    sums->energy_j += energy_j;
    sums->seconds += seconds;
    sums->data_j += power->data_w * seconds;
    sums->time_w2 += pow(sums->model->constant_w * power->time_u * seconds, 2);
    sums->rows_j.down += row_j.down * launches;
    sums->rows_j.up += row_j.up * launches;
    if (family == JM_KERNEL_FAMILY_OTHER)
        sums->other_j2 += energy_j * energy_j;
    else
        sums->family_j[family] += energy_j;
    bool put = add_to(&sums->same, &same, energy_j) &&
               add_to(&sums->own, &same, hypot(power->own_w, time_w) * seconds);
    return put ? JM_OK : jm__no_memory(err, "jm_estimate_make");
}

jm__sides jm__estimate_sums_sides(const jm__estimate_sums *sums)
{
    const jm__errors *errors = sums->errors;
    size_t n = sums->model->count + 1;
    double weights_j2 = jm__matrix_between(sums->features_s, sums->model->covariance, sums->features_s, n);
    double families_j2 = sums->other_j2;
    for (int f = 0; f < JM_KERNEL_FAMILY_COUNT; f++)
        families_j2 += pow(sums->family_j[f], 2);
    double left_out_j =
        hypot(errors->family_u * sqrt(families_j2), errors->kernel_u * sqrt(squares(&sums->same)));
    double model_j = jm__model_part(JM_ESTIMATE_Z * left_out_j, sqrt(fmax(weights_j2, 0)));
    double rest_j = sqrt(squares(&sums->own) + sums->time_w2);
    jm__sides sides = jm__sides_of(errors, sums->energy_j, model_j / sums->energy_j, rest_j);
    /* Errors of many kernels add up to a normal distribution, those of a few do not. So a sum's range is at
     * most the sum of the ranges, as if all errors had the same sign. */
    return (jm__sides){fmin(sides.down, sums->rows_j.down), fmin(sides.up, sums->rows_j.up)};
}

void jm__kernel_sides(jm__sides *of_w, jm__sides *of_j, const jm__board_model *model,
                      const jm__errors *errors, const jm__kernel_power *power, const double *features)
{
    double weights_w2 = jm__matrix_between(features, model->covariance, features, model->count + 1);
    double left_out = errors->kernel_z * hypot(errors->kernel_u, errors->family_u);
    double part = jm__model_part(left_out, sqrt(fmax(weights_w2, 0)) / power->power_w);
    double time_w = power->time_u * (power->power_w - model->constant_w);
    *of_w = jm__sides_of(errors, power->power_w, part, hypot(power->own_w, time_w));
    /* A kernel's work is counted, so an error of its time only changes the energy of the constant. */
    double rest_w = hypot(power->own_w, power->time_u * model->constant_w);
    *of_j = jm__sides_of(errors, power->power_w * power->duration_s, part, rest_w * power->duration_s);
}

static const char *part_of(const char *metric)
{
    const char *name = jm__is_details(metric) ? metric + sizeof details - 1 : jm__ncu_feature_name(metric);
    if (strstr(name, "pipe_tensor") != NULL) return "tensor cores";
    if (strncmp(name, "dram", 4) == 0) return "memory";
    if (strncmp(name, "lts__", 5) == 0 || strstr(name, "xbar") != NULL) return "L2 cache";
    if (strncmp(name, "l1tex__", 7) == 0) return "L1 and shared memory";
    if (strstr(name, "fp64") != NULL) return "double precision";
    if (strncmp(name, "sm", 2) == 0 && strstr(name, "inst") != NULL) return "instructions";
    return "multiprocessors";
}

static void add_part(jm_estimate *estimate, const char *name, double energy_j)
{
    size_t i = 0;
    if (!(energy_j > 0)) return;
    while (i < estimate->part_count && strcmp(estimate->parts[i].name, name) != 0)
        i++;
    if (i == JM_ESTIMATE_PARTS) i--;
    if (i == estimate->part_count) estimate->parts[estimate->part_count++] = (jm_estimate_part){.name = name};
    estimate->parts[i].energy_j += energy_j;
}

static int by_energy(const void *a, const void *b)
{
    double x = ((const jm_estimate_part *)a)->energy_j, y = ((const jm_estimate_part *)b)->energy_j;
    return (x < y) - (x > y);
}

void jm__estimate_sums_parts(const jm__estimate_sums *sums, jm_estimate *estimate)
{
    const jm__board_model *model = sums->model;
    for (size_t f = 0; f < model->count; f++)
        add_part(estimate, part_of(model->features[f].metric),
                 model->features[f].weight_w * sums->features_s[f]);
    add_part(estimate, "base", model->constant_w * sums->features_s[model->count]);
    qsort(estimate->parts, estimate->part_count, sizeof *estimate->parts, by_energy);
    for (size_t i = 0; i < estimate->part_count; i++)
        estimate->parts[i].share = estimate->parts[i].energy_j / sums->energy_j;
}
