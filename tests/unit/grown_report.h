/* What a report on a grown recording costs: CPU time and most memory of a process of its own. */
#ifndef TEST_GROWN_REPORT_H
#define TEST_GROWN_REPORT_H

#include "grown_recording.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct grown_cost {
    double cpu_s;
    double memory_mb;
} grown_cost;

/* Written by a process of its own: what this one has had would count as the memory of those it starts. */
static inline bool grown_write_apart(const char *path, grown_kind kind, size_t count, size_t kernels)
{
    int status = -1;
    pid_t writer = fork();
    if (writer == 0) {
        grown_write(path, kind, count, kernels);
        _exit(0);
    }
    return waitpid(writer, &status, 0) == writer && status == 0;
}

enum { GROWN_WORDS = 16 };

/* Of joulemap with these words; the exit status, 0 if it went well. */
static inline int grown_run(const char *const words[GROWN_WORDS], grown_cost *cost)
{
    static const char command[] = JM_BUILD_DIR "/joulemap";
    char *argv[GROWN_WORDS];
    memcpy(argv, words, sizeof argv);
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t pid;
    int status = -1, error = posix_spawn(&pid, command, &quiet, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&quiet);
    struct rusage usage;
    if (error != 0 || wait4(pid, &status, 0, &usage) != pid) return -1;
    cost->cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                  (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
    cost->memory_mb = (double)usage.ru_maxrss / 1024;
    return status;
}

static inline int grown_report_once(const char *path, const char *by, bool json, grown_cost *cost)
{
    const char *const words[GROWN_WORDS] = {"joulemap", "report", path, "--by", by, json ? "--json" : NULL};
    return grown_run(words, cost);
}

/* The least of so many runs: others use the machine too. */
static inline int grown_report(const char *path, const char *by, bool json, int runs, grown_cost *cost)
{
    int status = 0;
    *cost = (grown_cost){INFINITY, INFINITY};
    for (int run = 0; status == 0 && run < runs; run++) {
        grown_cost once = {0};
        status = grown_report_once(path, by, json, &once);
        cost->cpu_s = fmin(cost->cpu_s, once.cpu_s);
        cost->memory_mb = fmin(cost->memory_mb, once.memory_mb);
    }
    return status;
}

#endif
