/* The response of this very run, found on a sample of its readings with classes of like power put together.
 */
#ifndef JM_ATTRIBUTE_FIT_RESPOND_H
#define JM_ATTRIBUTE_FIT_RESPOND_H

#include "attribute/fit/calibrate.h"
#include "attribute/fit/readings.h"

typedef struct jm__respond_input {
    const jm_sensor *sensor;
    jm__design *design;
    size_t class_columns;  /* the first idle column */
    const double *seconds; /* [columns]: how long each ran while the readings were taken */
    const jm__prior *prior;
} jm__respond_input;

jm_status jm__respond(jm__calibration *out, const jm__respond_input *input, const jm__reading_list *learn,
                      jm_error *err);

#endif
