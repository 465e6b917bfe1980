/* What the programs of this folder have in common: they start themselves again under `joulemap record`, and
 * look at what came of it. */
#ifndef JM_TESTS_UNDER_RECORDER_H
#define JM_TESTS_UNDER_RECORDER_H

#include <joulemap/joulemap.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int faults;

static inline void check(bool so, const char *what, int line)
{
    if (so) return;
    fprintf(stderr, "line %d: not so: %s\n", line, what);
    faults++;
}
#define CHECK(so) check((so), #so, __LINE__)

/* Its exit code, 128 if it had none. */
static inline int run(const char *const *command)
{
    pid_t child = fork();
    if (child == 0) {
        union {
            const char *const *borrowed;
            char *const *words;
        } cast = {command};
        execv(command[0], cast.words);
        _exit(127);
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
#define RUN(...) run((const char *[]){__VA_ARGS__, NULL})

static inline void check_recording(const char *file, void (*check_timeline)(const jm_timeline *))
{
    jm_recording *recording = NULL;
    jm_timeline *timeline = NULL;
    jm_error err;
    CHECK(jm_recording_open(&recording, file, &err) == JM_OK);
    CHECK(recording != NULL && jm_timeline_create(&timeline, recording, &err) == JM_OK);
    if (timeline != NULL) check_timeline(timeline);
    jm_timeline_free(timeline);
    jm_recording_close(recording);
}

/* Spans of that name, in a span of that name ("": in none), of that type; NULL: of any. */
static inline size_t count_of(const jm_timeline *timeline, const char *name, const char *type,
                              const char *parent)
{
    size_t count = 0;
    for (size_t i = 0; i < jm_timeline_span_count(timeline); i++) {
        const jm_timeline_span *span = jm_timeline_span_get(timeline, i);
        const char *around =
            span->parent == SIZE_MAX ? "" : jm_timeline_span_get(timeline, span->parent)->name;
        count += strcmp(span->name, name) == 0 && (type == NULL || strcmp(span->type, type) == 0) &&
                 (parent == NULL || strcmp(around, parent) == 0) && span->kind == JM_SPAN_NVTX && span->ended;
    }
    return count;
}

#endif
