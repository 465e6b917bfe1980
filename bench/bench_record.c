/* How many kernel records a second the writer takes, and how large they are on disk. */
#include "base/clock.h"
#include "format/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 1000, ROWS_A_COMMIT = 500000, ROWS = 4000000 };

static void fill(jm__kernel kernels[BATCH], int64_t first)
{
    for (int i = 0; i < BATCH; i++) {
        int64_t start_ns = INT64_C(86400) * JM_NS_PER_S + (first + i) * 1000;
        kernels[i] = (jm__kernel){.start_ns = start_ns,
                                  .end_ns = start_ns + 700 + i % 100,
                                  .class_id = 1 + i % 60,
                                  .stream_id = 1,
                                  .span_id = 1 + (first + i) / 5,
                                  .launch_ns = start_ns - 20000 - i,
                                  .calls = 1};
    }
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "bench-record.joulemap";
    jm__writer *writer;
    jm_error err;
    static jm__kernel kernels[BATCH];
    if (jm__writer_create(&writer, path, true, &err) != JM_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    int64_t spent_ns = 0, longest_ns = 0;
    clock_t cpu =
        clock(); /* of this one thread: what the wall clock shows on a machine that does nothing else */
    for (int64_t row = 0; row < ROWS; row += BATCH) {
        fill(kernels, row);
        int64_t begin_ns = jm__now_ns();
        jm__writer_kernels(writer, kernels, BATCH);
        if ((row + BATCH) % ROWS_A_COMMIT == 0 && jm__writer_commit(writer, row + 1, &err) != JM_OK) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        int64_t took_ns = jm__now_ns() - begin_ns;
        spent_ns += took_ns;
        if (took_ns > longest_ns) longest_ns = took_ns;
    }
    double cpu_s = (double)(clock() - cpu) / CLOCKS_PER_SEC;
    int64_t begin_ns = jm__now_ns();
    if (jm__writer_close(writer, &err) != JM_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    int64_t close_ns = jm__now_ns() - begin_ns;
    struct stat info = {0};
    stat(path, &info);
    printf("%d kernel rows: %.2f million a second, %.2f million a second of CPU, %.1f bytes each, longest "
           "call %.0f ms, close %.0f ms\n",
           ROWS, ROWS / 1e6 / ((double)spent_ns / 1e9), ROWS / 1e6 / cpu_s, (double)info.st_size / ROWS,
           (double)longest_ns / 1e6, (double)close_ns / 1e6);
    unlink(path);
    return 0;
}
