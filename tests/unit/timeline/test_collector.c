/* The collector on rings whose writer is the test itself: kernels and their launches, clocks, losses, damage.
 */
#include "base/clock.h"
#include "base/map.h"
#include "record/timeline/collector_parts.h"
#include "record/timeline/identity.h"
#include "record/timeline/ring.h"
#include "record/timeline/track.h"

#include <joulemap/span.h>

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "collected.h"
#include "injected.h"

static void open_timeline(const collected *all)
{
    jm_error err;
    assert_int_equal(jm__timeline_open(all->run_dir, &err), JM_OK);
}

static void test_a_kernel_that_comes_before_its_launch_waits_for_it(void **state)
{
    (void)state;
    collected *all = collected_create();
    injected *side = inject(all, false, 64);
    open_timeline(all);
    jm_span_id span = jm_span_begin(JM_SPAN_FORWARD, jm_name_intern("layer"), 0, 0);
    int64_t launch_ns = jm__now_ns();
    jm_span_end(span);
    push_kernel(side, 5, launch_ns + 5000);
    collected_poll(all);
    assert_int_equal(all->kernel_count, 0);
    assert_true(jm__collector_complete_ns(all->collector) <= launch_ns + 5000); /* it is not all there */
    push_launch(side, 5, launch_ns);
    collected_poll(all);
    assert_int_equal(all->kernel_count, 1);
    assert_int_equal(all->kernels[0].span_id, collected_span_id(all, "layer"));
    assert_int_equal(all->kernels[0].launch_ns, launch_ns);
    assert_int_equal(all->lost, 0);
    injected_free(side);
    jm__track_close();
    collected_free(all);
}

static void test_nothing_is_complete_beyond_a_kernel_that_waits(void **state)
{
    (void)state;
    collected *all = collected_create();
    injected *side = inject(all, false, 64);
    int64_t kernel_ns = jm__now_ns();
    push_kernel(side, 5, kernel_ns);
    jm__sleep_ns(10 * JM_NS_PER_MS);
    int64_t flushed_ns = jm__now_ns();
    atomic_store(&side->ring.header->flushed_ns, flushed_ns);
    collected_poll(all);
    assert_int_equal(all->kernel_count, 0);
    assert_int_equal(jm__collector_complete_ns(all->collector), kernel_ns);
    push_launch(side, 5, kernel_ns - 1000);
    collected_poll(all);
    assert_int_equal(all->kernel_count, 1);
    assert_int_equal(jm__collector_complete_ns(all->collector), flushed_ns);
    injected_free(side);
    collected_free(all);
}

static void test_a_kernel_without_a_launch_goes_out_at_the_end_and_is_counted(void **state)
{
    (void)state;
    collected *all = collected_create();
    injected *side = inject(all, false, 64);
    push_kernel(side, 5, jm__now_ns());
    collected_poll(all);
    assert_int_equal(all->kernel_count, 0);
    collected_finish(all);
    assert_int_equal(all->kernel_count, 1);
    assert_int_equal(all->kernels[0].span_id, 0);
    assert_int_equal(all->kernels[0].launch_ns, -1);
    assert_int_equal(all->lost, 1); /* the launch, not the kernel */
    assert_string_equal(all->loss_source, "cupti");
    injected_free(side);
    collected_free(all);
}

static void test_a_kernel_does_not_wait_for_a_launch_that_cannot_come_any_more(void **state)
{
    (void)state;
    collected *all = collected_create();
    injected *side = inject(all, false, 64);
    int64_t kernel_ns = jm__now_ns();
    push_kernel(side, 5, kernel_ns);
    atomic_store(&side->ring.header->flushed_ns,
                 kernel_ns + JM_NS_PER_S / 2); /* the call may not have returned */
    collected_poll(all);
    assert_int_equal(all->kernel_count, 0);
    atomic_store(&side->ring.header->flushed_ns, kernel_ns + 2 * JM_NS_PER_S);
    collected_poll(all);
    assert_int_equal(all->kernel_count, 1);
    assert_int_equal(all->kernels[0].launch_ns, -1);
    injected_free(side);
    collected_free(all);
}

static void test_a_kernel_is_charged_to_what_was_innermost_at_its_launch(void **state)
{
    (void)state;
    collected *all = collected_create();
    injected *side = inject(all, false, 1024);
    open_timeline(all);
    enum { STEPS = 100 };
    jm_span_id open[STEPS];
    /* Down a hundred levels and up again, a launch at each. */
    for (uint32_t i = 0; i < STEPS; i++) {
        char name[32];
        snprintf(name, sizeof name, "level %u", i);
        open[i] = jm_span_begin(JM_SPAN_FORWARD, jm_name_intern(name), 0, 0);
        push_launch(side, 1 + i, jm__now_ns());
    }
    for (uint32_t i = STEPS; i > 0; i--) {
        push_launch(side, 1000 + i - 1, jm__now_ns());
        jm_span_end(open[i - 1]);
    }
    int64_t late_ns = jm__now_ns() + JM_NS_PER_MS;
    for (uint32_t i = 0; i < STEPS; i++) {
        push_kernel(side, 1 + i, late_ns);
        push_kernel(side, 1000 + i, late_ns);
    }
    collected_poll(all);
    assert_int_equal(all->kernel_count, 2 * STEPS);
    for (size_t i = 0; i < all->kernel_count; i++) {
        const jm__span *span = &all->spans[all->kernels[i].span_id - 1];
        char name[32];
        snprintf(name, sizeof name, "level %zu", i / 2);
        assert_string_equal(collected_text(all, span->name_id), name);
    }
    injected_free(side);
    jm__track_close();
    collected_free(all);
}

static void test_realtime_stamps_come_out_in_the_one_clock(void **state)
{
    (void)state;
    collected *all = collected_create();
    injected *side = inject(all, true, 64);
    jm__anchor anchor = jm__anchor_take();
    push_launch(side, 5, anchor.monotonic_ns);
    push_kernel(side, 5, anchor.realtime_ns + 10000);
    collected_poll(all);
    assert_int_equal(all->kernel_count, 1);
    int64_t error_ns = all->kernels[0].start_ns - (anchor.monotonic_ns + 10000);
    assert_true(error_ns > -100 * JM_NS_PER_US && error_ns < 100 * JM_NS_PER_US);
    assert_int_equal(all->kernels[0].end_ns - all->kernels[0].start_ns, 1000);
    injected_free(side);
    collected_free(all);
}

/* Stamps of work that ended `ago_ns` ago, with a clock that stepped by `step_ns` between two polls 50 ms
 * apart. */
static void check_step(int64_t step_ns)
{
    const int64_t now_ns = 1000 * JM_NS_PER_S, stepped_ns = now_ns - 500 * JM_NS_PER_MS,
                  offset_ns = -77 * JM_NS_PER_S;
    struct jm__collector *collector = calloc(1, sizeof *collector);
    assert_non_null(collector);
    collector->now_ns = now_ns;
    collector->segment_count = 2;
    collector->segments[0] = (collector_clock_segment){now_ns - 100 * JM_NS_PER_S, offset_ns};
    collector->segments[1] = (collector_clock_segment){stepped_ns - 25 * JM_NS_PER_MS, offset_ns - step_ns};
    for (int64_t ago_ns = 0; ago_ns < 15 * JM_NS_PER_S; ago_ns += 7 * JM_NS_PER_MS) {
        int64_t true_ns = now_ns - ago_ns;
        if (true_ns > stepped_ns - 30 * JM_NS_PER_MS && true_ns < stepped_ns) continue; /* may be either */
        int64_t realtime_ns = true_ns - offset_ns + (true_ns >= stepped_ns ? step_ns : 0);
        assert_int_equal(jm__collector_clock_convert(collector, realtime_ns), true_ns);
    }
    free(collector);
}

static void test_a_step_of_the_realtime_clock_moves_no_kernel(void **state)
{
    (void)state;
    check_step(3600 * JM_NS_PER_S);
    check_step(-3600 * JM_NS_PER_S);
    check_step(20 * JM_NS_PER_S);
    check_step(-20 * JM_NS_PER_S);
}

static void test_too_many_waiting_kernels_go_out_untied_instead_of_filling_memory(void **state)
{
    (void)state;
    collected *all = collected_create();
    injected *side = inject(all, false, 1u << 16);
    enum { EXTRA = 1000 };
    uint32_t pushed = 0;
    while (pushed < JM_WAITING_MAX + EXTRA) {
        for (int i = 0; i < 60000 && pushed < JM_WAITING_MAX + EXTRA; i++)
            push_kernel(side, ++pushed, jm__now_ns());
        collected_poll(all);
    }
    assert_int_equal(all->kernel_count, EXTRA);
    assert_int_equal(all->lost, EXTRA);
    collected_finish(all);
    assert_int_equal(all->kernel_count, JM_WAITING_MAX + EXTRA);
    assert_int_equal(all->lost, JM_WAITING_MAX + EXTRA);
    injected_free(side);
    collected_free(all);
}

static void test_losses_of_ring_and_cupti_are_reported_once(void **state)
{
    (void)state;
    collected *all = collected_create();
    injected *side = inject(all, false, 64);
    push(side, (jm_ring_kernel){.op = JM_RING_LOST, .bytes = 7, .name = number_of(side, "no buffer")});
    jm_ring_kernel record = {.op = JM_RING_NOTE, .name = number_of(side, "A sentence.")};
    int refused = 0;
    for (int i = 0; i < 100; i++)
        refused += !jm__ring_push_kernel(&side->ring, &record);
    assert_int_equal(refused, 100 - 62);
    for (int i = 0; i < 3; i++)
        collected_poll(all);
    assert_int_equal(all->lost, 7 + refused);
    assert_int_equal(strlen(all->notes), 62 * strlen("A sentence.\n"));
    injected_free(side);
    collected_free(all);
}

static void test_complete_follows_what_the_injected_library_has_flushed(void **state)
{
    (void)state;
    collected *all = collected_create();
    injected *side = inject(all, false, 64);
    int64_t flushed_ns = jm__now_ns();
    atomic_store(&side->ring.header->flushed_ns, flushed_ns);
    collected_poll(all);
    assert_int_equal(jm__collector_complete_ns(all->collector), flushed_ns);
    usleep(5000);
    collected_poll(all);
    assert_int_equal(jm__collector_complete_ns(all->collector), flushed_ns);
    int64_t later_ns = jm__now_ns();
    atomic_store(&side->ring.header->flushed_ns, later_ns);
    collected_poll(all);
    assert_int_equal(jm__collector_complete_ns(all->collector), later_ns);
    jm__ring_close(&side->ring, true); /* with it gone, only spans can come */
    collected_poll(all);
    collected_poll(all);
    assert_true(jm__collector_complete_ns(all->collector) > later_ns);
    injected_free(side);
    collected_free(all);
}

/* A ring that a new thread takes over again and again; the last one is at work still. */
static void push_threads(jm__ring *ring, int32_t first, int32_t count, int64_t t_ns)
{
    for (int32_t tid = first; tid < first + count; tid++) {
        jm_ring_span records[] = {
            {.t_ns = t_ns, .id = (uint64_t)tid, .op = JM_RING_THREAD},
            {.t_ns = t_ns, .id = (uint64_t)tid, .op = JM_RING_BEGIN, .kind = JM_SPAN_FORWARD},
            {.t_ns = t_ns, .id = (uint64_t)tid, .op = JM_RING_END}};
        for (size_t i = 0; i < 3; i++)
            assert_true(jm__ring_push_span(ring, &records[i], 0));
    }
}

static void test_threads_long_gone_take_no_memory(void **state)
{
    (void)state;
    collected *all = collected_create();
    jm__ring ring;
    jm__ring_options options = {.run_dir = all->run_dir,
                                .writer = JM_WRITER_CORE,
                                .record_size = sizeof(jm_ring_span),
                                .capacity = 8192,
                                .capacity_least = 8192,
                                .share = 1};
    assert_int_equal(jm__ring_create(&ring, &options), 0);
    push_threads(&ring, 100000, 1000, jm__now_ns() - JM_HISTORY_KEPT_NS - JM_NS_PER_S);
    push_threads(&ring, 200000, 50, jm__now_ns()); /* kernels of these may be on their way */
    collected_poll(all);
    assert_int_equal(all->span_count, 1050);
    const collector_process *process = all->collector->processes.items[0];
    assert_int_equal(process->threads.count, 50);
    assert_int_equal(process->threads_by_tid.count, 50);
    /* One that comes again is a thread like any other. */
    push_threads(&ring, 100500, 1, jm__now_ns());
    collected_poll(all);
    assert_int_equal(all->spans[1050].thread_id, 100500);
    assert_int_equal(all->spans[1050].parent_id, 0);
    jm__ring_close(&ring, true);
    collected_free(all);
}

static void test_damaged_rings_are_left_alone(void **state)
{
    (void)state;
    collected *all = collected_create();
    char path[128];
    jm_ring_header header = {.record_size = 32, .capacity = 64, .pid = getpid(), .writer = JM_WRITER_CORE};
    const struct {
        uint64_t magic;
        uint32_t capacity, record_size;
        off_t bytes;
    } cases[] = {
        {0, 64, 32, JM_RING_HEADER_SIZE + 64 * 32},             /* not finished */
        {1234, 64, 32, JM_RING_HEADER_SIZE + 64 * 32},          /* not ours */
        {JM_RING_MAGIC, 65, 32, JM_RING_HEADER_SIZE + 65 * 32}, /* no power of two */
        {JM_RING_MAGIC, 64, 64, JM_RING_HEADER_SIZE + 64 * 64}, /* other records */
        {JM_RING_MAGIC, 64, 32, JM_RING_HEADER_SIZE + 63 * 32}, /* cut */
        {JM_RING_MAGIC, 1u << 31, 32, JM_RING_HEADER_SIZE},     /* cut */
        {JM_RING_MAGIC, 64, 32, 100},                           /* cut within the header */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(path, sizeof path, "%s/%d-c-%zu.ring", all->run_dir, (int)getpid(), 1000 + i);
        int fd = open(path, O_RDWR | O_CREAT, 0600);
        assert_true(fd >= 0);
        header.magic = cases[i].magic;
        header.capacity = cases[i].capacity;
        header.record_size = cases[i].record_size;
        assert_int_equal(write(fd, &header, sizeof header), sizeof header);
        assert_int_equal(ftruncate(fd, cases[i].bytes), 0);
        close(fd);
    }
    assert_int_equal(collected_poll(all), 0);
    assert_int_equal(all->process_count, 0);
    collected_free(all);
}

static void make_span_ring(const collected *all, jm__ring *ring)
{
    jm__ring_options options = {.run_dir = all->run_dir,
                                .writer = JM_WRITER_CORE,
                                .record_size = sizeof(jm_ring_span),
                                .capacity = 64,
                                .capacity_least = 64,
                                .share = 1};
    assert_int_equal(jm__ring_create(ring, &options), 0);
}

static void push_begin(jm__ring *ring, int64_t t_ns, uint64_t id, uint32_t name)
{
    jm_ring_span record = {.t_ns = t_ns, .id = id, .name = name, .op = JM_RING_BEGIN, .kind = JM_SPAN_PHASE};
    assert_true(jm__ring_push_span(ring, &record, 0));
}

/* What tells a pid that came again from the process that had it is when each began. */
static char *ring_path(const collected *all, char *path, size_t size)
{
    DIR *folder = opendir(all->run_dir);
    assert_non_null(folder);
    path[0] = '\0';
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (strstr(entry->d_name, JM_RING_SUFFIX) != NULL)
            snprintf(path, size, "%s/%s", all->run_dir, entry->d_name);
    closedir(folder);
    return path;
}

static void push_sequence(jm__ring *ring, int count)
{
    for (int i = 0; i < count; i++) {
        jm_ring_span record = {
            .t_ns = jm__now_ns(), .id = ring->head + 1, .op = JM_RING_BEGIN, .kind = JM_SPAN_NVTX};
        assert_true(jm__ring_push_span(ring, &record, 0));
    }
}

/* Somebody cleans up /dev/shm with `truncate`: the recorder goes on, and says what is gone. */
static void test_a_ring_that_is_cut_short_costs_its_records_and_no_more(void **state)
{
    (void)state;
    enum { CAPACITY = 65536, KEPT = 16384 / 32 };
    const off_t sizes[] = {0, JM_RING_HEADER_SIZE, JM_RING_HEADER_SIZE + 16384};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        collected *all = collected_create();
        char path[512];
        jm__ring ring, other;
        jm__ring_options options = {.run_dir = all->run_dir,
                                    .writer = JM_WRITER_NVTX,
                                    .record_size = sizeof(jm_ring_span),
                                    .capacity = CAPACITY,
                                    .capacity_least = CAPACITY,
                                    .share = 1};
        assert_int_equal(jm__ring_create(&ring, &options), 0);
        collected_poll(all); /* it is mapped */
        push_sequence(&ring, 2000);
        assert_int_equal(truncate(ring_path(all, path, sizeof path), sizes[i]), 0);
        make_span_ring(all, &other);
        push_begin(&other, jm__now_ns() - 10 * JM_NS_PER_MS, 1, 0);
        for (int poll = 0; poll < 3; poll++)
            collected_poll(all);
        int64_t lost = all->lost;
        collected_poll(all);
        assert_int_equal(all->lost, lost); /* it is told once */
        /* One of the other ring, and what the cut has left. */
        assert_int_equal(all->span_count, 1 + (sizes[i] > JM_RING_HEADER_SIZE ? KEPT : 0));
        assert_non_null(strstr(all->loss_reasons, "cut short"));
        if (sizes[i] > 0) assert_int_equal(all->span_count - 1 + all->lost, 2000);
        munmap(ring.header, ring.mapped_bytes); /* its program would die of the next record */
        jm__ring_close(&other, true);
        collected_free(all);
    }
}

static void test_records_that_make_no_sense_are_counted_and_skipped(void **state)
{
    (void)state;
    collected *all = collected_create();
    jm__ring ring;
    jm__ring_options options = {.run_dir = all->run_dir,
                                .writer = JM_WRITER_CORE,
                                .record_size = sizeof(jm_ring_span),
                                .capacity = 64,
                                .capacity_least = 64,
                                .share = 1};
    assert_int_equal(jm__ring_create(&ring, &options), 0);
    int64_t now_ns = jm__now_ns();
    jm_ring_span records[] = {
        {.t_ns = now_ns, .id = 1, .op = 99},
        {.t_ns = now_ns, .id = 1, .op = JM_RING_BEGIN, .kind = 200},
        {.t_ns = now_ns, .id = 1, .op = JM_RING_BEGIN, .kind = JM_SPAN_PHASE},
        {.t_ns = now_ns, .id = 1, .op = JM_RING_BEGIN, .kind = JM_SPAN_PHASE}, /* the same again */
        {.t_ns = now_ns - 5, .id = 1, .op = JM_RING_END},                      /* before it began */
        {.t_ns = now_ns, .id = 1, .op = JM_RING_END},                          /* again */
    };
    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++)
        assert_true(jm__ring_push_span(&ring, &records[i], 0));
    assert_int_equal(collected_poll(all), 6);
    assert_int_equal(all->span_count, 1);
    assert_int_equal(all->spans[0].end_ns, all->spans[0].start_ns);
    assert_int_equal(all->lost, 3);
    jm__ring_close(&ring, true);
    collected_free(all);
}

static void test_a_run_whose_folder_is_gone_is_an_error_with_its_path(void **state)
{
    (void)state;
    collected *all = collected_create();
    char lost[128];
    snprintf(lost, sizeof lost, "%s/" JM_LOST_FILE, all->run_dir);
    assert_int_equal(unlink(lost), 0);
    assert_int_equal(rmdir(all->run_dir), 0);
    jm_error err;
    assert_int_equal(jm__collector_poll(all->collector, NULL, &err), JM_IO);
    assert_non_null(strstr(err.text, all->run_dir));
    assert_int_equal(mkdir(all->run_dir, 0700), 0);
    collected_free(all);
}

static void test_a_pid_that_comes_again_is_a_process_of_its_own(void **state)
{
    (void)state;
    collected *all = collected_create();
    jm__ring before, after;
    int64_t old_ns = jm__now_ns() - JM_NS_PER_S;
    make_span_ring(all, &before);
    before.header->created_ns = old_ns;
    push_begin(&before, old_ns, 1, 0); /* left open */
    collected_poll(all);
    all->collector->processes.items[0]->start_ticks++; /* as if another had the pid before us */
    jm__sleep_ns(300 * JM_NS_PER_MS);                  /* the collector looks four times a second */
    collected_poll(all);
    make_span_ring(all, &after);
    push_begin(&after, jm__now_ns() - 10 * JM_NS_PER_MS, 1, 0);
    collected_poll(all);
    assert_int_equal(all->process_count, 2);
    assert_int_equal(all->span_count, 2);
    assert_int_equal(all->spans[0].process_id, 1);
    assert_int_equal(all->spans[1].process_id, 2);
    assert_int_equal(all->processes[0].pid, getpid());
    assert_int_equal(all->processes[1].pid, getpid());
    assert_int_equal(all->processes[0].end_ns, old_ns); /* the later one did not move it */
    assert_true(all->processes[1].start_ns > old_ns);
    assert_int_equal(all->spans[1].parent_id, 0); /* what the first left open holds none of it */
    jm__ring_close(&before, true);
    jm__ring_close(&after, true);
    collected_free(all);
}

static jm_ring_identity *identity_of(jm__ring *ring)
{
    return (void *)((char *)ring->header + JM_RING_IDENTITY_AT);
}

/* As if that process had made it. */
static void is_of(jm__ring *ring, pid_t pid)
{
    ring->header->pid = pid;
    assert_true(jm__identity_read(pid, identity_of(ring)));
}

static void test_a_process_that_is_gone_when_it_is_found_has_told_who_it_was(void **state)
{
    (void)state;
    collected *all = collected_create();
    jm_ring_identity own;
    assert_true(jm__identity_read(getpid(), &own));
    pid_t child = fork();
    if (child == 0) {
        jm__ring ring;
        make_span_ring(all, &ring);
        push_begin(&ring, jm__now_ns(), 1, 0);
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    collected_poll(all);
    assert_int_equal(all->process_count, 1);
    assert_int_equal(all->processes[0].pid, child);
    assert_int_equal(all->processes[0].parent_pid, getpid());
    assert_non_null(strstr(own.command, "test_collector"));
    assert_memory_equal(all->commands[0], own.command, strlen(all->commands[0]));
    assert_true(strlen(all->commands[0]) > 0);
    collected_free(all);
}

/* A thread may begin between the last poll and the end of its program. */
static void test_a_ring_found_after_the_end_of_its_process_is_of_that_process(void **state)
{
    (void)state;
    collected *all = collected_create();
    jm__ring first, last;
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    make_span_ring(all, &first);
    is_of(&first, child);
    push_begin(&first, jm__now_ns() - 10 * JM_NS_PER_MS, 1, 0);
    collected_poll(all);
    make_span_ring(all, &last);
    is_of(&last, child);
    push_begin(&last, jm__now_ns(), 2, 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    jm__sleep_ns(300 * JM_NS_PER_MS); /* the collector looks four times a second */
    collected_poll(all);
    assert_int_equal(all->process_count, 1);
    assert_int_equal(all->span_count, 2);
    assert_int_equal(all->spans[1].process_id, 1);
    assert_int_equal(all->spans[1].parent_id, 1);
    jm__ring_close(&first, true);
    jm__ring_close(&last, true);
    collected_free(all);
}

/* The second has the pid before anybody has seen the end of the first. */
static void test_two_that_follow_each_other_at_once_are_two_processes(void **state)
{
    (void)state;
    collected *all = collected_create();
    jm__ring first, second;
    make_span_ring(all, &first);
    identity_of(&first)->start_ticks--;
    push_begin(&first, jm__now_ns() - 10 * JM_NS_PER_MS, 1, 0);
    collected_poll(all);
    make_span_ring(all, &second);
    push_begin(&second, jm__now_ns(), 1, 0);
    collected_poll(all);
    jm__sleep_ns(300 * JM_NS_PER_MS); /* the collector looks four times a second, and the first is gone */
    collected_poll(all);
    push_begin(&second, jm__now_ns(), 2, 0);
    collected_poll(all);
    assert_int_equal(all->process_count, 2);
    assert_int_equal(all->span_count, 3);
    assert_int_equal(all->spans[1].process_id, 2);
    assert_int_equal(all->spans[2].process_id, 2);
    jm__ring_close(&first, true);
    jm__ring_close(&second, true);
    collected_free(all);
}

/* Process 1 of its own namespace: spans before and after the collector has looked who lives. */
static void run_as_first(const collected *all, int ready, int go)
{
    jm__ring ring;
    char byte = 0;
    make_span_ring(all, &ring);
    push_begin(&ring, jm__now_ns(), 1, 0);
    if (write(ready, &byte, 1) != 1 || read(go, &byte, 1) != 1) _exit(1);
    push_begin(&ring, jm__now_ns(), 2, 0);
    _exit(0);
}

static void test_a_pid_of_another_namespace_is_nobody_elses(void **state)
{
    (void)state;
    collected *all = collected_create();
    int ready[2], go[2], status;
    char byte = 0;
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(go), 0);
    pid_t child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) _exit(2);
        pid_t first = fork();
        if (first == 0) run_as_first(all, ready[1], go[0]);
        _exit(waitpid(first, &status, 0) == first && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    close(ready[1]);
    bool began = read(ready[0], &byte, 1) == 1;
    collected_poll(all);
    jm__sleep_ns(300 * JM_NS_PER_MS); /* it looks four times a second, and sees another's pid 1 */
    collected_poll(all);
    assert_int_equal(write(go[1], &byte, 1), 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    collected_poll(all);
    jm__sleep_ns(300 * JM_NS_PER_MS);
    for (int poll = 0; poll < 3; poll++) /* that it has ended is seen; then its rings go, then itself */
        collected_poll(all);
    size_t processes = all->process_count, left = all->collector->processes.count;
    bool itself = strstr(all->commands[0], "test_collector") != NULL; /* not what /proc here calls 1 */
    int64_t spans = all->span_count, pid = processes > 0 ? all->processes[0].pid : 0;
    collected_free(all);
    close(ready[0]);
    close(go[0]);
    close(go[1]);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2) skip(); /* not allowed here */
    assert_true(began);
    assert_int_equal(processes, 1);
    assert_int_equal(pid, 1);
    assert_true(itself);
    assert_int_equal(spans, 2);
    assert_int_equal(left, 0);
}

/* As a container that was restored has it: its monotonic clock goes on from another machine's. */
static void test_stamps_of_another_namespace_of_time_come_out_in_the_one_clock(void **state)
{
    (void)state;
    static const int64_t ahead_ns[] = {100000 * JM_NS_PER_S, -7000 * JM_NS_PER_S - 1};
    for (size_t i = 0; i < 2; i++) {
        collected *all = collected_create();
        jm__ring ring;
        int64_t now_ns = jm__now_ns() - 10 * JM_NS_PER_MS;
        make_span_ring(all, &ring);
        ring.header->ahead_ns += ahead_ns[i];
        ring.header->created_ns += ahead_ns[i];
        push_begin(&ring, now_ns + ahead_ns[i], 1, 0);
        collected_poll(all);
        assert_int_equal(all->span_count, 1);
        assert_int_equal(all->spans[0].start_ns, now_ns);
        assert_true(llabs(all->processes[0].start_ns - now_ns) < JM_NS_PER_S);
        jm__ring_close(&ring, true);
        collected_free(all);
    }
}

/* execve closes descriptors a moment before the new program's environment is there. */
static void await_environment(pid_t pid)
{
    char path[64];
    size_t length = 0;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    for (int i = 0; i < 5000 && length == 0; i++) {
        char text[16];
        FILE *file = fopen(path, "re");
        assert_non_null(file);
        length = fread(text, 1, sizeof text, file);
        fclose(file);
        if (length == 0) jm__sleep_ns(JM_NS_PER_MS);
    }
    assert_true(length > 0);
}

static void test_a_process_has_the_rank_that_its_launcher_gave_it(void **state)
{
    static const struct {
        const char *environment[4];
        int64_t rank;
    } cases[] = {
        {{"RANK=3", "SLURM_PROCID=9"}, 3},
        {{"SLURM_PROCID=9", "OMPI_COMM_WORLD_RANK=5", "RANK="}, 5},
        {{"SLURM_PROCID=0"}, 0},
        {{"RANK=-1", "RANKS=4", "LOCAL_RANK=2"}, -1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        collected *all = collected_create();
        jm__ring ring;
        int ready[2];
        char byte;
        assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
        pid_t child = fork();
        if (child == 0) {
            char *const arguments[] = {"sleep", "60", NULL};
            union {
                const char *const *from;
                char *const *to;
            } environment = {cases[i].environment};
            execve("/bin/sleep", arguments, environment.to);
            _exit(1);
        }
        close(ready[1]);
        assert_int_equal(read(ready[0], &byte, 1), 0); /* closed: it is another program now */
        close(ready[0]);
        await_environment(child);
        make_span_ring(all, &ring);
        is_of(&ring, child);
        push_begin(&ring, jm__now_ns() - 10 * JM_NS_PER_MS, 1, 0);
        collected_poll(all);
        assert_int_equal(all->processes[0].pid, child);
        assert_int_equal(all->processes[0].parent_pid, getpid());
        assert_int_equal(all->processes[0].rank, cases[i].rank);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        jm__ring_close(&ring, true);
        collected_free(all);
    }
}

static int64_t refuse_name(void *context, const char *text)
{
    (void)context;
    return text == NULL || text[0] == '\0' ? 0 : -1;
}

static void test_names_that_nobody_takes_are_counted(void **state)
{
    (void)state;
    collected *all = collected_create();
    jm__names names = {0};
    jm__ring ring;
    assert_int_equal(jm__names_open(&names, all->run_dir, JM_WRITER_CORE), 0);
    make_span_ring(all, &ring);
    uint32_t name = jm__names_intern(&names, "one too many", 12);
    all->collector->sink.name = refuse_name; /* as a recording does that has JM_NAMES_MAX of them */
    push_begin(&ring, jm__now_ns() - 10 * JM_NS_PER_MS, 1, name);
    push_begin(&ring, jm__now_ns() - 10 * JM_NS_PER_MS, 2, name);
    push_begin(&ring, jm__now_ns() - 10 * JM_NS_PER_MS, 3, 0); /* has none */
    collected_poll(all);
    assert_int_equal(all->span_count, 3);
    assert_int_equal(all->lost, 2);
    atomic_store(&ring.header->names_refused, 5); /* the program itself has too many */
    collected_poll(all);
    collected_poll(all);
    assert_int_equal(all->lost, 7);
    jm__ring_close(&ring, true);
    jm__names_free(&names);
    collected_free(all);
}

static void push_told(jm__ring *ring, jm__names *names, const char *text)
{
    jm_ring_span mark = {
        .t_ns = jm__now_ns(), .type = jm__names_write_once(names, text, strlen(text)), .op = JM_RING_MARK};
    assert_true(mark.type != 0);
    assert_true(jm__ring_push_span(ring, &mark, 0));
}

/* A server tells of its requests for months: neither do numbers run out, nor does the file take more room. */
static void test_texts_used_once_take_bounded_room(void **state)
{
    (void)state;
    enum { TEXTS = JM_NAMES_ONCE_MAX + 3000, BEFORE = JM_NAMES_ONCE_MAX - 100 };
    collected *all = collected_create();
    jm__names names = {0};
    jm__ring ring;
    char text[96];
    struct stat file;
    assert_int_equal(jm__names_open(&names, all->run_dir, JM_WRITER_CORE), 0);
    make_span_ring(all, &ring);
    for (int i = 0; i < TEXTS; i++) {
        bool kept = i < BEFORE ? i % 4096 == 0 : i % 7 == 0; /* of the others the marks were lost */
        snprintf(text, sizeof text, "{\"request\": %d, \"of\": \"somebody who asks for much\"}", i);
        if (!kept) assert_true(jm__names_write_once(&names, text, strlen(text)) != 0);
        if (!kept) continue;
        push_told(&ring, &names, text);
        all->mark_count = 0;
        collected_poll(all);
        assert_int_equal(all->mark_count, 1);
        assert_string_equal(all->mark_meta[0], text);
    }
    assert_int_equal(all->lost, 0);
    assert_true(names.last_number <= JM_NAMES_ONCE_MAX);
    assert_int_equal(stat(names.path, &file), 0);
    assert_true(file.st_size > 10 << 20);
    assert_true(file.st_blocks * 512 < 3 << 20);
    jm__ring_close(&ring, true);
    jm__names_free(&names);
    collected_free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_kernel_that_comes_before_its_launch_waits_for_it),
        cmocka_unit_test(test_nothing_is_complete_beyond_a_kernel_that_waits),
        cmocka_unit_test(test_a_kernel_without_a_launch_goes_out_at_the_end_and_is_counted),
        cmocka_unit_test(test_a_kernel_does_not_wait_for_a_launch_that_cannot_come_any_more),
        cmocka_unit_test(test_a_kernel_is_charged_to_what_was_innermost_at_its_launch),
        cmocka_unit_test(test_realtime_stamps_come_out_in_the_one_clock),
        cmocka_unit_test(test_a_step_of_the_realtime_clock_moves_no_kernel),
        cmocka_unit_test(test_too_many_waiting_kernels_go_out_untied_instead_of_filling_memory),
        cmocka_unit_test(test_losses_of_ring_and_cupti_are_reported_once),
        cmocka_unit_test(test_complete_follows_what_the_injected_library_has_flushed),
        cmocka_unit_test(test_threads_long_gone_take_no_memory),
        cmocka_unit_test(test_damaged_rings_are_left_alone),
        cmocka_unit_test(test_a_ring_that_is_cut_short_costs_its_records_and_no_more),
        cmocka_unit_test(test_records_that_make_no_sense_are_counted_and_skipped),
        cmocka_unit_test(test_a_run_whose_folder_is_gone_is_an_error_with_its_path),
        cmocka_unit_test(test_a_pid_that_comes_again_is_a_process_of_its_own),
        cmocka_unit_test(test_two_that_follow_each_other_at_once_are_two_processes),
        cmocka_unit_test(test_a_pid_of_another_namespace_is_nobody_elses),
        cmocka_unit_test(test_a_ring_found_after_the_end_of_its_process_is_of_that_process),
        cmocka_unit_test(test_a_process_that_is_gone_when_it_is_found_has_told_who_it_was),
        cmocka_unit_test(test_stamps_of_another_namespace_of_time_come_out_in_the_one_clock),
        cmocka_unit_test(test_a_process_has_the_rank_that_its_launcher_gave_it),
        cmocka_unit_test(test_names_that_nobody_takes_are_counted),
        cmocka_unit_test(test_texts_used_once_take_bounded_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
