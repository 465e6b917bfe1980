/* Compares a report with the true energies that the simulated board wrote, and prints the verdict. */
#include "cli/truth.h"

#include "cli/verb.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static jm_status fail(jm_error *err, jm_status status, const char *what, const char *detail)
{
    return cli_set_error(err, status, "", "cannot compare with the truth: %s%s", what, detail);
}

/* Linear search: a model has hundreds of layers, not millions. */
static cli_layer *find_or_add_layer(cli_truth *truth, const char *path)
{
    for (size_t i = 0; i < truth->count; i++)
        if (strcmp(truth->layers[i].path, path) == 0) return &truth->layers[i];
    cli_layer *grown = realloc(truth->layers, (truth->count + 1) * sizeof *grown);
    if (grown == NULL) return NULL;
    truth->layers = grown;
    char *copy = strdup(path);
    if (copy == NULL) return NULL;
    grown[truth->count] = (cli_layer){.path = copy};
    return &grown[truth->count++];
}

/* Cut the next field off a line of CSV, in place, without its quotes. */
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
static jm_status read_line(cli_truth *truth, char *line, jm_error *err)
{
    enum { NAME = 1, BUSY = 5, ENERGY = 6, FIELDS = 7 };
    char *fields[FIELDS], *rest = line;
    line[strcspn(line, "\r\n")] = '\0';
    for (int i = 0; i < FIELDS; i++) {
        fields[i] = next_field(&rest);
        if (fields[i] == NULL) return fail(err, JM_BAD_DATA, "a line is too short: ", line);
    }
    if (fields[ENERGY][0] == '\0')
        return fail(err, JM_BAD_DATA, "the simulated GPU has no energy for ", fields[NAME]);
    char *end;
    double energy_j = strtod(fields[ENERGY], &end);
    if (*end != '\0' || !isfinite(energy_j)) return fail(err, JM_BAD_DATA, "no energy: ", fields[ENERGY]);
    if (strcmp(fields[NAME], "(total)") == 0) {
        truth->total_j += energy_j;
        truth->total_s = fmax(truth->total_s, strtod(fields[BUSY], NULL));
        return JM_OK;
    }
    bool idle = strcmp(fields[NAME], "(idle)") == 0;
    cli_layer *layer = find_or_add_layer(truth, idle ? CLI_NO_LAYER : fields[NAME]);
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
        if (!header) status = read_line(truth, line, err);
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

/* The simulated board distinguishes only work and idle time. Time of a phase or step outside all layers is
 * idle to it, so these rows are compared together. */
static const char *path_in_truth(const jm_row *row)
{
    static const char *const no_work[] = {"idle",  "outside", "gap",    "sampling", "phase",
                                          "epoch", "step",    "window", "batch",    "data"};
    for (size_t i = 0; i < sizeof no_work / sizeof *no_work; i++)
        if (strcmp(row->kind, no_work[i]) == 0) return CLI_NO_LAYER;
    return row->path;
}

static jm_status leave_edges_out(cli_truth *truth, jm_error *err)
{
    double outside_s = fmin(fmax(truth->total_s - truth->found_s, 0), truth->idle_s);
    cli_layer *idle = find_or_add_layer(truth, CLI_NO_LAYER);
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
        cli_layer *layer = find_or_add_layer(truth, path_in_truth(row));
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

/* ---- the comparison as text */

typedef struct tally {
    int large;  /* layers over CLI_LARGE_SHARE */
    int missed; /* of those, not within CLI_LAYER_WITHIN */
    const cli_layer *worst;
    cli_layer small; /* sum of all smaller rows */
    size_t small_count;
} tally;

enum { FIGURES = 46, NARROWEST = 20, WIDEST = 110 };

static int name_width(void)
{
    int width = cli_terminal_width(STDOUT_FILENO);
    if (width > WIDEST) width = WIDEST;
    return width - FIGURES > NARROWEST ? width - FIGURES : NARROWEST;
}

static double deviation(const cli_layer *layer)
{
    double ratio = layer->truth_j > 0 ? layer->found_j / layer->truth_j - 1 : INFINITY;
    return isfinite(ratio) ? ratio : INFINITY;
}

static void print_layer(const cli_layer *layer, double total_j)
{
    int width = name_width();
    printf("%-*.*s %10.1f J %10.1f J", width, width, layer->path, layer->found_j, layer->truth_j);
    if (isfinite(deviation(layer))) {
        printf(" %+8.2f %%", deviation(layer) * 100);
    } else {
        printf(" %10s", "-");
    }
    printf(" %6.1f %%\n", layer->truth_j / total_j * 100);
}

/* A row that is large in either account must agree: energy that was never there is a miss too. */
static void check_layer(tally *all, const cli_layer *layer, double total_j)
{
    if (fmax(layer->truth_j, layer->found_j) <= CLI_LARGE_SHARE * total_j) {
        all->small_count++;
        all->small.found_j += layer->found_j;
        all->small.truth_j += layer->truth_j;
        return;
    }
    print_layer(layer, total_j);
    /* No layer: the energy before and after the recording is estimated from mean idle power only. */
    if (strcmp(layer->path, CLI_NO_LAYER) == 0) return;
    all->large++;
    all->missed += !(fabs(deviation(layer)) <= CLI_LAYER_WITHIN);
    if (all->worst == NULL || fabs(deviation(layer)) > fabs(deviation(all->worst))) all->worst = layer;
}

int cli_truth_print(const cli_truth *truth)
{
    char small_name[48], total_name[] = "all rows, and the GPU's total";
    tally all = {.small = {.path = small_name}};
    printf("%-*s %12s %12s %10s %8s\n", name_width(), "layer, its own energy", "joulemap", "truth",
           "deviation", "share");
    for (size_t i = 0; i < truth->count; i++)
        check_layer(&all, &truth->layers[i], truth->total_j);
    snprintf(small_name, sizeof small_name, "%zu smaller ones", all.small_count);
    if (all.small_count > 0) print_layer(&all.small, truth->total_j);
    const cli_layer total = {.path = total_name, .found_j = truth->found_j, .truth_j = truth->total_j};
    print_layer(&total, truth->total_j);

    bool layers_ok = all.large > 0 && all.missed == 0;
    bool total_ok = fabs(deviation(&total)) <= CLI_TOTAL_WITHIN;
    printf("\n%s: %d of %d layers with more than %.0f %% of the energy are within %.0f %% of the truth",
           layers_ok ? "ok" : "MISSED", all.large - all.missed, all.large, CLI_LARGE_SHARE * 100,
           CLI_LAYER_WITHIN * 100);
    if (all.worst != NULL && isfinite(deviation(all.worst))) {
        printf("; furthest: %s, %+.2f %%", all.worst->path, deviation(all.worst) * 100);
    } else if (all.worst != NULL) {
        printf("; furthest: %s, which only one of the two has", all.worst->path);
    }
    printf("\n%s: the rows add up to the GPU's total within %.1f %% (%+.3f %%)\n", total_ok ? "ok" : "MISSED",
           CLI_TOTAL_WITHIN * 100, deviation(&total) * 100);
    printf("    (the GPU was simulated for %.2f s and recorded for %.2f s; the %.1f J that it drew "
           "at idle before and after the recording are left out)\n",
           truth->total_s, truth->found_s, truth->edges_j);
    return layers_ok && total_ok ? 0 : CLI_EXIT_MISSED;
}
