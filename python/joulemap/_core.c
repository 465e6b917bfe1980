/* The extension module joulemap._core: errors, names, spans and marks. Thin: what computes is in libjoulemap.
 */
#include "_core.h"

#include <math.h>

PyObject *core_text(const char *text)
{
    if (!text) Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

PyObject *core_number(double value)
{
    if (isnan(value)) Py_RETURN_NONE;
    return PyFloat_FromDouble(value);
}

int core_put(PyObject *dict, const char *key, PyObject *value)
{
    if (!value) return -1;
    int failed = PyDict_SetItemString(dict, key, value);
    Py_DECREF(value);
    return failed;
}

void core_object_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    union { /* C has no cast from an object pointer to a function's */
        void *slot;
        freefunc call;
    } tp_free = {.slot = PyType_GetSlot(type, Py_tp_free)};
    tp_free.call(self);
    Py_DECREF(type);
}

static int attribute_put(PyObject *object, const char *name, PyObject *value)
{
    if (!value) return -1;
    int failed = PyObject_SetAttrString(object, name, value);
    Py_DECREF(value);
    return failed;
}

PyObject *core_raise(const core_state *state, const jm_error *err)
{
    PyObject *type = err->status == JM_NO_DEVICE ? state->no_device_error : state->error;
    PyObject *text = core_text(err->text[0] ? err->text : jm_status_text(err->status));
    PyObject *hint = core_text(err->hint);
    PyObject *message = NULL;
    PyObject *error = NULL;
    if (!text || !hint) goto out;
    message = err->hint[0] ? PyUnicode_FromFormat("%U: %U", text, hint) : PyUnicode_FromFormat("%U", text);
    if (!message) goto out;
    error = PyObject_CallFunctionObjArgs(type, message, NULL);
    if (!error) goto out;
    if (attribute_put(error, "status", core_text(jm_status_name(err->status))) < 0 ||
        attribute_put(error, "code", PyLong_FromLongLong(err->code)) < 0 ||
        attribute_put(error, "call", core_text(err->call)) < 0 ||
        attribute_put(error, "hint", core_text(err->hint)) < 0)
        goto out;
    PyErr_SetObject(type, error);
out:
    Py_XDECREF(text);
    Py_XDECREF(hint);
    Py_XDECREF(message);
    Py_XDECREF(error);
    return NULL;
}

/* ---- names, spans, marks ---- */

static PyObject *intern(PyObject *module, PyObject *text)
{
    (void)module;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, NULL);
    if (!utf8) return NULL;
    return PyLong_FromUnsignedLong(jm_name_intern(utf8));
}

/* Arguments of a span, from position `first`: kind, name, type=0, samples=0. */
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
        PyErr_Format(PyExc_ValueError, "%lu is no kind of span", values[0]);
        return -1;
    }
    return 0;
}

static PyObject *span_begin(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    unsigned long v[4];
    if (span_arguments(args, count, v) < 0) return NULL;
    jm_span_id id = jm_span_begin((jm_span_kind)v[0], (jm_name)v[1], (jm_name)v[2], (uint32_t)v[3]);
    return PyLong_FromUnsignedLongLong(id);
}

static PyObject *span_end(PyObject *module, PyObject *span)
{
    (void)module;
    jm_span_id id = PyLong_AsUnsignedLongLong(span);
    if (id == (jm_span_id)-1 && PyErr_Occurred()) return NULL;
    jm_span_end(id);
    Py_RETURN_NONE;
}

static PyObject *mark(PyObject *module, PyObject *args)
{
    (void)module;
    const char *name = NULL;
    const char *meta = NULL;
    if (!PyArg_ParseTuple(args, "s|z:mark", &name, &meta)) return NULL;
    jm_mark(name, meta);
    Py_RETURN_NONE;
}

static PyObject *version(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return core_text(jm_version());
}

/* ---- Span: begin and end as a context manager ---- */

typedef struct core_span {
    PyObject_HEAD jm_span_id id; /* 0: not open, or nothing recorded */
    jm_span_kind kind;
    jm_name name;
    jm_name type;
    uint32_t samples;
    bool open;
} core_span;

static PyObject *span_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {(char *)(uintptr_t) "kind", (char *)(uintptr_t) "name",
                            (char *)(uintptr_t) "type", (char *)(uintptr_t) "samples", NULL};
    PyObject *objects[4] = {NULL, NULL, NULL, NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OO:Span", names, &objects[0], &objects[1], &objects[2],
                                     &objects[3]))
        return NULL;
    PyObject *zero = PyLong_FromLong(0);
    if (!zero) return NULL;
    for (int i = 2; i < 4; i++)
        if (!objects[i]) objects[i] = zero;
    unsigned long v[4];
    int failed = span_arguments(objects, 4, v);
    Py_DECREF(zero);
    if (failed) return NULL;
    core_span *self = (core_span *)PyType_GenericAlloc(type, 0);
    if (!self) return NULL;
    self->kind = (jm_span_kind)v[0];
    self->name = (jm_name)v[1];
    self->type = (jm_name)v[2];
    self->samples = (uint32_t)v[3];
    return (PyObject *)self;
}

static PyObject *span_open(PyObject *object, PyObject *unused)
{
    (void)unused;
    core_span *self = (core_span *)object;
    if (self->open) {
        PyErr_SetString(PyExc_RuntimeError, "this span is open already: end it first, or make another");
        return NULL;
    }
    self->open = true;
    self->id = jm_span_begin(self->kind, self->name, self->type, self->samples);
    Py_INCREF(object);
    return object;
}

static PyObject *span_close(PyObject *object, PyObject *unused)
{
    (void)unused;
    core_span *self = (core_span *)object;
    jm_span_end(self->id);
    self->id = 0;
    self->open = false;
    Py_RETURN_NONE;
}

static PyObject *span_exit(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    (void)args;
    (void)count;
    return span_close(object, NULL);
}

static PyMethodDef span_methods[] = {
    {"begin", span_open, METH_NOARGS, "Open the span on this thread and return it."},
    {"end", span_close, METH_NOARGS, "Close the span; does nothing if it is not open."},
    {"__enter__", span_open, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))span_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot span_slots[] = {
    {Py_tp_doc,
     (void *)(uintptr_t) "Span(kind, name, type=0, samples=0): one span, begun and ended once at a "
                         "time."},
    {Py_tp_new, (void *)(uintptr_t)span_new},
    {Py_tp_dealloc, (void *)(uintptr_t)core_object_free},
    {Py_tp_methods, span_methods},
    {0, NULL},
};

PyType_Spec core_span_spec = {
    .name = "joulemap._core.Span",
    .basicsize = sizeof(core_span),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = span_slots,
};

/* ---- the module ---- */

static PyMethodDef module_methods[] = {
    {"intern", intern, METH_O, "intern(text) -> int: the number of a text; 0 where there is no run."},
    {"span_begin", (PyCFunction)(void (*)(void))span_begin, METH_FASTCALL,
     "span_begin(kind, name, type=0, samples=0) -> int: open a span."},
    {"span_end", span_end, METH_O, "span_end(span): close it, from any thread."},
    {"mark", mark, METH_VARARGS, "mark(name, meta=None): a named instant; meta is a JSON text."},
    {"inventory", core_inventory, METH_VARARGS,
     "inventory(sim=None) -> (boards, findings): what there is on this machine."},
    {"version", version, METH_NOARGS, "version() -> str"},
    {NULL, NULL, 0, NULL},
};

static int names_add(PyObject *module)
{
    PyObject *kinds = PyDict_New();
    if (!kinds) return -1;
    for (int kind = JM_SPAN_NONE + 1; kind < JM_SPAN_KIND_COUNT; kind++)
        if (core_put(kinds, jm_span_kind_text((jm_span_kind)kind), PyLong_FromLong(kind)) < 0) goto failed;
    if (PyModule_AddObject(module, "SPAN_KINDS", kinds) < 0) goto failed;
    PyObject *by = PyDict_New();
    if (!by) return -1;
    for (int i = 0; i < JM_BY_COUNT; i++)
        if (core_put(by, jm_by_text((jm_by)i), PyLong_FromLong(i)) < 0) {
            Py_DECREF(by);
            return -1;
        }
    if (PyModule_AddObject(module, "BY", by) < 0) {
        Py_DECREF(by);
        return -1;
    }
    return 0;
failed:
    Py_DECREF(kinds);
    return -1;
}

static PyObject *type_add(PyObject *module, PyType_Spec *spec)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    if (!type || PyModule_AddType(module, (PyTypeObject *)type) < 0) {
        Py_XDECREF(type);
        return NULL;
    }
    return type;
}

static int module_exec(PyObject *module)
{
    core_state *state = PyModule_GetState(module);
    state->error = PyErr_NewExceptionWithDoc(
        "joulemap.Error",
        "What failed, in words, with the cure where one is known.\n\n"
        "Attributes\n----------\nstatus : str\n    Name of joulemap's status (\"DISK_FULL\").\n"
        "code : int\n    The other library's own code (errno, NVML, SQLite, CUPTI), 0 if none.\n"
        "call : str\n    The call that failed, or \"\".\nhint : str\n    The cure, or \"\".",
        PyExc_RuntimeError, NULL);
    if (!state->error) return -1;
    state->no_device_error = PyErr_NewExceptionWithDoc(
        "joulemap.NoDeviceError", "There is no board whose power can be read.", state->error, NULL);
    if (!state->no_device_error) return -1;
    if (PyModule_AddObjectRef(module, "Error", state->error) < 0 ||
        PyModule_AddObjectRef(module, "NoDeviceError", state->no_device_error) < 0)
        return -1;
    PyType_Spec *specs[] = {&core_span_spec, &core_run_spec, &core_recording_spec};
    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        PyObject *type = type_add(module, specs[i]);
        if (!type) return -1;
        Py_DECREF(type);
    }
    state->report_type = (PyTypeObject *)type_add(module, &core_report_spec);
    if (!state->report_type) return -1;
    return names_add(module);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    core_state *state = PyModule_GetState(module);
    Py_VISIT(state->error);
    Py_VISIT(state->no_device_error);
    Py_VISIT(state->report_type);
    return 0;
}

static int module_clear(PyObject *module)
{
    core_state *state = PyModule_GetState(module);
    Py_CLEAR(state->error);
    Py_CLEAR(state->no_device_error);
    Py_CLEAR(state->report_type);
    return 0;
}

static void module_free(void *module)
{
    module_clear(module);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)(uintptr_t)module_exec},
    {0, NULL},
};

static PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,         .m_name = "joulemap._core",  .m_doc = "joulemap's C core.",
    .m_size = sizeof(core_state),  .m_methods = module_methods, .m_slots = module_slots,
    .m_traverse = module_traverse, .m_clear = module_clear,     .m_free = module_free,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&module_def);
}
