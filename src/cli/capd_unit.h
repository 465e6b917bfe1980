/* The unit of `joulemap capd` for systemd. */
#ifndef CLI_CAPD_UNIT_H
#define CLI_CAPD_UNIT_H

#include "cli/args.h"

/* On stdout, for this very command; the exit code. */
int cli_capd_unit_print(const cli_args *args);

#endif
