/* Module paths: "blocks.3.attn". */
#ifndef JM_BASE_MODULE_PATH_H
#define JM_BASE_MODULE_PATH_H

#include "base/strbuf.h"

/* Append the path with "*" for each number: "blocks.*.attn". */
void jm__module_path_add_unnumbered(jm__strbuf *out, const char *path);

#endif
