/* joulemap._core.Calls: replaces nn.Module.__call__ while a model is watched. It gives each call of a watched
 * module a span and a frame on the thread's stack, and calls PyTorch's own `__call__`. For other modules, and
 * while tracing is off, it only forwards. Global module hooks begin and end calls through it, too. */
#include "_core_calls.h"

#include <structmember.h>

/* Releases the result of a Python call; false if the call failed. */
static bool succeeded(PyObject *result)
{
    Py_XDECREF(result);
    return result != NULL;
}

/* ---- PyTorch's state ---- */

long core_calls_task(const core_calls *self)
{
    PyObject *number = PyObject_CallNoArgs(self->graph_task);
    long task = number ? PyLong_AsLong(number) : -2;
    Py_XDECREF(number);
    return task == -1 && PyErr_Occurred() ? -2 : task;
}

/* 1, 0, or -1 with an exception. */
static int is_grad_enabled(const core_calls *self)
{
    PyObject *answer = PyObject_CallNoArgs(self->is_grad_enabled);
    int enabled = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return enabled;
}

/* Borrowed; NULL if the module is not watched. Replicas of nn.DataParallel share the module's flags. */
static core_layer *layer_of(const core_calls *self, PyObject *module)
{
    PyObject *attributes = PyObject_GenericGetDict(module, NULL);
    PyObject *flags = attributes ? PyDict_GetItemWithError(attributes, self->flags) : NULL;
    bool may_be = flags && PyDict_Check(flags) && PyDict_Size(flags) > 0;
    PyObject *key = may_be ? PyLong_FromVoidPtr(flags) : NULL;
    PyObject *layer = key ? PyDict_GetItemWithError(self->layers, key) : NULL;
    Py_XDECREF(key);
    Py_XDECREF(attributes);
    if (!layer) PyErr_Clear(); /* not a module: PyTorch's own error is clearer */
    return (core_layer *)layer;
}

/* ---- labels ---- */

/* Errors become a warning of the layer. False with an exception that is no Exception (KeyboardInterrupt). */
static bool label(core_calls *self, core_label *by, PyObject *value, int nesting)
{
    if (core_label_nodes(&self->labels, value, by, nesting) == 0) return true;
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return false;
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (!succeeded(
            PyObject_CallMethod((PyObject *)by->frame->layer, "cannot_label", "O", error ? error : Py_None)))
        PyErr_WriteUnraisable((PyObject *)self);
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(traceback);
    return true;
}

/* The nodes of a module's arguments, from number `first` on, belong to the enclosing call. */
static bool label_arguments(core_calls *self, core_frame *frame, PyObject *args, Py_ssize_t first,
                            PyObject *kwargs)
{
    int enabled = is_grad_enabled(self);
    if (enabled <= 0) return enabled == 0;
    core_label by = {frame->parent ? frame->parent : frame, frame->parent ? self->backward : self->outside,
                     NULL};
    bool fine = true;
    for (Py_ssize_t i = first; fine && i < PyTuple_Size(args); i++)
        fine = label(self, &by, PyTuple_GetItem(args, i), CORE_LABEL_NESTING - 1);
    if (fine && kwargs) fine = label(self, &by, kwargs, CORE_LABEL_NESTING);
    Py_XDECREF(by.hook);
    return fine;
}

/* The nodes of a module's result belong to its own call. */
static bool label_result(core_calls *self, core_frame *frame, PyObject *result)
{
    int enabled = is_grad_enabled(self);
    if (enabled <= 0) return enabled == 0;
    core_label by = {frame, self->backward, NULL};
    bool fine = label(self, &by, result, CORE_LABEL_NESTING);
    Py_XDECREF(by.hook);
    return fine;
}

/* ---- begin and end of a call; false with an exception ---- */

/* The state of this thread: a new reference, or NULL with an exception. */
static core_thread *thread_here(core_calls *self)
{
    PyObject *thread = PyObject_GetAttr(self->local, self->state);
    if (thread && !PyObject_TypeCheck(thread, self->thread_type)) {
        PyErr_SetString(PyExc_TypeError, "the state of a thread is not a joulemap._core.Thread");
        Py_CLEAR(thread);
    }
    return (core_thread *)thread;
}

core_thread *core_calls_thread_now(core_calls *self)
{
    core_thread *thread = thread_here(self);
    if (thread && thread->generation < self->generation &&
        !succeeded(PyObject_CallMethod((PyObject *)thread, "renew", NULL)))
        Py_CLEAR(thread);
    return thread;
}

/* Whether this call of `layer` is already on the stack of `thread`. */
static bool is_traced(const core_thread *thread, const core_layer *layer, bool direct)
{
    const core_frame *innermost = thread->frame;
    if (!innermost) return false;
    if (innermost->layer->inner == (const PyObject *)layer)
        return true;                                                  /* a compiled module, run uncompiled */
    return !direct && innermost->direct && innermost->layer == layer; /* hooks were added while it ran */
}

/* Whether a hook has begun a call of `layer` that is still open. */
static bool is_open(const core_thread *thread, const core_layer *layer)
{
    const core_frame *frame = thread->frame;
    while (frame && (frame->layer != layer || frame->direct))
        frame = frame->parent;
    return frame != NULL;
}

/* `found` or `entered`. */
static bool is_asked(const PyObject *function)
{
    return function && function != Py_None;
}

static bool begin_in(core_calls *self, core_thread *thread, core_layer *layer, PyObject *args,
                     PyObject *kwargs, bool direct, core_frame **frame)
{
    long task = core_calls_task(self);
    if (task == -2) return false;
    if (is_traced(thread, layer, direct)) return true;
    /* The module calls itself, or Ctrl-C ended an earlier call, for which PyTorch calls no hook. */
    if (!direct && is_open(thread, layer) &&
        !succeeded(PyObject_CallMethod((PyObject *)thread, "close_stale", "O", layer)))
        return false;
    core_frame *const opened = core_frame_open(self, thread, layer);
    if (!opened) return false;
    opened->direct = direct;
    if (!label_arguments(self, opened, args, direct ? 1 : 0, kwargs)) {
        core_thread_unwind(thread, opened->depth);
        Py_DECREF(opened);
        return false;
    }
    opened->span =
        jm_span_begin(task == -1 ? JM_SPAN_FORWARD : JM_SPAN_RECOMPUTE, layer->name, layer->type, 0);
    *frame = opened;
    return true;
}

/* Whether this thread is outside of all calls of watched modules; -1 with an exception. */
static int is_outside(core_calls *self)
{
    core_thread *const thread = thread_here(self);
    if (!thread) return -1;
    bool outside = !thread->frame;
    Py_DECREF(thread);
    return outside;
}

/* Asks `found` about an outermost module that is not watched. *layer is borrowed: NULL if it is not watched
 * now either. False with an exception. */
static bool offer(core_calls *self, PyObject *module, core_layer **layer)
{
    *layer = NULL;
    int outside = is_outside(self);
    if (outside <= 0) return outside == 0;
    PyObject *const found = self->found; /* it may take itself away */
    Py_INCREF(found);
    bool fine = succeeded(PyObject_CallFunctionObjArgs(found, module, NULL));
    Py_DECREF(found);
    if (fine) *layer = layer_of(self, module);
    return fine;
}

/* Tells `entered` of an outermost call: while nothing is traced, of a module that was called so before. False
 * with an exception. */
static bool announce(core_calls *self, core_layer *layer, PyObject *args, PyObject *kwargs)
{
    if (!is_asked(self->entered) || (!self->traced && !layer->outer)) return true;
    int outside = is_outside(self);
    if (outside <= 0) return outside == 0;
    long task = core_calls_task(self);
    if (task != -1) return task != -2;
    layer->outer = 1;
    PyObject *const entered = self->entered;
    Py_INCREF(entered);
    bool fine =
        succeeded(PyObject_CallFunctionObjArgs(entered, layer, args, kwargs ? kwargs : Py_None, NULL));
    Py_DECREF(entered);
    return fine;
}

/* *frame is a new reference, or NULL if this call gets no frame. `direct`: `args` begin with the module. */
static bool begin(core_calls *self, core_layer *layer, PyObject *args, PyObject *kwargs, bool direct,
                  core_frame **frame)
{
    *frame = NULL;
    Py_INCREF(layer); /* borrowed, and Python code runs below */
    core_thread *const thread = core_calls_thread_now(self);
    bool fine = thread && begin_in(self, thread, layer, args, kwargs, direct, frame);
    Py_DECREF(layer);
    Py_XDECREF(thread);
    return fine;
}

/* `result`: NULL if the call raised. */
static bool end(core_calls *self, core_frame *frame, PyObject *result)
{
    core_thread *const thread = frame->home;
    core_layer *const layer = frame->layer;
    if (!core_frame_is_open(frame)) return true;  /* closed by an exception, or tracing stopped */
    core_thread_unwind(thread, frame->depth + 1); /* inner calls whose end was not seen */
    bool closed = core_thread_close_regions(thread, frame->regions);
    core_thread_unwind(thread, frame->depth);
    if (!closed) return false;
    if (!frame->has_spans && !layer->checked &&
        !succeeded(PyObject_CallMethod((PyObject *)layer, "check_compiled", NULL)))
        return false;
    return !result || result == Py_None || label_result(self, frame, result);
}

/* ---- the replacement of nn.Module.__call__ ---- */

/* Ends `frame` (stolen) after `result` (stolen), NULL with an exception. */
static PyObject *end_take(core_calls *self, core_frame *frame, PyObject *result)
{
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    if (!end(self, frame, result) && !core_forgive((PyObject *)self)) {
        if (result)
            Py_CLEAR(result);
        else
            PyErr_WriteUnraisable((PyObject *)self);
    }
    if (type) PyErr_Restore(type, error, traceback);
    Py_DECREF(frame);
    return result;
}

static PyObject *calls_call(PyObject *object, PyObject *args, PyObject *kwargs)
{
    core_calls *self = (core_calls *)object;
    bool sees = (self->on || is_asked(self->entered)) && PyTuple_Size(args) > 0;
    PyObject *const module = sees ? PyTuple_GetItem(args, 0) : NULL;
    core_layer *layer = module ? layer_of(self, module) : NULL;
    core_frame *frame = NULL;
    if (self->on && module && !layer && is_asked(self->found) && !offer(self, module, &layer) &&
        !core_forgive(object))
        return NULL;
    Py_XINCREF(layer); /* borrowed, and Python code runs below */
    bool fine = !layer || announce(self, layer, args, kwargs) || core_forgive(object);
    fine = fine &&
           (!layer || !self->on || begin(self, layer, args, kwargs, true, &frame) || core_forgive(object));
    Py_XDECREF(layer);
    if (!fine) return NULL;
    if (!self->wrapped) { /* cleared: the interpreter is ending */
        Py_XDECREF(frame);
        PyErr_SetString(PyExc_ReferenceError, "nn.Module.__call__ is gone: the interpreter is ending");
        return NULL;
    }
    PyObject *result = PyObject_Call(self->wrapped, args, kwargs);
    return frame ? end_take(self, frame, result) : result;
}

/* For `module.__call__` and `super().__call__`; calls by the interpreter need no bound method. */
static PyObject *calls_bind(PyObject *object, PyObject *instance, PyObject *type)
{
    (void)type;
    if (instance && instance != Py_None)
        return PyObject_CallFunctionObjArgs(((core_calls *)object)->bind, object, instance, NULL);
    Py_INCREF(object);
    return object;
}

/* Name, signature and code are those of PyTorch's function. */
static PyObject *calls_attribute(PyObject *object, PyObject *name)
{
    PyObject *value = PyObject_GenericGetAttr(object, name);
    if (value || !PyErr_ExceptionMatches(PyExc_AttributeError)) return value;
    PyObject *const wrapped = ((core_calls *)object)->wrapped;
    if (!wrapped) return NULL;
    PyErr_Clear();
    return PyObject_GetAttr(wrapped, name);
}

/* ---- for hooks ---- */

static PyObject *calls_enter(PyObject *object, PyObject *arguments)
{
    core_calls *self = (core_calls *)object;
    PyObject *layer, *args, *kwargs;
    core_frame *frame;
    if (!PyArg_ParseTuple(arguments, "O!O!O:enter", self->layer_type, &layer, &PyTuple_Type, &args, &kwargs))
        return NULL;
    if (!begin(self, (core_layer *)layer, args, kwargs == Py_None ? NULL : kwargs, false, &frame) &&
        !core_forgive(object))
        return NULL;
    Py_XDECREF(frame); /* the stack holds it */
    Py_RETURN_NONE;
}

static bool leave(core_calls *self, PyObject *layer, PyObject *result)
{
    core_thread *thread = thread_here(self);
    if (!thread) return false;
    core_frame *frame = thread->frame;
    while (frame && (PyObject *)frame->layer != layer)
        frame = frame->parent;
    bool fine = true;
    if (frame && !frame->direct) { /* calls_call() ends a direct one */
        Py_INCREF(frame);
        fine = end(self, frame, result);
        Py_DECREF(frame);
    }
    Py_DECREF(thread);
    return fine;
}

static PyObject *calls_announce(PyObject *object, PyObject *arguments)
{
    core_calls *self = (core_calls *)object;
    PyObject *layer, *args, *kwargs;
    if (!PyArg_ParseTuple(arguments, "O!O!O:announce", self->layer_type, &layer, &PyTuple_Type, &args,
                          &kwargs))
        return NULL;
    if (!announce(self, (core_layer *)layer, args, kwargs == Py_None ? NULL : kwargs) &&
        !core_forgive(object))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *calls_offer(PyObject *object, PyObject *module)
{
    core_calls *self = (core_calls *)object;
    core_layer *layer = NULL;
    if (is_asked(self->found) && !offer(self, module, &layer) && !core_forgive(object)) return NULL;
    return PyBool_FromLong(layer != NULL);
}

static PyObject *calls_leave(PyObject *object, PyObject *arguments)
{
    core_calls *self = (core_calls *)object;
    PyObject *layer, *result;
    if (!PyArg_ParseTuple(arguments, "O!O:leave", self->layer_type, &layer, &result)) return NULL;
    if (!leave(self, layer, result) && !core_forgive(object)) return NULL;
    Py_RETURN_NONE;
}

/* ---- the type ---- */

/* The references that it holds, first those of its arguments in their order, and the attribute names that it
 * interns. */
static const size_t references[] = {
    offsetof(core_calls, wrapped),        offsetof(core_calls, bind),
    offsetof(core_calls, layers),         offsetof(core_calls, local),
    offsetof(core_calls, frame_type),     offsetof(core_calls, graph_task),
    offsetof(core_calls, queue_callback), offsetof(core_calls, is_grad_enabled),
    offsetof(core_calls, labels.tensor),  offsetof(core_calls, labels.parts),
    offsetof(core_calls, found),          offsetof(core_calls, entered),
};
static const struct {
    size_t place;
    const char *text;
} names[] = {
    {offsetof(core_calls, flags), "_forward_pre_hooks_with_kwargs"},
    {offsetof(core_calls, state), "state"},
    {offsetof(core_calls, backward), "backward"},
    {offsetof(core_calls, outside), "outside"},
    {offsetof(core_calls, labels.grad_fn), "grad_fn"},
    {offsetof(core_calls, labels.metadata), "metadata"},
    {offsetof(core_calls, labels.register_prehook), "register_prehook"},
    {offsetof(core_calls, labels.is_view), "_is_view"},
    {offsetof(core_calls, labels.base), "_base"},
    {offsetof(core_calls, labels.key), "joulemap"},
};
enum {
    ARGUMENTS = 10,
    REFERENCES = sizeof references / sizeof *references,
    NAMES = sizeof names / sizeof *names
};

static PyObject **slot_at(PyObject *object, size_t place)
{
    return (PyObject **)(void *)((char *)object + place);
}

static int calls_traverse(PyObject *object, visitproc visit, void *arg)
{
    for (size_t i = 0; i < REFERENCES; i++)
        Py_VISIT(*slot_at(object, references[i]));
    Py_VISIT(Py_TYPE(object));
    return 0;
}

static int calls_clear(PyObject *object)
{
    ((core_calls *)object)->on = 0;
    ((core_calls *)object)->traced = 0;
    for (size_t i = 0; i < REFERENCES; i++)
        Py_CLEAR(*slot_at(object, references[i]));
    return 0;
}

static void calls_free(PyObject *object)
{
    PyTypeObject *const type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    calls_clear(object);
    for (size_t i = 0; i < NAMES; i++)
        Py_CLEAR(*slot_at(object, names[i].place));
    PyObject_GC_Del(object);
    Py_DECREF(type);
}

static PyObject *calls_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static const char *const keywords[] = {
        "wrapped",         "bind",   "layers", "local", "frame", "graph_task", "queue_callback",
        "is_grad_enabled", "tensor", "parts",  NULL};
    const core_state *state = PyType_GetModuleState(type);
    PyObject *values[ARGUMENTS];
    if (!state || !PyArg_ParseTupleAndKeywords(
                      args, kwargs, "OOO!OO!OOOO!O:Calls", (char **)(uintptr_t)keywords, &values[0],
                      &values[1], &PyDict_Type, &values[2], &values[3], &PyType_Type, &values[4], &values[5],
                      &values[6], &values[7], &PyType_Type, &values[8], &values[9]))
        return NULL;
    if (!PyType_IsSubtype((PyTypeObject *)values[4], state->frame_type)) {
        PyErr_SetString(PyExc_TypeError, "frame is a subclass of joulemap._core.Frame");
        return NULL;
    }
    core_calls *self = (core_calls *)PyType_GenericAlloc(type, 0);
    if (!self) return NULL;
    for (size_t i = 0; i < ARGUMENTS; i++) {
        Py_INCREF(values[i]);
        *slot_at((PyObject *)self, references[i]) = values[i];
    }
    for (size_t i = 0; i < NAMES; i++)
        if (!(*slot_at((PyObject *)self, names[i].place) = PyUnicode_InternFromString(names[i].text))) {
            Py_DECREF(self);
            return NULL;
        }
    self->thread_type = state->thread_type;
    self->layer_type = state->layer_type;
    self->backward_type = state->backward_type;
    self->backward_end_type = state->backward_end_type;
    self->traced = 1;
    return (PyObject *)self;
}

static PyMethodDef calls_methods[] = {
    {"enter", calls_enter, METH_VARARGS,
     "enter(layer, args, kwargs=None): begin a call of a layer's module."},
    {"leave", calls_leave, METH_VARARGS, "leave(layer, result): end it; result is None if it raised."},
    {"announce", calls_announce, METH_VARARGS,
     "announce(layer, args, kwargs=None): tell `entered` of a call, if it is an outermost one."},
    {"offer", calls_offer, METH_O,
     "offer(module): ask `found` about a module; return whether it is watched now."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef calls_members[] = {
    {"on", T_BOOL, offsetof(core_calls, on), 0, "Whether calls are traced here, not by hooks."},
    {"traced", T_BOOL, offsetof(core_calls, traced), 0, "Whether layers are traced at present."},
    {"generation", T_LONG, offsetof(core_calls, generation), 0, "As of Tracing."},
    {"found", T_OBJECT, offsetof(core_calls, found), 0,
     "Called with each outermost module that is not watched: it may watch it."},
    {"entered", T_OBJECT, offsetof(core_calls, entered), 0,
     "Called with layer, args and kwargs before an outermost call of a watched module, traced or not."},
    {"__wrapped__", T_OBJECT_EX, offsetof(core_calls, wrapped), READONLY, "PyTorch's function."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot calls_slots[] = {
    {Py_tp_new, (void *)(uintptr_t)calls_new},
    {Py_tp_dealloc, (void *)(uintptr_t)calls_free},
    {Py_tp_traverse, (void *)(uintptr_t)calls_traverse},
    {Py_tp_clear, (void *)(uintptr_t)calls_clear},
    {Py_tp_call, (void *)(uintptr_t)calls_call},
    {Py_tp_descr_get, (void *)(uintptr_t)calls_bind},
    {Py_tp_getattro, (void *)(uintptr_t)calls_attribute},
    {Py_tp_methods, calls_methods},
    {Py_tp_members, calls_members},
    {0, NULL},
};

/* A method descriptor: the interpreter passes the module as the first argument and makes no bound method. */
PyType_Spec core_calls_spec = {
    .name = "joulemap._core.Calls",
    .basicsize = sizeof(core_calls),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = calls_slots,
};
