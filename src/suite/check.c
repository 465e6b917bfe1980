/* Walking the list. */
#include "suite/check.h"

#include "suite/compiler.h"
#include "suite/fault.h"
#include "suite/kernel.h"
#include "suite/sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 96 };

void suite_show_list(void)
{
    char name[NAME], function[NAME];
    for (size_t i = 0; i < suite_kernel_count; i++) {
        const suite_kernel *kernel = &suite_kernels[i];
        suite_kernel_name(kernel, kernel->n, name, sizeof name);
        suite_kernel_function(kernel, function, sizeof function);
        for (suite_kind kind = 0; kind < SUITE_KIND_COUNT; kind++)
            if ((kernel->kinds & SUITE_KIND_BIT(kind)) != 0)
                printf("%s %s %s.cu %s\n", name, suite_kind_text(kind), kernel->source, function);
    }
}

static jm_status check_functions(const char *source, const char *image, size_t size, int capability,
                                 jm_error *err)
{
    char function[NAME];
    for (size_t i = 0; i < suite_kernel_count; i++) {
        if (strcmp(suite_kernels[i].source, source) != 0 ||
            !suite_kernel_is_for(&suite_kernels[i], capability))
            continue;
        suite_kernel_function(&suite_kernels[i], function, sizeof function);
        if (memmem(image, size, function, strlen(function)) == NULL)
            return suite_fail(err, JM_INTERNAL, jm_status_hint(JM_INTERNAL), "%s.cu has no %s", source,
                              function);
    }
    return JM_OK;
}

/* Is there a kernel of this source for the GPU, and does it want what that alone has? */
static bool is_wanted(const char *source, int capability, bool *own)
{
    bool listed = false;
    *own = false;
    for (size_t i = 0; i < suite_kernel_count; i++) {
        if (strcmp(suite_kernels[i].source, source) != 0) continue;
        listed = true;
        *own = suite_kernels[i].capability < 0;
        if (suite_kernel_is_for(&suite_kernels[i], capability)) return true;
    }
    return !listed; /* data.cu */
}

jm_status suite_compile_all(int capability, bool simulated, jm_error *err)
{
    enum { ANY_DRIVER = 99000 };
    suite_compiler compiler;
    const char *source;
    SUITE_TRY(suite_compiler_load(&compiler, capability, ANY_DRIVER, simulated, err));
    printf("NVRTC %d.%d, %s_%d\n", compiler.major, compiler.minor, compiler.binary ? "sm" : "compute",
           compiler.capability);
    for (size_t i = 0; (source = suite_source_name(i)) != NULL; i++) {
        char *image;
        size_t size;
        bool own;
        if (!is_wanted(source, capability, &own)) {
            printf("%s.cu: not for this GPU\n", source);
            continue;
        }
        SUITE_TRY(suite_compiler_compile(&compiler, source, own, &image, &size, err));
        jm_status status = check_functions(source, image, size, capability, err);
        free(image);
        if (status != JM_OK) return status;
        printf("%s.cu: %zu bytes\n", source, size);
    }
    return JM_OK;
}
