/* Sentences about tracing: what came of a budget for it. */
#include "attribute/notes/note_writer.h"
#include "format/rows/marks.h"

#include <jansson.h>
#include <string.h>

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

void jm__notes_of_tracing(jm__note_writer *w)
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
