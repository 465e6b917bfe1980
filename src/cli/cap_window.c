/* Steps of a stretch: those of one process, and how far apart they begin. */
#include "cli/cap_window.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Even steps that a clock could not tell apart are not known better than this. */
static const double least_share = 1e-4;

typedef struct beginnings {
    int64_t *t_ns; /* [count], rising */
    size_t count;
    int64_t pid; /* the first process that has one: ranks of a training go in step */
} beginnings;

static void add(beginnings *all, int64_t pid, int64_t t_ns)
{
    if (all->count == 0) all->pid = pid;
    if (pid == all->pid) all->t_ns[all->count++] = t_ns;
}

/* A step inside of another one is a part of it. */
static void gather_spans(beginnings *all, const jm_timeline *timeline)
{
    for (size_t i = 0; i < jm_timeline_span_count(timeline); i++) {
        const jm_timeline_span *span = jm_timeline_span_get(timeline, i);
        if (span->parent == SIZE_MAX) add(all, span->pid, span->start_ns);
    }
}

static void gather_marks(beginnings *all, const jm_timeline *timeline)
{
    for (size_t i = 0; i < jm_timeline_mark_count(timeline); i++) {
        const jm_timeline_mark *mark = jm_timeline_mark_get(timeline, i);
        add(all, mark->pid, mark->t_ns);
    }
}

static void measure(cli_cap_window *out, const beginnings *all)
{
    double mean = 0, squares = 0;
    if (all->count < 2) return;
    out->from_ns = all->t_ns[0];
    out->to_ns = all->t_ns[all->count - 1];
    out->steps = all->count - 1;
    for (size_t i = 1; i < all->count; i++) {
        double length_s = (double)(all->t_ns[i] - all->t_ns[i - 1]) * 1e-9, off = length_s - mean;
        mean += off / (double)i;
        squares += off * (length_s - mean);
    }
    double steps = (double)out->steps;
    out->step_s = mean;
    out->step_u_s = steps > 1 ? sqrt(squares / (steps - 1) / steps) : mean;
    out->step_u_s = fmin(fmax(out->step_u_s, least_share * mean), mean);
}

jm_status cli_cap_window_find(cli_cap_window *out, jm_recording *recording, const cli_cap_steps *what,
                              int64_t from_ns, int64_t to_ns, jm_error *err)
{
    jm_timeline *timeline;
    *out = (cli_cap_window){.from_ns = from_ns, .to_ns = to_ns};
    jm_status status =
        jm_timeline_create_spans(&timeline, recording, what->kind, what->name, from_ns, to_ns, err);
    if (status != JM_OK) return status;
    size_t most = jm_timeline_span_count(timeline) + jm_timeline_mark_count(timeline);
    beginnings all = {.t_ns = calloc(most + 1, sizeof *all.t_ns)};
    if (all.t_ns != NULL) {
        gather_spans(&all, timeline);
        if (all.count == 0) gather_marks(&all, timeline);
        measure(out, &all);
    } else {
        *err = (jm_error){.status = JM_NO_MEMORY, .text = "out of memory"};
        status = JM_NO_MEMORY;
    }
    free(all.t_ns);
    jm_timeline_free(timeline);
    return status;
}

jm_status cli_cap_window_probe(jm_cap_probe *out, jm_recording *recording, const cli_cap_window *window,
                               int64_t board_id, jm_error *err)
{
    jm_sum sum;
    double seconds = (double)(window->to_ns - window->from_ns) * 1e-9;
    jm_status status = jm_recording_energy(recording, board_id, window->from_ns, window->to_ns, &sum, err);
    if (status != JM_OK) return status;
    if (!(sum.energy_j > 0)) {
        *err = (jm_error){.status = JM_NOT_FOUND};
        snprintf(err->text, sizeof err->text, "no sensor tells what the GPU drew in the last %.1f s",
                 seconds);
        return JM_NOT_FOUND;
    }
    double power_w = sum.energy_j / seconds, half_w = (sum.high_j - sum.low_j) / 2 / seconds;
    *out = (jm_cap_probe){.time_s = window->step_s,
                          .power_w = power_w,
                          .time_u_s = window->step_u_s,
                          .power_u_w = fmin(fmax(half_w / 1.96, least_share * power_w), power_w)};
    return JM_OK;
}
