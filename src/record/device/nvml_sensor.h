/* The sensors of NVML: the role of each, and the one call that reads it. */
#ifndef JM_RECORD_DEVICE_NVML_SENSOR_H
#define JM_RECORD_DEVICE_NVML_SENSOR_H

#include "format/rows/sensor_role.h"
#include "record/device/nvml_load.h"

/* Marks a result: the call's symbol is missing. Outside of NVML's own numbers. */
#define JM_NVML_NO_SYMBOL (-1)

typedef struct jm__nvml_sensor {
    jm__sensor_role role;
    const char *source;
    bool buffered;
    int selector; /* ring type, field scope, clock: what `read` needs to know */
    /* NVML's result, or JM_NVML_NO_SYMBOL. Does not stamp what is not buffered. */
    int (*read)(const jm__nvml *nvml, jm__nvml_device device, int selector, jm__samples *out);
} jm__nvml_sensor;

/* In order of preference where two have the same role. Ends with the role OTHER. */
extern const jm__nvml_sensor jm__nvml_sensors[];

#endif
