/* What the files of the extension module share. */
#ifndef JM_PYTHON_CORE_H
#define JM_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <joulemap/joulemap.h>

typedef struct core_state {
    PyObject *error;           /* joulemap.Error */
    PyObject *no_device_error; /* joulemap.NoDeviceError */
    PyTypeObject *report_type, *thread_type, *layer_type, *frame_type, *backward_type, *backward_end_type;
} core_state;

extern PyType_Spec core_span_spec, core_run_spec, core_recording_spec, core_report_spec, core_diff_spec,
    core_lease_spec, core_search_spec, core_thread_spec, core_layer_spec, core_frame_spec, core_backward_spec,
    core_backward_end_spec, core_calls_spec;

/* The state of the module that has the type of `self`. */
static inline const core_state *core_state_of(PyObject *self)
{
    return PyType_GetModuleState(Py_TYPE(self));
}

/* Raise `err` as joulemap.Error with status, code, call and hint; always NULL. */
PyObject *core_raise(const core_state *state, const jm_error *err);

/* Report the pending exception as unraisable in `where`, and clear it. False, with the exception kept, if it
 * is no Exception (KeyboardInterrupt). */
bool core_forgive(PyObject *where);

/* A string of a text of the core, which may have been cut inside a character. NULL becomes None. */
PyObject *core_text(const char *text);

/* `text` with surrogates (of os.fsdecode) and NUL written as "\\udcff" and "\\x00", for the core. */
PyObject *core_readable(PyObject *module, PyObject *text);

/* A number that may be missing: NaN becomes None. */
PyObject *core_number(double value);

/* A path argument; None and NULL leave *path as it is. *path points into *bytes, which the caller releases.
 * False with an exception. */
bool core_path(PyObject *object, PyObject **bytes, const char **path);

/* Append `value` (stolen, may be NULL after an error); -1 on error. */
int core_append(PyObject *list, PyObject *value);

/* A dict's key and its value (stolen, may be NULL after an error). */
typedef struct core_item {
    const char *key;
    PyObject *value;
} core_item;

PyObject *core_dict_take(const core_item *items, size_t count);

/* A module's attribute; `value` is stolen, may be NULL after an error. */
int core_constant_add(PyObject *module, const char *name, PyObject *value);

/* Frees an instance of a heap type without references to other objects. */
void core_object_free(PyObject *self);

/* A jm_report over `recording` from the Python arguments of report(); `owner` keeps the recording alive. */
PyObject *core_report_create(PyObject *owner, jm_recording *recording, const core_state *state,
                             PyObject *args, PyObject *kwargs);

/* The fields of joulemap.Timeline as a dict; NULL with an exception. `args`: empty, or an interval of time,
 * which limits the result to its readings. */
PyObject *core_timeline(jm_recording *recording, const core_state *state, PyObject *args);

/* A GPU's number in a recording, from the Python arguments of board_id(): its index in NVML or CUDA. */
PyObject *core_board_id(jm_recording *recording, const core_state *state, PyObject *args);

/* Joules of an interval of time, from the Python arguments of energy(). */
PyObject *core_energy(jm_recording *recording, const core_state *state, PyObject *args);

/* The report behind a Python object of ours; NULL with an exception if it is none. */
const jm_report *core_report_of(const core_state *state, PyObject *object);

/* (energy_j, low_j, high_j) */
PyObject *core_sum(const jm_sum *sum);

/* A text of the core (freed here) as a Python string, or the error. `object` has a type of this module. */
PyObject *core_view_take(PyObject *object, jm_status status, char *text, const jm_error *err);

/* The module's ROW_FIELDS, TOTALS_FIELDS and QUALITY_FIELDS. */
int core_report_fields_add(PyObject *module);

/* Functions of the module, as Python calls them. */
PyObject *core_intern(PyObject *module, PyObject *text);
PyObject *core_span_begin(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *core_collective_begin(PyObject *module, PyObject *args);
PyObject *core_span_end(PyObject *module, PyObject *span);
PyObject *core_follow_steps(PyObject *module, PyObject *callable);
PyObject *core_follow_tracing(PyObject *module, PyObject *callable);

/* Call the follower of tracing if tracing has changed. No exception is left set. */
void core_notify_tracing(void);
PyObject *core_mark(PyObject *module, PyObject *args);
PyObject *core_boards(PyObject *module, PyObject *args);
PyObject *core_findings(PyObject *module, PyObject *args);
PyObject *core_per(void);
PyObject *core_repeats(PyObject *module, PyObject *values);
PyObject *core_thinned(PyObject *module, PyObject *args);
PyObject *core_learn_model(PyObject *module, PyObject *args);
PyObject *core_estimate(PyObject *module, PyObject *args);
PyObject *core_train(PyObject *module, PyObject *args);
PyObject *core_estimate_profile(PyObject *module, PyObject *args);
PyObject *core_cap_boards(PyObject *module, PyObject *args);
PyObject *core_cap_restore(PyObject *module, PyObject *unused);

#endif
