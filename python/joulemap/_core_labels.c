/* Labels on autograd nodes: which module's backward begins when a node runs. */
#include "_core_calls.h"

/* 1 if the node was labelled, 0 if it had a label; -1 with an exception. */
static int label_node(const core_labels *labels, PyObject *node, core_label *label)
{
    PyObject *metadata = PyObject_GetAttr(node, labels->metadata);
    if (!metadata) return -1;
    if (!PyDict_Check(metadata)) { /* a third-party tensor class with its own node class */
        PyErr_SetString(PyExc_TypeError, "the metadata of an autograd node is not a dict");
        Py_DECREF(metadata);
        return -1;
    }
    int labelled = PyDict_Contains(metadata, labels->key);
    if (labelled == 0) labelled = PyDict_SetItem(metadata, labels->key, Py_True) < 0 ? -1 : 0;
    Py_DECREF(metadata);
    if (labelled != 0) return labelled < 0 ? -1 : 0;
    if (!label->hook) label->hook = PyObject_GetAttr((PyObject *)label->frame, label->name);
    if (!label->hook) return -1;
    PyObject *handle = PyObject_CallMethodObjArgs(node, labels->register_prehook, label->hook, NULL);
    Py_XDECREF(handle);
    return handle ? 1 : -1;
}

static int label_node_of(const core_labels *labels, PyObject *tensor, core_label *label)
{
    PyObject *node = PyObject_GetAttr(tensor, labels->grad_fn);
    int done = !node ? -1 : node == Py_None ? 0 : label_node(labels, node, label);
    Py_XDECREF(node);
    return done;
}

/* Labels the node of a view's base, too: a later in-place operation replaces the view's own node. */
static int label_tensor(const core_labels *labels, PyObject *tensor, core_label *label)
{
    int done = label_node_of(labels, tensor, label);
    if (done <= 0) return done;
    PyObject *answer = PyObject_CallMethodObjArgs(tensor, labels->is_view, NULL);
    int is_view = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    if (is_view <= 0) return is_view;
    PyObject *base = PyObject_GetAttr(tensor, labels->base);
    done = base ? label_node_of(labels, base, label) : -1;
    Py_XDECREF(base);
    return done;
}

static int label_list(const core_labels *labels, PyObject *list, core_label *label, int nesting)
{
    for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
        PyObject *item = PyList_GetItem(list, i);
        if (!item) return -1;
        Py_INCREF(item);
        int done = core_label_nodes(labels, item, label, nesting);
        Py_DECREF(item);
        if (done < 0) return -1;
    }
    return 0;
}

static int label_tuple(const core_labels *labels, PyObject *tuple, core_label *label, int nesting)
{
    for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); i++)
        if (core_label_nodes(labels, PyTuple_GetItem(tuple, i), label, nesting) < 0) return -1;
    return 0;
}

static int label_parts(const core_labels *labels, PyObject *value, core_label *label, int nesting)
{
    PyObject *parts = PyDict_CheckExact(value) ? PyDict_Values(value)
                                               : PyObject_CallFunctionObjArgs(labels->parts, value, NULL);
    int done = !parts ? -1 : PyList_Check(parts) ? label_list(labels, parts, label, nesting) : 0;
    Py_XDECREF(parts);
    return done;
}

int core_label_nodes(const core_labels *labels, PyObject *value, core_label *label, int nesting)
{
    if (PyObject_TypeCheck(value, labels->tensor)) return label_tensor(labels, value, label) < 0 ? -1 : 0;
    if (nesting == 0 || value == Py_None || PyUnicode_Check(value) || PyLong_Check(value) ||
        PyFloat_Check(value))
        return 0;
    if (PyTuple_Check(value)) return label_tuple(labels, value, label, nesting - 1);
    if (PyList_Check(value)) return label_list(labels, value, label, nesting - 1);
    return label_parts(labels, value, label, nesting - 1);
}
