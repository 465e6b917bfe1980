/* What an estimate holds, for its sources and for who asks. */
#include "estimate/estimate.h"

#include "base/plain.h"
#include "base/status.h"
#include "import/ncu/ncu.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

jm_status jm__estimate_note(jm_estimate *estimate, jm_error *err, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    jm__vprint(text, sizeof text, format, args);
    va_end(args);
    const char *copy = jm__estimate_text(estimate, text);
    if (copy != NULL && jm__vec_push(&estimate->notes, copy)) return JM_OK;
    return jm__no_memory(err, "jm_estimate_make");
}

const char *jm__estimate_text(jm_estimate *estimate, const char *text)
{
    return jm__text_store_add(&estimate->texts, text, strlen(text));
}

jm_estimated_kernel jm__estimated_nothing(void)
{
    return (jm_estimated_kernel){.launches = 1,
                                 .kernel = "",
                                 .process = "",
                                 .device = "",
                                 .grid = "",
                                 .block = "",
                                 .duration_s = NAN,
                                 .power_w = NAN,
                                 .power_low_w = NAN,
                                 .power_high_w = NAN,
                                 .energy_j = NAN,
                                 .energy_low_j = NAN,
                                 .energy_high_j = NAN,
                                 .ncu_duration_s = NAN,
                                 .ncu_clock_mhz = NAN,
                                 .clock_mhz = NAN,
                                 .beyond_w = NAN,
                                 .missing_w = NAN,
                                 .reason = ""};
}

void jm_estimate_free(jm_estimate *estimate)
{
    if (estimate == NULL) return;
    jm__vec_free(&estimate->kernels);
    jm__vec_free(&estimate->notes);
    jm__vec_free(&estimate->features);
    jm__vec_free(&estimate->rates);
    jm__text_store_free(&estimate->texts);
    jm__text_store_free(&estimate->ncu_texts);
    free(estimate);
}

size_t jm_estimate_count(const jm_estimate *estimate)
{
    return estimate->kernels.count;
}

const jm_estimated_kernel *jm_estimate_kernel(const jm_estimate *estimate, size_t index)
{
    return index < estimate->kernels.count ? &estimate->kernels.items[index] : NULL;
}

const jm_estimated_total *jm_estimate_total(const jm_estimate *estimate)
{
    return &estimate->total;
}

size_t jm_estimate_part_count(const jm_estimate *estimate)
{
    return estimate->part_count;
}

const jm_estimate_part *jm_estimate_part_at(const jm_estimate *estimate, size_t index)
{
    return index < estimate->part_count ? &estimate->parts[index] : NULL;
}

size_t jm_estimate_note_count(const jm_estimate *estimate)
{
    return estimate->notes.count;
}

const char *jm_estimate_note(const jm_estimate *estimate, size_t index)
{
    return index < estimate->notes.count ? estimate->notes.items[index] : NULL;
}

const char *jm_estimate_board(const jm_estimate *estimate)
{
    return estimate->board;
}

const char *jm_estimate_explain(const char *line)
{
    return jm__ncu_explain(line);
}
