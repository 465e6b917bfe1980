/* What `joulemap cap` does, a file a word of it (cap_search.c, ...). Each returns the exit code. */
#ifndef CLI_CAP_H
#define CLI_CAP_H

#include "cli/verb.h"

int cli_cap_search(const cli_args *args);

#endif
