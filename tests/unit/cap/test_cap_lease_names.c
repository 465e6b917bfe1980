/* Nothing that runs in other people's programs, or that people start, can set anything on a board: the names
 * of NVML's setting calls are in joulemap-cap alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What begins so sets something, of all that NVML's manual lists. */
static const char *const setting[] = {"nvmlDeviceSet",    "nvmlDeviceReset",    "nvmlDeviceClear",
                                      "nvmlDeviceModify", "nvmlDeviceRemove",   "nvmlUnitSet",
                                      "nvmlGpuInstance",  "nvmlDeviceCreate",   "nvmlDeviceFreeze",
                                      "nvmlDevicePower",  "nvmlVgpuInstanceSet"};

static char *read_all(const char *path, size_t *size)
{
    char *bytes = NULL;
    FILE *file = fopen(path, "rb");
    if (file == NULL) return NULL;
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    bytes = malloc(*size);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static bool has(const char *bytes, size_t size, const char *name)
{
    return memmem(bytes, size, name, strlen(name)) != NULL;
}

static void test_only_joulemap_cap_has_names_of_calls_that_set_something(void **state)
{
    (void)state;
    static const char *const without[] = {"libjoulemap.so",
                                          "libjoulemap_inject.so",
                                          "joulemap",
                                          "joulemap-counters",
                                          "joulemap-calibrate",
                                          "joulemap-estimate",
                                          "python/joulemap/_core.abi3.so"};
    int looked = 0;
    for (size_t i = 0; i < sizeof without / sizeof without[0]; i++) {
        char path[512];
        size_t size;
        snprintf(path, sizeof path, JM_BUILD_DIR "/%s", without[i]);
        char *bytes = read_all(path, &size);
        if (bytes == NULL) continue; /* this build has none: no CUPTI, no Python */
        looked++;
        for (size_t k = 0; k < sizeof setting / sizeof setting[0]; k++)
            if (has(bytes, size, setting[k])) fail_msg("%s has %s...", without[i], setting[k]);
        free(bytes);
    }
    assert_true(looked >= 3);
}

static void test_joulemap_cap_has_those_that_it_needs_and_no_other(void **state)
{
    (void)state;
    static const char *const needed[] = {"nvmlDeviceSetPowerManagementLimit", "nvmlDeviceSetGpuLockedClocks",
                                         "nvmlDeviceResetGpuLockedClocks"};
    size_t size, found = 0;
    char *bytes = read_all(JM_BUILD_DIR "/joulemap-cap", &size);
    assert_non_null(bytes);
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        assert_true(has(bytes, size, needed[i]));
    for (size_t k = 0; k < sizeof setting / sizeof setting[0]; k++) {
        const char *at = bytes, *name;
        while ((name = memmem(at, size - (size_t)(at - bytes), setting[k], strlen(setting[k]))) != NULL) {
            bool known = false;
            for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
                known = known || strcmp(name, needed[i]) == 0;
            if (!known) fail_msg("joulemap-cap has %.60s", name);
            found++;
            at = name + 1;
        }
    }
    assert_true(found >= sizeof needed / sizeof needed[0]);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_joulemap_cap_has_names_of_calls_that_set_something),
        cmocka_unit_test(test_joulemap_cap_has_those_that_it_needs_and_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
