/* Kokkos Tools' interface, in our own declarations: what a Kokkos program finds by dlsym in the library of
 * KOKKOS_TOOLS_LIBS and calls. Interface versions 20150628 to that of Kokkos 5.1 call these with the
 * same arguments.
 *
 * Threads: any. Labels may be NULL, and are cut as all names are. Without a run nothing happens. */
#ifndef JM_INJECT_KOKKOS_H
#define JM_INJECT_KOKKOS_H

#include <joulemap/status.h>
#include <stdbool.h>
#include <stdint.h>

/* A memory space, by value. */
typedef struct kokkos_space {
    char name[64];
} kokkos_space;

/* What a tool wants of Kokkos: 256 flags, of which the first is known. */
typedef struct kokkos_tool_settings {
    bool requires_global_fencing;
    bool reserved[255];
} kokkos_tool_settings;

JM_API void kokkosp_init_library(int sequence, uint64_t version, uint32_t device_count, void *devices);
JM_API void kokkosp_finalize_library(void);
JM_API void kokkosp_request_tool_settings(uint32_t count, kokkos_tool_settings *settings);

/* What begins gives an id, by which it ends. */
JM_API void kokkosp_begin_parallel_for(const char *label, uint32_t device, uint64_t *id);
JM_API void kokkosp_end_parallel_for(uint64_t id);
JM_API void kokkosp_begin_parallel_reduce(const char *label, uint32_t device, uint64_t *id);
JM_API void kokkosp_end_parallel_reduce(uint64_t id);
JM_API void kokkosp_begin_parallel_scan(const char *label, uint32_t device, uint64_t *id);
JM_API void kokkosp_end_parallel_scan(uint64_t id);
JM_API void kokkosp_begin_fence(const char *label, uint32_t device, uint64_t *id);
JM_API void kokkosp_end_fence(uint64_t id);

/* Of the calling thread. */
JM_API void kokkosp_push_profile_region(const char *label);
JM_API void kokkosp_pop_profile_region(void);
JM_API void kokkosp_begin_deep_copy(kokkos_space to, const char *to_label, const void *to_at,
                                    kokkos_space from, const char *from_label, const void *from_at,
                                    uint64_t bytes);
JM_API void kokkosp_end_deep_copy(void);

/* Sections may overlap, and end in another thread. */
JM_API void kokkosp_create_profile_section(const char *label, uint32_t *id);
JM_API void kokkosp_start_profile_section(uint32_t id);
JM_API void kokkosp_stop_profile_section(uint32_t id);
JM_API void kokkosp_destroy_profile_section(uint32_t id);

JM_API void kokkosp_profile_event(const char *label);

#endif
