/* Bursts of a phase: spans of kind window, each with the name of its kernel. */
#include "learn/suite.h"

#include "attribute/work/span_index.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

static bool has_word(const char *text, const char *word)
{
    return text != NULL && strstr(text, word) != NULL;
}

static bool is_constant(const char *text)
{
    return has_word(text, "zeros") || has_word(text, "constant");
}

/* A copy that JSON can hold; NULL if memory is out. */
static char *clean_copy(const char *text, size_t length)
{
    jm__strbuf cut = {0}, clean = {0};
    jm__strbuf_format(&cut, "%.*s", (int)length, text);
    bool fine = !cut.failed && cut.text != NULL;
    if (fine) jm__utf8_add(&clean, cut.text, false);
    jm__strbuf_free(&cut);
    return fine ? jm__strbuf_take(&clean) : NULL;
}

/* FAMILY/WHAT, else FAMILY_WHAT. */
static size_t family_length(const char *name)
{
    size_t slash = strcspn(name, "/");
    return name[slash] != '\0' ? slash : strcspn(name, "_");
}

static jm_status find_kernel(jm__lesson *l, const char *name, const char *data, size_t *kernel, jm_error *err)
{
    jm__taught taught = {.name = clean_copy(name, strlen(name)), .data = data};
    taught.family = taught.name != NULL ? clean_copy(taught.name, family_length(taught.name)) : NULL;
    taught.left_out = is_constant(data[0] != '\0' ? data : name);
    if (taught.name == NULL || taught.family == NULL) {
        free(taught.name);
        free(taught.family);
        return jm__no_memory(err, "jm_model_learn");
    }
    for (*kernel = 0; *kernel < l->kernels.count; (*kernel)++) {
        const jm__taught *known = &l->kernels.items[*kernel];
        if (strcmp(known->name, taught.name) != 0 || strcmp(known->data, data) != 0) continue;
        free(taught.name);
        free(taught.family);
        return JM_OK;
    }
    if (jm__vec_push(&l->kernels, taught)) return JM_OK;
    free(taught.name);
    free(taught.family);
    return jm__no_memory(err, "jm_model_learn");
}

jm_status jm__suite_phase(jm__lesson *l, const char *phase, jm_error *err)
{
    const jm__dataset *d = l->dataset;
    for (size_t i = 0; i < d->span_count; i++) {
        const jm__span *span = &d->spans[i];
        if (span->kind != JM_SPAN_PHASE || strcmp(jm__dataset_text(d, span->name_id), phase) != 0) continue;
        if (!jm__windows_add(&l->phase, span->start_ns, jm__span_end_ns(d, span)))
            return jm__no_memory(err, "jm_model_learn");
    }
    jm__windows_normalise(&l->phase);
    if (l->phase.count > 0) return JM_OK;
    return jm__fail(err, JM_NOT_FOUND, 0, NULL, "no phase \"%s\" in this recording", phase);
}

/* Of a suite of one family nothing would be left to learn from without it: each kernel is one of its own. */
static jm_status part_family(jm__lesson *l, jm_error *err)
{
    for (size_t k = 1; k < l->kernels.count; k++)
        if (strcmp(l->kernels.items[k].family, l->kernels.items[0].family) != 0) return JM_OK;
    for (size_t k = 0; k < l->kernels.count; k++) {
        char *family = strdup(l->kernels.items[k].name);
        if (family == NULL) return jm__no_memory(err, "jm_model_learn");
        free(l->kernels.items[k].family);
        l->kernels.items[k].family = family;
    }
    return JM_OK;
}

jm_status jm__suite_bursts(jm__lesson *l, const char *phase, jm_error *err)
{
    const jm__dataset *d = l->dataset;
    for (size_t i = 0; i < d->span_count; i++) {
        const jm__span *span = &d->spans[i];
        if (span->kind != JM_SPAN_WINDOW || span->end_ns <= span->start_ns ||
            !jm__windows_hold(&l->phase, span->start_ns))
            continue;
        if (l->bursts.count > 0 && span->start_ns < l->bursts.items[l->bursts.count - 1].end_ns)
            continue; /* one inside another: the outer one is the burst */
        jm__burst burst = {.start_ns = span->start_ns, .end_ns = span->end_ns};
        JM_TRY(find_kernel(l, jm__dataset_text(d, span->name_id), jm__dataset_text(d, span->type_id),
                           &burst.kernel, err));
        if (!jm__vec_push(&l->bursts, burst)) return jm__no_memory(err, "jm_model_learn");
    }
    if (l->bursts.count > 0) return part_family(l, err);
    return jm__fail(err, JM_NOT_FOUND, 0, NULL,
                    "the phase \"%s\" has no spans of kind window: what ran when is not known", phase);
}
