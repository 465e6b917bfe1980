/* Options from callers of another version. */
#include "base/options.h"

#include <string.h>

enum { OPTIONS_MAX_BYTES = 4096 }; /* bytes; far above any options struct: a larger size was never set */

jm_status jm__options_copy(void *to, uint32_t to_size, const void *from, const char *call, jm_error *err)
{
    memset(to, 0, to_size);
    memcpy(to, &to_size, sizeof to_size);
    if (from == NULL) return JM_OK;
    uint32_t size;
    memcpy(&size, from, sizeof size);
    if (size < sizeof size || size > OPTIONS_MAX_BYTES)
        return jm__fail(err, JM_USAGE, 0, call, "the options of %s have no valid size", call);
    const unsigned char *bytes = from;
    for (uint32_t i = to_size; i < size; i++) {
        if (bytes[i] == 0) continue;
        jm__fail(err, JM_USAGE, 0, call,
                 "the options of %s are made for a newer joulemap: they set members that %s does not have",
                 call, jm_version());
        return jm__hint(err, JM_USAGE, "use a newer libjoulemap, or leave the newer members 0");
    }
    memcpy(to, from, size < to_size ? size : to_size);
    memcpy(to, &to_size, sizeof to_size);
    return JM_OK;
}
