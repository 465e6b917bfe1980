/* What was found beside what was true, and the verdict. */
#include "cli/truth.h"
#include "cli/verb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct tally {
    int large;  /* rows with much of the energy */
    int missed; /* of them, too far from the truth */
    const cli_layer *worst;
    cli_layer small; /* all others together */
    size_t small_count;
} tally;

enum { FIGURES = 46, NARROWEST = 20, WIDEST = 110 };

/* Columns for the name. */
static int name_room(void)
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
    int room = name_room();
    printf("%-*.*s %10.1f J %10.1f J", room, room, layer->path, layer->found_j, layer->truth_j);
    if (isfinite(deviation(layer))) {
        printf(" %+8.2f %%", deviation(layer) * 100);
    } else {
        printf(" %10s", "-");
    }
    printf(" %6.1f %%\n", layer->truth_j / total_j * 100);
}

/* What takes much by either account must agree: energy that was never there is a miss too. */
static void judge(tally *all, const cli_layer *layer, double total_j)
{
    if (fmax(layer->truth_j, layer->found_j) <= CLI_LARGE_SHARE * total_j) {
        all->small_count++;
        all->small.found_j += layer->found_j;
        all->small.truth_j += layer->truth_j;
        return;
    }
    print_layer(layer, total_j);
    /* Not a layer: what was idle before and after the recording is known by its mean power alone. */
    if (strcmp(layer->path, CLI_NO_LAYER) == 0) return;
    all->large++;
    all->missed += !(fabs(deviation(layer)) <= CLI_LAYER_WITHIN);
    if (all->worst == NULL || fabs(deviation(layer)) > fabs(deviation(all->worst))) all->worst = layer;
}

int cli_truth_print(const cli_truth *truth)
{
    char small_name[48], total_name[] = "all rows, and the GPU's total";
    tally all = {.small = {.path = small_name}};
    printf("%-*s %12s %12s %10s %8s\n", name_room(), "layer, its own energy", "joulemap", "truth",
           "deviation", "share");
    for (size_t i = 0; i < truth->count; i++)
        judge(&all, &truth->layers[i], truth->total_j);
    snprintf(small_name, sizeof small_name, "%zu smaller ones", all.small_count);
    if (all.small_count > 0) print_layer(&all.small, truth->total_j);
    const cli_layer total = {.path = total_name, .found_j = truth->found_j, .truth_j = truth->total_j};
    print_layer(&total, truth->total_j);

    bool layers_kept = all.large > 0 && all.missed == 0;
    bool total_kept = fabs(deviation(&total)) <= CLI_TOTAL_WITHIN;
    printf("\n%s: %d of %d layers with more than %.0f %% of the energy are within %.0f %% of the truth",
           layers_kept ? "ok" : "MISSED", all.large - all.missed, all.large, CLI_LARGE_SHARE * 100,
           CLI_LAYER_WITHIN * 100);
    if (all.worst != NULL && isfinite(deviation(all.worst))) {
        printf("; furthest: %s, %+.2f %%", all.worst->path, deviation(all.worst) * 100);
    } else if (all.worst != NULL) {
        printf("; furthest: %s, which only one of them knows", all.worst->path);
    }
    printf("\n%s: the rows add up to the GPU's total within %.1f %% (%+.3f %%)\n",
           total_kept ? "ok" : "MISSED", CLI_TOTAL_WITHIN * 100, deviation(&total) * 100);
    printf(
        "    (the GPU was watched for %.2f s, of which the recording holds %.2f s; the %.1f J that it drew "
        "at idle before and after are left out)\n",
        truth->total_s, truth->found_s, truth->edges_j);
    return layers_kept && total_kept ? 0 : CLI_EXIT_MISSED;
}
