/* What the simulated board says was true, beside what a report found. */
#include "cli/truth.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static jm_status fail(jm_error *err, jm_status status, const char *what, const char *detail)
{
    *err = (jm_error){.status = status};
    snprintf(err->text, sizeof err->text, "cannot compare with the truth: %s%s", what, detail);
    return status;
}

/* Linear search: a model has hundreds of layers, not millions. */
static cli_layer *layer_of(cli_truth *truth, const char *path)
{
    for (size_t i = 0; i < truth->count; i++) {
        if (strcmp(truth->layers[i].path, path) == 0) return &truth->layers[i];
    }
    cli_layer *grown = realloc(truth->layers, (truth->count + 1) * sizeof *grown);
    if (grown == NULL) return NULL;
    truth->layers = grown;
    char *copy = strdup(path);
    if (copy == NULL) return NULL;
    grown[truth->count] = (cli_layer){.path = copy};
    return &grown[truth->count++];
}

/* Cut the next field of a line of CSV out, in place; quotes are taken away. */
static char *next_field(char **rest)
{
    char *from = *rest, *field = *rest, *to = *rest;
    if (from == NULL) return NULL;
    bool quoted = *from == '"';
    if (quoted) from++;
    for (; *from != '\0'; from++) {
        if (quoted && from[0] == '"' && from[1] == '"') {
            from++;
        } else if (quoted && *from == '"') {
            quoted = false;
            continue;
        } else if (!quoted && *from == ',') {
            break;
        }
        *to++ = *from;
    }
    *rest = *from == ',' ? from + 1 : NULL;
    *to = '\0';
    return field;
}

/* board,name,type,kind,calls,busy_s,energy_j */
static jm_status take_line(cli_truth *truth, char *line, jm_error *err)
{
    enum { NAME = 1, BUSY = 5, ENERGY = 6, FIELDS = 7 };
    char *fields[FIELDS], *rest = line;
    line[strcspn(line, "\r\n")] = '\0';
    for (int i = 0; i < FIELDS; i++) {
        fields[i] = next_field(&rest);
        if (fields[i] == NULL) return fail(err, JM_BAD_DATA, "a line is too short: ", line);
    }
    if (fields[ENERGY][0] == '\0')
        return fail(err, JM_BAD_DATA, "the simulated GPU lost track: ", fields[NAME]);
    char *end;
    double energy_j = strtod(fields[ENERGY], &end);
    if (*end != '\0' || !isfinite(energy_j)) return fail(err, JM_BAD_DATA, "no energy: ", fields[ENERGY]);
    if (strcmp(fields[NAME], "(total)") == 0) {
        truth->total_j += energy_j;
        truth->total_s = fmax(truth->total_s, strtod(fields[BUSY], NULL));
        return JM_OK;
    }
    bool idle = strcmp(fields[NAME], "(idle)") == 0;
    cli_layer *layer = layer_of(truth, idle ? CLI_NO_LAYER : fields[NAME]);
    if (layer == NULL) return fail(err, JM_NO_MEMORY, "out of memory", "");
    layer->truth_j += energy_j;
    double busy_s = strtod(fields[BUSY], NULL);
    if (idle && busy_s > 0) {
        truth->idle_w += energy_j / busy_s;
        truth->idle_s = fmax(truth->idle_s, busy_s);
    }
    return JM_OK;
}

jm_status cli_truth_read(cli_truth *truth, const char *path, jm_error *err)
{
    *truth = (cli_truth){0};
    FILE *in = fopen(path, "re");
    if (in == NULL) return fail(err, JM_NOT_FOUND, "there is no file ", path);
    char *line = NULL;
    size_t size = 0;
    jm_status status = JM_OK;
    bool header = true;
    while (status == JM_OK && getline(&line, &size, in) > 0) {
        if (!header) status = take_line(truth, line, err);
        header = false;
    }
    free(line);
    fclose(in);
    if (status == JM_OK && truth->total_j <= 0) status = fail(err, JM_BAD_DATA, "no total in ", path);
    if (status != JM_OK) cli_truth_free(truth);
    return status;
}

static int by_energy(const void *left, const void *right)
{
    const cli_layer *a = left, *b = right;
    double a_j = fmax(a->truth_j, a->found_j), b_j = fmax(b->truth_j, b->found_j);
    return a_j < b_j ? 1 : a_j > b_j ? -1 : strcmp(a->path, b->path);
}

/* The board knows work and idle time. What the program did in a phase or step but in no layer is
 * idle time to it, so these rows stand together. */
static const char *path_in_truth(const jm_row *row)
{
    static const char *const no_work[] = {"idle", "outside", "gap",   "phase", "epoch",
                                          "step", "window",  "batch", "data"};
    for (size_t i = 0; i < sizeof no_work / sizeof *no_work; i++) {
        if (strcmp(row->kind, no_work[i]) == 0) return CLI_NO_LAYER;
    }
    return row->path;
}

static jm_status leave_edges_out(cli_truth *truth, jm_error *err)
{
    double outside_s = fmin(fmax(truth->total_s - truth->found_s, 0), truth->idle_s);
    cli_layer *idle = layer_of(truth, CLI_NO_LAYER);
    if (idle == NULL) return fail(err, JM_NO_MEMORY, "out of memory", "");
    truth->edges_j = fmin(outside_s * truth->idle_w, idle->truth_j);
    idle->truth_j -= truth->edges_j;
    truth->total_j -= truth->edges_j;
    return JM_OK;
}

jm_status cli_truth_compare(cli_truth *truth, const jm_report *report, jm_error *err)
{
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        cli_layer *layer = layer_of(truth, path_in_truth(row));
        if (layer == NULL) return fail(err, JM_NO_MEMORY, "out of memory", "");
        layer->found_j += row->energy_self_j;
        truth->found_j += row->energy_self_j;
    }
    truth->found_s = jm_report_totals_get(report)->duration_s;
    jm_status status = leave_edges_out(truth, err);
    if (status != JM_OK) return status;
    qsort(truth->layers, truth->count, sizeof *truth->layers, by_energy);
    return JM_OK;
}

void cli_truth_free(cli_truth *truth)
{
    for (size_t i = 0; i < truth->count; i++)
        free(truth->layers[i].path);
    free(truth->layers);
    *truth = (cli_truth){0};
}
