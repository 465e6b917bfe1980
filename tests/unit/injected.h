/* A ring as the injected library fills it. Include after collected.h. */
#ifndef JM_TESTS_INJECTED_H
#define JM_TESTS_INJECTED_H

#include "record/timeline/ring.h"

/* An injected library's rings of this process: of kernels, and of what this thread launches. */
typedef struct injected {
    jm__ring ring, launches;
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
    options.writer = JM_WRITER_NVTX;
    options.record_size = sizeof(jm_ring_span);
    options.realtime = false;
    assert_int_equal(jm__ring_create(&side->launches, &options), 0);
    return side;
}

static inline void injected_free(injected *side)
{
    jm__ring_close(&side->ring, true);
    jm__ring_close(&side->launches, true);
    jm__names_free(&side->names);
    free(side);
}

static inline void push_call(injected *side, jm_ring_span record)
{
    assert_true(jm__ring_push_span(&side->launches, &record, 0));
}

static inline void push_launch(injected *side, uint32_t correlation, int64_t t_ns)
{
    push_call(side, (jm_ring_span){.op = JM_RING_LAUNCH, .id = correlation, .t_ns = t_ns});
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
