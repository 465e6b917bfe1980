/* What ncu counted of a program's kernels, given to the same kernels of a recording. */
#ifndef JM_IMPORT_NCU_H
#define JM_IMPORT_NCU_H

#include "format/dataset.h"
#include "format/writer.h"

/* Kernels go by name, launch shape and order: the n-th launch of such a kernel in the recording is the n-th
 * of the file, and after its last comes its first again. Each launch that is told of becomes a window of
 * counters, as long as it took, until its class has been seen for long enough. NOT_FOUND: no kernel of the
 * recording is in the file; BAD_DATA: it is no file of ncu's, or it lacks counters, which are named. */
jm_status jm__import_ncu(jm__writer *writer, const jm__dataset *data, int64_t board_id, const char *path,
                         jm_error *err);

#endif
