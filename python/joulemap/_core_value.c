/* Values and errors of the core as Python objects. */
#include "_core.h"

#include <math.h>

PyObject *core_text(const char *text)
{
    if (!text) Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

PyObject *core_readable(PyObject *module, PyObject *text)
{
    (void)module;
    Py_ssize_t size;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &size);
    if (utf8 && strlen(utf8) == (size_t)size) {
        Py_INCREF(text);
        return text;
    }
    if (!utf8 && !PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return NULL;
    PyErr_Clear();
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
    PyObject *plain = bytes ? PyUnicode_FromEncodedObject(bytes, "utf-8", "strict") : NULL;
    PyObject *nul = PyUnicode_FromStringAndSize("", 1), *shown = PyUnicode_FromString("\\x00");
    PyObject *readable = plain && nul && shown ? PyUnicode_Replace(plain, nul, shown, -1) : NULL;
    Py_XDECREF(bytes);
    Py_XDECREF(plain);
    Py_XDECREF(nul);
    Py_XDECREF(shown);
    return readable;
}

PyObject *core_number(double value)
{
    if (isnan(value)) Py_RETURN_NONE;
    return PyFloat_FromDouble(value);
}

bool core_path(PyObject *object, PyObject **bytes, const char **path)
{
    if (!object || object == Py_None) return true;
    if (!PyUnicode_FSConverter(object, bytes)) return false;
    *path = PyBytes_AsString(*bytes);
    return *path != NULL;
}

int core_append(PyObject *list, PyObject *value)
{
    if (!value) return -1;
    int failed = PyList_Append(list, value);
    Py_DECREF(value);
    return failed;
}

PyObject *core_dict_take(const core_item *items, size_t count)
{
    PyObject *dict = PyDict_New();
    for (size_t i = 0; i < count; i++) {
        PyObject *value = items[i].value;
        if (dict && (!value || PyDict_SetItemString(dict, items[i].key, value) < 0)) Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

int core_constant_add(PyObject *module, const char *name, PyObject *value)
{
    if (!value) return -1;
    int failed = PyModule_AddObjectRef(module, name, value);
    Py_DECREF(value);
    return failed;
}

bool core_forgive(PyObject *where)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return false;
    PyErr_WriteUnraisable(where);
    return true;
}

void core_object_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    union { /* C has no cast from an object pointer to a function's */
        void *slot;
        freefunc call;
    } tp_free = {.slot = PyType_GetSlot(type, Py_tp_free)};
    tp_free.call(self);
    Py_DECREF(type);
}

/* Hints of the core name options of the command. Python's errors name arguments instead. */
static const struct {
    const char *command, *python;
} phrases[] = {
    {"see --help", "see help(joulemap)"},
    {"choose another name with -o, or replace it with --force", "choose another path=, or overwrite=True"},
    {"with -o", "with path="},
    {"compare with --per run", "compare with per=\"run\""},
    {"with --board NUMBER", "with gpu="},
    {"record with --counters", "record with counters=True"},
    {"the simulated GPU: --sim h200", "the simulated GPU: sim=\"h200\""},
};

/* `text` (stolen, may be NULL after an error) with Python's phrases. */
static PyObject *translate(PyObject *text)
{
    for (size_t i = 0; text && i < sizeof phrases / sizeof *phrases; i++) {
        PyObject *command = core_text(phrases[i].command), *python = core_text(phrases[i].python);
        PyObject *replaced = command && python ? PyUnicode_Replace(text, command, python, -1) : NULL;
        Py_XDECREF(command);
        Py_XDECREF(python);
        Py_DECREF(text);
        text = replaced;
    }
    return text;
}

static int attribute_put(PyObject *object, const char *name, PyObject *value)
{
    if (!value) return -1;
    int failed = PyObject_SetAttrString(object, name, value);
    Py_DECREF(value);
    return failed;
}

PyObject *core_raise(const core_state *state, const jm_error *err)
{
    PyObject *type = err->status == JM_NO_DEVICE ? state->no_device_error : state->error;
    char clean[3 * sizeof err->text],
        clean_hint[3 * sizeof err->hint]; /* a traceback prints control characters as they are */
    const char *cause = err->text[0] ? err->text : jm_status_text(err->status);
    PyObject *text = translate(core_text(jm_text_printable(clean, sizeof clean, cause)));
    PyObject *hint = translate(core_text(jm_text_printable(clean_hint, sizeof clean_hint, err->hint)));
    PyObject *message = NULL;
    PyObject *error = NULL;
    if (!text || !hint) goto out;
    message = err->hint[0] ? PyUnicode_FromFormat("%U: %U", text, hint) : PyUnicode_FromFormat("%U", text);
    if (!message) goto out;
    error = PyObject_CallFunctionObjArgs(type, message, NULL);
    if (!error) goto out;
    if (attribute_put(error, "status", core_text(jm_status_name(err->status))) < 0 ||
        attribute_put(error, "code", PyLong_FromLongLong(err->code)) < 0 ||
        attribute_put(error, "call", core_text(err->call)) < 0 ||
        PyObject_SetAttrString(error, "hint", hint) < 0)
        goto out;
    PyErr_SetObject(type, error);
out:
    Py_XDECREF(text);
    Py_XDECREF(hint);
    Py_XDECREF(message);
    Py_XDECREF(error);
    return NULL;
}
