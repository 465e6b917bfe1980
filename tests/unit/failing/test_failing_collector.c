/* Memory that runs out while the collector follows a program: it says so, and what comes later is right. */
#include "base/clock.h"
#include "failing.h"
#include "record/timeline/collector.h"
#include "record/timeline/ring.h"

#include <joulemap/span.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "collected.h"
#include "injected.h"

/* More levels than any array has room for at first. */
enum { LEVELS = 48, KERNELS_MAX = 1000 };

#define STEP_NS (10 * JM_NS_PER_US)

/* A program of one thread: its spans' ring, its kernels' ring, and when it began. */
typedef struct program {
    collected *all;
    jm__ring spans;
    injected *side;
    int64_t start_ns;
} program;

static void push_span(program *one, uint8_t op, uint64_t id, int64_t t_ns)
{
    bool wide = id % 4 < 2; /* of the whole process: also those for which an array or a map grows */
    jm_ring_span record = {
        .t_ns = t_ns, .id = id, .op = op, .kind = wide ? (uint8_t)JM_SPAN_PHASE : (uint8_t)JM_SPAN_FORWARD};
    assert_true(jm__ring_push_span(&one->spans, &record, 0));
}

static void program_start(program *one)
{
    one->all = collected_create();
    one->start_ns = jm__now_ns() - 500 * JM_NS_PER_MS;
    /* The sink itself needs no memory. */
    collected_name(one->all, "kernel");
    collected_name(one->all, "GPU-0");
    collected_name(one->all, "(name not written)");
    one->all->kernel_capacity = KERNELS_MAX;
    one->all->kernels = calloc(KERNELS_MAX, sizeof *one->all->kernels);
    assert_non_null(one->all->kernels);
    jm__ring_options options = {.run_dir = one->all->run_dir,
                                .writer = JM_WRITER_CORE,
                                .record_size = sizeof(jm_ring_span),
                                .capacity = 512,
                                .capacity_least = 512,
                                .share = 1};
    assert_int_equal(jm__ring_create(&one->spans, &options), 0);
    one->side = inject(one->all, false, 512);
}

/* Level after level, a launch in each; then the kernels. */
static void go_down(program *one)
{
    for (uint32_t i = 1; i <= LEVELS; i++) {
        push_span(one, JM_RING_BEGIN, i, one->start_ns + i * STEP_NS);
        push_launch(one->side, i, one->start_ns + i * STEP_NS + STEP_NS / 2);
    }
    for (uint32_t i = 1; i <= LEVELS; i++)
        push_kernel(one->side, i, one->start_ns + (LEVELS + i) * STEP_NS);
}

static int64_t later_ns(const program *one)
{
    return one->start_ns + 10 * LEVELS * STEP_NS;
}

/* Out of all levels; then a span of its own with a kernel. */
static void come_up(program *one)
{
    for (uint32_t i = LEVELS; i > 0; i--)
        push_span(one, JM_RING_END, i, later_ns(one) - i * STEP_NS);
    push_span(one, JM_RING_BEGIN, LEVELS + 1, later_ns(one));
    push_launch(one->side, LEVELS + 1, later_ns(one) + STEP_NS);
    push_kernel(one->side, LEVELS + 1, later_ns(one) + 3 * STEP_NS);
    push_span(one, JM_RING_END, LEVELS + 1, later_ns(one) + 2 * STEP_NS);
}

static void program_end(program *one)
{
    jm__ring_close(&one->spans, true);
    injected_free(one->side);
    collected_free(one->all);
}

/* The level of a row that was handed on. */
static int64_t level_of(const program *one, int64_t span_id)
{
    return span_id == 0 ? 0 : (one->all->spans[span_id - 1].start_ns - one->start_ns) / STEP_NS;
}

/* Of what came while memory was out, each row is right: parents are the next level that is there, kernels are
 * in a level that was open when they were launched. */
static void check_levels(const program *one, bool whole)
{
    int64_t before = 0;
    for (int64_t i = 0; i < one->all->span_count && one->all->spans[i].start_ns < later_ns(one); i++) {
        const jm__span *span = &one->all->spans[i];
        assert_int_equal(span->parent_id, before);
        assert_int_equal(span->end_ns, later_ns(one) - level_of(one, span->id) * STEP_NS);
        before = span->id;
    }
    assert_true(!whole || before == LEVELS);
    for (size_t i = 0; i < one->all->kernel_count; i++) {
        const jm__kernel *kernel = &one->all->kernels[i];
        int64_t level = (kernel->start_ns - one->start_ns) / STEP_NS - LEVELS;
        if (level > LEVELS) continue;
        assert_true(level_of(one, kernel->span_id) <= level);
        assert_true(!whole || level_of(one, kernel->span_id) == level);
    }
    assert_true(!whole || one->all->kernel_count == LEVELS + 1);
}

/* What came after that is as if nothing had been. */
static void check_later(const program *one)
{
    const jm__span *last = &one->all->spans[one->all->span_count - 1];
    const jm__kernel *kernel = NULL;
    assert_int_equal(last->start_ns, later_ns(one));
    assert_int_equal(last->parent_id, 0);
    assert_int_equal(last->end_ns, later_ns(one) + 2 * STEP_NS);
    for (size_t i = 0; i < one->all->kernel_count; i++)
        if (one->all->kernels[i].start_ns == later_ns(one) + 3 * STEP_NS) kernel = &one->all->kernels[i];
    assert_non_null(kernel);
    assert_int_equal(kernel->span_id, last->id);
    assert_int_equal(kernel->launch_ns, later_ns(one) + STEP_NS);
}

/* False: nothing failed any more. */
static bool try_failing(long n, bool for_good)
{
    program one = {0};
    jm_error err = {0};
    size_t records;
    program_start(&one);
    go_down(&one);
    failing_begin(FAILING_MEMORY, n, for_good);
    jm_status status = jm__collector_poll(one.all->collector, &records, &err);
    bool failed = failing_end();
    bool told = status == JM_NO_MEMORY || (status == JM_IO && err.code == ENOMEM); /* a folder's reader */
    if (status != JM_OK && !(failed && told)) fail_msg("%ld: %s: %s", n, jm_status_name(status), err.text);
    come_up(&one);
    collected_poll(one.all);
    collected_finish(one.all);
    check_levels(&one, status == JM_OK);
    check_later(&one);
    program_end(&one);
    return failed;
}

static void test_what_comes_after_memory_was_out_is_right_and_that_it_was_is_told(void **state)
{
    (void)state;
    long n = 1;
    while (try_failing(n, false))
        n += failing_step();
    assert_true(n > 20); /* else nothing was tried */
    for (long m = 1; m < n; m += failing_step())
        try_failing(m, true);
}

/* ---- graphs */

static void tell_of_node(jm__ring *ring, uint64_t id, uint64_t original, int64_t t_ns)
{
    jm_ring_span record = {.t_ns = t_ns,
                           .id = id,
                           .name = (uint32_t)original,
                           .samples = (uint32_t)id / 100,
                           .op = JM_RING_NODE};
    assert_true(jm__ring_push_span(ring, &record, 0));
}

/* In each level a node of graph 1, of which graph 2 is a clone, and a launch of that; kernels of it. */
static void go_down_with_graphs(program *one, jm__ring *graphs)
{
    for (uint32_t i = 1; i <= LEVELS; i++) {
        int64_t level_ns = one->start_ns + i * STEP_NS;
        jm_ring_span record = {.t_ns = level_ns, .id = i, .op = JM_RING_BEGIN, .kind = JM_SPAN_FORWARD};
        assert_true(jm__ring_push_span(&one->spans, &record, 0));
        tell_of_node(graphs, 100 + i, 0, level_ns + 1000);
        tell_of_node(graphs, 200 + i, 100 + i, level_ns + 2000);
    }
    for (uint32_t i = LEVELS; i > 0; i--)
        push_span(one, JM_RING_END, i, later_ns(one) - i * STEP_NS);
}

/* A launch of it in nothing. */
static void launch_graph(program *one, uint32_t correlation, int64_t t_ns)
{
    push_launch(one->side, correlation, t_ns);
    for (uint32_t i = 1; i <= LEVELS; i++)
        push(one->side, (jm_ring_kernel){.op = JM_RING_KERNEL,
                                         .name = number_of(one->side, "kernel"),
                                         .bytes = 200 + i,
                                         .correlation = correlation,
                                         .start_ns = t_ns + 1000 + i,
                                         .end_ns = t_ns + 1001 + i,
                                         .context = 1,
                                         .grid = {1, 1, 1},
                                         .block = {32, 1, 1}});
}

static int64_t depth_of(const program *one, int64_t span_id)
{
    int64_t depth = 0;
    for (; span_id != 0; span_id = one->all->spans[span_id - 1].parent_id)
        depth++;
    return depth;
}

/* Of the launch then: a kernel is in the level that its node was captured in, or, of what failed, further
 * out. */
static void check_launch(const program *one, int64_t t_ns, bool whole)
{
    int64_t seen = 0;
    for (size_t i = 0; i < one->all->kernel_count; i++) {
        const jm__kernel *kernel = &one->all->kernels[i];
        if (kernel->launch_ns != t_ns) continue;
        int64_t depth = depth_of(one, kernel->span_id), level = kernel->start_ns - t_ns - 1000;
        /* An end that found no memory: its span passes for open at the launch. */
        bool open = kernel->span_id != 0 && one->all->spans[kernel->span_id - 1].start_ns < later_ns(one);
        assert_true(depth <= level || (open && !whole));
        assert_true(!whole || depth == level);
        seen++;
    }
    assert_true(!whole || seen == LEVELS);
}

static bool try_failing_graphs(long n, bool for_good)
{
    program one = {0};
    jm__ring graphs;
    jm_error err = {0};
    size_t records;
    program_start(&one);
    jm__ring_options options = {.run_dir = one.all->run_dir,
                                .writer = JM_WRITER_NVTX,
                                .record_size = sizeof(jm_ring_span),
                                .capacity = 512,
                                .capacity_least = 512,
                                .share = 1};
    assert_int_equal(jm__ring_create(&graphs, &options), 0);
    go_down_with_graphs(&one, &graphs);
    launch_graph(&one, 1, later_ns(&one));
    failing_begin(FAILING_MEMORY, n, for_good);
    jm_status status = jm__collector_poll(one.all->collector, &records, &err);
    bool failed = failing_end();
    if (status != JM_OK && !failed) fail_msg("%ld: %s: %s", n, jm_status_name(status), err.text);
    launch_graph(&one, 2, later_ns(&one) + JM_NS_PER_MS);
    collected_poll(one.all);
    collected_finish(one.all);
    check_launch(&one, later_ns(&one), status == JM_OK);
    check_launch(&one, later_ns(&one) + JM_NS_PER_MS, status == JM_OK);
    jm__ring_close(&graphs, true);
    program_end(&one);
    return failed;
}

static void test_graphs_while_memory_is_out_lose_levels_and_nothing_else(void **state)
{
    (void)state;
    long n = 1;
    while (try_failing_graphs(n, false))
        n += failing_step();
    assert_true(n > 20);
    for (long m = 1; m < n; m += failing_step())
        try_failing_graphs(m, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_comes_after_memory_was_out_is_right_and_that_it_was_is_told),
        cmocka_unit_test(test_graphs_while_memory_is_out_lose_levels_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
