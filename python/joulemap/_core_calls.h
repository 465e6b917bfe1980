/* Calls of a model's modules: the stack of open calls on each thread, and labels on autograd nodes. */
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
    PyObject *inner; /* the layer of the module that torch.compile wrapped in this one, or NULL */
    jm_name name, type;
    char checked; /* check_compiled() has run, or is not needed */
    char active;  /* still watched */
    char outer;   /* has been called outside of all watched modules */
};

/* joulemap._core.Thread: the open calls of one thread. */
typedef struct core_thread {
    PyObject ob_base;
    core_frame *frame;       /* the innermost call, or NULL */
    core_backward *backward; /* the backward pass that runs here, or NULL */
    PyObject *backwards;     /* list of unfinished passes whose forward pass ran here */
    PyObject *regions;       /* list of running compiled graphs: the open spans of each */
    long generation;         /* of tracing, in which all of these began */
} core_thread;

/* joulemap._core.Frame: one call of a watched module. */
struct core_frame {
    PyObject ob_base;
    core_layer *layer;
    core_frame *parent; /* the enclosing call, or NULL */
    core_thread *home;
    core_calls *calls;
    jm_span_id span;
    int depth;      /* number of enclosing calls */
    int regions;    /* number of enclosing compiled graphs */
    char has_spans; /* there were spans inside of it */
    char direct;    /* begun by calls_call(), not by a hook */
};

/* Push a frame on the stack of `thread`. A new reference, or NULL with an exception. */
core_frame *core_frame_open(core_calls *calls, core_thread *thread, core_layer *layer);

/* Whether it is on the thread's stack. */
bool core_frame_is_open(const core_frame *frame);

/* Pop the calls at `depth` and deeper, innermost first, and end their spans. */
void core_thread_unwind(core_thread *thread, int depth);

/* End the spans of compiled graphs until `depth` graphs are left. False with an exception. */
bool core_thread_close_regions(core_thread *thread, int depth);

/* What labelling needs of PyTorch. */
typedef struct core_labels {
    PyTypeObject *tensor; /* torch.Tensor */
    PyObject *parts;      /* a function: list of the values in a container, or None */
    PyObject *grad_fn, *metadata, *register_prehook, *is_view, *base; /* names of attributes */
    PyObject *key; /* marks a labelled node, in its metadata */
} core_labels;

/* A label: the method `name` of `frame`, bound on first use. */
typedef struct core_label {
    core_frame *frame;
    PyObject *name;
    PyObject *hook; /* the caller's to release */
} core_label;

/* Label the autograd nodes of the tensors in `value`; the first label of a node stays. `nesting`: how many
 * containers deep. -1 with an exception. */
int core_label_nodes(const core_labels *labels, PyObject *value, core_label *label, int nesting);

/* joulemap._core.Calls: the replacement of nn.Module.__call__. */
struct core_calls {
    PyObject ob_base;
    PyObject *wrapped;         /* PyTorch's nn.Module.__call__ */
    PyObject *bind;            /* types.MethodType */
    PyObject *layers;          /* dict: id of a module's flags -> Layer */
    PyObject *local;           /* a threading.local: its `state` is this thread's Thread */
    PyObject *frame_type;      /* subclass of joulemap._core.Frame whose methods are the labels */
    PyObject *graph_task;      /* a function: number of the backward pass that runs here, or -1 */
    PyObject *queue_callback;  /* a function: calls its argument at the end of that pass */
    PyObject *is_grad_enabled; /* a function */
    PyObject *found;           /* a function, or NULL: asked about an outermost module that is not watched */
    PyObject *entered;         /* a function, or NULL: called before an outermost call, traced or not */
    core_labels labels;
    PyObject *flags, *state, *backward, *outside; /* names of attributes */
    PyTypeObject *thread_type, *layer_type, *backward_type, *backward_end_type;
    long generation; /* of tracing */
    char traced;     /* layers are traced at present */
    char on;         /* calls of watched modules are traced here, not by hooks */
};

/* The state of this thread; what it had open in an earlier generation of tracing is closed. A new reference,
 * or NULL with an exception. */
core_thread *core_calls_thread_now(core_calls *self);

/* The number of the backward pass that runs on this thread, or -1; -2 with an exception. */
long core_calls_task(const core_calls *self);

/* Attribute the rest of this thread's backward pass to `frame` (NULL: to no module), until the next call.
 * `home` is the thread of its forward pass. False with an exception. */
bool core_backward_enter(core_calls *calls, core_thread *home, core_frame *frame);

#define CORE_LABEL_NESTING 6 /* tuples, dicts and dataclasses that are searched for tensors */

#endif
