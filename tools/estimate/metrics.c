/* What ncu has to count for a model. */
#include "base/status.h"
#include "base/strbuf.h"
#include "estimate/model_choice.h"

#include <joulemap/estimate.h>
#include <stdlib.h>

jm_status jm_estimate_metrics(const char *wanted, char **out, jm_error *err)
{
    jm__ncu_words *words = calloc(1, sizeof *words);
    jm__board_model model = {0};
    jm__strbuf text = {0};
    *out = NULL;
    if (words == NULL) return jm__no_memory(err, "jm_estimate_metrics");
    jm_status status = jm__ncu_words_load(words, 0, 0, err);
    if (status == JM_OK) status = jm__model_named(&model, wanted, words, err);
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
