/* Matching ncu's kernels with those of a recording. */
#include "import/counters.h"

#include "base/demangle.h"
#include "base/status.h"
#include "base/text_ids.h"
#include "import/ncu/sheet.h"
#include "record/counters/chip.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLASS_WINDOWS = 1000,      /* at most per class */
    CLASS_ENOUGH_NS = 2000000, /* and only until the class was covered for so long: a prior needs 0.1 ms */
    KEY_TEXT = 400
};

/* Kernels of the file with one key. */
typedef struct group {
    JM_VEC(size_t) kernels;
    size_t next; /* which of them the next launch in the recording gets */
} group;

/* What the windows of a class of the recording cover. */
typedef struct coverage {
    group *matched; /* NULL: the class is not in the file */
    int64_t ns, windows;
} coverage;

typedef struct importing {
    jm__writer *writer;
    const jm__dataset *data;
    int64_t board_id;
    const char *path;
    jm__ncu_words words;
    const jm__ncu_board *board;
    jm__ncu ncu;
    jm__ncu_sheet sheet;
    jm__chip chip;
    size_t metric_count;
    const jm__ncu_word *metrics[JM_COUNTER_METRICS_MAX];
    const char *metric_names[JM_COUNTER_METRICS_MAX], *metric_units[JM_COUNTER_METRICS_MAX];
    double *amounts;   /* [kernels * metrics]: events, or percent times seconds */
    jm__text_ids keys; /* of kernels of the file: their group */
    group *groups;     /* [keys] */
    coverage *classes; /* [classes] */
    jm__sample_blocks blocks;
    int64_t last_ns;
} importing;

/* ---- names and shapes */

/* The base name, in *at; returns its length. "void at::native::foo<float, 4>(T1 *)" and
 * "_ZN2at6native3foo..." are foo: tools and their versions write the rest differently. */
static size_t base_name(const char *name, const char **at)
{
    size_t end = 0, depth = 0, start = 0;
    while (name[end] != '\0' && name[end] != '<' && name[end] != '(') {
        end++;
        if (name[end] == '<' && strncmp(name + end, "<unnamed>", 9) == 0) end += 9;
        if (name[end] == '(' && strncmp(name + end, "(anonymous namespace)", 21) == 0) end += 21;
    }
    for (size_t i = 0; i < end; i++) {
        depth += name[i] == '<' || name[i] == '(';
        depth -= (name[i] == '>' || name[i] == ')') && depth > 0;
        if (depth == 0 && (name[i] == ' ' || (name[i] == ':' && i > 0 && name[i - 1] == ':'))) start = i + 1;
    }
    *at = name + start;
    return end - start;
}

static void make_key(char key[KEY_TEXT], const char *name, const uint32_t grid[3], const uint32_t block[3])
{
    const char *base;
    size_t length = base_name(name, &base);
    snprintf(key, KEY_TEXT, "%.*s %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32,
             (int)(length < 256 ? length : 256), base, grid[0], grid[1], grid[2], block[0], block[1],
             block[2]);
}

/* "(1,024, 1, 1)": no space follows a grouping sign. */
static bool read_shape(const char *text, uint32_t out[3])
{
    uint64_t value = 0;
    size_t at = 0;
    bool digits = false;
    for (; *text != '\0'; text++) {
        if (*text >= '0' && *text <= '9') {
            value = 10 * value + (uint64_t)(*text - '0');
            digits = true;
            if (value > UINT32_MAX) return false;
        }
        bool ends = (*text == ',' && text[1] == ' ') || *text == ')';
        if (!ends) continue;
        if (!digits || at == 3) return false;
        out[at++] = (uint32_t)value;
        value = 0;
        digits = false;
    }
    return at == 3;
}

/* ---- the file */

static jm_status choose_metrics(importing *all, jm_error *err)
{
    JM_TRY(jm__chip_load(&all->chip, all->words.chip, err));
    for (size_t m = 0; m < all->chip.metric_count; m++) {
        const jm__ncu_word *word = jm__ncu_word_of(&all->words, all->chip.metrics[m].name);
        if (word == NULL) continue;
        all->metrics[all->metric_count] = word;
        all->metric_names[all->metric_count] = all->chip.metrics[m].name;
        all->metric_units[all->metric_count++] = all->chip.metrics[m].unit;
    }
    return JM_OK;
}

static void find_amounts(importing *all, size_t kernel)
{
    jm__ncu_scale scale;
    double clock_hz, *to = all->amounts + kernel * all->metric_count;
    jm__ncu_sheet_fill(&all->sheet, &all->ncu.kernels[kernel]);
    jm__ncu_scale_find(&scale, &clock_hz, &all->words, all->board, &all->sheet);
    for (size_t m = 0; m < all->metric_count; m++) {
        to[m] = jm__ncu_amount(all->metrics[m], all->board, &all->sheet, &scale);
        if (isnan(to[m]) && all->metrics[m]->always) to[m] = clock_hz * scale.duration_s;
    }
}

/* A board's model needs all of them. */
static jm_status check_metrics(const importing *all, jm_error *err)
{
    char missing[400] = "";
    size_t used = 0;
    for (size_t m = 0; m < all->metric_count; m++) {
        bool is_counted = false;
        for (size_t k = 0; !is_counted && k < all->ncu.count; k++)
            is_counted = !isnan(all->amounts[k * all->metric_count + m]);
        const jm__ncu_word *word = all->metrics[m];
        if (is_counted || used + 1 >= sizeof missing) continue;
        int added = snprintf(missing + used, sizeof missing - used, "%s%s", used > 0 ? ", " : "",
                             word->counter_count > 0 ? word->counters[0] : word->percents[0]);
        used += added > 0 ? (size_t)added : 0;
    }
    if (used == 0) return JM_OK;
    jm__fail(err, JM_BAD_DATA, 0, NULL, "%s lacks counters that a model needs: %s", all->path, missing);
    return jm__hint(err, JM_BAD_DATA,
                    "count them: ncu --csv --page raw --metrics \"$(joulemap estimate --metrics)\"");
}

static jm_status read_file(importing *all, jm_error *err)
{
    JM_TRY(jm__ncu_words_load(&all->words, 0, 0, err));
    JM_TRY(jm__ncu_read(&all->ncu, all->path, jm__ncu_words_filter, &all->words, err));
    const jm__ncu_kernel *first = &all->ncu.kernels[0];
    if (first->cc_major == 0)
        return jm__fail(err, JM_NOT_SUPPORTED, 0, NULL,
                        "%s does not state its chip; ncu does since 2022.3, in its column CC", all->path);
    JM_TRY(jm__ncu_words_load(&all->words, first->cc_major, first->cc_minor, err));
    JM_TRY(jm__ncu_sheet_init(&all->sheet, &all->ncu, err));
    JM_TRY(choose_metrics(all, err));
    jm__ncu_sheet_fill(&all->sheet, &all->ncu.kernels[0]);
    all->board =
        jm__ncu_board_by_memory(&all->words, jm__ncu_sheet_place(&all->sheet, &all->words.dram_clock));
    all->amounts = calloc(all->ncu.count * all->metric_count + 1, sizeof *all->amounts);
    if (all->amounts == NULL) return jm__no_memory(err, "jm__import_ncu");
    for (size_t k = 0; k < all->ncu.count; k++)
        find_amounts(all, k);
    return check_metrics(all, err);
}

/* Adds a kernel of the file to its group. */
static jm_status add_to_group(importing *all, size_t kernel, jm_error *err)
{
    char key[KEY_TEXT];
    uint32_t grid[3], block[3];
    const jm__ncu_kernel *k = &all->ncu.kernels[kernel];
    if (!read_shape(k->grid, grid) || !read_shape(k->block, block))
        return JM_OK; /* this page has no shapes */
    make_key(key, k->name, grid, block);
    int64_t id = jm__text_ids_add(&all->keys, key);
    bool added = id >= 0 && jm__vec_push(&all->groups[id].kernels, kernel);
    return added ? JM_OK : jm__no_memory(err, "jm__import_ncu");
}

static jm_status group_file(importing *all, jm_error *err)
{
    all->groups = calloc(all->ncu.count, sizeof *all->groups);
    if (all->groups == NULL) return jm__no_memory(err, "jm__import_ncu");
    for (size_t k = 0; k < all->ncu.count; k++)
        JM_TRY(add_to_group(all, k, err));
    return JM_OK;
}

/* ---- the recording */

static jm_status match_class(importing *all, const jm__kernel_class *class, coverage *to, jm_error *err)
{
    char key[KEY_TEXT], *plain;
    const char *name = jm__dataset_text(all->data, class->name_id);
    if (!jm__demangle(&plain, name)) return jm__no_memory(err, "jm__import_ncu");
    make_key(key, plain != NULL ? plain : name, class->grid, class->block);
    free(plain);
    int64_t id = class->work == JM_WORK_KERNEL ? jm__text_ids_find(&all->keys, key) : -1;
    if (id >= 0) to->matched = &all->groups[id];
    return JM_OK;
}

static jm_status match_classes(importing *all, jm_error *err)
{
    size_t kernels = 0, matched = 0;
    all->classes = calloc(all->data->class_count + 1, sizeof *all->classes);
    if (all->classes == NULL) return jm__no_memory(err, "jm__import_ncu");
    for (size_t c = 0; c < all->data->class_count; c++) {
        JM_TRY(match_class(all, &all->data->classes[c], &all->classes[c], err));
        kernels += all->data->classes[c].work == JM_WORK_KERNEL;
        matched += all->classes[c].matched != NULL;
    }
    if (matched > 0) return JM_OK;
    jm__fail(err, JM_NOT_FOUND, 0, NULL, "none of the recording's %zu kinds of kernels is in %s", kernels,
             all->path);
    return jm__hint(
        err, JM_NOT_FOUND,
        "kernels are matched by name, grid and block: profile the same program with the same sizes");
}

/* ---- windows */

/* Amounts do not depend on how long the launch took here. */
static void fill_window(const importing *all, jm__counter_sample *sample, const jm__kernel_run *run,
                        size_t kernel)
{
    const double *amounts = all->amounts + kernel * all->metric_count;
    double seconds = (double)(run->end_ns - run->start_ns) / 1e9;
    sample->start_ns = run->start_ns;
    sample->end_ns = run->end_ns;
    for (size_t m = 0; m < all->metric_count; m++) {
        bool share = strcmp(all->metric_units[m], JM_COUNTER_PERCENT) == 0;
        sample->values[m] = share ? amounts[m] / seconds : amounts[m];
    }
}

static jm_status take_kernel(void *taker, const jm__kernel_run *run, jm_error *err)
{
    importing *all = taker;
    coverage *class = &all->classes[run->class_id - 1];
    group *matched = class->matched;
    if (matched == NULL || all->data->streams[run->stream_id - 1].board_id != all->board_id) return JM_OK;
    size_t number = matched->next++ % matched->kernels.count; /* skipped launches advance the order, too */
    bool enough = class->ns >= CLASS_ENOUGH_NS || class->windows >= CLASS_WINDOWS;
    if (enough && class->windows >= (int64_t)matched->kernels.count) return JM_OK;
    if (run->start_ns < all->last_ns || run->end_ns <= run->start_ns || run->calls != 1) return JM_OK;
    fill_window(all, jm__sample_blocks_next(&all->blocks), run, matched->kernels.items[number]);
    all->last_ns = run->end_ns;
    class->ns += run->end_ns - run->start_ns;
    class->windows++;
    return jm__sample_blocks_add(&all->blocks, err);
}

static jm_status import(importing *all, jm_error *err)
{
    JM_TRY(read_file(all, err));
    JM_TRY(group_file(all, err));
    JM_TRY(match_classes(all, err));
    JM_TRY(jm__sample_blocks_begin(&all->blocks, all->writer, all->board_id, all->metric_names,
                                   all->metric_units, all->metric_count, err));
    JM_TRY(all->data->kernels.each(all->data->kernels.context, true, take_kernel, all, err));
    JM_TRY(jm__sample_blocks_end(&all->blocks, err));
    jm__writer_meta(all->writer, "ncu", all->path);
    return JM_OK;
}

jm_status jm__import_ncu(jm__writer *writer, const jm__dataset *data, int64_t board_id, const char *path,
                         jm_error *err)
{
    importing *all = calloc(1, sizeof *all);
    if (all == NULL) return jm__no_memory(err, "jm__import_ncu");
    *all =
        (importing){.writer = writer, .data = data, .board_id = board_id, .path = path, .last_ns = INT64_MIN};
    jm_status status = import(all, err);
    jm__ncu_sheet_free(&all->sheet);
    jm__ncu_free(&all->ncu);
    for (size_t g = 0; g < all->keys.items.count; g++)
        jm__vec_free(&all->groups[g].kernels);
    jm__text_ids_free(&all->keys);
    free(all->amounts);
    free(all->groups);
    free(all->classes);
    jm__sample_blocks_free(&all->blocks);
    free(all);
    return status;
}
