/* A file of beliefs, of whatever source. */
#ifndef JM_ATTRIBUTE_PRIOR_FILE_H
#define JM_ATTRIBUTE_PRIOR_FILE_H

#include "attribute/prior/source.h"

/* The beliefs of a file about one board. BAD_DATA names file and line, or the headers that are known. */
jm_status jm__believe_file(jm__belief *belief, jm__belief_lines *lines, const char *path,
                           const jm__belief_scene *scene, jm_error *err);

#endif
