/* Timeline: the contents of a recording as Python objects; readings as bytes for `array`. */
#include "_core.h"

static PyObject *index_or_none(int32_t index)
{
    if (index < 0) Py_RETURN_NONE;
    return PyLong_FromLong(index);
}

static PyObject *series_dict(const jm_series *series)
{
    const core_item items[] = {
        {"name", core_text(series->sensor->name)},
        {"quantity", core_text(jm_quantity_text(series->sensor->quantity))},
        {"unit", core_text(jm_quantity_unit(series->sensor->quantity))},
        {"backend", core_text(series->board->backend)},
        {"kind", core_text(jm_board_kind_text(jm_board_kind_of(series->board)))},
        {"gpu", index_or_none(series->board->index)},
        {"cuda_index", index_or_none(series->board->cuda_index)},
        {"uuid", core_text(series->board->uuid)},
        {"board", core_text(series->board->name)},
        {"simulated", PyBool_FromLong(series->board->simulated)},
        {"missing", core_text(series->sensor->missing)},
        {"lag_s", PyFloat_FromDouble(1e-9 * (double)series->sensor->lag_ns)},
        {"window_s", PyFloat_FromDouble(1e-9 * (double)series->sensor->window_ns)},
        {"t_ns", PyBytes_FromStringAndSize((const char *)series->t_ns,
                                           (Py_ssize_t)(series->count * sizeof *series->t_ns))},
        {"values", PyBytes_FromStringAndSize((const char *)series->values,
                                             (Py_ssize_t)(series->count * sizeof *series->values))},
    };
    return core_dict_take(items, sizeof items / sizeof *items);
}

static PyObject *parent_or_none(size_t parent)
{
    if (parent == SIZE_MAX) Py_RETURN_NONE;
    return PyLong_FromSize_t(parent);
}

static PyObject *payload_or_none(const jm_timeline_span *span)
{
    switch (span->payload_kind) {
    case JM_PAYLOAD_INTEGER:
        return PyLong_FromLongLong(span->payload.integer);
    case JM_PAYLOAD_NATURAL:
        return PyLong_FromUnsignedLongLong(span->payload.natural);
    case JM_PAYLOAD_REAL:
        return PyFloat_FromDouble(span->payload.real);
    default:
        Py_RETURN_NONE;
    }
}

static PyObject *span_dict(const jm_timeline_span *span)
{
    const core_item items[] = {
        {"kind", core_text(jm_span_kind_text(span->kind))},
        {"name", core_text(span->name)},
        {"type", core_text(span->type)},
        {"start_ns", PyLong_FromLongLong(span->start_ns)},
        {"end_ns", PyLong_FromLongLong(span->end_ns)},
        {"ended", PyBool_FromLong(span->ended)},
        {"parent", parent_or_none(span->parent)},
        {"samples", PyLong_FromUnsignedLong(span->samples)},
        {"tokens", PyLong_FromUnsignedLong(span->tokens)},
        {"payload", payload_or_none(span)},
        {"process_id", PyLong_FromLongLong(span->pid)},
        {"rank", index_or_none((int32_t)span->rank)},
        {"thread_id", PyLong_FromLongLong(span->thread_id)},
    };
    return core_dict_take(items, sizeof items / sizeof *items);
}

static PyObject *mark_dict(const jm_timeline_mark *mark)
{
    const core_item items[] = {
        {"name", core_text(mark->name)},
        {"t_ns", PyLong_FromLongLong(mark->t_ns)},
        {"meta", core_text(mark->meta)},
        {"process_id", PyLong_FromLongLong(mark->pid)},
        {"rank", index_or_none((int32_t)mark->rank)},
        {"thread_id", PyLong_FromLongLong(mark->thread_id)},
    };
    return core_dict_take(items, sizeof items / sizeof *items);
}

static PyObject *all_series(const jm_timeline *timeline)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < jm_timeline_series_count(timeline); i++)
        if (core_append(list, series_dict(jm_timeline_series(timeline, i))) < 0) Py_CLEAR(list);
    return list;
}

static PyObject *all_spans(const jm_timeline *timeline)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < jm_timeline_span_count(timeline); i++)
        if (core_append(list, span_dict(jm_timeline_span_get(timeline, i))) < 0) Py_CLEAR(list);
    return list;
}

static PyObject *all_marks(const jm_timeline *timeline)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < jm_timeline_mark_count(timeline); i++)
        if (core_append(list, mark_dict(jm_timeline_mark_get(timeline, i))) < 0) Py_CLEAR(list);
    return list;
}

PyObject *core_timeline(jm_recording *recording, const core_state *state, PyObject *args)
{
    long long from_ns = 0, to_ns = 0;
    bool whole = PyTuple_Size(args) == 0;
    if (!whole && !PyArg_ParseTuple(args, "LL:timeline", &from_ns, &to_ns)) return NULL;
    jm_error err = {.status = JM_OK};
    jm_timeline *timeline = NULL;
    jm_status status;
    Py_BEGIN_ALLOW_THREADS status =
        whole ? jm_timeline_create(&timeline, recording, &err)
              : jm_timeline_create_readings(&timeline, recording, from_ns, to_ns, &err);
    Py_END_ALLOW_THREADS if (status != JM_OK) return core_raise(state, &err);
    const core_item items[] = {
        {"start_ns", PyLong_FromLongLong(jm_timeline_start_ns(timeline))},
        {"end_ns", PyLong_FromLongLong(jm_timeline_end_ns(timeline))},
        {"unix_offset_ns", PyLong_FromLongLong(jm_timeline_unix_offset_ns(timeline))},
        {"series", all_series(timeline)},
        {"spans", all_spans(timeline)},
        {"marks", all_marks(timeline)},
    };
    jm_timeline_free(timeline);
    return core_dict_take(items, sizeof items / sizeof *items);
}
