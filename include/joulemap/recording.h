/* A recording: one SQLite file, or memory. Schema: docs/file-format.md. */
#ifndef JOULEMAP_RECORDING_H
#define JOULEMAP_RECORDING_H

#include <joulemap/board.h>
#include <joulemap/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct jm_recording jm_recording;

/* Open an existing file for reading. A file that was cut short or left by a killed recorder opens too: what
 * can be read is read, and jm_recording_damage says what is missing. */
JM_API jm_status jm_recording_open(jm_recording **out, const char *path, jm_error *err);
JM_API void jm_recording_close(jm_recording *recording);

/* NULL if complete, else a sentence on the damage. */
JM_API const char *jm_recording_damage(const jm_recording *recording);

/* A value of the table `meta`, NULL if absent; valid until close. */
JM_API const char *jm_recording_meta(const jm_recording *recording, const char *key);

/* The id in this recording of the GPU with this index (jm_board.index). NOT_FOUND lists the indices. */
JM_API jm_status jm_recording_board_id(jm_recording *recording, int index, int64_t *id, jm_error *err);

/* The same for its CUDA index, after CUDA_VISIBLE_DEVICES (jm_board.cuda_index). */
JM_API jm_status jm_recording_cuda_board_id(jm_recording *recording, int cuda_index, int64_t *id,
                                            jm_error *err);

#ifdef __cplusplus
}
#endif
#endif
