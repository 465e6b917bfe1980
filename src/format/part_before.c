/* The parts of a run as one follows the other. */
#include "format/part_before.h"

#include "format/part_name.h"
#include "format/recording.h"

#include <stdlib.h>
#include <string.h>

static int64_t fact_ns(const jm_recording *recording, const char *key, int64_t otherwise)
{
    const char *value = jm_recording_meta(recording, key);
    return value == NULL ? otherwise : strtoll(value, NULL, 10);
}

void jm__part_own_time(const jm_recording *recording, int64_t *from_ns, int64_t *to_ns)
{
    if (jm_recording_meta(recording, "part") == NULL) return;
    int64_t start_ns = fact_ns(recording, "start_ns", INT64_MIN),
            end_ns = fact_ns(recording, "end_ns", INT64_MAX);
    if (*from_ns == INT64_MIN && *to_ns > start_ns) *from_ns = start_ns;
    if (*to_ns == INT64_MAX && end_ns == fact_ns(recording, "cut_ns", INT64_MIN)) *to_ns = end_ns;
}

static jm_status no_part(const char *own, const char *name, const char *why, jm_error *err)
{
    return jm__fail(err, JM_BAD_DATA, 0, NULL, "%s names \"%.200s\" as the part before it: %s", own, name,
                    why);
}

jm_status jm__part_before(jm_recording **out, const jm_recording *recording, int64_t from_ns,
                          int64_t *until_ns, jm_error *err)
{
    const char *name = jm_recording_meta(recording, "part_before"), *own = jm__recording_path(recording);
    *out = NULL;
    *until_ns = fact_ns(recording, "start_ns", INT64_MIN);
    if (name == NULL || own == NULL || from_ns >= *until_ns) return JM_OK;
    if (strchr(name, '/') != NULL) return no_part(own, name, "a part lies beside it", err);
    char *path = jm__part_beside(own, name);
    if (path == NULL) return jm__no_memory(err, "jm__part_before");
    jm_error cause = {0};
    jm_status status = jm_recording_open(out, path, &cause);
    free(path);
    if (status == JM_OK && fact_ns(*out, "start_ns", INT64_MIN) < *until_ns) return JM_OK;
    if (status == JM_OK) { /* and from one to the next there would be no end */
        jm_recording_close(*out);
        *out = NULL;
        return no_part(own, name, "that one does not begin before it", err);
    }
    jm__fail(err, status, cause.code, cause.call, "that time is in the part before %s: %s", own, cause.text);
    return jm__hint(err, status, "ask for the time of parts that are there: --keep-files removes older ones");
}
