/* What stands above every view of a report in a terminal. */
#include "report/head.h"

#include "base/utf8.h"
#include "report/colour.h"
#include "report/facts.h"
#include "report/wrap.h"

#include <string.h>

/* "GPU 0: NVIDIA H100 80GB HBM3", "GPU 0, 1: NVIDIA H200"; what is no GPU has rows of its own. */
static void add_boards(jm__strbuf *out, const jm_report *report)
{
    const jm_board *first = NULL;
    for (size_t i = 0; i < jm_report_board_count(report); i++) {
        jm_report_board at;
        if (jm_report_board_get(report, i, &at, NULL) != JM_OK || strcmp(at.board->backend, "nvml") != 0)
            continue;
        bool another = first != NULL && strcmp(first->name, at.board->name) != 0;
        if (another) jm__strbuf_format(out, ": %s", first->name);
        jm__strbuf_format(out, "%s %d", first == NULL || another ? ", GPU" : ",", at.index);
        first = at.board;
    }
    if (first != NULL) jm__strbuf_format(out, ": %s", first->name);
}

static void add_title(jm__strbuf *out, const char *what, const jm_report *report, bool colour, size_t width)
{
    const jm_report_options *options = jm_report_options_get(report);
    jm__strbuf title = {0};
    jm__strbuf_add(&title, what);
    if (options->phase != NULL) jm__strbuf_format(&title, ", phase %s", options->phase);
    if (options->process_id != 0) jm__strbuf_format(&title, ", process %lld", (long long)options->process_id);
    if (jm_report_totals_get(report)->simulated) jm__strbuf_add(&title, ", SIMULATED GPU");
    add_boards(&title, report);
    if (colour) jm__strbuf_add(out, JM_COLOUR_BOLD);
    jm__wrap(out, "", 0, title.text != NULL ? title.text : "", width);
    jm__strbuf_add(out, colour ? JM_COLOUR_NONE "\n" : "\n");
    out->failed = out->failed || title.failed;
    jm__strbuf_free(&title);
}

static const char *colour_of(const char *verdict)
{
    if (strcmp(verdict, "good") == 0) return JM_COLOUR_GREEN;
    return strcmp(verdict, "poor") == 0 ? JM_COLOUR_RED : JM_COLOUR_YELLOW;
}

void jm__head_add_fact(jm__strbuf *out, const char *name, const char *text, size_t width)
{
    enum { INDENT = 10 };
    jm__wrap(out, name, INDENT, text, width);
}

jm_status jm__head_add(jm__strbuf *out, const char *what, const jm_report *report, bool colour, size_t width,
                       jm_error *err)
{
    jm__facts facts = {0};
    jm_status status = jm__facts_make(&facts, report, err);
    add_title(out, what, report, colour, width);
    for (size_t i = 0; status == JM_OK && i < facts.count; i++) {
        bool coloured = colour && strcmp(facts.items[i].name, "verdict") == 0;
        if (coloured) jm__strbuf_add(out, colour_of(jm_report_quality_get(report)->verdict));
        jm__head_add_fact(out, facts.items[i].name, facts.items[i].text, width);
        if (coloured) jm__strbuf_add(out, JM_COLOUR_NONE);
    }
    jm__strbuf_add(out, "\n");
    jm__facts_free(&facts);
    return status;
}
