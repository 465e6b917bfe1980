/* A board's model for another kind of board of the same chip. */
#include "estimate/scaled_model.h"

#include <math.h>

/* Of the constant and of gaps, what goes with the multiprocessors. A choice: leakage of the chip against
 * memory, links, fans and converters. */
static const double chip_share = 0.5;

/* Boards of one chip with as many multiprocessors: what one's model was off on the other's kernels
 * (bench/results/estimate.txt). Fewer of them: half of the change, a choice. */
static const double same_size_u = 0.10, size_u = 0.5;

static void scale_weight(jm__board_model *model, size_t f, double by)
{
    size_t n = model->count + 1;
    if (f < model->count)
        model->features[f].weight_w *= by;
    else
        model->constant_w *= by;
    for (size_t i = 0; i < n; i++) {
        model->covariance[f * n + i] *= by;
        model->covariance[i * n + f] *= by;
    }
}

void jm__model_scale(jm__board_model *model, const jm__ncu_words *words, const jm__ncu_board *from,
                     const jm__ncu_board *to)
{
    double size = to->multiprocessors / from->multiprocessors;
    double memory = to->dram_bytes_per_second / from->dram_bytes_per_second;
    double always = 1 - chip_share + chip_share * size;
    for (size_t f = 0; f < model->count; f++) {
        const jm__ncu_word *word = jm__ncu_word_of(words, model->features[f].metric);
        if (word == NULL) continue;
        if (word->of_dram) scale_weight(model, f, memory);
        if (word->always) scale_weight(model, f, always);
        if (!word->of_dram && !word->always && word->percent_count == 0) model->features[f].most *= size;
    }
    scale_weight(model, model->count, always);
    for (size_t s = 0; s < JM_IDLE_STATES; s++) {
        model->idle[s].power_w *= always;
        model->idle[s].u_w *= always;
    }
    for (size_t i = 0; i < model->kernel_count; i++) {
        model->kernels[i].power_w *= always;
        model->kernels[i].predicted_w *= always;
    }
}

double jm__model_scale_u(const jm__ncu_board *from, const jm__ncu_board *to)
{
    return hypot(same_size_u, size_u * log(to->multiprocessors / from->multiprocessors));
}
