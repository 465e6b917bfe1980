/* The extension module joulemap._core: its functions, types and constants. libjoulemap does the computing. */
#include "_core.h"

static PyObject *version(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return core_text(jm_version());
}

/* ---- the module ---- */

static PyMethodDef module_methods[] = {
    {"readable", core_readable, METH_O, "readable(text) -> str: with surrogates and NUL as escapes."},
    {"intern", core_intern, METH_O, "intern(text) -> int: the number of a text; 0 where there is no run."},
    {"span_begin", (PyCFunction)(void (*)(void))core_span_begin, METH_FASTCALL,
     "span_begin(kind, name, type=0, samples=0) -> int: open a span."},
    {"collective_begin", core_collective_begin, METH_VARARGS,
     "collective_begin(operation, group, bytes) -> int: open a span of a collective operation."},
    {"span_end", core_span_end, METH_O, "span_end(span): close it, from any thread."},
    {"follow_steps", core_follow_steps, METH_O,
     "follow_steps(callable): call it with the Span of each step or batch at its begin and its end; None "
     "ends "
     "this."},
    {"follow_tracing", core_follow_tracing, METH_O,
     "follow_tracing(callable): call it with one of TRACING whenever that changes; None ends this."},
    {"mark", core_mark, METH_VARARGS, "mark(name, meta=None): a named instant; meta is a JSON text."},
    {"boards", core_boards, METH_VARARGS, "boards(sim=None) -> list: the boards of this machine."},
    {"findings", core_findings, METH_VARARGS,
     "findings(sim=None) -> list: what works on this machine and what does not."},
    {"learn_model", core_learn_model, METH_VARARGS,
     "learn_model(recording, phase, path=None, board_id=0) -> dict: the fields of joulemap.types.Learnt."},
    {"estimate", core_estimate, METH_VARARGS,
     "estimate(csv, model=None, clock_mhz=0, program_s=0, limit_w=0, what='j') -> str: JSON of an estimate."},
    {"train", core_train, METH_VARARGS, "train(features, power=None, path=None) -> str: JSON of a training."},
    {"estimate_profile", core_estimate_profile, METH_VARARGS,
     "estimate_profile(command, csv, page, model, timeout_s, arguments) -> int: run a program under ncu; its "
     "exit code."},
    {"repeats", core_repeats, METH_O, "repeats(values) -> dict: statistics of repeated measurements."},
    {"thinned", core_thinned, METH_VARARGS,
     "thinned(t_ns, power_w, from_ns, to_ns, interval_ns) -> tuple: the total energy from fewer readings."},
    {"cap_boards", core_cap_boards, METH_VARARGS,
     "cap_boards(sim=None) -> list: GPUs with their power caps."},
    {"cap_restore", core_cap_restore, METH_NOARGS,
     "cap_restore() -> list: lost leases whose caps were restored."},
    {"version", version, METH_NOARGS, "version() -> str"},
    {NULL, NULL, 0, NULL},
};

static PyObject *span_kinds(void)
{
    core_item items[JM_SPAN_KIND_COUNT];
    size_t count = 0;
    for (int kind = JM_SPAN_NONE + 1; kind < JM_SPAN_KIND_COUNT; kind++)
        items[count++] = (core_item){jm_span_kind_text((jm_span_kind)kind), PyLong_FromLong(kind)};
    return core_dict_take(items, count);
}

static PyObject *row_keys(void)
{
    core_item items[JM_BY_COUNT];
    for (int by = 0; by < JM_BY_COUNT; by++)
        items[by] = (core_item){jm_by_text((jm_by)by), PyLong_FromLong(by)};
    return core_dict_take(items, JM_BY_COUNT);
}

/* What is recorded of a process: jm_tracing. */
static PyObject *tracings(void)
{
    const core_item items[] = {{"off", PyLong_FromLong(JM_TRACING_OFF)},
                               {"warm", PyLong_FromLong(JM_TRACING_WARM)},
                               {"on", PyLong_FromLong(JM_TRACING_ON)},
                               {"steps", PyLong_FromLong(JM_TRACING_STEPS)}};
    return core_dict_take(items, sizeof items / sizeof *items);
}

static int constants_add(PyObject *module)
{
    if (core_constant_add(module, "SPAN_KINDS", span_kinds()) < 0) return -1;
    if (core_constant_add(module, "BY", row_keys()) < 0) return -1;
    if (core_constant_add(module, "PER", core_per()) < 0) return -1;
    if (core_constant_add(module, "TRACING", tracings()) < 0) return -1;
    if (core_constant_add(module, "CPU_BOARDS", PyLong_FromLong(JM_CPU_BOARDS)) < 0) return -1;
    return core_report_fields_add(module);
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

/* The class has defaults of the attributes, for errors that Python code raises. */
static int errors_make(core_state *state)
{
    PyObject *defaults = Py_BuildValue("{s:s,s:i,s:s,s:s}", "status", "", "code", 0, "call", "", "hint", "");
    if (!defaults) return -1;
    state->error = PyErr_NewExceptionWithDoc(
        "joulemap.Error",
        "What failed, in words, with the cure where one is known.\n\n"
        "Attributes\n----------\nstatus : str\n    Name of joulemap's status (\"DISK_FULL\").\n"
        "code : int\n    The other library's own code (errno, NVML, SQLite, CUPTI), 0 if none.\n"
        "call : str\n    The call that failed, or \"\".\nhint : str\n    The cure, or \"\".",
        PyExc_RuntimeError, defaults);
    Py_DECREF(defaults);
    if (!state->error) return -1;
    state->no_device_error = PyErr_NewExceptionWithDoc(
        "joulemap.NoDeviceError", "There is no board whose power can be read.", state->error, NULL);
    return state->no_device_error ? 0 : -1;
}

static int module_exec(PyObject *module)
{
    core_state *state = PyModule_GetState(module);
    if (errors_make(state) < 0) return -1;
    if (PyModule_AddObjectRef(module, "Error", state->error) < 0 ||
        PyModule_AddObjectRef(module, "NoDeviceError", state->no_device_error) < 0)
        return -1;
    const struct {
        PyType_Spec *spec;
        PyTypeObject **type; /* where to keep it, or NULL */
    } types[] = {{&core_span_spec, NULL},
                 {&core_run_spec, NULL},
                 {&core_recording_spec, NULL},
                 {&core_diff_spec, NULL},
                 {&core_lease_spec, NULL},
                 {&core_search_spec, NULL},
                 {&core_calls_spec, NULL},
                 {&core_report_spec, &state->report_type},
                 {&core_thread_spec, &state->thread_type},
                 {&core_layer_spec, &state->layer_type},
                 {&core_frame_spec, &state->frame_type},
                 {&core_backward_spec, &state->backward_type},
                 {&core_backward_end_spec, &state->backward_end_type}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        PyObject *type = type_add(module, types[i].spec);
        if (!type) return -1;
        if (types[i].type)
            *types[i].type = (PyTypeObject *)type;
        else
            Py_DECREF(type);
    }
    return constants_add(module);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    core_state *state = PyModule_GetState(module);
    Py_VISIT(state->error);
    Py_VISIT(state->no_device_error);
    Py_VISIT(state->report_type);
    Py_VISIT(state->thread_type);
    Py_VISIT(state->layer_type);
    Py_VISIT(state->frame_type);
    Py_VISIT(state->backward_type);
    Py_VISIT(state->backward_end_type);
    return 0;
}

static int module_clear(PyObject *module)
{
    core_state *state = PyModule_GetState(module);
    Py_CLEAR(state->error);
    Py_CLEAR(state->no_device_error);
    Py_CLEAR(state->report_type);
    Py_CLEAR(state->thread_type);
    Py_CLEAR(state->layer_type);
    Py_CLEAR(state->frame_type);
    Py_CLEAR(state->backward_type);
    Py_CLEAR(state->backward_end_type);
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
