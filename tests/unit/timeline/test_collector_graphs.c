/* CUDA graphs in the collector, on rings whose writer is the test itself: whose spans a replay's kernels get,
 * how many of them there are, and what is forgotten. */
#include "base/clock.h"
#include "format/rows/marks.h"
#include "record/timeline/collector_parts.h"
#include "record/timeline/ring.h"
#include "record/timeline/track.h"

#include <joulemap/span.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "collected.h"
#include "injected.h"

#define STEP_NS (10 * JM_NS_PER_US)

/* A program of one thread: rings of its spans, of its graphs and of its kernels, and a clock of its own. */
typedef struct program {
    collected *all;
    jm__ring spans, graphs;
    jm__names names;
    injected *side;
    int64_t t_ns;
    uint64_t last_span;
    uint32_t last_launch;
} program;

static void create_ring(const collected *all, jm__ring *ring, uint32_t writer)
{
    jm__ring_options options = {.run_dir = all->run_dir,
                                .writer = writer,
                                .record_size = sizeof(jm_ring_span),
                                .capacity = 1u << 16,
                                .capacity_least = 1u << 16,
                                .share = 1};
    assert_int_equal(jm__ring_create(ring, &options), 0);
}

static program *start(void)
{
    program *one = calloc(1, sizeof *one);
    assert_non_null(one);
    one->all = collected_create();
    assert_int_equal(jm__names_open(&one->names, one->all->run_dir, JM_WRITER_CORE), 0);
    create_ring(one->all, &one->spans, JM_WRITER_CORE);
    create_ring(one->all, &one->graphs, JM_WRITER_NVTX);
    one->side = inject(one->all, false, 1u << 16);
    push(one->side, (jm_ring_kernel){.op = JM_RING_GRAPHS});
    one->t_ns = jm__now_ns() - JM_NS_PER_S;
    return one;
}

static void finish(program *one)
{
    jm__ring_close(&one->spans, true);
    jm__ring_close(&one->graphs, true);
    jm__names_free(&one->names);
    injected_free(one->side);
    collected_free(one->all);
    free(one);
}

static uint64_t open_span(program *one, jm_span_kind kind, const char *name)
{
    jm_ring_span record = {.t_ns = one->t_ns += STEP_NS,
                           .id = ++one->last_span,
                           .name = jm__names_intern(&one->names, name, strlen(name)),
                           .type = jm__names_intern(&one->names, "Type", 4),
                           .op = JM_RING_BEGIN,
                           .kind = (uint8_t)kind};
    assert_true(jm__ring_push_span(&one->spans, &record, 0));
    return record.id;
}

static void close_span(program *one, uint64_t id)
{
    jm_ring_span record = {.t_ns = one->t_ns += STEP_NS, .id = id, .op = JM_RING_END};
    assert_true(jm__ring_push_span(&one->spans, &record, 0));
}

static uint64_t node(uint32_t graph, uint32_t number)
{
    return (uint64_t)graph << 32 | number;
}

static void tell_of_node(program *one, uint64_t id, uint64_t original)
{
    jm_ring_span record = {.t_ns = one->t_ns += 10,
                           .id = id,
                           .name = (uint32_t)original,
                           .type = (uint32_t)(original >> 32),
                           .samples = (uint32_t)(id >> 32),
                           .op = JM_RING_NODE};
    assert_true(jm__ring_push_span(&one->graphs, &record, 0));
}

/* Nodes that are captured now. */
static void capture(program *one, uint32_t graph, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        tell_of_node(one, node(graph, first + i), 0);
}

/* As CUPTI does it: each clone is a node that is made, and then a clone. */
static void clone_graph(program *one, uint32_t graph, uint32_t original, uint32_t count)
{
    for (uint32_t i = 1; i <= count; i++) {
        tell_of_node(one, node(graph, i), 0);
        tell_of_node(one, node(graph, i), node(original, i));
    }
}

static void tell_of_graph(program *one, uint8_t op, uint32_t graph)
{
    jm_ring_span record = {.t_ns = one->t_ns += 10, .samples = graph, .op = op};
    assert_true(jm__ring_push_span(&one->graphs, &record, 0));
}

static void graph_gone(program *one, uint32_t graph)
{
    tell_of_graph(one, JM_RING_GRAPH_GONE, graph);
}

/* Kernels whose grid is the number of the node in its graph. */
static void launch(program *one, uint32_t graph, uint32_t nodes)
{
    push_launch(one->side, ++one->last_launch, one->t_ns += STEP_NS);
    for (uint32_t i = 1; i <= nodes; i++)
        push(one->side, (jm_ring_kernel){.op = JM_RING_KERNEL,
                                         .name = number_of(one->side, "kernel"),
                                         .bytes = node(graph, i),
                                         .correlation = one->last_launch,
                                         .start_ns = one->t_ns + 200 + i * 10,
                                         .end_ns = one->t_ns + 205 + i * 10,
                                         .context = 1,
                                         .grid = {i, 1, 1},
                                         .block = {32, 1, 1}});
}

static void launch_in(program *one, jm_span_kind kind, const char *name, uint32_t graph, uint32_t nodes)
{
    uint64_t around = open_span(one, kind, name);
    launch(one, graph, nodes);
    close_span(one, around);
}

/* A path of names, from the outermost one. */
static void path_of(const collected *all, int64_t span_id, char *text, size_t size)
{
    text[0] = '\0';
    for (; span_id != 0; span_id = all->spans[span_id - 1].parent_id) {
        char inner[256];
        snprintf(inner, sizeof inner, "%s", text);
        snprintf(text, size, "%s%s%s", collected_text(all, all->spans[span_id - 1].name_id),
                 inner[0] == '\0' ? "" : "/", inner);
    }
}

/* Where the n-th kernel of a node's number lies. */
static const char *path_at(const collected *all, uint32_t number, int n)
{
    static char text[1024];
    for (size_t i = 0; i < all->kernel_count; i++) {
        if (all->classes[all->kernels[i].class_id - 1].grid[0] != number || n-- > 0) continue;
        path_of(all, all->kernels[i].span_id, text, sizeof text);
        return text;
    }
    return "no such kernel";
}

static int64_t spans_named(const collected *all, const char *name)
{
    int64_t count = 0;
    for (int64_t i = 0; i < all->span_count; i++)
        count += strcmp(collected_text(all, all->spans[i].name_id), name) == 0;
    return count;
}

static bool has_mark(const collected *all, const char *name)
{
    for (size_t i = 0; i < all->mark_count; i++)
        if (strcmp(collected_text(all, all->marks[i].name_id), name) == 0) return true;
    return false;
}

/* A training step in graph 7: two layers forward and back, an optimizer; executable as graph 8. */
static void capture_training(program *one)
{
    uint64_t phase = open_span(one, JM_SPAN_PHASE, "capture"), step = open_span(one, JM_SPAN_STEP, "warm-up"),
             model = open_span(one, JM_SPAN_FORWARD, "net");
    uint64_t layer = open_span(one, JM_SPAN_FORWARD, "net.a");
    capture(one, 7, 1, 2);
    close_span(one, layer);
    layer = open_span(one, JM_SPAN_FORWARD, "net.b");
    capture(one, 7, 3, 1);
    close_span(one, layer);
    close_span(one, model);
    model = open_span(one, JM_SPAN_BACKWARD, "net.b");
    capture(one, 7, 4, 1);
    close_span(one, model);
    uint64_t optimizer = open_span(one, JM_SPAN_OPTIMIZER, "Adam");
    capture(one, 7, 5, 1);
    close_span(one, optimizer);
    capture(one, 7, 6, 1); /* in no layer */
    clone_graph(one, 8, 7, 6);
    close_span(one, step);
    close_span(one, phase);
    graph_gone(one, 7);
}

static void test_each_launch_is_a_call_of_the_layers_that_were_captured(void **state)
{
    (void)state;
    program *one = start();
    collected *all = one->all;
    capture_training(one);
    int64_t before = 7; /* spans of the capture */
    for (int i = 0; i < 3; i++)
        launch_in(one, JM_SPAN_STEP, "step", 8, 6);
    collected_poll(all);
    assert_int_equal(all->kernel_count, 18);
    static const char *const paths[] = {"step/net/net.a", "step/net/net.a", "step/net/net.b",
                                        "step/net.b",     "step/Adam",      "step"};
    for (uint32_t number = 1; number <= 6; number++)
        for (int n = 0; n < 3; n++)
            assert_string_equal(path_at(all, number, n), paths[number - 1]);
    assert_int_equal(all->span_count, before + 3 * 6);
    assert_int_equal(spans_named(all, "net.a"), 1 + 3);
    for (int64_t i = 0; i < all->span_count; i++) {
        const jm__span *span = &all->spans[i];
        if (i < before) continue;
        assert_string_equal(collected_text(all, span->type_id), "Type");
        assert_int_equal(span->thread_id, syscall(SYS_gettid));
        if (span->kind == JM_SPAN_STEP) continue;
        bool holds = strcmp(collected_text(all, span->name_id), "net") == 0;
        const jm__span *step = span; /* it began when the call did */
        while (step->parent_id != 0)
            step = &all->spans[step->parent_id - 1];
        int64_t launch_ns = step->start_ns + STEP_NS;
        assert_true(span->start_ns >= launch_ns && span->start_ns < launch_ns + 5);
        assert_int_equal(span->end_ns, holds ? launch_ns + 3000 : span->start_ns + 1);
    }
    assert_int_equal(all->spans[all->kernels[3].span_id - 1].kind, JM_SPAN_BACKWARD);
    assert_int_equal(all->spans[all->kernels[4].span_id - 1].kind, JM_SPAN_OPTIMIZER);
    assert_int_equal(all->lost, 0);
    finish(one);
}

static void test_what_is_around_the_launch_too_is_not_repeated(void **state)
{
    (void)state;
    program *one = start();
    collected *all = one->all;
    capture_training(one);
    uint64_t step = open_span(one, JM_SPAN_STEP, "step"), net = open_span(one, JM_SPAN_FORWARD, "net");
    launch_in(one, JM_SPAN_NVTX, "replay", 8, 6);
    close_span(one, net);
    close_span(one, step);
    launch_in(one, JM_SPAN_FORWARD, "net.a", 8, 3);
    launch(one, 8, 1); /* in nothing */
    collected_poll(all);
    assert_string_equal(path_at(all, 1, 0), "step/net/replay/net.a");
    assert_string_equal(path_at(all, 3, 0), "step/net/replay/net.b");
    assert_string_equal(path_at(all, 4, 0), "step/net/replay/net.b"); /* the backward one: another call */
    assert_string_equal(path_at(all, 6, 0), "step/net/replay");
    assert_string_equal(path_at(all, 1, 1), "net.a");
    assert_string_equal(path_at(all, 3, 1), "net.a/net/net.b");
    assert_string_equal(path_at(all, 1, 2), "net/net.a");
    assert_int_equal(spans_named(all, "replay"), 1);
    finish(one);
}

static void test_a_layer_called_twice_in_a_graph_is_called_twice_in_each_launch(void **state)
{
    (void)state;
    program *one = start();
    collected *all = one->all;
    uint64_t net = open_span(one, JM_SPAN_FORWARD, "net");
    for (uint32_t i = 1; i <= 3; i++) {
        uint64_t layer = open_span(one, JM_SPAN_FORWARD, "shared");
        capture(one, 7, i, 1);
        close_span(one, layer);
    }
    close_span(one, net);
    clone_graph(one, 8, 7, 3);
    launch(one, 8, 3);
    launch(one, 8, 3);
    collected_poll(all);
    assert_int_equal(spans_named(all, "shared"), 3 + 2 * 3);
    assert_int_equal(spans_named(all, "net"), 1 + 2);
    finish(one);
}

static void let_gone_go(collected *all)
{
    collector_graphs *graphs = all->collector->processes.items[0]->graphs;
    for (size_t i = 0; i < graphs->graphs.count; i++)
        if (graphs->graphs.items[i].gone_ns != 0) graphs->graphs.items[i].gone_ns -= 2 * JM_WAITING_NS;
    collected_poll(all);
    collected_poll(all); /* originals after their clones */
}

/* A program that captures anew for each token. */
static void test_the_same_capture_again_takes_no_more_room(void **state)
{
    (void)state;
    program *one = start();
    collected *all = one->all;
    enum { TOKENS = 200 };
    for (uint32_t token = 0; token < TOKENS; token++) {
        uint64_t net = open_span(one, JM_SPAN_FORWARD, "net"),
                 layer = open_span(one, JM_SPAN_FORWARD, "net.a");
        capture(one, 10 + 2 * token, 1, 5);
        close_span(one, layer);
        close_span(one, net);
        clone_graph(one, 11 + 2 * token, 10 + 2 * token, 5);
        launch(one, 11 + 2 * token, 5);
        graph_gone(one, 10 + 2 * token);
        graph_gone(one, 11 + 2 * token);
    }
    collected_poll(all);
    assert_int_equal(all->kernel_count, 5 * TOKENS);
    for (int n = 0; n < TOKENS; n++)
        assert_string_equal(path_at(all, 5, n), "net/net.a");
    collector_graphs *graphs = all->collector->processes.items[0]->graphs;
    assert_int_equal(graphs->captured.count, 1 + 2);
    assert_int_equal(graphs->nodes.count, 2 * 5 * TOKENS); /* their kernels may still come */
    let_gone_go(all);
    assert_int_equal(graphs->nodes.count, 0);
    assert_int_equal(graphs->gone, 0);
    size_t slots = graphs->graphs.count;
    capture(one, 5000, 1, 5); /* slots are used again */
    collected_poll(all);
    assert_int_equal(graphs->nodes.count, 5);
    assert_int_equal(graphs->graphs.count, slots);
    assert_int_equal(all->lost, 0);
    finish(one);
}

static void test_clones_of_clones_are_in_what_the_first_was_captured_in(void **state)
{
    (void)state;
    program *one = start();
    uint64_t layer = open_span(one, JM_SPAN_FORWARD, "layer");
    capture(one, 7, 1, 2);
    close_span(one, layer);
    clone_graph(one, 8, 7, 2);
    clone_graph(one, 9, 8, 2);
    tell_of_node(one, node(9, 1), 0); /* told once more as one that is made: it stays a clone */
    launch(one, 9, 2);
    launch(one, 7, 2); /* an id of the original, should a CUPTI say that */
    collected_poll(one->all);
    for (int n = 0; n < 2; n++) {
        assert_string_equal(path_at(one->all, 1, n), "layer");
        assert_string_equal(path_at(one->all, 2, n), "layer");
    }
    finish(one);
}

/* PyTorch destroys what it captured as soon as it is instantiated. */
static void test_an_original_stays_known_as_long_as_a_clone_is(void **state)
{
    (void)state;
    program *one = start();
    uint64_t layer = open_span(one, JM_SPAN_FORWARD, "layer");
    capture(one, 7, 1, 2);
    close_span(one, layer);
    clone_graph(one, 8, 7, 2);
    graph_gone(one, 7);
    collected_poll(one->all);
    let_gone_go(one->all);
    launch(one, 8, 2);
    launch(one, 7, 2); /* should a CUPTI tell that id */
    collected_poll(one->all);
    for (int n = 0; n < 2; n++)
        assert_string_equal(path_at(one->all, 2, n), "layer");
    graph_gone(one, 8);
    collected_poll(one->all);
    let_gone_go(one->all);
    assert_int_equal(one->all->collector->processes.items[0]->graphs->nodes.count, 0);
    assert_int_equal(one->all->lost, 0);
    finish(one);
}

static void test_copies_and_sets_of_a_graph_are_in_its_layers_and_of_one_class(void **state)
{
    (void)state;
    program *one = start();
    collected *all = one->all;
    uint64_t layer = open_span(one, JM_SPAN_FORWARD, "layer");
    capture(one, 7, 1, 2);
    close_span(one, layer);
    push_launch(one->side, 1, one->t_ns += STEP_NS);
    for (uint32_t i = 1; i <= 2; i++)
        for (uint8_t op = JM_RING_MEMCPY; op <= JM_RING_MEMSET; op++)
            push(one->side, (jm_ring_kernel){.op = op,
                                             .name = number_of(one->side, "move"),
                                             .bytes = 512,
                                             .correlation = 1,
                                             .start_ns = one->t_ns + 200,
                                             .end_ns = one->t_ns + 300,
                                             .grid = {i, 7}});
    collected_poll(all);
    assert_int_equal(all->kernel_count, 4);
    assert_int_equal(all->class_count, 2);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(all->kernels[i].bytes, 512);
        assert_string_equal(collected_text(all, all->spans[all->kernels[i].span_id - 1].name_id), "layer");
        assert_int_equal(all->classes[all->kernels[i].class_id - 1].grid[0], 0);
    }
    assert_int_equal(spans_named(all, "layer"), 2);
    finish(one);
}

static void capture_in(program *one, const char *layer, uint32_t graph, uint32_t first, uint32_t count)
{
    uint64_t span = open_span(one, JM_SPAN_FORWARD, layer);
    capture(one, graph, first, count);
    close_span(one, span);
}

/* As an H200 tells of it (CUDA 13.0, driver 580). Graph 1 holds 2, which holds 3, and 4 after that; what is
 * put in is a copy (6 with 7 inside, 5, 8), and so are the executable graph, 9, and the graphs inside of it
 * (10 with 11 inside, 12), which are dissolved into it. */
static void capture_graphs_inside_one(program *one)
{
    capture_in(one, "c", 3, 1, 1);
    capture_in(one, "e", 4, 1, 1);
    capture_in(one, "b", 2, 1, 1);
    clone_graph(one, 5, 3, 1);
    capture_in(one, "b", 2, 2, 3); /* graph 5, and two more */
    capture_in(one, "a", 1, 1, 1);
    clone_graph(one, 6, 2, 4);
    clone_graph(one, 7, 5, 1);
    capture_in(one, "a", 1, 2, 1); /* graph 6 */
    clone_graph(one, 8, 4, 1);
    capture_in(one, "a", 1, 3, 2); /* graph 8, and one more */
    clone_graph(one, 9, 1, 4);
    clone_graph(one, 10, 6, 4);
    clone_graph(one, 11, 7, 1);
    clone_graph(one, 12, 8, 1);
    graph_gone(one, 8); /* before: it is none of those inside */
    tell_of_graph(one, JM_RING_EXEC_BEGUN, 0);
    graph_gone(one, 10);
    graph_gone(one, 11);
    graph_gone(one, 12);
    capture(one, 9, 11, 2); /* what CUDA puts in after them */
    tell_of_graph(one, JM_RING_EXEC_MADE, 9);
}

static void test_nodes_of_graphs_inside_one_are_numbered_on_in_the_executable_one(void **state)
{
    (void)state;
    program *one = start();
    collected *all = one->all;
    capture_graphs_inside_one(one);
    launch_in(one, JM_SPAN_STEP, "step", 9, 10);
    graph_gone(one, 12); /* no graph is made now */
    collected_poll(all);
    const char expected[] = "aaaabbbbce";
    for (uint32_t i = 0; i < 10; i++) {
        char path[64];
        snprintf(path, sizeof path, "step/%c", expected[i]);
        assert_string_equal(path_at(all, i + 1, 0), path);
    }
    assert_int_equal(all->lost, 0);
    launch_in(one, JM_SPAN_STEP, "step", 9, 13); /* 11 and 12 are CUDA's own, of 13 nobody told */
    collected_poll(all);
    for (uint32_t number = 11; number <= 13; number++)
        assert_string_equal(path_at(all, number, 0), "step");
    assert_int_equal(all->lost, 1);
    finish(one);
}

static void test_graphs_from_before_the_recording_are_known_as_such(void **state)
{
    (void)state;
    program *one = start();
    collected *all = one->all;
    uint64_t late = open_span(one, JM_SPAN_FORWARD, "late");
    clone_graph(one, 20, 5, 2); /* of graph 5 nobody told */
    close_span(one, late);
    launch_in(one, JM_SPAN_STEP, "step", 20, 2);
    collected_poll(all);
    assert_string_equal(path_at(all, 1, 0), "step");
    assert_true(has_mark(all, JM_MARK_GRAPHS_BEFORE));
    assert_int_equal(all->mark_count, 1); /* once */
    launch_in(one, JM_SPAN_STEP, "step", 6, 1);
    collected_poll(all);
    assert_string_equal(path_at(all, 1, 1), "step");
    assert_int_equal(all->mark_count, 1);
    assert_int_equal(all->lost, 0);
    finish(one);
}

static void test_nodes_that_nobody_told_of_are_counted(void **state)
{
    (void)state;
    program *one = start();
    collected *all = one->all;
    capture(one, 7, 1, 1);
    launch_in(one, JM_SPAN_STEP, "step", 9, 3); /* newer than those told of */
    collected_poll(all);
    assert_string_equal(path_at(all, 2, 0), "step");
    assert_int_equal(all->mark_count, 0);
    assert_int_equal(all->lost, 3);
    assert_non_null(strstr(all->loss_reasons, "CUDA graphs were not reported"));
    finish(one);
}

static void test_launches_too_fast_for_spans_of_their_own_share_them_and_are_counted(void **state)
{
    (void)state;
    program *one = start();
    collected *all = one->all;
    capture_training(one);
    collected_poll(all);
    all->collector->replay_span_ns = 4 * JM_NS_PER_S / 10; /* ten at once */
    for (int i = 0; i < 20; i++)
        launch_in(one, JM_SPAN_STEP, "step", 8, 6);
    collected_poll(all);
    int64_t made = all->span_count - 7 - 20;
    assert_in_range(made, 10, 40); /* each 0.4 s makes room for one more */
    assert_int_equal(all->lost, 20 * 5 - made);
    assert_non_null(strstr(all->loss_reasons, "launched too fast"));
    for (size_t i = 0; i < all->kernel_count; i++) { /* all in their layers, whatever the step */
        static const char *const names[] = {"net.a", "net.a", "net.b", "net.b", "Adam", "step"};
        uint32_t number = all->classes[all->kernels[i].class_id - 1].grid[0];
        const jm__span *span = &all->spans[all->kernels[i].span_id - 1];
        assert_string_equal(collected_text(all, span->name_id), names[number - 1]);
    }
    finish(one);
}

static void test_more_nodes_than_are_kept_push_out_those_of_graphs_not_used_for_long(void **state)
{
    (void)state;
    program *one = start();
    collected *all = one->all;
    uint64_t layer = open_span(one, JM_SPAN_FORWARD, "layer");
    enum { NODES = 32768 };
    uint32_t graph = 100;
    for (uint32_t told = 0; told <= JM_GRAPH_NODES_MAX; told += NODES, graph++) {
        capture(one, graph, 1, NODES);
        if (graph > 100) launch(one, 100, 1);
        collected_poll(all);
    }
    close_span(one, layer);
    const collector_graphs *graphs = all->collector->processes.items[0]->graphs;
    assert_in_range(graphs->nodes.count, JM_GRAPH_NODES_MAX / 2, JM_GRAPH_NODES_MAX);
    launch(one, 100, 1);       /* used all the time */
    launch(one, graph - 1, 1); /* the newest */
    collected_poll(all);
    assert_int_equal(all->lost, 0);
    launch(one, 101, 1);
    collected_poll(all);
    assert_int_equal(all->lost, 1);
    assert_int_equal(all->mark_count, 0); /* not one from before: it was told of */
    finish(one);
}

static void *hold_names(void *held)
{
    for (int i = 0; !atomic_load((atomic_bool *)held); i++) {
        char text[32];
        snprintf(text, sizeof text, "name %d", i % 1000);
        jm_name_intern(text);
    }
    return NULL;
}

static void test_nodes_leave_room_for_spans_and_wait_for_nobody(void **state)
{
    (void)state;
    collected *all = collected_create();
    jm_error err;
    assert_int_equal(jm__timeline_open(all->run_dir, &err), JM_OK);
    enum { NODES = 400000 };
    atomic_bool over = false;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, hold_names, &over), 0); /* has the lock again and again */
    for (uint32_t i = 1; i <= NODES; i++)
        jm__track_node(node(7, i), 0, 7);
    jm_span_id layer = jm_span_begin(JM_SPAN_FORWARD, jm_name_intern("layer"), 0, 0);
    jm_span_id inner = jm_span_begin(JM_SPAN_FORWARD, jm_name_intern("inner"), 0, 0);
    assert_true(inner != 0);
    jm_span_end(inner);
    jm_span_end(layer);
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    collected_poll(all);
    size_t kept = all->collector->processes.items[0]->graphs->nodes.count;
    assert_in_range(kept, 100, NODES / 2);
    assert_int_equal(all->lost, NODES - kept);
    assert_non_null(strstr(all->loss_reasons, "nodes of CUDA graphs found no room"));
    assert_true(collected_span(all, "inner")->end_ns > 0);
    jm__track_close();
    collected_free(all);
}

static void test_a_node_of_the_program_before_is_none_of_the_one_in_its_place(void **state)
{
    (void)state;
    program *one = start();
    collected *all = one->all;
    uint64_t layer = open_span(one, JM_SPAN_FORWARD, "layer");
    capture(one, 7, 1, 2);
    collected_poll(all);
    jm__ring again;
    jm__ring_options options = {.run_dir = all->run_dir,
                                .writer = JM_WRITER_NVTX,
                                .names_file = 1, /* exec */
                                .record_size = sizeof(jm_ring_span),
                                .capacity = 64,
                                .capacity_least = 64,
                                .share = 1};
    assert_int_equal(jm__ring_create(&again, &options), 0);
    jm_ring_span record = {.t_ns = one->t_ns += STEP_NS, .id = node(7, 1), .samples = 7, .op = JM_RING_NODE};
    assert_true(jm__ring_push_span(&again, &record, 0));
    record.id = node(7, 2);
    close_span(one, layer);
    record.t_ns = one->t_ns += STEP_NS;
    assert_true(jm__ring_push_span(&again, &record, 0));
    launch(one, 7, 2);
    collected_poll(all);
    assert_int_equal(all->kernel_count, 2);
    assert_string_equal(path_at(all, 1, 0), "layer"); /* open still, to be seen to be abandoned */
    assert_string_equal(path_at(all, 2, 0), "");
    assert_int_equal(all->collector->processes.items[0]->graphs->captured.count, 2);
    jm__ring_close(&again, true);
    finish(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_launch_is_a_call_of_the_layers_that_were_captured),
        cmocka_unit_test(test_what_is_around_the_launch_too_is_not_repeated),
        cmocka_unit_test(test_a_layer_called_twice_in_a_graph_is_called_twice_in_each_launch),
        cmocka_unit_test(test_the_same_capture_again_takes_no_more_room),
        cmocka_unit_test(test_clones_of_clones_are_in_what_the_first_was_captured_in),
        cmocka_unit_test(test_an_original_stays_known_as_long_as_a_clone_is),
        cmocka_unit_test(test_copies_and_sets_of_a_graph_are_in_its_layers_and_of_one_class),
        cmocka_unit_test(test_nodes_of_graphs_inside_one_are_numbered_on_in_the_executable_one),
        cmocka_unit_test(test_graphs_from_before_the_recording_are_known_as_such),
        cmocka_unit_test(test_nodes_that_nobody_told_of_are_counted),
        cmocka_unit_test(test_launches_too_fast_for_spans_of_their_own_share_them_and_are_counted),
        cmocka_unit_test(test_more_nodes_than_are_kept_push_out_those_of_graphs_not_used_for_long),
        cmocka_unit_test(test_nodes_leave_room_for_spans_and_wait_for_nobody),
        cmocka_unit_test(test_a_node_of_the_program_before_is_none_of_the_one_in_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
