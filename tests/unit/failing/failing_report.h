/* A report as what is tried: its context is a jm_report *. */
#ifndef TEST_FAILING_REPORT_H
#define TEST_FAILING_REPORT_H

#include "failing_each.h"

#include <joulemap/report.h>

static inline char *failing_tell_report(void *context)
{
    char *json;
    assert_int_equal(jm_report_json(*(jm_report **)context, &json, NULL), JM_OK);
    return json;
}

static inline void failing_drop_report(void *context)
{
    jm_report_free(*(jm_report **)context);
    *(jm_report **)context = NULL;
}

#endif
