/* Rings, names and the spans that go into them, as any reader of the files sees them. */
#include "record/timeline/identity.h"
#include "record/timeline/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char run_dir[64];

static int make_run(void **state)
{
    (void)state;
    strcpy(run_dir, "/tmp/joulemap-ring-XXXXXX");
    return mkdtemp(run_dir) == NULL;
}

static int remove_run(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", run_dir);
    return system(command);
}

static jm__ring_options options_of(uint32_t capacity, uint32_t least)
{
    return (jm__ring_options){.run_dir = run_dir,
                              .writer = JM_WRITER_CORE,
                              .record_size = sizeof(jm_ring_span),
                              .capacity = capacity,
                              .capacity_least = least,
                              .share = 16};
}

static void test_a_reader_finds_every_record_in_order_across_the_wrap(void **state)
{
    (void)state;
    jm__ring ring;
    jm__ring_options options = options_of(64, 64);
    assert_int_equal(jm__ring_create(&ring, &options), 0);
    char path[128];
    snprintf(path, sizeof path, "%s/%d-c-%u.ring", run_dir, (int)getpid(), ring.number);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    jm_ring_header *seen = mmap(NULL, ring.mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(seen != MAP_FAILED);
    assert_int_equal(atomic_load(&seen->magic), JM_RING_MAGIC);
    assert_int_equal(seen->pid, getpid());
    const jm_ring_span *records = (const void *)((const char *)seen + JM_RING_HEADER_SIZE);
    uint64_t next = 0;
    for (uint64_t id = 0; id < 1000; id++) {
        jm_ring_span record = {.id = id, .op = JM_RING_BEGIN};
        assert_true(jm__ring_push_span(&ring, &record, 0));
        if (id % 50 != 49) continue;
        for (; next < atomic_load(&seen->head); next++)
            assert_int_equal(records[next & 63].id, next);
        atomic_store(&seen->tail, next);
    }
    assert_int_equal(next, 1000);
    assert_int_equal(atomic_load(&seen->lost), 0);
    jm__ring_close(&ring, true);
    assert_int_equal(atomic_load(&seen->closed), 1);
    munmap(seen, JM_RING_HEADER_SIZE);
    close(fd);
}

static void test_a_full_ring_counts_what_it_drops_and_keeps_what_it_has(void **state)
{
    (void)state;
    jm__ring ring;
    jm__ring_options options = options_of(64, 64);
    assert_int_equal(jm__ring_create(&ring, &options), 0);
    uint64_t taken = 0;
    for (uint64_t id = 0; id < 100; id++) {
        jm_ring_span record = {.id = id};
        taken += jm__ring_push_span(&ring, &record, 0);
    }
    assert_int_equal(taken, 64);
    assert_int_equal(atomic_load(&ring.header->lost), 36);
    assert_int_equal(((jm_ring_span *)ring.records)[0].id, 0);
    atomic_store(&ring.header->tail, 10);
    jm_ring_span record = {.id = 1234};
    assert_false(jm__ring_push_span(&ring, &record, 10)); /* room for 10, 10 to be kept */
    assert_true(jm__ring_push_span(&ring, &record, 9));
    jm__ring_close(&ring, true);
}

static void test_without_room_for_the_ring_requested_a_smaller_one_is_made(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {JM_RING_HEADER_SIZE + 300 * sizeof(jm_ring_span), RLIM_INFINITY};
        setrlimit(RLIMIT_FSIZE, &limit);
        jm__ring ring;
        jm__ring_options options = options_of(65536, 64);
        if (jm__ring_create(&ring, &options) != 0 || ring.capacity != 256) _exit(1);
        options = options_of(65536, 1024);
        if (jm__ring_create(&ring, &options) != ENOSPC || ring.header != NULL) _exit(2);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_the_pages_of_a_ring_are_reserved_before_its_first_record(void **state)
{
    (void)state;
    jm__ring ring;
    jm__ring_options options = options_of(4096, 4096);
    assert_int_equal(jm__ring_create(&ring, &options), 0);
    char path[128];
    snprintf(path, sizeof path, "%s/%d-c-%u.ring", run_dir, (int)getpid(), ring.number);
    struct stat file;
    assert_int_equal(stat(path, &file), 0);
    assert_true((size_t)file.st_blocks * 512 >= ring.mapped_bytes);
    jm__ring_close(&ring, true);
}

/* In the place of libc's: what tmpfs did before Linux 6.9 as long as signals come, counted. */
static bool signals_come;
static int interrupted;

int posix_fallocate(int fd, off_t offset, off_t length)
{
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    if (signals_come && !sigismember(&blocked, SIGPROF) && interrupted < 1000) {
        interrupted++;
        return EINTR;
    }
    return fallocate(fd, 0, offset, length) == 0 ? 0 : errno;
}

static void test_a_profilers_timer_does_not_hold_up_the_making_of_a_ring(void **state)
{
    (void)state;
    jm__ring ring;
    jm__ring_options options = options_of(4096, 4096);
    sigset_t blocked;
    signals_come = true;
    int error = jm__ring_create(&ring, &options);
    signals_come = false;
    assert_int_equal(error, 0);
    assert_int_equal(interrupted, 0);
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    assert_false(sigismember(&blocked, SIGPROF)); /* and comes again afterwards */
    jm__ring_close(&ring, true);
}

static void test_names_beyond_the_limit_of_a_file_kill_nobody(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        struct rlimit few = {.rlim_cur = 10 * 15, .rlim_max = 10 * 15}; /* ten names to the byte */
        jm__names names = {0};
        char text[64];
        signal(SIGXFSZ, SIG_DFL);
        if (setrlimit(RLIMIT_FSIZE, &few) != 0 || jm__names_open(&names, run_dir, JM_WRITER_CORE) != 0)
            _exit(1);
        for (int i = 0; i < 200; i++) {
            snprintf(text, sizeof text, "layer.%d", i);
            if (jm__names_intern(&names, text, strlen(text)) == 0) _exit(2);
        }
        _exit(jm__names_write_once(&names, "{}", 2) == 0 ? 0 : 3); /* it says that it could not */
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* The text under a number in a names file, "" if it is not there. */
static void read_name(const char *file, uint32_t requested, char *text, size_t size)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", run_dir, file);
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    uint32_t head[2];
    text[0] = '\0';
    while (fread(head, sizeof head, 1, stream) == 1) {
        char bytes[65536] = "";
        assert_true(head[1] < sizeof bytes);
        assert_int_equal(fread(bytes, 1, head[1], stream), head[1]);
        if (head[0] == requested) snprintf(text, size, "%s", bytes);
    }
    fclose(stream);
}

static void test_names_keep_their_numbers_in_the_file_of_a_later_run(void **state)
{
    (void)state;
    jm__names names = {0};
    assert_int_equal(jm__names_open(&names, run_dir, JM_WRITER_CORE), 0);
    char text[64], file[64];
    uint32_t numbers[3000];
    for (int i = 0; i < 3000; i++) {
        snprintf(text, sizeof text, "layer.%d", i);
        numbers[i] = jm__names_intern(&names, text, strlen(text));
        assert_true(numbers[i] != 0);
        assert_int_equal(jm__names_intern(&names, text, strlen(text)), numbers[i]);
        if (i % 100 == 0) assert_true(jm__names_write_once(&names, "{}", 2) > numbers[i]);
    }
    /* The same pid and folder again, as after an exec: a file of its own. */
    assert_int_equal(jm__names_open(&names, run_dir, JM_WRITER_CORE), 0);
    assert_int_equal(names.file_number, 1);
    snprintf(file, sizeof file, "%d-c-1.names", (int)getpid());
    for (int i = 0; i < 3000; i += 999) {
        char expected[64];
        snprintf(expected, sizeof expected, "layer.%d", i);
        read_name(file, numbers[i], text, sizeof text);
        assert_string_equal(text, expected);
        assert_string_equal(jm__names_text(&names, numbers[i]), expected);
    }
    jm__names_free(&names);
}

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80 /* Linux 5.6 */
#endif

enum { DAY_S = 86400, NOT_ALLOWED = 77 };

/* How far ahead a clock is of what it was: as many days as it should be. */
static bool is_ahead_by_days(int64_t before_ns, int64_t days)
{
    return jm__clock_ahead_ns() == before_ns + days * DAY_S * INT64_C(1000000000);
}

/* A day ahead of here. */
static int make_clock_for_children(int64_t before_ns)
{
    if (unshare(CLONE_NEWTIME) != 0) return NOT_ALLOWED;
    FILE *offsets = fopen("/proc/self/timens_offsets", "we");
    if (offsets == NULL) return NOT_ALLOWED;
    fprintf(offsets, "monotonic %lld 0\n", (long long)(before_ns / INT64_C(1000000000) + DAY_S));
    return fclose(offsets) == 0 ? 0 : NOT_ALLOWED;
}

static void test_a_clock_that_is_made_for_children_is_theirs_alone(void **state)
{
    (void)state;
    int64_t before_ns = jm__clock_ahead_ns();
    int result;
    pid_t maker = fork();
    assert_true(maker >= 0);
    if (maker == 0) {
        result = make_clock_for_children(before_ns);
        if (result == 0 && !is_ahead_by_days(before_ns, 0)) result = 1;
        pid_t child = result == 0 ? fork() : -1;
        if (child == 0) _exit(is_ahead_by_days(before_ns, 1) ? 0 : 2);
        if (child > 0 && waitpid(child, &result, 0) == child) result = WEXITSTATUS(result);
        _exit(result);
    }
    assert_int_equal(waitpid(maker, &result, 0), maker);
    assert_true(WIFEXITED(result));
    if (WEXITSTATUS(result) == NOT_ALLOWED) skip();
    assert_int_equal(WEXITSTATUS(result), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_reader_finds_every_record_in_order_across_the_wrap),
        cmocka_unit_test(test_a_full_ring_counts_what_it_drops_and_keeps_what_it_has),
        cmocka_unit_test(test_without_room_for_the_ring_requested_a_smaller_one_is_made),
        cmocka_unit_test(test_the_pages_of_a_ring_are_reserved_before_its_first_record),
        cmocka_unit_test(test_a_profilers_timer_does_not_hold_up_the_making_of_a_ring),
        cmocka_unit_test(test_names_beyond_the_limit_of_a_file_kill_nobody),
        cmocka_unit_test(test_names_keep_their_numbers_in_the_file_of_a_later_run),
        cmocka_unit_test(test_a_clock_that_is_made_for_children_is_theirs_alone),
    };
    return cmocka_run_group_tests(tests, make_run, remove_run);
}
