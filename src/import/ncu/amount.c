/* What a kernel did, in the units of a feature of a board's model. */
#include "import/ncu/amount.h"

#include <math.h>

static double counter_total(const jm__ncu_word *word, const jm__ncu_sheet *sheet, const jm__ncu_scale *scale)
{
    for (size_t i = 0; i < word->counter_count; i++) {
        double total = jm__ncu_sheet_total(sheet, word->counters[i], word->peak, scale);
        if (!isnan(total)) return total;
    }
    if (word->pair[0][0] != '\0') {
        double all = jm__ncu_sheet_total(sheet, word->pair[0], 2 * word->peak, scale);
        double less = jm__ncu_sheet_total(sheet, word->pair[1], word->peak, scale);
        if (!isnan(all) && !isnan(less) && all >= less) return all - less;
    }
    double all_cycles = word->peak / 100 * scale->multiprocessors * scale->cycles;
    double share = jm__ncu_sheet_place(sheet, &word->shares);
    if (!isnan(share)) return share * all_cycles;
    double both = jm__ncu_sheet_place(sheet, &word->shares_of_both);
    double other = jm__ncu_sheet_place(sheet, &word->shares_of_other);
    if (!isnan(both) && !isnan(other)) return fmax(2 * both - other, 0) * all_cycles;
    double sum = jm__ncu_sheet_place(sheet, &word->labels);
    return word->times.count > 0 ? sum * jm__ncu_sheet_place(sheet, &word->times) : sum;
}

double jm__ncu_amount(const jm__ncu_word *word, const jm__ncu_board *board, const jm__ncu_sheet *sheet,
                      const jm__ncu_scale *scale)
{
    for (size_t i = 0; i < word->percent_count; i++) {
        double percent = jm__ncu_sheet_metric(sheet, word->percents[i]);
        if (!isnan(percent)) return percent * scale->duration_s;
    }
    double total = counter_total(word, sheet, scale);
    return word->of_dram ? 100 * total / board->dram_bytes_per_second : total;
}

void jm__ncu_scale_find(jm__ncu_scale *scale, double *clock_hz, const jm__ncu_words *words,
                        const jm__ncu_board *board, const jm__ncu_sheet *sheet)
{
    scale->duration_s = jm__ncu_sheet_place(sheet, &words->duration);
    scale->cycles = jm__ncu_sheet_place(sheet, &words->cycles);
    *clock_hz = jm__ncu_sheet_place(sheet, &words->clock);
    if (isnan(*clock_hz)) *clock_hz = scale->cycles / scale->duration_s;
    if (!(*clock_hz > 1e7 && *clock_hz < 1e11)) *clock_hz = NAN;
    if (isnan(scale->cycles)) scale->cycles = *clock_hz * scale->duration_s;
    scale->active_cycles = jm__ncu_sheet_place(sheet, &words->active);
    if (isnan(scale->active_cycles)) scale->active_cycles = scale->cycles;
    scale->multiprocessors = jm__ncu_sheet_place(sheet, &words->multiprocessors);
    if (isnan(scale->multiprocessors)) scale->multiprocessors = board->multiprocessors;
}

const jm__ncu_board *jm__ncu_board_by_memory(const jm__ncu_words *words, double dram_hz)
{
    const jm__ncu_board *nearest = &words->boards[0];
    if (isnan(dram_hz)) return nearest;
    for (size_t i = 1; i < words->board_count; i++)
        if (fabs(log(words->boards[i].dram_hz / dram_hz)) < fabs(log(nearest->dram_hz / dram_hz)))
            nearest = &words->boards[i];
    return nearest;
}
