/* What the fake's graphs need of the rest of it. */
#ifndef JM_TESTS_FAKE_GRAPHS_H
#define JM_TESTS_FAKE_GRAPHS_H

#include "fake_cupti.h"

#include <cuda.h>

#include <cupti.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT uint32_t fake_call(const char *name);
EXPORT void fake_run(const fake_work *work);

/* Call whoever wants to hear of it. */
void fake_tell_of_graph(CUpti_CallbackIdResource id, CUpti_GraphData *data);

#endif
