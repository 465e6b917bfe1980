/* Estimates from either source; the metrics that ncu must count; a program under ncu. */
#include "base/options.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "estimate/estimate.h"
#include "estimate/model_choice.h"
#include "estimate/trained.h"
#include "import/ncu/run.h"

#include <joulemap/estimate.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static jm_status check(const jm_estimate_options *options, jm_error *err)
{
    static const char call[] = "jm_estimate_make";
    if (options->csv == NULL) return jm__fail(err, JM_USAGE, 0, call, "there is no file to estimate from");
    if (!(options->clock_mhz >= 0 && options->clock_mhz < 1e5))
        return jm__fail(err, JM_USAGE, 0, call, "%g is not a clock in MHz", options->clock_mhz);
    if (!(options->program_s >= 0 && options->program_s < 1e9))
        return jm__fail(err, JM_USAGE, 0, call, "%g is not a duration in seconds", options->program_s);
    if (!(options->limit_w >= 0))
        return jm__fail(err, JM_USAGE, 0, call, "%g W is not a power limit", options->limit_w);
    return JM_OK;
}

jm_status jm_estimate_make(jm_estimate **out, const jm_estimate_options *requested, jm_error *err)
{
    jm_estimate_options options;
    *out = NULL;
    JM_TRY(jm__options_copy(&options, sizeof options, requested, "jm_estimate_make", err));
    JM_TRY(check(&options, err));
    jm_estimate *estimate = calloc(1, sizeof *estimate);
    if (estimate == NULL) return jm__no_memory(err, "jm_estimate_make");
    bool trained = false;
    jm_status status = options.model == NULL ? JM_OK : jm__trained_is(options.model, &trained, err);
    if (status == JM_OK)
        status = trained ? jm__estimate_of_features(estimate, &options, err)
                         : jm__estimate_of_ncu(estimate, &options, err);
    if (status == JM_OK && estimate->notes.failed) status = jm__no_memory(err, "jm_estimate_make");
    if (status == JM_OK)
        *out = estimate;
    else
        jm_estimate_free(estimate);
    return status;
}

/* ---- the metrics that ncu must count for a model */

jm_status jm_estimate_metrics(const char *requested, char **out, jm_error *err)
{
    jm__ncu_words *words = calloc(1, sizeof *words);
    jm__board_model model = {0};
    jm__strbuf text = {0};
    *out = NULL;
    if (words == NULL) return jm__no_memory(err, "jm_estimate_metrics");
    jm_status status = jm__ncu_words_load(words, 0, 0, err);
    if (status == JM_OK) status = jm__model_named(&model, requested, words, err);
    if (status == JM_OK) {
        jm__strbuf_add(&text, "gpu__time_duration.sum,smsp__cycles_elapsed.avg.per_second,"
                              "dram__cycles_elapsed.avg.per_second,device__attribute_display_name,"
                              "device__attribute_pci_domain_id,device__attribute_pci_bus_id,"
                              "device__attribute_pci_device_id");
        for (size_t f = 0; f < model.count; f++) {
            const jm__ncu_word *word = jm__ncu_word_of(words, model.features[f].metric);
            if (word == NULL) continue;
            if (word->percent_count > 0)
                jm__strbuf_format(&text, ",%s", word->percents[word->percent_count > 1 ? 1 : 0]);
            else
                jm__strbuf_format(&text, ",%s.sum", word->counters[0]);
        }
        *out = jm__strbuf_take(&text);
        if (*out == NULL) status = jm__no_memory(err, "jm_estimate_metrics");
    }
    jm__strbuf_free(&text);
    jm__model_free(&model);
    free(words);
    return status;
}

/* ---- a program under ncu, with a model's metrics */

static jm_status check_profile(const jm_estimate_profile_options *options, jm_error *err)
{
    static const char call[] = "jm_estimate_profile";
    const char *page = options->page;
    if (options->command == NULL || options->command[0] == NULL)
        return jm__fail(err, JM_USAGE, 0, call, "there is no program to profile");
    if (options->csv == NULL) return jm__fail(err, JM_USAGE, 0, call, "there is no file to write to");
    if (!(options->timeout_s >= 0))
        return jm__fail(err, JM_USAGE, 0, call, "%g s is not a time limit", options->timeout_s);
    if (page == NULL || strcmp(page, "raw") == 0 || strcmp(page, "details") == 0) return JM_OK;
    return jm__fail(err, JM_USAGE, 0, call, "ncu's page is raw or details, not \"%.40s\"", page);
}

jm_status jm_estimate_profile(const jm_estimate_profile_options *requested, int *exit_code, jm_error *err)
{
    jm_estimate_profile_options options;
    char ncu[PATH_MAX], *metrics;
    *exit_code = 0;
    JM_TRY(jm__options_copy(&options, sizeof options, requested, "jm_estimate_profile", err));
    JM_TRY(check_profile(&options, err));
    JM_TRY(jm__ncu_find(ncu, sizeof ncu, "", err));
    JM_TRY(jm_estimate_metrics(options.model, &metrics, err));
    const jm__ncu_job given = {.command = options.command,
                               .options = options.arguments,
                               .page = options.page != NULL ? options.page : "raw",
                               .metrics = metrics,
                               .csv = options.csv,
                               .timeout_s = options.timeout_s,
                               .goes_on = options.goes_on,
                               .context = options.context};
    jm_status status = jm__ncu_run(ncu, &given, exit_code, err);
    free(metrics);
    return status;
}
