/* A mark states what changed in a thread's batch since its previous step. Read in order of time, marks give
 * the members of each step. */
#include "attribute/input/batches.h"

#include "base/map.h"
#include "base/status.h"
#include "format/rows/marks.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { MEMBERS_MAX = 20000000 };

#define NO_REQUEST UINT32_MAX

typedef struct entry {
    uint32_t request;
    int64_t prefill; /* tokens per step; less than 0: number not marked */
    int64_t decode;
} entry;

/* A thread's batch by its marks so far. */
typedef struct thread_state {
    int64_t last;   /* number of its last mark */
    bool complete;  /* no mark was lost since the last complete one */
    bool changed;   /* since `batch` was made */
    uint32_t batch; /* number + 1 of the last one; 0: none */
    JM_VEC(entry) entries;
    jm__map at; /* request -> entry */
} thread_state;

typedef struct mark_reader {
    jm__batches *to;
    const jm__dataset *dataset;
    JM_VEC(thread_state) threads;
    jm__map thread_of;  /* (process, thread) */
    jm__map request_of; /* (process, number) */
} mark_reader;

static bool find_thread(mark_reader *r, int64_t process_id, int64_t thread_id, bool make, thread_state **out)
{
    const int64_t key[2] = {process_id, thread_id};
    const jm__map_value *found = jm__map_find(&r->thread_of, key);
    *out = found != NULL ? &r->threads.items[found->id] : NULL;
    if (found != NULL || !make) return true;
    thread_state new_item = {.at = {.key_size = sizeof(uint32_t)}};
    if (!jm__map_put(&r->thread_of, key, (jm__map_value){.id = (int64_t)r->threads.count}) ||
        !jm__vec_push(&r->threads, new_item))
        return false;
    *out = &r->threads.items[r->threads.count - 1];
    return true;
}

/* The request of this number, new or not; NO_REQUEST if memory is out. */
static uint32_t find_request(mark_reader *r, int64_t process_id, int64_t number)
{
    const int64_t key[2] = {process_id, number};
    const jm__map_value *found = jm__map_find(&r->request_of, key);
    if (found != NULL) return (uint32_t)found->id;
    const jm__request new_item = {process_id, number, "", INT64_MAX, INT64_MIN, -1};
    size_t at = r->to->requests.count;
    bool fine = at < NO_REQUEST && jm__map_put(&r->request_of, key, (jm__map_value){.id = (int64_t)at}) &&
                jm__vec_push(&r->to->requests, new_item);
    return fine ? (uint32_t)at : NO_REQUEST;
}

/* Keeps sums from overflowing. */
static int64_t bounded(int64_t tokens)
{
    return tokens < 0 ? -1 : tokens > UINT32_MAX ? UINT32_MAX : tokens;
}

static bool begin_request(mark_reader *r, const jm__mark *mark, const json_t *meta)
{
    const json_t *number = json_object_get(meta, "request");
    const char *id = json_string_value(json_object_get(meta, "id"));
    if (!json_is_integer(number)) return true;
    uint32_t at = find_request(r, mark->process_id, json_integer_value(number));
    if (at == NO_REQUEST) return false;
    jm__request *request = &r->to->requests.items[at];
    if (mark->t_ns < request->start_ns) request->start_ns = mark->t_ns;
    if (id == NULL || request->id[0] != '\0') return true;
    const char *kept = jm__text_store_add(&r->to->ids, id, strlen(id));
    if (kept != NULL) request->id = kept;
    return kept != NULL;
}

static bool end_request(mark_reader *r, const jm__mark *mark, const json_t *meta)
{
    const json_t *number = json_object_get(meta, "request"), *made = json_object_get(meta, "made");
    if (!json_is_integer(number)) return true;
    uint32_t at = find_request(r, mark->process_id, json_integer_value(number));
    if (at == NO_REQUEST) return false;
    r->to->requests.items[at].end_ns = mark->t_ns;
    if (json_is_integer(made)) r->to->requests.items[at].made = bounded(json_integer_value(made));
    return true;
}

static void remove_member(thread_state *t, uint32_t request)
{
    const jm__map_value *found = jm__map_find(&t->at, &request);
    if (found == NULL) return;
    size_t at = (size_t)found->id, last = t->entries.count - 1;
    jm__map_remove(&t->at, &request);
    if (at != last) {
        t->entries.items[at] = t->entries.items[last];
        jm__map_find(&t->at, &t->entries.items[at].request)->id = (int64_t)at;
    }
    t->entries.count--;
}

static bool add_member(thread_state *t, entry new_item)
{
    const jm__map_value *found = jm__map_find(&t->at, &new_item.request);
    if (found != NULL) {
        t->entries.items[found->id] = new_item;
        return true;
    }
    return jm__map_put(&t->at, &new_item.request, (jm__map_value){.id = (int64_t)t->entries.count}) &&
           jm__vec_push(&t->entries, new_item);
}

/* `"3": [512, 0]`: tokens of prefill and of decode. */
static bool add_members(mark_reader *r, thread_state *t, const jm__mark *mark, json_t *in)
{
    const char *key;
    json_t *value;
    json_object_foreach(in, key, value)
    {
        uint32_t at = find_request(r, mark->process_id, strtoll(key, NULL, 10));
        if (at == NO_REQUEST) return false;
        entry new_item = {at, bounded(json_integer_value(json_array_get(value, 0))),
                          bounded(json_integer_value(json_array_get(value, 1)))};
        if (new_item.prefill == 0 && new_item.decode == 0) new_item.decode = -1;
        if (!add_member(t, new_item)) return false;
    }
    return true;
}

static bool remove_members(mark_reader *r, thread_state *t, const jm__mark *mark, const json_t *out)
{
    for (size_t i = 0; i < json_array_size(out); i++) {
        uint32_t at = find_request(r, mark->process_id, json_integer_value(json_array_get(out, i)));
        if (at == NO_REQUEST) return false;
        remove_member(t, at);
    }
    return true;
}

static bool change_batch(mark_reader *r, const jm__mark *mark, const json_t *meta)
{
    thread_state *t;
    int64_t number = json_integer_value(json_object_get(meta, "n"));
    if (!find_thread(r, mark->process_id, mark->thread_id, true, &t)) return false;
    if (json_is_true(json_object_get(meta, "all"))) {
        t->entries.count = 0;
        jm__map_free(&t->at);
        t->complete = true;
    } else if ((uint64_t)number != (uint64_t)t->last + 1) {
        t->complete = false; /* a mark was lost */
    }
    t->last = number;
    t->changed = true;
    return remove_members(r, t, mark, json_object_get(meta, "out")) &&
           add_members(r, t, mark, json_object_get(meta, "in"));
}

static bool read_mark(mark_reader *r, const jm__mark *mark)
{
    static const struct {
        const char *name;
        bool (*take)(mark_reader *r, const jm__mark *mark, const json_t *meta);
    } kinds[] = {{JM_MARK_REQUEST, begin_request},
                 {JM_MARK_REQUEST_ENDED, end_request},
                 {JM_MARK_BATCH, change_batch}};
    const char *name = jm__dataset_text(r->dataset, mark->name_id);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (strcmp(name, kinds[k].name) != 0) continue;
        errno = 0; /* jansson reports some failed allocations as errors of syntax */
        json_t *meta = mark->meta != NULL ? json_loads(mark->meta, 0, NULL) : NULL;
        if (meta == NULL && errno == ENOMEM) return false;
        bool fine = meta == NULL || kinds[k].take(r, mark, meta);
        json_decref(meta);
        return fine;
    }
    return true;
}

/* Shares by tokens, if all members have them (`tokens` > 0); else equal shares. */
static jm__member make_member(const entry *e, double tokens, size_t count)
{
    bool prefills = e->prefill != 0, decodes = e->decode != 0;
    jm__member m = {.request = e->request};
    if (tokens > 0) {
        m.prefill = (double)e->prefill / tokens;
        m.decode = (double)e->decode / tokens;
    } else { /* one that does both, in unknown amounts, counts as decoding */
        m.prefill = prefills && !decodes ? 1 / (double)count : 0;
        m.decode = 1 / (double)count - m.prefill;
    }
    m.prefill_tokens = e->prefill > 0 ? e->prefill : 0;
    m.decode_tokens = e->decode > 0 ? e->decode : 0;
    return m;
}

static bool append_batch(mark_reader *r, thread_state *t)
{
    jm__batches *to = r->to;
    jm__batch batch = {to->members.count, t->entries.count};
    double tokens = 0;
    bool all_known = true;
    for (size_t i = 0; i < t->entries.count; i++) {
        all_known = all_known && t->entries.items[i].prefill >= 0 && t->entries.items[i].decode >= 0;
        tokens += (double)t->entries.items[i].prefill + (double)t->entries.items[i].decode;
    }
    for (size_t i = 0; i < t->entries.count; i++)
        if (!jm__vec_push(&to->members,
                          make_member(&t->entries.items[i], all_known ? tokens : 0, batch.count)))
            return false;
    if (!jm__vec_push(&to->items, batch)) return false;
    t->batch = (uint32_t)to->items.count;
    t->changed = false;
    return true;
}

static bool read_step(mark_reader *r, size_t span)
{
    thread_state *t;
    const jm__span *step = &r->dataset->spans[span];
    find_thread(r, step->process_id, step->thread_id, false, &t);
    if (t == NULL) return true;
    r->to->unknown += !t->complete;
    if (!t->complete || t->entries.count == 0) return true;
    if (t->changed && !append_batch(r, t)) return false;
    r->to->of_step[span] = t->batch;
    return true;
}

static jm_status read_marks(mark_reader *r, jm_error *err)
{
    const jm__dataset *d = r->dataset;
    size_t span = 0;
    for (size_t i = 0; i <= d->mark_count; i++) {
        for (; span < d->span_count && (i == d->mark_count || d->spans[span].start_ns < d->marks[i].t_ns);
             span++)
            if (d->spans[span].kind == JM_SPAN_STEP && !read_step(r, span))
                return jm__no_memory(err, "jm__batches_find");
        if (r->to->members.count > MEMBERS_MAX)
            return jm__fail(err, JM_LIMIT, 0, NULL, "requests joined or left a batch more than %d times",
                            MEMBERS_MAX);
        if (i < d->mark_count && !read_mark(r, &d->marks[i])) return jm__no_memory(err, "jm__batches_find");
    }
    return JM_OK;
}

/* Sections inherit the batch of the section that encloses them; steps with a batch start a new one. */
static bool spread_to_sections(jm__batches *to, const jm__span_index *spans)
{
    JM_VEC(size_t) chain = {0};
    size_t count = jm__section_count(spans);
    bool *found = calloc(count + 1, sizeof *found), fine = found != NULL;
    for (size_t i = 0; fine && i < count; i++) {
        size_t s = i;
        while (fine && s != JM__NO_SPAN && !found[s]) {
            fine = jm__vec_push(&chain, s);
            found[s] = true;
            if (to->of_step[jm__section_span(spans, s)] != 0) break;
            s = jm__section_parent(spans, s);
        }
        uint32_t own = s == JM__NO_SPAN ? 0 : to->of_step[jm__section_span(spans, s)];
        uint32_t batch = own != 0 || s == JM__NO_SPAN ? own : to->of_section[s];
        while (fine && chain.count > 0)
            to->of_section[chain.items[--chain.count]] = batch;
    }
    jm__vec_free(&chain);
    free(found);
    return fine;
}

jm_status jm__batches_find(jm__batches *batches, const jm__dataset *dataset, const jm__span_index *spans,
                           jm_error *err)
{
    mark_reader r = {.to = batches,
                     .dataset = dataset,
                     .thread_of = {.key_size = 2 * sizeof(int64_t)},
                     .request_of = {.key_size = 2 * sizeof(int64_t)}};
    *batches = (jm__batches){0};
    batches->of_step = calloc(dataset->span_count + 1, sizeof *batches->of_step);
    batches->of_section = calloc(jm__section_count(spans) + 1, sizeof *batches->of_section);
    jm_status status = batches->of_step != NULL && batches->of_section != NULL
                           ? read_marks(&r, err)
                           : jm__no_memory(err, "jm__batches_find");
    if (status == JM_OK && !spread_to_sections(batches, spans))
        status = jm__no_memory(err, "jm__batches_find");
    for (size_t i = 0; i < r.threads.count; i++) {
        jm__vec_free(&r.threads.items[i].entries);
        jm__map_free(&r.threads.items[i].at);
    }
    jm__vec_free(&r.threads);
    jm__map_free(&r.thread_of);
    jm__map_free(&r.request_of);
    return status;
}

void jm__batches_free(jm__batches *batches)
{
    jm__vec_free(&batches->requests);
    jm__vec_free(&batches->members);
    jm__vec_free(&batches->items);
    jm__text_store_free(&batches->ids);
    free(batches->of_step);
    free(batches->of_section);
    *batches = (jm__batches){0};
}
