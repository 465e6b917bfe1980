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
 * Nothing is changed. CUDA, CUPTI and counters are tried in separate processes (`joulemap` and
 * `joulemap-counters` beside this library), so a driver that crashes or hangs is only a finding. Takes up to
 * some seconds. Any thread.
 *
 * `sim`: as in jm_inventory_create. A machine without boards is no failure. */
JM_API jm_status jm_doctor_create(jm_doctor **out, const char *sim, jm_error *err);
JM_API void jm_doctor_free(jm_doctor *doctor);
JM_API size_t jm_doctor_finding_count(const jm_doctor *doctor);

/* NULL past the last. Valid as long as the doctor. */
JM_API const jm_finding *jm_doctor_finding(const jm_doctor *doctor, size_t finding);

/* The boards that were found; owned by the doctor. */
JM_API const jm_inventory *jm_doctor_inventory(const jm_doctor *doctor);

/* For the command only, in the process that tries a library: load it (`what`: "cuda", "cupti"), print one
 * line on stdout for the starting process, and return the exit code. */
JM_API int jm_doctor_probe(const char *what, const char *library);

#ifdef __cplusplus
}
#endif
#endif
