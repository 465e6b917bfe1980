/* Calls of a model's modules: what is open of them on a thread, and whose the autograd nodes are that they
 * make. */
#ifndef JM_PYTHON_CORE_CALLS_H
#define JM_PYTHON_CORE_CALLS_H

#include "_core.h"

typedef struct core_layer core_layer;
typedef struct core_frame core_frame;

/* joulemap._core.Layer: a watched module. */
struct core_layer {
    PyObject ob_base;
    PyObject *inner; /* of what torch.compile made of a watched module: that module's layer; else NULL */
    jm_name name, type;
    char looked; /* a call without spans inside was looked at, or need not be */
};

/* joulemap._core.Thread: what one thread has open. */
typedef struct core_thread {
    PyObject ob_base;
    core_frame *frame;   /* the innermost call, or NULL */
    PyObject *backward;  /* the backward pass that it works at, or NULL */
    PyObject *backwards; /* list of unfinished ones whose forward pass ran here */
    PyObject *regions;   /* list of what is open of each compiled graph */
    long turn;           /* of tracing, in which all that began */
} core_thread;

/* joulemap._core.Frame: one call of a watched module. */
struct core_frame {
    PyObject ob_base;
    core_layer *layer;
    core_frame *parent; /* the call around it, or NULL */
    core_thread *home;
    jm_span_id span;
    int depth;   /* of calls around it */
    int regions; /* how many compiled graphs are around it */
    char seen;   /* work inside of it has had spans */
    char quick;  /* begun in place of nn.Module.__call__, not by a hook */
};

/* A frame of `type` inside of what `thread` has open; on its top. NULL with an exception. */
core_frame *core_frame_open(PyTypeObject *type, core_thread *thread, core_layer *layer);

/* Whether it is on the thread's stack. */
bool core_frame_is_open(const core_frame *frame);

/* End the spans of the calls deeper than `depth`, innermost first, and take them from the stack. */
void core_thread_unwind(core_thread *thread, int depth);

/* What labels are made with. */
typedef struct core_labels {
    PyTypeObject *tensor; /* torch.Tensor */
    PyObject *parts;      /* a function: list of what is in a value, or None */
    PyObject *grad_fn, *metadata, *register_prehook, *is_view, *base; /* names of attributes */
    PyObject *key; /* in the metadata of a node that has a label */
} core_labels;

/* Whose label it is: the method `name` of `frame`, which is made once it is needed. */
typedef struct core_label {
    core_frame *frame;
    PyObject *name;
    PyObject *hook; /* the caller's to release */
} core_label;

/* Label the autograd nodes of the tensors in `value`; the first label of a node stays. `nesting`: how many
 * containers deep. -1 with an exception. */
int core_label_nodes(const core_labels *labels, PyObject *value, core_label *label, int nesting);

#define CORE_LABEL_NESTING 6 /* of tuples, dicts and dataclasses around a module's tensors */

#endif
