/* CSV files that say they are Nsight Compute's. */
#include "fuzz.h"

#include "import/ncu/ncu.h"

#include <joulemap/estimate.h>
#include <math.h>
#include <stdlib.h>

/* What is told of a kernel is a power with an interval around it, or why there is none. */
static void estimate(const char *path)
{
    jm_estimate *made;
    jm_error err = {0};
    setenv("XDG_DATA_HOME", "/nonexistent", 1); /* no model that somebody keeps */
    const jm_estimate_options options = {.size = sizeof options, .csv = path, .program_s = 1};
    if (jm_estimate_make(&made, &options, &err) != JM_OK) {
        FUZZ_PROMISE(err.text[0] != '\0' && made == NULL);
        return;
    }
    for (size_t i = 0; i < jm_estimate_count(made); i++) {
        const jm_estimated_kernel *k = jm_estimate_kernel(made, i);
        FUZZ_PROMISE(isfinite(k->power_w) == (k->reason[0] == '\0'));
        if (!isfinite(k->power_w)) continue;
        FUZZ_PROMISE(k->power_w > 0 && k->duration_s > 0 && k->energy_j > 0);
        FUZZ_PROMISE(k->power_low_w > 0 && k->power_low_w <= k->power_w && k->power_w <= k->power_high_w);
        FUZZ_PROMISE(k->energy_low_j > 0 && k->energy_low_j <= k->energy_j &&
                     k->energy_j <= k->energy_high_j);
    }
    char *json = NULL;
    FUZZ_PROMISE(jm_estimate_json(made, &json, &err) == JM_OK);
    free(json);
    jm_estimate_free(made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    jm__ncu ncu;
    jm_error err = {0};
    const char *path = fuzz_file("ncu.csv", data, size);
    jm_status status = jm__ncu_read(&ncu, path, NULL, NULL, &err);
    if (status != JM_OK) {
        FUZZ_PROMISE(err.text[0] != '\0');
        FUZZ_PROMISE(ncu.count == 0 && ncu.values == NULL);
        return 0;
    }
    FUZZ_PROMISE(ncu.count > 0 && ncu.count <= JM_NCU_KERNELS_MAX);
    for (size_t k = 0; k < ncu.count; k++) {
        const jm__ncu_kernel *kernel = &ncu.kernels[k];
        FUZZ_PROMISE(kernel->name[0] != '\0' && kernel->launches >= 1);
        FUZZ_PROMISE(kernel->first + kernel->count <= ncu.value_count);
        for (size_t v = 0; v < kernel->count; v++) {
            const jm__ncu_value *value = &ncu.values[kernel->first + v];
            FUZZ_PROMISE(value->metric < ncu.metric_count);
            FUZZ_PROMISE(value->text == NULL || isnan(value->number));
        }
    }
    jm__ncu_free(&ncu);
    estimate(path);
    return 0;
}
