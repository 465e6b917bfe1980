/* What works on this machine, what does not, why, and the cure. */
#ifndef JOULEMAP_DOCTOR_H
#define JOULEMAP_DOCTOR_H

#include <joulemap/board.h>
#include <joulemap/finding.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All findings of this machine, as a snapshot. */
typedef struct jm_doctor jm_doctor;

/* Looks at NVML and each of its calls, RAPL, CUDA, CUPTI, hardware counters, shared memory and SQLite.
 * Nothing is changed. CUDA, CUPTI and counters are tried by the commands `joulemap` and `joulemap-counters`,
 * which lie beside this library, in processes of their own: a driver that crashes or hangs is a finding.
 * Takes up to some seconds. From any thread.
 *
 * `sim`: as of jm_inventory_create. Never fails for want of a board. */
JM_API jm_status jm_doctor_create(jm_doctor **out, const char *sim, jm_error *err);
JM_API void jm_doctor_free(jm_doctor *doctor);
JM_API size_t jm_doctor_finding_count(const jm_doctor *doctor);

/* NULL past the last. As long as the doctor lives. */
JM_API const jm_finding *jm_doctor_finding(const jm_doctor *doctor, size_t finding);

/* The boards that were found on the way; the doctor's. */
JM_API const jm_inventory *jm_doctor_inventory(const jm_doctor *doctor);

/* For the command alone, in the process that tries a library: loads it (`what`: "cuda", "cupti"),
 * prints one line on stdout for the process that asks, and returns the exit code. */
JM_API int jm_doctor_probe(const char *what, const char *library);

#ifdef __cplusplus
}
#endif
#endif
