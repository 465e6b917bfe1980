/* Energy of a call of a layer that ran alone (joulemap.torch.isolate): what all kernels of such a call spend
 * together. */
#include "attribute/prior/source.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Alone, a layer works on other numbers, on a cooler board, and finds more of them in the cache: truths of
 * one layer moved by 2 % from one time to the next (shared/attribution.md), and another 2 % for the rest, a
 * choice. */
static const double elsewhere_u = 0.03;

/* A layer, in one direction. */
typedef struct pass {
    const char *path;
    size_t length; /* of the path */
    jm_span_kind kind;
} pass;

static bool is_of(const pass *wanted, const char *layer)
{
    return strncmp(layer, wanted->path, wanted->length) == 0 &&
           (layer[wanted->length] == '\0' || layer[wanted->length] == '.');
}

/* Does a process run work on this board? Where no streams are known, each does. */
static bool runs_on(const jm__dataset *d, const jm_board *board, int64_t process_id)
{
    for (size_t i = 0; i < d->stream_count; i++)
        if (d->streams[i].process_id == process_id && d->streams[i].board_id == board->id) return true;
    return d->stream_count == 0;
}

/* Calls of the layer itself that began while powers were learnt. */
static double calls_of(const jm__belief_scene *scene, const pass *wanted)
{
    const jm__dataset *d = scene->set->contexts.spans->dataset;
    double calls = 0;
    for (size_t i = 0; i < d->span_count; i++) {
        const jm__span *span = &d->spans[i];
        if (span->kind != wanted->kind || !jm__windows_hold(scene->work->learn, span->start_ns)) continue;
        if (strcmp(jm__dataset_text(d, span->name_id), wanted->path) != 0) continue;
        calls += runs_on(d, scene->board, span->process_id);
    }
    return calls;
}

/* Seconds of each column within the layer; their sum. */
static double seconds_of(double *row, const jm__belief_scene *scene, const pass *wanted)
{
    const jm__dataset *d = scene->set->contexts.spans->dataset;
    double sum_s = 0;
    for (size_t u = 0; u < scene->work->tally.uses.count; u++) {
        const jm__use *use = &scene->set->uses.items.items[u];
        const jm__context *place = &scene->set->contexts.items.items[use->context];
        const jm__use_sum *sum = &scene->work->tally.uses.items[u];
        if (sum->ran_s < 0 || place->kind != (int64_t)wanted->kind) continue;
        if (!is_of(wanted, jm__dataset_text(d, place->layer))) continue;
        double seconds = sum->inside.learn_s * jm__use_scale(scene->work, u);
        row[scene->columns->of_use[u]] += seconds;
        sum_s += seconds;
    }
    return sum_s;
}

static jm_status read_direction(pass *wanted, jm__csv *csv, size_t column, jm_error *err)
{
    const char *text = jm__csv_text(csv, column);
    wanted->kind = JM_SPAN_FORWARD;
    if (strcmp(text, jm_span_kind_text(JM_SPAN_FORWARD)) == 0) return JM_OK;
    wanted->kind = JM_SPAN_BACKWARD;
    if (strcmp(text, jm_span_kind_text(JM_SPAN_BACKWARD)) == 0) return JM_OK;
    return jm__csv_bad(csv, column, err, "is neither forward nor backward");
}

static jm_status add_line(jm__belief *belief, jm__belief_lines *lines, jm__csv *csv, const size_t column[4],
                          const jm__belief_scene *scene, double *row, jm_error *err)
{
    double energy_j, u_j;
    pass wanted = {.path = jm__csv_name(csv, column[0])};
    wanted.length = strlen(wanted.path);
    JM_TRY(read_direction(&wanted, csv, column[1], err));
    JM_TRY(jm__csv_number(csv, column[2], &energy_j, err));
    JM_TRY(jm__csv_number(csv, column[3], &u_j, err));
    if (!(energy_j > 0) || !isfinite(energy_j)) return jm__csv_bad(csv, column[2], err, "is no energy");
    if (!(u_j >= 0) || !isfinite(u_j)) return jm__csv_bad(csv, column[3], err, "is no standard uncertainty");
    lines->all++;
    memset(row, 0, belief->columns * sizeof *row);
    double calls = calls_of(scene, &wanted), seconds = seconds_of(row, scene, &wanted);
    if (!(calls > 0) || !(seconds > 0)) return JM_OK;
    lines->used++;
    for (size_t k = 0; k < belief->columns; k++)
        row[k] /= seconds;
    double power_w = energy_j * calls / seconds;
    return jm__belief_add(belief, row, power_w, power_w * hypot(u_j / energy_j, elsewhere_u), err);
}

jm_status jm__believe_isolated_layers(jm__belief *belief, jm__belief_lines *lines, jm__csv *csv,
                                      const jm__belief_scene *scene, jm_error *err)
{
    static const char *const names[] = {"path", "direction", "energy_j", "u_j"};
    size_t column[4];
    bool more;
    double *row = calloc(belief->columns + 1, sizeof *row);
    jm_status status = row == NULL ? jm__no_memory(err, "jm__believe_isolated_layers") : JM_OK;
    for (size_t i = 0; status == JM_OK && i < 4; i++)
        status = jm__csv_column(csv, names[i], &column[i], err);
    while (status == JM_OK && (status = jm__csv_next(csv, &more, err)) == JM_OK && more)
        status = add_line(belief, lines, csv, column, scene, row, err);
    free(row);
    return status;
}
