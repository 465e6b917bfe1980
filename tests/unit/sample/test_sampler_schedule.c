/* When the sampler does what: on a simulated board in virtual time, so that a wait that is too long or too
 * short by a few milliseconds is seen on any machine. */
#include "base/clock.h"
#include "record/sample/sampler.h"
#include "virtual_time.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MS JM_NS_PER_MS
#define S  JM_NS_PER_S

enum { SEEN_MAX = 20000, EVENTS_MAX = 64, SENSORS_MAX = 32, HANG_CODE = 77, HANG_REAL_S = 120 };

/* What a run of the sampler showed; times count from when it began. */
typedef struct seen {
    jm_sensor sensors[SENSORS_MAX];
    struct {
        jm_reading row;
        int64_t at_ns; /* when it was handed over */
    } readings[SEEN_MAX];
    jm__event events[EVENTS_MAX];
    int sensor_count, reading_count, event_count;
    int64_t calls_ns[SEEN_MAX]; /* when the board was asked, to a millisecond */
    int call_count;
    int64_t born_ns, created_ns, kicked_ns, fresh_ns, stop_ns, stopped_ns;
} seen;

/* What a run is like. */
typedef struct plan {
    const char *board, *faults;
    int64_t length_ns, ring_period_ns;
    int64_t kick_ns; /* when readings are asked for; 0: never */
    bool edge;       /* of the energy counter too */
} plan;

static seen *all; /* shared with the process of the run */

static int64_t hear_board(void *context, const jm_board *board)
{
    (void)context;
    (void)board;
    return 1;
}

static int64_t hear_sensor(void *context, const jm_sensor *sensor)
{
    (void)context;
    if (all->sensor_count == SENSORS_MAX) abort();
    all->sensors[all->sensor_count] = *sensor;
    return ++all->sensor_count;
}

static void hear_readings(void *context, const jm_reading *readings, size_t count)
{
    (void)context;
    for (size_t i = 0; i < count; i++) {
        if (all->reading_count == SEEN_MAX) abort();
        all->readings[all->reading_count].row = readings[i];
        all->readings[all->reading_count].row.t_ns -= all->born_ns;
        all->readings[all->reading_count++].at_ns = jm__now_ns() - all->born_ns;
    }
}

static void hear_event(void *context, const jm__event *event)
{
    (void)context;
    if (all->event_count == EVENTS_MAX) abort();
    all->events[all->event_count] = *event;
    all->events[all->event_count++].t_ns -= all->born_ns;
}

static void hear_anchor(void *context, const jm__anchor *anchor)
{
    (void)context;
    (void)anchor;
}

/* Look every millisecond until then: when calls were made, and when what was asked for is there. */
static void watch(const jm__sampler *sampler, int64_t until_ns)
{
    while (jm__now_ns() - all->born_ns < until_ns) {
        int64_t calls = jm__sampler_cost_get(sampler).calls, now_ns = jm__now_ns() - all->born_ns;
        for (; all->call_count < calls && all->call_count < SEEN_MAX; all->call_count++)
            all->calls_ns[all->call_count] = now_ns;
        bool fresh = jm__sampler_fresh_ns(sampler) - all->born_ns >= all->kicked_ns;
        if (all->kicked_ns != 0 && all->fresh_ns == 0 && fresh) all->fresh_ns = now_ns;
        jm__sleep_ns(MS);
    }
}

static void run_inside(const plan *one, const char *folder)
{
    jm__sampler_sink sink = {NULL, hear_board, hear_sensor, hear_readings, hear_event, hear_anchor};
    jm__sampler_options options = {.device.sim = one->board == NULL ? "h200" : one->board,
                                   .device.no_cpu = true,
                                   .device.run_dir = folder,
                                   .ring_period_ns = one->ring_period_ns};
    jm__sampler *sampler = NULL;
    jm_error err = {0};
    if (one->faults != NULL) setenv("JOULEMAP_SIM_FAULTS", one->faults, 1);
    alarm(HANG_REAL_S);
    virtual_time_start(200 * S, HANG_CODE);
    all->born_ns = jm__now_ns();
    if (jm__sampler_create(&sampler, &options, &sink, &err) != JM_OK) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    all->created_ns = jm__now_ns() - all->born_ns;
    if (one->kick_ns != 0) {
        watch(sampler, one->kick_ns);
        all->kicked_ns = jm__now_ns() - all->born_ns;
        jm__sampler_kick(sampler, one->edge);
    }
    watch(sampler, one->length_ns);
    all->stop_ns = jm__now_ns() - all->born_ns;
    jm__sampler_stop(sampler);
    all->stopped_ns = jm__now_ns() - all->born_ns;
    jm__sampler_free(sampler);
}

static void sampled(plan one)
{
    char folder[] = "/tmp/joulemap-schedule-XXXXXX", command[64];
    assert_non_null(mkdtemp(folder));
    memset(all, 0, sizeof *all);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        run_inside(&one, folder);
        _exit(0);
    }
    int how = -1;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

/* ---- what was seen ---- */

static int sensor_number(const char *name)
{
    for (int i = 0; i < all->sensor_count; i++)
        if (strcmp(all->sensors[i].name, name) == 0) return i + 1;
    fail_msg("no sensor %s", name);
    return 0;
}

/* Stamps of a sensor's readings, or when they were handed over, each time once, from then on. */
static int times_of(const char *name, bool handed_over, int64_t from_ns, int64_t *times, int most)
{
    int count = 0, number = sensor_number(name);
    for (int i = 0; i < all->reading_count && count < most; i++) {
        int64_t t_ns = handed_over ? all->readings[i].at_ns : all->readings[i].row.t_ns;
        bool again = count > 0 && t_ns - times[count - 1] < MS;
        if (all->readings[i].row.sensor_id == number && t_ns >= from_ns && !again) times[count++] = t_ns;
    }
    return count;
}

static void check_time(int64_t seen_ns, int64_t requested_ns, int64_t off_ns)
{
    if (llabs(seen_ns - requested_ns) > off_ns)
        fail_msg("%.3f ms in place of %.3f", (double)seen_ns / 1e6, (double)requested_ns / 1e6);
}

/* The next readings of a sensor from then on come so far apart. */
static void check_distance(const char *name, bool handed_over, int64_t from_ns, int count, int64_t every_ns,
                           int64_t off_ns)
{
    int64_t times[100];
    assert_in_range(count, 2, 100);
    assert_int_equal(times_of(name, handed_over, from_ns, times, count), count);
    for (int i = 1; i < count; i++)
        check_time(times[i] - times[i - 1], every_ns, off_ns);
}

/* The first reading of a sensor from then on. */
static int64_t first_of(const char *name, int64_t from_ns)
{
    int64_t t_ns = 0;
    assert_int_equal(times_of(name, false, from_ns, &t_ns, 1), 1);
    return t_ns;
}

static int calls_between(int64_t from_ns, int64_t to_ns)
{
    int count = 0;
    for (int i = 0; i < all->call_count; i++)
        count += all->calls_ns[i] >= from_ns && all->calls_ns[i] < to_ns;
    return count;
}

static const jm__event *event_with(const char *text)
{
    const jm__event *found = NULL;
    for (int i = 0; i < all->event_count; i++) {
        if (strstr(all->events[i].text, text) == NULL) continue;
        if (found != NULL) fail_msg("told twice: %s", all->events[i].text);
        found = &all->events[i];
    }
    if (found == NULL) fail_msg("nobody was told: %s", text);
    return found;
}

/* ---- promises ---- */

typedef struct expected_event {
    jm_event_kind kind;
    int64_t t_ms;     /* within an update of the counter */
    double value;     /* within a hundredth */
    const char *text; /* how it begins */
} expected_event;

static void check_event(const jm__event *is, const expected_event *expected)
{
    if (strncmp(is->text, expected->text, strlen(expected->text)) != 0) fail_msg("%s", is->text);
    assert_int_equal(is->kind, expected->kind);
    check_time(is->t_ns, expected->t_ms * MS, 110 * MS);
    if (!(fabs(is->value - expected->value) <= 0.01 * fabs(expected->value)))
        fail_msg("%s: %g", is->text, is->value);
}

#define NO_RING    "missing:nvmlDeviceGetSamples;"
#define NO_INSTANT NO_RING "missing:nvmlDeviceGetFieldValues;"
#define SAYS_NO_RING(sensor)                                                                                 \
    {                                                                                                        \
        JM_EVENT_SENSOR_FAILED, 60, 0,                                                                       \
            "no power_ring (this NVML has no such call): power comes from " sensor                           \
    }
#define LEFT_OUT "; it is left out until that changes"

/* Six seconds of an H200 and of what may happen to it: all that is said, and how many readings of a ring, a
 * polled sensor and the counter there are. */
static void test_what_a_board_does_wrong_is_told_in_words(void **state)
{
    (void)state;
    static const struct {
        const char *faults;
        expected_event events[6];
        int ring, polled, counter;
    } cases[] = {
        {"reset@1500ms",
         {{JM_EVENT_COUNTER_RESET, 5061, 94915171, "energy_counter fell from 94915170.922 J to 26"}},
         311,
         62,
         3},
        {"stuck@1s",
         {{JM_EVENT_SENSOR_FAILED, 5560, 0, "energy_counter: it stands still" LEFT_OUT}},
         332,
         66,
         1},
        {"step=3600s@1s",
         {{JM_EVENT_CLOCK_STEP, 2009, 3600e9, "the board's time stamps jumped; they were put back"}},
         311,
         62,
         3},
        {NO_RING "stuck@1s",
         {SAYS_NO_RING("power_instant"),
          {JM_EVENT_SENSOR_FAILED, 1559, 0, "energy_counter: it stands still" LEFT_OUT}},
         0,
         61,
         1},
        {NO_RING "lost@1s-2s",
         {SAYS_NO_RING("power_instant"),
          {JM_EVENT_BOARD_LOST, 1000, 15, "GPU 0: power_average: GPU is lost"},
          {JM_EVENT_GAP, 947, 700e6, "power_instant: no readings for "},
          {JM_EVENT_BOARD_BACK, 2500, 0, "it answers again"},
          {JM_EVENT_GAP, 1747, 700e6, "power_instant: no readings for "}},
         0,
         47,
         6},
        {"nvmlDeviceGetSamples=UNKNOWN@1s-3s",
         {{JM_EVENT_SENSOR_FAILED, 1008, 999, "GPU 0: power_ring: Unknown Error"},
          {JM_EVENT_GAP, -8, 1720e6, "power_ring: no readings for 17"}},
         225,
         62,
         6},
        {NO_RING "nvmlDeviceGetFieldValues=NOT_SUPPORTED", {SAYS_NO_RING("power_average")}, 0, 64, 13},
        {"missing:nvmlDeviceGetTotalEnergyConsumption", {{0}}, 308, 61, 0},
        {"slow:nvmlDeviceGetTotalEnergyConsumption=70ms",
         {{JM_EVENT_SENSOR_FAILED, 683, 0,
           "energy_counter: reads take too long to date its updates" LEFT_OUT}},
         308,
         61,
         0},
        {NO_INSTANT "missing:nvmlDeviceGetPowerUsage;slow:nvmlDeviceGetTotalEnergyConsumption=70ms",
         {SAYS_NO_RING("the energy counter alone"),
          {JM_EVENT_SENSOR_FAILED, 681, 0,
           "energy_counter: reads take too long to date its updates, so its readings are stamped "
           "with the time they were read"}},
         0,
         64,
         7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sampled((plan){.length_ns = 6 * S, .faults = cases[i].faults});
        int events = 0, counts[3] = {0};
        for (; cases[i].events[events].text != NULL; events++) {
            assert_true(events < all->event_count);
            check_event(&all->events[events], &cases[i].events[events]);
        }
        assert_int_equal(all->event_count, events);
        const int numbers[] = {sensor_number("power_ring"), sensor_number("clock_sm"),
                               sensor_number("energy_counter")};
        for (int r = 0; r < all->reading_count; r++)
            for (int k = 0; k < 3; k++)
                counts[k] += all->readings[r].row.sensor_id == numbers[k];
        if (abs(counts[0] - cases[i].ring) > 12 || abs(counts[1] - cases[i].polled) > 2 ||
            abs(counts[2] - cases[i].counter) > 1)
            fail_msg("%s: %d, %d, %d readings", cases[i].faults, counts[0], counts[1], counts[2]);
    }
}

static void test_each_sensor_is_read_as_often_as_is_said_and_no_more(void **state)
{
    (void)state;
    static const char *const polled[] = {"power_instant", "power_average", "memory_power",    "temperature",
                                         "clock_sm",      "clock_memory",  "throttle_reasons"};
    sampled((plan){.length_ns = 12 * S});
    for (size_t i = 0; i < sizeof polled / sizeof *polled; i++)
        check_distance(polled[i], false, 100 * MS, 50, 100 * MS, MS);
    check_distance("gpu_utilisation", false, 200 * MS, 20, 200 * MS, MS); /* its own period */
    check_distance("power_limit", false, 1000 * MS, 2, 5 * S, MS);
    check_distance("power_ring", true, 0, 12, S, 10 * MS);
    check_distance("power_ring", false, 0, 100, 20 * MS, 10500 * JM_NS_PER_US); /* some stamps are late */
    check_distance("energy_counter", false, 0, 3, 5 * S, 110 * MS);             /* at updates, 100 ms apart */
    /* From 1.05 to 4.95 s: seven sensors each 100 ms, two each 200 ms, the ring each second. */
    assert_int_equal(calls_between(1050 * MS, 4950 * MS), 39 * 7 + 19 * 2 + 3);
    /* A counter whose updates are known is asked a few times around one of them. */
    int more = calls_between(5010 * MS, 5098 * MS);
    assert_in_range(more, 3, 6);
    assert_int_equal(all->event_count, 0);
}

static void test_rings_are_read_as_often_as_queried_for(void **state)
{
    (void)state;
    sampled((plan){.length_ns = 2 * S, .ring_period_ns = 300 * MS});
    check_distance("power_ring", true, 0, 6, 300 * MS, 15 * MS);
}

static void test_a_counter_is_queried_more_often_where_less_is_known_beside_it(void **state)
{
    (void)state;
    sampled((plan){.length_ns = 6 * S, .faults = "missing:nvmlDeviceGetSamples"});
    check_distance("energy_counter", false, 0, 5, 1 * S, 110 * MS);
    sampled((plan){.length_ns = 6 * S,
                   .faults = "missing:nvmlDeviceGetSamples;missing:nvmlDeviceGetFieldValues"});
    check_distance("energy_counter", false, 0, 8, 500 * MS, 110 * MS);
    /* And as soon as less is. */
    sampled((plan){.length_ns = 8 * S, .faults = "nvmlDeviceGetSamples=UNKNOWN@1.5s"});
    check_time(first_of("energy_counter", 1000 * MS), 3000 * MS, 110 * MS);
    check_distance("energy_counter", false, 1000 * MS, 5, 1 * S, 110 * MS);
}

static void test_the_start_waits_for_the_first_update_of_the_counter(void **state)
{
    (void)state;
    sampled((plan){.length_ns = 1 * S});
    int64_t first_ns = first_of("energy_counter", 0);
    assert_true(first_ns <= all->created_ns && all->created_ns < 120 * MS);
    /* But not for one that does not come. */
    sampled((plan){.length_ns = 1 * S, .faults = "stuck:nvmlDeviceGetTotalEnergyConsumption"});
    check_time(all->created_ns, 515 * MS, 25 * MS); /* five of its periods, and a step of the search */
    sampled((plan){.length_ns = 2 * S, .faults = "slow:nvmlDeviceGetTemperature=900ms"});
    check_time(all->created_ns, 2500 * MS, 10 * MS); /* read twice to see whether it works; then 700 ms */
}

static void test_what_is_queried_for_comes_within_three_periods_of_the_ring(void **state)
{
    (void)state;
    const char *slow = "slow:nvmlDeviceGetTemperature=30ms"; /* from 1600.6 to 1630.6 ms */
    const int64_t kicks_ns[] = {1550 * MS, 1605 * MS, 1615 * MS, 1625 * MS};
    for (size_t i = 0; i < sizeof kicks_ns / sizeof *kicks_ns; i++) {
        for (int edge = 0; edge < 2; edge++) {
            sampled((plan){.length_ns = 1990 * MS, .faults = slow, .kick_ns = kicks_ns[i], .edge = edge});
            assert_true(all->fresh_ns > all->kicked_ns);
            int64_t limit_ns = edge ? 170 * MS : 60 * MS; /* an update of the counter and the ring's next */
            if (all->fresh_ns - all->kicked_ns > limit_ns)
                fail_msg("%.1f ms", (double)(all->fresh_ns - all->kicked_ns) / 1e6);
            if (edge) (void)first_of("energy_counter", all->kicked_ns);
        }
    }
}

static void test_the_end_brings_the_counter_beyond_it_and_the_ring_beyond_that(void **state)
{
    (void)state;
    for (int64_t length_ns = 900 * MS; length_ns < 1100 * MS; length_ns += 17 * MS) {
        sampled((plan){.length_ns = length_ns});
        int64_t counter_ns = first_of("energy_counter", all->stop_ns);
        (void)first_of("power_ring", counter_ns);
        assert_true(all->stopped_ns - all->stop_ns < 250 * MS);
    }
    /* Nobody waits for what cannot come. */
    sampled((plan){.length_ns = 3 * S, .faults = "lost@1s"});
    assert_true(all->stopped_ns - all->stop_ns < MS);
    sampled((plan){.length_ns = 1 * S, .faults = "stuck@0s"});
    assert_true(all->stopped_ns - all->stop_ns < 700 * MS);
    sampled((plan){.length_ns = 3 * S, .faults = "nvmlDeviceGetTotalEnergyConsumption=UNKNOWN@1s"});
    assert_true(all->stopped_ns - all->stop_ns < 120 * MS);
}

static void test_a_lost_board_is_tried_soon_and_then_ever_more_rarely(void **state)
{
    (void)state;
    static const int64_t tries_ms[] = {1100, 1300, 1700, 2500, 4100, 6100, 8100};
    sampled((plan){.length_ns = 9 * S, .faults = "lost@1s"});
    int at = 0;
    while (at < all->call_count && all->calls_ns[at] < 1050 * MS)
        at++;
    assert_int_equal(all->call_count - at, 7);
    for (int i = 0; i < 7; i++)
        check_time(all->calls_ns[at + i], tries_ms[i] * MS, 2 * MS);
    assert_int_equal(event_with("lost")->kind, JM_EVENT_BOARD_LOST);
    /* Back: all its sensors at once. */
    sampled((plan){.length_ns = 3 * S, .faults = "lost@1s-1.45s"});
    check_time(event_with("it answers again")->t_ns, 1700 * MS, 10 * MS);
    check_time(first_of("power_limit", 1 * S), 1700 * MS, 20 * MS);
    /* Lost again soon, it is tried as rarely as if it had stayed away; much later, as at first. */
    sampled((plan){.length_ns = 5 * S, .faults = "lost@1s-1.45s;lost@2s-2.9s"});
    check_time(first_of("clock_sm", 2050 * MS), 4400 * MS, 20 * MS);
    sampled((plan){.length_ns = 8 * S, .faults = "lost@1s-1.45s;lost@7s-7.05s"});
    check_time(first_of("clock_sm", 7050 * MS), 7100 * MS, 20 * MS);
}

static void test_a_failing_sensor_is_tried_soon_and_then_ever_more_rarely(void **state)
{
    (void)state;
    static const struct {
        const char *faults;
        int64_t back_ms;
    } cases[] = {
        {"nvmlDeviceGetTemperature=UNKNOWN@1s-1.05s", 1100},
        {"nvmlDeviceGetTemperature=UNKNOWN@1s-1.15s", 1300},
        {"nvmlDeviceGetTemperature=UNKNOWN@1s-1.35s", 1700},
        {"nvmlDeviceGetTemperature=UNKNOWN@1s-4.2s", 7300},
        {"nvmlDeviceGetTemperature=UNKNOWN@1s-14s", 23700}, /* every ten seconds by then */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sampled((plan){.length_ns = (cases[i].back_ms + 300) * MS, .faults = cases[i].faults});
        check_time(first_of("temperature", 1 * S), cases[i].back_ms * MS, 2 * MS);
        check_distance("temperature", false, 1 * S, 2, 100 * MS, 2 * MS);
        check_time(event_with("temperature")->t_ns, 1000 * MS, 2 * MS);
    }
}

static void test_a_slow_sensor_takes_a_fiftieth_of_the_time_and_a_main_one_half(void **state)
{
    (void)state;
    sampled((plan){.length_ns = 5 * S, .faults = "slow:nvmlDeviceGetTemperature=30ms"});
    check_distance("temperature", false, 0, 4, 1530 * MS, 3 * MS);
    sampled((plan){.length_ns = 5 * S,
                   .faults = "missing:nvmlDeviceGetSamples;slow:nvmlDeviceGetFieldValues=60ms"});
    /* Read each 120 ms in place of each 19; memory's power is such a call too. */
    int calls = calls_between(1 * S, 4 * S);
    assert_in_range(calls, 30 * 6 + 25, 30 * 7 + 120);
}

/* A program may begin at once: its first readings are as good as any. The very first is the value that was
 * there. */
static void test_the_first_readings_of_a_polled_power_sensor_lie_on_the_grid_of_the_later_ones(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        char faults[64];
        snprintf(faults, sizeof faults, "missing:nvmlDeviceGetSamples;slow:nvmlDeviceGetName=%dms",
                 1 + 23 * i);
        sampled((plan){.board = "a100", .faults = faults, .length_ns = 3 * S});
        int64_t times[100];
        int count = times_of("power_instant", false, 0, times, 100);
        assert_in_range(count, 29, 34);
        for (int k = 1; k < count; k++)
            check_time(times[k], times[count - 1] - (count - 1 - k) * 101 * MS, 4 * MS);
    }
}

static void test_a_ring_with_nothing_new_is_told_and_the_next_best_takes_over(void **state)
{
    (void)state;
    sampled((plan){.length_ns = 5 * S, .faults = "stuck:nvmlDeviceGetSamples@1.5s"});
    const jm__event *event = event_with("power_ring: it has had nothing new for");
    assert_int_equal(event->kind, JM_EVENT_SENSOR_FAILED);
    check_time(event->t_ns, 3008 * MS, 5 * MS); /* read each second: at 2 s it has what was new until 1.5 s */
    check_distance("energy_counter", false, 3100 * MS, 2, 1 * S, 110 * MS);
    /* Polled on ever new places of its period. */
    int calls = calls_between(3100 * MS, 4000 * MS);
    assert_in_range(calls, 9 * 6 + 4 * 2 + 45, 9 * 7 + 5 * 2 + 80);
}

static void test_a_power_sensor_that_stands_still_is_told_once(void **state)
{
    (void)state;
    sampled((plan){.length_ns = 4 * S,
                   .faults = "missing:nvmlDeviceGetSamples;stuck:nvmlDeviceGetFieldValues@1s"});
    const jm__event *event = event_with("power_instant: it has said the same for 1.0 s");
    assert_int_equal(event->kind, JM_EVENT_SENSOR_FAILED);
    check_time(event->t_ns, 2000 * MS, 120 * MS); /* ten of its periods after the last change */
}

int main(void)
{
    unsetenv("JOULEMAP_SIM");
    unsetenv("JOULEMAP_SIM_SCRIPT");
    unsetenv("CUDA_VISIBLE_DEVICES");
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_board_does_wrong_is_told_in_words),
        cmocka_unit_test(test_each_sensor_is_read_as_often_as_is_said_and_no_more),
        cmocka_unit_test(test_rings_are_read_as_often_as_queried_for),
        cmocka_unit_test(test_a_counter_is_queried_more_often_where_less_is_known_beside_it),
        cmocka_unit_test(test_the_start_waits_for_the_first_update_of_the_counter),
        cmocka_unit_test(test_what_is_queried_for_comes_within_three_periods_of_the_ring),
        cmocka_unit_test(test_the_end_brings_the_counter_beyond_it_and_the_ring_beyond_that),
        cmocka_unit_test(test_a_lost_board_is_tried_soon_and_then_ever_more_rarely),
        cmocka_unit_test(test_a_failing_sensor_is_tried_soon_and_then_ever_more_rarely),
        cmocka_unit_test(test_a_slow_sensor_takes_a_fiftieth_of_the_time_and_a_main_one_half),
        cmocka_unit_test(test_a_power_sensor_that_stands_still_is_told_once),
        cmocka_unit_test(test_the_first_readings_of_a_polled_power_sensor_lie_on_the_grid_of_the_later_ones),
        cmocka_unit_test(test_a_ring_with_nothing_new_is_told_and_the_next_best_takes_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
