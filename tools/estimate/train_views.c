/* A training for people and programs, and its model as a file. */
#include "estimate/training.h"

#include "base/json_value.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "report/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

static json_t *size_json(size_t count)
{
    return json_integer((json_int_t)count);
}

static bool put_rows(json_t *root, const jm_training *t)
{
    json_t *rows = json_array();
    bool fine = put(root, "rows", rows);
    for (size_t i = 0; fine && i < t->features.count; i++) {
        const jm__feature_row *k = &t->features.rows[i];
        json_t *row = json_object();
        fine = json_array_append_new(rows, row) == 0 && put(row, "kernel", jm__json_text(k->kernel)) &&
               put(row, "family", jm__json_text(k->family)) &&
               put(row, "power_w", jm__json_real(k->power_w)) &&
               put(row, "left_out_w", jm__json_real(t->by_kernel[i])) &&
               put(row, "family_left_out_w", jm__json_real(t->by_family[i])) &&
               put(row, "error", jm__json_real(t->by_kernel[i] / k->power_w - 1));
    }
    return fine;
}

static bool put_families(json_t *root, const jm_training *t)
{
    json_t *families = json_array();
    bool fine = put(root, "families", families);
    for (size_t i = 0; fine && i < t->family_count; i++) {
        json_t *family = json_object();
        fine = json_array_append_new(families, family) == 0 &&
               put(family, "name", jm__json_text(t->families[i].name)) &&
               put(family, "kernels", size_json(t->families[i].kernels)) &&
               put(family, "error", jm__json_real(t->family_count < 3 ? NAN : t->families[i].error));
    }
    return fine;
}

static bool put_features(json_t *root, const jm__trained *model)
{
    json_t *features = json_array();
    bool fine = put(root, "features", features);
    for (size_t i = 0; fine && i < model->count; i++) {
        const jm__trained_feature *f = &model->features[i];
        json_t *feature = json_object();
        fine =
            json_array_append_new(features, feature) == 0 && put(feature, "name", jm__json_text(f->name)) &&
            put(feature, "reference", jm__json_real(f->reference)) &&
            put(feature, "least", jm__json_real(f->least)) && put(feature, "most", jm__json_real(f->most)) &&
            put(feature, "weight_w", jm__json_real(f->weight_w));
    }
    return fine;
}

static bool put_errors(json_t *root, const jm_trained *r)
{
    return put(root, "error_by_kernel", jm__json_real(r->error_by_kernel)) &&
           put(root, "error_by_family", jm__json_real(r->error_by_family)) &&
           put(root, "median_by_kernel", jm__json_real(r->median_by_kernel)) &&
           put(root, "worst_by_kernel", jm__json_real(r->worst_by_kernel)) &&
           put(root, "constant_error", jm__json_real(r->constant_error)) &&
           put(root, "plain_error", jm__json_real(r->plain_error)) &&
           put(root, "coverage", jm__json_real(r->coverage));
}

static bool put_model(json_t *root, const jm_training *t)
{
    const jm__trained *m = &t->model;
    return put(root, "format", json_string("joulemap trained model")) &&
           put(root, "version", json_integer(1)) && put(root, "exponent", jm__json_real(m->exponent)) &&
           put(root, "constant_w", jm__json_real(m->constant_w)) &&
           put(root, "own_u", jm__json_real(m->own_u)) && put(root, "family_u", jm__json_real(m->family_u)) &&
           put(root, "low_w", jm__json_real(m->low_w)) && put(root, "high_w", jm__json_real(m->high_w)) &&
           put(root, "kernels", size_json(m->kernels)) && put_features(root, m) &&
           put_errors(root, &t->result);
}

static bool put_notes(json_t *root, const jm_training *t)
{
    json_t *notes = json_array();
    bool fine = put(root, "notes", notes);
    for (size_t i = 0; fine && i < t->notes.count; i++)
        fine = json_array_append_new(notes, jm__json_text(t->notes.items[i])) == 0;
    return fine;
}

/* NULL: memory is out. */
static char *text_take(const json_t *root)
{
    jm__strbuf text = {0};
    char *taken = jm__json_add(&text, root, 0) ? jm__strbuf_take(&text) : NULL;
    jm__strbuf_free(&text);
    return taken;
}

jm_status jm_training_json(const jm_training *training, char **out, jm_error *err)
{
    json_t *root = json_object();
    bool fine = put_model(root, training) && put_families(root, training) && put_rows(root, training) &&
                put_notes(root, training);
    *out = fine ? text_take(root) : NULL;
    json_decref(root);
    return *out != NULL ? JM_OK : jm__no_memory(err, "jm_training_json");
}

jm_status jm__training_write(const jm_training *training, const char *path, jm_error *err)
{
    char beside[4096];
    if ((size_t)snprintf(beside, sizeof beside, "%s.new-%d", path, (int)getpid()) >= sizeof beside)
        return jm__fail(err, JM_USAGE, 0, NULL, "%s is too long a path", path);
    json_t *root = json_object();
    char *text = put_model(root, training) ? text_take(root) : NULL;
    json_decref(root);
    if (text == NULL) return jm__no_memory(err, "jm_estimate_train");
    FILE *file = fopen(beside, "w");
    bool fine = file != NULL && fputs(text, file) >= 0 && fputc('\n', file) >= 0;
    int code = errno;
    if (file != NULL && fclose(file) != 0) {
        code = errno;
        fine = false;
    }
    free(text);
    if (fine && rename(beside, path) == 0) return JM_OK;
    if (fine) code = errno;
    unlink(beside);
    return jm__fail(err, jm_status_of_errno(code), code, "fopen", "%s cannot be written: %s", path,
                    strerror(code));
}

/* ---- for people */

static int dearer(const void *a, const void *b)
{
    const jm__trained_feature *x = *(const jm__trained_feature *const *)a,
                              *y = *(const jm__trained_feature *const *)b;
    return (x->weight_w < y->weight_w) - (x->weight_w > y->weight_w);
}

static bool add_weights(jm__strbuf *out, const jm__trained *m)
{
    const jm__trained_feature **sorted = calloc(m->count + 1, sizeof *sorted);
    if (sorted == NULL) return false;
    for (size_t i = 0; i < m->count; i++)
        sorted[i] = &m->features[i];
    qsort(sorted, m->count, sizeof *sorted, dearer);
    jm__strbuf_format(out, "power = %.1f W", m->constant_w);
    for (size_t i = 0; i < m->count; i++)
        if (sorted[i]->weight_w > 0)
            jm__strbuf_format(out, "\n      + %.1f W (%s / %.4g)^%g", sorted[i]->weight_w, sorted[i]->name,
                              sorted[i]->reference, m->exponent);
    jm__strbuf_add(out, "\n");
    free(sorted);
    return true;
}

static void add_worst(jm__strbuf *out, const jm_training *t)
{
    size_t worst = 0;
    for (size_t i = 1; i < t->features.count; i++)
        if (fabs(t->by_kernel[i] / t->features.rows[i].power_w - 1) >
            fabs(t->by_kernel[worst] / t->features.rows[worst].power_w - 1))
            worst = i;
    jm__strbuf_format(out, "worst kernel: %.60s, %.0f W where it draws %.0f\n",
                      t->features.rows[worst].kernel, t->by_kernel[worst], t->features.rows[worst].power_w);
    if (t->family_count < 3) return;
    worst = 0;
    for (size_t i = 1; i < t->family_count; i++)
        if (t->families[i].error > t->families[worst].error) worst = i;
    jm__strbuf_format(out, "worst family: %.60s, %.1f %%\n", t->families[worst].name,
                      100 * t->families[worst].error);
}

jm_status jm_training_text(const jm_training *training, char **out, jm_error *err)
{
    const jm_trained *r = &training->result;
    jm__strbuf text = {0};
    jm__strbuf_format(&text, "%zu kernels of %zu families, %zu features\n", r->kernels, r->families,
                      r->features);
    jm__strbuf_format(
        &text,
        "error of a kernel that was left out: %.1f %% on average, %.1f %% in the middle, %.1f %% at worst\n",
        100 * r->error_by_kernel, 100 * r->median_by_kernel, 100 * r->worst_by_kernel);
    if (isfinite(r->error_by_family))
        jm__strbuf_format(&text, "error of a kernel whose family was left out: %.1f %% on average\n",
                          100 * r->error_by_family);
    jm__strbuf_format(
        &text, "for comparison: the mean of the others %.1f %%, plain non-negative least squares %.1f %%\n",
        100 * r->constant_error, 100 * r->plain_error);
    jm__strbuf_format(&text, "intervals of %.0f %% held %.0f %% of kernels that were left out\n",
                      100 * JM_ESTIMATE_COVERS, 100 * r->coverage);
    add_worst(&text, training);
    bool fine = add_weights(&text, &training->model);
    for (size_t i = 0; i < training->notes.count; i++)
        jm__strbuf_format(&text, "%s\n", training->notes.items[i]);
    if (training->path[0] != '\0') jm__strbuf_format(&text, "%s: the model\n", training->path);
    *out = fine ? jm__strbuf_take(&text) : NULL;
    jm__strbuf_free(&text);
    return *out != NULL ? JM_OK : jm__no_memory(err, "jm_training_text");
}
