/* XLA's ranges as spans. */
#include "inject/xla.h"

#include "inject/xla_title.h"
#include "record/timeline/track.h"

#include <stdio.h>
#include <string.h>

#define DEPTH_MAX  64 /* open ranges of a thread; deeper ones are no spans */
#define NAME_BYTES 4095u

/* What a range begins. */
typedef struct range_kind {
    jm_span_kind span;
    uint32_t name; /* 0: no span, its work is that of the range around */
    uint32_t type;
} range_kind;

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

static const range_kind unnamed = {.span = JM_SPAN_NVTX};

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

static range_kind operation(const jm__xla_title *title)
{
    char name[2 * JM_XLA_NAME_MAX];
    snprintf(name, sizeof name, "%s%s%s", function, title->name[0] != '\0' ? "." : "", title->name);
    return (range_kind){title->span, jm__track_register(name, NAME_BYTES), type_of(name)};
}

static range_kind read_text(const char *text)
{
    jm__xla_title title;
    jm__xla_title_read(&title, text, prefix);
    if (title.kind == JM_XLA_OPERATION) return operation(&title);
    if (title.kind != JM_XLA_FUNCTION && title.kind != JM_XLA_AUTOTUNING) return unnamed;
    memcpy(function, title.name, sizeof function);
    memcpy(prefix, title.prefix, sizeof prefix);
    if (title.kind == JM_XLA_AUTOTUNING)
        return (range_kind){JM_SPAN_NVTX, jm__track_register("XLA autotuning", NAME_BYTES), 0};
    uint32_t name = jm__track_register(title.name, NAME_BYTES);
    return (range_kind){title.span, name, name};
}

/* A handle is what the range begins, in its bits: nothing is kept for it, however many texts XLA registers.
 */
#define NUMBER_BITS 30 /* of a name: there are fewer (names.h) */
#define NUMBER_MASK ((UINT64_C(1) << NUMBER_BITS) - 1)
_Static_assert(sizeof(void *) == sizeof(uint64_t) && JM_SPAN_KIND_COUNT <= 16, "a range fits into a handle");

static const void *handle_of(range_kind made)
{
    uint64_t bits = (uint64_t)made.span << 2 * NUMBER_BITS | (uint64_t)made.type << NUMBER_BITS | made.name;
    return (const void *)(uintptr_t)bits;
}

static range_kind of_handle(const void *handle)
{
    uint64_t bits = (uintptr_t)handle;
    return (range_kind){(jm_span_kind)(bits >> 2 * NUMBER_BITS), (uint32_t)(bits & NUMBER_MASK),
                        (uint32_t)(bits >> NUMBER_BITS & NUMBER_MASK)};
}

/* XLA also registers what its operations look like, by the page: nothing of it is a name. */
const void *jm__xla_register(const char *text)
{
    return text == NULL ? NULL : handle_of(read_text(text));
}

static range_kind begun_by(const nvtx_event_attributes *attributes)
{
    if (attributes == NULL || attributes->size < sizeof *attributes) return unnamed;
    if (attributes->message_type == NVTX_MESSAGE_REGISTERED) return of_handle(attributes->message.registered);
    const char *text = attributes->message.ascii;
    if (attributes->message_type != NVTX_MESSAGE_ASCII || text == NULL) return unnamed;
    if (jm__xla_is_foreign(text)) return (range_kind){JM_SPAN_NVTX, jm__track_intern(text, NAME_BYTES), 0};
    return read_text(text);
}

uint32_t jm__xla_name(const nvtx_event_attributes *attributes)
{
    return begun_by(attributes).name;
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
