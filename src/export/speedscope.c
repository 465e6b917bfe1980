/* speedscope's file format: one profile of joules and one of seconds, over the same stacks.
 * https://www.speedscope.app/file-format-schema.json */
#include "base/status.h"
#include "export/format.h"
#include "export/put.h"
#include "export/stacks.h"

#include <joulemap/joulemap.h>
#include <stdlib.h>

/* Frames are numbered in the order of the rows that stand for them. */
static size_t *number_frames(const jm__stacks *stacks)
{
    size_t *number = calloc(stacks->count + 1, sizeof *number), next = 0;
    for (size_t i = 0; number != NULL && i < stacks->count; i++)
        number[i] = stacks->frame[i] == i ? next++ : number[stacks->frame[i]];
    return number;
}

static json_t *frame(const jm__stacks *stacks, size_t row)
{
    jm__strbuf name = {0};
    jm__stacks_add_name(stacks, row, &name);
    json_t *object = name.failed ? NULL
                                 : json_pack("{ss so}", "name", name.text, "file",
                                             jm__json_text(jm_report_row(stacks->report, row)->path));
    jm__strbuf_free(&name);
    return object;
}

static bool write_frames(const jm__stacks *stacks, FILE *out)
{
    bool whole = true;
    fputs(",\n\"shared\": {\"frames\": [", out);
    for (size_t i = 0; whole && i < stacks->count; i++)
        if (stacks->frame[i] == i) whole = jm__json_put(out, i == 0 ? "\n" : ",\n", frame(stacks, i));
    fputs("\n]}", out);
    return whole;
}

static json_t *sample(const jm__stacks *stacks, const size_t *number, size_t row)
{
    size_t frames[JM_STACK_MAX], depth = jm__stacks_frames(stacks, row, frames);
    json_t *stack = json_array();
    bool whole = stack != NULL;
    for (size_t i = 0; whole && i < depth; i++)
        whole = json_array_append_new(stack, json_integer((json_int_t)number[frames[i]])) == 0;
    if (whole) return stack;
    json_decref(stack);
    return NULL;
}

typedef struct profile {
    const char *name;
    const char *unit; /* of those that the schema has: there are no joules among them */
    const double *weights;
} profile;

static bool write_profile(const profile *p, const jm__stacks *stacks, const size_t *number, FILE *out)
{
    double sum = 0;
    bool whole = true;
    const char *before = "\n";
    for (size_t i = 0; i < stacks->count; i++)
        sum += p->weights[i];
    fprintf(out,
            "{\"type\": \"sampled\", \"name\": \"%s\", \"unit\": \"%s\", \"startValue\": 0, \"endValue\": ",
            p->name, p->unit);
    whole = jm__json_put(out, "", json_real(sum));
    fputs(", \"samples\": [", out);
    for (size_t i = 0; whole && i < stacks->count; i++) {
        if (p->weights[i] == 0) continue;
        whole = jm__json_put(out, before, sample(stacks, number, i));
        before = ",\n";
    }
    fputs("\n], \"weights\": [", out);
    before = "\n";
    for (size_t i = 0; whole && i < stacks->count; i++) {
        if (p->weights[i] == 0) continue;
        whole = jm__json_put(out, before, json_real(p->weights[i]));
        before = ",\n";
    }
    fputs("\n]}", out);
    return whole;
}

static bool write_file(const jm__stacks *stacks, const size_t *number, FILE *out)
{
    const profile energy = {"energy, joules", "none", stacks->energy_j},
                  busy = {"time of the GPU's work, seconds", "seconds", stacks->busy_s};
    fprintf(out,
            "{\"$schema\": \"https://www.speedscope.app/file-format-schema.json\",\n"
            "\"exporter\": \"joulemap %s\",\n\"name\": \"joulemap by %s\",\n\"activeProfileIndex\": 0",
            jm_version(), jm_by_text(jm_report_options_get(stacks->report)->by));
    bool whole = write_frames(stacks, out);
    fputs(",\n\"profiles\": [", out);
    whole = whole && write_profile(&energy, stacks, number, out);
    fputs(",\n", out);
    whole = whole && write_profile(&busy, stacks, number, out);
    fputs("]}\n", out);
    return whole;
}

static jm_status write_speedscope(const jm__stacks *stacks, FILE *out, jm_error *err)
{
    size_t *number = number_frames(stacks);
    bool whole = number != NULL && write_file(stacks, number, out);
    free(number);
    return whole ? JM_OK : jm__no_memory(err, "jm_export");
}

const jm__export_format jm__export_speedscope = {"speedscope", .write_stacks = write_speedscope};
