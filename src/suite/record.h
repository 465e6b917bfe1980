/* The suite from its start to its end: make it ready, rest, play it, switch on and off, rest; all of it
 * recorded. */
#ifndef SUITE_RECORD_H
#define SUITE_RECORD_H

#include "suite/options.h"

#include <joulemap/status.h>

/* With `once`: each kernel a single time (play.h), and no recording. Else phases `idle`, `suite`, `response`,
 * `idle`. A signal ends it early (suite_ended), with a recording that is whole. After a failure there is a
 * recording of what was played, or none if nothing was. */
jm_status suite_record(const suite_options *options, jm_error *err);

#endif
