/* A recording that nobody keeps, in a folder of its own. A signal that ends this program takes it away too.
 */
#ifndef CLI_SCRATCH_H
#define CLI_SCRATCH_H

#include "cli/verb.h"

/* TMPDIR/joulemap-VERB-XXXXXX, for one recording; one at a time. CLI_GO_ON, or the exit code. */
int cli_scratch_make(const cli_args *args);

/* Where the recording is to be: VERB.joulemap in that folder. */
const char *cli_scratch_recording(void);

/* All of it; nothing where no folder was made. */
void cli_scratch_remove(void);

/* From now on it stays. */
void cli_scratch_keep(void);

#endif
