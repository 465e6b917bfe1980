/* What a span costs the program: begin plus end, with and without a run, on one thread. */
#include <joulemap/span.h>

#include "base/clock.h"
#include "record/timeline/ring_format.h"
#include "record/timeline/track.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SPANS_A_ROUND 20000 /* fits the ring, so that every push is a real one */
#define ROUNDS        50

/* The recorder's part: take what is there. */
static void drain(jm_ring_header *ring)
{
    if (ring != NULL) atomic_store(&ring->tail, atomic_load(&ring->head));
}

static jm_ring_header *map_only_ring(const char *run_dir)
{
    DIR *folder = opendir(run_dir);
    jm_ring_header *ring = NULL;
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (strstr(entry->d_name, JM_RING_SUFFIX) == NULL) continue;
        int fd = openat(dirfd(folder), entry->d_name, O_RDWR);
        void *map = mmap(NULL, JM_RING_HEADER_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map != MAP_FAILED) ring = map;
        close(fd);
    }
    if (folder != NULL) closedir(folder);
    return ring;
}

/* Nanoseconds of one begin plus end: least of the rounds, and their mean. */
static void measure(const char *what, jm_ring_header *ring, jm_name name)
{
    double least = 1e30, sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t start = jm__now_ns();
        for (int i = 0; i < SPANS_A_ROUND; i++)
            jm_span_end(jm_span_begin(JM_SPAN_FORWARD, name, 0, 0));
        double each = (double)(jm__now_ns() - start) / SPANS_A_ROUND;
        least = each < least ? each : least;
        sum += each;
        drain(ring);
    }
    printf("span begin+end, %s: mean %.1f ns, least %.1f ns\n", what, sum / ROUNDS, least);
}

int main(void)
{
    unsetenv("JOULEMAP_RUN");
    measure("without a run", NULL, 0);
    char run_dir[] = "/dev/shm/joulemap-bench-XXXXXX";
    if (mkdtemp(run_dir) == NULL) return perror(run_dir), 1;
    jm_error err;
    if (jm__timeline_open(run_dir, &err) != JM_OK) return fprintf(stderr, "%s\n", err.text), 1;
    jm_name name = jm_name_intern("blocks.0.attn");
    jm_span_end(jm_span_begin(JM_SPAN_FORWARD, name, 0, 0)); /* makes the ring */
    jm_ring_header *ring = map_only_ring(run_dir);
    if (ring == NULL) return fprintf(stderr, "no ring in %s\n", run_dir), 1;
    measure("recorded", ring, name);
    uint64_t lost = atomic_load(&ring->lost);
    printf("spans lost: %" PRIu64 "\n", lost);
    jm__track_close();
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", run_dir);
    return system(command) != 0 || lost != 0;
}
