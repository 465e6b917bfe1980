/* From the options of a report to the time, the steps and the spans that it is of. */
#include "attribute/scope.h"

#include "attribute/sampling.h"
#include "attribute/work/kernel_name.h"
#include "base/status.h"
#include "base/strbuf.h"

#include <string.h>

bool jm__scope_has_process(const jm__dataset *dataset, int64_t pid)
{
    for (size_t i = 0; i < dataset->process_count; i++)
        if (dataset->processes[i].pid == pid) return true;
    return false;
}

static jm_status check_options(const jm__dataset *dataset, const jm_report_options *o, jm_error *err)
{
    if (o->process_id != 0 && !jm__scope_has_process(dataset, o->process_id))
        return jm__fail(err, JM_NOT_FOUND, 0, NULL, "no process %lld in this recording",
                        (long long)o->process_id);
    if (o->to_ns < o->from_ns)
        return jm__fail(err, JM_USAGE, 0, NULL, "the end of the time asked for lies before its start");
    return JM_OK;
}

/* The whole run: as recorded, or, where that is not known, as far as rows go. */
static jm_status whole_run(jm__interval *run, const jm__dataset *d, jm_error *err)
{
    *run = (jm__interval){d->start_ns, d->end_ns};
    if (run->to_ns > run->from_ns) return JM_OK;
    int64_t first_ns, last_ns;
    JM_TRY(jm__kernels_bounds(&d->kernels, &first_ns, &last_ns, err));
    if (d->reading_count > 0 && d->readings[0].t_ns < first_ns) first_ns = d->readings[0].t_ns;
    if (d->reading_count > 0 && d->readings[d->reading_count - 1].t_ns > last_ns)
        last_ns = d->readings[d->reading_count - 1].t_ns;
    if (first_ns <= last_ns) *run = (jm__interval){first_ns, last_ns}; /* else there are no rows */
    return JM_OK;
}

/* Is it one of those, which stand apart by ", "? */
static bool is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at != NULL; at = strstr(at, ", ")) {
        at += at == list ? 0 : 2;
        if (strncmp(at, name, length) == 0 && (at[length] == '\0' || at[length] == ',')) return true;
    }
    return false;
}

static jm_status no_such_phase(const jm__dataset *d, const char *phase, jm_error *err)
{
    jm__strbuf names = {0};
    for (size_t i = 0; i < d->span_count && names.length < 200; i++) {
        if (d->spans[i].kind != JM_SPAN_PHASE) continue;
        const char *name = jm__dataset_text(d, d->spans[i].name_id);
        if (is_listed(names.text, name)) continue;
        jm__strbuf_format(&names, "%s%s", names.length > 0 ? ", " : "", name);
    }
    if (names.length == 0)
        jm__fail(err, JM_NOT_FOUND, 0, NULL, "no phase \"%s\"; this recording has no phases", phase);
    else
        jm__fail(err, JM_NOT_FOUND, 0, NULL, "no phase \"%s\"; this recording has: %s", phase, names.text);
    jm__strbuf_free(&names);
    return JM_NOT_FOUND;
}

/* All that powers can be learnt from: the run, and what is asked for if that goes beyond it. */
static jm_status find_learn_windows(jm__scope *s, jm_error *err)
{
    bool fine = jm__intervals_add(&s->learn, s->run.from_ns, s->run.to_ns) &&
                jm__intervals_add_all(&s->learn, &s->windows);
    jm__intervals_normalise(&s->learn);
    fine = fine && jm__intervals_subtract(&s->learn, &s->untraced);
    return fine ? JM_OK : jm__no_memory(err, "jm__scope_find");
}

/* What nobody recorded, but for steps that traced ones stand for. */
static bool find_untraced(jm__scope *s, const jm__traced *traced)
{
    bool fine = true;
    for (size_t p = 0; fine && p < s->dataset->process_count; p++) {
        jm__intervals marked = {0};
        fine =
            jm__intervals_add_all(&s->untraced, &traced[p].nothing) &&
            jm__intervals_add_all(&marked, &traced[p].steps) &&
            (s->strata.extrapolated == NULL || jm__intervals_subtract(&marked, &s->strata.extrapolated[p])) &&
            jm__intervals_add_all(&s->untraced, &marked);
        jm__vec_free(&marked);
    }
    jm__intervals_normalise(&s->untraced);
    return fine;
}

static jm_status find_strata(jm__scope *s, jm_error *err)
{
    jm__interval always = {INT64_MIN, INT64_MAX};
    const jm__intervals all = {&always, 1, 1};
    jm__marked marked = {0};
    jm__traced *traced = jm__traced_find(s->dataset);
    const jm__strata_requested requested = {&s->spans, &marked, traced};
    jm_status status = traced != NULL ? jm__marked_find(&marked, s->dataset, &all, err)
                                      : jm__no_memory(err, "jm__scope_find");
    if (status == JM_OK) status = jm__strata_find(&s->strata, &requested, err);
    if (status == JM_OK && !find_untraced(s, traced)) status = jm__no_memory(err, "jm__scope_find");
    jm__marked_free(&marked);
    jm__traced_free(traced, s->dataset);
    return status;
}

/* Of time that was not traced nobody knows whose its joules are. */
static jm_status leave_untraced_out(jm__scope *s, jm_error *err)
{
    if (s->options.by == JM_BY_BOARD) return JM_OK;
    size_t by_number = s->windows.count;
    JM_TRY(find_strata(s, err));
    if (!jm__intervals_add_all(&s->queried, &s->windows)) return jm__no_memory(err, "jm__scope_find");
    if (!jm__intervals_subtract(&s->windows, &s->untraced)) return jm__no_memory(err, "jm__scope_find");
    if (by_number == 0 || s->windows.count > 0) return JM_OK;
    jm__fail(err, JM_NOT_FOUND, 0, NULL,
             "nothing of this time was traced, so nobody knows whose its joules are");
    return jm__hint(err, JM_NOT_FOUND, "rows by board have the energy of all of it");
}

static jm_status find_windows(jm__scope *s, jm_error *err)
{
    const jm__dataset *d = s->dataset;
    const jm_report_options *o = &s->options;
    bool found = o->phase == NULL;
    JM_TRY(whole_run(&s->run, d, err));
    if (o->phase == NULL && !jm__intervals_add(&s->windows, s->run.from_ns, s->run.to_ns))
        return jm__no_memory(err, "jm__scope_find");
    for (size_t i = 0; o->phase != NULL && i < d->span_count; i++) {
        const jm__span *span = &d->spans[i];
        if (span->kind != JM_SPAN_PHASE || strcmp(jm__dataset_text(d, span->name_id), o->phase) != 0)
            continue;
        found = true;
        if (!jm__intervals_add(&s->windows, span->start_ns, jm__span_end_ns(d, span)))
            return jm__no_memory(err, "jm__scope_find");
    }
    if (!found) return no_such_phase(d, o->phase, err);
    jm__intervals_normalise(&s->windows);
    if (o->from_ns != 0 || o->to_ns != 0) jm__intervals_clip(&s->windows, o->from_ns, o->to_ns);
    return leave_untraced_out(s, err);
}

jm__extrapolated_rows jm__scope_extrapolated_rows(const jm__scope *s)
{
    jm_by by = s->options.by;
    if (by == JM_BY_SPAN || by == JM_BY_REQUEST) return JM_EXTRAPOLATED_BY_STEP;
    return jm__is_by_kernel(by) ? JM_EXTRAPOLATED_ALL : JM_EXTRAPOLATED_IN_ROWS;
}

jm_status jm__scope_find(jm__scope *s, jm_error *err)
{
    JM_TRY(check_options(s->dataset, &s->options, err));
    JM_TRY(jm__span_index_init(&s->spans, s->dataset, err));
    JM_TRY(find_windows(s, err));
    JM_TRY(find_learn_windows(s, err));
    JM_TRY(jm__marked_find(&s->marked, s->dataset, &s->windows, err));
    const jm__steps_requested requested = {&s->spans, &s->marked, &s->windows, s->options.process_id};
    JM_TRY(jm__steps_find(&s->steps, &requested, err));
    const jm__extrapolated_requested extrapolated = {&s->strata, &s->windows, &s->steps.steady, NULL,
                                                     jm__scope_extrapolated_rows(s)};
    if (!jm__extrapolated_find(&s->extrapolated, &extrapolated)) return jm__no_memory(err, "jm__scope_find");
    return s->options.by == JM_BY_REQUEST ? jm__batches_find(&s->batches, s->dataset, &s->spans, err) : JM_OK;
}

void jm__scope_free(jm__scope *s)
{
    jm__batches_free(&s->batches);
    jm__span_index_free(&s->spans);
    jm__vec_free(&s->windows);
    jm__vec_free(&s->queried);
    jm__vec_free(&s->untraced);
    jm__extrapolated_free(&s->extrapolated);
    jm__strata_free(&s->strata);
    jm__vec_free(&s->learn);
    jm__marked_free(&s->marked);
    jm__steps_free(&s->steps);
    *s = (jm__scope){0};
}
