/* Folded stacks for flame graph programs: "outer;inner;innermost 1234", a line per row, in microjoules
 * without child rows. https://www.brendangregg.com/FlameGraphs/cpuflamegraphs.html#FoldedFormat */
#include "base/status.h"
#include "export/format.h"
#include "export/stacks.h"

#include <inttypes.h>
#include <math.h>

/* Add a frame; a semicolon would separate frames, so it becomes a comma. */
static void add_frame(const jm__stacks *stacks, size_t row, jm__strbuf *line)
{
    size_t start = line->length;
    jm__stacks_add_name(stacks, row, line);
    for (size_t i = start; i < line->length; i++)
        if (line->text[i] == ';') line->text[i] = ',';
}

static bool write_line(const jm__stacks *stacks, size_t row, int64_t energy_uj, FILE *out)
{
    size_t frames[JM_STACK_MAX], depth = jm__stacks_frames(stacks, row, frames);
    jm__strbuf line = {0};
    for (size_t i = 0; i < depth; i++) {
        if (i > 0) jm__strbuf_add(&line, ";");
        add_frame(stacks, frames[i], &line);
    }
    bool whole = !line.failed;
    if (whole) fprintf(out, "%s %" PRId64 "\n", line.text, energy_uj);
    jm__strbuf_free(&line);
    return whole;
}

static jm_status write_rows(const jm__stacks *stacks, FILE *out, jm_error *err)
{
    bool any = false;
    for (size_t i = 0; i < stacks->count; i++) {
        int64_t energy_uj = llround(stacks->energy_j[i] * 1e6);
        if (energy_uj == 0) continue;
        if (!write_line(stacks, i, energy_uj, out)) return jm__no_memory(err, "jm_export");
        any = true;
    }
    if (any) return JM_OK;
    return jm__fail(err, JM_NOT_FOUND, 0, NULL, "no sensor recorded any energy, so there are no stacks");
}

const jm__export_format jm__export_folded = {"folded", .write_stacks = write_rows};
