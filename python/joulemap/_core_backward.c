/* joulemap._core.Backward: one thread's part of a backward pass. It opens and closes the spans of modules as
 * autograd runs labelled nodes. */
#include "_core_calls.h"

#include <stdlib.h>
#include <structmember.h>

typedef struct core_opened {
    core_frame *frame;
    jm_span_id span;
} core_opened;

struct core_backward {
    PyObject ob_base;
    long task;               /* autograd's number of the pass */
    core_thread *thread;     /* runs the nodes */
    core_thread *home;       /* ran the forward pass */
    core_backward *previous; /* the enclosing pass on this thread, or NULL */
    core_frame *frame;       /* the call whose backward runs, or NULL */
    core_opened *opened;     /* the call and its enclosing calls, indexed by depth */
    int count, capacity;
    int regions; /* compiled graphs open when the pass began */
    char done;
};

/* ---- the chain of spans ---- */

static void close_deeper(core_backward *self, int kept)
{
    while (self->count > kept) {
        core_opened const last = self->opened[--self->count];
        jm_span_end(last.span);
        Py_DECREF(last.frame);
    }
}

static bool reserve(core_backward *self, int count)
{
    if (count <= self->capacity) return true;
    core_opened *larger = realloc(self->opened, (size_t)count * 2 * sizeof *larger);
    if (!larger) {
        PyErr_NoMemory();
        return false;
    }
    self->opened = larger;
    self->capacity = count * 2;
    return true;
}

/* The number of open calls that enclose `frame` or are `frame`. */
static int common_depth(const core_backward *self, const core_frame *frame)
{
    while (frame && (frame->depth >= self->count || self->opened[frame->depth].frame != frame))
        frame = frame->parent;
    return frame ? frame->depth + 1 : 0;
}

/* End the spans that do not enclose `target`, and open those that do. NULL ends all of them. False with an
 * exception. */
static bool switch_to(core_backward *self, core_frame *target)
{
    int kept = common_depth(self, target), target_count = target ? target->depth + 1 : 0;
    if (!reserve(self, target_count)) return false;
    close_deeper(self, kept);
    if (self->count != kept) return true; /* a finalizer ended the pass */
    core_frame *frame = target;
    for (int depth = target_count; depth > kept; depth--, frame = frame->parent)
        self->opened[depth - 1].frame = frame;
    for (; self->count < target_count; self->count++) {
        core_opened *const next = &self->opened[self->count];
        Py_INCREF(next->frame);
        next->span = jm_span_begin(JM_SPAN_BACKWARD, next->frame->layer->name, next->frame->layer->type, 0);
    }
    core_frame *const old = self->frame;
    Py_XINCREF(target);
    self->frame = target;
    Py_XDECREF(old);
    return true;
}

/* ---- begin and end of a pass ---- */

static bool forget_pass(core_thread *home, core_backward *self)
{
    for (Py_ssize_t i = PyList_Size(home->backwards); i > 0; i--)
        if (PyList_GetItem(home->backwards, i - 1) == (PyObject *)self)
            return PyList_SetSlice(home->backwards, i - 1, i, NULL) == 0;
    return true;
}

/* Ends the pass in any case. False with an exception. */
static bool finish(core_backward *self)
{
    if (self->done || !self->thread) return true;
    self->done = 1;
    core_thread *const thread = self->thread;
    bool fine = core_thread_close_regions(thread, self->regions);
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    switch_to(self, NULL); /* needs no memory */
    if (thread->backward == self) {
        thread->backward = self->previous; /* moves the reference */
        self->previous = NULL;
        Py_DECREF(self);
    }
    fine = forget_pass(self->home, self) && fine;
    if (type) PyErr_Restore(type, error, traceback);
    return fine;
}

/* A callback for the end of a pass. The engine releases it without a call if the pass fails, so its
 * destructor ends the pass, too. */
typedef struct core_backward_end {
    PyObject ob_base;
    core_backward *pass;
} core_backward_end;

static PyObject *end_call(PyObject *object, PyObject *args, PyObject *kwargs)
{
    (void)args;
    (void)kwargs;
    core_backward *const pass = ((core_backward_end *)object)->pass;
    if (!finish(pass) && !core_forgive(object)) return NULL;
    Py_RETURN_NONE;
}

static void end_free(PyObject *object)
{
    core_backward *const pass = ((core_backward_end *)object)->pass;
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    if (pass && !finish(pass)) PyErr_WriteUnraisable(NULL);
    Py_XDECREF(pass);
    PyErr_Restore(type, error, traceback);
    core_object_free(object);
}

static bool queue_end(const core_calls *calls, core_backward *pass)
{
    core_backward_end *const end = (core_backward_end *)PyType_GenericAlloc(calls->backward_end_type, 0);
    if (!end) return false;
    Py_INCREF(pass);
    end->pass = pass;
    PyObject *queued = PyObject_CallFunctionObjArgs(calls->queue_callback, (PyObject *)end, NULL);
    Py_DECREF(end);
    Py_XDECREF(queued);
    return queued != NULL;
}

/* NULL with an exception; NULL without one if the pass is over already. */
static core_backward *begin(const core_calls *calls, core_thread *thread, core_thread *home, long task)
{
    core_backward *self = (core_backward *)PyType_GenericAlloc(calls->backward_type, 0);
    if (!self) return NULL;
    core_backward *const enclosing = thread->backward;
    self->task = task;
    self->regions = (int)PyList_Size(thread->regions);
    Py_INCREF(thread);
    self->thread = thread;
    Py_INCREF(home);
    self->home = home;
    if (enclosing && !enclosing->done) {
        Py_INCREF(enclosing);
        self->previous = enclosing;
    }
    if (!queue_end(calls, self) || self->done || PyList_Append(home->backwards, (PyObject *)self) < 0) {
        self->done = 1;
        Py_DECREF(self);
        return NULL;
    }
    core_backward *const old = thread->backward;
    Py_INCREF(self);
    thread->backward = self;
    Py_XDECREF(old);
    return self;
}

static PyObject *backward_finish(PyObject *object, PyObject *unused)
{
    (void)unused;
    if (!finish((core_backward *)object)) return NULL;
    Py_RETURN_NONE;
}

bool core_backward_enter(core_calls *calls, core_thread *home, core_frame *frame)
{
    core_thread *const thread = core_calls_thread_now(calls);
    if (!thread) return false;
    long task = core_calls_task(calls);
    bool fine = task != -2;
    core_backward *self = thread->backward;
    Py_XINCREF(self); /* Python code may run from here on */
    if (fine && (!self || self->done || self->task != task)) {
        Py_CLEAR(self);
        if (frame) fine = (self = begin(calls, thread, home, task)) != NULL || !PyErr_Occurred();
    }
    if (fine && self && self->frame != frame) fine = switch_to(self, frame);
    Py_XDECREF(self);
    Py_DECREF(thread);
    return fine;
}

/* ---- the type ---- */

static int backward_traverse(PyObject *object, visitproc visit, void *arg)
{
    core_backward *self = (core_backward *)object;
    Py_VISIT(self->thread);
    Py_VISIT(self->home);
    Py_VISIT(self->previous);
    Py_VISIT(self->frame);
    for (int i = 0; i < self->count; i++)
        Py_VISIT(self->opened[i].frame);
    Py_VISIT(Py_TYPE(object));
    return 0;
}

/* Releases a chain of passes in a loop: it may be too long for recursion. */
static void release_chain(core_backward *first)
{
    while (first && Py_REFCNT(first) == 1) {
        core_backward *const next = first->previous;
        first->previous = NULL;
        Py_DECREF(first);
        first = next;
    }
    Py_XDECREF(first);
}

static int backward_clear(PyObject *object)
{
    core_backward *self = (core_backward *)object;
    core_backward *const previous = self->previous;
    self->previous = NULL;
    close_deeper(self, 0);
    Py_CLEAR(self->thread);
    Py_CLEAR(self->home);
    Py_CLEAR(self->frame);
    release_chain(previous);
    return 0;
}

static void backward_free(PyObject *object)
{
    PyTypeObject *const type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    backward_clear(object);
    free(((core_backward *)object)->opened);
    PyObject_GC_Del(object);
    Py_DECREF(type);
}

static PyMethodDef backward_methods[] = {
    {"finish", backward_finish, METH_NOARGS,
     "finish(): close all its spans. The engine calls it at the end of the pass, perhaps on another thread."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef backward_members[] = {
    {"task", T_LONG, offsetof(core_backward, task), READONLY, "Autograd's number of the pass."},
    {"frame", T_OBJECT, offsetof(core_backward, frame), READONLY, "The call whose backward runs, or None."},
    {"done", T_BOOL, offsetof(core_backward, done), READONLY, "Whether the pass is over."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot backward_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t) "One thread's part of one backward pass."},
    {Py_tp_dealloc, (void *)(uintptr_t)backward_free},
    {Py_tp_traverse, (void *)(uintptr_t)backward_traverse},
    {Py_tp_clear, (void *)(uintptr_t)backward_clear},
    {Py_tp_methods, backward_methods},
    {Py_tp_members, backward_members},
    {0, NULL},
};

PyType_Spec core_backward_spec = {
    .name = "joulemap._core.Backward",
    .basicsize = sizeof(core_backward),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = backward_slots,
};

static PyType_Slot end_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t) "A callback that ends a backward pass."},
    {Py_tp_dealloc, (void *)(uintptr_t)end_free},
    {Py_tp_call, (void *)(uintptr_t)end_call},
    {0, NULL},
};

PyType_Spec core_backward_end_spec = {
    .name = "joulemap._core.BackwardEnd",
    .basicsize = sizeof(core_backward_end),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = end_slots,
};
