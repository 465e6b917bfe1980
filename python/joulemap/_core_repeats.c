/* For joulemap.repeatability and Session.sampling_sensitivity. */
#include "_core.h"

#include <stdlib.h>

/* The numbers of the values that are outliers. */
static PyObject *outlier_numbers(const bool *outlier, size_t count)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++)
        if (outlier[i] && core_append(list, PyLong_FromSize_t(i)) < 0) Py_CLEAR(list);
    return list;
}

static PyObject *repeats_dict(const jm_repeats *repeats, size_t warm_up, PyObject *outliers)
{
    const core_item items[] = {
        {"warm_up", PyLong_FromSize_t(warm_up)},
        {"outliers", outliers},
        {"count", PyLong_FromSize_t(repeats->count)},
        {"mean", core_number(repeats->mean)},
        {"low", core_number(repeats->low)},
        {"high", core_number(repeats->high)},
        {"deviation", core_number(repeats->deviation)},
        {"median", core_number(repeats->median)},
        {"least", core_number(repeats->least)},
        {"most", core_number(repeats->most)},
        {"slope", core_number(repeats->slope)},
        {"slope_low", core_number(repeats->slope_low)},
        {"slope_high", core_number(repeats->slope_high)},
    };
    return core_dict_take(items, sizeof items / sizeof *items);
}

static PyObject *repeats_of(const core_state *state, const double *values, size_t count, bool *outlier)
{
    jm_repeats repeats;
    jm_error err = {.status = JM_OK};
    size_t warm_up = jm_repeats_warm_up(values, count), found;
    jm_status status = jm_repeats_of(values + warm_up, count - warm_up, &repeats, &err);
    if (status == JM_OK)
        status = jm_repeats_outliers(values + warm_up, count - warm_up, outlier + warm_up, &found, &err);
    return status == JM_OK ? repeats_dict(&repeats, warm_up, outlier_numbers(outlier, count))
                           : core_raise(state, &err);
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
    if (fine) result = repeats_of(PyModule_GetState(module), values, (size_t)count, outlier);
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
        PyErr_SetString(PyExc_ValueError, "t_ns and power_w differ in length");
        return NULL;
    }
    jm_thinned thinned;
    jm_error err = {.status = JM_OK};
    jm_status status;
    Py_BEGIN_ALLOW_THREADS status =
        jm_thinned_energy((const int64_t *)(const void *)stamps, (const double *)(const void *)values, count,
                          from_ns, to_ns, interval_ns, &thinned, &err);
    Py_END_ALLOW_THREADS if (status != JM_OK) return core_raise(PyModule_GetState(module), &err);
    return Py_BuildValue("(ddddd)", thinned.full_j, thinned.mean_j, thinned.least_j, thinned.most_j,
                         thinned.error_j);
}
