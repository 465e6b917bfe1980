/* joulemap: where the joules of a GPU program go. The whole C interface. */
#ifndef JOULEMAP_H
#define JOULEMAP_H

#include <joulemap/board.h>
#include <joulemap/cap.h>
#include <joulemap/counters.h>
#include <joulemap/diff.h>
#include <joulemap/doctor.h>
#include <joulemap/estimate.h>
#include <joulemap/import.h>
#include <joulemap/lease.h>
#include <joulemap/model.h>
#include <joulemap/page.h>
#include <joulemap/recording.h>
#include <joulemap/repeats.h>
#include <joulemap/report.h>
#include <joulemap/run.h>
#include <joulemap/span.h>
#include <joulemap/status.h>
#include <joulemap/thinned.h>
#include <joulemap/timeline.h>

#endif
