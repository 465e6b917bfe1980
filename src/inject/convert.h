/* CUPTI's activity records as records of the ring. One thread at a time. */
#ifndef JM_INJECT_CONVERT_H
#define JM_INJECT_CONVERT_H

#include "inject/cupti.h"
#include "timeline/names.h"
#include "timeline/ring_format.h"

#define JM_CALLBACK_IDS 2048

/* The API calls that start work, as two sets of callback ids. */
typedef struct jm__launch_calls {
    unsigned char runtime[JM_CALLBACK_IDS], driver[JM_CALLBACK_IDS];
} jm__launch_calls;

void jm__launch_calls_find(jm__launch_calls *calls, const jm__cupti *cupti);

typedef enum jm__conversion {
    JM_CONVERTED,
    JM_NOT_WANTED, /* another kind, or an API call that starts no work */
    JM_UNFINISHED, /* work without an end: CUPTI was asked for it too early */
} jm__conversion;

jm__conversion jm__convert(jm_ring_kernel *out, const CUpti_Activity *record, const jm__launch_calls *calls,
                           jm__names *names);

#endif
