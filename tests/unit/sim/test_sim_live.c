/* The simulated board under the spans of a program: rings written here, by their format alone. */
#include "test_sim_rings.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

static double apart_s(int64_t from_ns, int64_t to_ns)
{
    return (double)(to_ns - from_ns) * 1e-9;
}

/* Watts of the H200's profile. */
#define LINEAR_FORWARD_W     520.0
#define LINEAR_BACKWARD_W    560.0
#define LAYER_NORM_FORWARD_W 300.0
#define ADAMW_W              470.0

static void test_each_span_takes_the_watts_of_its_type_while_it_is_innermost(void **state)
{
    (void)state;
    nvmlDevice_t device = open_board(0);
    ring own = make_ring(0, 1024);
    double from_s, to_s;
    sleep_to(0.15);
    double from_j = counter_j(device, &from_s);
    uint64_t phase, outer, inner, back, step;
    begin_span(&own, PHASE, NAME_B, 0, &phase);
    int64_t outer_ns = begin_span(&own, FORWARD, NAME_A, LINEAR, &outer);
    wait_ms(30);
    int64_t inner_ns = begin_span(&own, FORWARD, NAME_B, LAYER_NORM, &inner);
    wait_ms(5);
    int64_t inner_end_ns = end_span(&own, inner);
    wait_ms(4);
    int64_t outer_end_ns = end_span(&own, outer);
    int64_t back_ns = begin_span(&own, BACKWARD, NAME_A, LINEAR, &back);
    wait_ms(20);
    int64_t back_end_ns = end_span(&own, back);
    int64_t step_ns = begin_span(&own, OPTIMIZER, NAME_B, ADAMW, &step);
    wait_ms(10);
    int64_t step_end_ns = end_span(&own, step);
    end_span(&own, phase);
    sleep_to(0.6);
    double spent_j = counter_j(device, &to_s) - from_j;
    assert_int_equal(nvml.detach(), 0);
    const double outer_s = apart_s(outer_ns, inner_ns) + apart_s(inner_end_ns, outer_end_ns);
    const double norm_j = apart_s(inner_ns, inner_end_ns) * LAYER_NORM_FORWARD_W;
    const double back_j = apart_s(back_ns, back_end_ns) * LINEAR_BACKWARD_W;
    const double step_j = apart_s(step_ns, step_end_ns) * ADAMW_W;
    double calls = 0, busy_s = 0, energy_j = 0, sum_j, total_j;
    assert_true(read_truth(truth, 0, "model.a", "forward", &calls, &busy_s, &energy_j));
    assert_true(calls == 1 && fabs(busy_s - outer_s) < 1e-8 &&
                fabs(energy_j - outer_s * LINEAR_FORWARD_W) < 1e-6);
    assert_true(read_truth(truth, 0, "model.b", "forward", NULL, NULL, &energy_j));
    assert_true(fabs(energy_j - norm_j) < 1e-6);
    assert_true(read_truth(truth, 0, "model.a", "backward", NULL, NULL, &energy_j));
    assert_true(fabs(energy_j - back_j) < 1e-6);
    assert_true(read_truth(truth, 0, "model.b", "optimizer", NULL, NULL, &energy_j));
    assert_true(fabs(energy_j - step_j) < 1e-6);
    assert_false(read_truth(truth, 0, "model.b", "phase", NULL, NULL, NULL)); /* is no work */
    sum_truth(truth, &sum_j, &total_j);
    assert_true(fabs(sum_j - total_j) < 1e-6);
    /* Beside the work: 123 W from first tick to last, but for two stages after work. The gap of a microsecond
     * between forward and backward is one, too: 1 mJ. */
    double work_s =
        apart_s(outer_ns, outer_end_ns) + apart_s(back_ns, back_end_ns) + apart_s(step_ns, step_end_ns);
    double idle_j = (to_s - from_s - work_s) * 123 + 0.001 * (165 - 123) + 0.019 * (140 - 123);
    double work_j = outer_s * LINEAR_FORWARD_W + norm_j + back_j + step_j;
    assert_true(fabs(spent_j - work_j - idle_j) < 0.01);
}

static void test_two_threads_add_up_above_idle(void **state)
{
    (void)state;
    open_board(0);
    ring first = make_ring(0, 64), second = make_ring(1, 64);
    uint64_t a, b;
    begin_span(&first, FORWARD, NAME_A, LAYER_NORM, &a);
    int64_t both_ns = begin_span(&second, FORWARD, NAME_B, LAYER_NORM, &b);
    wait_ms(50);
    int64_t end_ns = end_span(&first, b); /* closed by another thread than its own */
    end_span(&first, a);
    wait_ms(40);
    assert_int_equal(nvml.detach(), 0);
    double busy_s = 0, energy_j = 0, other_j = 0;
    assert_true(read_truth(truth, 0, "model.a", "forward", NULL, &busy_s, &energy_j));
    assert_true(read_truth(truth, 0, "model.b", "forward", NULL, NULL, &other_j));
    double together_s = apart_s(both_ns, end_ns);
    double alone_s = busy_s - together_s; /* microseconds before and after */
    assert_true(alone_s >= 0 && alone_s < 0.02);
    assert_true(fabs(other_j - together_s * (123 / 2.0 + (LAYER_NORM_FORWARD_W - 123))) < 1e-6);
    assert_true(fabs(energy_j - other_j - alone_s * LAYER_NORM_FORWARD_W) < 1e-6);
}

static void test_a_ring_that_a_new_thread_takes_over_holds_two_threads(void **state)
{
    (void)state;
    open_board(0);
    ring own = make_ring(0, 64);
    uint64_t a, b;
    begin_span(&own, FORWARD, NAME_A, LAYER_NORM, &a); /* left open: somebody else will end it */
    put(&own, (jm_ring_span){.t_ns = now_ns(), .id = 4242, .op = JM_RING_THREAD});
    int64_t both_ns = begin_span(&own, FORWARD, NAME_B, LAYER_NORM, &b);
    wait_ms(50);
    int64_t end_ns = end_span(&own, a);
    end_span(&own, b);
    wait_ms(40);
    assert_int_equal(nvml.detach(), 0);
    double busy_s = 0, energy_j = 0, other_j = 0;
    assert_true(read_truth(truth, 0, "model.a", "forward", NULL, &busy_s, &energy_j));
    assert_true(read_truth(truth, 0, "model.b", "forward", NULL, NULL, &other_j));
    double together_s = apart_s(both_ns, end_ns), alone_s = busy_s - together_s;
    assert_true(alone_s >= 0 && alone_s < 0.02);
    assert_true(fabs(energy_j - together_s * (123 / 2.0 + (LAYER_NORM_FORWARD_W - 123)) -
                     alone_s * LAYER_NORM_FORWARD_W) < 1e-6);
    assert_true(other_j > energy_j - 0.02 * LAYER_NORM_FORWARD_W); /* as long, but for microseconds */
    assert_true(other_j < energy_j + 0.02 * LAYER_NORM_FORWARD_W);
}

static void test_a_program_that_replaces_itself_has_names_of_its_own_and_no_old_work(void **state)
{
    (void)state;
    open_board(0);
    ring before = make_ring(0, 64);
    uint64_t a, b;
    int64_t old_ns = begin_span(&before, FORWARD, NAME_A, LINEAR, &a); /* the program ends inside it */
    wait_ms(30);
    write_names(1);
    ring after = make_ring_of(1, 1, 64);
    /* In the new program's file NAME_B and LAYER_NORM have other numbers. */
    int64_t from_ns = begin_span(&after, FORWARD, sizeof names / sizeof *names - NAME_B,
                                 sizeof names / sizeof *names - LAYER_NORM, &b);
    wait_ms(50);
    int64_t end_ns = end_span(&after, b);
    wait_ms(40);
    assert_int_equal(nvml.detach(), 0);
    double busy_s = 0, energy_j = 0;
    assert_true(read_truth(truth, 0, "model.b", "forward", NULL, &busy_s, &energy_j));
    assert_true(fabs(busy_s - apart_s(from_ns, end_ns)) < 1e-8);
    assert_true(fabs(energy_j - busy_s * LAYER_NORM_FORWARD_W) < 1e-6); /* nothing beside it */
    assert_true(read_truth(truth, 0, "model.a", "forward", NULL, &busy_s, NULL));
    assert_true(fabs(busy_s - apart_s(old_ns, after.header->created_ns)) < 1e-8);
}

static void say(ring *to, uint32_t mark)
{
    put(to, (jm_ring_span){.t_ns = now_ns(), .name = mark, .op = JM_RING_MARK});
}

/* How long a step took, and work in it. */
typedef struct played {
    double step_s, forward_s, optimizer_s;
} played;

static double play_work(ring *to, int kind, uint32_t name, uint32_t type, int ms)
{
    uint64_t work;
    int64_t begun_ns = begin_span(to, kind, name, type, &work);
    wait_ms(ms);
    return apart_s(begun_ns, end_span(to, work));
}

/* Work of 20 and 10 ms with a gap of 5 between, or, untold, 28 ms of a step. */
static played play_step(ring *to, uint32_t name, bool told)
{
    uint64_t step;
    played took = {0};
    int64_t begun_ns = begin_span(to, STEP, name, 0, &step);
    if (told) {
        took.forward_s = play_work(to, FORWARD, NAME_A, LINEAR, 20);
        wait_ms(5);
        took.optimizer_s = play_work(to, OPTIMIZER, NAME_B, ADAMW, 10);
    } else {
        wait_ms(28);
    }
    took.step_s = apart_s(begun_ns, end_span(to, step));
    return took;
}

static void assert_near(double value, double truth_of_it, double relative)
{
    if (!(fabs(value / truth_of_it - 1) < relative)) fail_msg("%g, not %g", value, truth_of_it);
}

static void test_a_step_that_is_not_traced_has_the_work_of_traced_ones(void **state)
{
    (void)state;
    open_board(0);
    ring own = make_ring(0, 1024);
    double forward_s = 0, optimizer_s = 0, unmarked_s = 0, other_s, shares[2] = {0};
    say(&own, TRACED_MARK);
    for (int i = 0; i < 3; i++) {
        played told = play_step(&own, NAME_A, true);
        forward_s += told.forward_s;
        optimizer_s += told.optimizer_s;
        shares[0] += told.forward_s / told.step_s / 3;
        shares[1] += told.optimizer_s / told.step_s / 3;
    }
    say(&own, STEPS_MARK);
    for (int i = 0; i < 15; i++)
        unmarked_s += play_step(&own, NAME_A, false).step_s;
    other_s = play_step(&own, NAME_B, false).step_s; /* none of these was traced */
    played last = play_step(&own, NAME_A, true);     /* to get ready: its own work is told, and drawn once */
    wait_ms(40);
    assert_int_equal(nvml.detach(), 0);
    double calls = 0, busy_s = 0, energy_j = 0, sum_j, total_j;
    assert_true(read_truth(truth, 0, "model.a", "forward", &calls, &busy_s, &energy_j));
    assert_true(calls > 4 + 5); /* 15 more, unless the machine was busy */
    assert_near(busy_s, forward_s + last.forward_s + unmarked_s * shares[0], 0.08);
    assert_true(fabs(energy_j - busy_s * LINEAR_FORWARD_W) < 1e-6);
    assert_true(read_truth(truth, 0, "model.b", "optimizer", NULL, &busy_s, &energy_j));
    assert_near(busy_s, optimizer_s + last.optimizer_s + unmarked_s * shares[1], 0.12);
    assert_true(fabs(energy_j - busy_s * ADAMW_W) < 1e-6);
    assert_true(read_truth(truth, 0, "(idle)", NULL, NULL, &busy_s, NULL));
    assert_true(busy_s > other_s);
    sum_truth(truth, &sum_j, &total_j);
    assert_true(fabs(sum_j - total_j) < 1e-6);
}

static void test_an_unknown_type_has_watts_of_its_own(void **state)
{
    (void)state;
    double power_w[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(nvml.attach(run_dir, truth), 0);
        open_board(0);
        ring own = make_ring(i, 64);
        uint64_t span;
        int64_t from_ns = begin_span(&own, i == 0 ? FORWARD : PHASE, NAME_A, ODD, &span);
        wait_ms(20);
        int64_t end_ns = end_span(&own, span);
        wait_ms(40);
        assert_int_equal(nvml.detach(), 0);
        double busy_s = 0, energy_j = 0;
        assert_true(read_truth(truth, 0, "model.a", i == 0 ? "forward" : "phase", NULL, &busy_s, &energy_j));
        assert_true(fabs(busy_s - apart_s(from_ns, end_ns)) < 1e-8);
        power_w[i] = energy_j / busy_s;
        assert_true(power_w[i] > 200 && power_w[i] < 600);
    }
    assert_true(power_w[0] != power_w[1]); /* another direction is other work */
}

static void test_no_span_is_missed_at_20_kHz(void **state)
{
    (void)state;
    open_board(0);
    /* A recorder empties the ring ten times a second: the board must not need the slots longer than it does.
     */
    ring own = make_ring(0, 8192);
    const int64_t start_ns = now_ns(), period_ns = 50000;
    const int spans = 20000;
    double spent_s = 0;
    for (int i = 0; i < spans; i++) {
        int64_t t_ns = start_ns + i * period_ns;
        while (now_ns() < t_ns + period_ns / 2) {
        }
        uint64_t id;
        int64_t from_ns = begin_span(&own, FORWARD, NAME_A, LINEAR, &id);
        while (now_ns() < t_ns + period_ns) {
        }
        spent_s += apart_s(from_ns, end_span(&own, id));
        if (i % 2000 == 0) atomic_store(&own.header->tail, atomic_load(&own.header->head));
    }
    sleep_until_ns(start_ns + spans * period_ns + 50000000);
    assert_int_equal(nvml.overtaken(), 0);
    assert_int_equal(nvml.detach(), 0);
    double calls = 0, busy_s = 0, energy_j = 0, sum_j, total_j;
    assert_true(read_truth(truth, 0, "model.a", "forward", &calls, &busy_s, &energy_j));
    assert_true(calls == spans);
    assert_true(fabs(busy_s - spent_s) < 1e-6);
    assert_true(fabs(energy_j - busy_s * LINEAR_FORWARD_W) < 1e-4);
    sum_truth(truth, &sum_j, &total_j);
    assert_true(fabs(sum_j - total_j) < 1e-6);
}

static void test_records_that_were_overtaken_are_counted(void **state)
{
    (void)state;
    nvmlDevice_t device = open_board(0);
    ring own = make_ring(0, 64);
    unsigned int mw;
    for (int i = 0; i < 1000; i++) { /* 2000 records within microseconds, 64 of which remain */
        uint64_t id;
        begin_span(&own, FORWARD, NAME_A, LINEAR, &id);
        end_span(&own, id);
    }
    sleep_until_ns(now_ns() + 30000000);
    assert_int_equal(nvml.power(device, &mw), NVML_SUCCESS);
    unsigned long long overtaken = nvml.overtaken();
    assert_in_range(overtaken, 1900, 1990);
    assert_int_equal(nvml.detach(), 0);
    FILE *in = fopen(truth, "r");
    char line[256], requested[64];
    bool found = false;
    snprintf(requested, sizeof requested, ",(overtaken),,,%llu,,\n", overtaken);
    while (fgets(line, sizeof line, in) != NULL)
        found = found || strcmp(line, requested) == 0;
    fclose(in);
    assert_true(found);
}

static void make_junk(int number, size_t size, uint64_t magic, mode_t kind)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%d-c-%d%s", run_dir, (int)getpid(), number, JM_RING_SUFFIX);
    if (kind == S_IFIFO) assert_int_equal(mkfifo(path, 0600), 0);
    if (kind == S_IFLNK) assert_int_equal(symlink("/dev/zero", path), 0);
    if (kind != S_IFREG) return;
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    assert_int_equal(pwrite(fd, &magic, sizeof magic, 0), sizeof magic);
    close(fd);
}

/* Programs may put anything into their run's folder, and cut off what is there. */
static void test_what_is_no_ring_or_is_cut_short_ends_no_board(void **state)
{
    (void)state;
    static const off_t sizes[] = {0, 100, JM_RING_HEADER_SIZE, JM_RING_HEADER_SIZE + 4096};
    nvmlDevice_t device = open_board(0);
    unsigned int mw;
    uint64_t id, other;
    make_junk(100, 20, JM_RING_MAGIC, S_IFREG);
    make_junk(101, JM_RING_HEADER_SIZE + 1, JM_RING_MAGIC, S_IFREG);
    make_junk(102, 30000, 4711, S_IFREG);
    make_junk(103, 0, 0, S_IFIFO);
    make_junk(104, 0, 0, S_IFLNK);
    for (int i = 0; i < 4; i++) {
        char path[160];
        ring cut = make_ring(2 * i, 1024), own = make_ring(2 * i + 1, 64);
        begin_span(&cut, FORWARD, NAME_B, LAYER_NORM, &other);
        begin_span(&own, FORWARD, NAME_A, LINEAR, &id);
        sleep_until_ns(now_ns() + 30000000);
        assert_int_equal(nvml.power(device, &mw), NVML_SUCCESS); /* it is mapped by now */
        for (int k = 0; k < 900; k++)
            put(&cut, (jm_ring_span){.t_ns = now_ns(), .id = 5, .op = JM_RING_END});
        snprintf(path, sizeof path, "%s/%d-c-%d%s", run_dir, (int)getpid(), 2 * i, JM_RING_SUFFIX);
        assert_int_equal(truncate(path, sizes[i]), 0);
        munmap(cut.header, JM_RING_HEADER_SIZE + 1024 * sizeof(jm_ring_span));
        sleep_until_ns(now_ns() + 30000000);
        assert_int_equal(nvml.power(device, &mw), NVML_SUCCESS);
        end_span(&own, id);
    }
    assert_int_equal(nvml.detach(), 0);
    double calls = 0;
    assert_true(read_truth(truth, 0, "model.a", "forward", &calls, NULL, NULL)); /* the others were heard */
    assert_int_equal((int)calls, 4);
}

/* The board has heard of its work. */
static void await_program(nvmlDevice_t device, pid_t pid)
{
    for (int tries = 0;; tries++) {
        unsigned int count = 4;
        nvmlProcessInfo_t processes[4];
        assert_int_equal(nvml.processes(device, &count, processes), NVML_SUCCESS);
        if (count == 1 && processes[0].pid == (unsigned)pid) return;
        assert_int_equal(count, 0);
        assert_true(tries < 1000);
        wait_ms(10);
    }
}

static void test_the_board_idles_when_its_program_is_killed(void **state)
{
    (void)state;
    nvmlDevice_t device = open_board(0);
    pid_t child = fork();
    if (child == 0) {
        ring own = make_ring(0, 64);
        uint64_t id;
        begin_span(&own, FORWARD, NAME_A, LINEAR, &id);
        for (;;)
            pause();
    }
    double from_s, to_s;
    await_program(device, child);
    wait_ms(250);
    double from_j = counter_j(device, &from_s);
    wait_ms(250);
    assert_true(fabs((counter_j(device, &to_s) - from_j) / (to_s - from_s) - LINEAR_FORWARD_W) < 0.05);
    kill(child, SIGKILL); /* and stays a zombie: waited for below */
    wait_ms(350);
    from_j = counter_j(device, &from_s);
    wait_ms(300);
    assert_true(fabs((counter_j(device, &to_s) - from_j) / (to_s - from_s) - 77) <
                0.05); /* no context either */
    unsigned int count = 4;
    nvmlProcessInfo_t processes[4];
    assert_int_equal(nvml.processes(device, &count, processes), NVML_SUCCESS);
    assert_int_equal(count, 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void test_work_runs_on_the_board_that_the_program_names(void **state)
{
    (void)state;
    setenv("JOULEMAP_SIM", "h200,h200", 1);
    nvmlDevice_t device = open_board(1);
    /* The environment that counts is the one a program was started with, so it takes another program: this
     * test again, which only writes a ring. */
    setenv("LOCAL_RANK", "1", 1);
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "test_sim_live", "--ring", run_dir, (char *)NULL);
        _exit(1);
    }
    unsetenv("LOCAL_RANK");
    double from_s, to_s;
    await_program(device, child);
    wait_ms(250);
    double from_j = counter_j(device, &from_s);
    wait_ms(300);
    assert_true(fabs((counter_j(device, &to_s) - from_j) / (to_s - from_s) - LINEAR_FORWARD_W) < 0.05);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void test_a_process_that_comes_late_sees_the_same_counter(void **state)
{
    (void)state;
    int back[2];
    assert_int_equal(pipe(back), 0);
    double late[2] = {0, 0}, tick_s;
    pid_t child = fork();
    if (child == 0) {
        wait_ms(700);
        nvmlDevice_t device;
        bool good = nvml.init() == NVML_SUCCESS && nvml.handle(0, &device) == NVML_SUCCESS;
        wait_ms(250); /* ticks of its own */
        if (good) late[0] = counter_j(device, &late[1]);
        good = good && write(back[1], late, sizeof late) == sizeof late;
        _exit(good ? 0 : 1);
    }
    close(back[1]);
    nvmlDevice_t device = open_board(0);
    ring own = make_ring(0, 64);
    uint64_t id;
    begin_span(&own, FORWARD, NAME_A, LINEAR, &id);
    sleep_to(1.2);
    assert_int_equal(read(back[0], late, sizeof late), sizeof late);
    double own_j = counter_j(device, &tick_s);
    assert_true(fabs(own_j - late[0] - LINEAR_FORWARD_W * (tick_s - late[1])) < 0.01);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(back[0]);
}

static void test_a_forked_child_goes_on_reading(void **state)
{
    (void)state;
    nvmlDevice_t device = open_board(0);
    ring own = make_ring(0, 64);
    uint64_t id;
    begin_span(&own, FORWARD, NAME_A, LINEAR, &id);
    sleep_to(0.2);
    pid_t child = fork();
    if (child == 0) { /* no helper thread here: reading alone must keep up */
        double from_s, to_s;
        double from_j = counter_j(device, &from_s);
        sleep_to(0.6);
        double mean_w = (counter_j(device, &to_s) - from_j) / (to_s - from_s);
        _exit(fabs(mean_w - LINEAR_FORWARD_W) < 0.05 && nvml.shutdown() == NVML_SUCCESS ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(nvml.detach(), 0); /* the truth is the parent's still */
    double energy_j = 0, busy_s = 0;
    assert_true(read_truth(truth, 0, "model.a", "forward", NULL, &busy_s, &energy_j));
    assert_true(busy_s > 0.5 && fabs(energy_j / busy_s - LINEAR_FORWARD_W) < 0.01);
}

static void test_the_truth_is_there_though_nobody_closed_the_board(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        nvmlDevice_t device;
        if (nvml.init() != NVML_SUCCESS || nvml.handle(0, &device) != NVML_SUCCESS) _exit(1);
        for (;;)
            pause();
    }
    sleep_until_ns(now_ns() + 1300000000);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    double busy_s = 0, energy_j = 0;
    assert_true(read_truth(truth, 0, "(total)", NULL, NULL, &busy_s, &energy_j));
    assert_true(busy_s > 0.9 && fabs(energy_j / busy_s - 77) < 0.01);
}

/* ---- users and forks beside the first and the last call */

static void (*_Atomic before_join)(void);

/* Of the board, too: its helper ends while nobody has the board's lock. */
__attribute__((visibility("default"))) int pthread_join(pthread_t thread, void **result)
{
    int (*real)(pthread_t, void **);
    void *address = dlsym(RTLD_NEXT, "pthread_join");
    memcpy(&real, &address, sizeof real);
    void (*first)(void) = atomic_exchange(&before_join, NULL);
    if (first != NULL) first();
    return real(thread, result);
}

static _Atomic int second_user; /* 0: has not begun, 1: has, 2: is in */
static pthread_t second;

static void *begin_as_second(void *unused)
{
    (void)unused;
    second_user = 1;
    assert_int_equal(nvml.init(), NVML_SUCCESS);
    second_user = 2;
    return NULL;
}

/* It is in at once, or only after the last user has left. */
static void let_second_user_begin(void)
{
    assert_int_equal(pthread_create(&second, NULL, begin_as_second, NULL), 0);
    for (int i = 0; i < 50 && second_user < 2; i++)
        wait_ms(1);
}

static void test_who_begins_as_the_last_user_leaves_finds_open_boards(void **state)
{
    (void)state;
    double t_s;
    open_board(0);
    before_join = let_second_user_begin;
    assert_int_equal(nvml.shutdown(), NVML_SUCCESS);
    assert_int_equal(pthread_join(second, NULL), 0);
    nvmlDevice_t device;
    assert_int_equal(nvml.handle(0, &device), NVML_SUCCESS);
    (void)counter_j(device, &t_s);
    assert_int_equal(nvml.shutdown(), NVML_SUCCESS);
    assert_int_equal(nvml.shutdown(), NVML_ERROR_UNINITIALIZED);
}

#define LOADED_MS 5000 /* before glibc 2.36 a fork keeps who loads waiting: there is nothing to see */

static bool loads_as_we_fork;
static char other_library[128], script[128];
static nvmlReturn_t (*other_init)(void);
static pthread_t loader;
static int kept_script = -1; /* its writing end */

/* The board waits in there for its script, with its lock. */
static void *load_and_begin(void *unused)
{
    (void)unused;
    void *library = dlopen(other_library, RTLD_NOW | RTLD_LOCAL);
    *(void **)(void *)&other_init = dlsym(library, "nvmlInit_v2");
    (void)other_init();
    return NULL;
}

/* One of a library that was there before. */
static void before_fork(void)
{
    if (!loads_as_we_fork) return;
    loads_as_we_fork = false;
    assert_int_equal(pthread_create(&loader, NULL, load_and_begin, NULL), 0);
    for (int i = 0; i < LOADED_MS && kept_script < 0; i++) { /* nobody reads it yet */
        wait_ms(1);
        kept_script = open(script, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    }
}

static void test_a_child_whose_parent_loads_the_board_as_it_forks_can_use_it(void **state)
{
    (void)state;
    char command[512];
    snprintf(other_library, sizeof other_library, "%s/libnvidia-ml.so.1", folder);
    snprintf(script, sizeof script, "%s/script", folder);
    snprintf(command, sizeof command, "cp '%s/sim/libnvidia-ml.so.1' '%s'", JM_BUILD_DIR, other_library);
    assert_int_equal(system(command), 0);
    assert_int_equal(mkfifo(script, 0600), 0);
    setenv("JOULEMAP_SIM_SCRIPT", script, 1);
    loads_as_we_fork = true;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(30);
        unsetenv("JOULEMAP_SIM_SCRIPT");
        _exit(kept_script < 0 || other_init() == NVML_SUCCESS ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (kept_script < 0) kept_script = open(script, O_WRONLY | O_CLOEXEC);
    close(kept_script); /* an empty script: it is refused */
    assert_int_equal(pthread_join(loader, NULL), 0);
    assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--ring") == 0) {
        snprintf(run_dir, sizeof run_dir, "%s", argv[2]);
        ring own = make_ring(0, 64);
        uint64_t id;
        begin_span(&own, FORWARD, NAME_A, LINEAR, &id);
        sleep(10);
        return 0;
    }
    pthread_atfork(before_fork, NULL, NULL); /* before the board is loaded, whose handlers come first then */
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_run, leave_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_each_span_takes_the_watts_of_its_type_while_it_is_innermost),
        TEST(test_two_threads_add_up_above_idle),
        TEST(test_a_ring_that_a_new_thread_takes_over_holds_two_threads),
        TEST(test_a_program_that_replaces_itself_has_names_of_its_own_and_no_old_work),
        TEST(test_a_step_that_is_not_traced_has_the_work_of_traced_ones),
        TEST(test_an_unknown_type_has_watts_of_its_own),
        TEST(test_no_span_is_missed_at_20_kHz),
        TEST(test_records_that_were_overtaken_are_counted),
        TEST(test_what_is_no_ring_or_is_cut_short_ends_no_board),
        TEST(test_the_board_idles_when_its_program_is_killed),
        TEST(test_work_runs_on_the_board_that_the_program_names),
        TEST(test_a_process_that_comes_late_sees_the_same_counter),
        TEST(test_a_forked_child_goes_on_reading),
        TEST(test_the_truth_is_there_though_nobody_closed_the_board),
        TEST(test_who_begins_as_the_last_user_leaves_finds_open_boards),
        TEST(test_a_child_whose_parent_loads_the_board_as_it_forks_can_use_it),
    };
    return cmocka_run_group_tests(tests, load_library, NULL);
}
