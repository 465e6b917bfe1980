/* The boards of this machine, and the findings of `doctor`. */
#include "_core.h"

static PyObject *bytes_or_none(bool known, int64_t bytes)
{
    if (!known) Py_RETURN_NONE;
    return PyLong_FromLongLong(bytes);
}

static PyObject *board_dict(jm_inventory *inventory, size_t number)
{
    const jm_board *board = jm_inventory_board(inventory, number);
    jm_board_memory memory = {0};
    bool known = jm_inventory_memory(inventory, number, &memory, NULL) == JM_OK;
    const core_item items[] = {
        {"backend", core_text(board->backend)},
        {"kind", core_text(jm_board_kind_text(jm_board_kind_of(board)))},
        {"name", core_text(board->name)},
        {"uuid", core_text(board->uuid)},
        {"pci", core_text(board->pci)},
        {"driver", core_text(board->driver)},
        {"profile", core_text(board->profile)},
        {"index", PyLong_FromLong(board->index)},
        {"cuda_index", PyLong_FromLong(board->cuda_index)},
        {"power_limit_w", core_number(board->power_limit_w)},
        {"simulated", PyBool_FromLong(board->simulated)},
        {"memory_total_bytes", bytes_or_none(known, memory.total_bytes)},
        {"memory_free_bytes", bytes_or_none(known, memory.free_bytes)},
    };
    return core_dict_take(items, sizeof items / sizeof *items);
}

static PyObject *finding_dict(const jm_finding *finding)
{
    const core_item items[] = {
        {"subject", core_text(finding->subject)},
        {"works", PyBool_FromLong(finding->works)},
        {"detail", core_text(finding->detail)},
        {"cure", core_text(finding->cure)},
    };
    return core_dict_take(items, sizeof items / sizeof *items);
}

PyObject *core_boards(PyObject *module, PyObject *args)
{
    const char *sim = NULL;
    if (!PyArg_ParseTuple(args, "|z:boards", &sim)) return NULL;
    jm_error err = {.status = JM_OK};
    jm_inventory *inventory = NULL;
    jm_status status;
    Py_BEGIN_ALLOW_THREADS status = jm_inventory_create(&inventory, sim, &err);
    Py_END_ALLOW_THREADS if (status != JM_OK) return core_raise(PyModule_GetState(module), &err);
    PyObject *boards = PyList_New(0);
    for (size_t i = 0; boards && i < jm_inventory_board_count(inventory); i++)
        if (core_append(boards, board_dict(inventory, i)) < 0) Py_CLEAR(boards);
    jm_inventory_free(inventory);
    return boards;
}

PyObject *core_findings(PyObject *module, PyObject *args)
{
    const char *sim = NULL;
    if (!PyArg_ParseTuple(args, "|z:findings", &sim)) return NULL;
    jm_error err = {.status = JM_OK};
    jm_doctor *doctor = NULL;
    jm_status status;
    Py_BEGIN_ALLOW_THREADS status = jm_doctor_create(&doctor, sim, &err);
    Py_END_ALLOW_THREADS if (status != JM_OK) return core_raise(PyModule_GetState(module), &err);
    PyObject *findings = PyList_New(0);
    for (size_t i = 0; findings && i < jm_doctor_finding_count(doctor); i++)
        if (core_append(findings, finding_dict(jm_doctor_finding(doctor, i))) < 0) Py_CLEAR(findings);
    jm_doctor_free(doctor);
    return findings;
}
