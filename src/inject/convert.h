/* CUPTI's activity records as records of the ring. One thread at a time. */
#ifndef JM_INJECT_CONVERT_H
#define JM_INJECT_CONVERT_H

#include "inject/cupti.h"
#include "record/timeline/ring.h"
#include "record/timeline/ring_format.h"

typedef enum jm__conversion {
    JM_CONVERTED,
    JM_NOT_WANTED, /* another kind */
    JM_UNFINISHED, /* work without an end: CUPTI was asked for it too early */
} jm__conversion;

jm__conversion jm__convert(jm_ring_kernel *out, const CUpti_Activity *record, jm__names *names);

#endif
