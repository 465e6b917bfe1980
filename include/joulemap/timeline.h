/* The data of a recording as recorded, in order of time: readings of each sensor, spans, marks. Reports
 * (joulemap/report.h) assign energy to them. */
#ifndef JOULEMAP_TIMELINE_H
#define JOULEMAP_TIMELINE_H

#include <joulemap/recording.h>
#include <joulemap/span.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct jm_timeline jm_timeline;

/* The readings of one sensor with its own timestamps (CLOCK_MONOTONIC). A reading is the power of `lag_ns`
 * before, and of BOX and COUNTER sensors that of the time before that (docs/sensors.md). */
typedef struct jm_series {
    const jm_board *board;
    const jm_sensor *sensor; /* its `missing` says why there are no readings */
    size_t count;
    const int64_t *t_ns;  /* [count], non-decreasing */
    const double *values; /* [count], in jm_quantity_unit(sensor->quantity) */
} jm_series;

/* A phase, step, call of a layer, range. */
typedef struct jm_timeline_span {
    jm_span_kind kind;
    const char *name;
    const char *type; /* "Linear(768, 3072)"; "" if it has none */
    int64_t pid;
    int64_t rank; /* of a parallel program; -1: none */
    int64_t thread_id;
    int64_t start_ns;
    int64_t end_ns;           /* if it never ended, the end of its process or of the recording */
    size_t parent;            /* the enclosing span; SIZE_MAX: none */
    uint32_t samples, tokens; /* 0: unknown */
    bool ended;
    jm_payload_kind payload_kind; /* of a range; JM_PAYLOAD_NONE: none */
    jm_payload payload;
} jm_timeline_span;

typedef struct jm_timeline_mark {
    const char *name;
    const char *meta; /* a JSON object, or NULL */
    int64_t pid;
    int64_t rank; /* -1: none */
    int64_t thread_id;
    int64_t t_ns;
} jm_timeline_mark;

/* Read everything into memory except kernels and hardware counters. The recording may be closed afterwards.
 * Of a damaged file what is left is read (jm_recording_damage). */
JM_API jm_status jm_timeline_create(jm_timeline **out, jm_recording *recording, jm_error *err);

/* Only the readings of an interval of time, without spans and marks, which is as fast in a run of days. Start
 * and end are those of the interval. A damaged file is an error. */
JM_API jm_status jm_timeline_create_readings(jm_timeline **out, jm_recording *recording, int64_t from_ns,
                                             int64_t to_ns, jm_error *err);

/* Only the spans that began in an interval of time, of one kind (JM_SPAN_NONE: all, and marks) and one name
 * (NULL: all), without readings. Parents are found among them. Otherwise as above. */
JM_API jm_status jm_timeline_create_spans(jm_timeline **out, jm_recording *recording, jm_span_kind kind,
                                          const char *name, int64_t from_ns, int64_t to_ns, jm_error *err);
JM_API void jm_timeline_free(jm_timeline *timeline);

JM_API int64_t jm_timeline_start_ns(const jm_timeline *timeline);
JM_API int64_t
jm_timeline_end_ns(const jm_timeline *timeline); /* of a run that goes on: data are complete up to it */

/* CLOCK_REALTIME minus CLOCK_MONOTONIC at the start, nanoseconds; 0 if the recording does not have it (an
 * import). */
JM_API int64_t jm_timeline_unix_offset_ns(const jm_timeline *timeline);

/* One series per sensor, boards in order; out of range: NULL. */
JM_API size_t jm_timeline_series_count(const jm_timeline *timeline);
JM_API const jm_series *jm_timeline_series(const jm_timeline *timeline, size_t series);

/* Sorted by start. */
JM_API size_t jm_timeline_span_count(const jm_timeline *timeline);
JM_API const jm_timeline_span *jm_timeline_span_get(const jm_timeline *timeline, size_t span);

/* Sorted by time; without the recorder's own marks of ended processes. */
JM_API size_t jm_timeline_mark_count(const jm_timeline *timeline);
JM_API const jm_timeline_mark *jm_timeline_mark_get(const jm_timeline *timeline, size_t mark);

#ifdef __cplusplus
}
#endif
#endif
