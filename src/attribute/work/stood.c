/* Weights of turns: a walk over all steps. */
#include "attribute/work/stood.h"

#include "attribute/work/stood_draws.h"

#include <stdlib.h>

/* Time of one process that is told by its steps and asked for. */
typedef struct asked {
    jm__windows report, steady;
} asked;

static bool find_asked(asked *out, const jm__windows *stood, const jm__stood_wanted *w)
{
    *out = (asked){0};
    return jm__windows_add_all(&out->report, stood) && jm__windows_intersect(&out->report, w->report) &&
           jm__windows_add_all(&out->steady, stood) && jm__windows_intersect(&out->steady, w->steady);
}

/* What of a lap lies in a time, in seconds, and of its step, as a part of it: what comes behind it is no part
 * of it. Laps come in order. */
typedef struct inside {
    double seconds, step;
} inside;

static inside inside_of(const jm__lap *lap, const jm__windows *time, size_t *at)
{
    int64_t length_ns = lap->step_end_ns - lap->start_ns;
    int64_t lap_ns = jm__windows_next_overlap_ns(time, at, lap->start_ns, lap->end_ns);
    inside in = {.seconds = 1e-9 * (double)lap_ns};
    if (length_ns <= 0)
        in.step = jm__windows_hold(time, lap->start_ns);
    else
        in.step = (double)jm__windows_next_overlap_ns(time, at, lap->start_ns, lap->step_end_ns) /
                  (double)length_ns;
    return in;
}

/* A step of which the edges are told, or what lies behind a traced one. */
static void add_lap(jm__stood *out, size_t number, inside report, inside steady)
{
    const jm__lap *lap = &out->stands->laps.items[number];
    out->seconds[lap->stand] += report.seconds;
    out->steady_s[lap->stand] += steady.seconds;
    if (lap->traced) return;
    double each = 1 / (double)out->stands->turns.items[out->stands->items.items[lap->stand].turn].laps;
    out->steps[lap->stand] += each * report.step;
    out->steady_steps[lap->stand] += each * steady.step;
    out->step_s[lap->stand] += 1e-9 * report.step * (double)(lap->step_end_ns - lap->start_ns);
    if (lap->recorded) out->recorded[lap->stand] += report.step;
    if (out->of_lap != NULL) out->of_lap[number] = (float)(each * report.step);
}

static void add_laps(jm__stood *out, size_t process, const asked *of)
{
    size_t report_at = 0, steady_at = 0;
    for (size_t i = out->stands->laps_of[process]; i < out->stands->laps_of[process + 1]; i++) {
        const jm__lap *lap = &out->stands->laps.items[i];
        if (lap->stand == JM__NO_STAND) continue;
        inside report = inside_of(lap, &of->report, &report_at);
        add_lap(out, i, report, inside_of(lap, &of->steady, &steady_at));
    }
}

static bool add_process(jm__stood *out, size_t process, const jm__stood_wanted *w)
{
    const jm__stands *stands = out->stands;
    asked of;
    bool fine = find_asked(&of, &stands->stood[process], w) &&
                jm__windows_add_all(&out->time, &stands->stood[process]);
    if (fine) add_laps(out, process, &of);
    jm__vec_free(&of.report);
    jm__vec_free(&of.steady);
    return fine;
}

static bool add_view(jm__stood *out, const jm__windows *stood, const jm__stood_wanted *w, uint32_t *number)
{
    jm__stood_view view = {0};
    bool fine = jm__windows_add_all(&view.report, w->report) && jm__windows_subtract(&view.report, stood) &&
                jm__windows_add_all(&view.steady, w->steady) && jm__windows_subtract(&view.steady, stood) &&
                jm__vec_push(&out->views, view);
    if (!fine) {
        jm__vec_free(&view.report);
        jm__vec_free(&view.steady);
        return false;
    }
    *number = (uint32_t)out->views.count;
    return true;
}

/* A process by itself on its board is idle when it does nothing. */
static bool find_views(jm__stood *out, const jm__stood_wanted *w)
{
    const jm__stands *stands = out->stands;
    out->view_of = calloc(stands->processes + 1, sizeof *out->view_of);
    out->idle_process = stands->processes;
    if (out->view_of == NULL) return false;
    for (size_t p = 0; p < stands->processes; p++) {
        if (!out->uses[p] || stands->stood[p].count == 0) continue;
        if (!add_view(out, &stands->stood[p], w, &out->view_of[p])) return false;
        if (out->idle_process == stands->processes) out->idle_process = p;
    }
    out->idle_view = (uint32_t)out->views.count;
    return out->views.count == 1 || add_view(out, &out->time, w, &out->idle_view);
}

static void add_turns(jm__stood *out, jm__stood_rows rows)
{
    size_t turns = out->stands->turns.count;
    for (size_t s = 0; s < out->stands->items.count; s++) {
        uint32_t turn = out->stands->items.items[s].turn;
        bool own = rows == JM_STOOD_ALL || (rows == JM_STOOD_IN_ROWS && s < turns);
        out->of_turn[turn] += out->steps[s];
        out->steady_of_turn[turn] += out->steady_steps[s];
        if (own) out->in_row[turn] += out->steps[s];
        if (!own && out->steps[s] > 0) out->lends[turn] = true;
    }
}

bool jm__stood_find(jm__stood *out, const jm__stood_wanted *w)
{
    *out = (jm__stood){0};
    if (!jm__stands_any(w->stands)) return true;
    size_t stands = w->stands->items.count, turns = w->stands->turns.count, processes = w->stands->processes;
    double **const of_stand[] = {&out->steps,    &out->steady_steps, &out->seconds,
                                 &out->steady_s, &out->step_s,       &out->recorded};
    double **const of_turn[] = {&out->of_turn, &out->steady_of_turn, &out->in_row};
    bool fine = true;
    out->stands = w->stands;
    out->rows = w->rows;
    for (size_t i = 0; i < sizeof of_stand / sizeof *of_stand; i++)
        fine = (*of_stand[i] = calloc(stands + 1, sizeof(double))) != NULL && fine;
    for (size_t i = 0; i < sizeof of_turn / sizeof *of_turn; i++)
        fine = (*of_turn[i] = calloc(turns + 1, sizeof(double))) != NULL && fine;
    out->lends = calloc(turns + 1, sizeof *out->lends);
    out->uses = calloc(processes + 1, sizeof *out->uses);
    fine = fine && out->lends != NULL && out->uses != NULL;
    if (w->rows == JM_STOOD_BY_STEP)
        fine = (out->of_lap = calloc(w->stands->laps.count + 1, sizeof *out->of_lap)) != NULL && fine;
    for (size_t p = 0; fine && p < processes; p++) {
        out->uses[p] = w->uses == NULL || w->uses[p];
        if (out->uses[p]) fine = add_process(out, p, w);
    }
    if (!fine) return false;
    jm__windows_normalise(&out->time);
    for (size_t i = 0; i < out->time.count; i++)
        out->time_s += 1e-9 * (double)jm__windows_overlap_ns(w->report, out->time.items[i].from_ns,
                                                             out->time.items[i].to_ns);
    add_turns(out, w->rows);
    return find_views(out, w) && jm__stood_draws_find(out);
}

void jm__stood_free(jm__stood *stood)
{
    double *const numbers[] = {stood->step_s,   stood->steps,    stood->steady_steps, stood->seconds,
                               stood->steady_s, stood->recorded, stood->of_turn,      stood->steady_of_turn,
                               stood->in_row,   stood->draws};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        free(numbers[i]);
    free(stood->lends);
    free(stood->of_lap);
    free(stood->unit);
    free(stood->alone);
    free(stood->partner);
    free(stood->parts);
    free(stood->uses);
    free(stood->view_of);
    for (size_t v = 0; v < stood->views.count; v++) {
        jm__vec_free(&stood->views.items[v].report);
        jm__vec_free(&stood->views.items[v].steady);
    }
    jm__vec_free(&stood->views);
    jm__vec_free(&stood->time);
    *stood = (jm__stood){0};
}
