/* Marks of joulemap's own by which later rows are read: those that hold now. */
#include "format/carried.h"

#include "format/rows/marks.h"

#include <stdlib.h>
#include <string.h>

enum {
    ONCE_MOST = 65536,     /* modules that were compiled, of all processes */
    REQUESTS_MOST = 65536, /* open at once; a program that never ends its requests loses the older half */
    BATCH_MOST = 4096      /* of a thread since it said all: Python says it every 256 (serving.py) */
};

/* ---- sets of marks */

/* A copy of a text that may be NULL; false if memory is out. */
static bool copy_text(char **copy, const char *text)
{
    *copy = text == NULL ? NULL : strdup(text);
    return text == NULL || *copy != NULL;
}

static bool put_mark(jm__carried_marks *marks, const int64_t key[2], const jm__mark *mark)
{
    jm__carried_mark fresh = {.mark = *mark, .key = {key[0], key[1]}};
    char *meta;
    marks->at.key_size = sizeof fresh.key;
    if (!copy_text(&meta, mark->meta)) return false;
    fresh.mark.meta = meta;
    const jm__map_value *known = jm__map_find(&marks->at, key);
    if (known != NULL) {
        jm__owned_free(marks->items.items[known->id].mark.meta);
        marks->items.items[known->id].mark = fresh.mark;
        return true;
    }
    if (jm__map_put(&marks->at, key, (jm__map_value){.id = (int64_t)marks->items.count}) &&
        jm__vec_push(&marks->items, fresh))
        return true;
    free(meta);
    return false;
}

static void remove_at(jm__carried_marks *marks, size_t at)
{
    size_t last = --marks->items.count;
    jm__carried_mark *items = marks->items.items;
    jm__map_remove(&marks->at, items[at].key);
    jm__owned_free(items[at].mark.meta);
    if (at == last) return;
    items[at] = items[last];
    jm__map_find(&marks->at, items[at].key)->id = (int64_t)at; /* it is there: it was put */
}

static void remove_mark(jm__carried_marks *marks, const int64_t key[2])
{
    marks->at.key_size = sizeof(int64_t[2]);
    const jm__map_value *known = jm__map_find(&marks->at, key);
    if (known != NULL) remove_at(marks, (size_t)known->id);
}

static void remove_of_process(jm__carried_marks *marks, int64_t process_id)
{
    for (size_t i = marks->items.count; i > 0; i--)
        if (marks->items.items[i - 1].mark.process_id == process_id) remove_at(marks, i - 1);
}

static void free_set(jm__carried_marks *marks)
{
    for (size_t i = 0; i < marks->items.count; i++)
        jm__owned_free(marks->items.items[i].mark.meta);
    jm__vec_free(&marks->items);
    jm__map_free(&marks->at);
}

/* ---- requests */

/* The number after "request":, as python/joulemap/serving.py writes it; -1: none. */
static int64_t request_of(const jm__mark *mark)
{
    static const char key[] = "\"request\":";
    const char *at = mark->meta == NULL ? NULL : strstr(mark->meta, key);
    return at == NULL ? -1 : strtoll(at + sizeof key - 1, NULL, 10);
}

static int by_time(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* Of those that never ended. False if memory is out. */
static bool forget_older_half(jm__carried_marks *marks)
{
    size_t count = marks->items.count;
    int64_t *stamps = malloc(count * sizeof *stamps);
    if (stamps == NULL) return false;
    for (size_t i = 0; i < count; i++)
        stamps[i] = marks->items.items[i].mark.t_ns;
    qsort(stamps, count, sizeof *stamps, by_time);
    int64_t middle_ns = stamps[count / 2];
    free(stamps);
    for (size_t i = count; i > 0; i--)
        if (marks->items.items[i - 1].mark.t_ns <= middle_ns) remove_at(marks, i - 1);
    return true;
}

static bool begin_request(jm__carried_marks *requests, const int64_t key[2], const jm__mark *mark)
{
    if (requests->items.count >= REQUESTS_MOST && !forget_older_half(requests)) return false;
    return put_mark(requests, key, mark);
}

/* ---- batches */

static void forget_batch(jm__carried_batch *batch)
{
    for (size_t i = 0; i < batch->marks.count; i++)
        jm__owned_free(batch->marks.items[i].meta);
    batch->marks.count = 0;
}

static jm__carried_batch *batch_of(jm__carried *carried, const jm__mark *mark)
{
    const int64_t key[2] = {mark->process_id, mark->thread_id};
    carried->batch_of.key_size = sizeof key;
    const jm__map_value *known = jm__map_find(&carried->batch_of, key);
    size_t at = known != NULL ? (size_t)known->id : carried->batches.count;
    jm__carried_batch fresh = {.process_id = mark->process_id};
    if (known == NULL && (!jm__map_put(&carried->batch_of, key, (jm__map_value){.id = (int64_t)at}) ||
                          !jm__vec_push(&carried->batches, fresh)))
        return NULL;
    return &carried->batches.items[at];
}

/* Its keys are few, and none of them holds a text: `"all":true` is there or not. */
static bool tells_all(const jm__mark *mark)
{
    return mark->meta != NULL && strstr(mark->meta, "\"all\"") != NULL;
}

static bool change_batch(jm__carried *carried, const jm__mark *mark)
{
    jm__carried_batch *batch = batch_of(carried, mark);
    if (batch == NULL) return false;
    if (tells_all(mark)) forget_batch(batch);
    if (batch->marks.count == BATCH_MOST) return true; /* who reads it finds that marks are missing */
    jm__mark copy = *mark;
    char *meta;
    if (!copy_text(&meta, mark->meta)) return false;
    copy.meta = meta;
    if (jm__vec_push(&batch->marks, copy)) return true;
    free(meta);
    return false;
}

/* ---- all of them */

static void end_process(jm__carried *carried, int64_t process_id)
{
    remove_of_process(&carried->levels, process_id);
    remove_of_process(&carried->once, process_id);
    remove_of_process(&carried->requests, process_id);
    for (size_t i = 0; i < carried->batches.count; i++)
        if (carried->batches.items[i].process_id == process_id) forget_batch(&carried->batches.items[i]);
    jm__carried_process_ended(carried, process_id);
}

static bool is_level(const jm__carried_names *n, int64_t name_id)
{
    return name_id == n->traced || name_id == n->steps || name_id == n->untraced;
}

static bool holds_once(const jm__carried_names *n, const jm__mark *mark, const char *name)
{
    return mark->name_id == n->graphs || strncmp(name, JM_MARK_COMPILED, strlen(JM_MARK_COMPILED)) == 0;
}

void jm__carried_mark_passed(jm__carried *carried, const jm__mark *mark, const char *name)
{
    const jm__carried_names *n = &carried->names;
    const int64_t process[2] = {mark->process_id, 0}, named[2] = {mark->process_id, mark->name_id},
                  request[2] = {mark->process_id, request_of(mark)};
    bool fine = true;
    if (is_level(n, mark->name_id))
        fine = put_mark(&carried->levels, process, mark);
    else if (mark->name_id == n->ended)
        end_process(carried, mark->process_id);
    else if (mark->name_id == n->request)
        fine = begin_request(&carried->requests, request, mark);
    else if (mark->name_id == n->request_ended)
        remove_mark(&carried->requests, request);
    else if (mark->name_id == n->batch)
        fine = change_batch(carried, mark);
    else if (holds_once(n, mark, name) && carried->once.items.count < ONCE_MOST)
        fine = put_mark(&carried->once, named, mark);
    carried->failed = carried->failed || !fine;
}

static int put_set(const jm__carried_marks *marks, jm__inserter *inserter)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < marks->items.count; i++)
        rc = jm__insert(inserter, JM_TABLE_MARKS, &marks->items.items[i].mark);
    return rc;
}

int jm__carried_put_marks(const jm__carried *carried, jm__inserter *inserter)
{
    int rc = put_set(&carried->levels, inserter);
    if (rc == SQLITE_OK) rc = put_set(&carried->once, inserter);
    if (rc == SQLITE_OK) rc = put_set(&carried->requests, inserter);
    for (size_t b = 0; b < carried->batches.count; b++)
        for (size_t i = 0; rc == SQLITE_OK && i < carried->batches.items[b].marks.count; i++)
            rc = jm__insert(inserter, JM_TABLE_MARKS, &carried->batches.items[b].marks.items[i]);
    return rc;
}

void jm__carried_free_marks(jm__carried *carried)
{
    free_set(&carried->levels);
    free_set(&carried->once);
    free_set(&carried->requests);
    for (size_t b = 0; b < carried->batches.count; b++) {
        forget_batch(&carried->batches.items[b]);
        jm__vec_free(&carried->batches.items[b].marks);
    }
    jm__vec_free(&carried->batches);
    jm__map_free(&carried->batch_of);
}
