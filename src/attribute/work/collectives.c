/* Collectives by what the spans around their launch say, else by the names of their kernels. */
#include "attribute/work/collectives.h"

#include "base/strbuf.h"
#include "format/rows/span_kind.h"
#include "record/timeline/ring_format.h"

#include <math.h>
#include <string.h>

typedef struct collective_key {
    int64_t operation; /* names of the outermost span, 0: none */
    int64_t group;
    uintptr_t kernel; /* where there is no span */
    int64_t channel;
} collective_key;

/* Words in kernels' names, without what stands between them; the first that is there.
 * ncclDevKernel_AllReduce_..., ncclSymDevKernel_AllGather_..., ncclKernel_SendRecv; one_shot_all_reduce and
 * multimem_all_gather of PyTorch, cross_device_reduce of vLLM. (See kernel_family.c.) */
static const struct {
    const char *word, *operation;
} operations[] = {
    {"allreduce", "all-reduce"}, {"crossdevicereduce", "all-reduce"},
    {"allgather", "all-gather"}, {"reducescatter", "reduce-scatter"},
    {"alltoall", "all-to-all"},  {"broadcast", "broadcast"},
    {"sendrecv", "send, recv"},  {"gather", "gather"},
    {"scatter", "scatter"},      {"kernelreduce", "reduce"},
};

const char *jm__collective_operation(const char *kernel)
{
    char small[256];
    size_t length = 0;
    for (; *kernel != '\0' && length + 1 < sizeof small; kernel++) {
        if (*kernel == '_') continue;
        small[length++] = *kernel >= 'A' && *kernel <= 'Z' ? (char)(*kernel - 'A' + 'a') : *kernel;
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
                           .channel_numbers = {.key_size = sizeof(jm__channel_key)}};
}

void jm__collectives_free(jm__collectives *c)
{
    jm__vec_free(&c->items);
    jm__vec_free(&c->channels);
    jm__map_free(&c->numbers);
    jm__map_free(&c->channel_numbers);
    jm__text_store_free(&c->texts);
    *c = (jm__collectives){0};
}

/* The spans of the collective around a launch: the framework's is the outermost, the library's the innermost.
 */
typedef struct around {
    size_t outer, inner;
} around;

static around spans_around(const jm__span_index *spans, size_t span)
{
    around found = {JM__NO_SPAN, JM__NO_SPAN};
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

static bool channel_of(jm__collectives *c, const jm__channel_key *key, size_t *number)
{
    const jm__map_value *known = jm__map_find(&c->channel_numbers, key);
    *number = known != NULL ? (size_t)known->id : c->channels.count;
    if (known != NULL) return true;
    return jm__map_put(&c->channel_numbers, key, (jm__map_value){.id = (int64_t)*number}) &&
           jm__vec_push(&c->channels, *key);
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
    const jm__map_value *known = jm__map_find(&c->numbers, key);
    *number = known != NULL ? (uint32_t)known->id : (uint32_t)c->items.count;
    if (known != NULL) return true;
    if (*number >= JM_COLLECTIVES_MAX) {
        *number = JM__NO_COLLECTIVE;
        return true;
    }
    bool told = key->operation != 0;
    const char *group = jm__dataset_text(d, key->group);
    bool named = group[0] != '\0' && strncmp(group, JM_COMMUNICATOR, strlen(JM_COMMUNICATOR)) != 0;
    jm__collective fresh = {
        .operation = told ? jm__dataset_text(d, key->operation) : jm__collective_operation(kernel),
        .kernel = told ? NULL : kernel,
        .group = named ? group : NULL,
        .same_as = *number,
        .channel = (size_t)key->channel,
    };
    return name_it(c, &fresh) && jm__map_put(&c->numbers, key, (jm__map_value){.id = *number}) &&
           jm__vec_push(&c->items, fresh);
}

bool jm__collective_of(jm__collectives *c, size_t span, uint32_t class_index, jm__collective_told *told)
{
    const jm__dataset *d = c->spans->dataset;
    const char *kernel = c->classes->items[class_index].name;
    around found = spans_around(c->spans, span);
    jm__channel_key channel_key = {.kernel = (uintptr_t)kernel};
    collective_key key = {.kernel = (uintptr_t)kernel};
    *told = (jm__collective_told){.span = found.outer, .bytes = NAN};
    if (found.outer != JM__NO_SPAN) {
        const jm__span *outer = &d->spans[found.outer], *inner = &d->spans[found.inner];
        told->bytes = bytes_of(outer);
        if (isnan(told->bytes)) told->bytes = bytes_of(inner);
        key = (collective_key){.operation = outer->name_id, .group = outer->type_id};
        channel_key.group = inner->type_id;
        channel_key.pair = is_pair(jm__dataset_text(d, outer->name_id));
        if (channel_key.group != 0) channel_key.kernel = 0;
    }
    size_t channel;
    if (!channel_of(c, &channel_key, &channel)) return false;
    key.channel = (int64_t)channel;
    return number_of(c, &key, kernel, &told->collective);
}

bool jm__collectives_name_group(jm__collectives *c, size_t channel, const char *group)
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

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Few: operations of a program times its groups. */
void jm__collectives_unite(jm__collectives *c)
{
    for (size_t i = 0; i < c->items.count; i++)
        for (size_t k = 0; k < i; k++) {
            const jm__collective *a = &c->items.items[i], *b = &c->items.items[k];
            if (b->same_as != k || a->kernel != b->kernel || !same_text(a->operation, b->operation) ||
                !same_text(a->group, b->group))
                continue;
            c->items.items[i].same_as = (uint32_t)k;
            break;
        }
}
