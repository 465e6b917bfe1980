/* Calls of a model's modules: what is open of them on a thread, and whose the autograd nodes are that they
 * make. */
#ifndef JM_PYTHON_CORE_CALLS_H
#define JM_PYTHON_CORE_CALLS_H

#include "_core.h"

typedef struct core_layer core_layer;
typedef struct core_frame core_frame;
typedef struct core_backward core_backward;
typedef struct core_calls core_calls;

/* joulemap._core.Layer: a watched module. */
struct core_layer {
    PyObject ob_base;
    PyObject *inner; /* of what torch.compile made of a watched module: that module's layer; else NULL */
    jm_name name, type;
    char looked; /* a call without spans inside was looked at, or need not be */
    char active; /* somebody watches it */
};

/* joulemap._core.Thread: what one thread has open. */
typedef struct core_thread {
    PyObject ob_base;
    core_frame *frame;       /* the innermost call, or NULL */
    core_backward *backward; /* the backward pass that it works at, or NULL */
    PyObject *backwards;     /* list of unfinished ones whose forward pass ran here */
    PyObject *regions;       /* list of what is open of each compiled graph */
    long burst;              /* of tracing, in which all that began */
} core_thread;

/* joulemap._core.Frame: one call of a watched module. */
struct core_frame {
    PyObject ob_base;
    core_layer *layer;
    core_frame *parent; /* the call around it, or NULL */
    core_thread *home;
    core_calls *calls;
    jm_span_id span;
    int depth;   /* of calls around it */
    int regions; /* how many compiled graphs are around it */
    char seen;   /* work inside of it has had spans */
    char quick;  /* begun in place of nn.Module.__call__, not by a hook */
};

/* A frame inside of what `thread` has open; on its top. NULL with an exception. */
core_frame *core_frame_open(core_calls *calls, core_thread *thread, core_layer *layer);

/* Whether it is on the thread's stack. */
bool core_frame_is_open(const core_frame *frame);

/* End the spans of the calls deeper than `depth`, innermost first, and take them from the stack. */
void core_thread_unwind(core_thread *thread, int depth);

/* Close the compiled graphs deeper than `depth`. False with an exception. */
bool core_thread_close_regions(core_thread *thread, int depth);

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

/* joulemap._core.Calls: what stands in the place of nn.Module.__call__. */
struct core_calls {
    PyObject ob_base;
    PyObject *wrapped;         /* nn.Module.__call__ as PyTorch has it */
    PyObject *bind;            /* types.MethodType */
    PyObject *layers;          /* dict: Layer of the id of a module's flags */
    PyObject *local;           /* whose attribute `state` is this thread's Thread */
    PyObject *frame_type;      /* made of joulemap._core.Frame, with the methods that are labels */
    PyObject *graph_task;      /* a function: number of the backward pass at work here, -1 if none is */
    PyObject *queue_callback;  /* a function: what is to be called at the end of that pass */
    PyObject *is_grad_enabled; /* a function */
    core_labels labels;
    PyObject *flags, *state, *backward, *outside; /* names of attributes */
    PyTypeObject *thread_type, *layer_type, *backward_type, *backward_end_type;
    long burst;  /* of tracing */
    char traced; /* layers are, at present */
    char on;     /* calls of watched modules are traced here */
};

/* This thread's, as of this turn of tracing: what was open in an earlier one is closed. A new reference, or
 * NULL with an exception. */
core_thread *core_calls_thread_now(core_calls *self);

/* The number of the backward pass at work here, -1 if none is; -2 with an exception. */
long core_calls_task(const core_calls *self);

/* Let what this thread's backward pass runs from here on belong to `frame`, or to none, of a forward pass on
 * `home`. False with an exception. */
bool core_backward_enter(core_calls *calls, core_thread *home, core_frame *frame);

#define CORE_LABEL_NESTING 6 /* of tuples, dicts and dataclasses around a module's tensors */

#endif
