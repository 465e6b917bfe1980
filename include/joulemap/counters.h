/* Hardware counters: the process that samples them. */
#ifndef JOULEMAP_COUNTERS_H
#define JOULEMAP_COUNTERS_H

#include <joulemap/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For the command joulemap-counters only, with the arguments of its main. Samples the counters of one board
 * for the recorder at its standard input and output, until the recorder is gone. Returns the exit code of
 * wrong usage; else it does not return. */
JM_API int jm_counters_serve(int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif
