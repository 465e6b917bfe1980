/* Names, spans and marks of the program. This is its hot path. */
#include "_core.h"

static bool intern(PyObject *text, jm_name *name)
{
    PyObject *readable = core_readable(NULL, text);
    const char *utf8 = readable ? PyUnicode_AsUTF8AndSize(readable, NULL) : NULL;
    if (utf8) *name = jm_name_intern(utf8);
    Py_XDECREF(readable);
    return utf8 != NULL;
}

PyObject *core_intern(PyObject *module, PyObject *text)
{
    (void)module;
    jm_name name;
    return intern(text, &name) ? PyLong_FromUnsignedLong(name) : NULL;
}

/* Arguments of a span: kind, name, type=0, samples=0. */
static int span_arguments(PyObject *const *args, Py_ssize_t count, unsigned long values[4])
{
    if (count < 2 || count > 4) {
        PyErr_SetString(PyExc_TypeError, "a span takes kind, name, type=0, samples=0");
        return -1;
    }
    values[2] = values[3] = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        values[i] = PyLong_AsUnsignedLong(args[i]);
        if (values[i] == (unsigned long)-1 && PyErr_Occurred()) return -1;
        if (values[i] > UINT32_MAX) {
            PyErr_SetString(PyExc_OverflowError, "an argument of a span does not fit into 32 bits");
            return -1;
        }
    }
    if (values[0] == JM_SPAN_NONE || values[0] >= JM_SPAN_KIND_COUNT) {
        PyErr_Format(PyExc_ValueError, "%lu is not a kind of span", values[0]);
        return -1;
    }
    return 0;
}

PyObject *core_span_begin(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    unsigned long v[4];
    if (span_arguments(args, count, v) < 0) return NULL;
    jm_span_id id = jm_span_begin((jm_span_kind)v[0], (jm_name)v[1], (jm_name)v[2], (uint32_t)v[3]);
    return PyLong_FromUnsignedLongLong(id);
}

/* operation, group, bytes */
PyObject *core_collective_begin(PyObject *module, PyObject *args)
{
    (void)module;
    unsigned long operation, group;
    long long bytes;
    if (!PyArg_ParseTuple(args, "kkL:collective_begin", &operation, &group, &bytes)) return NULL;
    return PyLong_FromUnsignedLongLong(jm_collective_begin((jm_name)operation, (jm_name)group, bytes));
}

PyObject *core_span_end(PyObject *module, PyObject *span)
{
    (void)module;
    jm_span_id id = PyLong_AsUnsignedLongLong(span);
    if (id == (jm_span_id)-1 && PyErr_Occurred()) return NULL;
    jm_span_end(id);
    Py_RETURN_NONE;
}

PyObject *core_mark(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *text;
    const char *meta = NULL;
    if (!PyArg_ParseTuple(args, "U|z:mark", &text, &meta)) return NULL;
    PyObject *readable = core_readable(NULL, text);
    const char *name = readable ? PyUnicode_AsUTF8AndSize(readable, NULL) : NULL;
    if (name) jm_mark(name, meta);
    Py_XDECREF(readable);
    if (!name) return NULL;
    Py_RETURN_NONE;
}

/* ---- Span: begin and end as a context manager ---- */

typedef struct core_span {
    PyObject ob_base;
    PyObject *text;   /* the name, if given as a string: interned once there is a run */
    jm_span_id id;    /* 0: not open, or not recorded */
    int64_t start_ns; /* CLOCK_MONOTONIC of the last begin; 0: never begun */
    int64_t end_ns;   /* 0: open, or never begun */
    jm_span_kind kind;
    jm_name name;
    jm_name type;
    uint32_t samples;
    uint32_t tokens;
    bool open;
} core_span;

/* Takes positional arguments only: parsing keywords would cost as much as the span. */
static PyObject *span_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *const zero = PyLong_FromLong(0);
    PyObject *given[4] = {NULL, NULL, zero, zero};
    core_span *self = NULL;
    unsigned long v[4];
    if (!zero) return NULL;
    if (kwargs && PyDict_Size(kwargs) > 0) {
        PyErr_SetString(PyExc_TypeError, "a span takes no arguments by name");
        goto out;
    }
    if (!PyArg_UnpackTuple(args, "Span", 2, 4, &given[0], &given[1], &given[2], &given[3])) goto out;
    PyObject *text = PyUnicode_Check(given[1]) ? given[1] : NULL;
    if (text) given[1] = zero;
    if (span_arguments(given, 4, v) < 0) goto out;
    self = (core_span *)PyType_GenericAlloc(type, 0);
    if (!self) goto out;
    Py_XINCREF(text);
    self->text = text;
    self->kind = (jm_span_kind)v[0];
    self->name = (jm_name)v[1];
    self->type = (jm_name)v[2];
    self->samples = (uint32_t)v[3];
out:
    Py_DECREF(zero);
    return (PyObject *)self;
}

static void span_free(PyObject *object)
{
    Py_CLEAR(((core_span *)object)->text);
    core_object_free(object);
}

/* Called at the begin and the end of steps and batches, or NULL. One per process, like the run. */
static PyObject *step_follower;

PyObject *core_follow_steps(PyObject *module, PyObject *callable)
{
    (void)module;
    Py_CLEAR(step_follower);
    if (callable != Py_None) {
        Py_INCREF(callable);
        step_follower = callable;
    }
    Py_RETURN_NONE;
}

/* Errors of the follower never stop the program. False with an exception that is no Exception. */
static bool notify_follower(PyObject *span)
{
    jm_span_kind kind = ((core_span *)span)->kind;
    if (!step_follower || (kind != JM_SPAN_STEP && kind != JM_SPAN_BATCH)) return true;
    PyObject *const called = step_follower;
    Py_INCREF(called);
    PyObject *done = PyObject_CallFunctionObjArgs(called, span, NULL);
    bool fine = done || core_forgive(called);
    Py_XDECREF(done);
    Py_DECREF(called);
    return fine;
}

/* Called when tracing changes, or NULL. */
static PyObject *tracing_follower;
static jm_tracing last_tracing = JM_TRACING_ON;
static bool
    notifying; /* one thread at a time, which also passes on other threads' changes: keeps their order */

/* Runs on a thread of the core. At the interpreter's end PyGILState_Ensure() may block for ever or end the
 * thread, which is harmless then. */
static void notify_from_recorder(void)
{
    if (!Py_IsInitialized()) return;
    PyGILState_STATE state = PyGILState_Ensure();
    core_notify_tracing();
    PyGILState_Release(state);
}

PyObject *core_follow_tracing(PyObject *module, PyObject *callable)
{
    (void)module;
    jm_tracing_follow(callable == Py_None ? NULL : notify_from_recorder);
    Py_CLEAR(tracing_follower);
    last_tracing = JM_TRACING_ON;
    notifying = false; /* in a forked child the notifying thread does not exist */
    if (callable != Py_None) {
        Py_INCREF(callable);
        tracing_follower = callable;
    }
    Py_RETURN_NONE;
}

static void notify_tracing(jm_tracing now)
{
    if (!tracing_follower) return;
    PyObject *const called = tracing_follower, *number = PyLong_FromLong(now);
    Py_INCREF(called);
    PyObject *done = number ? PyObject_CallFunctionObjArgs(called, number, NULL) : NULL;
    if (!done) PyErr_WriteUnraisable(called);
    Py_XDECREF(done);
    Py_XDECREF(number);
    Py_DECREF(called);
}

void core_notify_tracing(void)
{
    if (notifying) return;
    notifying = true;
    for (jm_tracing now = jm_tracing_now(); now != last_tracing; now = jm_tracing_now()) {
        last_tracing = now;
        notify_tracing(now);
    }
    notifying = false;
}

/* A budget decides about tracing when a span of these kinds begins. */
static bool may_change_tracing(const core_span *span)
{
    return span->kind == JM_SPAN_STEP || span->kind == JM_SPAN_BATCH || span->kind == JM_SPAN_PHASE;
}

static void end_now(core_span *self)
{
    jm_span_end_counted(self->id, self->samples, self->tokens);
    self->end_ns = jm_now_ns();
    self->id = 0;
    self->open = false;
}

/* Calls `_unrecorded`, by which a subclass may warn that a span is not recorded. False with an exception. */
static bool call_unrecorded(PyObject *object)
{
    PyObject *done = PyObject_CallMethod(object, "_unrecorded", NULL);
    Py_XDECREF(done);
    return done != NULL;
}

/* The task that begins the span, by `_task` of a subclass; 0: none. False with an exception. */
static bool find_task(PyObject *object, uint64_t *task)
{
    PyObject *number = PyObject_CallMethod(object, "_task", NULL);
    *task = number ? PyLong_AsUnsignedLongLong(number) : 0;
    Py_XDECREF(number);
    return !PyErr_Occurred();
}

static PyObject *span_open(PyObject *object, PyObject *unused)
{
    (void)unused;
    core_span *self = (core_span *)object;
    if (self->open) {
        PyErr_SetString(PyExc_RuntimeError, "this span is open already: end it first, or make another");
        return NULL;
    }
    if (self->name == 0 && self->text && !intern(self->text, &self->name)) return NULL;
    uint64_t task = 0;
    if (self->kind == JM_SPAN_STEP && !find_task(object, &task)) return NULL;
    self->open = true;
    self->end_ns = 0;
    self->start_ns = jm_now_ns();
    self->id = task != 0 ? jm_step_begin(self->name, self->samples, task)
                         : jm_span_begin(self->kind, self->name, self->type, self->samples);
    if (may_change_tracing(self)) core_notify_tracing();
    if ((self->id == 0 && !call_unrecorded(object)) || !notify_follower(object)) {
        end_now(self); /* `with` calls no __exit__ then */
        return NULL;
    }
    Py_INCREF(object);
    return object;
}

static PyObject *span_close(PyObject *object, PyObject *unused)
{
    (void)unused;
    core_span *self = (core_span *)object;
    if (self->open) {
        end_now(self);
        if (!notify_follower(object)) return NULL;
    }
    Py_RETURN_NONE;
}

/* After an exception, `_failed` of a subclass closes what was left open inside. */
static PyObject *span_exit(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    if (count > 0 && args[0] != Py_None) {
        PyObject *done = PyObject_CallMethod(object, "_failed", "O", args[0]);
        if (!done) {
            if (((core_span *)object)->open) end_now((core_span *)object);
            return NULL;
        }
        Py_DECREF(done);
    }
    return span_close(object, NULL);
}

static PyObject *span_failed(PyObject *object, PyObject *type)
{
    (void)object;
    (void)type;
    Py_RETURN_NONE;
}

static PyObject *span_unrecorded(PyObject *object, PyObject *unused)
{
    (void)object;
    (void)unused;
    Py_RETURN_NONE;
}

static PyObject *span_task(PyObject *object, PyObject *unused)
{
    (void)object;
    (void)unused;
    return PyLong_FromLong(0);
}

static PyMethodDef span_methods[] = {
    {"begin", span_open, METH_NOARGS,
     "Open the span on this thread and return it; RuntimeError if it is open."},
    {"end", span_close, METH_NOARGS, "Close the span, on any thread; does nothing if it is not open."},
    {"__enter__", span_open, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))span_exit, METH_FASTCALL, NULL},
    {"_task", span_task, METH_NOARGS, NULL},
    {"_failed", span_failed, METH_O, NULL},
    {"_unrecorded", span_unrecorded, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyObject *span_name(PyObject *object, void *unused)
{
    (void)unused;
    PyObject *text = ((core_span *)object)->text;
    if (!text) return PyLong_FromUnsignedLong(((core_span *)object)->name);
    Py_INCREF(text);
    return text;
}

static PyObject *span_kind(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromLong(((core_span *)object)->kind);
}

static PyObject *span_count(PyObject *object, void *offset)
{
    return PyLong_FromUnsignedLong(*(uint32_t *)(void *)((char *)object + (uintptr_t)offset));
}

static int span_set_count(PyObject *object, PyObject *value, void *offset)
{
    if (value == NULL) {
        PyErr_SetString(PyExc_AttributeError, "a span always has counts: set 0 for unknown");
        return -1;
    }
    PyObject *number = PyNumber_Index(value); /* also scalars of NumPy and PyTorch */
    if (number == NULL) return -1;
    unsigned long count = PyLong_AsUnsignedLong(number);
    Py_DECREF(number);
    if (PyErr_Occurred()) PyErr_Clear();
    if (count > UINT32_MAX) { /* also negative numbers */
        PyErr_Format(PyExc_ValueError, "samples and tokens are whole numbers from 0 to %lu, not %R",
                     (unsigned long)UINT32_MAX, value);
        return -1;
    }
    *(uint32_t *)(void *)((char *)object + (uintptr_t)offset) = (uint32_t)count;
    return 0;
}

static PyObject *time_or_none(int64_t t_ns)
{
    if (t_ns == 0) Py_RETURN_NONE;
    return PyLong_FromLongLong(t_ns);
}

static PyObject *span_start_ns(PyObject *object, void *unused)
{
    (void)unused;
    return time_or_none(((core_span *)object)->start_ns);
}

static PyObject *span_end_ns(PyObject *object, void *unused)
{
    (void)unused;
    return time_or_none(((core_span *)object)->end_ns);
}

static PyGetSetDef span_getset[] = {
    {"name", span_name, NULL, "Its name in the rows of reports.", NULL},
    {"kind", span_kind, NULL, "Its kind, a number of SPAN_KINDS.", NULL},
    {"samples", span_count, span_set_count, "Samples of a step, 0 if unknown; may be set until its end.",
     (void *)offsetof(core_span, samples)},
    {"tokens", span_count, span_set_count, "Tokens of a step, 0 if unknown; may be set until its end.",
     (void *)offsetof(core_span, tokens)},
    {"start_ns", span_start_ns, NULL, "CLOCK_MONOTONIC of its last begin; None before.", NULL},
    {"end_ns", span_end_ns, NULL, "CLOCK_MONOTONIC of its end; None while it is open.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot span_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t) "Span(kind, name, type=0, samples=0): a span that may begin again "
                                    "once it has ended. The name is a text or a number of intern()."},
    {Py_tp_new, (void *)(uintptr_t)span_new},
    {Py_tp_dealloc, (void *)(uintptr_t)span_free},
    {Py_tp_methods, span_methods},
    {Py_tp_getset, span_getset},
    {0, NULL},
};

PyType_Spec core_span_spec = {
    .name = "joulemap._core.Span",
    .basicsize = sizeof(core_span),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = span_slots,
};
