/* The table of checks applied: the worst decides, all that failed are told. */
#include "attribute/notes/checks.h"

#include "base/strbuf.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    double limits[JM_GRADE_POOR + 1]; /* by grade; of good: none */
    const char *before;
    jm__figure_form form;
    const char *after;
} checks[JM_CHECK_COUNT] = {
#define X(name, fair, poor, before, form, after)                                                             \
    {#name, {-INFINITY, (fair), (poor)}, (before), JM_FIGURE_##form, (after)},
    JM_CHECK_MAP(X)
#undef X
};

static const char *const nothing_found = "no check found anything against these figures";

const char *jm__grade_text(jm__grade grade)
{
    static const char *const texts[] = {"good", "fair", "poor"};
    return texts[grade];
}

double jm__check_limit(jm__check check, jm__grade grade)
{
    return checks[check].limits[grade];
}

const char *jm__check_name(jm__check check)
{
    return checks[check].name;
}

static jm__grade grade_of(jm__check check, double figure)
{
    if (figure >= checks[check].limits[JM_GRADE_POOR]) return JM_GRADE_POOR;
    return figure >= checks[check].limits[JM_GRADE_FAIR] ? JM_GRADE_FAIR : JM_GRADE_GOOD;
}

/* One decimal where the whole number would hide how near the limit is. */
static void add_figure(jm__strbuf *out, jm__figure_form form, double figure)
{
    double shown = form == JM_FIGURE_PERCENT ? 100 * figure : figure;
    const char *unit = form == JM_FIGURE_PERCENT ? " %" : "";
    if (form == JM_FIGURE_HIDDEN) return;
    jm__strbuf_format(out, "%.*f%s", form != JM_FIGURE_COUNT && shown < 9.95 ? 1 : 0, shown, unit);
}

static bool add_sentence(jm__verdict *verdict, jm__check check, const jm__facts *facts)
{
    jm__strbuf text = {0};
    jm__strbuf_add(&text, checks[check].before);
    add_figure(&text, checks[check].form, facts->figures[check]);
    jm__strbuf_add(&text, checks[check].after);
    if (check == JM_CHECK_no_layer && facts->no_layer_why != NULL)
        jm__strbuf_format(&text, ": %s", facts->no_layer_why);
    if ((check == JM_CHECK_chi2_n || check == JM_CHECK_residual) && facts->total_is_measured)
        jm__strbuf_add(&text, ", the total is sound");
    char *whole = jm__strbuf_take(&text);
    if (whole != NULL && jm__vec_push(&verdict->sentences, whole)) return true;
    free(whole);
    return false;
}

bool jm__verdict_find(jm__verdict *verdict, const jm__facts *facts)
{
    *verdict = (jm__verdict){.grade = JM_GRADE_GOOD};
    bool fine = true;
    for (jm__grade grade = JM_GRADE_POOR; grade > JM_GRADE_GOOD; grade--) {
        for (jm__check check = 0; fine && check < JM_CHECK_COUNT; check++) {
            if (grade_of(check, facts->figures[check]) != grade) continue;
            if (grade > verdict->grade) verdict->grade = grade;
            fine = add_sentence(verdict, check, facts);
        }
    }
    if (fine && verdict->sentences.count == 0) {
        char *text = strdup(nothing_found);
        fine = text != NULL && jm__vec_push(&verdict->sentences, text);
        if (!fine) free(text);
    }
    if (!fine || !jm__vec_push(&verdict->sentences, NULL)) return false;
    verdict->sentences.count--;
    return true;
}

void jm__verdict_free(jm__verdict *verdict)
{
    for (size_t i = 0; i < verdict->sentences.count; i++)
        free(verdict->sentences.items[i]);
    jm__vec_free(&verdict->sentences);
}
