/* Search: the search for a power cap. next() gives a trial, tell() takes what was measured. */
#include "_core.h"

#include <math.h>

typedef struct core_search {
    PyObject ob_base;
    jm_cap_search *search;
} core_search;

static jm_cap_search *search_of(PyObject *object)
{
    return ((core_search *)object)->search;
}

static bool objective_of(const core_state *state, const char *text, jm_cap_objective *objective)
{
    jm_error err = {.status = JM_OK};
    if (jm_cap_objective_parse(text, objective, &err) == JM_OK) return true;
    core_raise(state, &err);
    return false;
}

static PyObject *search_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static const char *const names[] = {
        "low_w",  "high_w", "reference_w", "objective", "step_w", "max_slowdown", "probes",    "sweep",
        "rounds", "drift",  "settle_s",    "window_s",  "proof",  "seed",         "simulated", NULL};
    jm_cap_plan_options plan = {.size = sizeof plan};
    jm_cap_search_options options = {.size = sizeof options, .plan = &plan};
    const char *objective = "ed2p";
    Py_ssize_t probes = 0, sweep = 0, rounds = 0;
    unsigned long long seed = 0;
    int proof = 1, simulated = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "ddd|sddnnndddpKp:Search", (char **)(uintptr_t)names,
                                     &plan.low_w, &plan.high_w, &plan.reference_w, &objective, &plan.step_w,
                                     &plan.max_slowdown, &probes, &sweep, &rounds, &plan.drift,
                                     &options.settle_s, &options.window_s, &proof, &seed, &simulated))
        return NULL;
    if (!objective_of(PyType_GetModuleState(type), objective, &plan.objective)) return NULL;
    plan.most_probes = (size_t)probes;
    options.sweep_count = (size_t)sweep;
    options.sweep_rounds = (size_t)rounds;
    options.no_proof = proof == 0;
    options.seed = seed;
    options.simulated = simulated != 0;
    core_search *self = (core_search *)PyType_GenericAlloc(type, 0);
    if (!self) return NULL;
    jm_error err = {.status = JM_OK};
    if (jm_cap_search_create(&self->search, &options, &err) == JM_OK) return (PyObject *)self;
    self->search = NULL;
    core_raise(PyType_GetModuleState(type), &err);
    Py_DECREF(self);
    return NULL;
}

static void search_free(PyObject *object)
{
    jm_cap_search_free(search_of(object));
    core_object_free(object);
}

/* The fields of joulemap.caps.Trial. */
static PyObject *trial_dict(const jm_cap_trial *trial)
{
    const core_item items[] = {
        {"stage", core_text(jm_cap_stage_text(trial->stage))},
        {"cap_w", core_number(trial->cap_w)},
        {"reference", PyBool_FromLong(trial->reference)},
        {"number", PyLong_FromSize_t(trial->number)},
        {"settle_s", core_number(trial->settle_s)},
        {"window_s", core_number(trial->window_s)},
    };
    return core_dict_take(items, sizeof items / sizeof *items);
}

static PyObject *search_next(PyObject *object, PyObject *unused)
{
    (void)unused;
    jm_cap_trial trial;
    jm_error err = {.status = JM_OK};
    jm_status status;
    Py_BEGIN_ALLOW_THREADS status = jm_cap_search_next(search_of(object), &trial, &err);
    Py_END_ALLOW_THREADS if (status != JM_OK) return core_raise(core_state_of(object), &err);
    if (trial.stage == JM_CAP_STAGE_OVER) Py_RETURN_NONE;
    return trial_dict(&trial);
}

static PyObject *search_tell(PyObject *object, PyObject *args)
{
    jm_cap_probe probe = {.cap_w = NAN};
    if (!PyArg_ParseTuple(args, "ddd|dd:tell", &probe.cap_w, &probe.time_s, &probe.power_w, &probe.time_u_s,
                          &probe.power_u_w))
        return NULL;
    jm_error err = {.status = JM_OK};
    jm_status status;
    Py_BEGIN_ALLOW_THREADS status = jm_cap_search_tell(search_of(object), &probe, &err);
    Py_END_ALLOW_THREADS if (status != JM_OK) return core_raise(core_state_of(object), &err);
    Py_RETURN_NONE;
}

static PyObject *search_text(PyObject *object, PyObject *args)
{
    Py_ssize_t width = 0;
    if (!PyArg_ParseTuple(args, "|n:text", &width)) return NULL;
    char *text = NULL;
    jm_error err = {.status = JM_OK};
    jm_status status;
    Py_BEGIN_ALLOW_THREADS status = jm_cap_search_text(search_of(object), (size_t)width, &text, &err);
    Py_END_ALLOW_THREADS return core_view_take(object, status, text, &err);
}

static PyObject *search_json(PyObject *object, PyObject *unused)
{
    (void)unused;
    char *text = NULL;
    jm_error err = {.status = JM_OK};
    jm_status status;
    Py_BEGIN_ALLOW_THREADS status = jm_cap_search_json(search_of(object), &text, &err);
    Py_END_ALLOW_THREADS return core_view_take(object, status, text, &err);
}

static PyMethodDef search_methods[] = {
    {"next", search_next, METH_NOARGS, "next() -> dict: the trial to make; None: the search is over."},
    {"tell", search_tell, METH_VARARGS,
     "tell(cap_w, time_s, power_w, time_u_s=0, power_u_w=0): the result of the trial."},
    {"text", search_text, METH_VARARGS, "text(width=0) -> str: verdict and table."},
    {"json", search_json, METH_NOARGS, "json() -> str"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot search_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t) "Search(low_w, high_w, reference_w, ...): finds the best power cap."},
    {Py_tp_new, (void *)(uintptr_t)search_new},
    {Py_tp_dealloc, (void *)(uintptr_t)search_free},
    {Py_tp_methods, search_methods},
    {0, NULL},
};

PyType_Spec core_search_spec = {
    .name = "joulemap._core.Search",
    .basicsize = sizeof(core_search),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = search_slots,
};
