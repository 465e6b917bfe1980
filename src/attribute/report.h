/* A report made from rows in memory: the inside of joulemap/report.h. */
#ifndef JM_ATTRIBUTE_REPORT_H
#define JM_ATTRIBUTE_REPORT_H

#include "recording/dataset.h"
#include <joulemap/report.h>

/* The report copies nothing: `dataset` must live as long as it does. */
jm_status jm__report_from_dataset(jm_report **out, const jm__dataset *dataset,
                                  const jm_report_options *options, jm_error *err);

#endif
