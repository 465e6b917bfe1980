/* Spans of a program, through rings and collector: threads, forks, runs one after another. */
#include <joulemap/span.h>

#include "base/clock.h"
#include "record/timeline/ring.h"
#include "record/timeline/track.h"
#include "record/timeline/which_run.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "collected.h"

static collected *start(void)
{
    collected *all = collected_create();
    jm_error err;
    assert_int_equal(jm__timeline_open(all->run_dir, &err), JM_OK);
    return all;
}

static void stop(collected *all)
{
    jm__track_close();
    collected_free(all);
}

static size_t count_files(const collected *all, const char *suffix)
{
    size_t count = 0;
    DIR *folder = opendir(all->run_dir);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += strstr(entry->d_name, suffix) != NULL;
    closedir(folder);
    return count;
}

static size_t count_rings(const collected *all)
{
    return count_files(all, ".ring");
}

static void test_spans_nest_and_keep_their_words(void **state)
{
    (void)state;
    collected *all = start();
    int64_t before = jm__now_ns();
    jm_span_id step = jm_span_begin(JM_SPAN_STEP, jm_name_intern("step"), 0, 32);
    jm_span_id forward = jm_span_begin(JM_SPAN_FORWARD, jm_name_intern("blocks.0.attn"),
                                       jm_name_intern("Linear(768, 3072)"), 0);
    jm_span_end(forward);
    jm_span_end(step);
    int64_t after = jm__now_ns();
    collected_poll(all);
    assert_int_equal(all->span_count, 2);
    const jm__span *outer = collected_span(all, "step"), *inner = collected_span(all, "blocks.0.attn");
    assert_int_equal(outer->parent_id, 0);
    assert_int_equal(outer->samples, 32);
    assert_int_equal(outer->kind, JM_SPAN_STEP);
    assert_int_equal(inner->parent_id, outer->id);
    assert_int_equal(inner->kind, JM_SPAN_FORWARD);
    assert_string_equal(collected_text(all, inner->type_id), "Linear(768, 3072)");
    assert_int_equal(collected_pid(all, inner->process_id), getpid());
    assert_int_equal(inner->thread_id, syscall(SYS_gettid));
    assert_true(before <= outer->start_ns && outer->start_ns <= inner->start_ns);
    assert_true(inner->end_ns <= outer->end_ns && outer->end_ns <= after);
    assert_int_equal(all->process_count, 1);
    assert_int_equal(all->processes[0].parent_pid, getppid());
    assert_int_equal(all->lost, 0);
    stop(all);
}

static void test_without_a_run_nothing_is_recorded(void **state)
{
    (void)state;
    unsetenv("JOULEMAP_RUN");
    assert_int_equal(jm_name_intern("name"), 0);
    assert_int_equal(jm_span_begin(JM_SPAN_STEP, 0, 0, 0), 0);
    jm_span_end(0);
    jm_span_end(12345);
    jm_mark("mark", NULL);
}

static void test_spans_may_close_in_any_order(void **state)
{
    (void)state;
    collected *all = start();
    jm_span_id a = jm_span_begin(JM_SPAN_PHASE, jm_name_intern("a"), 0, 0);
    jm_span_id b = jm_span_begin(JM_SPAN_FORWARD, jm_name_intern("b"), 0, 0);
    jm_span_end(a);
    jm_span_id c = jm_span_begin(JM_SPAN_FORWARD, jm_name_intern("c"), 0, 0);
    jm_span_end(b);
    jm_span_id d = jm_span_begin(JM_SPAN_FORWARD, jm_name_intern("d"), 0, 0);
    jm_span_end(d);
    jm_span_end(c);
    collected_poll(all);
    assert_int_equal(collected_span(all, "c")->parent_id, collected_span_id(all, "b"));
    assert_int_equal(collected_span(all, "d")->parent_id, collected_span_id(all, "c"));
    for (int64_t i = 0; i < all->span_count; i++)
        assert_true(all->spans[i].end_ns > 0);
    stop(all);
}

static void *end_it(void *span)
{
    jm_span_end(*(jm_span_id *)span);
    jm_span_end(jm_span_begin(JM_SPAN_BACKWARD, jm_name_intern("elsewhere"), 0, 0));
    return NULL;
}

static void test_a_step_may_tell_at_its_end_what_it_worked_on(void **state)
{
    (void)state;
    collected *all = start();
    jm_name told = jm_name_intern("told"), kept = jm_name_intern("kept"), plain = jm_name_intern("plain");
    jm_span_end_counted(jm_span_begin(JM_SPAN_STEP, told, 0, 8), 16, 4000);
    jm_span_end_counted(jm_span_begin(JM_SPAN_STEP, kept, 0, 8), 0, 1);
    jm_span_end(jm_span_begin(JM_SPAN_STEP, plain, 0, 8));
    jm_span_end_counted(0, 1, 1);
    collected_poll(all);
    assert_int_equal(collected_span(all, "told")->samples, 16);
    assert_int_equal(collected_span(all, "told")->tokens, 4000);
    assert_int_equal(collected_span(all, "kept")->samples, 8);
    assert_int_equal(collected_span(all, "kept")->tokens, 1);
    assert_int_equal(collected_span(all, "plain")->tokens, 0);
    stop(all);
}

static void test_a_span_may_end_on_another_thread_and_wide_spans_hold_other_threads(void **state)
{
    (void)state;
    collected *all = start();
    jm_span_id step = jm_span_begin(JM_SPAN_STEP, jm_name_intern("step"), 0, 0);
    jm_span_id layer = jm_span_begin(JM_SPAN_FORWARD, jm_name_intern("layer"), 0, 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, end_it, &layer), 0);
    pthread_join(thread, NULL);
    jm_span_end(step);
    collected_poll(all);
    assert_true(collected_span(all, "layer")->end_ns > 0);
    assert_int_equal(collected_span(all, "layer")->thread_id, getpid());
    assert_int_equal(collected_span(all, "elsewhere")->parent_id, collected_span_id(all, "step"));
    assert_true(collected_span(all, "elsewhere")->thread_id != getpid());
    stop(all);
}

static void *short_life(void *unused)
{
    (void)unused;
    jm_span_end(jm_span_begin(JM_SPAN_FORWARD, jm_name_intern("short"), 0, 0));
    return NULL;
}

/* A thread's first span makes its ring, on its stack; Linux gives some threads 16 KiB. */
static void test_spans_take_little_of_a_stack(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* it wants a stack of its own size */
#endif
    enum { STACK = 1 << 18, MOST = 14000, UNTOUCHED = 0xa5 };
    collected *all = start();
    pthread_attr_t attr;
    pthread_t thread;
    unsigned char *stack = aligned_alloc(4096, STACK);
    assert_non_null(stack);
    memset(stack, UNTOUCHED, STACK);
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstack(&attr, stack, STACK), 0);
    assert_int_equal(pthread_create(&thread, &attr, short_life, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attr);
    size_t untouched = 0;
    while (stack[untouched] == UNTOUCHED)
        untouched++;
    free(stack);
    collected_poll(all);
    assert_int_equal(all->span_count, 1);
    stop(all);
    print_message("%zu bytes\n", STACK - untouched);
#ifndef __SANITIZE_ADDRESS__ /* its frames are larger than anybody's */
    assert_true(STACK - untouched < MOST);
#endif
}

static void test_thousands_of_short_threads_share_few_rings(void **state)
{
    (void)state;
    collected *all = start();
    enum { THREADS = 2000, AT_ONCE = 4 };
    for (int i = 0; i < THREADS / AT_ONCE; i++) {
        pthread_t threads[AT_ONCE];
        for (int k = 0; k < AT_ONCE; k++)
            assert_int_equal(pthread_create(&threads[k], NULL, short_life, NULL), 0);
        for (int k = 0; k < AT_ONCE; k++)
            pthread_join(threads[k], NULL);
    }
    assert_in_range(count_rings(all), 1, AT_ONCE);
    collected_poll(all);
    assert_int_equal(all->span_count, THREADS);
    /* Each span belongs to the thread that wrote it, though the ring had other owners before. */
    int64_t different = 0;
    for (int64_t i = 0; i < all->span_count; i++) {
        assert_true(all->spans[i].end_ns > 0 && all->spans[i].thread_id != getpid());
        different += i == 0 || all->spans[i].thread_id != all->spans[i - 1].thread_id;
    }
    assert_int_equal(different, THREADS);
    assert_int_equal(all->lost, 0);
    stop(all);
}

static void test_a_forked_child_has_rings_and_names_of_its_own(void **state)
{
    (void)state;
    collected *all = start();
    jm_span_id parent_span = jm_span_begin(JM_SPAN_PHASE, jm_name_intern("parent"), 0, 0);
    pid_t child = fork();
    if (child == 0) {
        jm_span_end(jm_span_begin(JM_SPAN_PHASE, jm_name_intern("child"), 0, 0));
        jm_span_end(jm_span_begin(JM_SPAN_PHASE, jm_name_intern("parent"), 0, 0));
        jm_span_begin(JM_SPAN_PHASE, jm_name_intern("left open"), 0, 0);
        _exit(0);
    }
    jm_span_end(parent_span);
    assert_int_equal(waitpid(child, NULL, 0), child);
    jm_span_end(jm_span_begin(JM_SPAN_PHASE, jm_name_intern("after"), 0, 0));
    collected_poll(all);
    assert_int_equal(all->span_count, 5);
    assert_int_equal(collected_pid(all, collected_span(all, "child")->process_id), child);
    assert_int_equal(collected_span(all, "child")->parent_id, 0);
    assert_int_equal(collected_span(all, "left open")->end_ns, -1);
    assert_int_equal(collected_pid(all, collected_span(all, "after")->process_id), getpid());
    assert_int_equal(all->process_count, 2);
    /* The child is gone: its rings go too, then its names; ours stay. */
    assert_int_equal(count_files(all, ".names"), 2);
    usleep(300000);
    collected_poll(all);
    assert_int_equal(count_rings(all), 1);
    collected_poll(all);
    assert_int_equal(count_files(all, ".names"), 1);
    stop(all);
}

/* Wait for a child that must end with 0. */
static void await(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_a_child_finds_the_run_in_its_environment(void **state)
{
    (void)state;
    collected *all = collected_create();
    pid_t child = fork();
    if (child == 0) {
        setenv("JOULEMAP_RUN", all->run_dir, 1);
        execl("/proc/self/exe", "test_span", "--child", (char *)NULL);
        _exit(127);
    }
    await(child);
    collected_poll(all);
    assert_int_equal(all->span_count, 2);
    /* The child replaced itself once: the first program's open span ends there and holds nothing. */
    assert_int_equal(collected_span(all, "first program")->end_ns,
                     collected_span(all, "second program")->start_ns);
    assert_int_equal(collected_span(all, "second program")->parent_id, 0);
    assert_true(collected_span(all, "second program")->end_ns > 0);
    collected_free(all);
}

static void test_a_child_that_cleans_its_environment_keeps_its_spans(void **state)
{
    (void)state;
    const char *const ways[] = {"--cleaned", "--overwritten"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        collected *all = collected_create();
        pid_t child = fork();
        if (child == 0) {
            setenv("JOULEMAP_RUN", all->run_dir, 1);
            execl("/proc/self/exe", "test_span", ways[i], (char *)NULL);
            _exit(127);
        }
        await(child);
        collected_poll(all);
        assert_int_equal(all->span_count, 1);
        assert_true(collected_span(all, "cleaned")->end_ns > 0);
        collected_free(all);
    }
}

/* `overwrite`: as programs do that write a title for `ps` over their arguments and what follows them. */
static int be_the_child_that_cleans(bool overwrite)
{
    for (char **entry = environ; overwrite && *entry != NULL; entry++)
        memset(*entry, 'x', strlen(*entry));
    clearenv();
    jm_span_end(jm_span_begin(JM_SPAN_PHASE, jm_name_intern("cleaned"), 0, 0));
    return 0;
}

static void test_names_keep_their_numbers_across_runs(void **state)
{
    (void)state;
    collected *first = start();
    jm_name name = jm_name_intern("kept");
    jm_span_end(jm_span_begin(JM_SPAN_PHASE, name, 0, 0));
    jm__track_close();
    assert_int_equal(jm_span_begin(JM_SPAN_PHASE, name, 0, 0), 0);
    collected *second = start();
    assert_int_equal(jm_name_intern("kept"), name);
    jm_span_end(jm_span_begin(JM_SPAN_PHASE, name, 0, 0));
    collected_poll(first);
    collected_poll(second);
    assert_int_equal(first->span_count, 1);
    assert_int_equal(second->span_count, 1);
    assert_true(collected_span(second, "kept")->end_ns > 0);
    collected_free(first);
    stop(second);
}

static void test_a_mark_carries_its_words(void **state)
{
    (void)state;
    collected *all = start();
    jm_mark("epoch_end", "{\"loss\": 0.5}");
    jm_mark("bare", NULL);
    collected_poll(all);
    assert_int_equal(all->mark_count, 2);
    assert_string_equal(collected_text(all, all->marks[0].name_id), "epoch_end");
    assert_string_equal(all->mark_meta[0], "{\"loss\": 0.5}");
    assert_string_equal(collected_text(all, all->marks[1].name_id), "bare");
    assert_null(all->marks[1].meta);
    assert_true(all->marks[0].t_ns <= all->marks[1].t_ns);
    stop(all);
}

static void in_and_out(jm_span_kind kind, const char *name)
{
    jm_span_end(jm_span_begin(kind, jm_name_intern(name), 0, 0));
}

static void test_untraced_time_has_phases_epochs_marks_and_ends_alone(void **state)
{
    (void)state;
    collected *all = start();
    jm_span_id layer = jm_span_begin(JM_SPAN_FORWARD, jm_name_intern("before"), 0, 0);
    jm__timeline_trace(JM_TRACING_OFF);
    jm_span_end(layer);
    in_and_out(JM_SPAN_PHASE, "phase");
    in_and_out(JM_SPAN_EPOCH, "epoch");
    in_and_out(JM_SPAN_STEP, "step");
    in_and_out(JM_SPAN_WINDOW, "window");
    in_and_out(JM_SPAN_BACKWARD, "layer");
    jm_mark("mark", NULL);
    pid_t child = fork(); /* nobody in it will say when to go on */
    if (child == 0) {
        in_and_out(JM_SPAN_STEP, "of the child");
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    jm__timeline_trace(JM_TRACING_ON);
    in_and_out(JM_SPAN_STEP, "after");
    collected_poll(all);
    assert_true(collected_span(all, "before")->end_ns > 0);
    assert_true(collected_span(all, "of the child")->end_ns > 0);
    collected_span(all, "phase");
    collected_span(all, "epoch");
    collected_span(all, "after");
    assert_int_equal(all->span_count, 5);
    assert_int_equal(all->mark_count, 1);
    assert_int_equal(all->lost, 0);
    jm__timeline_trace(JM_TRACING_OFF);
    stop(all);
    all = start(); /* the next run begins with everything */
    in_and_out(JM_SPAN_STEP, "step");
    collected_poll(all);
    assert_int_equal(all->span_count, 1);
    stop(all);
}

static void test_an_overlong_name_is_cut_between_characters(void **state)
{
    (void)state;
    collected *all = start();
    char text[6000];
    for (size_t i = 0; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "\xc3\xa9", 3); /* e acute, two bytes */
    jm_span_end(jm_span_begin(JM_SPAN_PHASE, jm_name_intern(text), 0, 0));
    collected_poll(all);
    assert_int_equal(strlen(collected_text(all, all->spans[0].name_id)), 4094);
    stop(all);
}

static void test_a_full_ring_counts_its_losses_and_never_loses_an_end(void **state)
{
    (void)state;
    collected *all = start();
    jm_name name = jm_name_intern("flood");
    uint64_t begun = 0, refused = 0;
    for (int i = 0; i < 200000; i++) {
        jm_span_id span = jm_span_begin(JM_SPAN_FORWARD, name, 0, 0);
        begun += span != 0;
        refused += span == 0;
        jm_span_end(span);
    }
    assert_true(refused > 0);
    collected_poll(all);
    assert_int_equal(all->span_count, begun);
    assert_int_equal(all->lost, refused);
    assert_string_equal(all->loss_source, "ring");
    for (int64_t i = 0; i < all->span_count; i++)
        assert_true(all->spans[i].end_ns > 0);
    stop(all);
}

static void *one_more(void *unused)
{
    (void)unused;
    jm_span_end(jm_span_begin(JM_SPAN_FORWARD, jm_name_intern("with room"), 0, 0));
    return NULL;
}

static void test_without_room_for_a_ring_spans_are_counted_as_lost(void **state)
{
    (void)state;
    collected *all = collected_create();
    pid_t child = fork();
    if (child == 0) {
        jm_error err;
        struct rlimit none = {8192, RLIM_INFINITY}, unlimited = {RLIM_INFINITY, RLIM_INFINITY};
        setrlimit(RLIMIT_FSIZE, &none);
        if (jm__timeline_open(all->run_dir, &err) != JM_OK) _exit(1);
        for (int i = 0; i < 10; i++) {
            jm_span_id span = jm_span_begin(JM_SPAN_FORWARD, jm_name_intern("no room"), 0, 0);
            if (span != 0) _exit(2);
            jm_span_end(span);
        }
        setrlimit(RLIMIT_FSIZE, &unlimited);
        pthread_t thread;
        if (pthread_create(&thread, NULL, one_more, NULL) != 0) _exit(3);
        pthread_join(thread, NULL);
        _exit(0);
    }
    await(child);
    collected_poll(all);
    assert_int_equal(all->span_count, 1);
    assert_true(collected_span(all, "with room")->end_ns > 0);
    assert_int_equal(all->lost, 10);
    collected_free(all);
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit = {bytes, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
}

static void begin_and_end(int count, const char *name)
{
    for (int i = 0; i < count; i++)
        jm_span_end(jm_span_begin(JM_SPAN_FORWARD, jm_name_intern(name), 0, 0));
}

static void test_spans_of_a_program_that_never_gets_a_ring_are_counted(void **state)
{
    (void)state;
    collected *all = collected_create();
    pid_t child = fork();
    if (child == 0) {
        jm_error err;
        limit_files(8192);
        if (jm__timeline_open(all->run_dir, &err) != JM_OK) _exit(1);
        begin_and_end(5000, "no room");
        _exit(0);
    }
    await(child);
    collected_poll(all);
    collected_poll(all);
    assert_int_equal(all->span_count, 0);
    assert_int_equal(all->lost, 5000);
    assert_non_null(strstr(all->loss_reasons, "no ring"));
    collected_free(all);
}

static void test_a_thread_without_a_ring_gets_one_when_there_is_room_again(void **state)
{
    (void)state;
    collected *all = collected_create();
    pid_t child = fork();
    if (child == 0) {
        jm_error err;
        limit_files(8192);
        if (jm__timeline_open(all->run_dir, &err) != JM_OK) _exit(1);
        begin_and_end(1000, "no room");
        limit_files(RLIM_INFINITY);
        begin_and_end(2000, "room again");
        _exit(0);
    }
    await(child);
    collected_poll(all);
    assert_in_range(all->span_count, 900, 1999);
    assert_int_equal(all->span_count + all->lost, 3000);
    collected_free(all);
}

/* Without a descriptor nothing can be opened, the page of counts neither: they wait for it in the program. */
static void test_spans_of_a_program_out_of_descriptors_are_counted(void **state)
{
    (void)state;
    collected *all = collected_create();
    pid_t child = fork();
    if (child == 0) {
        setenv("JOULEMAP_RUN", all->run_dir, 1);
        execl("/proc/self/exe", "test_span", "--no-descriptors", (char *)NULL);
        _exit(127);
    }
    await(child);
    collected_poll(all);
    assert_true(collected_span(all, "with room")->end_ns > 0);
    assert_int_equal(all->lost, 10);
    collected_free(all);
}

static int be_the_child_without_descriptors(void)
{
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    rlim_t usual = files.rlim_cur;
    files.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &files);
    begin_and_end(10, "no descriptor");
    files.rlim_cur = usual;
    setrlimit(RLIMIT_NOFILE, &files);
    pthread_t thread;
    if (pthread_create(&thread, NULL, one_more, NULL) != 0) return 1;
    pthread_join(thread, NULL);
    return 0;
}

static void test_names_past_the_most_that_are_kept_are_counted(void **state)
{
    (void)state;
    collected *all = collected_create();
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "test_span", "--names", all->run_dir, (char *)NULL);
        _exit(127);
    }
    await(child);
    collected_poll(all);
    assert_int_equal(all->span_count, 2);
    assert_int_equal(all->mark_count, 1);
    assert_string_equal(collected_text(all, all->marks[0].name_id), "name 0");
    assert_int_equal(all->lost, 3);
    assert_non_null(strstr(all->loss_reasons, "too many different names"));
    collected_free(all);
}

static int be_the_child_of_many_names(const char *run_dir)
{
    jm_error err;
    char text[24];
    for (uint32_t i = 0; i < JM_NAMES_MAX; i++) {
        snprintf(text, sizeof text, "name %u", i);
        if (jm__track_register(text, 100) == 0) return 1;
    }
    limit_files(3u << 20); /* the file need not have so many */
    if (jm__timeline_open(run_dir, &err) != JM_OK) return 2;
    if (jm_name_intern("one too many") != 0) return 3; /* before there is a ring */
    begin_and_end(1, "two too many");
    begin_and_end(1, "three too many");
    jm_mark("name 0", NULL);
    return 0;
}

static void test_names_and_notes_that_could_not_be_written_are_counted(void **state)
{
    (void)state;
    collected *all = collected_create();
    pid_t child = fork();
    if (child == 0) {
        jm_error err;
        if (jm__timeline_open(all->run_dir, &err) != JM_OK) _exit(1);
        begin_and_end(1, "with room");
        limit_files(1);
        begin_and_end(2, "without room");
        jm_mark("with room", "{\"lost\": 1}");
        _exit(0);
    }
    await(child);
    collected_poll(all);
    assert_int_equal(all->span_count, 3);
    assert_int_equal(all->mark_count, 1);
    assert_int_equal(all->lost, 3);
    collected_free(all);
}

static void *many_spans(void *unused)
{
    (void)unused;
    for (int i = 0; i < 3000; i++) {
        jm_span_id outer = jm_span_begin(JM_SPAN_FORWARD, jm_name_intern("outer"), 0, 0);
        jm_span_end(jm_span_begin(JM_SPAN_FORWARD, jm_name_intern("inner"), 0, 0));
        jm_span_end(outer);
        if (i % 100 == 0) usleep(100);
    }
    return NULL;
}

static void test_threads_write_while_the_collector_reads(void **state)
{
    (void)state;
    collected *all = start();
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, many_spans, NULL), 0);
    for (int i = 0; i < 20; i++)
        collected_poll(all);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    collected_finish(all);
    assert_int_equal(all->span_count + all->lost, THREADS * 6000);
    assert_int_equal(all->lost, 0);
    for (int64_t i = 0; i < all->span_count; i++) {
        const jm__span *span = &all->spans[i];
        assert_true(span->end_ns >= span->start_ns);
        if (strcmp(collected_text(all, span->name_id), "outer") == 0) {
            assert_int_equal(span->parent_id, 0);
            continue;
        }
        const jm__span *parent = &all->spans[span->parent_id - 1];
        assert_int_equal(parent->thread_id, span->thread_id);
        assert_true(parent->start_ns <= span->start_ns && span->end_ns <= parent->end_ns);
    }
    stop(all);
}

static int be_the_child(const char *what, const char *run_dir)
{
    if (strcmp(what, "--names") == 0) return be_the_child_of_many_names(run_dir);
    if (strcmp(what, "--no-descriptors") == 0) return be_the_child_without_descriptors();
    if (strcmp(what, "--cleaned") == 0) return be_the_child_that_cleans(false);
    if (strcmp(what, "--overwritten") == 0) return be_the_child_that_cleans(true);
    if (strcmp(what, "--child") == 0) {
        jm_span_begin(JM_SPAN_PHASE, jm_name_intern("first program"), 0, 0);
        execl("/proc/self/exe", "test_span", "--second", (char *)NULL);
        return 127;
    }
    jm_span_end(jm_span_begin(JM_SPAN_PHASE, jm_name_intern("second program"), 0, 0));
    return 0;
}

/* ---- a dormant program's thread, which ends where it is not needed */

static pid_t first_thread;
static _Atomic pid_t ending_thread;

/* Of dormant.c: the last look of a thread that is about to end is at who else is there. */
int stat(const char *restrict path, struct stat *restrict info)
{
    int result = fstatat(AT_FDCWD, path, info, 0);
    bool is_ours = first_thread != 0 && strcmp(path, "/proc/self/task") == 0 && gettid() != first_thread;
    if (is_ours && result == 0 && info->st_nlink <= 4 && ending_thread == 0) {
        jm__dormant_needs_thread(true);
        ending_thread = gettid();
    }
    return result;
}

static _Atomic bool over;

static void *be_beside(void *unused)
{
    (void)unused;
    while (!over)
        jm__sleep_ns(JM_NS_PER_MS);
    return NULL;
}

static bool has_thread(pid_t thread)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d", (int)thread);
    return access(path, F_OK) == 0;
}

static void test_a_thread_that_is_queried_for_as_it_ends_is_there(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* its own thread is beside, so no thread of ours ends */
#endif
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        static const jm__dormant_part uncalled = {.writer = JM_WRITER_CORE};
        pthread_t beside;
        first_thread = gettid();
        if (pthread_create(&beside, NULL, be_beside, NULL) != 0) _exit(1);
        jm__dormant_begin(&uncalled, NULL); /* with a thread, as there is one beside */
        over = true;
        pthread_join(beside, NULL);
        while (ending_thread == 0 || has_thread(ending_thread))
            jm__sleep_ns(10 * JM_NS_PER_MS);
        struct stat info;
        _exit(fstatat(AT_FDCWD, "/proc/self/task", &info, 0) == 0 && info.st_nlink > 3 ? 0 : 2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
    if (argc > 1) return be_the_child(argv[1], argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_run_nothing_is_recorded),
        cmocka_unit_test(test_spans_nest_and_keep_their_words),
        cmocka_unit_test(test_spans_may_close_in_any_order),
        cmocka_unit_test(test_a_step_may_tell_at_its_end_what_it_worked_on),
        cmocka_unit_test(test_a_step_may_tell_at_its_end_what_it_worked_on),
        cmocka_unit_test(test_a_span_may_end_on_another_thread_and_wide_spans_hold_other_threads),
        cmocka_unit_test(test_spans_take_little_of_a_stack),
        cmocka_unit_test(test_thousands_of_short_threads_share_few_rings),
        cmocka_unit_test(test_a_forked_child_has_rings_and_names_of_its_own),
        cmocka_unit_test(test_a_child_finds_the_run_in_its_environment),
        cmocka_unit_test(test_a_child_that_cleans_its_environment_keeps_its_spans),
        cmocka_unit_test(test_names_keep_their_numbers_across_runs),
        cmocka_unit_test(test_a_mark_carries_its_words),
        cmocka_unit_test(test_untraced_time_has_phases_epochs_marks_and_ends_alone),
        cmocka_unit_test(test_an_overlong_name_is_cut_between_characters),
        cmocka_unit_test(test_a_full_ring_counts_its_losses_and_never_loses_an_end),
        cmocka_unit_test(test_without_room_for_a_ring_spans_are_counted_as_lost),
        cmocka_unit_test(test_spans_of_a_program_that_never_gets_a_ring_are_counted),
        cmocka_unit_test(test_a_thread_without_a_ring_gets_one_when_there_is_room_again),
        cmocka_unit_test(test_spans_of_a_program_out_of_descriptors_are_counted),
        cmocka_unit_test(test_names_past_the_most_that_are_kept_are_counted),
        cmocka_unit_test(test_names_and_notes_that_could_not_be_written_are_counted),
        cmocka_unit_test(test_threads_write_while_the_collector_reads),
        cmocka_unit_test(test_a_thread_that_is_queried_for_as_it_ends_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
