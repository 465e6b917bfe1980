/* A program under ncu, with what a model needs. */
#include "base/options.h"
#include "base/status.h"
#include "import/ncu/run.h"

#include <joulemap/estimate.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static jm_status check(const jm_estimate_profile_options *options, jm_error *err)
{
    static const char call[] = "jm_estimate_profile";
    const char *page = options->page;
    if (options->command == NULL || options->command[0] == NULL)
        return jm__fail(err, JM_USAGE, 0, call, "there is no program to profile");
    if (options->csv == NULL) return jm__fail(err, JM_USAGE, 0, call, "there is no file to write to");
    if (!(options->timeout_s >= 0))
        return jm__fail(err, JM_USAGE, 0, call, "%g s is no time limit", options->timeout_s);
    if (page == NULL || strcmp(page, "raw") == 0 || strcmp(page, "details") == 0) return JM_OK;
    return jm__fail(err, JM_USAGE, 0, call, "ncu's page is raw or details, not \"%.40s\"", page);
}

jm_status jm_estimate_profile(const jm_estimate_profile_options *asked, int *exit_code, jm_error *err)
{
    jm_estimate_profile_options options;
    char ncu[PATH_MAX], *metrics;
    *exit_code = 0;
    JM_TRY(jm__options_copy(&options, sizeof options, asked, "jm_estimate_profile", err));
    JM_TRY(check(&options, err));
    JM_TRY(jm__ncu_find(ncu, sizeof ncu, "", err));
    JM_TRY(jm_estimate_metrics(options.model, &metrics, err));
    const jm__ncu_wishes wishes = {.command = options.command,
                                   .options = options.arguments,
                                   .page = options.page != NULL ? options.page : "raw",
                                   .metrics = metrics,
                                   .csv = options.csv,
                                   .timeout_s = options.timeout_s,
                                   .goes_on = options.goes_on,
                                   .context = options.context};
    jm_status status = jm__ncu_run(ncu, &wishes, exit_code, err);
    free(metrics);
    return status;
}
