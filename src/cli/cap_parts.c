/* Phases apart: what each took a step, trial by trial, out of the whole recording. */
#include "cli/cap_live.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Readings alone do not tell phases of milliseconds apart: the report's fit does. */
typedef struct part {
    const char *name;
    double busy_s, energy_j, half_j;
} part;

static bool is_part(const jm_row *row)
{
    static const char *const kinds[] = {"phase", "forward", "backward", "recompute", "optimizer"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(row->kind, kinds[i]) == 0) return true;
    return false;
}

/* The same name in several places (forward of two phases) is one part. */
static void add(part *parts, size_t *count, const jm_row *row)
{
    size_t i = 0;
    while (i < *count && strcmp(parts[i].name, row->name) != 0)
        i++;
    if (i == JM_CAP_MOST_PARTS || !isfinite(row->energy_j)) return;
    if (i == *count) parts[(*count)++] = (part){.name = row->name};
    parts[i].busy_s += row->busy_s;
    parts[i].energy_j += row->energy_j;
    parts[i].half_j = hypot(parts[i].half_j, (row->energy_high_j - row->energy_low_j) / 2);
}

static jm_status tell(cli_cap_live *live, const cli_cap_trial_done *done, const part *p, jm_error *err)
{
    static const double least_share = 1e-3; /* what a fit takes for exact is not */
    double steps = (double)done->window.steps;
    if (!(p->busy_s > 0) || !(p->energy_j > 0)) return JM_OK;
    double power_w = p->energy_j / p->busy_s, step = done->window.step_u_s / done->window.step_s;
    const jm_cap_probe probe = {.time_s = p->busy_s / steps,
                                .power_w = power_w,
                                .time_u_s = fmax(step, least_share) * p->busy_s / steps,
                                .power_u_w =
                                    fmin(fmax(p->half_j / 1.96 / p->energy_j, least_share), 1) * power_w};
    jm_status status = jm_cap_search_tell_part(live->search, done->trial.number, p->name, &probe, err);
    /* One that was not there at first has nothing to be compared with. */
    return status == JM_USAGE || status == JM_LIMIT ? JM_OK : status;
}

static jm_status tell_trial(cli_cap_live *live, jm_recording *recording, const cli_cap_trial_done *done,
                            jm_error *err)
{
    const jm_report_options options = {.size = sizeof options,
                                       .by = JM_BY_PHASE,
                                       .from_ns = done->window.from_ns,
                                       .to_ns = done->window.to_ns};
    part parts[JM_CAP_MOST_PARTS];
    size_t count = 0;
    jm_report *report;
    jm_status status = jm_report_create(&report, recording, &options, err);
    if (status != JM_OK) return status;
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        if (is_part(jm_report_row(report, i))) add(parts, &count, jm_report_row(report, i));
    for (size_t i = 0; status == JM_OK && i < count; i++)
        status = tell(live, done, &parts[i], err);
    jm_report_free(report);
    return status;
}

jm_status cli_cap_parts_tell(cli_cap_live *live, jm_recording *recording, jm_error *err)
{
    jm_status status = JM_OK;
    for (size_t i = 0; status == JM_OK && i < live->done_count; i++) {
        jm_cap_stage stage = live->done[i].trial.stage;
        if (stage == JM_CAP_STAGE_PROBE || stage == JM_CAP_STAGE_SWEEP)
            status = tell_trial(live, recording, &live->done[i], err);
    }
    return status;
}
