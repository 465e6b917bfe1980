/* What a recording needs of the machine beside boards and CUDA. */
#ifndef JM_DOCTOR_MACHINE_H
#define JM_DOCTOR_MACHINE_H

#include "record/device/device.h"

/* "shared memory", "SQLite". */
void jm__doctor_machine(jm__findings *findings);

#endif
