/* Whether a process told its steps, samples and tokens: each of them by itself. */
#include "attribute/input/told.h"

#include "base/status.h"

enum { STEPS = JM_AMOUNTS }; /* bits: a jm__amount, or this */

static int64_t amount_of(const jm__span *span, jm__amount amount)
{
    return amount == JM_AMOUNT_TOKENS ? span->tokens : span->samples;
}

static int64_t bits_of(const jm__span *span)
{
    int64_t bits = span->kind == JM_SPAN_STEP ? 1 << STEPS : 0;
    for (int amount = 0; amount < JM_AMOUNTS; amount++)
        if (amount_of(span, (jm__amount)amount) > 0) bits |= 1 << amount;
    return span->kind == JM_SPAN_BATCH ? 0 : bits;
}

static bool tells(const jm__told *told, const jm__span *span, int bit)
{
    const jm__map_value *bits = jm__map_find(&told->of_process, &span->process_id);
    return bits != NULL && (bits->id >> bit & 1) != 0;
}

jm_status jm__told_find(jm__told *told, const jm__dataset *dataset, const jm__windows *windows, jm_error *err)
{
    *told = (jm__told){{.key_size = sizeof(int64_t)}};
    for (size_t i = 0; i < dataset->span_count; i++) {
        const jm__span *span = &dataset->spans[i];
        int64_t bits = bits_of(span);
        if (bits == 0 || !jm__windows_hold(windows, span->start_ns)) continue;
        jm__map_value *known = jm__map_find(&told->of_process, &span->process_id);
        if (known != NULL)
            known->id |= bits;
        else if (!jm__map_put(&told->of_process, &span->process_id, (jm__map_value){.id = bits}))
            return jm__no_memory(err, "jm__told_find");
    }
    return JM_OK;
}

void jm__told_free(jm__told *told)
{
    jm__map_free(&told->of_process);
}

bool jm__told_is_step(const jm__told *told, const jm__span *span)
{
    return span->kind == JM_SPAN_STEP || (span->kind == JM_SPAN_BATCH && !tells(told, span, STEPS));
}

int64_t jm__told_amount(const jm__told *told, const jm__span *span, jm__amount amount)
{
    bool counts = span->kind != JM_SPAN_BATCH || !tells(told, span, (int)amount);
    return counts ? amount_of(span, amount) : 0;
}
