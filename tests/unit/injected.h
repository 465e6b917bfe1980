/* A ring as the injected library fills it. Include after collected.h. */
#ifndef JM_TESTS_INJECTED_H
#define JM_TESTS_INJECTED_H

#include "timeline/names.h"
#include "timeline/ring.h"

#include <sys/syscall.h>

/* An injected library's ring of this process. */
typedef struct injected {
    jm__ring ring;
    jm__names names;
} injected;

static inline uint32_t number_of(injected *side, const char *text)
{
    return jm__names_intern(&side->names, text, strlen(text));
}

static inline void push(injected *side, jm_ring_kernel record)
{
    assert_true(jm__ring_push_kernel(&side->ring, &record));
}

static inline injected *inject(const collected *all, bool realtime, uint32_t capacity)
{
    injected *side = calloc(1, sizeof *side);
    assert_non_null(side);
    assert_int_equal(jm__names_open(&side->names, all->run_dir, JM_WRITER_INJECT), 0);
    jm__ring_options options = {.run_dir = all->run_dir,
                                .writer = JM_WRITER_INJECT,
                                .names_file = side->names.file_number,
                                .record_size = sizeof(jm_ring_kernel),
                                .capacity = capacity,
                                .capacity_least = capacity,
                                .share = 1,
                                .realtime = realtime};
    assert_int_equal(jm__ring_create(&side->ring, &options), 0);
    push(side, (jm_ring_kernel){.op = JM_RING_DEVICE, .name = number_of(side, "GPU-0")});
    return side;
}

static inline void injected_free(injected *side)
{
    jm__ring_close(&side->ring, true);
    jm__names_free(&side->names);
    free(side);
}

static inline void push_launch(injected *side, uint32_t correlation, int64_t t_ns)
{
    push(side, (jm_ring_kernel){.op = JM_RING_LAUNCH,
                                .correlation = correlation,
                                .start_ns = t_ns,
                                .end_ns = t_ns + 100,
                                .context = (uint32_t)syscall(SYS_gettid)});
}

static inline void push_kernel(injected *side, uint32_t correlation, int64_t t_ns)
{
    push(side, (jm_ring_kernel){.op = JM_RING_KERNEL,
                                .name = number_of(side, "kernel"),
                                .correlation = correlation,
                                .start_ns = t_ns,
                                .end_ns = t_ns + 1000,
                                .context = 1,
                                .grid = {1, 1, 1},
                                .block = {32, 1, 1}});
}

#endif
