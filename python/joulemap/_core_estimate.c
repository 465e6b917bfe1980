/* estimate, train, metrics: jm_estimate_* from Python, as JSON. */
#include "_core.h"

/* The text becomes Python's; an error is raised. */
static PyObject *text_take(PyObject *module, jm_status status, char *text, const jm_error *err)
{
    if (status != JM_OK) return core_raise(PyModule_GetState(module), err);
    PyObject *string = core_text(text);
    free(text);
    return string;
}

/* `what`: 'j' JSON, 'f' the features as CSV. */
static jm_status estimate(const jm_estimate_options *options, int what, char **text, jm_error *err)
{
    jm_estimate *made;
    jm_status status = jm_estimate_make(&made, options, err);
    if (status != JM_OK) return status;
    status = what == 'f' ? jm_estimate_features_csv(made, text, err) : jm_estimate_json(made, text, err);
    jm_estimate_free(made);
    return status;
}

PyObject *core_estimate(PyObject *module, PyObject *args)
{
    PyObject *csv = NULL, *model_object = NULL, *model = NULL, *string = NULL;
    jm_estimate_options options = {.size = sizeof options};
    int what = 'j';
    if (!PyArg_ParseTuple(args, "O&|OdddC:estimate", PyUnicode_FSConverter, &csv, &model_object,
                          &options.clock_mhz, &options.program_s, &options.limit_w, &what))
        return NULL;
    jm_error err = {.status = JM_OK};
    jm_status status;
    char *text = NULL;
    options.csv = PyBytes_AsString(csv);
    if (!core_path(model_object, &model, &options.model)) goto out;
    Py_BEGIN_ALLOW_THREADS status = estimate(&options, what, &text, &err);
    Py_END_ALLOW_THREADS string = text_take(module, status, text, &err);
out:
    Py_DECREF(csv);
    Py_XDECREF(model);
    return string;
}

static jm_status train(const jm_train_options *options, char **text, jm_error *err)
{
    jm_training *training;
    jm_status status = jm_estimate_train(&training, options, err);
    if (status != JM_OK) return status;
    status = jm_training_json(training, text, err);
    jm_training_free(training);
    return status;
}

PyObject *core_train(PyObject *module, PyObject *args)
{
    PyObject *features = NULL, *power_object = NULL, *power = NULL, *path_object = NULL, *path = NULL,
             *string = NULL;
    jm_train_options options = {.size = sizeof options};
    if (!PyArg_ParseTuple(args, "O&|OO:train", PyUnicode_FSConverter, &features, &power_object, &path_object))
        return NULL;
    jm_error err = {.status = JM_OK};
    jm_status status;
    char *text = NULL;
    options.features = PyBytes_AsString(features);
    if (!core_path(power_object, &power, &options.power) || !core_path(path_object, &path, &options.path))
        goto out;
    Py_BEGIN_ALLOW_THREADS status = train(&options, &text, &err);
    Py_END_ALLOW_THREADS string = text_take(module, status, text, &err);
out:
    Py_DECREF(features);
    Py_XDECREF(power);
    Py_XDECREF(path);
    return string;
}

PyObject *core_estimate_metrics(PyObject *module, PyObject *args)
{
    PyObject *model_object = NULL, *model = NULL;
    const char *name = NULL;
    char *text = NULL;
    jm_error err = {.status = JM_OK};
    if (!PyArg_ParseTuple(args, "|O:estimate_metrics", &model_object)) return NULL;
    if (!core_path(model_object, &model, &name)) return NULL;
    jm_status status = jm_estimate_metrics(name, &text, &err);
    Py_XDECREF(model);
    return text_take(module, status, text, &err);
}

PyObject *core_estimate_explain(PyObject *module, PyObject *line)
{
    (void)module;
    PyObject *bytes = PyUnicode_AsUTF8String(line);
    if (bytes == NULL) return NULL;
    const char *means = jm_estimate_explain(PyBytes_AsString(bytes));
    Py_DECREF(bytes);
    if (means == NULL) Py_RETURN_NONE;
    return core_text(means);
}
