/* CSV files that say they are Nsight Compute's. */
#include "fuzz.h"

#include "ncu/ncu.h"

#include <math.h>

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
    return 0;
}
