/* Energies of kernels by where they lie. */
#include "attribute/notes/no_layer.h"

#include "format/rows/marks.h"

#include <math.h>
#include <string.h>

/* Copies and sets belong to whoever moves data, which is seldom a layer. */
static bool counts(const jm__class *class)
{
    return strcmp(class->kind, jm__work_text(JM_WORK_KERNEL)) == 0;
}

static void add_board(double *energies, const jm__attribution *a, const jm__board_part *part)
{
    const jm__board_work *work = part->work;
    for (size_t u = 0; u < work->tally.uses.count; u++) {
        const jm__use_sum *sum = &work->tally.uses.items[u];
        const jm__class *class = &a->work.classes.items[a->work.uses.items.items[u].class_index];
        if (sum->ran_s < 0 || !counts(class)) continue;
        double power_w = jm__use_scale(work, u) * part->fit.power_w[work->columns.of_use[u]];
        for (size_t place = 0; place < JM_PLACES; place++)
            energies[place] += power_w * sum->place_s[place];
    }
}

/* A mark whose name begins so. */
static bool has_mark(const jm__dataset *d, const char *begin)
{
    for (size_t i = 0; i < d->mark_count; i++)
        if (strncmp(jm__dataset_text(d, d->marks[i].name_id), begin, strlen(begin)) == 0) return true;
    return false;
}

static const char *reason(const double *energies, const jm__dataset *d)
{
    double graph_j = energies[JM_PLACE_BY_GRAPH], unseen_j = energies[JM_PLACE_NO_LAUNCH],
           elsewhere_j = energies[JM_PLACE_ELSEWHERE];
    if (graph_j >= unseen_j && graph_j >= elsewhere_j && has_mark(d, JM_MARK_GRAPHS_BEFORE))
        return "CUDA graphs launched most of it, captured before the recording began: start it before the "
               "capture";
    if (graph_j >= unseen_j && graph_j >= elsewhere_j)
        return "CUDA graphs launched most of it, and their kernels run without a call of any module";
    if (unseen_j >= elsewhere_j)
        return "the launches of most of it were not seen, so it is not known which layer made them";
    if (has_mark(d, JM_MARK_COMPILED)) return "modules that torch.compile has compiled call no hooks";
    return "most of it was launched outside of every watched module and range";
}

jm__no_layer jm__no_layer_of(const jm__attribution *a)
{
    double energies[JM_PLACES] = {0};
    for (size_t b = 0; b < a->dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (part->counted && part->work->wanted && !part->work->from_host && part->fit.known)
            add_board(energies, a, part);
    }
    double without_j =
        energies[JM_PLACE_BY_GRAPH] + energies[JM_PLACE_NO_LAUNCH] + energies[JM_PLACE_ELSEWHERE];
    double all_j = without_j + energies[JM_PLACE_IN_LAYER];
    if (all_j <= 0) return (jm__no_layer){.share = NAN};
    return (jm__no_layer){.share = without_j / all_j, .why = reason(energies, a->dataset)};
}
