/* Marks tell what changed in a thread's batch since its step before: read in the order of time, they say who
 * was in each step. */
#include "attribute/input/batches.h"

#include "base/map.h"
#include "base/status.h"
#include "format/rows/marks.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { MEMBERS_MAX = 20000000 };

#define NONE UINT32_MAX

typedef struct entry {
    uint32_t request;
    int64_t prefill; /* tokens in one step; less than 0: not told how many */
    int64_t decode;
} entry;

/* What a thread has said so far. */
typedef struct teller {
    int64_t last;   /* number of its last mark */
    bool known;     /* no mark of it was lost since all was told */
    bool changed;   /* since `batch` was made */
    uint32_t batch; /* number + 1 of the last one; 0: none */
    JM_VEC(entry) entries;
    jm__map at; /* of a request: its entry */
} teller;

typedef struct reading {
    jm__batches *to;
    const jm__dataset *dataset;
    JM_VEC(teller) tellers;
    jm__map teller_of;  /* (process, thread) */
    jm__map request_of; /* (process, number) */
} reading;

static bool find_teller(reading *r, int64_t process_id, int64_t thread_id, bool make, teller **out)
{
    const int64_t key[2] = {process_id, thread_id};
    const jm__map_value *known = jm__map_find(&r->teller_of, key);
    *out = known != NULL ? &r->tellers.items[known->id] : NULL;
    if (known != NULL || !make) return true;
    teller fresh = {.at = {.key_size = sizeof(uint32_t)}};
    if (!jm__map_put(&r->teller_of, key, (jm__map_value){.id = (int64_t)r->tellers.count}) ||
        !jm__vec_push(&r->tellers, fresh))
        return false;
    *out = &r->tellers.items[r->tellers.count - 1];
    return true;
}

/* The request of this number, made if it is not there; NONE if memory is out. */
static uint32_t find_request(reading *r, int64_t process_id, int64_t number)
{
    const int64_t key[2] = {process_id, number};
    const jm__map_value *known = jm__map_find(&r->request_of, key);
    if (known != NULL) return (uint32_t)known->id;
    const jm__request fresh = {process_id, number, "", INT64_MAX, INT64_MIN, -1};
    size_t at = r->to->requests.count;
    bool fine = at < NONE && jm__map_put(&r->request_of, key, (jm__map_value){.id = (int64_t)at}) &&
                jm__vec_push(&r->to->requests, fresh);
    return fine ? (uint32_t)at : NONE;
}

/* No step has more, and a sum of them is none that overflows. */
static int64_t bounded(int64_t tokens)
{
    return tokens < 0 ? -1 : tokens > UINT32_MAX ? UINT32_MAX : tokens;
}

static bool begin_request(reading *r, const jm__mark *mark, const json_t *meta)
{
    const json_t *number = json_object_get(meta, "request");
    const char *id = json_string_value(json_object_get(meta, "id"));
    if (!json_is_integer(number)) return true;
    uint32_t at = find_request(r, mark->process_id, json_integer_value(number));
    if (at == NONE) return false;
    jm__request *request = &r->to->requests.items[at];
    if (mark->t_ns < request->start_ns) request->start_ns = mark->t_ns;
    if (id == NULL || request->id[0] != '\0') return true;
    const char *kept = jm__text_store_add(&r->to->ids, id, strlen(id));
    if (kept != NULL) request->id = kept;
    return kept != NULL;
}

static bool end_request(reading *r, const jm__mark *mark, const json_t *meta)
{
    const json_t *number = json_object_get(meta, "request"), *made = json_object_get(meta, "made");
    if (!json_is_integer(number)) return true;
    uint32_t at = find_request(r, mark->process_id, json_integer_value(number));
    if (at == NONE) return false;
    r->to->requests.items[at].end_ns = mark->t_ns;
    if (json_is_integer(made)) r->to->requests.items[at].made = bounded(json_integer_value(made));
    return true;
}

static void leave(teller *t, uint32_t request)
{
    const jm__map_value *known = jm__map_find(&t->at, &request);
    if (known == NULL) return;
    size_t at = (size_t)known->id, last = t->entries.count - 1;
    jm__map_remove(&t->at, &request);
    if (at != last) {
        t->entries.items[at] = t->entries.items[last];
        jm__map_find(&t->at, &t->entries.items[at].request)->id = (int64_t)at; /* it is there: it was put */
    }
    t->entries.count--;
}

static bool join(teller *t, entry fresh)
{
    const jm__map_value *known = jm__map_find(&t->at, &fresh.request);
    if (known != NULL) {
        t->entries.items[known->id] = fresh;
        return true;
    }
    return jm__map_put(&t->at, &fresh.request, (jm__map_value){.id = (int64_t)t->entries.count}) &&
           jm__vec_push(&t->entries, fresh);
}

/* `"3": [512, 0]`: tokens of prefill and of decode; what is no such thing is passed over. */
static bool join_each(reading *r, teller *t, const jm__mark *mark, json_t *in)
{
    const char *key;
    json_t *value;
    json_object_foreach(in, key, value)
    {
        uint32_t at = find_request(r, mark->process_id, strtoll(key, NULL, 10));
        if (at == NONE) return false;
        entry fresh = {at, bounded(json_integer_value(json_array_get(value, 0))),
                       bounded(json_integer_value(json_array_get(value, 1)))};
        if (fresh.prefill == 0 && fresh.decode == 0) fresh.decode = -1;
        if (!join(t, fresh)) return false;
    }
    return true;
}

static bool leave_each(reading *r, teller *t, const jm__mark *mark, const json_t *out)
{
    for (size_t i = 0; i < json_array_size(out); i++) {
        uint32_t at = find_request(r, mark->process_id, json_integer_value(json_array_get(out, i)));
        if (at == NONE) return false;
        leave(t, at);
    }
    return true;
}

static bool change_batch(reading *r, const jm__mark *mark, const json_t *meta)
{
    teller *t;
    int64_t number = json_integer_value(json_object_get(meta, "n"));
    if (!find_teller(r, mark->process_id, mark->thread_id, true, &t)) return false;
    if (json_is_true(json_object_get(meta, "all"))) {
        t->entries.count = 0;
        jm__map_free(&t->at);
        t->known = true;
    } else if ((uint64_t)number != (uint64_t)t->last + 1) {
        t->known = false; /* a mark was lost, and with it who came and went */
    }
    t->last = number;
    t->changed = true;
    return leave_each(r, t, mark, json_object_get(meta, "out")) &&
           join_each(r, t, mark, json_object_get(meta, "in"));
}

static bool take_mark(reading *r, const jm__mark *mark)
{
    static const struct {
        const char *name;
        bool (*take)(reading *r, const jm__mark *mark, const json_t *meta);
    } kinds[] = {{JM_MARK_REQUEST, begin_request},
                 {JM_MARK_REQUEST_ENDED, end_request},
                 {JM_MARK_BATCH, change_batch}};
    const char *name = jm__dataset_text(r->dataset, mark->name_id);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (strcmp(name, kinds[k].name) != 0) continue;
        errno = 0; /* jansson takes some of what lacks memory for an error of syntax */
        json_t *meta = mark->meta != NULL ? json_loads(mark->meta, 0, NULL) : NULL;
        if (meta == NULL && errno == ENOMEM) return false;
        bool fine = meta == NULL || kinds[k].take(r, mark, meta);
        json_decref(meta);
        return fine;
    }
    return true;
}

/* By tokens, where they are told of each; else all members have the same. */
static jm__member member_of(const entry *e, double tokens, size_t count)
{
    bool prefills = e->prefill != 0, decodes = e->decode != 0;
    jm__member m = {.request = e->request};
    if (tokens > 0) {
        m.prefill = (double)e->prefill / tokens;
        m.decode = (double)e->decode / tokens;
    } else { /* one that does both, of which nobody knows how much, decodes */
        m.prefill = prefills && !decodes ? 1 / (double)count : 0;
        m.decode = 1 / (double)count - m.prefill;
    }
    m.prefill_tokens = e->prefill > 0 ? e->prefill : 0;
    m.decode_tokens = e->decode > 0 ? e->decode : 0;
    return m;
}

static bool make_batch(reading *r, teller *t)
{
    jm__batches *to = r->to;
    jm__batch batch = {to->members.count, t->entries.count};
    double tokens = 0;
    bool marked = true;
    for (size_t i = 0; i < t->entries.count; i++) {
        marked = marked && t->entries.items[i].prefill >= 0 && t->entries.items[i].decode >= 0;
        tokens += (double)t->entries.items[i].prefill + (double)t->entries.items[i].decode;
    }
    for (size_t i = 0; i < t->entries.count; i++)
        if (!jm__vec_push(&to->members, member_of(&t->entries.items[i], marked ? tokens : 0, batch.count)))
            return false;
    if (!jm__vec_push(&to->items, batch)) return false;
    t->batch = (uint32_t)to->items.count;
    t->changed = false;
    return true;
}

static bool take_step(reading *r, size_t span)
{
    teller *t;
    const jm__span *step = &r->dataset->spans[span];
    find_teller(r, step->process_id, step->thread_id, false, &t);
    if (t == NULL) return true;
    r->to->unknown += !t->known;
    if (!t->known || t->entries.count == 0) return true;
    if (t->changed && !make_batch(r, t)) return false;
    r->to->of_step[span] = t->batch;
    return true;
}

static jm_status read_marks(reading *r, jm_error *err)
{
    const jm__dataset *d = r->dataset;
    size_t span = 0;
    for (size_t i = 0; i <= d->mark_count; i++) {
        for (; span < d->span_count && (i == d->mark_count || d->spans[span].start_ns < d->marks[i].t_ns);
             span++)
            if (d->spans[span].kind == JM_SPAN_STEP && !take_step(r, span))
                return jm__no_memory(err, "jm__batches_find");
        if (r->to->members.count > MEMBERS_MAX)
            return jm__fail(err, JM_LIMIT, 0, NULL, "more than %d times a request came into or left a batch",
                            MEMBERS_MAX);
        if (i < d->mark_count && !take_mark(r, &d->marks[i])) return jm__no_memory(err, "jm__batches_find");
    }
    return JM_OK;
}

/* Each span has what the one around it has, but for steps with a batch of their own. */
static bool spread(jm__batches *to, const jm__span_index *spans)
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
    reading r = {.to = batches,
                 .dataset = dataset,
                 .teller_of = {.key_size = 2 * sizeof(int64_t)},
                 .request_of = {.key_size = 2 * sizeof(int64_t)}};
    *batches = (jm__batches){0};
    batches->of_step = calloc(dataset->span_count + 1, sizeof *batches->of_step);
    batches->of_section = calloc(jm__section_count(spans) + 1, sizeof *batches->of_section);
    jm_status status = batches->of_step != NULL && batches->of_section != NULL
                           ? read_marks(&r, err)
                           : jm__no_memory(err, "jm__batches_find");
    if (status == JM_OK && !spread(batches, spans)) status = jm__no_memory(err, "jm__batches_find");
    for (size_t i = 0; i < r.tellers.count; i++) {
        jm__vec_free(&r.tellers.items[i].entries);
        jm__map_free(&r.tellers.items[i].at);
    }
    jm__vec_free(&r.tellers);
    jm__map_free(&r.teller_of);
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
