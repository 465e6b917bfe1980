/* Lease: temporary power caps, and GPUs with their caps, as Python objects. */
#include "_core.h"

#include <joulemap/lease.h>

/* ---- boards and other processes' leases ---- */

/* None for 0. */
static PyObject *time_or_none(int64_t unix_ns)
{
    if (unix_ns == 0) Py_RETURN_NONE;
    return PyLong_FromLongLong(unix_ns);
}

static PyObject *lease_info(const jm_cap_lease_info *lease)
{
    const core_item items[] = {
        {"who", core_text(lease->who)},
        {"process_id", PyLong_FromLongLong(lease->pid)},
        {"user_id", PyLong_FromLongLong(lease->uid)},
        {"since_unix_ns", time_or_none(lease->since_unix_ns)},
        {"until_unix_ns", time_or_none(lease->until_unix_ns)},
        {"found_w", core_number(lease->found_w)},
        {"cap_w", core_number(lease->cap_w)},
        {"lost", PyBool_FromLong(lease->lost)},
    };
    return core_dict_take(items, sizeof items / sizeof *items);
}

static PyObject *lease_or_none(const jm_cap_board *board)
{
    if (!board->has_lease) Py_RETURN_NONE;
    return lease_info(&board->lease);
}

/* The fields of joulemap.caps.CapBoard. */
static PyObject *board_dict(const jm_cap_board *board)
{
    const core_item items[] = {
        {"index", PyLong_FromLong(board->index)},
        {"uuid", core_text(board->uuid)},
        {"name", core_text(board->name)},
        {"simulated", PyBool_FromLong(board->simulated)},
        {"cap_w", core_number(board->cap_w)},
        {"enforced_w", core_number(board->enforced_w)},
        {"default_w", core_number(board->default_w)},
        {"low_w", core_number(board->low_w)},
        {"high_w", core_number(board->high_w)},
        {"may_set", core_text(board->may_set)},
        {"may_not_set", core_text(board->may_not_set)},
        {"lease", lease_or_none(board)},
    };
    return core_dict_take(items, sizeof items / sizeof *items);
}

PyObject *core_cap_boards(PyObject *module, PyObject *args)
{
    const char *sim = NULL;
    if (!PyArg_ParseTuple(args, "|z:cap_boards", &sim)) return NULL;
    jm_cap_boards *boards = NULL;
    jm_error err = {.status = JM_OK};
    jm_status status;
    Py_BEGIN_ALLOW_THREADS status = jm_cap_boards_create(&boards, sim, &err);
    Py_END_ALLOW_THREADS if (status != JM_OK) return core_raise(PyModule_GetState(module), &err);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < jm_cap_boards_count(boards); i++)
        if (core_append(list, board_dict(jm_cap_boards_board(boards, i))) < 0) Py_CLEAR(list);
    jm_cap_boards_free(boards);
    return list;
}

static PyObject *restored_dict(const jm_cap_restored *restored)
{
    const core_item items[] = {
        {"uuid", core_text(restored->uuid)},     {"index", PyLong_FromLong(restored->index)},
        {"lease", lease_info(&restored->lease)}, {"left_w", core_number(restored->left_w)},
        {"fault", core_text(restored->fault)},
    };
    return core_dict_take(items, sizeof items / sizeof *items);
}

enum { MOST_RESTORED = 64 };

PyObject *core_cap_restore(PyObject *module, PyObject *unused)
{
    (void)unused;
    jm_cap_restored restored[MOST_RESTORED];
    size_t count = 0;
    jm_error err = {.status = JM_OK};
    jm_status status;
    Py_BEGIN_ALLOW_THREADS status = jm_cap_restore(restored, MOST_RESTORED, &count, &err);
    Py_END_ALLOW_THREADS if (status != JM_OK) return core_raise(PyModule_GetState(module), &err);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count && i < MOST_RESTORED; i++)
        if (core_append(list, restored_dict(&restored[i])) < 0) Py_CLEAR(list);
    return list;
}

/* ---- Lease ---- */

typedef struct core_lease {
    PyObject ob_base;
    jm_cap_lease *lease; /* NULL: ended */
} core_lease;

static PyObject *lease_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static const char *const names[] = {"board", "sim", "who", "for_ns", "run_dir", NULL};
    jm_cap_lease_options options = {.size = sizeof options};
    int board = 0;
    long long for_ns = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|izzLz:Lease", (char **)(uintptr_t)names, &board,
                                     &options.sim, &options.who, &for_ns, &options.run_dir))
        return NULL;
    options.board = board;
    options.for_ns = for_ns;
    core_lease *self = (core_lease *)PyType_GenericAlloc(type, 0);
    if (!self) return NULL;
    jm_error err = {.status = JM_OK};
    jm_status status;
    Py_BEGIN_ALLOW_THREADS status = jm_cap_lease_take(&self->lease, &options, &err);
    Py_END_ALLOW_THREADS if (status == JM_OK) return (PyObject *)self;
    self->lease = NULL;
    core_raise(PyType_GetModuleState(type), &err);
    Py_DECREF(self);
    return NULL;
}

/* The lease, or NULL with an exception once it has ended. */
static jm_cap_lease *lease_of(PyObject *object)
{
    jm_cap_lease *lease = ((core_lease *)object)->lease;
    if (!lease) PyErr_SetString(PyExc_RuntimeError, "this lease has ended: take another");
    return lease;
}

static PyObject *lease_set(PyObject *object, PyObject *args)
{
    double cap_w, enforced_w = 0;
    if (!PyArg_ParseTuple(args, "d:set", &cap_w)) return NULL;
    jm_cap_lease *lease = lease_of(object);
    if (!lease) return NULL;
    jm_error err = {.status = JM_OK};
    jm_status status;
    Py_BEGIN_ALLOW_THREADS status = jm_cap_lease_set(lease, cap_w, &enforced_w, &err);
    Py_END_ALLOW_THREADS if (status != JM_OK) return core_raise(core_state_of(object), &err);
    return core_number(enforced_w);
}

static PyObject *lease_clock(PyObject *object, PyObject *args)
{
    double clock_mhz;
    if (!PyArg_ParseTuple(args, "d:clock", &clock_mhz)) return NULL;
    jm_cap_lease *lease = lease_of(object);
    if (!lease) return NULL;
    jm_error err = {.status = JM_OK};
    jm_status status;
    Py_BEGIN_ALLOW_THREADS status = jm_cap_lease_clock(lease, clock_mhz, &err);
    Py_END_ALLOW_THREADS if (status != JM_OK) return core_raise(core_state_of(object), &err);
    Py_RETURN_NONE;
}

static PyObject *lease_board(PyObject *object, PyObject *unused)
{
    (void)unused;
    jm_cap_lease *lease = lease_of(object);
    return lease ? board_dict(jm_cap_lease_board(lease)) : NULL;
}

static jm_status end_take(core_lease *self, jm_error *err)
{
    jm_cap_lease *lease = self->lease;
    self->lease = NULL;
    jm_status status;
    Py_BEGIN_ALLOW_THREADS status = jm_cap_lease_end(lease, err);
    Py_END_ALLOW_THREADS return status;
}

static PyObject *lease_end(PyObject *object, PyObject *unused)
{
    (void)unused;
    jm_error err = {.status = JM_OK};
    if (end_take((core_lease *)object, &err) != JM_OK) return core_raise(core_state_of(object), &err);
    Py_RETURN_NONE;
}

static void lease_free(PyObject *object)
{
    jm_error err;
    end_take((core_lease *)object, &err);
    core_object_free(object);
}

static PyMethodDef lease_methods[] = {
    {"set", lease_set, METH_VARARGS, "set(cap_w) -> float: the limit that the board enforces, W."},
    {"clock", lease_clock, METH_VARARGS, "clock(mhz): limit the SM clock; 0: no limit."},
    {"board", lease_board, METH_NOARGS, "board() -> dict: the board as the lease found it."},
    {"end", lease_end, METH_NOARGS, "end(): restore the cap that the lease found."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot lease_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t) "Lease(board=0, sim=None, who=None, for_ns=0, run_dir=None): the "
                                    "right to set a board's power cap."},
    {Py_tp_new, (void *)(uintptr_t)lease_new},
    {Py_tp_dealloc, (void *)(uintptr_t)lease_free},
    {Py_tp_methods, lease_methods},
    {0, NULL},
};

PyType_Spec core_lease_spec = {
    .name = "joulemap._core.Lease",
    .basicsize = sizeof(core_lease),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = lease_slots,
};
