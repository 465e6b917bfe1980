/* An estimate out of one of its sources. */
#include "base/options.h"
#include "base/status.h"
#include "estimate/estimate.h"
#include "estimate/trained.h"

#include <stdlib.h>

static jm_status check(const jm_estimate_options *options, jm_error *err)
{
    static const char call[] = "jm_estimate_make";
    if (options->csv == NULL) return jm__fail(err, JM_USAGE, 0, call, "there is no file to estimate from");
    if (!(options->clock_mhz >= 0 && options->clock_mhz < 1e5))
        return jm__fail(err, JM_USAGE, 0, call, "%g is no clock in MHz", options->clock_mhz);
    if (!(options->program_s >= 0 && options->program_s < 1e9))
        return jm__fail(err, JM_USAGE, 0, call, "%g is no duration in seconds", options->program_s);
    if (!(options->limit_w >= 0))
        return jm__fail(err, JM_USAGE, 0, call, "%g W is no power limit", options->limit_w);
    return JM_OK;
}

jm_status jm_estimate_make(jm_estimate **out, const jm_estimate_options *asked, jm_error *err)
{
    jm_estimate_options options;
    *out = NULL;
    JM_TRY(jm__options_copy(&options, sizeof options, asked, "jm_estimate_make", err));
    JM_TRY(check(&options, err));
    jm_estimate *estimate = calloc(1, sizeof *estimate);
    if (estimate == NULL) return jm__no_memory(err, "jm_estimate_make");
    bool trained = false;
    jm_status status = options.model == NULL ? JM_OK : jm__trained_is(options.model, &trained, err);
    if (status == JM_OK)
        status = trained ? jm__estimate_of_features(estimate, &options, err)
                         : jm__estimate_of_ncu(estimate, &options, err);
    if (status == JM_OK)
        *out = estimate;
    else
        jm_estimate_free(estimate);
    return status;
}
