/* Sentences about steps of which only the edges were recorded. */
#include "attribute/notes/note_writer.h"

#include <math.h>

/* What was traced of the steps that the report is of. */
typedef struct traced_steps {
    size_t traced;
    size_t all;
} traced_steps;

static traced_steps count_steps(const jm__attribution *a)
{
    traced_steps count = {0};
    for (size_t i = 0; i < a->stands.laps.count; i++) {
        const jm__lap *lap = &a->stands.laps.items[i];
        bool is_step = jm__told_is_step(&a->told, &a->dataset->spans[lap->span]); /* or a phase without any */
        if (!is_step || !jm__windows_hold(&a->windows, lap->start_ns)) continue;
        count.traced += lap->traced;
        count.all++;
    }
    return count;
}

/* What tracing took of the boards' time, and joules. */
static void add_cost(const jm__attribution *a, double *share, double *energy_j)
{
    double made_s = 0, all_s = 0;
    *energy_j = 0;
    for (size_t b = 0; b < a->dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->wanted || part->work->columns.count == 0) continue;
        all_s += (double)jm__windows_duration_ns(&part->windows) * 1e-9;
        for (size_t s = 0; s < JM_IDLE_STATES; s++) {
            double state_s = part->work->tally.idle_s[s][JM_CAUSE_TRACING];
            made_s += state_s;
            *energy_j += state_s * part->fit.power_w[part->work->columns.class_columns + s];
        }
    }
    *share = all_s > 0 ? made_s / all_s : 0;
}

static void say_traced(jm__note_writer *w)
{
    const jm__attribution *a = w->a;
    const traced_steps count = count_steps(a);
    if (count.all == 0) return;
    double share = 100 * (double)count.traced / (double)count.all, cost, energy_j;
    if (isnan(a->stands.slow_down)) {
        jm__say(w, "%.2g %% of the steps were traced; they stand for the others of their kind.", share);
        return;
    }
    add_cost(a, &cost, &energy_j);
    jm__say(w,
            "%.2g %% of the steps were traced, and stand for the others of their kind; a traced step took "
            "%.2g %% longer: that cost %.2g %% of the time and %.3g J.",
            share, 100 * fmax(0, a->stands.slow_down), 100 * cost, energy_j);
}

static void say_missing(jm__note_writer *w)
{
    const jm__stands *stands = &w->a->stands;
    if (stands->missing == 0) return;
    jm__warn(w,
             "Of %zu steps none like them (the same phase, name, samples and tokens) was traced: they are in "
             "no figure but those by board. Trace more often, or all steps.",
             stands->missing);
}

static void say_lone(jm__note_writer *w)
{
    const jm__stands *stands = &w->a->stands;
    double alone_s = 0, all_s = 0;
    for (size_t i = 0; i < stands->items.count && w->a->stood.stands != NULL; i++)
        all_s += w->a->stood.seconds[i];
    for (size_t i = 0; i < stands->lone.count && w->a->stood.stands != NULL; i++)
        alone_s += w->a->stood.seconds[stands->lone.items[i].turn];
    if (!(alone_s > 0)) return;
    jm__say(w,
            "%.0f %% of the time of steps that were not traced is told by a single stretch of traced ones: "
            "what changed since is not known, and the intervals are wider by what the steps' own times "
            "changed.",
            100 * alone_s / all_s);
}

void jm__notes_of_stands(jm__note_writer *w)
{
    if (w->a->stands.laps.count == 0) return;
    say_traced(w);
    say_missing(w);
    say_lone(w);
}
