/* CUDA graphs without a GPU, told of as CUPTI does: a node of a clone is told of as one that is made, and
 * then as a clone. An id of a node has its graph's in the upper half; records of a launch bear the executable
 * graph's. Graphs inside one that is made executable are dissolved into it: they go, and their nodes are
 * numbered on without a word. All of it as seen on an H200 (CUDA 13.0, driver 580). */
#include "fake_graphs.h"

#include <stdbool.h>
#include <stdlib.h>

#define NODES_MAX 64

struct CUgraphNode_st {
    CUgraph graph;
    uint64_t id;
    const char *kernel; /* NULL: a graph */
    fake_graph *child;
};

struct CUgraph_st {
    uint32_t id;
    bool is_exec;
    uint32_t count;
    struct CUgraphNode_st nodes[NODES_MAX];
};

static uint32_t last_graph = 10;

EXPORT fake_graph *fake_graph_create(void);
EXPORT void fake_graph_add(fake_graph *graph, const char *kernel);
EXPORT void fake_graph_add_child(fake_graph *graph, const fake_graph *child);
EXPORT fake_graph *fake_graph_instantiate(const fake_graph *graph);
EXPORT void fake_graph_launch(const fake_graph *exec, int64_t start_ns);
EXPORT void fake_graph_destroy(fake_graph *graph);

fake_graph *fake_graph_create(void)
{
    fake_graph *graph = calloc(1, sizeof *graph);
    if (graph == NULL) abort();
    graph->id = __atomic_add_fetch(&last_graph, 1, __ATOMIC_RELAXED);
    return graph;
}

static CUgraphNodeType type_of(CUgraphNode node)
{
    return node->kernel != NULL ? CU_GRAPH_NODE_TYPE_KERNEL : CU_GRAPH_NODE_TYPE_GRAPH;
}

static CUgraphNode add_node(fake_graph *graph, const char *kernel, fake_graph *child)
{
    if (graph->count == NODES_MAX) abort();
    CUgraphNode node = &graph->nodes[graph->count++];
    *node = (struct CUgraphNode_st){graph, (uint64_t)graph->id << 32 | graph->count, kernel, child};
    CUpti_GraphData data = {.graph = graph, .node = node, .nodeType = type_of(node)};
    fake_tell_of_graph(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, &data);
    return node;
}

static fake_graph *clone_of(const fake_graph *graph)
{
    union {
        const fake_graph *in;
        fake_graph *out;
    } original = {.in = graph};
    fake_graph *clone = fake_graph_create();
    for (uint32_t i = 0; i < graph->count; i++) {
        CUgraphNode from = &original.out->nodes[i];
        fake_graph *child = from->child == NULL ? NULL : clone_of(from->child);
        CUgraphNode node = add_node(clone, from->kernel, child);
        CUpti_GraphData data = {.graph = clone,
                                .originalGraph = original.out,
                                .node = node,
                                .originalNode = from,
                                .nodeType = type_of(node)};
        fake_tell_of_graph(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, &data);
    }
    return clone;
}

void fake_graph_add(fake_graph *graph, const char *kernel)
{
    add_node(graph, kernel, NULL);
}

void fake_graph_add_child(fake_graph *graph, const fake_graph *child)
{
    add_node(graph, NULL, clone_of(child));
}

static void dissolve(fake_graph *exec, fake_graph *inner)
{
    for (uint32_t i = 0; i < inner->count; i++) {
        if (exec->count == NODES_MAX) abort();
        exec->count++;
        exec->nodes[exec->count - 1] = (struct CUgraphNode_st){exec, (uint64_t)exec->id << 32 | exec->count,
                                                               inner->nodes[i].kernel, NULL};
    }
    CUpti_GraphData data = {.graph = inner};
    fake_tell_of_graph(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, &data);
    for (uint32_t i = 0; i < inner->count; i++)
        if (inner->nodes[i].child != NULL) dissolve(exec, inner->nodes[i].child);
    free(inner);
}

fake_graph *fake_graph_instantiate(const fake_graph *graph)
{
    fake_graph *exec = clone_of(graph);
    exec->is_exec = true;
    CUpti_GraphData data = {.graph = exec};
    fake_tell_of_graph(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING, &data);
    for (uint32_t i = 0, count = exec->count; i < count; i++) {
        if (exec->nodes[i].child != NULL) dissolve(exec, exec->nodes[i].child);
        exec->nodes[i].child = NULL;
    }
    data.graphExec = (CUgraphExec)(void *)exec;
    fake_tell_of_graph(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, &data);
    return exec;
}

static void run_all(const fake_graph *graph, fake_work *work)
{
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct CUgraphNode_st *node = &graph->nodes[i];
        if (node->kernel == NULL) continue; /* it was a graph */
        work->name = node->kernel;
        work->graph_node = node->id;
        fake_run(work);
        work->start_ns += 1000;
        work->end_ns += 1000;
    }
}

void fake_graph_launch(const fake_graph *exec, int64_t start_ns)
{
    fake_work work = {.correlation = fake_call("cudaGraphLaunch_v10000"),
                      .context = 1,
                      .grid = {1, 1, 1},
                      .block = {1, 1, 1},
                      .start_ns = start_ns + 3000,
                      .end_ns = start_ns + 4000};
    run_all(exec, &work);
}

void fake_graph_destroy(fake_graph *graph)
{
    CUpti_GraphData data = {.graph = graph->is_exec ? NULL : graph};
    if (graph->is_exec) data.graphExec = (CUgraphExec)(void *)graph;
    for (uint32_t i = 0; i < graph->count; i++)
        if (graph->nodes[i].child != NULL) fake_graph_destroy(graph->nodes[i].child);
    fake_tell_of_graph(graph->is_exec ? CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING
                                      : CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING,
                       &data);
    free(graph);
}

EXPORT CUptiResult CUPTIAPI cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
    *id = node->id;
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiGetGraphId(CUgraph graph, uint32_t *id)
{
    *id = graph->id;
    return CUPTI_SUCCESS;
}

#ifndef FAKE_WITHOUT_EXEC_IDS /* CUDA 12.1 has them not */
EXPORT CUptiResult CUPTIAPI cuptiGetGraphExecId(CUgraphExec exec, uint32_t *id)
{
    *id = ((const fake_graph *)(const void *)exec)->id;
    return CUPTI_SUCCESS;
}
#endif
