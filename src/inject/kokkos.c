/* Kokkos kernels, regions and sections as spans of kind nvtx, whose type says what they are. Kernels are
 * assigned to them by their launch, so that Kokkos need not wait for the device. */
#include "inject/ranges.h"
#include "record/timeline/track.h"

#include <joulemap/span.h>
#include <joulemap/status.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* ---- Kokkos Tools' interface, in our own declarations. A Kokkos program finds these functions by dlsym in
 * the library of KOKKOS_TOOLS_LIBS. Interface versions 20150628 to that of Kokkos 5.1 call them with the same
 * arguments.
 *
 * Threads: any. Labels may be NULL, and are cut as all names. Without a run nothing happens. */

/* A memory space, passed by value. */
typedef struct kokkos_space {
    char name[64];
} kokkos_space;

/* A tool's requirements: 256 flags, of which only the first is known. */
typedef struct kokkos_tool_settings {
    bool requires_global_fencing;
    bool reserved[255];
} kokkos_tool_settings;

#define LABEL_BYTES  512 /* of a view, in the name of a copy */
#define SECTIONS_MAX 4096u
#define NO_SECTION   UINT32_MAX

/* The type of a range; its number is looked up once. */
typedef struct range_type {
    const char *text;
    _Atomic uint32_t number;
} range_type;
static range_type parallel_for = {.text = "Kokkos parallel_for"},
                  parallel_reduce = {.text = "Kokkos parallel_reduce"},
                  parallel_scan = {.text = "Kokkos parallel_scan"}, fence = {.text = "Kokkos fence"},
                  region = {.text = "Kokkos region"}, deep_copy = {.text = "Kokkos deep_copy"},
                  profile_section = {.text = "Kokkos section"};

static uint32_t type_of(range_type *type)
{
    if (type->number == 0) type->number = jm__track_register(type->text, JM_TRACK_NAME_MAX);
    return type->number;
}

static void begin(range_type *type, const char *label, uint64_t *id)
{
    uint64_t span = jm__track_begin(JM_SPAN_NVTX, jm__track_intern(label), type_of(type), 0);
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

/* Otherwise Kokkos would wait for the device at each begin and end. */
JM_API void kokkosp_request_tool_settings(uint32_t count, kokkos_tool_settings *settings)
{
    if (count > 0 && settings != NULL) settings->requires_global_fencing = false;
}

/* Ranges that are ended by the id that their begin returned. */
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
    const jm__range range = {jm__track_intern(label), type_of(&region), {0}};
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
    const jm__range copy = {jm__track_intern(name),
                            type_of(&deep_copy),
                            {.kind = JM_PAYLOAD_NATURAL, .value = {.natural = bytes}}};
    jm__ranges_push(&deep_copy, &copy);
}

JM_API void kokkosp_end_deep_copy(void)
{
    jm__ranges_pop(&deep_copy);
}

JM_API void kokkosp_profile_event(const char *label)
{
    jm__track_mark_with(jm__track_intern(label), NULL);
}

/* ---- sections, which may overlap and end in another thread. Without a lock, as a fork may come at any time.
 */

typedef struct section {
    _Atomic bool used;
    _Atomic uint32_t name;
    _Atomic uint64_t span; /* 0: not open */
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
    *id = i < SECTIONS_MAX ? i : NO_SECTION; /* too many sections: this one is not recorded */
    if (i < SECTIONS_MAX) sections[i].name = jm__track_register(label, JM_TRACK_NAME_MAX);
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
