/* learn_model: jm_model_learn from Python. */
#include "_core.h"

static PyObject *path_or_none(const char *path)
{
    if (path[0] == '\0') Py_RETURN_NONE;
    return PyUnicode_DecodeFSDefault(path);
}

static PyObject *learnt_dict(const jm_learnt *learnt)
{
    const core_item items[] = {
        {"board", core_text(learnt->board)},
        {"simulated", PyBool_FromLong(learnt->simulated)},
        {"path", path_or_none(learnt->path)},
        {"features", PyLong_FromSize_t(learnt->features)},
        {"kernels", PyLong_FromSize_t(learnt->kernels)},
        {"families", PyLong_FromSize_t(learnt->families)},
        {"left_out", PyLong_FromSize_t(learnt->left_out)},
        {"readings", PyLong_FromSize_t(learnt->readings)},
        {"readings_used", PyLong_FromSize_t(learnt->readings_used)},
        {"residual_w", core_number(learnt->residual_w)},
        {"median_error", core_number(learnt->median_error)},
        {"mean_error", core_number(learnt->mean_error)},
        {"p95_error", core_number(learnt->p95_error)},
        {"worst_error", core_number(learnt->worst_error)},
        {"worst_family", core_text(learnt->worst_family)},
        {"idle_w", core_number(learnt->idle_w)},
        {"idle_u_w", core_number(learnt->idle_u_w)},
        {"gap_w", core_number(learnt->gap_w)},
        {"gap_u_w", core_number(learnt->gap_u_w)},
        {"noise_w", core_number(learnt->noise_w)},
        {"sampler_w", core_number(learnt->sampler_w)},
        {"sampler_u_w", core_number(learnt->sampler_u_w)},
    };
    return core_dict_take(items, sizeof items / sizeof *items);
}

static jm_status learn(const char *path, const jm_learn_options *options, jm_learnt *learnt, jm_error *err)
{
    jm_recording *recording;
    jm_status status = jm_recording_open(&recording, path, err);
    if (status != JM_OK) return status;
    status = jm_model_learn(recording, options, learnt, err);
    jm_recording_close(recording);
    return status;
}

PyObject *core_learn_model(PyObject *module, PyObject *args)
{
    PyObject *recording = NULL, *model_object = NULL, *model = NULL;
    const char *phase = NULL;
    long long board_id = 0;
    if (!PyArg_ParseTuple(args, "O&s|OL:learn_model", PyUnicode_FSConverter, &recording, &phase,
                          &model_object, &board_id))
        return NULL;
    PyObject *dict = NULL;
    const char *path = PyBytes_AsString(recording);
    jm_learn_options options = {.size = sizeof options, .phase = phase, .board_id = board_id};
    jm_learnt learnt = {0};
    jm_error err = {.status = JM_OK};
    jm_status status;
    if (!core_path(model_object, &model, &options.path)) goto out;
    Py_BEGIN_ALLOW_THREADS status = learn(path, &options, &learnt, &err);
    Py_END_ALLOW_THREADS dict =
        status == JM_OK ? learnt_dict(&learnt) : core_raise(PyModule_GetState(module), &err);
out:
    Py_DECREF(recording);
    Py_XDECREF(model);
    return dict;
}
