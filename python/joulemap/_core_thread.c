/* The stack of open module calls on a thread, and the base classes of Python's ThreadState, Layer and Frame.
 */
#include "_core_calls.h"

#include <structmember.h>

/* ---- the stack ---- */

core_frame *core_frame_open(core_calls *calls, core_thread *thread, core_layer *layer)
{
    core_frame *frame = (core_frame *)PyType_GenericAlloc((PyTypeObject *)calls->frame_type, 0);
    if (!frame) return NULL;
    core_frame *const parent = thread->frame;
    frame->depth = parent ? parent->depth + 1 : 0;
    frame->regions = (int)PyList_Size(thread->regions);
    if (parent) parent->has_spans = 1;
    frame->parent = parent; /* moves the stack's reference */
    Py_INCREF(layer);
    frame->layer = layer;
    Py_INCREF(thread);
    frame->home = thread;
    Py_INCREF(calls);
    frame->calls = calls;
    Py_INCREF(frame);
    thread->frame = frame;
    return frame;
}

bool core_frame_is_open(const core_frame *frame)
{
    const core_frame *open = frame->home->frame;
    while (open && open->depth > frame->depth)
        open = open->parent;
    return open == frame;
}

void core_thread_unwind(core_thread *thread, int depth)
{
    while (thread->frame && thread->frame->depth >= depth) {
        core_frame *const frame = thread->frame;
        Py_XINCREF(frame->parent);
        thread->frame = frame->parent;
        jm_span_end(frame->span);
        Py_DECREF(frame);
    }
}

bool core_thread_close_regions(core_thread *thread, int depth)
{
    if (PyList_Size(thread->regions) <= depth) return true;
    PyObject *done = PyObject_CallMethod((PyObject *)thread, "close_regions", "i", depth);
    Py_XDECREF(done);
    return done != NULL;
}

/* ---- shared by the types ---- */

static int no_visit(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(object));
    return 0;
}

static void object_free(PyObject *object, inquiry clear)
{
    PyTypeObject *const type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    clear(object);
    ((freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* ---- Thread ---- */

static int thread_traverse(PyObject *object, visitproc visit, void *arg)
{
    core_thread *self = (core_thread *)object;
    Py_VISIT(self->frame);
    Py_VISIT(self->backward);
    Py_VISIT(self->backwards);
    Py_VISIT(self->regions);
    return no_visit(object, visit, arg);
}

static int thread_clear(PyObject *object)
{
    core_thread *self = (core_thread *)object;
    core_thread_unwind(self, 0); /* the thread has ended, so its calls have */
    Py_CLEAR(self->backward);
    Py_CLEAR(self->backwards);
    Py_CLEAR(self->regions);
    return 0;
}

static void thread_free(PyObject *object)
{
    object_free(object, thread_clear);
}

static PyObject *thread_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)args;
    (void)kwargs;
    core_thread *self = (core_thread *)PyType_GenericAlloc(type, 0);
    if (!self) return NULL;
    self->backwards = PyList_New(0);
    self->regions = PyList_New(0);
    if (!self->backwards || !self->regions) Py_CLEAR(self);
    return (PyObject *)self;
}

static PyObject *thread_unwind(PyObject *object, PyObject *depth)
{
    long least = PyLong_AsLong(depth);
    if (least == -1 && PyErr_Occurred()) return NULL;
    core_thread_unwind((core_thread *)object, (int)least);
    Py_RETURN_NONE;
}

static PyMethodDef thread_methods[] = {
    {"unwind", thread_unwind, METH_O,
     "unwind(depth): end the calls at that depth and deeper, whose own end was never seen."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef thread_members[] = {
    {"frame", T_OBJECT, offsetof(core_thread, frame), READONLY, "The innermost call of a module, or None."},
    {"backward", T_OBJECT, offsetof(core_thread, backward), READONLY,
     "The backward pass that runs here, or None."},
    {"backwards", T_OBJECT, offsetof(core_thread, backwards), READONLY,
     "Unfinished backward passes whose forward pass ran here."},
    {"regions", T_OBJECT, offsetof(core_thread, regions), READONLY,
     "Running graphs of torch.compile, the innermost last: the open modules of each, with their spans."},
    {"generation", T_LONG, offsetof(core_thread, generation), 0, "As of Tracing: when all of these began."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot thread_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t) "The open calls of watched models on one thread."},
    {Py_tp_new, (void *)(uintptr_t)thread_new},
    {Py_tp_dealloc, (void *)(uintptr_t)thread_free},
    {Py_tp_traverse, (void *)(uintptr_t)thread_traverse},
    {Py_tp_clear, (void *)(uintptr_t)thread_clear},
    {Py_tp_methods, thread_methods},
    {Py_tp_members, thread_members},
    {0, NULL},
};

PyType_Spec core_thread_spec = {
    .name = "joulemap._core.Thread",
    .basicsize = sizeof(core_thread),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = thread_slots,
};

/* ---- Layer ---- */

static int layer_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(((core_layer *)object)->inner);
    return no_visit(object, visit, arg);
}

static int layer_clear(PyObject *object)
{
    Py_CLEAR(((core_layer *)object)->inner);
    return 0;
}

static void layer_free(PyObject *object)
{
    object_free(object, layer_clear);
}

static PyMemberDef layer_members[] = {
    {"name", T_UINT, offsetof(core_layer, name), 0, "The interned path."},
    {"type", T_UINT, offsetof(core_layer, type), 0, "The interned class and sizes."},
    {"checked", T_BOOL, offsetof(core_layer, checked), 0, "check_compiled() has run, or is not needed."},
    {"active", T_BOOL, offsetof(core_layer, active), 0, "It is still watched."},
    {"inner", T_OBJECT, offsetof(core_layer, inner), 0,
     "The layer of the module that torch.compile wrapped in this one, or None."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot layer_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t) "A watched module."},
    {Py_tp_dealloc, (void *)(uintptr_t)layer_free},
    {Py_tp_traverse, (void *)(uintptr_t)layer_traverse},
    {Py_tp_clear, (void *)(uintptr_t)layer_clear},
    {Py_tp_members, layer_members},
    {0, NULL},
};

PyType_Spec core_layer_spec = {
    .name = "joulemap._core.Layer",
    .basicsize = sizeof(core_layer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = layer_slots,
};

/* ---- Frame ---- */

static int frame_traverse(PyObject *object, visitproc visit, void *arg)
{
    core_frame *self = (core_frame *)object;
    Py_VISIT(self->layer);
    Py_VISIT(self->parent);
    Py_VISIT(self->home);
    Py_VISIT(self->calls);
    return no_visit(object, visit, arg);
}

static int frame_clear(PyObject *object)
{
    core_frame *self = (core_frame *)object;
    Py_CLEAR(self->layer);
    Py_CLEAR(self->parent);
    Py_CLEAR(self->home);
    Py_CLEAR(self->calls);
    return 0;
}

static void frame_free(PyObject *object)
{
    object_free(object, frame_clear);
}

/* From here on the backward of `frame` runs, or of no module if it is NULL. */
static PyObject *switch_backward(core_frame *self, core_frame *frame)
{
    core_calls *const calls = self->calls;
    if (!calls || !self->layer) Py_RETURN_NONE; /* not made by a call, or collected */
    if (self->layer->active && calls->traced && !core_backward_enter(calls, self->home, frame) &&
        !core_forgive((PyObject *)calls))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *frame_enter_backward(PyObject *object, PyObject *unused)
{
    (void)unused;
    return switch_backward((core_frame *)object, (core_frame *)object);
}

static PyObject *frame_leave_backward(PyObject *object, PyObject *unused)
{
    (void)unused;
    return switch_backward((core_frame *)object, NULL);
}

static PyMethodDef frame_methods[] = {
    {"enter_backward", frame_enter_backward, METH_NOARGS,
     "enter_backward(): autograd runs nodes of this call, until the next label."},
    {"leave_backward", frame_leave_backward, METH_NOARGS,
     "leave_backward(): autograd runs nodes from before this outermost call: of no module."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef frame_members[] = {
    {"layer", T_OBJECT_EX, offsetof(core_frame, layer), READONLY, "The layer of the module."},
    {"parent", T_OBJECT, offsetof(core_frame, parent), READONLY, "The enclosing call, or None."},
    {"home", T_OBJECT_EX, offsetof(core_frame, home), READONLY, "The Thread that runs it."},
    {"depth", T_INT, offsetof(core_frame, depth), READONLY, "Number of enclosing calls."},
    {"has_spans", T_BOOL, offsetof(core_frame, has_spans), 0, "There were spans inside of it."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot frame_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t) "One call of a watched module."},
    {Py_tp_dealloc, (void *)(uintptr_t)frame_free},
    {Py_tp_traverse, (void *)(uintptr_t)frame_traverse},
    {Py_tp_clear, (void *)(uintptr_t)frame_clear},
    {Py_tp_methods, frame_methods},
    {Py_tp_members, frame_members},
    {0, NULL},
};

PyType_Spec core_frame_spec = {
    .name = "joulemap._core.Frame",
    .basicsize = sizeof(core_frame),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = frame_slots,
};
