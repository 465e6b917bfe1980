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

typedef struct step_kind {
    int64_t name_id;
    int64_t phase; /* its name; -1: none */
} step_kind;

typedef struct one_step {
    const jm__span *span;
    step_kind kind;
    int64_t
        until_ns; /* what it launched may run until then: to the next step of its process, within its phase */
} one_step;

typedef JM_VEC(one_step) step_list;

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
        const one_step one = {span, {span->name_id, -1}, jm__span_end_ns(d, span)};
        if (!jm__vec_push(steps, one)) return false;
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
        const jm__span *step = steps->items[i].span;
        if (step->kind != JM_SPAN_BATCH || jm__map_find(&seen, &step->name_id) != NULL) continue;
        if (!jm__map_add(&seen, &step->name_id)) names.failed = true;
        jm__strbuf_format(&names, "%s%s", names.length > 0 ? " or " : "", jm__dataset_text(d, step->name_id));
    }
    jm__map_free(&seen);
    bool any = names.failed || names.length > 0;
    out->found = any ? jm__strbuf_take(&names) : NULL;
    return !any || out->found != NULL;
}

/* ---- the kind of step that figures are of */

/* The phase that a step is in; JM__NO_SPAN: none. */
static size_t phase_of(const jm__span_index *spans, const jm__span *step)
{
    const jm__span *all = spans->dataset->spans;
    size_t s = jm__span_parent(spans, (size_t)(step - all));
    while (s != JM__NO_SPAN && all[s].kind != JM_SPAN_PHASE)
        s = jm__span_parent(spans, s);
    return s;
}

static int64_t length_ns(const jm__dataset *d, const jm__span *step)
{
    return jm__span_end_ns(d, step) - step->start_ns;
}

static int by_process_and_start(const void *left, const void *right)
{
    const jm__span *a = ((const one_step *)left)->span, *b = ((const one_step *)right)->span;
    if (a->process_id != b->process_id) return a->process_id < b->process_id ? -1 : 1;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* Sorts the steps, finds the phase of each, and lets it go on to the next of its process, whatever kind that
 * is. */
static void place_steps(step_list *steps, const jm__span_index *spans)
{
    jm__sort(steps->items, steps->count, sizeof *steps->items, by_process_and_start);
    for (size_t i = 0; i < steps->count; i++) {
        one_step *one = &steps->items[i];
        size_t number = phase_of(spans, one->span);
        const jm__span *phase = number != JM__NO_SPAN ? &spans->dataset->spans[number] : NULL;
        const jm__span *next = i + 1 < steps->count ? steps->items[i + 1].span : NULL;
        if (phase != NULL) one->kind.phase = phase->name_id;
        if (next == NULL || next->process_id != one->span->process_id) continue;
        int64_t until_ns = next->start_ns;
        if (phase != NULL && jm__span_end_ns(spans->dataset, phase) < until_ns)
            until_ns = jm__span_end_ns(spans->dataset, phase);
        if (until_ns > one->until_ns) one->until_ns = until_ns;
    }
}

/* The kind with the most time; false if memory is out. */
static bool find_kind(step_kind *out, const jm__dataset *d, const step_list *steps)
{
    typedef struct kind_time {
        step_kind kind;
        double ns;
    } kind_time;
    JM_VEC(kind_time) times = {0};
    jm__map numbers = {.key_size = sizeof(step_kind)};
    bool fine = true;
    size_t most = 0;
    for (size_t i = 0; fine && i < steps->count; i++) {
        const kind_time one = {steps->items[i].kind, 0};
        size_t k = jm__map_item(&numbers, &one.kind, &times, &one);
        fine = k != SIZE_MAX;
        if (!fine) break;
        times.items[k].ns += (double)length_ns(d, steps->items[i].span);
        if (times.items[k].ns > times.items[most].ns) most = k;
    }
    if (fine) *out = times.items[most].kind;
    jm__map_free(&numbers);
    jm__vec_free(&times);
    return fine;
}

/* Leave only steps of this kind; the time of the others goes into `out`. False if memory is out. */
static bool keep_kind(jm__steps *out, step_list *steps, step_kind kind, const jm__dataset *d)
{
    size_t kept = 0;
    bool fine = true;
    out->first_ns = INT64_MAX;
    out->last_ns = INT64_MIN;
    for (size_t i = 0; i < steps->count; i++) {
        step_kind one = steps->items[i].kind;
        const jm__span *span = steps->items[i].span;
        int64_t end_ns = jm__span_end_ns(d, span);
        if (span->start_ns < out->first_ns) out->first_ns = span->start_ns;
        if (end_ns > out->last_ns) out->last_ns = end_ns;
        if (one.name_id == kind.name_id && one.phase == kind.phase)
            steps->items[kept++] = steps->items[i];
        else
            fine = fine && jm__intervals_add(&out->others, span->start_ns, end_ns);
    }
    out->others_count = (int64_t)(steps->count - kept);
    steps->count = kept;
    return fine;
}

/* ---- its steady steps */

typedef struct process_steps {
    size_t first, end; /* in the list of steps */
    int64_t from_ns, to_ns;
    int64_t warm_ns; /* start of the first step after the warm-up */
    int64_t most_ns; /* no steady step is longer */
} process_steps;

typedef JM_VEC(process_steps) process_list;

static int by_begin(const void *left, const void *right)
{
    const process_steps *a = left, *b = right;
    if (a->from_ns != b->from_ns) return a->from_ns < b->from_ns ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

/* In order of their beginnings. `lengths`: a buffer of as many items as there are steps. */
static jm_status group_by_process(process_list *out, const step_list *steps, const jm__dataset *d,
                                  double *lengths, jm_error *err)
{
    for (size_t i = 0, end; i < steps->count; i = end) {
        process_steps s = {.first = i, .from_ns = steps->items[i].span->start_ns, .to_ns = INT64_MIN};
        jm_repeats stats;
        for (end = i;
             end < steps->count && steps->items[end].span->process_id == steps->items[i].span->process_id;
             end++) {
            int64_t end_ns = jm__span_end_ns(d, steps->items[end].span);
            if (end_ns > s.to_ns) s.to_ns = end_ns;
        }
        s.end = end;
        for (size_t k = i; k < end; k++)
            lengths[k - i] = (double)(steps->items[k].until_ns - steps->items[k].span->start_ns);
        JM_TRY(jm_repeats_of(lengths, end - i, &stats, err));
        s.warm_ns = steps->items[i + jm_repeats_warm_up(lengths, end - i)].span->start_ns;
        s.most_ns = (int64_t)(2 * stats.median);
        if (!jm__vec_push(out, s)) return jm__no_memory(err, "jm__steps_find");
    }
    jm__sort(out->items, out->count, sizeof *out->items, by_begin);
    return JM_OK;
}

/* The group of processes that starts with `first`: returns the first process after it. */
static size_t find_concurrent(int64_t *warm_ns, const process_list *all, size_t first)
{
    size_t end = first;
    int64_t to_ns = *warm_ns = INT64_MIN;
    for (; end < all->count && (end == first || all->items[end].from_ns < to_ns); end++) {
        const process_steps *s = &all->items[end];
        if (s->warm_ns > *warm_ns) *warm_ns = s->warm_ns;
        if (s->to_ns > to_ns) to_ns = s->to_ns;
    }
    return end;
}

typedef struct step_counts {
    int64_t all, warm_up, steady;
} step_counts;

/* Counts the steps of a process, and adds the time of the steady ones. */
static bool add_process(jm__steps *out, step_counts *counts, const jm__dataset *d, const step_list *steps,
                        const process_steps *s, int64_t warm_ns)
{
    bool fine = true;
    for (size_t i = s->first; fine && i < s->end; i++) {
        const jm__span *step = steps->items[i].span;
        counts->all++;
        counts->warm_up += step->start_ns < warm_ns;
        int64_t lasts_ns = steps->items[i].until_ns - step->start_ns;
        if (lasts_ns > s->most_ns) lasts_ns = length_ns(d, step);
        bool warm = step->start_ns<warm_ns, longer = lasts_ns> s->most_ns;
        counts->steady += !warm && !longer;
        fine = jm__intervals_add(warm     ? &out->warm
                                 : longer ? &out->longer
                                          : &out->steady,
                                 step->start_ns, step->start_ns + lasts_ns);
    }
    return fine;
}

/* Ranks that step together have as many steps, give or take a tenth and one. */
static bool step_together(const step_counts *a, const step_counts *b)
{
    return llabs(a->all - b->all) <= 1 + (a->all > b->all ? a->all : b->all) / 10;
}

static bool add_group(jm__steps *out, const jm__dataset *d, const step_list *steps,
                      const process_steps *processes, size_t count, int64_t warm_ns)
{
    step_counts most = {0}, sum = {0};
    bool together = true;
    for (size_t k = 0; k < count; k++) {
        step_counts one = {0};
        if (!add_process(out, &one, d, steps, &processes[k], warm_ns)) return false;
        together = together && (k == 0 || step_together(&most, &one));
        sum = (step_counts){sum.all + one.all, sum.warm_up + one.warm_up, sum.steady + one.steady};
        if (one.all > most.all) most = one;
    }
    const step_counts *counts = together ? &most : &sum;
    out->kind_count += counts->all;
    out->warm_up += counts->warm_up;
    out->steady_count += counts->steady;
    return true;
}

static jm_status find_steady(jm__steps *out, const jm__dataset *d, step_list *steps, double *lengths,
                             jm_error *err)
{
    process_list all = {0};
    jm_status status = group_by_process(&all, steps, d, lengths, err);
    for (size_t i = 0, end; status == JM_OK && i < all.count; i = end) {
        int64_t warm_ns;
        end = find_concurrent(&warm_ns, &all, i);
        if (!add_group(out, d, steps, &all.items[i], end - i, warm_ns))
            status = jm__no_memory(err, "jm__steps_find");
    }
    jm__intervals *times[] = {&out->steady, &out->warm, &out->longer, &out->others};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        jm__intervals_normalise(times[i]);
    jm__vec_free(&all);
    return status;
}

/* `lengths`: a buffer of as many items as there are steps; at least one. */
static jm_status find_figures(jm__steps *out, const jm__span_index *spans, step_list *steps, double *lengths,
                              jm_error *err)
{
    step_kind kind = {0};
    place_steps(steps, spans);
    if (!find_kind(&kind, spans->dataset, steps)) return jm__no_memory(err, "jm__steps_find");
    if (!keep_kind(out, steps, kind, spans->dataset)) return jm__no_memory(err, "jm__steps_find");
    out->name_id = kind.name_id;
    out->name = jm__dataset_text(spans->dataset, kind.name_id);
    out->phase = kind.phase < 0 ? NULL : jm__dataset_text(spans->dataset, kind.phase);
    return find_steady(out, spans->dataset, steps, lengths, err);
}

jm_status jm__steps_find(jm__steps *out, const jm__steps_requested *requested, jm_error *err)
{
    *out = (jm__steps){0};
    step_list steps = {0};
    bool fine = collect(&steps, requested) && name_found(out, requested->spans->dataset, &steps);
    double *lengths = fine ? malloc((steps.count + 1) * sizeof *lengths) : NULL;
    jm_status status = lengths != NULL ? JM_OK : jm__no_memory(err, "jm__steps_find");
    out->count = (int64_t)steps.count;
    if (status == JM_OK && steps.count > 0)
        status = find_figures(out, requested->spans, &steps, lengths, err);
    free(lengths);
    jm__vec_free(&steps);
    return status;
}

void jm__steps_free(jm__steps *steps)
{
    free(steps->found);
    jm__vec_free(&steps->steady);
    jm__vec_free(&steps->warm);
    jm__vec_free(&steps->longer);
    jm__vec_free(&steps->others);
}
