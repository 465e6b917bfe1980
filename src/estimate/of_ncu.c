/* An estimate from a file of ncu's, with a board's model. */
#include "estimate/of_ncu.h"

#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Beyond, what half of the change in a clock's logarithm may be off. A choice. */
static const double extrapolated_u = 0.5;

enum { LIMIT_ROUNDS = 10 };

/* ---- files */

/* Counters have the same names on other chips, and are worth other watts there. ncu tells the chip since
 * 2022.3, the first one that knows those of which there is a model. */
static jm_status check_chip(jm__of_ncu *m, jm_error *err)
{
    jm__ncu_sheet_fill(&m->sheet, &m->ncu.kernels[0]);
    bool said = m->options->board != NULL || m->options->model != NULL;
    if (said || jm__model_knows_board(&m->words, &m->sheet)) return JM_OK;
    jm__fail(err, JM_NOT_SUPPORTED, 0, NULL,
             "%s does not say of which chip it is; ncu does since 2022.3, in its column CC", m->options->csv);
    return jm__hint(err, JM_NOT_SUPPORTED, "if it is of one of %s, say so: --board %s", m->words.title,
                    m->words.boards[0].name);
}

/* The words of the file's chip: what its first kernel that tells of one runs on. */
static jm_status read_file(jm__of_ncu *m, jm_error *err)
{
    jm__ncu tells;
    JM_TRY(jm__ncu_words_load(&m->words, 0, 0, err));
    JM_TRY(jm__ncu_read(&tells, m->options->csv, jm__ncu_words_want, &m->words, err));
    size_t k = 0;
    while (k + 1 < tells.count && tells.kernels[k].cc_major == 0)
        k++;
    int major = tells.kernels[k].cc_major, minor = tells.kernels[k].cc_minor;
    jm_status status = jm__ncu_words_load(&m->words, major, minor, err);
    m->ncu = tells;
    if (status != JM_OK) return status;
    JM_TRY(jm__ncu_sheet_init(&m->sheet, &m->ncu, err));
    return major == 0 ? check_chip(m, err) : JM_OK;
}

/* The most that a kernel drew where the model was learnt, in bursts that no limit of a mean slows down. */
static double most_seen(const jm__board_model *model)
{
    double most_w = 0;
    for (size_t i = 0; i < model->kernel_count; i++)
        if (model->kernels[i].power_w > most_w) most_w = model->kernels[i].power_w;
    return most_w > 0 ? most_w : INFINITY;
}

/* Some kernel ran at the board's full clock: ncu did not set its base clock. */
static bool runs_full(jm__of_ncu *m)
{
    double full_hz = JM_CLOCK_IS_FULL * m->choice.model.clock_mhz * 1e6;
    for (size_t k = 0; k < m->ncu.count; k++) {
        jm__ncu_sheet_fill(&m->sheet, &m->ncu.kernels[k]);
        if (jm__ncu_sheet_place(&m->sheet, &m->words.clock) > full_hz) return true;
    }
    return false;
}

static jm_status choose_model(jm__of_ncu *m, jm_error *err)
{
    jm__ncu_sheet_fill(&m->sheet, &m->ncu.kernels[0]);
    jm__model_wish wish = {.model = m->options->model, .board = m->options->board};
    JM_TRY(jm__model_choose(&m->choice, wish, &m->words, &m->sheet, err));
    const jm__board_model *model = &m->choice.model;
    bool elsewhere = m->choice.board != m->choice.file_board;
    double board_mhz =
        m->choice.another ? fmin(model->clock_mhz, m->choice.board->clock_mhz) : model->clock_mhz;
    m->bench = (jm__bench){
        .model = model, .words = &m->words, .board = m->choice.board, .file_board = m->choice.file_board};
    m->bench.clock_mhz = m->options->clock_mhz > 0 ? m->options->clock_mhz : board_mhz;
    jm__data_shares(model, &m->bench.data_least, &m->bench.data_usual);
    double ratio = m->bench.clock_mhz / model->clock_mhz;
    bool far = ratio < JM_TRIED_CLOCK_RATIO || ratio > 1 / JM_TRIED_CLOCK_RATIO;
    JM_TRY(jm__errors_find(&m->errors, model, m->choice.scale_u, far ? extrapolated_u * fabs(log(ratio)) : 0,
                           err));
    bool unknown = !m->choice.told && m->choice.file_name != NULL;
    m->to->total.extrapolated = far || m->choice.another || elsewhere || unknown;
    m->to->total.limit_w = m->options->limit_w > 0       ? m->options->limit_w
                           : m->bench.board->limit_w > 0 ? m->bench.board->limit_w
                                                         : NAN;
    for (size_t f = 0; f < model->count; f++)
        m->bench.word_of[f] = jm__ncu_word_of(&m->words, model->features[f].metric);
    m->bench.clock_given = m->options->clock_mhz > 0;
    m->bench.caches_kept = m->ncu.caches_kept;
    m->bench.most_mhz = INFINITY;
    m->bench.most_w = most_seen(model);
    m->bench.clocks_free = m->ncu.clocks_free || runs_full(m);
    snprintf(m->to->board, sizeof m->to->board, "%.100s", model->board);
    snprintf(m->to->model, sizeof m->to->model, "%s", m->choice.name);
    m->features = calloc(model->count + 1, sizeof *m->features);
    if (m->features == NULL) return jm__no_memory(err, "jm_estimate_make");
    return jm__estimate_sums_init(&m->sums, model, &m->errors, err);
}

/* ---- all kernels, at the clock that the board's limit leaves */

static jm_status pass(jm__of_ncu *m, jm_error *err)
{
    jm_estimated_total *total = &m->to->total;
    total->kernels = total->estimated = 0;
    total->launches = 0;
    m->to->kernels.count = m->to->part_count = m->to->rates.count = 0;
    m->no_clock = m->with_missing = m->beyond = m->refused = m->other_chip = m->over_limit = 0;
    m->flushed_j = 0;
    memset(m->to->parts, 0, sizeof m->to->parts);
    jm__estimate_sums_free(&m->sums);
    JM_TRY(jm__estimate_sums_init(&m->sums, m->bench.model, &m->errors, err));
    for (size_t k = 0; k < m->ncu.count; k++)
        JM_TRY(jm__of_ncu_add_kernel(m, &m->ncu.kernels[k], err));
    return JM_OK;
}

/* A board lowers its clock until its mean power, over some tenths of a second, is its limit. */
static jm_status hold_limit(jm__of_ncu *m, jm_error *err)
{
    jm_estimated_total *total = &m->to->total;
    total->limit_mhz = NAN;
    if (m->bench.clock_given || !(total->average_w.value > total->limit_w)) return JM_OK;
    double low = 0.4 * m->bench.clock_mhz, high = m->bench.clock_mhz;
    for (int i = 0; i < LIMIT_ROUNDS; i++) {
        m->bench.most_mhz = i + 1 < LIMIT_ROUNDS ? (low + high) / 2 : low;
        JM_TRY(pass(m, err));
        jm__of_ncu_find_totals(m);
        if (total->average_w.value > total->limit_w)
            high = m->bench.most_mhz;
        else
            low = m->bench.most_mhz;
    }
    total->limit_mhz = m->bench.most_mhz;
    return JM_OK;
}

static jm_status make(jm__of_ncu *m, jm_error *err)
{
    JM_TRY(read_file(m, err));
    JM_TRY(choose_model(m, err));
    JM_TRY(jm__of_ncu_name_features(m, err));
    JM_TRY(pass(m, err));
    if (m->to->total.estimated == 0) {
        const jm_estimated_kernel *first = &m->to->kernels.items[0];
        jm_status status = jm__fail(
            err, JM_BAD_DATA, 0, NULL, "%s, line %" PRId64 ": no kernel can be estimated; the first: %s%s%s",
            m->options->csv, first->line, first->reason, m->missing[0] != '\0' ? ": " : "", m->missing);
        return jm__hint(
            err, status,
            "count what it needs: ncu --csv --page raw --metrics \"$(joulemap estimate --metrics)\"");
    }
    jm__of_ncu_find_totals(m);
    JM_TRY(hold_limit(m, err));
    return jm__of_ncu_tell(m, err);
}

jm_status jm__estimate_of_ncu(jm_estimate *estimate, const jm_estimate_options *options, jm_error *err)
{
    jm__of_ncu *m = calloc(1, sizeof *m);
    if (m == NULL) return jm__no_memory(err, "jm_estimate_make");
    m->to = estimate;
    m->options = options;
    jm_status status = make(m, err);
    jm__estimate_sums_free(&m->sums);
    jm__model_free(&m->choice.model);
    jm__ncu_sheet_free(&m->sheet);
    estimate->ncu_texts = m->ncu.texts; /* rows name kernels out of them */
    m->ncu.texts = (jm__text_store){0};
    jm__ncu_free(&m->ncu);
    free(m->features);
    free(m);
    return status;
}
