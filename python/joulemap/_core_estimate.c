/* estimate, train, profile: jm_estimate_* from Python, as JSON. */
#include "_core.h"

/* `text` as a Python string (the core's text is freed), or the error. */
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
    jm_estimate *e;
    jm_status status = jm_estimate_make(&e, options, err);
    if (status != JM_OK) return status;
    status = what == 'f' ? jm_estimate_features_csv(e, text, err) : jm_estimate_json(e, text, err);
    jm_estimate_free(e);
    return status;
}

PyObject *core_estimate(PyObject *module, PyObject *args)
{
    PyObject *csv = NULL, *model_object = NULL, *model = NULL, *string = NULL;
    jm_estimate_options options = {.size = sizeof options};
    int what = 'j';
    if (!PyArg_ParseTuple(args, "O&|OdddzC:estimate", PyUnicode_FSConverter, &csv, &model_object,
                          &options.clock_mhz, &options.program_s, &options.limit_w, &options.board, &what))
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

/* ---- profile ---- */

/* A sequence of Python strings as an argv. */
typedef struct argv {
    PyObject *bytes;    /* list of the bytes objects that `items` points into */
    const char **items; /* NULL-terminated */
} argv;

static void argv_free(argv *w)
{
    Py_XDECREF(w->bytes);
    free(w->items);
}

/* False with an exception; argv_free() is needed in any case. */
static bool argv_make(argv *w, PyObject *sequence)
{
    Py_ssize_t count = PySequence_Size(sequence);
    w->bytes = count < 0 ? NULL : PyList_New(0);
    if (w->bytes == NULL) return false;
    w->items = calloc((size_t)count + 1, sizeof *w->items);
    if (w->items == NULL) PyErr_NoMemory();
    for (Py_ssize_t i = 0; w->items != NULL && i < count; i++) {
        PyObject *word = PySequence_GetItem(sequence, i), *bytes = NULL;
        bool fine =
            word != NULL && PyUnicode_FSConverter(word, &bytes) != 0 && PyList_Append(w->bytes, bytes) == 0;
        if (fine) w->items[i] = PyBytes_AsString(bytes);
        Py_XDECREF(word);
        Py_XDECREF(bytes);
        if (!fine) return false;
    }
    return w->items != NULL;
}

/* Called while ncu runs: lets Python handle signals. `context`: the saved thread state (PyThreadState **). */
static bool goes_on(void *context, int64_t ncu_pid)
{
    PyThreadState **state = context;
    (void)ncu_pid;
    PyEval_RestoreThread(*state);
    bool fine = PyErr_CheckSignals() == 0;
    *state = PyEval_SaveThread();
    return fine;
}

PyObject *core_estimate_profile(PyObject *module, PyObject *args)
{
    PyObject *command_object, *arguments_object, *csv = NULL, *model_object, *model = NULL, *result = NULL;
    argv command = {0}, arguments = {0};
    jm_estimate_profile_options options = {.size = sizeof options, .goes_on = goes_on};
    jm_error err = {.status = JM_OK};
    int exit_code = 0;
    if (!PyArg_ParseTuple(args, "OO&sOdO:estimate_profile", &command_object, PyUnicode_FSConverter, &csv,
                          &options.page, &model_object, &options.timeout_s, &arguments_object))
        return NULL;
    if (!argv_make(&command, command_object) || !argv_make(&arguments, arguments_object)) goto out;
    if (!core_path(model_object, &model, &options.model)) goto out;
    options.command = command.items;
    options.arguments = arguments.items;
    options.csv = PyBytes_AsString(csv);
    PyThreadState *saved = PyEval_SaveThread();
    options.context = &saved;
    jm_status status = jm_estimate_profile(&options, &exit_code, &err);
    PyEval_RestoreThread(saved);
    if (PyErr_Occurred() != NULL) goto out; /* a signal handler raised */
    result = status == JM_OK ? PyLong_FromLong(exit_code) : core_raise(PyModule_GetState(module), &err);
out:
    argv_free(&command);
    argv_free(&arguments);
    Py_XDECREF(csv);
    Py_XDECREF(model);
    return result;
}
