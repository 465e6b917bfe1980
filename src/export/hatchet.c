/* A tree of rows for Hatchet: GraphFrame.from_literal(json.load(file)). A metric without "(inc)" is of a row
 * without those inside it. https://llnl-hatchet.readthedocs.io/en/latest/data_generation.html */
#include "base/status.h"
#include "export/format.h"
#include "export/put.h"
#include "export/stacks.h"

typedef struct tree {
    const jm__stacks *stacks;
    FILE *out;
    size_t open; /* rows that are not closed yet: the last one and those around it */
} tree;

/* Numbers alone: Hatchet adds up whatever is a metric. */
static json_t *metrics(const jm__stacks *s, size_t i)
{
    const jm_row *row = jm_report_row(s->report, i);
    return json_pack("{so so so so so so sI}", "energy (J)", jm__json_real(row->energy_self_j),
                     "energy (J) (inc)", jm__json_real(row->energy_j), "energy low (J) (inc)",
                     jm__json_real(row->energy_low_j), "energy high (J) (inc)",
                     jm__json_real(row->energy_high_j), "time", jm__json_real(s->busy_s[i]), "time (inc)",
                     jm__json_real(row->busy_s), "calls", (json_int_t)row->calls);
}

static json_t *frame(const jm__stacks *s, size_t i)
{
    const jm_row *row = jm_report_row(s->report, i);
    jm__strbuf name = {0};
    jm__stacks_add_name(s, i, &name);
    json_t *object = name.failed ? NULL
                                 : json_pack("{ss so so}", "name", name.text, "type",
                                             jm__json_text(row->kind), "path", jm__json_text(row->path));
    jm__strbuf_free(&name);
    return object;
}

static void close_down_to(tree *t, size_t depth)
{
    for (; t->open > depth; t->open--)
        fputs("]}", t->out);
}

/* Rows stand in pre-order: one is the first inside that before it, or beside one that is closed. */
static bool put_row(tree *t, size_t i)
{
    size_t frames[JM_STACK_MAX], depth = jm__stacks_frames(t->stacks, i, frames) - 1;
    bool is_first = depth == t->open;
    close_down_to(t, depth);
    if (!jm__json_put(t->out, is_first ? "\n{\"frame\":" : ",\n{\"frame\":", frame(t->stacks, i)) ||
        !jm__json_put(t->out, ",\"metrics\":", metrics(t->stacks, i)))
        return false;
    fputs(",\"children\":[", t->out);
    t->open = depth + 1;
    return true;
}

static jm_status write_tree(const jm__stacks *stacks, FILE *out, jm_error *err)
{
    tree t = {.stacks = stacks, .out = out};
    fputs("[", out);
    for (size_t i = 0; i < stacks->count; i++)
        if (!put_row(&t, i)) return jm__no_memory(err, "jm_export");
    close_down_to(&t, 0);
    fputs("\n]\n", out);
    return JM_OK;
}

const jm__export_format jm__export_hatchet = {"hatchet", .write_stacks = write_tree};
