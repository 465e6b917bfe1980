/* Diff: a comparison of reports as a Python object. */
#include "_core.h"

typedef struct core_diff {
    PyObject ob_base;
    jm_diff *diff;
    PyObject *a, *b; /* tuples of (report, name or None) */
} core_diff;

/* The runs of a side as the core takes them: pointers into the tuple's objects. side_free() frees the arrays,
 * also after an error. */
static int side_fill(jm_diff_side *side, const core_state *state, PyObject *runs)
{
    Py_ssize_t count = PyTuple_Size(runs);
    const jm_report **reports = PyMem_Calloc((size_t)count + 1, sizeof *reports);
    const char **names = PyMem_Calloc((size_t)count + 1, sizeof *names);
    *side = (jm_diff_side){.reports = reports, .names = names, .count = (size_t)count};
    if (!reports || !names) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *report;
        if (!PyArg_ParseTuple(PyTuple_GetItem(runs, i), "Oz:Diff", &report, &names[i])) return -1;
        reports[i] = core_report_of(state, report);
        if (!reports[i]) return -1;
    }
    return 0;
}

static void side_free(jm_diff_side *side)
{
    PyMem_Free((void *)(uintptr_t)side->reports);
    PyMem_Free((void *)(uintptr_t)side->names);
}

/* 0, or -1 with an exception. */
static int diff_make(core_diff *self, const core_state *state, const jm_diff_options *options)
{
    jm_diff_side a = {0}, b = {0};
    int result = -1;
    if (side_fill(&a, state, self->a) == 0 && side_fill(&b, state, self->b) == 0) {
        jm_error err = {.status = JM_OK};
        jm_status status;
        Py_BEGIN_ALLOW_THREADS status = jm_diff_create_many(&self->diff, &a, &b, options, &err);
        Py_END_ALLOW_THREADS if (status == JM_OK) result = 0;
        else core_raise(state, &err);
    }
    side_free(&a);
    side_free(&b);
    return result;
}

static PyObject *diff_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static const char *const names[] = {"a", "b", "per", "name_a", "name_b", "expand", NULL};
    PyObject *a, *b;
    int per = JM_PER_FITTING, expand = 0;
    jm_diff_options options = {.size = sizeof options};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!|izzp:Diff", (char **)(uintptr_t)names, &PyTuple_Type,
                                     &a, &PyTuple_Type, &b, &per, &options.name_a, &options.name_b, &expand))
        return NULL;
    options.per = (jm_per)per;
    options.expand = expand != 0;
    core_diff *self = (core_diff *)PyType_GenericAlloc(type, 0);
    if (!self) return NULL;
    Py_INCREF(a);
    Py_INCREF(b);
    self->a = a;
    self->b = b;
    if (diff_make(self, PyType_GetModuleState(type), &options) == 0) return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

static void diff_free(PyObject *object)
{
    core_diff *self = (core_diff *)object;
    if (self->diff) jm_diff_free(self->diff);
    Py_CLEAR(self->a);
    Py_CLEAR(self->b);
    core_object_free(object);
}

/* The fields of DiffRow. */
static PyObject *row_dict(const jm_diff_row *row)
{
    const core_item items[] = {
        {"name", core_text(row->name)},
        {"path", core_text(row->path)},
        {"kind", core_text(row->kind)},
        {"depth", PyLong_FromLong(row->depth)},
        {"a_j", core_number(row->a_j)},
        {"a_low_j", core_number(row->a_low_j)},
        {"a_high_j", core_number(row->a_high_j)},
        {"b_j", core_number(row->b_j)},
        {"b_low_j", core_number(row->b_low_j)},
        {"b_high_j", core_number(row->b_high_j)},
        {"change", core_number(row->change)},
        {"change_low", core_number(row->change_low)},
        {"change_high", core_number(row->change_high)},
        {"verdict", core_text(jm_change_text(row->verdict))},
        {"a_runs", PyLong_FromSize_t(row->a_runs)},
        {"b_runs", PyLong_FromSize_t(row->b_runs)},
        {"a_deviation_j", core_number(row->a_deviation_j)},
        {"b_deviation_j", core_number(row->b_deviation_j)},
        {"a_s", core_number(row->a_s)},
        {"b_s", core_number(row->b_s)},
    };
    return core_dict_take(items, sizeof items / sizeof *items);
}

static PyObject *diff_rows(PyObject *object, PyObject *unused)
{
    (void)unused;
    const jm_diff *diff = ((core_diff *)object)->diff;
    PyObject *rows = PyList_New(0);
    for (size_t i = 0; rows && i < jm_diff_row_count(diff); i++)
        if (core_append(rows, row_dict(jm_diff_row_get(diff, i))) < 0) Py_CLEAR(rows);
    return rows;
}

static PyObject *diff_total(PyObject *object, PyObject *unused)
{
    (void)unused;
    return row_dict(jm_diff_total(((core_diff *)object)->diff));
}

static PyObject *diff_text(PyObject *object, PyObject *args)
{
    int width = 0;
    Py_ssize_t limit = 0;
    if (!PyArg_ParseTuple(args, "|in:text", &width, &limit)) return NULL;
    jm_error err = {.status = JM_OK};
    char *text = NULL;
    jm_status status = jm_diff_text(((core_diff *)object)->diff, width, (size_t)limit, &text, &err);
    return core_view_take(object, status, text, &err);
}

static PyObject *diff_markdown(PyObject *object, PyObject *args)
{
    Py_ssize_t limit = 0;
    if (!PyArg_ParseTuple(args, "|n:markdown", &limit)) return NULL;
    jm_error err = {.status = JM_OK};
    char *text = NULL;
    jm_status status = jm_diff_markdown(((core_diff *)object)->diff, (size_t)limit, &text, &err);
    return core_view_take(object, status, text, &err);
}

static PyObject *diff_json(PyObject *object, PyObject *unused)
{
    (void)unused;
    jm_error err = {.status = JM_OK};
    char *text = NULL;
    jm_status status = jm_diff_json(((core_diff *)object)->diff, &text, &err);
    return core_view_take(object, status, text, &err);
}

static PyObject *diff_per(PyObject *object, void *unused)
{
    (void)unused;
    return core_text(jm_per_text(jm_diff_per(((core_diff *)object)->diff)));
}

static PyObject *diff_gpu(PyObject *object, void *unused)
{
    (void)unused;
    return core_text(jm_sameness_text(jm_diff_sameness(((core_diff *)object)->diff)));
}

static PyObject *diff_gain_u(PyObject *object, void *unused)
{
    (void)unused;
    return PyFloat_FromDouble(jm_diff_gain_u(((core_diff *)object)->diff));
}

PyObject *core_per(void)
{
    core_item items[JM_PER_COUNT];
    size_t count = 0;
    for (int per = JM_PER_FITTING + 1; per < JM_PER_COUNT; per++)
        items[count++] = (core_item){jm_per_text((jm_per)per), PyLong_FromLong(per)};
    return core_dict_take(items, count);
}

static PyMethodDef diff_methods[] = {
    {"rows", diff_rows, METH_NOARGS, "rows() -> list[dict]: the fields of joulemap.types.DiffRow."},
    {"total", diff_total, METH_NOARGS, "total() -> dict: the row of the totals."},
    {"text", diff_text, METH_VARARGS, "text(width=0, limit=0) -> str: a table."},
    {"markdown", diff_markdown, METH_VARARGS, "markdown(limit=0) -> str"},
    {"json", diff_json, METH_NOARGS, "json() -> str"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef diff_getset[] = {
    {"per", diff_per, NULL, "What energies are divided by.", NULL},
    {"gpu", diff_gpu, NULL, "Whether both ran on the same GPUs.", NULL},
    {"gain_u", diff_gain_u, NULL, "Relative standard uncertainty of sensor gains that do not cancel.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot diff_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t) "Diff(a, b, per=0, name_a=None, name_b=None, expand=False): two sides, "
                                    "each a tuple of (Report, name or None)."},
    {Py_tp_new, (void *)(uintptr_t)diff_new},
    {Py_tp_dealloc, (void *)(uintptr_t)diff_free},
    {Py_tp_methods, diff_methods},
    {Py_tp_getset, diff_getset},
    {0, NULL},
};

PyType_Spec core_diff_spec = {
    .name = "joulemap._core.Diff",
    .basicsize = sizeof(core_diff),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = diff_slots,
};
