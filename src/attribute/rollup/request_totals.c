/* Quantiles over requests, and the sums of their parts. */
#include "attribute/rollup/request_totals.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Between two of them by a straight line: type 7 of Hyndman and Fan (1996), as in NumPy. */
static double quantile(const double *sorted, size_t count, double share)
{
    double at = share * (double)(count - 1);
    size_t below = (size_t)at, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (at - (double)below) * (sorted[above] - sorted[below]);
}

static void find_quantiles(jm_report_totals *t, const jm__rows *rows, double *energies_j)
{
    size_t count = 0, known = 0;
    for (size_t i = 0; i < rows->count; i++) {
        if (strcmp(rows->items[i].kind, "request") != 0) continue;
        count++;
        if (!isnan(rows->items[i].energy_j)) energies_j[known++] = rows->items[i].energy_j;
    }
    t->requests = (int64_t)count;
    if (known < count || count == 0) return;
    qsort(energies_j, count, sizeof *energies_j, by_size);
    t->request_median_j = quantile(energies_j, count, 0.5);
    t->request_p95_j = quantile(energies_j, count, 0.95);
}

static jm_status sum_parts(const jm__sums *s, const char *kind, size_t *numbers, jm_sum *sum, int64_t *tokens,
                           jm_error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < s->rows->count; i++) {
        const jm_row *row = &s->rows->items[i];
        if (strcmp(row->kind, kind) != 0) continue;
        numbers[count++] = i;
        if (row->tokens > 0 && __builtin_add_overflow(*tokens > 0 ? *tokens : 0, row->tokens, tokens))
            *tokens = INT64_MAX; /* of a file that says what cannot be */
    }
    return count > 0 ? jm__sums_add(s, numbers, count, sum, err) : JM_OK;
}

jm_status jm__request_totals_find(jm_report_totals *t, const jm__sums *s, jm_error *err)
{
    jm_sum prefill = {NAN, NAN, NAN}, decode = prefill;
    t->requests = t->prefill_tokens = t->decode_tokens = -1;
    t->request_median_j = t->request_p95_j = NAN;
    jm_status status = JM_OK;
    if (s->a->options.by == JM_BY_REQUEST) {
        size_t *numbers = calloc(s->rows->count + 1, sizeof *numbers);
        double *energies_j = calloc(s->rows->count + 1, sizeof *energies_j);
        if (numbers != NULL && energies_j != NULL) {
            find_quantiles(t, s->rows, energies_j);
            status = sum_parts(s, "prefill", numbers, &prefill, &t->prefill_tokens, err);
            if (status == JM_OK) status = sum_parts(s, "decode", numbers, &decode, &t->decode_tokens, err);
        } else {
            status = jm__no_memory(err, "jm__request_totals_find");
        }
        free(numbers);
        free(energies_j);
    }
    t->prefill_j = prefill.energy_j;
    t->prefill_low_j = prefill.low_j;
    t->prefill_high_j = prefill.high_j;
    t->decode_j = decode.energy_j;
    t->decode_low_j = decode.low_j;
    t->decode_high_j = decode.high_j;
    return status;
}
