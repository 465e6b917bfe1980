/* Facts about a run for the table `meta`: which machine, which command. */
#ifndef JM_RECORD_RUN_FACTS_H
#define JM_RECORD_RUN_FACTS_H

#include "record/run/row_sink.h"

/* `command` NULL: that of this process. */
void jm__run_facts_write(jm__sinks *sinks, const char *command);

/* What was found of each library and interface, and what was missing. */
void jm__run_facts_write_findings(jm__sinks *sinks, const jm_inventory *inventory);

void jm__run_facts_write_number(jm__sinks *sinks, const char *key, int64_t value);

/* What tracing costs a launch, as it was measured at some time on this machine. */
void jm__run_facts_write_launch_cost(jm__sinks *sinks);

#endif
