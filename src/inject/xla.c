/* XLA's ranges as spans. */
#include "inject/xla.h"

#include "base/map.h"
#include "inject/xla_title.h"
#include "timeline/track.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TITLES_MAX 65536u /* kept in a process; ranges of further ones are no spans */
#define DEPTH_MAX  64     /* open ranges of a thread; deeper ones are no spans */
#define NAME_BYTES 4095u

/* What a range begins: read once, when its text is registered. */
typedef struct range_kind {
    jm_span_kind span;
    uint32_t name; /* 0: no span, its work is that of the range around */
    uint32_t type;
    char *key; /* its text, behind that of its function's prefix */
} range_kind;

/* Guards the table. Taken where a text is registered, or comes as it is, which no operation's own does. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static jm__map table = JM_MAP_OF_TEXTS;

/* XLA registers a function and then its operations, on one thread. */
static _Thread_local char function[JM_XLA_NAME_MAX], prefix[JM_XLA_NAME_MAX];

/* A range that has ended stays open as a span until something else begins: what follows may be of the same
 * scope. */
typedef struct open_range {
    uint64_t span; /* 0: none of its own */
    uint32_t name; /* of the innermost span here */
    jm_span_kind span_kind;
} open_range;
static _Thread_local open_range open_ranges[DEPTH_MAX + 1];
static _Thread_local int open_count, too_deep;
static _Thread_local bool lingers; /* open_ranges[open_count] has ended */

static const range_kind unnamed;

/* "Dense_0" is a Dense. */
static uint32_t type_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    const char *last = dot == NULL ? name : dot + 1;
    size_t length = strlen(last), digits = length;
    while (digits > 0 && last[digits - 1] >= '0' && last[digits - 1] <= '9')
        digits--;
    if (digits > 1 && digits < length && last[digits - 1] == '_') length = digits - 1;
    return jm__track_register(last, length);
}

static void fill(range_kind *made, const jm__xla_title *title)
{
    char name[2 * JM_XLA_NAME_MAX];
    made->span = title->span;
    if (title->kind == JM_XLA_AUTOTUNING) {
        made->span = JM_SPAN_NVTX;
        made->name = jm__track_register("XLA autotuning", NAME_BYTES);
    } else if (title->kind == JM_XLA_FUNCTION) {
        made->name = jm__track_register(title->name, NAME_BYTES);
        made->type = made->name;
    } else if (title->kind == JM_XLA_OPERATION) {
        snprintf(name, sizeof name, "%s%s%s", function, title->name[0] != '\0' ? "." : "", title->name);
        made->name = jm__track_register(name, NAME_BYTES);
        made->type = type_of(name);
    }
}

/* NULL: there is no memory, or too many are kept. */
static const range_kind *keep_locked(const char *text, const jm__xla_title *title)
{
    char *key = NULL;
    range_kind *made = NULL;
    size_t size = strlen(function) + strlen(text) + 2;
    if (table.count >= TITLES_MAX || (key = malloc(size)) == NULL) return NULL;
    snprintf(key, size, "%s\n%s", function, text);
    jm__map_value *known = jm__map_find(&table, &key);
    if (known != NULL) {
        free(key);
        return known->object;
    }
    made = calloc(1, sizeof *made);
    if (made != NULL) {
        fill(made, title);
        made->key = key;
    }
    if (made == NULL || !jm__map_put(&table, &made->key, (jm__map_value){.object = made})) {
        free(made);
        free(key);
        return NULL;
    }
    return made;
}

static const range_kind *kind_of(const char *text, jm__xla_kind *kind)
{
    jm__xla_title title;
    jm__xla_title_read(&title, text, prefix);
    *kind = title.kind;
    if (title.kind == JM_XLA_FUNCTION || title.kind == JM_XLA_AUTOTUNING) {
        memcpy(function, title.name, sizeof function);
        memcpy(prefix, title.prefix, sizeof prefix);
    } else if (title.kind != JM_XLA_OPERATION) {
        return &unnamed;
    }
    pthread_mutex_lock(&mutex);
    const range_kind *kept = keep_locked(text, &title);
    pthread_mutex_unlock(&mutex);
    return kept == NULL ? &unnamed : kept;
}

/* XLA also registers what its operations look like, by the page: nothing of it is a name. */
const void *jm__xla_register(const char *text)
{
    jm__xla_kind kind;
    return text == NULL ? NULL : kind_of(text, &kind);
}

static range_kind begun_by(const nvtx_event_attributes *attributes)
{
    if (attributes == NULL || attributes->size < sizeof *attributes) return unnamed;
    if (attributes->message_type == NVTX_MESSAGE_REGISTERED) {
        const range_kind *registered = attributes->message.registered;
        return registered == NULL ? unnamed : *registered;
    }
    if (attributes->message_type != NVTX_MESSAGE_ASCII || attributes->message.ascii == NULL) return unnamed;
    jm__xla_kind kind;
    const range_kind *read = kind_of(attributes->message.ascii, &kind);
    if (kind != JM_XLA_FOREIGN) return *read;
    return (range_kind){.span = JM_SPAN_NVTX,
                        .name = jm__track_intern(attributes->message.ascii, NAME_BYTES)};
}

static void end_lingering(void)
{
    if (lingers) jm__track_end(open_ranges[open_count].span);
    lingers = false;
}

int jm__xla_push(const nvtx_event_attributes *attributes)
{
    static const open_range none;
    if (open_count == DEPTH_MAX) return DEPTH_MAX + too_deep++;
    const open_range *around = open_count > 0 ? &open_ranges[open_count - 1] : &none;
    open_range *range = &open_ranges[open_count];
    range_kind begun = begun_by(attributes);
    bool inside_of_it = begun.name == around->name && begun.span == around->span_kind;
    bool own = begun.name != 0 && !inside_of_it;
    bool goes_on = lingers && own && range->name == begun.name && range->span_kind == begun.span;
    if (!goes_on) {
        end_lingering();
        *range = (open_range){0, around->name, around->span_kind};
        if (own)
            *range = (open_range){jm__track_begin((uint8_t)begun.span, begun.name, begun.type, 0), begun.name,
                                  begun.span};
    }
    lingers = false;
    return open_count++;
}

int jm__xla_pop(void)
{
    if (too_deep > 0) return DEPTH_MAX + --too_deep;
    if (open_count == 0) return -1;
    end_lingering();
    open_count--;
    lingers = open_ranges[open_count].span != 0;
    if (open_count == 0) end_lingering();
    return open_count;
}
