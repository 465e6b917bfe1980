/* Recording: a jm_recording as a Python object, and functions that Run shares. */
#include "_core.h"

/* ---- shared with Run ---- */

PyObject *core_board_id(jm_recording *recording, const core_state *state, PyObject *args)
{
    int index = 0, cuda = 0;
    if (!PyArg_ParseTuple(args, "i|p:board_id", &index, &cuda)) return NULL;
    int64_t id = 0;
    jm_error err = {.status = JM_OK};
    jm_status status;
    Py_BEGIN_ALLOW_THREADS status = cuda ? jm_recording_cuda_board_id(recording, index, &id, &err)
                                         : jm_recording_board_id(recording, index, &id, &err);
    Py_END_ALLOW_THREADS if (status != JM_OK) return core_raise(state, &err);
    return PyLong_FromLongLong(id);
}

PyObject *core_energy(jm_recording *recording, const core_state *state, PyObject *args)
{
    long long from_ns = 0, to_ns = 0, board_id = 0;
    if (!PyArg_ParseTuple(args, "LL|L:energy", &from_ns, &to_ns, &board_id)) return NULL;
    jm_sum sum;
    jm_error err = {.status = JM_OK};
    jm_status status;
    Py_BEGIN_ALLOW_THREADS status = jm_recording_energy(recording, board_id, from_ns, to_ns, &sum, &err);
    Py_END_ALLOW_THREADS return status == JM_OK ? core_sum(&sum) : core_raise(state, &err);
}

/* ---- Recording ---- */

typedef struct core_recording {
    PyObject ob_base;
    jm_recording *recording;
} core_recording;

static PyObject *recording_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static const char *const names[] = {"path", NULL};
    PyObject *bytes = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&:Recording", (char **)(uintptr_t)names,
                                     PyUnicode_FSConverter, &bytes))
        return NULL;
    core_recording *self = (core_recording *)PyType_GenericAlloc(type, 0);
    if (!self) {
        Py_DECREF(bytes);
        return NULL;
    }
    const char *path = PyBytes_AsString(bytes);
    jm_error err = {.status = JM_OK};
    jm_status status;
    Py_BEGIN_ALLOW_THREADS status = jm_recording_open(&self->recording, path, &err);
    Py_END_ALLOW_THREADS Py_DECREF(bytes);
    if (status == JM_OK) return (PyObject *)self;
    self->recording = NULL;
    core_raise(PyType_GetModuleState(type), &err);
    Py_DECREF(self);
    return NULL;
}

static void recording_free(PyObject *object)
{
    core_recording *self = (core_recording *)object;
    if (self->recording) jm_recording_close(self->recording);
    core_object_free(object);
}

static PyObject *recording_report(PyObject *object, PyObject *args, PyObject *kwargs)
{
    return core_report_create(object, ((core_recording *)object)->recording, core_state_of(object), args,
                              kwargs);
}

static PyObject *recording_meta(PyObject *object, PyObject *key)
{
    const char *utf8 = PyUnicode_AsUTF8AndSize(key, NULL);
    if (!utf8) return NULL;
    return core_text(jm_recording_meta(((core_recording *)object)->recording, utf8));
}

static PyObject *recording_damage(PyObject *object, void *unused)
{
    (void)unused;
    return core_text(jm_recording_damage(((core_recording *)object)->recording));
}

static PyObject *recording_board_id(PyObject *object, PyObject *args)
{
    return core_board_id(((core_recording *)object)->recording, core_state_of(object), args);
}

static PyObject *recording_energy(PyObject *object, PyObject *args)
{
    return core_energy(((core_recording *)object)->recording, core_state_of(object), args);
}

static PyObject *recording_timeline(PyObject *object, PyObject *args)
{
    return core_timeline(((core_recording *)object)->recording, core_state_of(object), args);
}

static PyMethodDef recording_methods[] = {
    {"energy", recording_energy, METH_VARARGS,
     "energy(from_ns, to_ns, board_id=0) -> tuple: joules, and the ends of their 95 % interval."},
    {"board_id", recording_board_id, METH_VARARGS,
     "board_id(index, cuda=False) -> int: a GPU's number in the recording."},
    {"meta", recording_meta, METH_O, "meta(key) -> str | None: a value of the table `meta`."},
    {"report", (PyCFunction)(void (*)(void))recording_report, METH_VARARGS | METH_KEYWORDS,
     "report(by, phase=None, board_id=0, process_id=0, from_ns=0, to_ns=0, prior=None, model=None) -> "
     "Report"},
    {"timeline", recording_timeline, METH_VARARGS,
     "timeline([from_ns, to_ns]) -> dict: the fields of joulemap.types.Timeline; for an interval only its "
     "readings."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef recording_getset[] = {
    {"damage", recording_damage, NULL, "A sentence on what is damaged; None if the file is whole.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot recording_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t) "Recording(path): an existing file, open for reading."},
    {Py_tp_new, (void *)(uintptr_t)recording_new},
    {Py_tp_dealloc, (void *)(uintptr_t)recording_free},
    {Py_tp_methods, recording_methods},
    {Py_tp_getset, recording_getset},
    {0, NULL},
};

PyType_Spec core_recording_spec = {
    .name = "joulemap._core.Recording",
    .basicsize = sizeof(core_recording),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = recording_slots,
};
