/* CUPTI's callbacks of CUDA graphs as records of the calling thread's ring. */
#include "inject/graphs.h"

#include "record/timeline/track.h"

/* The same from CUDA 11 to 13: that no header at hand says otherwise. */
_Static_assert(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING == 10, "CUPTI renumbered its callbacks");
_Static_assert(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED == 13, "CUPTI renumbered its callbacks");
_Static_assert(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING == 17, "CUPTI renumbered its callbacks");
_Static_assert(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED == 18, "CUPTI renumbered its callbacks");
_Static_assert(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING == 19, "CUPTI renumbered its callbacks");
_Static_assert(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED == 20, "CUPTI renumbered its callbacks");
_Static_assert(offsetof(CUpti_ResourceData, resourceDescriptor) == 16, "CUPTI moved its data of resources");
_Static_assert(offsetof(CUpti_GraphData, node) == 16, "CUPTI moved its data of graphs");
_Static_assert(offsetof(CUpti_GraphData, graphExec) == 48, "CUPTI moved its data of graphs");

static const CUpti_CallbackId wanted[] = {
    CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,      CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
    CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING,
    CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED,      CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING,
};

bool jm__graphs_follow(const jm__cupti *cupti, CUpti_SubscriberHandle subscriber)
{
    if (cupti->cuptiGetGraphNodeId == NULL) return false;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        CUptiResult result = cupti->cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, wanted[i]);
        bool needed = wanted[i] == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED ||
                      wanted[i] == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED;
        if (needed && result != CUPTI_SUCCESS) return false;
    }
    return true;
}

/* 0: unknown. */
static uint32_t graph_id(const jm__cupti *cupti, CUgraph graph)
{
    uint32_t id = 0;
    if (graph == NULL || cupti->cuptiGetGraphId == NULL) return 0;
    return cupti->cuptiGetGraphId(graph, &id) == CUPTI_SUCCESS ? id : 0;
}

static uint32_t exec_id(const jm__cupti *cupti, CUgraphExec graph)
{
    uint32_t id = 0;
    if (graph == NULL || cupti->cuptiGetGraphExecId == NULL) return 0;
    return cupti->cuptiGetGraphExecId(graph, &id) == CUPTI_SUCCESS ? id : 0;
}

/* Of any type: CUPTI 13.0 calls all of them kernels, and what lies inside an executable graph is counted. */
static void hear_node(const jm__cupti *cupti, const CUpti_GraphData *data, bool cloned)
{
    uint64_t node = 0, original = 0;
    if (data->node == NULL) return;
    if (cupti->cuptiGetGraphNodeId(data->node, &node) != CUPTI_SUCCESS || node == 0) return;
    if (cloned) {
        if (data->originalNode == NULL) return;
        if (cupti->cuptiGetGraphNodeId(data->originalNode, &original) != CUPTI_SUCCESS || original == 0)
            return;
    }
    jm__track_node(node, original, graph_id(cupti, data->graph));
}

void jm__graphs_hear(const jm__cupti *cupti, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                     const void *data)
{
    if (domain != CUPTI_CB_DOMAIN_RESOURCE || data == NULL) return;
    const CUpti_GraphData *graph = ((const CUpti_ResourceData *)data)->resourceDescriptor;
    if (graph == NULL) return;
    uint32_t gone = 0;
    switch (id) {
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
        hear_node(cupti, graph, id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
        break;
    case CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING:
        gone = graph_id(cupti, graph->graph);
        break;
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING:
        jm__track_exec_begun();
        break;
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED:
        jm__track_exec_made(exec_id(cupti, graph->graphExec));
        break;
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING:
        gone = exec_id(cupti, graph->graphExec);
        break;
    default:
        break;
    }
    if (gone != 0) jm__track_graph_gone(gone);
}
