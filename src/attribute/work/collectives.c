/* Collectives by the spans around their launch, else by the names of their kernels; calls by rank. */
#include "attribute/work/collectives.h"

#include "base/plain.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "format/rows/span_kind.h"
#include "record/timeline/ring_format.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Operations times groups; kernels beyond that count as ordinary ones. */
enum { JM_COLLECTIVES_MAX = 4096 };

/* Not matched with other ranks' calls. */
#define JM__ALONE INT64_MIN

/* Words in kernels' names, without underscores; the first match counts.
 * ncclDevKernel_AllReduce_..., ncclSymDevKernel_AllGather_..., ncclKernel_SendRecv; one_shot_all_reduce and
 * multimem_all_gather of PyTorch, cross_device_reduce of vLLM. (See classes.c.) */
static const struct {
    const char *word, *operation;
} operations[] = {
    {"allreduce", "all-reduce"}, {"crossdevicereduce", "all-reduce"},
    {"allgather", "all-gather"}, {"reducescatter", "reduce-scatter"},
    {"alltoall", "all-to-all"},  {"broadcast", "broadcast"},
    {"sendrecv", "send, recv"},  {"gather", "gather"},
    {"scatter", "scatter"},      {"kernelreduce", "reduce"},
};

typedef struct channel_key {
    int64_t group;    /* name of the communicator or group, 0: unknown */
    int64_t pair;     /* 1: sends and receives, between two ranks */
    uintptr_t kernel; /* group unknown: the kernel's name, an interned text */
} channel_key;

typedef struct collective_key {
    int64_t operation; /* name of the outermost span, 0: none */
    int64_t group;
    uintptr_t kernel; /* without a span */
    int64_t channel;
} collective_key;

typedef struct rank_key {
    uint64_t channel, process_id, board;
} rank_key;

/* The operation by the kernel's name: "all-reduce"; NULL: unknown. */
static const char *operation_of_kernel(const char *kernel)
{
    char small[256];
    size_t length = 0;
    for (; *kernel != '\0' && length + 1 < sizeof small; kernel++) {
        if (*kernel == '_') continue;
        small[length++] = jm__lower(*kernel);
    }
    small[length] = '\0';
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (strstr(small, operations[i].word) != NULL) return operations[i].operation;
    return NULL;
}

void jm__collectives_init(jm__collectives *c, const jm__span_index *spans, const jm__classes *classes)
{
    *c = (jm__collectives){.spans = spans,
                           .classes = classes,
                           .numbers = {.key_size = sizeof(collective_key)},
                           .channel_numbers = {.key_size = sizeof(channel_key)},
                           .rank_numbers = {.key_size = sizeof(rank_key)}};
}

void jm__collectives_free(jm__collectives *c)
{
    for (size_t i = 0; i < c->ranks.count; i++)
        jm__vec_free(&c->ranks.items[i].calls);
    jm__vec_free(&c->ranks);
    jm__vec_free(&c->items);
    jm__vec_free(&c->channels);
    jm__map_free(&c->numbers);
    jm__map_free(&c->channel_numbers);
    jm__map_free(&c->rank_numbers);
    jm__text_store_free(&c->texts);
    *c = (jm__collectives){0};
}

/* The collective's spans around a launch: the outermost is the framework's, the innermost the library's. */
typedef struct enclosing_spans {
    size_t outer, inner;
} enclosing_spans;

static enclosing_spans find_enclosing(const jm__span_index *spans, size_t span)
{
    enclosing_spans found = {JM__NO_SPAN, JM__NO_SPAN};
    for (size_t s = span; s != JM__NO_SPAN; s = jm__span_parent(spans, s)) {
        jm_span_kind kind = spans->dataset->spans[s].kind;
        if (jm__span_kind_is_container(kind)) break;
        if (kind != JM_SPAN_COLLECTIVE) continue;
        if (found.inner == JM__NO_SPAN) found.inner = s;
        found.outer = s;
    }
    return found;
}

static double bytes_of(const jm__span *span)
{
    if (span->payload_kind == JM_PAYLOAD_INTEGER) return (double)span->payload.integer;
    return span->payload_kind == JM_PAYLOAD_NATURAL ? (double)span->payload.natural : NAN;
}

static bool is_pair(const char *operation)
{
    return strncmp(operation, "send", 4) == 0 || strncmp(operation, "recv", 4) == 0;
}

/* False if memory is out. */
static bool name_it(jm__collectives *c, jm__collective *item)
{
    const char *operation =
        item->operation != NULL && item->operation[0] != '\0' ? item->operation : "collective";
    item->name = item->kernel != NULL ? item->kernel : operation;
    if (item->kernel != NULL || item->group == NULL) return true;
    jm__strbuf text = {0};
    jm__strbuf_format(&text, "%s, %s", operation, item->group);
    item->name = text.failed ? NULL : jm__text_store_add(&c->texts, text.text, strlen(text.text));
    jm__strbuf_free(&text);
    return item->name != NULL;
}

static bool number_of(jm__collectives *c, const collective_key *key, const char *kernel, uint32_t *number)
{
    const jm__dataset *d = c->spans->dataset;
    const jm__map_value *found = jm__map_find(&c->numbers, key);
    *number = found != NULL ? (uint32_t)found->id : (uint32_t)c->items.count;
    if (found != NULL) return true;
    if (*number >= JM_COLLECTIVES_MAX) {
        *number = JM__NO_COLLECTIVE;
        return true;
    }
    bool by_span = key->operation != 0;
    const char *group = jm__dataset_text(d, key->group);
    bool named = group[0] != '\0' && strncmp(group, JM_COMMUNICATOR, strlen(JM_COMMUNICATOR)) != 0;
    jm__collective new_item = {
        .operation = by_span ? jm__dataset_text(d, key->operation) : operation_of_kernel(kernel),
        .kernel = by_span ? NULL : kernel,
        .group = named ? group : NULL,
        .alias_of = *number,
        .channel = (size_t)key->channel,
    };
    return name_it(c, &new_item) && jm__map_put(&c->numbers, key, (jm__map_value){.id = *number}) &&
           jm__vec_push(&c->items, new_item);
}

bool jm__collective_of(jm__collectives *c, size_t span, uint32_t class_index, jm__collective_info *info)
{
    const jm__dataset *d = c->spans->dataset;
    const char *kernel = c->classes->items[class_index].name;
    enclosing_spans found = find_enclosing(c->spans, span);
    channel_key by = {.kernel = (uintptr_t)kernel};
    collective_key key = {.kernel = (uintptr_t)kernel};
    *info = (jm__collective_info){.span = found.outer, .bytes = NAN};
    if (found.outer != JM__NO_SPAN) {
        const jm__span *outer = &d->spans[found.outer], *inner = &d->spans[found.inner];
        info->bytes = bytes_of(outer);
        if (isnan(info->bytes)) info->bytes = bytes_of(inner);
        key = (collective_key){.operation = outer->name_id, .group = outer->type_id};
        by.group = inner->type_id;
        by.pair = is_pair(jm__dataset_text(d, outer->name_id));
        if (by.group != 0) by.kernel = 0;
    }
    const jm__channel first = {.pair = by.pair != 0, .by_name = by.group == 0};
    size_t channel = jm__map_item(&c->channel_numbers, &by, &c->channels, &first);
    if (channel == SIZE_MAX) return false;
    key.channel = (int64_t)channel;
    return number_of(c, &key, kernel, &info->collective);
}

/* Name a communicator's collectives by their ranks, so that the name is the same in every run. False if
 * memory is out. */
static bool set_group_name(jm__collectives *c, size_t channel, const char *group)
{
    const char *kept = NULL;
    for (size_t i = 0; i < c->items.count; i++) {
        jm__collective *item = &c->items.items[i];
        if (item->channel != channel || item->group != NULL || item->kernel != NULL) continue;
        if (kept == NULL) kept = jm__text_store_add(&c->texts, group, strlen(group));
        if (kept == NULL) return false;
        item->group = kept;
        if (!name_it(c, item)) return false;
    }
    return true;
}

/* Find aliases, once all groups have names. There are few: operations of a program times its groups. */
static void unite_aliases(jm__collectives *c)
{
    for (size_t i = 0; i < c->items.count; i++)
        for (size_t k = 0; k < i; k++) {
            const jm__collective *a = &c->items.items[i], *b = &c->items.items[k];
            if (b->alias_of != k || a->kernel != b->kernel ||
                !jm__equal_or_both_none(a->operation, b->operation) ||
                !jm__equal_or_both_none(a->group, b->group))
                continue;
            c->items.items[i].alias_of = (uint32_t)k;
            break;
        }
}

/* Largest share of unmatched calls; lost records leave some. */
static const double unmatched_max = 0.01;       /* by name: the calls may be of several groups */
static const double unmatched_max_in_one = 0.5; /* of one communicator, whose calls have one order */

/* Leave a channel out of the comparison. */
static void drop_channel(jm__collectives *c, size_t channel)
{
    c->channels.items[channel].unknown = true;
    for (size_t i = 0; i < c->ranks.count; i++)
        if (c->ranks.items[i].channel == channel) jm__vec_free(&c->ranks.items[i].calls);
}

bool jm__collective_calls_add(jm__collectives *c, uint32_t collective, const char *kernel,
                              const jm__item *item, size_t board)
{
    size_t number = c->items.items[collective].channel;
    jm__channel *channel = &c->channels.items[number];
    const rank_key key = {number, (uint64_t)item->process_id, board};
    const jm__rank_calls first = {.channel = number, .process_id = item->process_id, .board = board};
    size_t rank = jm__map_item(&c->rank_numbers, &key, &c->ranks, &first);
    if (rank == SIZE_MAX) return false;
    if (channel->unknown) return true;
    if (item->calls != 1 || channel->calls == JM_COLLECTIVE_CALLS_MAX) {
        drop_channel(c, number);
        return true;
    }
    channel->calls++;
    const jm__collective_call call = {.from_ns = item->start_ns,
                                      .to_ns = item->end_ns,
                                      .all_ns = JM__ALONE,
                                      .kernel = kernel,
                                      .collective = collective};
    return jm__vec_push(&c->ranks.items[rank].calls, call);
}

static int by_time(const void *a, const void *b)
{
    const jm__collective_call *left = a, *right = b;
    if (left->from_ns != right->from_ns) return left->from_ns < right->from_ns ? -1 : 1;
    return (left->to_ns > right->to_ns) - (left->to_ns < right->to_ns);
}

/* Once the calls are sorted: the call of a rank with the item's start and end; NULL: none. */
static const jm__collective_call *collective_call_at(const jm__collectives *c, size_t channel,
                                                     const jm__item *item, size_t board)
{
    const rank_key key = {channel, (uint64_t)item->process_id, board};
    const jm__map_value *found = jm__map_find(&c->rank_numbers, &key);
    const jm__rank_calls *rank = found != NULL ? &c->ranks.items[found->id] : NULL;
    const jm__collective_call requested = {.from_ns = item->start_ns, .to_ns = item->end_ns};
    if (rank == NULL || rank->calls.count == 0) return NULL;
    return bsearch(&requested, rank->calls.items, rank->calls.count, sizeof requested, by_time);
}

/* ---- which calls belong together */

/* The ranks of one channel, and the current call of each. */
typedef struct matching {
    JM_VEC(jm__rank_calls *) ranks;
    JM_VEC(size_t) at;
} matching;

static jm__collective_call *call_of(const matching *m, size_t rank, size_t ahead)
{
    size_t at = m->at.items[rank] + ahead;
    return at < m->ranks.items[rank]->calls.count ? &m->ranks.items[rank]->calls.items[at] : NULL;
}

/* The current calls of all ranks. */
typedef struct meeting {
    int64_t last_begin_ns, first_end_ns;
    size_t first_out; /* the rank whose call ends first */
    bool same_kernel;
} meeting;

static meeting find_meeting(const matching *m)
{
    meeting all = {INT64_MIN, INT64_MAX, 0, true};
    for (size_t r = 0; r < m->ranks.count; r++) {
        const jm__collective_call *call = call_of(m, r, 0);
        if (call->from_ns > all.last_begin_ns) all.last_begin_ns = call->from_ns;
        all.same_kernel = all.same_kernel && call->kernel == call_of(m, 0, 0)->kernel;
        if (call->to_ns >= all.first_end_ns) continue;
        all.first_end_ns = call->to_ns;
        all.first_out = r;
    }
    return all;
}

static int64_t distance(int64_t a, int64_t b)
{
    return a < b ? b - a : a - b;
}

/* Whether the next call of the rank that ends first overlaps with the others' calls too, and ends nearer to
 * their end. */
static bool next_fits_better(const matching *m, const meeting *all)
{
    const jm__collective_call *mine = call_of(m, all->first_out, 0), *next = call_of(m, all->first_out, 1);
    int64_t others_end_ns = INT64_MAX;
    for (size_t r = 0; r < m->ranks.count; r++)
        if (r != all->first_out && call_of(m, r, 0)->to_ns < others_end_ns)
            others_end_ns = call_of(m, r, 0)->to_ns;
    return next != NULL && next->kernel == mine->kernel && next->from_ns < others_end_ns &&
           distance(next->to_ns, others_end_ns) < distance(mine->to_ns, others_end_ns);
}

static void set_together(const matching *m, int64_t all_ns)
{
    for (size_t r = 0; r < m->ranks.count; r++)
        call_of(m, r, 0)->all_ns = all_ns;
}

static bool all_have_call(const matching *m)
{
    for (size_t r = 0; r < m->ranks.count; r++)
        if (call_of(m, r, 0) == NULL) return false;
    return true;
}

/* The fewest or the most calls of a rank. */
static size_t count_calls(const matching *m, bool max)
{
    size_t count = m->ranks.items[0]->calls.count;
    for (size_t r = 1; r < m->ranks.count; r++)
        if (max == (m->ranks.items[r]->calls.count > count)) count = m->ranks.items[r]->calls.count;
    return count;
}

/* Returns how many calls are unmatched, of the rank that has the fewest. */
static size_t match_calls(matching *m)
{
    size_t fewest = count_calls(m, false), matched = 0;
    bool equal_counts = fewest == count_calls(m, true);
    while (all_have_call(m)) {
        const meeting all = find_meeting(m);
        bool fit = all.last_begin_ns < all.first_end_ns && all.same_kernel;
        if (fit && !equal_counts) fit = !next_fits_better(m, &all);
        if (fit) set_together(m, all.last_begin_ns);
        matched += fit;
        for (size_t r = 0; r < m->ranks.count; r++)
            m->at.items[r] += fit || equal_counts || r == all.first_out;
    }
    return fewest - matched;
}

static bool gather_ranks(matching *m, jm__collectives *c, size_t channel)
{
    m->ranks.count = m->at.count = 0;
    for (size_t r = 0; r < c->ranks.count; r++) {
        jm__rank_calls *rank = &c->ranks.items[r];
        if (rank->channel != channel || rank->calls.count == 0) continue;
        qsort(rank->calls.items, rank->calls.count, sizeof *rank->calls.items, by_time);
        if (!jm__vec_push(&m->ranks, rank) || !jm__vec_push(&m->at, 0)) return false;
    }
    return true;
}

static void match_channel(matching *m, const jm__channel *channel)
{
    size_t ranks = m->ranks.count;
    if (ranks < 2 || (channel->pair && ranks != 2)) return;
    size_t fewest = count_calls(m, false), unmatched = match_calls(m);
    double max = channel->by_name ? unmatched_max : unmatched_max_in_one;
    if ((double)unmatched <= max * (double)fewest) return;
    for (size_t r = 0; r < ranks; r++)
        for (size_t i = 0; i < m->ranks.items[r]->calls.count; i++)
            m->ranks.items[r]->calls.items[i].all_ns = JM__ALONE;
}

/* ---- sums of waiting */

static jm__collective_wait *wait_of(jm__collective_waits *waits, uint32_t collective,
                                    const jm__rank_calls *rank)
{
    for (size_t i = 0; i < waits->count; i++) {
        jm__collective_wait *wait = &waits->items[i];
        if (wait->collective == collective && wait->process_id == rank->process_id &&
            wait->board == rank->board)
            return wait;
    }
    const jm__collective_wait new_item = {
        .collective = collective, .process_id = rank->process_id, .board = rank->board};
    return jm__vec_push(waits, new_item) ? &waits->items[waits->count - 1] : NULL;
}

/* Add up one matched call of all ranks. */
static bool sum_meeting(jm__collective_waits *waits, const matching *m, const jm__intervals *const *windows)
{
    double waited_s = 0;
    size_t last = 0;
    for (size_t r = 0; r < m->ranks.count; r++) {
        const jm__rank_calls *rank = m->ranks.items[r];
        const jm__collective_call *call = call_of(m, r, 0);
        jm__collective_wait *wait = wait_of(waits, call->collective, rank);
        if (wait == NULL) return false;
        double wait_s =
            1e-9 * (double)jm__intervals_overlap_ns(windows[rank->board], call->from_ns, call->all_ns);
        if (call->from_ns == call->all_ns) last = r;
        wait->matched += jm__intervals_contain(windows[rank->board], call->from_ns);
        wait->calls += wait_s > 0;
        wait->wait_s += wait_s;
        waited_s += wait_s;
    }
    jm__collective_wait *late = wait_of(waits, call_of(m, last, 0)->collective, m->ranks.items[last]);
    late->awaited_s += waited_s;
    late->late += waited_s > 0;
    return true;
}

/* Matched calls have the same order in each rank. */
static bool sum_up(jm__collective_waits *waits, matching *m, const jm__intervals *const *windows)
{
    for (size_t r = 0; r < m->ranks.count; r++)
        m->at.items[r] = 0;
    for (;;) {
        for (size_t r = 0; r < m->ranks.count; r++)
            while (call_of(m, r, 0) != NULL && call_of(m, r, 0)->all_ns == JM__ALONE)
                m->at.items[r]++;
        if (!all_have_call(m)) return true;
        if (!sum_meeting(waits, m, windows)) return false;
        for (size_t r = 0; r < m->ranks.count; r++)
            m->at.items[r]++;
    }
}

bool jm__collective_waits_find(jm__collective_waits *waits, jm__collectives *collectives,
                               const jm__intervals *const *windows)
{
    matching m = {0};
    bool fine = true;
    for (size_t c = 0; fine && c < collectives->channels.count; c++) {
        if (collectives->channels.items[c].unknown) continue;
        fine = gather_ranks(&m, collectives, c);
        if (!fine || m.ranks.count == 0) continue;
        match_channel(&m, &collectives->channels.items[c]);
        fine = sum_up(waits, &m, windows);
    }
    jm__vec_free(&m.ranks);
    jm__vec_free(&m.at);
    return fine;
}

static bool is_selected(const jm__collectives *collectives, uint32_t collective,
                        const jm__collective_wait *wait)
{
    const jm__collective *items = collectives->items.items;
    return collective == JM__NO_COLLECTIVE || items[wait->collective].alias_of == items[collective].alias_of;
}

size_t jm__collective_awaited(const jm__collective_waits *waits, const jm__collectives *collectives,
                              uint32_t collective, double *share)
{
    size_t most_awaited = SIZE_MAX, first = SIZE_MAX;
    double all_s = 0, most_s = 0;
    bool several = false;
    for (size_t i = 0; i < waits->count; i++) {
        size_t board = waits->items[i].board;
        double board_s = 0;
        if (!is_selected(collectives, collective, &waits->items[i])) continue;
        for (size_t k = 0; k < waits->count; k++)
            if (waits->items[k].board == board && is_selected(collectives, collective, &waits->items[k]))
                board_s += waits->items[k].awaited_s;
        if (first == SIZE_MAX) first = board;
        several = several || board != first;
        all_s += waits->items[i].awaited_s;
        if (board_s <= most_s) continue;
        most_s = board_s;
        most_awaited = board;
    }
    *share = all_s > 0 ? most_s / all_s : 0;
    return several ? most_awaited : SIZE_MAX;
}

void jm__ranks_free(jm__ranks *ranks)
{
    jm__collectives_free(&ranks->collectives);
    jm__vec_free(&ranks->waits);
    free(ranks->waiting);
    *ranks = (jm__ranks){0};
}

static bool has_collectives(const jm__classes *classes)
{
    for (size_t i = 0; i < classes->count; i++)
        if (classes->items[i].family == JM_KERNEL_FAMILY_COLLECTIVE) return true;
    return false;
}

static bool is_requested(const jm__dataset *d, const jm__stream *stream, const jm__intervals *const *windows)
{
    return stream->board_id >= 1 && (size_t)stream->board_id <= d->board_count &&
           windows[stream->board_id - 1] != NULL;
}

/* Several processes, or one on several boards. */
static bool has_several_ranks(const jm__dataset *d, const jm__intervals *const *windows)
{
    const jm__stream *first = NULL;
    for (size_t i = 0; i < d->stream_count; i++) {
        const jm__stream *stream = &d->streams[i];
        if (!is_requested(d, stream, windows)) continue;
        if (first == NULL) first = stream;
        if (stream->process_id != first->process_id || stream->board_id != first->board_id) return true;
    }
    return false;
}

typedef struct kernel_reader {
    jm__ranks *ranks;
    const jm__intervals *const *windows;
} kernel_reader;

static jm_status take_kernel(void *context, const jm__kernel_run *kernel, jm_error *err)
{
    const kernel_reader *r = context;
    jm__collectives *collectives = &r->ranks->collectives;
    const jm__dataset *d = collectives->spans->dataset;
    if (kernel->class_id < 1 || (size_t)kernel->class_id > d->class_count) return JM_OK;
    const jm__class *class = &collectives->classes->items[kernel->class_id - 1];
    if (class->family != JM_KERNEL_FAMILY_COLLECTIVE) return JM_OK;
    if (kernel->stream_id < 1 || (size_t)kernel->stream_id > d->stream_count) return JM_OK;
    const jm__stream *stream = &d->streams[kernel->stream_id - 1];
    if (!is_requested(d, stream, r->windows)) return JM_OK;
    const jm__item item = {
        .start_ns = kernel->start_ns,
        .end_ns = kernel->end_ns > kernel->start_ns ? kernel->end_ns : kernel->start_ns,
        .process_id = stream->process_id,
        .calls = kernel->calls > 1 ? 2 : 1,
    };
    jm__collective_info info;
    bool fine = jm__collective_of(collectives, jm__span_at(collectives->spans, kernel->span_id),
                                  (uint32_t)(kernel->class_id - 1), &info);
    if (fine && info.collective != JM__NO_COLLECTIVE)
        fine = jm__collective_calls_add(collectives, info.collective, class->name, &item,
                                        (size_t)stream->board_id - 1);
    return fine ? JM_OK : jm__no_memory(err, "jm__ranks_compare");
}

/* ---- the name of a communicator */

static int by_number(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* "0,1" or, from three in a row on, "0-7". */
static void add_numbers(jm__strbuf *text, const int64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && numbers[end] == numbers[end - 1] + 1)
            end++;
        if (end - i < 3) end = i + 1;
        jm__strbuf_format(text, "%s%" PRId64, i > 0 ? "," : "", numbers[i]);
        if (end > i + 1) jm__strbuf_format(text, "-%" PRId64, numbers[end - 1]);
        i = end;
    }
}

/* By the rank numbers of the launcher; without any, by GPUs. */
static bool name_group(jm__ranks *ranks, const jm__dataset *d, size_t channel)
{
    JM_VEC(int64_t) numbers = {0};
    bool fine = true, by_gpu = false;
    for (size_t i = 0; i < ranks->collectives.ranks.count; i++) {
        const jm__process *process = jm__dataset_process(d, ranks->collectives.ranks.items[i].process_id);
        by_gpu = by_gpu || process == NULL || process->rank < 0;
    }
    for (size_t i = 0; fine && i < ranks->collectives.ranks.count; i++) {
        const jm__rank_calls *rank = &ranks->collectives.ranks.items[i];
        if (rank->channel != channel) continue;
        fine = jm__vec_push(&numbers, by_gpu ? d->boards[rank->board].index
                                             : jm__dataset_process(d, rank->process_id)->rank);
    }
    jm__strbuf text = {0};
    if (fine && numbers.count > 1) {
        qsort(numbers.items, numbers.count, sizeof *numbers.items, by_number);
        jm__strbuf_add(&text, by_gpu ? "GPUs " : "ranks ");
        add_numbers(&text, numbers.items, numbers.count);
        fine = !text.failed && set_group_name(&ranks->collectives, channel, text.text);
    }
    jm__strbuf_free(&text);
    jm__vec_free(&numbers);
    return fine;
}

/* A class of waiting for each class of a collective. */
static bool add_waiting(jm__ranks *ranks, jm__classes *classes)
{
    size_t count = classes->count;
    ranks->waiting = malloc((count + 1) * sizeof *ranks->waiting);
    bool fine = ranks->waiting != NULL;
    for (uint32_t c = 0; fine && c < count; c++) {
        jm__class twin = classes->items[c];
        ranks->waiting[c] = c;
        if (twin.family != JM_KERNEL_FAMILY_COLLECTIVE || ranks->waits.count == 0) continue;
        twin.waits = true;
        ranks->waiting[c] = (uint32_t)classes->count;
        fine = jm__vec_push(classes, twin);
    }
    return fine;
}

jm_status jm__ranks_compare(jm__ranks *ranks, const jm__span_index *spans, jm__classes *classes,
                            const jm__intervals *const *windows, jm_error *err)
{
    const jm__dataset *d = spans->dataset;
    kernel_reader r = {ranks, windows};
    jm__collectives_init(&ranks->collectives, spans, classes);
    if (d->kernels.each == NULL || !has_collectives(classes) || !has_several_ranks(d, windows)) return JM_OK;
    JM_TRY(d->kernels.each(d->kernels.context, false, take_kernel, &r, err));
    bool fine = jm__collective_waits_find(&ranks->waits, &ranks->collectives, windows);
    for (size_t c = 0; fine && c < ranks->collectives.channels.count; c++)
        fine = name_group(ranks, d, c);
    if (fine) unite_aliases(&ranks->collectives);
    fine = fine && add_waiting(ranks, classes);
    return fine ? JM_OK : jm__no_memory(err, "jm__ranks_compare");
}

int64_t jm__ranks_all_ns(const jm__ranks *ranks, const jm__item *item, size_t board)
{
    if (ranks->waits.count == 0) return item->start_ns;
    size_t channel = ranks->collectives.items.items[item->collective - 1].channel;
    const jm__collective_call *call = collective_call_at(&ranks->collectives, channel, item, board);
    bool waited = call != NULL && call->all_ns > item->start_ns;
    return waited ? call->all_ns : item->start_ns;
}
