/* A folder for files that nobody keeps. A signal that ends this program takes it away too. */
#ifndef CLI_SCRATCH_H
#define CLI_SCRATCH_H

#include "cli/verb.h"

/* TMPDIR/joulemap-VERB-XXXXXX; one at a time. CLI_GO_ON, or the exit code. */
int cli_scratch_make(const cli_args *args);

/* The path of a file in it, which goes with it, as do the journals of a recording. As long as the folder is
 * there; NULL: no folder was made, or there are too many files. */
const char *cli_scratch_file(const char *name);

/* No folder: nothing happens. */
void cli_scratch_remove(void);

/* From now on it stays. */
void cli_scratch_keep(void);

#endif
