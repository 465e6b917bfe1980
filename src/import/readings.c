/* Readings: sensor,t_s,value. */
#include "base/status.h"
#include "base/strbuf.h"
#include "import/gather.h"

enum { SENSOR, STAMP, VALUE, COLUMNS };

static jm_status no_such_sensor(const jm__profile *profile, const jm__csv *csv, size_t column, jm_error *err)
{
    jm__strbuf names = {0};
    for (size_t i = 0; i < profile->sensor_count; i++)
        jm__strbuf_format(&names, "%s%s", i > 0 ? ", " : "", profile->sensors[i].name);
    jm__csv_bad(csv, column, err, "profile %s has no sensor \"%.60s\"", profile->name,
                jm__csv_text(csv, column));
    if (!names.failed) jm__hint(err, JM_BAD_DATA, "it has %.400s", names.text);
    jm__strbuf_free(&names);
    return JM_BAD_DATA;
}

static jm_status take_reading(jm__import *im, jm__csv *csv, const size_t column[COLUMNS], jm_error *err)
{
    const jm_sensor *sensor = jm__profile_sensor(&im->profile, jm__csv_text(csv, column[SENSOR]));
    if (sensor == NULL) return no_such_sensor(&im->profile, csv, column[SENSOR], err);
    const jm__import_target at = {.sensor = (size_t)(sensor - im->profile.sensors), .stamp = column[STAMP]};
    int64_t t_ns;
    double value;
    JM_TRY(jm__csv_scaled(csv, column[STAMP], 9, &t_ns, err));
    if (jm__csv_missing(csv, column[VALUE])) return JM_OK; /* a gap */
    JM_TRY(jm__csv_number(csv, column[VALUE], &value, err));
    jm__import_extend_time(im, t_ns, t_ns);
    return jm__import_add_reading(im, csv, &at, value, err);
}

jm_status jm__import_readings(jm__import *im, jm__csv *csv, jm_error *err)
{
    static const char *const names[COLUMNS] = {"sensor", "t_s", "value"};
    size_t column[COLUMNS];
    JM_TRY(jm__import_columns(csv, names, COLUMNS, column, err));
    for (;;) {
        bool more;
        JM_TRY(jm__csv_next(csv, &more, err));
        if (!more) return JM_OK;
        JM_TRY(take_reading(im, csv, column, err));
    }
}
