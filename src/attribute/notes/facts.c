/* The figures that the checks look at. */
#include "attribute/notes/facts.h"

#include "attribute/notes/conditions.h"
#include "attribute/notes/events.h"

/* A fit that misses the readings by less than this share of the mean power is good enough whatever the
 * sensor's noise makes of it: a very quiet sensor has a high chi2/n beside figures that nothing better. A
 * choice: an error of this size in single powers is within what their intervals show. */
static const double residual_told = 0.02;

static double share_of(double part, double whole)
{
    return whole > 0 ? part / whole : NAN;
}

/* Joules between the fit of a board and its total, where the fit is not held to it. */
static double apart(const jm__board_part *part)
{
    bool told = part->fit.fitted && !part->fit.held && isfinite(part->fit.closure_z);
    return told ? fabs(part->fit.free_j - part->total.energy_j) : 0;
}

static void check_boards(double *figures, const jm__attribution *a)
{
    double missing = 0, lost_ns = 0, unseen_j = 0, apart_j = 0, known_j = 0, unrecorded_s = 0;
    double wanted_ns = (double)jm__windows_duration_ns(&a->windows);
    for (size_t b = 0; b < a->dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->counted) continue;
        double board_lost_ns = wanted_ns - (double)jm__windows_duration_ns(&part->windows);
        if (part->total.source == NULL) {
            missing++;
            continue;
        }
        if (part->lost.count > 0) lost_ns = fmax(lost_ns, board_lost_ns);
        unseen_j += part->total.unseen_j;
        apart_j += apart(part);
        unrecorded_s = fmax(unrecorded_s, jm__unrecorded_s(a->dataset, part)); /* NAN: as if 0 */
        known_j += part->total.energy_j;
    }
    for (size_t i = 0; i < a->dataset->event_count; i++) {
        const jm__event *event = &a->dataset->events[i];
        missing += event->kind == JM_EVENT_BOARD_ABSENT && jm__event_concerns(a, event);
    }
    figures[JM_CHECK_boards_missing] = missing;
    figures[JM_CHECK_lost_time] = share_of(lost_ns, wanted_ns);
    figures[JM_CHECK_unrecorded] = share_of(unrecorded_s, 1e-9 * wanted_ns);
    figures[JM_CHECK_unseen] = share_of(unseen_j, known_j);
    figures[JM_CHECK_closure] = share_of(apart_j, known_j);
}

static void check_fit(double *figures, const jm_report_totals *totals)
{
    double mean_w = totals->duration_s > 0 ? totals->total_energy_j / totals->duration_s : NAN;
    double residual = totals->residual_w / mean_w;
    figures[JM_CHECK_residual] = isnan(totals->chi2_n) ? residual : NAN; /* the noise is not known */
    figures[JM_CHECK_chi2_n] = residual < residual_told ? NAN : totals->chi2_n;
    figures[JM_CHECK_unresolved] = share_of(fabs(totals->unresolved_energy_j), totals->total_energy_j);
}

static bool total_is_measured(const jm__attribution *a)
{
    for (size_t b = 0; b < a->dataset->board_count; b++)
        if (a->boards[b].counted && a->boards[b].fit.own) return false;
    return true;
}

static double weak_share(const jm__rows *rows, double total_j)
{
    double weak_j = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const jm_row *row = &rows->items[i];
        bool weak = row->provenance >= JM_PROVENANCE_WEAK && rows->nodes.items[i] != JM__NO_NODE;
        if (weak && isfinite(row->energy_self_j)) weak_j += row->energy_self_j;
    }
    return share_of(weak_j, total_j);
}

/* The recorder's losses beside what it has. */
static double lost_share(const jm__attribution *a, const jm_report_quality *quality)
{
    double lost = (double)quality->lost_records;
    return share_of(lost, lost + (double)a->dataset->span_count + (double)a->work.kernels);
}

static double gap_share(const jm__attribution *a, const jm_report_quality *quality)
{
    size_t boards = 0;
    for (size_t b = 0; b < a->dataset->board_count; b++)
        boards += a->boards[b].wanted;
    double wanted_s = (double)jm__windows_duration_ns(&a->windows) * 1e-9;
    return fmin(1, share_of(quality->gap_s, wanted_s * (double)boards));
}

/* A table of kernels or boards says nothing of layers. */
static bool goes_by_layer(jm_by by)
{
    return by != JM_BY_KERNEL && by != JM_BY_BOARD;
}

jm__facts jm__facts_find(const jm__attribution *a, const jm__rows *rows, const jm_report_totals *totals,
                         const jm_report_quality *quality, const jm__no_layer *no_layer)
{
    jm__facts facts = {0};
    for (jm__check check = 0; check < JM_CHECK_COUNT; check++)
        facts.figures[check] = NAN;
    facts.figures[JM_CHECK_no_energy] = isnan(totals->total_energy_j);
    facts.figures[JM_CHECK_damaged] = a->dataset->damage != NULL;
    check_boards(facts.figures, a);
    if (isnan(totals->total_energy_j)) facts.figures[JM_CHECK_boards_missing] = NAN; /* said already */
    check_fit(facts.figures, totals);
    facts.figures[JM_CHECK_lost_records] = lost_share(a, quality);
    if (goes_by_layer(a->options.by)) facts.figures[JM_CHECK_no_layer] = no_layer->share;
    facts.no_layer_why = no_layer->why;
    facts.total_is_measured = total_is_measured(a);
    facts.figures[JM_CHECK_gaps] = gap_share(a, quality);
    facts.figures[JM_CHECK_weak] = weak_share(rows, totals->total_energy_j);
    facts.figures[JM_CHECK_throttled] = quality->throttled_share;
    return facts;
}
