/* Which launch a kernel is tied to, what is kept of copies, and which records are refused. */
#include "base/clock.h"
#include "record/timeline/collector_parts.h"

#include <joulemap/span.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "collected.h"
#include "injected.h"

/* Everything that was pushed, handed on. */
static void collect(collected *all)
{
    collected_poll(all);
    collected_finish(all);
}

/* The kernel that began then. */
static const jm__kernel *kernel_at(const collected *all, int64_t start_ns)
{
    for (size_t i = 0; i < all->kernel_count; i++)
        if (all->kernels[i].start_ns == start_ns) return &all->kernels[i];
    fail_msg("no kernel began at %lld", (long long)start_ns);
    return NULL;
}

static void test_of_calls_inside_each_other_the_outer_one_launched(void **state)
{
    (void)state;
    collected *all = collected_create();
    injected *side = inject(all, false, 64);
    int64_t now_ns = jm__now_ns();
    push_launch(side, 5, now_ns - 1000); /* the driver's call inside the runtime's is told after it */
    push_launch(side, 5, now_ns - 900);
    push_launch(side, 6, now_ns - 700); /* or before it */
    push_launch(side, 6, now_ns - 800);
    push_launch(side, 7, now_ns - 600); /* with one stamp, in another thread: the first that was told */
    push_call(side, (jm_ring_span){.op = JM_RING_THREAD, .id = 1, .t_ns = now_ns - 600});
    push_launch(side, 7, now_ns - 600);
    push_kernel(side, 5, now_ns + 5);
    push_kernel(side, 6, now_ns + 6);
    push_kernel(side, 7, now_ns + 7);
    collect(all);
    assert_int_equal(all->kernel_count, 3);
    assert_int_equal(kernel_at(all, now_ns + 5)->launch_ns, now_ns - 1000);
    assert_int_equal(kernel_at(all, now_ns + 6)->launch_ns, now_ns - 800);
    assert_int_equal(kernel_at(all, now_ns + 7)->launch_ns, now_ns - 600);
    assert_int_equal(all->collector->processes.items[0]->launches[7].tid, (int32_t)syscall(SYS_gettid));
    assert_int_equal(all->lost, 0);
    injected_free(side);
    collected_free(all);
}

static void test_an_id_that_comes_again_is_another_launch(void **state)
{
    (void)state;
    collected *all = collected_create();
    injected *side = inject(all, false, 64);
    int64_t now_ns = jm__now_ns();
    push_launch(side, 5, now_ns - 2000);
    push_launch(side, 5 + JM_LAUNCHES, now_ns - 1000); /* takes its place */
    push_launch(side, 6, now_ns - 61 * JM_NS_PER_S);   /* ids have gone round since */
    push_launch(side, 6, now_ns - 500);
    push_kernel(side, 5, now_ns + 5);
    push_kernel(side, 5 + JM_LAUNCHES, now_ns + 15);
    push_kernel(side, 6, now_ns + 6);
    collect(all);
    assert_int_equal(kernel_at(all, now_ns + 5)->launch_ns, -1); /* forgotten: not that of another */
    assert_int_equal(kernel_at(all, now_ns + 15)->launch_ns, now_ns - 1000);
    assert_int_equal(kernel_at(all, now_ns + 6)->launch_ns, now_ns - 500);
    assert_int_equal(all->lost, 1);
    injected_free(side);
    collected_free(all);
}

/* As it counts from one again when it was let go in between. */
static void test_an_id_from_before_cupti_was_taken_again_is_another_launch(void **state)
{
    (void)state;
    collected *all = collected_create();
    injected *side = inject(all, false, 64);
    int64_t now_ns = jm__now_ns();
    push_launch(side, 5, now_ns - 2000);
    push_launch(side, 6, now_ns - 1900);
    push_kernel(side, 5, now_ns + 5);
    collected_poll(all);
    push_call(side, (jm_ring_span){.op = JM_RING_LAUNCH, .id = 5, .samples = 1, .t_ns = now_ns - 1000});
    push(side, (jm_ring_kernel){.op = JM_RING_AGAIN, .bytes = 1});
    push_kernel(side, 5, now_ns + 15);
    push_kernel(side, 6, now_ns + 16); /* nobody launched that one since */
    collect(all);
    assert_int_equal(kernel_at(all, now_ns + 5)->launch_ns, now_ns - 2000);
    assert_int_equal(kernel_at(all, now_ns + 15)->launch_ns, now_ns - 1000);
    assert_int_equal(kernel_at(all, now_ns + 16)->launch_ns, -1);
    assert_int_equal(all->lost, 1);
    injected_free(side);
    collected_free(all);
}

/* The place of an id in the table is empty, but for zeros. */
static void test_a_kernel_of_an_id_that_nobody_launched_has_no_launch(void **state)
{
    (void)state;
    collected *all = collected_create();
    injected *side = inject(all, false, 64);
    int64_t now_ns = jm__now_ns();
    push_launch(side, 5, now_ns - 1000);
    push_kernel(side, 0, now_ns + 10);
    push_kernel(side, 4, now_ns + 14);
    collect(all);
    assert_int_equal(kernel_at(all, now_ns + 10)->launch_ns, -1);
    assert_int_equal(kernel_at(all, now_ns + 14)->launch_ns, -1);
    assert_int_equal(all->lost, 2);
    injected_free(side);
    collected_free(all);
}

static void check_class(const collected *all, const jm__kernel *kernel, jm__work work, uint32_t grid,
                        uint32_t block)
{
    const jm__kernel_class *row = &all->classes[kernel->class_id - 1];
    assert_int_equal(row->work, work);
    assert_int_equal(row->grid[0], grid);
    assert_int_equal(row->block[0], block);
}

static void test_copies_and_sets_are_classes_with_bytes_and_kernels_with_shapes(void **state)
{
    (void)state;
    collected *all = collected_create();
    injected *side = inject(all, false, 64);
    int64_t now_ns = jm__now_ns();
    static const uint8_t ops[] = {JM_RING_KERNEL, JM_RING_MEMCPY, JM_RING_MEMSET};
    uint32_t name = number_of(side, "all of one name");
    for (int i = 0; i < 3; i++) {
        bool kernel = ops[i] == JM_RING_KERNEL;
        push_launch(side, 1 + (uint32_t)i, now_ns - 1000);
        push(side, (jm_ring_kernel){.op = ops[i],
                                    .name = name,
                                    .correlation = 1 + (uint32_t)i,
                                    .start_ns = now_ns + i,
                                    .end_ns = now_ns + 100,
                                    .context = 1,
                                    .bytes = 4096,
                                    .grid = {kernel ? 7 : 0, 0, 0},
                                    .block = {kernel ? 64 : 0, 0, 0}});
    }
    collect(all);
    assert_int_equal(all->class_count, 3);
    assert_int_equal(kernel_at(all, now_ns)->bytes, 0); /* of a kernel it is a graph's node */
    assert_int_equal(kernel_at(all, now_ns + 1)->bytes, 4096);
    assert_int_equal(kernel_at(all, now_ns + 2)->bytes, 4096);
    check_class(all, kernel_at(all, now_ns), JM_WORK_KERNEL, 7, 64);
    check_class(all, kernel_at(all, now_ns + 1), JM_WORK_MEMCPY, 0, 0);
    check_class(all, kernel_at(all, now_ns + 2), JM_WORK_MEMSET, 0, 0);
    injected_free(side);
    collected_free(all);
}

static void test_stamps_that_no_clock_gives_are_refused_and_counted(void **state)
{
    (void)state;
    const int64_t late_ns = INT64_MAX / 2 + 1, now_ns = jm__now_ns();
    const int64_t stamps[][2] = {{-1, now_ns},      {now_ns, -1},         {late_ns, late_ns},
                                 {now_ns, late_ns}, {now_ns, now_ns - 1}, {0, now_ns}};
    enum { BAD = sizeof stamps / sizeof *stamps };
    collected *all = collected_create();
    injected *side = inject(all, false, 64);
    push_launch(side, 5, now_ns - 1000);
    for (size_t i = 0; i < BAD; i++)
        push(side,
             (jm_ring_kernel){
                 .op = JM_RING_KERNEL, .correlation = 5, .start_ns = stamps[i][0], .end_ns = stamps[i][1]});
    push_kernel(side, 5, now_ns);
    collect(all);
    assert_int_equal(all->kernel_count, 1);
    assert_int_equal(all->lost, BAD);
    assert_non_null(strstr(all->loss_reasons, "make no sense"));
    injected_free(side);
    collected_free(all);
}

/* ---- spans */

static void make_ring(const collected *all, jm__ring *ring, uint32_t writer, uint32_t names_file)
{
    jm__ring_options options = {.run_dir = all->run_dir,
                                .writer = writer,
                                .names_file = names_file,
                                .record_size = sizeof(jm_ring_span),
                                .capacity = 64,
                                .capacity_least = 64,
                                .share = 1};
    assert_int_equal(jm__ring_create(ring, &options), 0);
}

static void push_span(jm__ring *ring, uint8_t op, uint8_t kind, uint64_t id, int64_t t_ns)
{
    const jm_ring_span record = {.t_ns = t_ns, .id = id, .op = op, .kind = kind};
    assert_true(jm__ring_push_span(ring, &record, 0));
}

static void test_what_a_program_left_open_holds_nothing_of_the_one_that_took_its_place(void **state)
{
    (void)state;
    collected *all = collected_create();
    int64_t now_ns = jm__now_ns();
    jm__ring before, ranges, after;
    make_ring(all, &before, JM_WRITER_CORE, 0);
    make_ring(all, &ranges, JM_WRITER_NVTX, 0);
    push_span(&ranges, JM_RING_BEGIN, JM_SPAN_NVTX, 1, now_ns - 4000);
    push_span(&before, JM_RING_BEGIN, JM_SPAN_FORWARD, 1, now_ns - 3000);
    collected_poll(all);
    make_ring(all, &after, JM_WRITER_CORE, 1);
    push_span(&after, JM_RING_BEGIN, JM_SPAN_FORWARD, 1, now_ns - 2000);
    push_span(&after, JM_RING_BEGIN, JM_SPAN_FORWARD, 2, now_ns - 1000);
    collected_poll(all);
    assert_int_equal(all->span_count, 4);
    assert_int_equal(all->spans[1].parent_id, 1);
    assert_int_equal(all->spans[1].end_ns, now_ns - 2000);
    assert_int_equal(all->spans[2].parent_id, 1); /* the range is of another library: it is open still */
    assert_int_equal(all->spans[3].parent_id, 3);
    assert_int_equal(all->lost, 0);
    jm__ring_close(&before, true);
    jm__ring_close(&ranges, true);
    jm__ring_close(&after, true);
    collected_free(all);
}

static void test_a_span_of_no_kind_is_refused_and_counted(void **state)
{
    (void)state;
    static const uint8_t kinds[] = {JM_SPAN_NONE, JM_SPAN_KIND_COUNT, 255};
    collected *all = collected_create();
    jm__ring ring;
    make_ring(all, &ring, JM_WRITER_CORE, 0);
    for (uint64_t i = 0; i < 3; i++)
        push_span(&ring, JM_RING_BEGIN, kinds[i], 1 + i, jm__now_ns());
    collect(all);
    assert_int_equal(all->span_count, 0);
    assert_int_equal(all->lost, 3);
    jm__ring_close(&ring, true);
    collected_free(all);
}

static void push_payload(jm__ring *ring, uint8_t kind, uint64_t span, uint64_t bits)
{
    jm_ring_span record = {.t_ns = jm__now_ns(),
                           .id = span,
                           .name = (uint32_t)bits,
                           .type = (uint32_t)(bits >> 32),
                           .op = JM_RING_PAYLOAD,
                           .kind = kind};
    assert_true(jm__ring_push_span(ring, &record, 0));
}

static void test_a_payload_is_that_of_its_own_span_alone(void **state)
{
    (void)state;
    collected *all = collected_create();
    jm__ring ring;
    make_ring(all, &ring, JM_WRITER_NVTX, 0);
    push_payload(&ring, JM_PAYLOAD_INTEGER, 1, (uint64_t)INT64_MIN);
    push_span(&ring, JM_RING_BEGIN, JM_SPAN_NVTX, 1, jm__now_ns());
    push_span(&ring, JM_RING_BEGIN, JM_SPAN_NVTX, 2, jm__now_ns());
    push_payload(&ring, JM_PAYLOAD_NATURAL, 3, 5); /* its begin found no room */
    push_span(&ring, JM_RING_BEGIN, JM_SPAN_NVTX, 4, jm__now_ns());
    push_payload(&ring, JM_PAYLOAD_NATURAL, 5, INT64_MAX);
    push_span(&ring, JM_RING_BEGIN, JM_SPAN_NVTX, 5, jm__now_ns());
    push_payload(&ring, JM_PAYLOAD_NATURAL, 6, (uint64_t)INT64_MAX + 1);
    push_span(&ring, JM_RING_BEGIN, JM_SPAN_NVTX, 6, jm__now_ns());
    push_payload(&ring, JM_PAYLOAD_NONE, 7, 7);
    push_payload(&ring, JM_PAYLOAD_KIND_COUNT, 7, 7);
    push_span(&ring, JM_RING_BEGIN, JM_SPAN_NVTX, 7, jm__now_ns());
    collect(all);
    static const jm_payload_kind kinds[] = {JM_PAYLOAD_INTEGER, JM_PAYLOAD_NONE,    JM_PAYLOAD_NONE,
                                            JM_PAYLOAD_INTEGER, JM_PAYLOAD_NATURAL, JM_PAYLOAD_NONE};
    assert_int_equal(all->span_count, 6);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(all->spans[i].payload_kind, kinds[i]);
    assert_int_equal(all->spans[0].payload.integer, INT64_MIN);
    assert_int_equal(all->spans[3].payload.integer, INT64_MAX);
    assert_true(all->spans[4].payload.natural == (uint64_t)INT64_MAX + 1);
    assert_int_equal(all->lost, 2); /* of no kind */
    jm__ring_close(&ring, true);
    collected_free(all);
}

/* In any order, as threads of Python's generators do. */
static void test_spans_that_cross_end_each_by_itself(void **state)
{
    (void)state;
    enum { SPANS = 4 };
    static const uint64_t ends[SPANS] = {2, 1, 4, 3};
    collected *all = collected_create();
    int64_t now_ns = jm__now_ns(), id;
    jm__ring ring;
    make_ring(all, &ring, JM_WRITER_CORE, 0);
    for (uint64_t i = 1; i <= SPANS; i++)
        push_span(&ring, JM_RING_BEGIN, JM_SPAN_FORWARD, i, now_ns - 10000 + (int64_t)i * 100);
    for (uint64_t i = 0; i < SPANS; i++)
        push_span(&ring, JM_RING_END, 0, ends[i], now_ns - 9000 + (int64_t)i * 100);
    collected_poll(all);
    for (uint64_t i = 0; i < SPANS; i++)
        assert_int_equal(all->spans[ends[i] - 1].end_ns, now_ns - 9000 + (int64_t)i * 100);
    /* innermost after each step, by the time of it: 1 2 3 4 | 4 4 3 none */
    static const int64_t innermost[2 * SPANS] = {1, 2, 3, 4, 4, 4, 3, 0};
    int32_t tid = (int32_t)syscall(SYS_gettid);
    for (int i = 0; i < 2 * SPANS; i++) {
        int64_t at_ns = i < SPANS ? now_ns - 10000 + (i + 1) * 100 : now_ns - 9000 + (i - SPANS) * 100;
        for (int64_t later_ns = 0; later_ns < 100; later_ns += 99) { /* from its very time on */
            assert_true(
                jm__collector_innermost(all->collector->processes.items[0], tid, at_ns + later_ns, &id));
            assert_int_equal(id, innermost[i]);
        }
    }
    jm__ring_close(&ring, true);
    collected_free(all);
}

static void test_a_thread_without_spans_is_in_those_of_the_whole_process(void **state)
{
    (void)state;
    collected *all = collected_create();
    int64_t now_ns = jm__now_ns(), id;
    jm__ring ring;
    make_ring(all, &ring, JM_WRITER_CORE, 0);
    push_span(&ring, JM_RING_BEGIN, JM_SPAN_FORWARD, 1, now_ns - 4000); /* of its own thread alone */
    push_span(&ring, JM_RING_BEGIN, JM_SPAN_PHASE, 2, now_ns - 3000);
    collected_poll(all);
    const collector_process *process = all->collector->processes.items[0];
    assert_true(jm__collector_innermost(process, 7, now_ns - 3500, &id));
    assert_int_equal(id, 0);
    assert_true(jm__collector_innermost(process, 7, now_ns - 2500, &id));
    assert_int_equal(id, 2);
    jm__ring_close(&ring, true);
    collected_free(all);
}

/* Short spans for a minute and more, long ago; then one of the thread and one of the process that stay open.
 */
static void test_of_what_was_innermost_long_ago_only_what_still_holds_is_kept(void **state)
{
    (void)state;
    enum { OLD = 1000 };
    collected *all = collected_create();
    int64_t now_ns = jm__now_ns(), old_ns = now_ns - JM_HISTORY_KEPT_NS - 60 * JM_NS_PER_S, id;
    int32_t tid = (int32_t)syscall(SYS_gettid);
    jm__ring ring;
    jm__ring_options options = {.run_dir = all->run_dir,
                                .writer = JM_WRITER_CORE,
                                .record_size = sizeof(jm_ring_span),
                                .capacity = 8192,
                                .capacity_least = 8192,
                                .share = 1};
    assert_int_equal(jm__ring_create(&ring, &options), 0);
    for (uint64_t i = 1; i <= OLD; i++) {
        push_span(&ring, JM_RING_BEGIN, JM_SPAN_PHASE, i, old_ns + (int64_t)i * 1000);
        push_span(&ring, JM_RING_END, 0, i, old_ns + (int64_t)i * 1000 + 500);
    }
    push_span(&ring, JM_RING_BEGIN, JM_SPAN_PHASE, OLD + 1, old_ns + JM_NS_PER_S);
    push_span(&ring, JM_RING_BEGIN, JM_SPAN_FORWARD, OLD + 2, now_ns - JM_NS_PER_S);
    injected *side = inject(all, false, 64);
    push_launch(side, 1, old_ns + 1200); /* in the first of them, but who knows that by now? */
    push_launch(side, 2, now_ns - 2 * JM_NS_PER_S);
    collected_poll(all);
    const collector_process *process = all->collector->processes.items[0];
    assert_true(process->threads.items[0]->history.steps.count < 4);
    assert_true(process->wide_history.steps.count < 4);
    assert_false(jm__collector_innermost(process, tid, old_ns + 1200, &id));
    assert_true(jm__collector_innermost(process, tid, now_ns - 100 * JM_NS_PER_S, &id));
    assert_int_equal(id, OLD + 1);
    assert_true(jm__collector_innermost(process, 7, now_ns - 100 * JM_NS_PER_S, &id));
    assert_int_equal(id, OLD + 1);
    assert_true(jm__collector_innermost(process, tid, now_ns, &id));
    assert_int_equal(id, OLD + 2);
    push_kernel(side, 1, now_ns + 1);
    push_kernel(side, 2, now_ns + 2);
    collect(all);
    assert_int_equal(kernel_at(all, now_ns + 1)->span_id, 0);
    assert_int_equal(kernel_at(all, now_ns + 2)->span_id, OLD + 1);
    assert_int_equal(all->lost, 1);
    assert_non_null(strstr(all->loss_reasons, "came too late to find their span"));
    injected_free(side);
    jm__ring_close(&ring, true);
    collected_free(all);
}

static void test_a_note_that_its_program_could_not_write_is_counted(void **state)
{
    (void)state;
    collected *all = collected_create();
    jm__ring ring;
    make_ring(all, &ring, JM_WRITER_CORE, 0);
    jm_ring_span record = {.t_ns = jm__now_ns(), .type = 5, .op = JM_RING_MARK};
    assert_true(jm__ring_push_span(&ring, &record, 0));
    record.type = 0; /* has no note */
    assert_true(jm__ring_push_span(&ring, &record, 0));
    collect(all);
    assert_int_equal(all->mark_count, 2);
    assert_int_equal(all->processes[0].end_ns, record.t_ns); /* it was alive then */
    assert_int_equal(all->lost, 1);
    assert_non_null(strstr(all->loss_reasons, "a name or note"));
    jm__ring_close(&ring, true);
    collected_free(all);
}

static int64_t begun;

static void count_begin(void *context, const jm__span *span)
{
    (void)context;
    (void)span;
    begun++;
}

/* What was read of names is given back: were they another file of the user's, that would be lost. */
static void test_a_link_in_the_place_of_names_leads_to_no_file(void **state)
{
    (void)state;
    enum { TEXTS = 40, LENGTH = 60000 };
    static char text[LENGTH];
    for (int hard = 0; hard < 2; hard++) {
        collected *all = collected_create();
        char victim[128], names[128];
        struct stat info;
        jm__ring ring;
        jm__ring_options options = {.run_dir = all->run_dir,
                                    .writer = JM_WRITER_CORE,
                                    .record_size = sizeof(jm_ring_span),
                                    .capacity = 64,
                                    .capacity_least = 64,
                                    .share = 1};
        snprintf(victim, sizeof victim, "%s/victim", all->run_dir);
        snprintf(names, sizeof names, "%s/%d-c" JM_NAMES_SUFFIX, all->run_dir, (int)getpid());
        FILE *file = fopen(victim, "w");
        assert_non_null(file);
        for (uint32_t i = 1; i <= TEXTS; i++) {
            const uint32_t head[2] = {i, LENGTH};
            memset(text, 'v', sizeof text);
            assert_int_equal(fwrite(head, sizeof head, 1, file), 1);
            assert_int_equal(fwrite(text, sizeof text, 1, file), 1);
        }
        assert_int_equal(fclose(file), 0);
        assert_int_equal(hard ? link(victim, names) : symlink(victim, names), 0);
        assert_int_equal(jm__ring_create(&ring, &options), 0);
        assert_true(jm__ring_push_span(
            &ring,
            &(jm_ring_span){
                .t_ns = jm__now_ns(), .id = 1, .name = TEXTS, .op = JM_RING_BEGIN, .kind = JM_SPAN_PHASE},
            0));
        collect(all);
        assert_int_equal(stat(victim, &info), 0);
        assert_int_equal(info.st_size, TEXTS * (8 + LENGTH));
        assert_true(info.st_blocks * 512 >= info.st_size); /* nothing was punched out of it */
        assert_string_equal(all->names[0], "(name not written)");
        jm__ring_close(&ring, true);
        assert_int_equal(unlink(names), 0);
        assert_int_equal(unlink(victim), 0);
        collected_free(all);
    }
}

static void test_spans_that_nobody_ends_do_not_fill_memory(void **state)
{
    (void)state;
    enum { MORE = 3 };
    collected *all = collected_create();
    jm__ring ring;
    jm__ring_options options = {.run_dir = all->run_dir,
                                .writer = JM_WRITER_CORE,
                                .record_size = sizeof(jm_ring_span),
                                .capacity = 2 * JM_OPEN_SPANS_MAX,
                                .capacity_least = 2 * JM_OPEN_SPANS_MAX,
                                .share = 1};
    assert_int_equal(jm__ring_create(&ring, &options), 0);
    all->collector->sink.span_begin = count_begin;
    int64_t now_ns = jm__now_ns() - JM_NS_PER_S;
    for (uint64_t i = 1; i <= JM_OPEN_SPANS_MAX + MORE; i++)
        push_span(&ring, JM_RING_BEGIN, JM_SPAN_FORWARD, i, now_ns + (int64_t)i);
    begun = 0;
    collected_poll(all);
    assert_int_equal(begun, JM_OPEN_SPANS_MAX);
    assert_int_equal(all->lost, MORE);
    assert_non_null(strstr(all->loss_reasons, "too many spans were open"));
    jm__ring_close(&ring, true);
    collected_free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_calls_inside_each_other_the_outer_one_launched),
        cmocka_unit_test(test_an_id_that_comes_again_is_another_launch),
        cmocka_unit_test(test_an_id_from_before_cupti_was_taken_again_is_another_launch),
        cmocka_unit_test(test_a_kernel_of_an_id_that_nobody_launched_has_no_launch),
        cmocka_unit_test(test_copies_and_sets_are_classes_with_bytes_and_kernels_with_shapes),
        cmocka_unit_test(test_stamps_that_no_clock_gives_are_refused_and_counted),
        cmocka_unit_test(test_what_a_program_left_open_holds_nothing_of_the_one_that_took_its_place),
        cmocka_unit_test(test_a_span_of_no_kind_is_refused_and_counted),
        cmocka_unit_test(test_a_payload_is_that_of_its_own_span_alone),
        cmocka_unit_test(test_spans_that_cross_end_each_by_itself),
        cmocka_unit_test(test_a_thread_without_spans_is_in_those_of_the_whole_process),
        cmocka_unit_test(test_of_what_was_innermost_long_ago_only_what_still_holds_is_kept),
        cmocka_unit_test(test_a_note_that_its_program_could_not_write_is_counted),
        cmocka_unit_test(test_a_link_in_the_place_of_names_leads_to_no_file),
        cmocka_unit_test(test_spans_that_nobody_ends_do_not_fill_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
