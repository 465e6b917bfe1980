/* Reports of the recordings, kept in a small cache, and the page's data made of them. */
#include "view/command/answers.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Answers that are made at the same time, the reports that one needs at most (two files, each in three ways),
 * and reports that are kept: enough for all answers, so that none waits for a place that another one holds.
 */
enum { ANSWERS_MAX = 4, NEEDED_MAX = 3 * VIEW_FILES_MAX, KEPT_MAX = ANSWERS_MAX * NEEDED_MAX };

/* Those that nobody uses at the moment, of each file: two choices in all their parts. */
enum { IDLE_MAX = 8 };

/* While a recording grows, its report is made anew at most so often: the program that is measured comes
 * first. */
static const double least_age_s = 1, age_per_cost = 9;

/* What a report is of; all bytes count. */
typedef struct report_key {
    size_t file;
    jm_report_options options; /* `phase` is below */
    char phase[VIEW_TEXT_MAX];
    double from_s, to_s;
    long long board;
} report_key;

typedef struct kept {
    report_key key;
    bool computing;
    unsigned users; /* threads that read it or wait for it */
    unsigned long long version, last_use;
    double made_s, cost_s;
    pthread_mutex_t reading; /* one thread at a time writes it out */
    jm_recording *recording;
    jm_report *report; /* NULL after a failure */
    jm_error err;
} kept;

struct view_answers {
    view_source source;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    kept *all[KEPT_MAX];
    size_t running, running_max; /* answers */
    unsigned long long uses;
};

view_answers *view_answers_new(const view_source *source)
{
    view_answers *a = calloc(1, sizeof *a);
    if (a == NULL) return NULL;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    a->source = *source;
    a->running_max = cores >= 8 ? ANSWERS_MAX : cores >= 4 ? 3 : 2;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    return a;
}

static void free_kept(kept *k)
{
    jm_report_free(k->report);
    jm_recording_close(k->recording);
    pthread_mutex_destroy(&k->reading);
    free(k);
}

void view_answers_free(view_answers *a)
{
    if (a == NULL) return;
    for (size_t i = 0; i < KEPT_MAX; i++)
        if (a->all[i] != NULL) free_kept(a->all[i]);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

bool view_answers_busy(view_answers *a)
{
    pthread_mutex_lock(&a->lock);
    bool busy = a->running > 0;
    pthread_mutex_unlock(&a->lock);
    return busy;
}

/* ---- versions of the files */

static unsigned long long mixed(unsigned long long hash, unsigned long long value)
{
    return (hash ^ value) * 1099511628211ULL; /* FNV-1a, word by word */
}

/* Of a recording and its journal. */
static unsigned long long file_version(const char *path)
{
    char journal[PATH_MAX + 8];
    const char *const files[] = {path, journal};
    unsigned long long hash = 14695981039346656037ULL;
    snprintf(journal, sizeof journal, "%s-wal", path);
    for (size_t i = 0; i < 2; i++) {
        struct stat info = {0};
        if (stat(files[i], &info) != 0) continue;
        hash = mixed(hash, (unsigned long long)info.st_ino);
        hash = mixed(hash, (unsigned long long)info.st_size);
        hash = mixed(hash, (unsigned long long)info.st_mtim.tv_sec);
        hash = mixed(hash, (unsigned long long)info.st_mtim.tv_nsec);
    }
    return hash;
}

/* Neither closed nor left by a killed recorder. */
static bool is_written(const char *path)
{
    jm_recording *recording;
    jm_error err;
    char journal[PATH_MAX + 8];
    snprintf(journal, sizeof journal, "%s-wal", path);
    if (access(journal, F_OK) != 0) return false;
    if (jm_recording_open(&recording, path, &err) != JM_OK) return false;
    bool written = jm_recording_meta(recording, "closed") == NULL && jm_recording_damage(recording) == NULL;
    jm_recording_close(recording);
    return written;
}

unsigned long long view_answers_version(view_answers *a, bool *live)
{
    unsigned long long version = 0;
    *live = false;
    for (size_t f = 0; f < a->source.count; f++) {
        version = mixed(version, file_version(a->source.paths[f]));
        *live = *live || is_written(a->source.paths[f]);
    }
    return version;
}

/* ---- making a report */

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A time of the page on the recording's clock; times beyond a year are the same to a report. */
static int64_t clock_ns(int64_t start_ns, double time_s)
{
    return start_ns + (int64_t)(1e9 * fmin(fmax(time_s, -3e7), 3e7));
}

static void set_time(jm_report_options *options, const report_key *key, const jm_recording *recording)
{
    const char *start = jm_recording_meta(recording, "start_ns");
    int64_t start_ns = start != NULL ? strtoll(start, NULL, 10) : 0;
    if (isnan(key->from_s)) return;
    options->from_ns = clock_ns(start_ns, key->from_s);
    options->to_ns = clock_ns(start_ns, key->to_s);
}

static jm_status make(kept *k, const view_source *source, jm_error *err)
{
    const report_key *key = &k->key;
    jm_report_options options = key->options;
    options.phase = key->phase[0] != '\0' ? key->phase : NULL;
    jm_status status = jm_recording_open(&k->recording, source->paths[key->file], err);
    if (status == JM_OK && key->board >= 0)
        status = jm_recording_board_id(k->recording, (int)key->board, &options.board_id, err);
    if (status != JM_OK) return status;
    set_time(&options, key, k->recording);
    return jm_report_create(&k->report, k->recording, &options, err);
}

/* ---- the cache */

/* Of this key, and as new as it must be. */
static kept *find(view_answers *a, const report_key *key, unsigned long long version)
{
    for (size_t i = 0; i < KEPT_MAX; i++) {
        kept *k = a->all[i];
        if (k == NULL || memcmp(&k->key, key, sizeof *key) != 0) continue;
        double age_s = now_s() - k->made_s;
        bool fresh = age_s < least_age_s || age_s < age_per_cost * k->cost_s;
        if (k->computing || k->version == version || fresh) return k;
    }
    return NULL;
}

/* A place for another one, in place of an older one of its key or of the longest unused; NULL: all are in
 * use. */
static kept **find_place(view_answers *a, const report_key *key)
{
    kept **place = NULL;
    for (size_t i = 0; i < KEPT_MAX; i++) {
        kept *k = a->all[i];
        if (k == NULL || (k->users == 0 && memcmp(&k->key, key, sizeof *key) == 0)) return &a->all[i];
        if (k->users == 0 && (place == NULL || k->last_use < (*place)->last_use)) place = &a->all[i];
    }
    return place;
}

/* Computes without the lock, which is held before and after. */
static void compute(view_answers *a, kept *k)
{
    k->version = file_version(a->source.paths[k->key.file]);
    pthread_mutex_unlock(&a->lock);
    double begin_s = now_s();
    jm_status status = make(k, &a->source, &k->err);
    double end_s = now_s();
    pthread_mutex_lock(&a->lock);
    k->err.status = status;
    k->made_s = end_s;
    k->cost_s = end_s - begin_s;
    k->computing = false;
    pthread_cond_broadcast(&a->changed);
}

/* NULL if memory is out. */
static kept *add(view_answers *a, const report_key *key)
{
    kept **place = find_place(a, key), *k = calloc(1, sizeof *k);
    if (k == NULL || place == NULL) {
        free(k);
        return NULL;
    }
    if (*place != NULL) free_kept(*place);
    *place = k;
    k->key = *key;
    k->users = 1;
    k->computing = true;
    pthread_mutex_init(&k->reading, NULL);
    compute(a, k);
    return k;
}

/* The report of this key, made or waited for. Release it. NULL if memory is out; a failure is in its `err`.
 */
static kept *take(view_answers *a, const report_key *key)
{
    pthread_mutex_lock(&a->lock);
    kept *k = find(a, key, file_version(a->source.paths[key->file]));
    if (k == NULL) {
        k = add(a, key);
    } else {
        k->users++;
        while (k->computing)
            pthread_cond_wait(&a->changed, &a->lock);
    }
    if (k != NULL) k->last_use = ++a->uses;
    pthread_mutex_unlock(&a->lock);
    return k;
}

/* Free one that was not asked for lately, if there are too many: one of a long run may have 100 MB. */
static void drop_oldest(view_answers *a)
{
    kept **oldest = NULL;
    size_t idle = 0;
    for (size_t i = 0; i < KEPT_MAX; i++) {
        kept *k = a->all[i];
        if (k == NULL || k->users > 0) continue;
        idle++;
        if (oldest == NULL || k->last_use < (*oldest)->last_use) oldest = &a->all[i];
    }
    if (idle <= IDLE_MAX * a->source.count) return;
    free_kept(*oldest);
    *oldest = NULL;
}

static void release(view_answers *a, kept *k)
{
    if (k == NULL) return;
    pthread_mutex_lock(&a->lock);
    k->users--;
    drop_oldest(a);
    pthread_mutex_unlock(&a->lock);
}

/* Wait for a turn to make an answer, or end it. */
static void begin_answer(view_answers *a)
{
    pthread_mutex_lock(&a->lock);
    while (a->running >= a->running_max)
        pthread_cond_wait(&a->changed, &a->lock);
    a->running++;
    pthread_mutex_unlock(&a->lock);
}

static void end_answer(view_answers *a)
{
    pthread_mutex_lock(&a->lock);
    a->running--;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

/* ---- answers */

/* The reports of an answer about one file, in the order in which all threads lock them. */
enum { REPORT, KERNELS, SPANS, KINDS };

typedef struct taken {
    kept *of[KINDS];
} taken;

static report_key key_of(const view_answers *a, const view_query *q, size_t file, jm_by by, bool kernels)
{
    report_key key;
    memset(&key, 0, sizeof key); /* its padding too, as keys are compared whole */
    key.file = file;
    key.options.size = sizeof key.options;
    key.options.by = by;
    key.options.kernels = kernels;
    key.options.prior = a->source.prior;
    key.options.model = a->source.model;
    key.options.process_id = q->process >= 0 ? q->process : 0;
    key.from_s = q->from_s;
    key.to_s = q->to_s;
    key.board = q->board;
    memcpy(key.phase, q->phase, strlen(q->phase));
    return key;
}

static jm_status take_report(view_answers *a, const report_key *key, kept **out, jm_error *err)
{
    *out = take(a, key);
    *err = (jm_error){.status = JM_NO_MEMORY, .text = "out of memory"};
    if (*out != NULL) *err = (*out)->err;
    return err->status;
}

static jm_status take_all(view_answers *a, const view_query *q, size_t file, taken *t, jm_error *err)
{
    bool whole = q->part == VIEW_PART_PAGE, layer = q->part == VIEW_PART_LAYER;
    bool steps = whole || layer || q->part == VIEW_PART_STEPS;
    jm_status status = JM_OK;
    if (q->part != VIEW_PART_KERNELS) {
        const report_key key = key_of(a, q, file, q->by, false);
        status = take_report(a, &key, &t->of[REPORT], err);
    }
    if (status == JM_OK && (layer || ((whole || q->part == VIEW_PART_KERNELS) && q->by != JM_BY_KERNEL))) {
        const report_key key = key_of(a, q, file, layer ? JM_BY_LAYER : JM_BY_KERNEL, layer);
        status = take_report(a, &key, &t->of[KERNELS], err);
    }
    if (status == JM_OK && steps && jm_page_wants_spans(t->of[REPORT]->report)) {
        const report_key key = key_of(a, q, file, JM_BY_SPAN, false);
        status = take_report(a, &key, &t->of[SPANS], err);
    }
    return status;
}

static const jm_report *report_of(const taken *t, int kind)
{
    return t->of[kind] != NULL ? t->of[kind]->report : NULL;
}

static jm_status write_page(const jm_page_run *runs, size_t count, const jm_diff *diff, char **text,
                            size_t *length, jm_error *err)
{
    FILE *out = open_memstream(text, length);
    *err = (jm_error){.status = JM_NO_MEMORY, .text = "out of memory"};
    if (out == NULL) return JM_NO_MEMORY;
    jm_status status = count == 1 ? jm_page_write(&runs[0], out, err)
                                  : jm_page_write_diff(diff, &runs[0], &runs[1], out, err);
    fclose(out);
    return status;
}

static jm_status write_runs(const view_source *source, const view_query *q, const taken *t, char **text,
                            size_t *length, jm_error *err)
{
    jm_page_run runs[VIEW_FILES_MAX];
    const jm_page_run *pointers[VIEW_FILES_MAX];
    jm_diff *diff = NULL;
    jm_status status = JM_OK;
    for (size_t f = 0; f < source->count; f++) {
        pointers[f] = &runs[f];
        runs[f] = (jm_page_run){.size = sizeof runs[f],
                                .name = source->names[f],
                                .recording = t[f].of[REPORT] != NULL ? t[f].of[REPORT]->recording : NULL,
                                .report = q->part != VIEW_PART_STEPS ? report_of(&t[f], REPORT) : NULL,
                                .kernels = report_of(&t[f], KERNELS),
                                .spans = report_of(&t[f], SPANS)};
    }
    if (source->count == 2 && runs[0].report != NULL) {
        const jm_diff_options options = {
            .size = sizeof options, .name_a = source->names[0], .name_b = source->names[1]};
        status = jm_diff_create(&diff, runs[0].report, runs[1].report, &options, err);
    }
    if (status == JM_OK && q->part == VIEW_PART_PAGE) {
        status = write_page(runs, source->count, diff, text, length, err);
    } else if (status == JM_OK) {
        status = jm_page_data(pointers, source->count, diff, text, err);
        *length = status == JM_OK ? strlen(*text) : 0;
    }
    jm_diff_free(diff);
    return status;
}

static jm_status write_layer(const view_query *q, const taken *t, char **text, size_t *length, jm_error *err)
{
    jm_status status = jm_page_layer(report_of(t, KERNELS), report_of(t, SPANS), q->layer, text, err);
    *length = status == JM_OK ? strlen(*text) : 0;
    return status;
}

static void lock_all(taken *t, size_t count, int (*change)(pthread_mutex_t *lock))
{
    for (size_t f = 0; f < count; f++)
        for (int kind = 0; kind < KINDS; kind++)
            if (t[f].of[kind] != NULL) change(&t[f].of[kind]->reading);
}

jm_status view_answer(view_answers *a, const view_query *q, char **text, size_t *length,
                      unsigned long long *version, jm_error *err)
{
    taken t[VIEW_FILES_MAX] = {0};
    jm_status status = JM_OK;
    size_t count = q->part == VIEW_PART_LAYER ? 1 : a->source.count;
    *text = NULL;
    *version = *length = 0;
    begin_answer(a);
    for (size_t f = 0; f < count && status == JM_OK; f++) {
        status = take_all(a, q, f, &t[f], err);
        const kept *first = t[f].of[q->part == VIEW_PART_KERNELS ? KERNELS : REPORT];
        if (first != NULL) *version = mixed(*version, first->version);
    }
    if (status == JM_OK) {
        lock_all(t, count, pthread_mutex_lock);
        status = q->part == VIEW_PART_LAYER ? write_layer(q, t, text, length, err)
                                            : write_runs(&a->source, q, t, text, length, err);
        lock_all(t, count, pthread_mutex_unlock);
    }
    if (status != JM_OK) {
        free(*text);
        *text = NULL;
    }
    for (size_t f = 0; f < count; f++)
        for (int kind = 0; kind < KINDS; kind++)
            release(a, t[f].of[kind]);
    end_answer(a);
    return status;
}
