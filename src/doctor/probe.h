/* Tries a library that may crash or hang in a separate process (base/helper.h): `joulemap probe WHAT
 * LIBRARY`. */
#ifndef JM_DOCTOR_PROBE_H
#define JM_DOCTOR_PROBE_H

#include <stdbool.h>
#include <stdint.h>

/* WHAT */
#define JM_PROBE_CUDA  "cuda"  /* cuInit(0) of libcuda; the number is what it returned */
#define JM_PROBE_CUPTI "cupti" /* jm__cupti_open; the number is the API's version */

typedef struct jm__probe_answer {
    bool called; /* the library was loaded and called */
    bool absent; /* there is no such file */
    uint32_t number;
    char why[256]; /* why it was not called; "": it was */
} jm__probe_answer;

/* Blocks for about `limit_ns` at most. *answer is always filled. */
void jm__probe_run(jm__probe_answer *answer, const char *what, const char *library, int64_t limit_ns);

#endif
