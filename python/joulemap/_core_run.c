/* Run: a jm_run as a Python object. */
#include "_core.h"

#include <unistd.h>

typedef struct core_run {
    PyObject ob_base;
    jm_run *run;
    pid_t owner; /* a forked child must not use its copy: the run's threads do not exist there */
    bool stopped;
} core_run;

static PyObject *run_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static const char *const names[] = {"path",   "sim",           "command",  "overwrite",        "kernels",
                                        "no_cpu", "sampling_only", "counters", "kernels_required", "ranges",
                                        "budget", "may_wait",      "keep_s",   "max_bytes",        NULL};
    PyObject *path_object = NULL;
    PyObject *path_bytes = NULL;
    const char *sim = NULL;
    const char *command = NULL;
    int overwrite = 0;
    int kernels = 0;
    int no_cpu = 0;
    int sampling_only = 0;
    double counters = 0;
    int required = 0;
    int ranges = 0;
    double budget = 0;
    int may_wait = 0;
    double keep_s = 0;
    long long max_bytes = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OzzppppdppdpdL:Run", (char **)(uintptr_t)names,
                                     &path_object, &sim, &command, &overwrite, &kernels, &no_cpu,
                                     &sampling_only, &counters, &required, &ranges, &budget, &may_wait,
                                     &keep_s, &max_bytes))
        return NULL;
    jm_run_options options = {.size = sizeof(options),
                              .sim = sim,
                              .command = command,
                              .overwrite = overwrite != 0,
                              .kernels = kernels != 0,
                              .no_cpu = no_cpu != 0,
                              .sampling_only = sampling_only != 0,
                              .counters = counters,
                              .kernels_required = required != 0,
                              .ranges = ranges != 0,
                              .budget = budget,
                              .may_wait = may_wait != 0,
                              .keep_s = keep_s,
                              .max_bytes = max_bytes};
    if (!core_path(path_object, &path_bytes, &options.path)) return NULL;
    core_run *self = (core_run *)PyType_GenericAlloc(type, 0);
    if (!self) {
        Py_XDECREF(path_bytes);
        return NULL;
    }
    self->owner = getpid();
    jm_error err = {.status = JM_OK};
    jm_status status;
    Py_BEGIN_ALLOW_THREADS status = jm_run_start(&self->run, &options, &err);
    if (status == JM_OK) jm_run_keep(self->run);
    Py_END_ALLOW_THREADS Py_XDECREF(path_bytes);
    if (status == JM_OK) {
        core_notify_tracing();
        return (PyObject *)self;
    }
    self->run = NULL;
    core_raise(PyType_GetModuleState(type), &err);
    Py_DECREF(self);
    return NULL;
}

/* The run, or NULL with an exception in a forked child. */
static jm_run *run_of(PyObject *object)
{
    core_run *self = (core_run *)object;
    if (self->owner == getpid()) return self->run;
    PyErr_SetString(PyExc_RuntimeError,
                    "this run belongs to the parent process: a forked child only adds spans to it");
    return NULL;
}

static PyObject *run_flush(PyObject *object, PyObject *args)
{
    int timeout_ms = 0;
    if (!PyArg_ParseTuple(args, "i:flush", &timeout_ms)) return NULL;
    jm_run *run = run_of(object);
    if (!run) return NULL;
    jm_error err = {.status = JM_OK};
    jm_status status;
    Py_BEGIN_ALLOW_THREADS status = jm_run_flush(run, timeout_ms, &err);
    Py_END_ALLOW_THREADS if (status == JM_OK) Py_RETURN_TRUE;
    if (status == JM_BUSY) Py_RETURN_FALSE;
    return core_raise(core_state_of(object), &err);
}

static PyObject *run_note(PyObject *object, PyObject *args)
{
    const char *key, *value;
    if (!PyArg_ParseTuple(args, "ss:note", &key, &value)) return NULL;
    jm_run *run = run_of(object);
    if (!run) return NULL;
    jm_error err = {.status = JM_OK};
    if (jm_run_note(run, key, value, &err) != JM_OK) return core_raise(core_state_of(object), &err);
    Py_RETURN_NONE;
}

static PyObject *run_complete_ns(PyObject *object, PyObject *unused)
{
    (void)unused;
    jm_run *run = run_of(object);
    if (!run) return NULL;
    int64_t complete_ns = 0;
    jm_error err = {.status = JM_OK};
    jm_status status;
    Py_BEGIN_ALLOW_THREADS status = jm_run_complete_ns(run, &complete_ns, &err);
    Py_END_ALLOW_THREADS if (status != JM_OK) return core_raise(core_state_of(object), &err);
    return PyLong_FromLongLong(complete_ns);
}

static PyObject *run_stop(PyObject *object, PyObject *unused)
{
    (void)unused;
    jm_run *run = run_of(object);
    if (!run) return NULL;
    core_run *self = (core_run *)object;
    if (self->stopped) Py_RETURN_NONE;
    self->stopped = true;
    jm_error err = {.status = JM_OK};
    jm_status status;
    Py_BEGIN_ALLOW_THREADS status = jm_run_stop(run, &err);
    Py_END_ALLOW_THREADS core_notify_tracing();
    if (status != JM_OK) return core_raise(core_state_of(object), &err);
    Py_RETURN_NONE;
}

static PyObject *run_environment(PyObject *object, PyObject *unused)
{
    (void)unused;
    jm_run *run = run_of(object);
    if (!run) return NULL;
    PyObject *list = PyList_New(0);
    if (!list) return NULL;
    const char *const *entries = jm_run_environment(run);
    for (; entries && *entries; entries++) {
        PyObject *text = PyUnicode_DecodeFSDefault(*entries);
        if (!text || PyList_Append(list, text) < 0) {
            Py_XDECREF(text);
            Py_DECREF(list);
            return NULL;
        }
        Py_DECREF(text);
    }
    return list;
}

static PyObject *run_trace(PyObject *object, PyObject *args)
{
    int tracing = 0;
    if (!PyArg_ParseTuple(args, "i:trace", &tracing)) return NULL;
    jm_run *run = run_of(object);
    if (!run) return NULL;
    Py_BEGIN_ALLOW_THREADS jm_run_trace(run, (jm_tracing)tracing);
    Py_END_ALLOW_THREADS core_notify_tracing();
    Py_RETURN_NONE;
}

static PyObject *run_tracing_cost(PyObject *object, PyObject *unused)
{
    (void)unused;
    jm_run *run = run_of(object);
    jm_tracing_cost cost;
    if (!run) return NULL;
    if (!jm_run_tracing_cost(run, &cost)) Py_RETURN_NONE;
    return Py_BuildValue("dKK", cost.share, (unsigned long long)cost.steps,
                         (unsigned long long)cost.traced_steps);
}

/* What the run has recorded so far, or NULL with an exception. */
static jm_recording *run_recording(PyObject *object)
{
    jm_run *run = run_of(object);
    if (!run) return NULL;
    jm_error err = {.status = JM_OK};
    jm_recording *recording = NULL;
    jm_status status;
    Py_BEGIN_ALLOW_THREADS status = jm_run_recording(run, &recording, &err);
    Py_END_ALLOW_THREADS if (status == JM_OK) return recording;
    core_raise(core_state_of(object), &err);
    return NULL;
}

static PyObject *run_board_id(PyObject *object, PyObject *args)
{
    jm_recording *recording = run_recording(object);
    return recording ? core_board_id(recording, core_state_of(object), args) : NULL;
}

static PyObject *run_energy(PyObject *object, PyObject *args)
{
    jm_recording *recording = run_recording(object);
    return recording ? core_energy(recording, core_state_of(object), args) : NULL;
}

static PyObject *run_report(PyObject *object, PyObject *args, PyObject *kwargs)
{
    jm_recording *recording = run_recording(object);
    return recording ? core_report_create(object, recording, core_state_of(object), args, kwargs) : NULL;
}

static PyObject *run_timeline(PyObject *object, PyObject *args)
{
    jm_recording *recording = run_recording(object);
    return recording ? core_timeline(recording, core_state_of(object), args) : NULL;
}

static PyObject *run_attached(PyObject *object, void *unused)
{
    (void)unused;
    jm_run *run = run_of(object);
    if (!run) return NULL;
    return PyBool_FromLong(jm_run_attached(run));
}

static PyObject *run_dormant(PyObject *object, void *unused)
{
    (void)unused;
    jm_run *run = run_of(object);
    if (!run) return NULL;
    return PyBool_FromLong(jm_run_dormant(run));
}

static PyObject *run_path(PyObject *object, void *unused)
{
    (void)unused;
    jm_run *run = run_of(object);
    if (!run) return NULL;
    const char *path = jm_run_path(run);
    if (!path) Py_RETURN_NONE;
    return PyUnicode_DecodeFSDefault(path);
}

static PyObject *run_kernels_missing(PyObject *object, void *unused)
{
    (void)unused;
    jm_run *run = run_of(object);
    return run ? core_text(jm_run_kernels_missing(run)) : NULL;
}

static void run_free(PyObject *object)
{
    core_run *self = (core_run *)object;
    if (self->run && self->owner == getpid()) {
        jm_run *run = self->run;
        self->run = NULL;
        Py_BEGIN_ALLOW_THREADS jm_run_free(run);
        Py_END_ALLOW_THREADS
    }
    core_object_free(object);
}

static PyMethodDef run_methods[] = {
    {"flush", run_flush, METH_VARARGS,
     "flush(timeout_ms) -> bool: wait until all that happened is in the recording; False after a timeout."},
    {"note", run_note, METH_VARARGS,
     "note(key, value): write a fact into the recording; no effect if attached."},
    {"complete_ns", run_complete_ns, METH_NOARGS,
     "complete_ns() -> int: the time up to which the recording is complete, CLOCK_MONOTONIC."},
    {"stop", run_stop, METH_NOARGS, "stop(): take the last readings and close the recording."},
    {"environment", run_environment, METH_NOARGS,
     "environment() -> list[str]: the KEY=value variables that a child needs to join."},
    {"trace", run_trace, METH_VARARGS,
     "trace(tracing): set what is recorded of this process, one of TRACING."},
    {"tracing_cost", run_tracing_cost, METH_NOARGS,
     "tracing_cost() -> tuple | None: share of the time, steps, traced steps; None without a budget."},
    {"board_id", run_board_id, METH_VARARGS,
     "board_id(index, cuda=False) -> int: a GPU's number in the recording."},
    {"energy", run_energy, METH_VARARGS,
     "energy(from_ns, to_ns, board_id=0) -> tuple: joules, and the ends of their 95 % interval."},
    {"report", (PyCFunction)(void (*)(void))run_report, METH_VARARGS | METH_KEYWORDS,
     "report(by, phase=None, board_id=0, process_id=0, from_ns=0, to_ns=0, prior=None, model=None) -> "
     "Report"},
    {"timeline", run_timeline, METH_VARARGS,
     "timeline([from_ns, to_ns]) -> dict: the fields of joulemap.types.Timeline; for an interval only its "
     "readings."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef run_getset[] = {
    {"attached", run_attached, NULL, "True if the run belongs to a parent process.", NULL},
    {"dormant", run_dormant, NULL, "True if the run waits for a recorder to attach.", NULL},
    {"path", run_path, NULL, "The recording file; None: in memory.", NULL},
    {"kernels_missing", run_kernels_missing, NULL, "Why requested kernels are not traced; None if they are.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot run_slots[] = {
    {Py_tp_doc,
     (void *)(uintptr_t) "Run(path=None, sim=None, command=None, overwrite=False, kernels=False, "
                         "no_cpu=False, sampling_only=False, counters=0.0, "
                         "kernels_required=False, ranges=False, budget=0.0, ...): start a run, or join "
                         "one."},
    {Py_tp_new, (void *)(uintptr_t)run_new},
    {Py_tp_dealloc, (void *)(uintptr_t)run_free},
    {Py_tp_methods, run_methods},
    {Py_tp_getset, run_getset},
    {0, NULL},
};

PyType_Spec core_run_spec = {
    .name = "joulemap._core.Run",
    .basicsize = sizeof(core_run),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = run_slots,
};
