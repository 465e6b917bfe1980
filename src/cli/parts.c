/* Adding up the parts of a run. */
#include "cli/parts.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* `name` in the folder of `path`; "" where no file has a name that long. */
static void put_beside(char out[PATH_MAX], const char *path, const char *name)
{
    int folder = (int)(name_of(path) - path);
    if (snprintf(out, PATH_MAX, "%.*s%s", folder, path, name) >= PATH_MAX) out[0] = '\0';
}

static int64_t fact_ns(const jm_recording *recording, const char *key, int64_t otherwise)
{
    const char *text = jm_recording_meta(recording, key);
    return text == NULL ? otherwise : strtoll(text, NULL, 10);
}

/* Its own time alone. */
static jm_status add(cli_parts *out, jm_recording *recording, int64_t from_ns, int64_t to_ns, jm_error *err)
{
    jm_sum sum;
    int64_t start_ns = fact_ns(recording, "start_ns", from_ns), end_ns = fact_ns(recording, "end_ns", to_ns);
    const char *simulated = jm_recording_meta(recording, "simulated");
    if (start_ns > from_ns) from_ns = start_ns;
    if (end_ns < to_ns) to_ns = end_ns;
    out->count++;
    out->simulated = out->simulated || (simulated != NULL && strcmp(simulated, "1") == 0);
    if (to_ns <= from_ns) return JM_OK;
    jm_status status = jm_recording_energy(recording, 0, from_ns, to_ns, &sum, err);
    if (status != JM_OK) return status;
    double low_j = out->energy_j - out->low_j, high_j = out->high_j - out->energy_j;
    out->energy_j += sum.energy_j;
    out->low_j = out->energy_j - hypot(low_j, sum.energy_j - sum.low_j);
    out->high_j = out->energy_j + hypot(high_j, sum.high_j - sum.energy_j);
    out->seconds += (double)(to_ns - from_ns) * 1e-9;
    return JM_OK;
}

jm_status cli_parts_sum(cli_parts *out, const char *newest, const char *as, int64_t from_ns, int64_t to_ns,
                        jm_error *err)
{
    char path[PATH_MAX];
    struct stat info;
    jm_status status = JM_OK;
    *out = (cli_parts){0};
    snprintf(path, sizeof path, "%s", newest);
    put_beside(out->newest, as, name_of(newest));
    while (status == JM_OK && stat(path, &info) == 0) {
        jm_recording *recording;
        status = jm_recording_open(&recording, path, err);
        if (status != JM_OK) break;
        out->bytes += (double)info.st_size;
        put_beside(out->oldest, as, name_of(path));
        status = add(out, recording, from_ns, to_ns, err);
        const char *before = jm_recording_meta(recording, "part_before");
        if (before != NULL) put_beside(path, newest, before);
        jm_recording_close(recording);
        if (before == NULL) break;
    }
    return status;
}
