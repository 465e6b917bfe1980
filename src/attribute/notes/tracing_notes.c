/* Sentences about tracing: what it cost, and what came of a budget for it. */
#include "attribute/notes/note_writer.h"
#include "format/rows/marks.h"

#include <jansson.h>
#include <string.h>

static bool has_mark(const jm__dataset *d, const char *name)
{
    for (size_t i = 0; i < d->mark_count; i++)
        if (strcmp(jm__dataset_text(d, d->marks[i].name_id), name) == 0) return true;
    return false;
}

/* The report is of all that was recorded, and all of it was traced. */
static bool is_whole(const jm__attribution *a)
{
    return jm__windows_duration_ns(&a->windows) == a->run.to_ns - a->run.from_ns &&
           a->options.process_id == 0 && !has_mark(a->dataset, JM_MARK_STEPS);
}

static void say_cost(jm__note_writer *w)
{
    const jm__attribution *a = w->a;
    const jm__launch_cost *cost = &a->dataset->launch_cost;
    double launches = (double)a->work.kernels, us = 1e-3 * (double)cost->ns;
    if (cost->ns <= 0 || launches == 0) return;
    double steps = (double)a->steps.count, time_ms = 1e-6 * (double)jm__windows_duration_ns(&a->windows);
    if (!is_whole(a) || steps <= 0)
        jm__say(w, "Tracing costs the program about %.2g us a launch here (%.2g to %.2g), of kernels alone.",
                us, 1e-3 * (double)cost->low_ns, 1e-3 * (double)cost->high_ns);
    else
        jm__say(w,
                "Tracing cost the program about %.2g us a launch here (%.2g to %.2g), of kernels alone: %.0f "
                "launches a "
                "step, about %.3g ms of %.4g ms, where the GPU does not hide it.",
                us, 1e-3 * (double)cost->low_ns, 1e-3 * (double)cost->high_ns, launches / steps,
                1e-3 * us * launches / steps, time_ms / steps);
}

/* What processes said at their end. */
static void say_kept(jm__note_writer *w, const char *text)
{
    json_t *told = text != NULL ? json_loads(text, 0, NULL) : NULL;
    double budget = 1e-4 * json_number_value(json_object_get(told, "budget_ppm"));
    double cost = 1e-4 * json_number_value(json_object_get(told, "cost_ppm"));
    double steps = json_number_value(json_object_get(told, "steps"));
    double traced = json_number_value(json_object_get(told, "traced_steps"));
    if (steps > 0)
        jm__say(w,
                "Traced within a budget of %.3g %%: %.0f of %.0f steps, which made the program %.2g %% "
                "slower, as "
                "tracing measured itself.",
                budget, traced, steps, cost);
    json_decref(told);
}

static void say_budget(jm__note_writer *w)
{
    const jm__dataset *d = w->a->dataset;
    if (d->budget_ppm <= 0) return;
    for (size_t i = 0; i < d->mark_count; i++)
        if (strcmp(jm__dataset_text(d, d->marks[i].name_id), JM_MARK_BUDGET) == 0)
            say_kept(w, d->marks[i].meta);
    if (w->a->steps.count == 0)
        jm__warn(w, "A budget for tracing needs steps (run.step(), or batches that are found), and there are "
                    "none: all "
                    "was traced.");
}

void jm__notes_of_tracing(jm__note_writer *w)
{
    say_budget(w);
    say_cost(w);
}
