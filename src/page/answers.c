/* The first questions, answered in a sentence each: what costs most, how much is waiting and for what. */
#include "base/status.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "page/parts.h"
#include "report/fold.h"
#include "report/format.h"
#include "report/text.h"

#include <math.h>
#include <string.h>

/* "565 ±51 J, 8.2 % of the total" */
static void add_figure(jm__strbuf *out, const jm_row *row)
{
    char energy[JM_CELL], share[JM_CELL];
    jm__format_energy(energy, row->energy_j, row->energy_low_j, row->energy_high_j);
    jm__format_share(share, row->share);
    jm__strbuf_format(out, "%s, %s of the total", energy, share);
}

static bool is_work(const jm_row *row)
{
    return row->name[0] != '('; /* not "(idle)", "(outside)", "(unresolved)" */
}

/* Is anything in this part: the next one stands deeper. */
static bool has_parts(const jm__fold *fold, size_t part)
{
    size_t next = part + 1;
    return next < fold->parts.count && fold->parts.items[next].sum.depth > fold->parts.items[part].sum.depth;
}

/* The part without parts of its own, of work, that took most; SIZE_MAX: none took anything. Parts of a kernel
 * are its launch shapes: it stands for them. */
static size_t find_dearest(const jm__fold *fold, jm_by by)
{
    size_t dearest = (size_t)-1;
    bool work = true; /* is what stands at the top of the tree here */
    for (size_t i = 0; i < fold->parts.count; i++) {
        const jm_row *row = &fold->parts.items[i].sum;
        if (row->depth == 0) work = is_work(row);
        bool stands_alone = by == JM_BY_KERNEL ? row->depth == 0 : !has_parts(fold, i);
        if (!work || !stands_alone || !(row->energy_j > 0)) continue;
        if (dearest == (size_t)-1 || row->energy_j > fold->parts.items[dearest].sum.energy_j) dearest = i;
    }
    return dearest;
}

/* "model.layers.*.mlp", the name of a phase or a kernel. */
static void add_name(jm__strbuf *out, const jm_report *report, const jm__fold *fold, const jm__part *part)
{
    const char *name = part->name;
    jm__strbuf path = {0};
    if (jm_report_options_get(report)->by == JM_BY_LAYER) {
        jm__part_path_add(&path, report, fold, part);
        if (path.text != NULL) jm__utf8_add(out, path.text, true);
    } else if (jm__is_cpp_name(name)) {
        jm__kernel_name_add(out, name, JM_BREVITY_INNER);
    } else {
        jm__utf8_add(out, name, true);
    }
    out->failed = out->failed || path.failed;
    jm__strbuf_free(&path);
}

static jm_status add_dearest(jm__facts *facts, const char *question, const jm_report *report, jm_error *err)
{
    jm__fold fold = {0};
    jm__strbuf text = {0};
    jm_by by = jm_report_options_get(report)->by;
    jm_status status = jm__fold_make(&fold, report, false, NULL, err);
    size_t dearest = status == JM_OK ? find_dearest(&fold, by) : (size_t)-1;
    if (dearest != (size_t)-1) {
        jm__part *part = &fold.parts.items[dearest];
        status = jm__fold_interval(&fold, report, part, err);
        add_name(&text, report, &fold, part);
        if (part->members > 1) jm__strbuf_format(&text, " (%zu alike)", part->members);
        jm__strbuf_add(&text, ": ");
        add_figure(&text, &part->sum);
        if (status == JM_OK) status = jm__facts_add(facts, question, &text, err);
    }
    jm__strbuf_free(&text);
    jm__fold_free(&fold);
    return status;
}

/* The gap that took most, of those in the row of idle time. */
static const jm_row *find_cause(const jm_report *report, size_t idle)
{
    const jm_row *cause = NULL;
    for (size_t i = idle + 1; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        if (row->depth <= jm_report_row(report, idle)->depth) break;
        if (isfinite(row->energy_j) && (cause == NULL || row->energy_j > cause->energy_j)) cause = row;
    }
    return cause;
}

static jm_status add_waiting(jm__facts *facts, const jm_report *report, jm_error *err)
{
    char time[JM_CELL], energy[JM_CELL];
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        if (strcmp(row->kind, "idle") != 0 || row->depth != 0) continue;
        const jm_row *cause = find_cause(report, i);
        jm__strbuf text = {0};
        jm__format_time(time, row->busy_s);
        jm__strbuf_format(&text, "%s without a kernel: ", time);
        add_figure(&text, row);
        if (cause != NULL) {
            jm__format_energy(energy, cause->energy_j, cause->energy_low_j, cause->energy_high_j);
            jm__format_time(time, cause->busy_s);
            jm__strbuf_format(&text, "; most of it %s: %s in %s", cause->name, energy, time);
            if (jm__row_has_layer(cause)) {
                jm__strbuf_add(&text, ", mostly before ");
                jm__utf8_add(&text, cause->mostly_at, true);
            }
        }
        return jm__facts_add(facts, "waiting", &text, err);
    }
    return JM_OK;
}

jm_status jm__page_answers(jm__facts *facts, const jm_page_run *run, jm_error *err)
{
    JM_TRY(add_dearest(facts, "costs most", run->report, err));
    if (run->kernels != NULL) JM_TRY(add_dearest(facts, "kernel", run->kernels, err));
    return add_waiting(facts, run->report, err);
}
