/* Report: rows, totals and notes of a jm_report as Python objects. */
#include "_core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct core_report {
    PyObject ob_base;
    jm_report *report;
    const jm_recording *recording; /* the owner's */
    PyObject *owner;               /* the Run or Recording, which the report reads from */
} core_report;

const jm_report *core_report_of(const core_state *state, PyObject *object)
{
    if (PyObject_TypeCheck(object, state->report_type)) return ((core_report *)object)->report;
    PyErr_SetString(PyExc_TypeError, "not a report of the core");
    return NULL;
}

PyObject *core_report_create(PyObject *owner, jm_recording *recording, const core_state *state,
                             PyObject *args, PyObject *kwargs)
{
    static const char *const names[] = {"by",    "phase", "board_id", "process_id", "from_ns",
                                        "to_ns", "prior", "model",    NULL};
    int by = 0;
    const char *phase = NULL;
    long long board_id = 0;
    long long process_id = 0;
    long long from_ns = 0;
    long long to_ns = 0;
    const char *prior = NULL, *model = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "i|zLLLLzz:report", (char **)(uintptr_t)names, &by, &phase,
                                     &board_id, &process_id, &from_ns, &to_ns, &prior, &model))
        return NULL;
    if (by < 0 || by >= JM_BY_COUNT) {
        PyErr_Format(PyExc_ValueError, "%d is not a key of rows", by);
        return NULL;
    }
    jm_report_options options = {.size = sizeof(options),
                                 .by = (jm_by)by,
                                 .phase = phase,
                                 .board_id = board_id,
                                 .process_id = process_id,
                                 .from_ns = from_ns,
                                 .to_ns = to_ns,
                                 .prior = prior,
                                 .model = model};
    core_report *self = (core_report *)PyType_GenericAlloc(state->report_type, 0);
    if (!self) return NULL;
    Py_INCREF(owner);
    self->owner = owner;
    self->recording = recording;
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

/* A list of texts, NULL-terminated. */
static PyObject *text_list(const char *const *texts)
{
    PyObject *list = PyList_New(0);
    for (; list && texts && *texts; texts++)
        if (core_append(list, core_text(*texts)) < 0) Py_CLEAR(list);
    return list;
}

static PyObject *field_value(jm_field_kind kind, const void *value)
{
    switch (kind) {
    case JM_FIELD_TEXT:
    case JM_FIELD_TEXT_OR_NONE:
        return core_text(*(const jm_field_TEXT *)value);
    case JM_FIELD_TEXTS:
        return text_list(*(const jm_field_TEXTS *)value);
    case JM_FIELD_INT32:
        return PyLong_FromLong(*(const jm_field_INT32 *)value);
    case JM_FIELD_INT64:
        return PyLong_FromLongLong(*(const jm_field_INT64 *)value);
    case JM_FIELD_COUNT_OR_NONE: {
        jm_field_COUNT_OR_NONE count = *(const jm_field_COUNT_OR_NONE *)value;
        if (count < 0) Py_RETURN_NONE;
        return PyLong_FromLongLong(count);
    }
    case JM_FIELD_REAL:
    case JM_FIELD_REAL_OR_NONE:
        return core_number(*(const jm_field_REAL *)value);
    case JM_FIELD_FLAG:
        return PyBool_FromLong(*(const jm_field_FLAG *)value);
    case JM_FIELD_PROVENANCE:
        return core_text(jm_provenance_text(*(const jm_field_PROVENANCE *)value));
    case JM_FIELD_KIND_COUNT:
        break;
    }
    PyErr_SetString(PyExc_SystemError, "a field of a report has no known kind");
    return NULL;
}

/* The fields of Row, in its order. */
static PyObject *row_tuple(const jm_row *row)
{
    PyObject *list = PyList_New(0);
#define X(kind, name, key, place, doc)                                                                       \
    if (list && core_append(list, field_value(JM_FIELD_##kind, &row->name)) < 0) Py_CLEAR(list);
    JM_ROW_FIELDS(X)
#undef X
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

static PyObject *report_rows(PyObject *object, PyObject *unused)
{
    (void)unused;
    const jm_report *report = ((core_report *)object)->report;
    PyObject *rows = PyList_New(0);
    for (size_t i = 0; rows && i < jm_report_row_count(report); i++)
        if (core_append(rows, row_tuple(jm_report_row(report, i))) < 0) Py_CLEAR(rows);
    return rows;
}

static PyObject *report_totals(PyObject *object, PyObject *unused)
{
    (void)unused;
    const jm_report_totals *totals = jm_report_totals_get(((core_report *)object)->report);
    const core_item items[] = {
#define X(kind, name, key, place, doc) {#name, field_value(JM_FIELD_##kind, &totals->name)},
        JM_TOTALS_FIELDS(X)
#undef X
    };
    return core_dict_take(items, sizeof items / sizeof *items);
}

static PyObject *report_quality(PyObject *object, PyObject *unused)
{
    (void)unused;
    const jm_report_quality *quality = jm_report_quality_get(((core_report *)object)->report);
    const core_item items[] = {
#define X(kind, name, key, place, doc) {#name, field_value(JM_FIELD_##kind, &quality->name)},
        JM_QUALITY_FIELDS(X)
#undef X
    };
    return core_dict_take(items, sizeof items / sizeof *items);
}

static PyObject *report_notes(PyObject *object, PyObject *unused)
{
    (void)unused;
    const jm_report *report = ((core_report *)object)->report;
    PyObject *notes = PyList_New(0);
    for (size_t i = 0; notes && i < jm_report_note_count(report); i++)
        if (core_append(notes, core_text(jm_report_note(report, i))) < 0) Py_CLEAR(notes);
    return notes;
}

static PyObject *number_tuple(const size_t *numbers, size_t count)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++)
        if (core_append(list, PyLong_FromSize_t(numbers[i])) < 0) Py_CLEAR(list);
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

/* The fields of Group. */
static PyObject *group_dict(const jm_group *group)
{
    const core_item items[] = {
        {"name", core_text(group->name)},
        {"path", core_text(group->path)},
        {"kind", core_text(group->kind)},
        {"type", core_text(group->type)},
        {"depth", PyLong_FromLong(group->depth)},
        {"members", PyLong_FromSize_t(group->members)},
        {"rows", number_tuple(group->rows, group->members)},
        {"calls", PyLong_FromLongLong(group->calls)},
        {"busy_s", PyFloat_FromDouble(group->busy_s)},
        {"energy_j", core_number(group->energy_j)},
        {"energy_low_j", core_number(group->energy_low_j)},
        {"energy_high_j", core_number(group->energy_high_j)},
        {"step_s", core_number(group->step_s)},
        {"step_j", core_number(group->step_j)},
        {"step_low_j", core_number(group->step_low_j)},
        {"step_high_j", core_number(group->step_high_j)},
        {"power_w", core_number(group->power_w)},
        {"share", core_number(group->share)},
        {"provenance", core_text(jm_provenance_text(group->provenance))},
    };
    return core_dict_take(items, sizeof items / sizeof *items);
}

static PyObject *report_stages(PyObject *object, PyObject *unused)
{
    (void)unused;
    const jm_report *report = ((core_report *)object)->report;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < jm_report_stage_count(report); i++) {
        const jm_stage *stage = jm_report_stage(report, i);
        PyObject *steps = stage->steps < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(stage->steps);
        PyObject *item = Py_BuildValue("(NNNN)", core_text(stage->name), steps, core_number(stage->seconds),
                                       core_number(stage->energy_j));
        if (core_append(list, item) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *report_groups(PyObject *object, PyObject *unused)
{
    (void)unused;
    jm_groups *groups = NULL;
    jm_error err = {.status = JM_OK};
    jm_status status;
    Py_BEGIN_ALLOW_THREADS status = jm_groups_create(&groups, ((core_report *)object)->report, &err);
    Py_END_ALLOW_THREADS if (status != JM_OK) return core_raise(core_state_of(object), &err);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < jm_group_count(groups); i++)
        if (core_append(list, group_dict(jm_group_get(groups, i))) < 0) Py_CLEAR(list);
    jm_groups_free(groups);
    return list;
}

/* ---- descriptions of the fields: (name, key, type, documentation) of each ---- */

typedef struct field_doc {
    const char *name, *key, *type, *doc;
} field_doc;

static const char *const python_types[JM_FIELD_KIND_COUNT] = {
#define X(kind, type, python) python,
    JM_FIELD_KIND_MAP(X)
#undef X
};

static PyObject *field_docs(const field_doc *fields, size_t count)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++) {
        const field_doc *f = &fields[i];
        if (core_append(list, Py_BuildValue("(ssss)", f->name, f->key, f->type, f->doc)) < 0) Py_CLEAR(list);
    }
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

int core_report_fields_add(PyObject *module)
{
#define X(kind, name, key, place, doc) {#name, key, python_types[JM_FIELD_##kind], doc},
    const field_doc row[] = {JM_ROW_FIELDS(X)};
    const field_doc totals[] = {JM_TOTALS_FIELDS(X)};
    const field_doc quality[] = {JM_QUALITY_FIELDS(X)};
#undef X
    if (core_constant_add(module, "ROW_FIELDS", field_docs(row, sizeof row / sizeof *row)) < 0) return -1;
    if (core_constant_add(module, "TOTALS_FIELDS", field_docs(totals, sizeof totals / sizeof *totals)) < 0)
        return -1;
    return core_constant_add(module, "QUALITY_FIELDS", field_docs(quality, sizeof quality / sizeof *quality));
}

PyObject *core_view_take(PyObject *object, jm_status status, char *text, const jm_error *err)
{
    if (status != JM_OK) return core_raise(core_state_of(object), err);
    PyObject *result = core_text(text);
    free(text);
    return result;
}

static PyObject *report_text(PyObject *object, PyObject *args)
{
    int width = 0, total = 0, expand = 0, notes = 0;
    Py_ssize_t limit = 0, depth = 0;
    if (!PyArg_ParseTuple(args, "|innppp:text", &width, &limit, &depth, &total, &expand, &notes)) return NULL;
    if (width < 0 || limit < 0 || depth < 0) {
        PyErr_SetString(PyExc_ValueError, "width, limit and depth are 0 or more");
        return NULL;
    }
    const jm_text_options options = {.size = sizeof options,
                                     .width = width,
                                     .limit = (uint64_t)limit,
                                     .depth = (uint64_t)depth,
                                     .total = total != 0,
                                     .expand = expand != 0,
                                     .notes = notes != 0,
                                     .ask_for_notes = "notes=True"};
    jm_error err = {.status = JM_OK};
    char *text = NULL;
    jm_status status = jm_report_text(((core_report *)object)->report, &options, &text, &err);
    return core_view_take(object, status, text, &err);
}

static PyObject *report_json(PyObject *object, PyObject *unused)
{
    (void)unused;
    jm_error err = {.status = JM_OK};
    char *text = NULL;
    jm_status status = jm_report_json(((core_report *)object)->report, &text, &err);
    return core_view_take(object, status, text, &err);
}

static PyObject *report_csv(PyObject *object, PyObject *unused)
{
    (void)unused;
    jm_error err = {.status = JM_OK};
    char *text = NULL;
    jm_status status = jm_report_csv(((core_report *)object)->report, &text, &err);
    return core_view_take(object, status, text, &err);
}

static PyObject *report_fragment(PyObject *object, PyObject *args)
{
    Py_ssize_t limit = 0;
    if (!PyArg_ParseTuple(args, "n:fragment", &limit)) return NULL;
    jm_error err = {.status = JM_OK};
    char *text = NULL;
    jm_status status = jm_report_fragment(((core_report *)object)->report, (size_t)limit, &text, &err);
    return core_view_take(object, status, text, &err);
}

/* The report behind an argument, or NULL for None. *failed is set with an exception. */
static const jm_report *other_report(PyObject *self, PyObject *object, bool *failed)
{
    if (object == Py_None) return NULL;
    if (Py_TYPE(object) == Py_TYPE(self)) return ((core_report *)object)->report;
    PyErr_SetString(PyExc_TypeError, "kernels and spans are reports or None");
    *failed = true;
    return NULL;
}

static PyObject *report_html(PyObject *object, PyObject *args)
{
    core_report *self = (core_report *)object;
    PyObject *kernels, *spans;
    const char *name = NULL;
    char *text = NULL;
    size_t length = 0;
    bool failed = false;
    if (!PyArg_ParseTuple(args, "zOO:html", &name, &kernels, &spans)) return NULL;
    jm_page_run run = {
        .size = sizeof run, .name = name, .recording = self->recording, .report = self->report};
    run.kernels = other_report(object, kernels, &failed);
    run.spans = other_report(object, spans, &failed);
    if (failed) return NULL;
    jm_error err = {.status = JM_OK};
    FILE *out = open_memstream(&text, &length);
    if (out == NULL) return PyErr_NoMemory();
    jm_status status = jm_page_write(&run, out, &err); /* flushes, so fclose() cannot fail */
    fclose(out);
    if (status == JM_OK && text != NULL) return core_view_take(object, status, text, &err);
    free(text);
    return status == JM_OK ? PyErr_NoMemory() : core_raise(core_state_of(object), &err);
}

static PyObject *report_wants_spans(PyObject *object, PyObject *unused)
{
    (void)unused;
    return PyBool_FromLong(jm_page_wants_spans(((core_report *)object)->report));
}

/* A sequence of int as row numbers, at least one element long; the caller frees it. NULL with an exception.
 */
static size_t *row_numbers(PyObject *sequence, size_t *count)
{
    Py_ssize_t length = PySequence_Size(sequence);
    if (length < 0) return NULL;
    size_t *rows = malloc(((size_t)length + 1) * sizeof *rows);
    if (!rows) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < length; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);
        rows[i] = item ? PyLong_AsSize_t(item) : 0;
        Py_XDECREF(item);
        if (PyErr_Occurred()) {
            free(rows);
            return NULL;
        }
    }
    *count = (size_t)length;
    return rows;
}

PyObject *core_sum(const jm_sum *sum)
{
    PyObject *list = PyList_New(0);
    const double figures[] = {sum->energy_j, sum->low_j, sum->high_j};
    for (size_t i = 0; list && i < sizeof figures / sizeof *figures; i++)
        if (core_append(list, core_number(figures[i])) < 0) Py_CLEAR(list);
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

static PyObject *report_sum_paths(PyObject *object, PyObject *args)
{
    const char *pattern;
    if (!PyArg_ParseTuple(args, "s:sum_paths", &pattern)) return NULL;
    jm_sum sum;
    size_t rows;
    jm_error err = {.status = JM_OK};
    jm_status status = jm_report_sum_paths(((core_report *)object)->report, pattern, &sum, &rows, &err);
    return status == JM_OK ? core_sum(&sum) : core_raise(core_state_of(object), &err);
}

static PyObject *report_sum(PyObject *object, PyObject *sequence)
{
    size_t count = 0, *rows = row_numbers(sequence, &count);
    if (!rows) return NULL;
    jm_sum sum;
    jm_error err = {.status = JM_OK};
    jm_status status;
    Py_BEGIN_ALLOW_THREADS status = jm_report_sum(((core_report *)object)->report, rows, count, &sum, &err);
    Py_END_ALLOW_THREADS free(rows);
    if (status != JM_OK) return core_raise(core_state_of(object), &err);
    return core_sum(&sum);
}

static PyMethodDef report_methods[] = {
    {"rows", report_rows, METH_NOARGS, "rows() -> list[tuple]: the fields of joulemap.types.Row."},
    {"totals", report_totals, METH_NOARGS, "totals() -> dict: the fields of joulemap.types.Totals."},
    {"quality", report_quality, METH_NOARGS, "quality() -> dict: the fields of joulemap.types.Quality."},
    {"notes", report_notes, METH_NOARGS, "notes() -> list[str]: sentences that a reader must know."},
    {"text", report_text, METH_VARARGS,
     "text(width=0, limit=0, depth=0, total=False, expand=False, notes=False) -> str: a table; 0: no limit."},
    {"json", report_json, METH_NOARGS, "json() -> str"},
    {"html", report_html, METH_VARARGS, "html(name, kernels, spans) -> str: the page of the report."},
    {"wants_spans", report_wants_spans, METH_NOARGS,
     "wants_spans() -> bool: whether html() can use a report by span."},
    {"fragment", report_fragment, METH_VARARGS, "fragment(limit) -> str: a table of HTML, for notebooks."},
    {"csv", report_csv, METH_NOARGS, "csv() -> str"},
    {"stages", report_stages, METH_NOARGS, "stages() -> list[tuple]: the fields of joulemap.types.Stage."},
    {"groups", report_groups, METH_NOARGS, "groups() -> list[dict]: the fields of joulemap.types.Group."},
    {"sum_paths", report_sum_paths, METH_VARARGS,
     "sum_paths(pattern) -> tuple: energy of the rows that match, and its 95 % interval."},
    {"sum", report_sum, METH_O,
     "sum(rows) -> tuple: energy of the rows with these numbers, and its 95 % interval."},
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
