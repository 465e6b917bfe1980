/* What every file of an import adds to: time, parts, kernels, streams. */
#include "base/status.h"
#include "import/import.h"

#include <stdio.h>
#include <string.h>

/* All rows are held in memory until they are written: 4.8 GB of kernels. Streams are found one by one. */
enum { KERNELS_MAX = 100000000, STREAMS_MAX = 65536 };
_Static_assert(sizeof(jm__import_kernel) == 48, "what the limit above says");

static bool has_word(const jm__csv *csv, const char *word)
{
    for (size_t i = 0; i < jm__csv_column_count(csv); i++)
        if (strstr(jm__csv_column_name(csv, i), word) != NULL) return true;
    return false;
}

/* Whose log it is; NULL: nobody's that is known. */
static const char *logger(const jm__csv *csv)
{
    const struct {
        const char *word, *program;
    } words[] = {{"power.draw", "nvidia-smi"},  {"utilization.gpu", "nvidia-smi"},
                 {"# gpu", "nvidia-smi dmon"},  {"#Entity", "dcgmi dmon"},
                 {"# Entity", "dcgmi dmon"},    {"#Time", "nvidia-smi dmon"},
                 {"#Date", "nvidia-smi dmon"},  {"#gpu", "nvidia-smi dmon"},
                 {"# HELP", "a DCGM exporter"}, {"DCGM_FI_", "a DCGM exporter"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (has_word(csv, words[i].word)) return words[i].program;
    return NULL;
}

jm_status jm__import_columns(const jm__csv *csv, const char *const *names, size_t count, size_t *columns,
                             jm_error *err)
{
    char all[80] = "";
    jm_status status = JM_OK;
    for (size_t i = 0; status == JM_OK && i < count; i++)
        status = jm__csv_column(csv, names[i], &columns[i], err);
    if (status == JM_OK) return JM_OK;
    for (size_t i = 0; i < count; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i > 0 ? "," : "", names[i]);
    const char *program = logger(csv);
    if (program != NULL && err != NULL) {
        char text[sizeof err->text];
        snprintf(text, sizeof text, "%s", err->text);
        jm__fail(err, status, 0, NULL, "%.*s. It looks like a log of %s, which is to be converted",
                 (int)(sizeof text / 2), text, program);
    }
    return jm__hint(
        err, status,
        "columns are %s: t_s in seconds (`date -d STAMP +%%s.%%N`), W and J without their unit, a "
        "line for each reading%s",
        all,
        strcmp(names[0], "sensor") == 0
            ? "; sensor is power_average for power.draw, power_instant for power.draw.instant"
            : "");
}

void jm__import_seen(jm__import *im, int64_t start_ns, int64_t end_ns)
{
    if (start_ns < im->first_ns) im->first_ns = start_ns;
    if (end_ns > im->last_ns) im->last_ns = end_ns;
}

size_t jm__import_phase_of(const jm__import *im, size_t part)
{
    return part == 0 || part > im->phases.count ? 0 : im->phases.items[part - 1];
}

jm_status jm__import_put_in_phase(jm__import *im, size_t part, size_t phase, jm_error *err)
{
    while (im->phases.count < part)
        if (!jm__vec_push(&im->phases, 0)) return jm__no_memory(err, "jm_recording_import");
    im->phases.items[part - 1] = phase;
    return JM_OK;
}

jm_status jm__import_add_window(jm__import *im, size_t part, int64_t start_ns, int64_t end_ns, jm_error *err)
{
    jm__occurrence next = {part, start_ns, end_ns, 0};
    return jm__vec_push(&im->occurrences, next) ? JM_OK : jm__no_memory(err, "jm_recording_import");
}

jm_status jm__import_add_to_part(jm__import *im, size_t *open, size_t part, int64_t start_ns, int64_t end_ns,
                                 jm_error *err)
{
    if (*open != SIZE_MAX && im->occurrences.items[*open].part == part) {
        jm__occurrence *last = &im->occurrences.items[*open];
        if (start_ns < last->start_ns) last->start_ns = start_ns;
        if (end_ns > last->end_ns) last->end_ns = end_ns;
        return JM_OK;
    }
    *open = SIZE_MAX;
    if (part == 0 || jm__import_phase_of(im, part) != 0) return JM_OK;
    JM_TRY(jm__import_add_window(im, part, start_ns, end_ns, err));
    *open = im->occurrences.count - 1;
    return JM_OK;
}

jm_status jm__import_add_kernel(jm__import *im, jm__import_kernel row, jm_error *err)
{
    if (im->rows.count >= KERNELS_MAX)
        return jm__fail(err, JM_LIMIT, 0, NULL, "more than %d kernels", KERNELS_MAX);
    jm__import_seen(im, row.start_ns, row.end_ns);
    return jm__vec_push(&im->rows, row) ? JM_OK : jm__no_memory(err, "jm_recording_import");
}

jm_status jm__import_stream_find(jm__import *im, uint32_t number, size_t *index, jm_error *err)
{
    for (*index = 0; *index < im->streams.count; (*index)++)
        if (im->streams.items[*index].number == number) return JM_OK;
    jm__import_stream row = {number, 0};
    if (im->streams.count >= STREAMS_MAX)
        return jm__fail(err, JM_LIMIT, 0, NULL, "more than %d streams", STREAMS_MAX);
    return jm__vec_push(&im->streams, row) ? JM_OK : jm__no_memory(err, "jm_recording_import");
}
