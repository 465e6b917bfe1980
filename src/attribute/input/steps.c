/* What a program marked (steps, samples, tokens); steps by process and time. */
#include "attribute/input/steps.h"

#include "base/order.h"
#include "base/status.h"
#include "base/strbuf.h"

#include <joulemap/repeats.h>
#include <stdlib.h>

enum { STEPS = JM_AMOUNTS }; /* the bit after those of jm__amount */

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

static bool has_marked(const jm__marked *marked, const jm__span *span, int bit)
{
    const jm__map_value *bits = jm__map_find(&marked->of_process, &span->process_id);
    return bits != NULL && (bits->id >> bit & 1) != 0;
}

jm_status jm__marked_find(jm__marked *marked, const jm__dataset *dataset, const jm__intervals *windows,
                          jm_error *err)
{
    *marked = (jm__marked){{.key_size = sizeof(int64_t)}};
    for (size_t i = 0; i < dataset->span_count; i++) {
        const jm__span *span = &dataset->spans[i];
        int64_t bits = bits_of(span);
        if (bits == 0 || !jm__intervals_contain(windows, span->start_ns)) continue;
        jm__map_value *found_bits = jm__map_find(&marked->of_process, &span->process_id);
        if (found_bits != NULL)
            found_bits->id |= bits;
        else if (!jm__map_put(&marked->of_process, &span->process_id, (jm__map_value){.id = bits}))
            return jm__no_memory(err, "jm__marked_find");
    }
    return JM_OK;
}

void jm__marked_free(jm__marked *marked)
{
    jm__map_free(&marked->of_process);
}

bool jm__marked_is_step(const jm__marked *marked, const jm__span *span)
{
    return span->kind == JM_SPAN_STEP || (span->kind == JM_SPAN_BATCH && !has_marked(marked, span, STEPS));
}

int64_t jm__marked_amount(const jm__marked *marked, const jm__span *span, jm__amount amount)
{
    bool counts = span->kind != JM_SPAN_BATCH || !has_marked(marked, span, (int)amount);
    return counts ? amount_of(span, amount) : 0;
}

typedef JM_VEC(const jm__span *) step_list;

static bool is_step(const jm__steps_requested *requested, const jm__span *span)
{
    return jm__marked_is_step(requested->marked, span) &&
           jm__intervals_contain(requested->windows, span->start_ns) &&
           jm__dataset_process_has_pid(requested->spans->dataset, span->process_id, requested->pid);
}

static bool is_part_of_another(const jm__steps_requested *requested, size_t span)
{
    const jm__span_index *spans = requested->spans;
    const jm__span *all = spans->dataset->spans;
    for (size_t s = jm__span_enclosing(spans, span, span); s != JM__NO_SPAN;
         s = jm__span_enclosing(spans, span, s))
        if (jm__step_has_part(&all[s], &all[span]) && is_step(requested, &all[s])) return true;
    return false;
}

static bool collect(step_list *steps, const jm__steps_requested *requested)
{
    const jm__dataset *d = requested->spans->dataset;
    for (size_t i = 0; i < d->span_count; i++) {
        const jm__span *span = &d->spans[i];
        if (!is_step(requested, span) || is_part_of_another(requested, i)) continue;
        if (!jm__vec_push(steps, span)) return false;
    }
    return true;
}

enum { FOUND_NAMES_MAX = 200 };

/* The names of the batches that count as steps, each once: "batch of a DataLoader or forward pass of
 * generate". False if memory is out. */
static bool name_found(jm__steps *out, const jm__dataset *d, const step_list *steps)
{
    jm__strbuf names = {0};
    jm__map seen = {.key_size = sizeof(int64_t)};
    for (size_t i = 0; i < steps->count && names.length < FOUND_NAMES_MAX; i++) {
        const jm__span *step = steps->items[i];
        if (step->kind != JM_SPAN_BATCH || jm__map_find(&seen, &step->name_id) != NULL) continue;
        if (!jm__map_add(&seen, &step->name_id)) names.failed = true;
        jm__strbuf_format(&names, "%s%s", names.length > 0 ? " or " : "", jm__dataset_text(d, step->name_id));
    }
    jm__map_free(&seen);
    bool any = names.failed || names.length > 0;
    out->found = any ? jm__strbuf_take(&names) : NULL;
    return !any || out->found != NULL;
}

static int by_process_and_start(const void *left, const void *right)
{
    const jm__span *a = *(const jm__span *const *)left, *b = *(const jm__span *const *)right;
    if (a->process_id != b->process_id) return a->process_id < b->process_id ? -1 : 1;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

typedef struct process_steps {
    size_t first, end; /* in the list of steps */
    int64_t from_ns, to_ns;
    int64_t warm_ns; /* start of the first step after the warm-up */
} process_steps;

typedef JM_VEC(process_steps) process_list;

static int by_begin(const void *left, const void *right)
{
    const process_steps *a = left, *b = right;
    if (a->from_ns != b->from_ns) return a->from_ns < b->from_ns ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

/* In order of their beginnings. `lengths`: a buffer of as many items as there are steps. */
static bool group_by_process(process_list *out, const step_list *steps, const jm__dataset *d, double *lengths)
{
    for (size_t i = 0, end; i < steps->count; i = end) {
        process_steps s = {.first = i, .from_ns = steps->items[i]->start_ns, .to_ns = INT64_MIN};
        for (end = i; end < steps->count && steps->items[end]->process_id == steps->items[i]->process_id;
             end++) {
            int64_t end_ns = jm__span_end_ns(d, steps->items[end]);
            lengths[end - i] = (double)(end_ns - steps->items[end]->start_ns);
            if (end_ns > s.to_ns) s.to_ns = end_ns;
        }
        s.end = end;
        s.warm_ns = steps->items[i + jm_repeats_warm_up(lengths, end - i)]->start_ns;
        if (!jm__vec_push(out, s)) return false;
    }
    jm__sort(out->items, out->count, sizeof *out->items, by_begin);
    return true;
}

/* The group of processes that starts with `first`: returns the first process after it. */
static size_t find_concurrent(jm__interval *steady, const process_list *all, size_t first)
{
    size_t end = first;
    *steady = (jm__interval){INT64_MIN, INT64_MIN};
    for (; end < all->count && (end == first || all->items[end].from_ns < steady->to_ns); end++) {
        const process_steps *s = &all->items[end];
        if (s->warm_ns > steady->from_ns) steady->from_ns = s->warm_ns;
        if (s->to_ns > steady->to_ns) steady->to_ns = s->to_ns;
    }
    return end;
}

static int64_t count_before(const step_list *steps, const process_steps *s, int64_t t_ns)
{
    int64_t count = 0;
    for (size_t i = s->first; i < s->end; i++)
        count += steps->items[i]->start_ns < t_ns;
    return count;
}

static bool find_steady(jm__steps *out, const jm__dataset *d, step_list *steps, double *lengths)
{
    process_list all = {0};
    jm__sort(steps->items, steps->count, sizeof *steps->items, by_process_and_start);
    bool fine = group_by_process(&all, steps, d, lengths);
    for (size_t i = 0, end; fine && i < all.count; i = end) {
        jm__interval steady;
        end = find_concurrent(&steady, &all, i);
        for (size_t k = i; k < end; k++)
            out->warm_up += count_before(steps, &all.items[k], steady.from_ns);
        fine = jm__intervals_add(&out->steady, steady.from_ns, steady.to_ns);
    }
    out->count = (int64_t)steps->count;
    jm__vec_free(&all);
    return fine;
}

jm_status jm__steps_find(jm__steps *out, const jm__steps_requested *requested, jm_error *err)
{
    const jm__dataset *d = requested->spans->dataset;
    *out = (jm__steps){0};
    step_list steps = {0};
    bool fine = collect(&steps, requested);
    double *lengths = malloc((steps.count + 1) * sizeof *lengths);
    fine = fine && lengths != NULL && name_found(out, d, &steps) && find_steady(out, d, &steps, lengths);
    free(lengths);
    jm__vec_free(&steps);
    return fine ? JM_OK : jm__no_memory(err, "jm__steps_find");
}

void jm__steps_free(jm__steps *steps)
{
    free(steps->found);
    jm__vec_free(&steps->steady);
}
