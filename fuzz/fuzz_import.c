/* CSV files of anybody, read by `joulemap import`.
 *
 * The first byte says which files the input holds (a bit each, in the order of
 * JM_IMPORT_MAP, then counters that are added to what came of the others); they are divided by a form feed.
 */
#include "fuzz.h"

#include <joulemap/import.h>
#include <joulemap/recording.h>
#include <string.h>

enum { COUNTERS = JM_IMPORT_COUNT };

/* The next file of the input. */
static const char *take_file(const char *name, const uint8_t **data, size_t *size)
{
    const uint8_t *end = memchr(*data, '\f', *size);
    size_t length = end ? (size_t)(end - *data) : *size, taken = end ? length + 1 : length;
    const char *path = fuzz_file(name, *data, length);
    *data += taken;
    *size -= taken;
    return path;
}

/* What was written can be opened, and is whole. */
static void check(jm_status status, const char *path, const jm_error *err)
{
    if (status != JM_OK) {
        FUZZ_PROMISE(err->text[0] != '\0');
        return;
    }
    jm_recording *recording = NULL;
    FUZZ_PROMISE(jm_recording_open(&recording, path, NULL) == JM_OK);
    FUZZ_PROMISE(jm_recording_damage(recording) == NULL);
    jm_recording_close(recording);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[JM_IMPORT_COUNT] = {
#define X(name, option, text) #option ".csv",
        JM_IMPORT_MAP(X)
#undef X
    };
    jm_import_options options = {.size = sizeof options, .overwrite = true, .board = "h200"};
    if (size < 1) return 0;
    unsigned which = data[0];
    data++;
    size--;
    fuzz_clear();
    for (int i = 0; i < JM_IMPORT_COUNT; i++)
        if (which >> i & 1) options.files[i] = take_file(names[i], &data, &size);
    options.path = fuzz_path("out.joulemap");
    jm_error err;
    jm_status status = jm_recording_import(&options, &err);
    check(status, options.path, &err);
    if (status != JM_OK || !(which >> COUNTERS & 1)) return 0;
    jm_counters_options counters = {.size = sizeof counters, .overwrite = true, .onto = options.path};
    counters.counters = take_file("counters.csv", &data, &size);
    counters.path = fuzz_path("counted.joulemap");
    check(jm_recording_add_counters(&counters, &err), counters.path, &err);
    return 0;
}
