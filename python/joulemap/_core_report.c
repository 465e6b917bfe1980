/* Report: rows, totals and notes of a jm_report as Python objects. */
#include "_core.h"

#include <stdlib.h>

typedef struct core_report {
    PyObject ob_base;
    jm_report *report;
    PyObject *owner; /* Run or Recording: lives as long as what was read from it */
} core_report;

PyObject *core_report_create(PyObject *owner, jm_recording *recording, const core_state *state,
                             PyObject *args, PyObject *kwargs)
{
    static const char *const names[] = {"by", "phase", "board_id", "process_id", "from_ns", "to_ns", NULL};
    int by = 0;
    const char *phase = NULL;
    long long board_id = 0;
    long long process_id = 0;
    long long from_ns = 0;
    long long to_ns = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "i|zLLLL:report", (char **)(uintptr_t)names, &by, &phase,
                                     &board_id, &process_id, &from_ns, &to_ns))
        return NULL;
    if (by < 0 || by >= JM_BY_COUNT) {
        PyErr_Format(PyExc_ValueError, "%d is no key of rows", by);
        return NULL;
    }
    jm_report_options options = {.size = sizeof(options),
                                 .by = (jm_by)by,
                                 .phase = phase,
                                 .board_id = board_id,
                                 .process_id = process_id,
                                 .from_ns = from_ns,
                                 .to_ns = to_ns};
    core_report *self = (core_report *)PyType_GenericAlloc(state->report_type, 0);
    if (!self) return NULL;
    Py_INCREF(owner);
    self->owner = owner;
    jm_error err = {.status = JM_OK};
    jm_status status;
    Py_BEGIN_ALLOW_THREADS status = jm_report_create(&self->report, recording, &options, &err);
    Py_END_ALLOW_THREADS if (status == JM_OK) return (PyObject *)self;
    self->report = NULL;
    Py_DECREF(self);
    return core_raise(state, &err);
}

static void report_free(PyObject *object)
{
    core_report *self = (core_report *)object;
    if (self->report) jm_report_free(self->report);
    Py_XDECREF(self->owner);
    core_object_free(object);
}

/* The fields of report.py's Row, in its order. */
static PyObject *row_tuple(const jm_row *row)
{
    PyObject *fields[] = {
        core_text(row->name),
        core_text(row->path),
        core_text(row->kind),
        PyLong_FromLong(row->depth),
        PyLong_FromLongLong(row->calls),
        PyFloat_FromDouble(row->busy_s),
        core_number(row->energy_j),
        core_number(row->energy_low_j),
        core_number(row->energy_high_j),
        core_number(row->energy_self_j),
        core_number(row->power_w),
        core_number(row->share),
        core_text(jm_provenance_text(row->provenance)),
        core_text(row->boards),
        PyLong_FromLongLong(row->start_ns),
        PyLong_FromLongLong(row->end_ns),
    };
    const Py_ssize_t count = (Py_ssize_t)(sizeof(fields) / sizeof(fields[0]));
    PyObject *tuple = PyTuple_New(count);
    bool whole = tuple != NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        whole = whole && fields[i];
        if (tuple)
            PyTuple_SetItem(tuple, i, fields[i]); /* steals, also NULL */
        else
            Py_XDECREF(fields[i]);
    }
    if (whole) return tuple;
    Py_XDECREF(tuple);
    return NULL;
}

static PyObject *report_rows(PyObject *object, PyObject *unused)
{
    (void)unused;
    const jm_report *report = ((core_report *)object)->report;
    PyObject *rows = PyList_New(0);
    if (!rows) return NULL;
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        PyObject *row = row_tuple(jm_report_row(report, i));
        if (!row || PyList_Append(rows, row) < 0) {
            Py_XDECREF(row);
            Py_DECREF(rows);
            return NULL;
        }
        Py_DECREF(row);
    }
    return rows;
}

static PyObject *report_totals(PyObject *object, PyObject *unused)
{
    (void)unused;
    const jm_report_totals *totals = jm_report_totals_get(((core_report *)object)->report);
    PyObject *dict = PyDict_New();
    if (!dict) return NULL;
    if (core_put(dict, "total_energy_j", core_number(totals->total_energy_j)) < 0 ||
        core_put(dict, "total_low_j", core_number(totals->total_low_j)) < 0 ||
        core_put(dict, "total_high_j", core_number(totals->total_high_j)) < 0 ||
        core_put(dict, "total_source", core_text(totals->total_source)) < 0 ||
        core_put(dict, "idle_energy_j", core_number(totals->idle_energy_j)) < 0 ||
        core_put(dict, "outside_energy_j", core_number(totals->outside_energy_j)) < 0 ||
        core_put(dict, "unresolved_energy_j", core_number(totals->unresolved_energy_j)) < 0 ||
        core_put(dict, "closure", core_number(totals->closure)) < 0 ||
        core_put(dict, "closure_z", core_number(totals->closure_z)) < 0 ||
        core_put(dict, "duration_s", core_number(totals->duration_s)) < 0 ||
        core_put(dict, "residual_w", core_number(totals->residual_w)) < 0 ||
        core_put(dict, "chi2_n", core_number(totals->chi2_n)) < 0 ||
        core_put(dict, "readings", PyLong_FromLongLong(totals->readings)) < 0 ||
        core_put(dict, "simulated", PyBool_FromLong(totals->simulated)) < 0) {
        Py_DECREF(dict);
        return NULL;
    }
    return dict;
}

/* A list of texts, NULL-terminated. */
static PyObject *text_list(const char *const *texts)
{
    PyObject *list = PyList_New(0);
    if (!list) return NULL;
    for (; texts && *texts; texts++) {
        PyObject *text = core_text(*texts);
        if (!text || PyList_Append(list, text) < 0) {
            Py_XDECREF(text);
            Py_DECREF(list);
            return NULL;
        }
        Py_DECREF(text);
    }
    return list;
}

static PyObject *report_quality(PyObject *object, PyObject *unused)
{
    (void)unused;
    const jm_report_quality *quality = jm_report_quality_get(((core_report *)object)->report);
    PyObject *dict = PyDict_New();
    if (!dict) return NULL;
    PyObject *calls = Py_None;
    if (quality->overhead_calls >= 0)
        calls = PyLong_FromLongLong(quality->overhead_calls);
    else
        Py_INCREF(calls);
    if (core_put(dict, "overhead_calls", calls) < 0 ||
        core_put(dict, "overhead_cpu_s", core_number(quality->overhead_cpu_s)) < 0 ||
        core_put(dict, "overhead_call_s", core_number(quality->overhead_call_s)) < 0 ||
        core_put(dict, "gaps", PyLong_FromLongLong(quality->gaps)) < 0 ||
        core_put(dict, "gap_s", core_number(quality->gap_s)) < 0 ||
        core_put(dict, "lost_records", PyLong_FromLongLong(quality->lost_records)) < 0 ||
        core_put(dict, "throttle_events", PyLong_FromLongLong(quality->throttle_events)) < 0 ||
        core_put(dict, "sensors", text_list(quality->sensors)) < 0) {
        Py_DECREF(dict);
        return NULL;
    }
    return dict;
}

static PyObject *report_notes(PyObject *object, PyObject *unused)
{
    (void)unused;
    const jm_report *report = ((core_report *)object)->report;
    PyObject *notes = PyList_New(0);
    if (!notes) return NULL;
    for (size_t i = 0; i < jm_report_note_count(report); i++) {
        PyObject *note = core_text(jm_report_note(report, i));
        if (!note || PyList_Append(notes, note) < 0) {
            Py_XDECREF(note);
            Py_DECREF(notes);
            return NULL;
        }
        Py_DECREF(note);
    }
    return notes;
}

/* A view made by the core, or its error. */
static PyObject *view_take(PyObject *object, jm_status status, char *text, const jm_error *err)
{
    if (status != JM_OK) return core_raise(PyType_GetModuleState(Py_TYPE(object)), err);
    PyObject *result = core_text(text);
    free(text);
    return result;
}

static PyObject *report_text(PyObject *object, PyObject *args)
{
    int width = 0;
    Py_ssize_t limit = 0;
    if (!PyArg_ParseTuple(args, "|in:text", &width, &limit)) return NULL;
    if (width < 0 || limit < 0) {
        PyErr_SetString(PyExc_ValueError, "width and limit are 0 or more");
        return NULL;
    }
    jm_error err = {.status = JM_OK};
    char *text = NULL;
    jm_status status = jm_report_text(((core_report *)object)->report, width, (size_t)limit, &text, &err);
    return view_take(object, status, text, &err);
}

static PyObject *report_json(PyObject *object, PyObject *unused)
{
    (void)unused;
    jm_error err = {.status = JM_OK};
    char *text = NULL;
    jm_status status = jm_report_json(((core_report *)object)->report, &text, &err);
    return view_take(object, status, text, &err);
}

static PyMethodDef report_methods[] = {
    {"rows", report_rows, METH_NOARGS, "rows() -> list[tuple]: the fields of joulemap.Row."},
    {"totals", report_totals, METH_NOARGS, "totals() -> dict: the fields of joulemap.Totals."},
    {"quality", report_quality, METH_NOARGS, "quality() -> dict: the fields of joulemap.Quality."},
    {"notes", report_notes, METH_NOARGS, "notes() -> list[str]: what a reader must know."},
    {"text", report_text, METH_VARARGS, "text(width=0, limit=0) -> str: a table; 0 does not cut."},
    {"json", report_json, METH_NOARGS, "json() -> str"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot report_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t) "Rows, totals and notes; made by Run.report and Recording.report."},
    {Py_tp_dealloc, (void *)(uintptr_t)report_free},
    {Py_tp_methods, report_methods},
    {0, NULL},
};

PyType_Spec core_report_spec = {
    .name = "joulemap._core.Report",
    .basicsize = sizeof(core_report),
    .flags = Py_TPFLAGS_DEFAULT |
             (1UL << 7), /* Py_TPFLAGS_DISALLOW_INSTANTIATION: newer than the limited API's headers */
    .slots = report_slots,
};
