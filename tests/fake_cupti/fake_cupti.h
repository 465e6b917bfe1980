/* A libcupti for machines without a GPU: the entry points that libjoulemap_inject uses, and buffers with
 * records in CUPTI's own layouts. These functions stand for the GPU at work. */
#ifndef JM_TESTS_FAKE_CUPTI_H
#define JM_TESTS_FAKE_CUPTI_H

#include <stdint.h>

typedef struct fake_work {
    const char *name; /* NULL: a copy (bytes > 0) or a set (bytes < 0) */
    int64_t bytes;
    uint32_t correlation;
    uint32_t device, context, stream;
    uint32_t grid[3], block[3];
    int64_t start_ns, end_ns; /* CLOCK_REALTIME; end 0: not ended yet */
    uint64_t graph_node;
} fake_work;

/* All exported by the library under these names. */
typedef uint32_t fake_call_function(const char *name); /* an API call: its correlation id */
typedef void fake_run_function(const fake_work *work);
typedef void fake_drop_function(uint64_t count);
typedef int64_t fake_buffers_out_function(void); /* buffers that were requested and not yet completed */
typedef uint64_t fake_count_function(void);      /* fake_kernels: kernels of which it keeps a record */
typedef int fake_subscribed_function(void);      /* 1: somebody uses this one */
/* 1: nobody returns from bringing out records until 0; 2: nobody who brings out all, of work that goes on,
 * too. fake_held: how many threads wait for that. */
typedef void fake_hold_flush_function(int held);
typedef int fake_held_function(void);
/* fake_finalized, a fake_count_function: how often it was let go (cuptiFinalize); fake_strays: calls of it
 * while another tool has it */

/* CUDA graphs: of kernels, and of graphs inside them. What is instantiated is a graph too. */
typedef struct CUgraph_st fake_graph;
typedef fake_graph *fake_graph_create_function(void);
typedef void fake_graph_add_function(fake_graph *graph,
                                     const char *kernel); /* as a launch that is captured does */
typedef void fake_graph_add_child_function(fake_graph *graph, const fake_graph *child);
typedef fake_graph *fake_graph_instantiate_function(const fake_graph *graph);
/* A kernel of 1 us for each node, one after the other. */
typedef void fake_graph_launch_function(const fake_graph *exec, int64_t start_ns);
typedef void fake_graph_destroy_function(fake_graph *graph);

/* Environment: FAKE_CUPTI_VERSION (API version), FAKE_CUPTI_TAKEN=1 (another tool subscribed),
 * FAKE_CUPTI_WITHOUT_GRAPHS=1 (it does not tell of graphs). */

#endif
