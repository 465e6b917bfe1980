/* What one should know of an estimate from a file of ncu's. */
#include "estimate/of_ncu.h"

#include "base/status.h"

#include <inttypes.h>
#include <math.h>

static jm_status tell_file(jm__of_ncu *m, jm_error *err)
{
    jm_estimate *to = m->to;
    const jm_estimated_total *total = &to->total;
    const char *why = m->choice.why, *between = why[0] != '\0' ? ": " : "";
    JM_TRY(jm__estimate_note(to, err, "model: %s, learnt on %s%s%s", to->model, to->board, between, why));
    const char *by = isnan(m->choice.dram_hz) ? "which is usual: it tells no clock of the memory either"
                                              : "the nearest by its memory's clock";
    if (!m->choice.told && m->choice.file_name != NULL)
        JM_TRY(jm__estimate_note(
            to, err, "extrapolated: the file is of %.80s, of which nobody has learnt: taken for %s, %s",
            m->choice.file_name, m->choice.file_board->name, by));
    else if (!m->choice.told)
        JM_TRY(jm__estimate_note(to, err,
                                 "the file does not say which board it is of (a raw page with "
                                 "device__attribute_display_name does): taken for %s, %s",
                                 m->choice.file_board->name, by));
    if (m->choice.unread[0] != '\0')
        JM_TRY(jm__estimate_note(to, err, "a model that is kept cannot be read: %s", m->choice.unread));
    if (m->choice.board != m->choice.file_board)
        JM_TRY(jm__estimate_note(
            to, err,
            "extrapolated: the file is of %s, figures are for %s: times by multiprocessors, "
            "clock and memory",
            m->choice.file_board->name, m->choice.board->name));
    if (m->choice.another)
        JM_TRY(jm__estimate_note(to, err, "extrapolated: the model of %s was scaled to %s: %.0f %% wider",
                                 to->board, m->choice.board->name, 100 * m->choice.scale_u));
    if (m->ncu.decimal_guessed)
        JM_TRY(jm__estimate_note(to, err,
                                 "line %" PRId64
                                 ": whether 1,234 is a thousand or one and a bit no number of the file "
                                 "tells; taken for a thousand",
                                 m->ncu.ambiguous_line));
    if (m->refused > 0)
        JM_TRY(jm__estimate_note(to, err,
                                 "%zu of %zu kernels have no figure and are in no total (column reason)",
                                 m->refused, total->kernels));
    if (m->other_chip > 0)
        JM_TRY(jm__estimate_note(to, err, "%zu kernels ran on another chip than %s", m->other_chip,
                                 m->words.title));
    return JM_OK;
}

static jm_status tell_conditions(jm__of_ncu *m, jm_error *err)
{
    jm_estimate *to = m->to;
    const jm_estimated_total *total = &to->total;
    double model_mhz = m->bench.model->clock_mhz, mhz = m->bench.clock_mhz;
    if (m->no_clock > 0)
        JM_TRY(
            jm__estimate_note(to, err,
                              "%zu kernels have no clock of ncu's (SM Frequency): their times are taken as "
                              "they are, 15 %% wider",
                              m->no_clock));
    if (total->estimated > m->no_clock && m->bench.clocks_free && !m->bench.clock_given &&
        m->bench.board == m->bench.file_board)
        JM_TRY(jm__estimate_note(to, err,
                                 "ncu left the clock as the board sets it: kernels are taken at theirs"));
    else if (total->estimated > m->no_clock)
        JM_TRY(jm__estimate_note(
            to, err,
            "ncu ran at %.0f MHz (it sets the base clock, but for --clock-control none); figures "
            "are for %.0f MHz: time that does not wait for the memory scales with the clock",
            m->ncu_clock_mhz, mhz));
    if (fabs(mhz / model_mhz - 1) > 1 - JM_TRIED_CLOCK_RATIO)
        JM_TRY(jm__estimate_note(to, err, "extrapolated: to %.0f MHz, the model was learnt at %.0f", mhz,
                                 model_mhz));
    if (m->flushed_j > 0.01 * m->sums.energy_j)
        JM_TRY(jm__estimate_note(
            to, err,
            "ncu empties the caches before each kernel (but for --cache-control none): up to %.0f MB of "
            "its reads may come from the cache in the program; intervals allow for it",
            m->bench.board->l2_bytes / 1e6));
    if (m->with_missing > 0)
        JM_TRY(jm__estimate_note(to, err,
                                 "%zu kernels lack counters that the model needs; intervals are wider: %s",
                                 m->with_missing, m->missing));
    if (m->beyond > 0)
        JM_TRY(jm__estimate_note(
            to, err, "%zu kernels do more than any that the model was learnt from; intervals are wider",
            m->beyond));
    if (isfinite(total->limit_mhz))
        JM_TRY(jm__estimate_note(
            to, err,
            "at the board's power limit, %.0f W: it lowers its clock to some %.0f MHz, for which the "
            "figures are (--power-limit none: kernels that run for some ms only)",
            total->limit_w, total->limit_mhz));
    else if (m->over_limit > 0)
        JM_TRY(jm__estimate_note(
            to, err,
            "%zu kernels draw more than the board's limit, %.0f W, the mean of all does not: a "
            "stretch of theirs that lasts longer than some 0.1 s runs at a lower clock",
            m->over_limit, total->limit_w));
    if (m->options->program_s > 0 && m->sums.seconds > m->options->program_s)
        JM_TRY(
            jm__estimate_note(to, err,
                              "the kernels take %.3g s, the program %.3g: they overlap there, or are slower "
                              "under ncu; no gaps are counted",
                              m->sums.seconds, m->options->program_s));
    if (!(m->options->program_s > 0))
        JM_TRY(
            jm__estimate_note(to, err,
                              "gaps between kernels are not in the totals: ncu does not see them (--program "
                              "SECONDS says how long the program takes)"));
    if (total->program_s > 0 && !(m->bench.model->idle[JM_IDLE_LONG].u_w > 0))
        JM_TRY(jm__estimate_note(
            to, err, "the model knows no idle power: what it has without any work is taken, %.0f W",
            total->idle_w.value));
    return JM_OK;
}

jm_status jm__of_ncu_tell(jm__of_ncu *m, jm_error *err)
{
    JM_TRY(tell_file(m, err));
    return tell_conditions(m, err);
}
