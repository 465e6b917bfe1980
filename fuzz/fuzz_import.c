/* CSV files of anybody, read by `joulemap import`.
 *
 * The first byte says which files the input holds (a bit each, in the order of
 * JM_IMPORT_MAP); they are divided by a form feed. */
#include "fuzz.h"

#include <joulemap/import.h>
#include <joulemap/recording.h>
#include <string.h>

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
    for (int i = 0; i < JM_IMPORT_COUNT; i++) {
        if (!(which >> i & 1)) continue;
        const uint8_t *end = memchr(data, '\f', size);
        size_t length = end ? (size_t)(end - data) : size;
        options.files[i] = fuzz_file(names[i], data, length);
        size_t taken = end ? length + 1 : length;
        data += taken;
        size -= taken;
    }
    options.path = fuzz_path("out.joulemap");
    jm_error err;
    jm_status status = jm_recording_import(&options, &err);
    if (status == JM_OK) {
        /* What was imported can be opened, and is whole. */
        jm_recording *recording = NULL;
        FUZZ_PROMISE(jm_recording_open(&recording, options.path, &err) == JM_OK);
        FUZZ_PROMISE(jm_recording_damage(recording) == NULL);
        jm_recording_close(recording);
    } else {
        FUZZ_PROMISE(err.text[0] != '\0');
    }
    return 0;
}
