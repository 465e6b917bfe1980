/* Repeated values, and totals by fewer readings: joulemap.repeatability and joulemap.sampling_sensitivity. */
#include "_core.h"

#include <stdlib.h>

/* Numbers of the values that are outliers; the first `warm_up` are none. */
static PyObject *numbers_of(const bool *outlier, size_t count)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++)
        if (outlier[i] && core_append(list, PyLong_FromSize_t(i)) < 0) Py_CLEAR(list);
    return list;
}

static PyObject *figures(const jm_repeats *of, size_t warm_up, PyObject *outliers)
{
    const core_item items[] = {
        {"warm_up", PyLong_FromSize_t(warm_up)},
        {"outliers", outliers},
        {"count", PyLong_FromSize_t(of->count)},
        {"mean", core_number(of->mean)},
        {"low", core_number(of->low)},
        {"high", core_number(of->high)},
        {"deviation", core_number(of->deviation)},
        {"median", core_number(of->median)},
        {"least", core_number(of->least)},
        {"most", core_number(of->most)},
        {"slope", core_number(of->slope)},
        {"slope_low", core_number(of->slope_low)},
        {"slope_high", core_number(of->slope_high)},
    };
    return core_dict_take(items, sizeof items / sizeof *items);
}

static PyObject *figures_of(const core_state *state, const double *values, size_t count, bool *outlier)
{
    jm_repeats of;
    jm_error err = {.status = JM_OK};
    size_t warm_up = jm_repeats_warm_up(values, count), found;
    jm_status status = jm_repeats_of(values + warm_up, count - warm_up, &of, &err);
    if (status == JM_OK)
        status = jm_repeats_outliers(values + warm_up, count - warm_up, outlier + warm_up, &found, &err);
    return status == JM_OK ? figures(&of, warm_up, numbers_of(outlier, count)) : core_raise(state, &err);
}

PyObject *core_repeats(PyObject *module, PyObject *sequence)
{
    Py_ssize_t count = PySequence_Size(sequence);
    if (count < 0) return NULL;
    double *values = calloc((size_t)count + 1, sizeof *values);
    bool *outlier = calloc((size_t)count + 1, sizeof *outlier);
    PyObject *result = values && outlier ? NULL : PyErr_NoMemory();
    bool fine = values && outlier;
    for (Py_ssize_t i = 0; fine && i < count; i++) {
        PyObject *value = PySequence_GetItem(sequence, i);
        values[i] = value ? PyFloat_AsDouble(value) : 0;
        fine = value && !PyErr_Occurred();
        Py_XDECREF(value);
    }
    if (fine) result = figures_of(PyModule_GetState(module), values, (size_t)count, outlier);
    free(values);
    free(outlier);
    return result;
}

PyObject *core_thinned(PyObject *module, PyObject *args)
{
    const char *stamps, *values;
    Py_ssize_t stamp_bytes, value_bytes;
    long long from_ns, to_ns, interval_ns;
    if (!PyArg_ParseTuple(args, "y#y#LLL:thinned", &stamps, &stamp_bytes, &values, &value_bytes, &from_ns,
                          &to_ns, &interval_ns))
        return NULL;
    size_t count = (size_t)value_bytes / sizeof(double);
    if ((size_t)stamp_bytes / sizeof(int64_t) != count) {
        PyErr_SetString(PyExc_ValueError, "as many stamps as values");
        return NULL;
    }
    jm_thinned of;
    jm_error err = {.status = JM_OK};
    jm_status status;
    Py_BEGIN_ALLOW_THREADS status =
        jm_thinned_energy((const int64_t *)(const void *)stamps, (const double *)(const void *)values, count,
                          from_ns, to_ns, interval_ns, &of, &err);
    Py_END_ALLOW_THREADS if (status != JM_OK) return core_raise(PyModule_GetState(module), &err);
    return Py_BuildValue("(ddddd)", of.full_j, of.mean_j, of.least_j, of.most_j, of.error_j);
}
