/* What a run took in some eight lines, for `joulemap run`: the answer first. */
#include "attribute/report.h"
#include "base/map.h"
#include "base/status.h"
#include "base/vec.h"
#include "report/facts.h"
#include "report/format.h"

#include <joulemap/recording.h>
#include <joulemap/report.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct summary {
    const jm_report *report;
    jm_recording *recording;
    const jm_summary_options *options;
    const jm_report_totals *totals;
    jm__strbuf *out;
} summary;

enum { INDENT = 11 };

static void add_line(const summary *s, const char *name, jm__strbuf *text)
{
    if (text->failed) s->out->failed = true;
    size_t indent = strlen(name) + 2 > INDENT ? strlen(name) + 2 : INDENT;
    if (text->length > 0) jm__wrap(s->out, name, indent, text->text, (size_t)s->options->width);
    jm__strbuf_free(text);
}

/* "10.14 ±0.05 kJ in 15.3 s, 661 W": the whole run, also what was not traced of it. */
static jm_status format_total(const summary *s, jm__strbuf *text, jm_error *err)
{
    char energy[JM_CELL], time[JM_CELL], power[JM_CELL];
    const jm__interval *run = &jm__report_scope(s->report)->run;
    double duration_s = 1e-9 * (double)(run->to_ns - run->from_ns);
    jm_sum sum;
    JM_TRY(jm_recording_energy(s->recording, 0, run->from_ns, run->to_ns, &sum, err));
    jm__format_energy(energy, sum.energy_j, sum.low_j, sum.high_j);
    jm__format_time(time, duration_s);
    jm__format_power(power, duration_s > 0 ? sum.energy_j / duration_s : NAN);
    jm__strbuf_format(text, "%s in %s, %s%s", energy, time, power,
                      s->totals->simulated ? " (simulated GPU)" : "");
    return JM_OK;
}

/* The first line: the fact "each" of the report, or the total of a run without steps. */
static jm_status add_answer(const summary *s, const jm__facts *facts, jm_error *err)
{
    jm__strbuf text = {0};
    jm_status status = JM_OK;
    for (size_t i = 0; i < facts->count; i++)
        if (strcmp(facts->items[i].name, "each") == 0) jm__strbuf_add(&text, facts->items[i].text);
    if (text.length == 0) status = format_total(s, &text, err);
    add_line(s, s->options->name, &text);
    return status;
}

static jm_status add_boards(const summary *s, jm_error *err)
{
    jm__strbuf text = {0};
    jm__boards_add(&text, "", s->report);
    if (text.length > 0) jm__strbuf_add(&text, ": ");
    jm_status status = format_total(s, &text, err);
    add_line(s, "", &text);
    return status;
}

/* ---- the dearest parts: rows of a class whose paths differ in numbers alone ("blocks.*.mlp") are one */

enum { PARTS = 5 };

typedef struct part {
    char *key;      /* its parent's number, its name with stars and its class, a newline between them */
    size_t name_at; /* in the key */
    size_t class_at;
    size_t parent; /* SIZE_MAX: none */
    double energy_j;
    double left_j; /* of that, in no child that is listed itself */
    bool listed, opened;
} part;

typedef struct parts {
    JM_VEC(part) items;
    jm__map numbers; /* by key */
    bool failed;     /* memory is out */
} parts;

/* Of a steady step, else of the run; 0: no work. */
static double work_j_of(const jm_row *row, bool has_steps)
{
    double energy_j = has_steps ? row->step_j : row->energy_j;
    return row->path[0] != '(' && energy_j > 0 && strstr(row->name, "(no layer)") == NULL ? energy_j : 0;
}

/* Containers hold unlike things under like names: "layer1", "layer2". */
static bool is_container(const char *class_text)
{
    return strcmp(class_text, "Sequential") == 0 || strncmp(class_text, "Module", 6) == 0;
}

/* A name with a star for each number in it: of a container's, only for one that is nothing else. */
static void add_starred(jm__strbuf *out, const char *name, bool whole_only)
{
    static const char digits[] = "0123456789";
    if (whole_only && name[strspn(name, digits)] != '\0') {
        jm__strbuf_add(out, name);
        return;
    }
    for (size_t plain; *name != '\0'; name += plain) {
        plain = strcspn(name, digits);
        jm__strbuf_add_bytes(out, name, plain);
        if (name[plain] != '\0') jm__strbuf_add(out, "*");
        plain += strspn(name + plain, digits);
    }
}

/* The part of a row inside of a part, new or not; SIZE_MAX: memory is out. */
static size_t part_of(parts *all, const jm_row *row, size_t parent)
{
    jm__strbuf key = {0};
    char class_text[64];
    const char *type = row->type != NULL ? row->type : "";
    snprintf(class_text, sizeof class_text, "%.*s", (int)strcspn(type, "("), type);
    jm__strbuf_format(&key, "%zu\n", parent);
    part one = {.parent = parent, .name_at = key.length};
    add_starred(&key, strcmp(row->kind, "collective") == 0 ? "collectives" : row->name,
                is_container(class_text));
    jm__strbuf_add(&key, "\n");
    one.class_at = key.length;
    jm__strbuf_add(&key, class_text);
    one.key = jm__strbuf_take(&key);
    size_t before = all->items.count;
    size_t number = one.key != NULL ? jm__map_item(&all->numbers, &one.key, &all->items, &one) : SIZE_MAX;
    if (all->items.count == before) free(one.key); /* it is there already, or memory is out */
    return number;
}

/* All parts of the report, each after the one that it is in. False if memory is out. */
static bool collect_parts(parts *all, const jm_report *report)
{
    JM_VEC(size_t) open = {0}; /* by depth: the part of the row there; SIZE_MAX: no work */
    bool fine = true;
    for (size_t i = 0; fine && i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        size_t depth = (size_t)row->depth, parent = depth > 0 ? open.items[depth - 1] : SIZE_MAX,
               own = SIZE_MAX;
        double work_j = work_j_of(row, jm__has_steps(jm_report_totals_get(report)));
        if (work_j > 0 && (depth == 0 || parent != SIZE_MAX)) {
            own = part_of(all, row, parent);
            fine = own != SIZE_MAX;
            if (fine) all->items.items[own].energy_j += work_j;
        }
        open.count = depth; /* rows are in pre-order */
        fine = fine && jm__vec_push(&open, own);
    }
    jm__vec_free(&open);
    return fine;
}

static void free_parts(parts *all)
{
    for (size_t i = 0; i < all->items.count; i++)
        free(all->items.items[i].key);
    jm__vec_free(&all->items);
    jm__map_free(&all->numbers);
}

static size_t dearest_listed(const parts *all)
{
    size_t most = SIZE_MAX;
    for (size_t i = 0; i < all->items.count; i++)
        if (all->items.items[i].listed &&
            (most == SIZE_MAX || all->items.items[i].left_j > all->items.items[most].left_j))
            most = i;
    return most;
}

/* List what is right inside of a part (SIZE_MAX: at the top). Returns whether anything is. */
static bool list_inside(parts *all, size_t parent)
{
    bool any = false;
    for (size_t i = 0; i < all->items.count; i++) {
        part *one = &all->items.items[i];
        if (one->parent != parent) continue;
        any = one->listed = true;
        one->left_j = one->energy_j;
        if (parent != SIZE_MAX) all->items.items[parent].left_j -= one->energy_j;
    }
    return any;
}

/* List parts as a person would name them: the dearest is taken apart while it has half of the work or
 * more. */
static double list_parts(parts *all)
{
    double work_j = 0;
    list_inside(all, SIZE_MAX);
    for (size_t i = 0; i < all->items.count; i++)
        if (all->items.items[i].listed) work_j += all->items.items[i].energy_j;
    for (size_t most;
         (most = dearest_listed(all)) != SIZE_MAX && all->items.items[most].left_j >= work_j / 2;) {
        if (all->items.items[most].opened || !list_inside(all, most)) break;
        all->items.items[most].opened = true;
    }
    return work_j;
}

/* "mlp"; of a number in a list its class, "Conv2d". */
static void add_name(jm__strbuf *text, const part *one)
{
    const char *name = one->key + one->name_at, *class_text = one->key + one->class_at;
    if (strncmp(name, "*\n", 2) == 0 && class_text[0] != '\0')
        jm__strbuf_add(text, class_text);
    else
        jm__strbuf_format(text, "%.*s", (int)strcspn(name, "\n"), name);
}

/* The listed parts of one name are one. */
static void join_names(parts *all, size_t into, const char *name)
{
    for (size_t i = into + 1; i < all->items.count; i++) {
        part *one = &all->items.items[i];
        jm__strbuf other = {0};
        if (one->listed) add_name(&other, one);
        all->failed = all->failed || other.failed;
        if (other.length > 0 && strcmp(other.text, name) == 0) {
            all->items.items[into].left_j += one->left_j;
            one->listed = false;
        }
        jm__strbuf_free(&other);
    }
}

static void format_parts(jm__strbuf *text, parts *all, double work_j)
{
    for (size_t i = 0; i < all->items.count; i++) {
        jm__strbuf name = {0};
        if (all->items.items[i].listed) add_name(&name, &all->items.items[i]);
        all->failed = all->failed || name.failed;
        if (name.length > 0) join_names(all, i, name.text);
        jm__strbuf_free(&name);
    }
    for (size_t n = 0; n < PARTS; n++) {
        size_t most = dearest_listed(all);
        if (most == SIZE_MAX || all->items.items[most].left_j < work_j / 100) return;
        jm__strbuf_add(text, n > 0 ? ", " : "");
        add_name(text, &all->items.items[most]);
        jm__strbuf_format(text, " %.0f %%", 100 * all->items.items[most].left_j / work_j);
        all->items.items[most].listed = false;
    }
}

static jm_status add_parts(const summary *s, jm_error *err)
{
    parts all = {.numbers = JM_MAP_OF_TEXTS};
    jm__strbuf text = {0};
    bool fine = collect_parts(&all, s->report);
    if (fine && all.items.count > 1) format_parts(&text, &all, list_parts(&all));
    fine = fine && !all.failed;
    free_parts(&all);
    add_line(s, "most", &text);
    return fine ? JM_OK : jm__no_memory(err, "jm_report_summary");
}

/* ---- time in which nothing ran, and time outside of the steps */

static void add_waiting(const summary *s)
{
    const jm_report_totals *t = s->totals;
    jm__strbuf text = {0};
    if (jm__has_steps(t) && t->steady_idle_j > 0.001 * t->steady_step_j) {
        char energy[JM_CELL];
        jm__format_energy(energy, t->steady_idle_j, NAN, NAN);
        jm__strbuf_format(&text, "%.2g %% of a step, %s: the GPU had nothing to do",
                          100 * t->steady_idle_j / t->steady_step_j, energy);
    }
    add_line(s, "waiting", &text);
}

static jm_status add_time(const summary *s, jm__strbuf *text, const char *where, int64_t from_ns,
                          int64_t to_ns, jm_error *err)
{
    jm_sum sum;
    char energy[JM_CELL], time[JM_CELL];
    if (to_ns - from_ns < 100000000) return JM_OK; /* less than a sensor tells */
    JM_TRY(jm_recording_energy(s->recording, 0, from_ns, to_ns, &sum, err));
    if (isnan(sum.energy_j)) return JM_OK;
    jm__format_energy(energy, sum.energy_j, NAN, NAN);
    jm__format_time(time, 1e-9 * (double)(to_ns - from_ns));
    jm__strbuf_format(text, "%s%s in %s %s", text->length > 0 ? ", " : "", energy, time, where);
    return JM_OK;
}

static void add_stages(const summary *s, jm__strbuf *text)
{
    for (size_t i = 0; i < jm_report_stage_count(s->report); i++) {
        const jm_stage *stage = jm_report_stage(s->report, i);
        char energy[JM_CELL], time[JM_CELL];
        bool steps = stage->steps > 0 && i > 0; /* the steady ones are the first */
        if (!steps || !(stage->seconds >= 0.1)) continue;
        jm__format_energy(energy, stage->energy_j, NAN, NAN);
        jm__format_time(time, stage->seconds);
        jm__strbuf_format(text, "%s%s in %s of %s", text->length > 0 ? ", " : "", energy, time, stage->name);
    }
}

/* What is not in the steady steps. Before and after them is all of the run, also what was not traced. */
static jm_status add_outside(const summary *s, jm_error *err)
{
    jm__strbuf text = {0};
    jm_status status = JM_OK;
    if (jm__has_steps(s->totals)) {
        const jm__scope *scope = jm__report_scope(s->report);
        status = add_time(s, &text, "before the first step", scope->run.from_ns, scope->steps.first_ns, err);
        add_stages(s, &text);
        if (status == JM_OK)
            status = add_time(s, &text, "after the last", scope->steps.last_ns, scope->run.to_ns, err);
    }
    add_line(s, "outside", &text);
    return status;
}

static void add_quality(const summary *s)
{
    const jm_report_quality *quality = jm_report_quality_get(s->report);
    jm__strbuf text = {0};
    jm__strbuf_add(&text, quality->verdict);
    if (strcmp(quality->verdict, "good") != 0) jm__strbuf_format(&text, ": %s", quality->verdict_reason);
    add_line(s, "quality", &text);
}

/* ---- the run before */

/* What is compared: a step, or a run without steps. */
typedef struct figure {
    double energy_j, half_j, low_j, high_j, time_s;
} figure;

static figure figure_of(const jm_report_totals *t)
{
    figure f = jm__has_steps(t) ? (figure){.energy_j = t->steady_step_j,
                                           .low_j = t->steady_step_low_j,
                                           .high_j = t->steady_step_high_j,
                                           .time_s = t->steady_step_s}
                                : (figure){.energy_j = t->total_energy_j,
                                           .low_j = t->total_low_j,
                                           .high_j = t->total_high_j,
                                           .time_s = t->duration_s};
    f.half_j = (f.high_j - f.low_j) / 2;
    return f;
}

static void add_before(const summary *s)
{
    jm__strbuf text = {0};
    char energy[JM_CELL], time[JM_CELL], change[JM_CELL];
    if (s->options->before == NULL) return;
    const jm_report_totals *t = s->totals, *b = jm_report_totals_get(s->options->before);
    bool steps = jm__has_steps(t);
    if (steps != jm__has_steps(b)) return;
    if (steps && !jm__same_kind_of_step(t, b)) return;
    const figure now = figure_of(t), then = figure_of(b);
    if (!(then.energy_j > 0) || isnan(now.energy_j)) return;
    double ratio = now.energy_j / then.energy_j;
    double half = ratio * hypot(now.half_j / now.energy_j, then.half_j / then.energy_j);
    jm__format_energy(energy, then.energy_j, then.low_j, then.high_j);
    jm__format_time(time, then.time_s);
    jm__format_change(change, ratio - 1, ratio - 1 - half, ratio - 1 + half);
    jm__strbuf_format(&text, "%s and %s%s on %s (now %s, without what differs from run to run)", energy, time,
                      steps ? " a step" : "", s->options->when != NULL ? s->options->when : "an earlier day",
                      change);
    add_line(s, "before", &text);
}

static jm_status make(const summary *s, jm_error *err)
{
    jm__facts facts = {0};
    jm_status status = jm__facts_make(&facts, s->report, err);
    if (status == JM_OK) status = add_answer(s, &facts, err);
    jm__facts_free(&facts);
    if (status != JM_OK) return status;
    if (jm__has_steps(s->totals)) JM_TRY(add_boards(s, err));
    JM_TRY(add_parts(s, err));
    add_waiting(s);
    JM_TRY(add_outside(s, err));
    add_quality(s);
    add_before(s);
    return JM_OK;
}

jm_status jm_report_summary(const jm_report *report, jm_recording *recording,
                            const jm_summary_options *options, char **out, jm_error *err)
{
    jm__strbuf text = {0};
    const summary s = {report, recording, options, jm_report_totals_get(report), &text};
    return jm__hand_over(out, &text, make(&s, err), "jm_report_summary", err);
}
