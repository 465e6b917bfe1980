/* What a Kokkos program tells its tools, as spans of kind nvtx: ranges like those of NVTX, whose type says
 * what they are. Kernels go to them by their launch, so Kokkos need not wait for any. */
#include "inject/ranges.h"
#include "record/timeline/track.h"

#include <joulemap/span.h>
#include <joulemap/status.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* ---- Kokkos Tools' interface, in our own declarations: what a Kokkos program finds by dlsym in the library
 * of KOKKOS_TOOLS_LIBS and calls. Interface versions 20150628 to that of Kokkos 5.1 call these with the same
 * arguments.
 *
 * Threads: any. Labels may be NULL, and are cut as all names are. Without a run nothing happens. */

/* A memory space, by value. */
typedef struct kokkos_space {
    char name[64];
} kokkos_space;

/* What a tool wants of Kokkos: 256 flags, of which the first is known. */
typedef struct kokkos_tool_settings {
    bool requires_global_fencing;
    bool reserved[255];
} kokkos_tool_settings;

#define NAME_BYTES_MOST 4095u
#define LABEL_BYTES     512 /* of a view, in the name of a copy */
#define SECTIONS_MAX    4096u
#define NO_SECTION      UINT32_MAX

static uint32_t number_of(const char *text)
{
    return jm__track_intern(text, NAME_BYTES_MOST);
}

/* What a range is, looked up once. */
typedef struct what {
    const char *text;
    _Atomic uint32_t number;
} what;
static what parallel_for = {.text = "Kokkos parallel_for"},
            parallel_reduce = {.text = "Kokkos parallel_reduce"},
            parallel_scan = {.text = "Kokkos parallel_scan"}, fence = {.text = "Kokkos fence"},
            region = {.text = "Kokkos region"}, deep_copy = {.text = "Kokkos deep_copy"},
            profile_section = {.text = "Kokkos section"};

static uint32_t type_of(what *it)
{
    if (it->number == 0) it->number = jm__track_register(it->text, NAME_BYTES_MOST);
    return it->number;
}

static void begin(what *it, const char *label, uint64_t *id)
{
    uint64_t span = jm__track_begin(JM_SPAN_NVTX, number_of(label), type_of(it), 0);
    if (id != NULL)
        *id = span;
    else
        jm__track_end(span);
}

JM_API void kokkosp_init_library(int sequence, uint64_t version, uint32_t device_count, void *devices)
{
    (void)sequence, (void)version, (void)device_count, (void)devices;
}

JM_API void kokkosp_finalize_library(void) {}

/* Otherwise Kokkos waits for the device at each begin and end. */
JM_API void kokkosp_request_tool_settings(uint32_t count, kokkos_tool_settings *settings)
{
    if (count > 0 && settings != NULL) settings->requires_global_fencing = false;
}

/* What begins gives an id, by which it ends. */
#define KERNEL(call)                                                                                         \
    JM_API void kokkosp_begin_##call(const char *label, uint32_t device, uint64_t *id)                       \
    {                                                                                                        \
        (void)device;                                                                                        \
        begin(&call, label, id);                                                                             \
    }                                                                                                        \
    JM_API void kokkosp_end_##call(uint64_t id)                                                              \
    {                                                                                                        \
        jm__track_end(id);                                                                                   \
    }

KERNEL(parallel_for)
KERNEL(parallel_reduce)
KERNEL(parallel_scan)
KERNEL(fence)

JM_API void kokkosp_push_profile_region(const char *label)
{
    const jm__range range = {number_of(label), type_of(&region), {0}};
    jm__ranges_push(&region, &range);
}

JM_API void kokkosp_pop_profile_region(void)
{
    jm__ranges_pop(&region);
}

JM_API void kokkosp_begin_deep_copy(kokkos_space to, const char *to_label, const void *to_at,
                                    kokkos_space from, const char *from_label, const void *from_at,
                                    uint64_t bytes)
{
    (void)to_at, (void)from_at;
    char name[2 * LABEL_BYTES + 2 * sizeof to.name + 32];
    snprintf(name, sizeof name, "deep_copy %.*s (%.*s) from %.*s (%.*s)", LABEL_BYTES,
             to_label == NULL ? "" : to_label, (int)sizeof to.name, to.name, LABEL_BYTES,
             from_label == NULL ? "" : from_label, (int)sizeof from.name, from.name);
    const jm__range copy = {
        number_of(name), type_of(&deep_copy), {.kind = JM_PAYLOAD_NATURAL, .value = {.natural = bytes}}};
    jm__ranges_push(&deep_copy, &copy);
}

JM_API void kokkosp_end_deep_copy(void)
{
    jm__ranges_pop(&deep_copy);
}

JM_API void kokkosp_profile_event(const char *label)
{
    jm__track_mark_number(number_of(label));
}

/* ---- sections, which may overlap and end in another thread: no lock, as a fork may come at any time */

typedef struct section {
    _Atomic bool used;
    _Atomic uint32_t name;
    _Atomic uint64_t span; /* 0: it is not open */
} section;

static section sections[SECTIONS_MAX];

/* NULL: there is no such section. */
static section *section_at(uint32_t id)
{
    return id < SECTIONS_MAX && sections[id].used ? &sections[id] : NULL;
}

JM_API void kokkosp_create_profile_section(const char *label, uint32_t *id)
{
    if (id == NULL) return;
    uint32_t i = 0;
    while (i < SECTIONS_MAX && (sections[i].used || atomic_exchange(&sections[i].used, true)))
        i++;
    *id = i < SECTIONS_MAX ? i : NO_SECTION; /* there are too many: nothing is told of it */
    if (i < SECTIONS_MAX) sections[i].name = jm__track_register(label, NAME_BYTES_MOST);
}

JM_API void kokkosp_start_profile_section(uint32_t id)
{
    section *known = section_at(id);
    if (known == NULL || known->span != 0) return;
    uint64_t none = 0, span = jm__track_begin(JM_SPAN_NVTX, known->name, type_of(&profile_section), 0);
    if (!atomic_compare_exchange_strong(&known->span, &none, span)) jm__track_end(span);
}

JM_API void kokkosp_stop_profile_section(uint32_t id)
{
    section *known = section_at(id);
    if (known != NULL) jm__track_end(atomic_exchange(&known->span, 0));
}

JM_API void kokkosp_destroy_profile_section(uint32_t id)
{
    section *known = section_at(id);
    if (known == NULL) return;
    jm__track_end(atomic_exchange(&known->span, 0));
    known->used = false;
}
