/* Readings: sensor,t_s,value. */
#include "base/status.h"
#include "import/import.h"

static jm_status take_reading(jm__import *im, jm__csv *csv, const size_t column[3], jm_error *err)
{
    const jm_sensor *sensor = jm__profile_sensor(&im->profile, jm__csv_text(csv, column[0]));
    if (sensor == NULL)
        return jm__csv_bad(csv, column[0], err, "profile %s knows no sensor \"%.60s\"", im->profile.name,
                           jm__csv_text(csv, column[0]));
    int64_t t_ns;
    double value;
    JM_TRY(jm__csv_scaled(csv, column[1], 9, &t_ns, err));
    JM_TRY(jm__csv_number(csv, column[2], &value, err));
    jm__import_seen(im, t_ns, t_ns);
    return jm__import_add_reading(im, 0, (size_t)(sensor - im->profile.sensors), t_ns, value, err);
}

jm_status jm__import_readings(jm__import *im, jm__csv *csv, jm_error *err)
{
    size_t column[3];
    JM_TRY(jm__csv_column(csv, "sensor", &column[0], err));
    JM_TRY(jm__csv_column(csv, "t_s", &column[1], err));
    JM_TRY(jm__csv_column(csv, "value", &column[2], err));
    for (;;) {
        bool more;
        JM_TRY(jm__csv_next(csv, &more, err));
        if (!more) return JM_OK;
        JM_TRY(take_reading(im, csv, column, err));
    }
}
