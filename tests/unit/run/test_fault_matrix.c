/* Every way in which each of NVML's calls can fail, at every time of a run: the report's total holds the
 * truth, or the report says what is missing.
 *
 * A cell of the matrix is a run of two seconds of sampler and simulated board in virtual time, in a process
 * of its own, and a report on it. The calls are those of the table that the sampler works from, so a new one
 * is in the matrix by itself. One cell alone, with its words: build/tests/test_fault_matrix NUMBER. */
#include "all_kernels.h"
#include "attribute/report.h"
#include "base/vec.h"
#include "proof.h"
#include "record/device/nvml.h"
#include "record/sample/sampler.h"
#include "virtual_time.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MS JM_NS_PER_MS
#define S  JM_NS_PER_S

/* A run begins so long after the board's epoch (later if the board takes so long to open), and lasts so long.
 */
#define BEGIN_NS  (700 * MS)
#define LENGTH_NS (2 * S)

/* A total that is known to no better than this is said to be so. */
static const double wide = 0.25;

enum { HANG_CODE = 77, HANG_REAL_S = 120, CELLS_MAX = 8192, VIRTUAL_LIMIT_S = 100 };

/* ---- cells ---- */

/* The calls, by the table that the sampler works from. */
static const char *const calls[] = {
#define X(slot, symbol, older, lost, arguments) symbol,
    JM_NVML_MAP(X)
#undef X
};

/* How a call fails; the first few are tried on every board, also on those that lack most sensors. */
static const char *const ways[] = {
    "CALL=UNKNOWN",
    "CALL=GPU_IS_LOST",
    "CALL=NO_DATA",
    "slow:CALL=10ms",
    "slow:CALL=50ms",
    "slow:CALL=200ms",
    "stuck:CALL",
    "glitch:CALL=0",
    "glitch:CALL=1",
    "glitch:CALL=4294967295",
    "glitch:CALL=18446744073709551615",
    "missing:CALL",
    "CALL=NOT_SUPPORTED",
    "CALL=NO_PERMISSION",
    "CALL=RESET_REQUIRED",
    "CALL=TIMEOUT",
    "CALL=UNINITIALIZED",
    "CALL=INVALID_ARGUMENT",
    "CALL=NOT_FOUND",
    "CALL=INSUFFICIENT_SIZE",
    "CALL=IRQ_ISSUE",
    "CALL=OPERATING_SYSTEM",
    "CALL=MEMORY",
    "CALL=IN_USE",
    "CALL=NOT_READY",
};

/* How a board fails. */
static const char *const board_ways[] = {"lost", "stuck", "reset", "step=3s", "step=-3s", "step=300ms"};

/* When: from the start on, up to the middle, from the middle on, for half a second, from shortly before the
 * end on. */
static const char *const times[] = {"", "@0s-1.2s", "@1.7s", "@1.5s-2s", "@2.65s"};

/* What the board lacks from the start, and which calls then tell of its energy. */
static const char *const lacks[] = {
    "",
    "missing:nvmlDeviceGetSamples;",
    "missing:nvmlDeviceGetTotalEnergyConsumption;",
    "missing:nvmlDeviceGetSamples;missing:nvmlDeviceGetFieldValues;missing:nvmlDeviceGetPowerUsage;",
    "missing:nvmlDeviceGetSamples;missing:nvmlDeviceGetFieldValues;missing:"
    "nvmlDeviceGetTotalEnergyConsumption;",
    "missing:nvmlDeviceGetSamples;missing:nvmlDeviceGetPowerUsage;missing:"
    "nvmlDeviceGetTotalEnergyConsumption;",
};
static const char *const energy_calls[] = {"nvmlDeviceGetSamples", "nvmlDeviceGetFieldValues",
                                           "nvmlDeviceGetPowerUsage", "nvmlDeviceGetTotalEnergyConsumption"};

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { WAYS_EVERYWHERE = 11, MID_RUN = 2, LATER_S = 6 };

typedef struct cell {
    char fault[320];
    const char *call; /* "": the board's */
    int later_s;      /* the report is of a phase that begins so long after the start of the run */
    int boards;       /* the fault is that of the last of them */
} cell;

static cell cells[CELLS_MAX];
static int cell_count;

static void add_cell(const char *lack, const char *way, const char *call, const char *time, int boards,
                     int later_s)
{
    assert_true(cell_count < CELLS_MAX);
    cell *one = &cells[cell_count++];
    const char *place = strstr(way, "CALL");
    int before = place == NULL ? (int)strlen(way) : (int)(place - way);
    *one = (cell){.call = call, .boards = boards, .later_s = later_s};
    snprintf(one->fault, sizeof one->fault, "%s%.*s%s%s%s%s", lack, before, way, call,
             place == NULL ? "" : place + 4, time, boards == 2 ? "#1" : "");
}

/* Every way at every time; in mid-run also that of one board of two, and what a phase long after it says. */
static void add_ways(const char *lack, const char *const *list, size_t count, const char *call)
{
    for (size_t w = 0; w < count; w++) {
        for (size_t t = 0; t < COUNT(times); t++)
            add_cell(lack, list[w], call, times[t], 1, 0);
        add_cell(lack, list[w], call, times[MID_RUN], 1, LATER_S);
        if (lack[0] == '\0') add_cell(lack, list[w], call, times[MID_RUN], 2, 0);
    }
}

static void add_cells(void)
{
    for (int boards = 1; boards <= 2; boards++)
        for (int later_s = 0; later_s <= LATER_S; later_s += LATER_S)
            add_cell("", "", "", "", boards, later_s);
    for (size_t c = 0; c < COUNT(calls); c++)
        add_ways("", ways, COUNT(ways), calls[c]);
    for (size_t k = 0; k < COUNT(lacks); k++) {
        add_ways(lacks[k], board_ways, COUNT(board_ways), "");
        for (size_t c = 0; k > 0 && c < COUNT(energy_calls); c++)
            if (strstr(lacks[k], energy_calls[c]) == NULL)
                add_ways(lacks[k], ways, WAYS_EVERYWHERE, energy_calls[c]);
    }
    add_cell("", "lost", "", "@1.2s-1.21s", 1, 0);
    add_cell("", "lost", "", "@1.2s-3s", 1, LATER_S);
}

/* ---- one run ---- */

typedef struct heard {
    pthread_mutex_t lock;
    JM_VEC(jm_board) boards;
    JM_VEC(jm_sensor) sensors;
    JM_VEC(jm_reading) readings;
    JM_VEC(jm__event) events;
} heard;

static int64_t hear_board(void *context, const jm_board *board)
{
    heard *all = context;
    (void)jm__vec_push(&all->boards, *board);
    all->boards.items[all->boards.count - 1].id = (int64_t)all->boards.count;
    return (int64_t)all->boards.count;
}

static int64_t hear_sensor(void *context, const jm_sensor *sensor)
{
    heard *all = context;
    (void)jm__vec_push(&all->sensors, *sensor);
    all->sensors.items[all->sensors.count - 1].id = (int64_t)all->sensors.count;
    return (int64_t)all->sensors.count;
}

static void hear_readings(void *context, const jm_reading *readings, size_t count)
{
    heard *all = context;
    pthread_mutex_lock(&all->lock);
    for (size_t i = 0; i < count; i++)
        (void)jm__vec_push(&all->readings, readings[i]);
    pthread_mutex_unlock(&all->lock);
}

static void hear_event(void *context, const jm__event *event)
{
    heard *all = context;
    pthread_mutex_lock(&all->lock);
    (void)jm__vec_push(&all->events, *event);
    pthread_mutex_unlock(&all->lock);
}

static void hear_anchor(void *context, const jm__anchor *anchor)
{
    (void)context;
    (void)anchor;
}

static int by_time(const void *a, const void *b)
{
    const jm_reading *left = a, *right = b;
    if (left->t_ns != right->t_ns) return left->t_ns < right->t_ns ? -1 : 1;
    return (left->sensor_id > right->sensor_id) - (left->sensor_id < right->sensor_id);
}

/* The script: 600 W for a second, 200 W for a second, again and again; 400 W on average. */
static const char script[] = "t_start_s,t_end_s,power_w,name,board\n"
                             "0,1,600,work,0\n1,2,200,work,0\n0,1,600,work,1\n1,2,200,work,1\nrepeat,2\n";

static double script_j(int64_t t_ns)
{
    int64_t rounds = t_ns / (2 * S), rest_ns = t_ns % (2 * S);
    double rest_j = rest_ns < S ? 600e-9 * (double)rest_ns : 600 + 200e-9 * (double)(rest_ns - S);
    return 800 * (double)rounds + rest_j;
}

typedef enum verdict { PENDING, RIGHT, SAID, WRONG, CRASHED, HUNG, VERDICTS } verdict;

typedef struct outcome {
    verdict verdict;
    double truth_j, low_j, energy_j, high_j;
} outcome;

/* Words of the sensor that is read by a call, or of what befalls a board. */
static bool names_subject(const char *note, const char *call)
{
    static const struct {
        const char *call, *words[4];
    } names[] = {
        {"nvmlDeviceGetSamples", {"power_ring", "sample ring"}},
        {"nvmlDeviceGetFieldValues", {"power_instant"}},
        {"nvmlDeviceGetPowerUsage", {"power_average"}},
        {"nvmlDeviceGetTotalEnergyConsumption", {"energy_counter", "energy counter"}},
        {"", {"lost", "energy_counter", "energy counter", "time stamps"}},
    };
    for (size_t i = 0; i < COUNT(names); i++)
        for (int w = 0; strcmp(names[i].call, call) == 0 && w < 4 && names[i].words[w] != NULL; w++)
            if (strstr(note, names[i].words[w]) != NULL) return true;
    return false;
}

static bool has_any(const char *note, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(note, words[i]) != NULL) return true;
    return false;
}

/* What is missing of the total, whatever the cause; or that the sensor in question has failed. */
static bool says_missing(const char *note, const cell *one)
{
    static const char *const missing[] = {"was lost",     "is not known",   "could not be opened",
                                          "interpolated", "no GPU to read", "nvmlInit",
                                          "is wrong"};
    static const char *const failed[] = {"a sensor failed", "readings are missing", "left out",
                                         "counter was reset", "clock was set"};
    if (has_any(note, missing, COUNT(missing))) return true;
    if (!has_any(note, failed, COUNT(failed))) return false;
    /* What power comes from instead is no failure of that. */
    char rest[2048];
    snprintf(rest, sizeof rest, "%s", note);
    for (char *instead; (instead = strstr(rest, "power comes from ")) != NULL;)
        memset(instead, ' ', strcspn(instead, ".;"));
    return names_subject(rest, one->call);
}

/* Why an interval is wide, also on a board that lacks its best sensors from the start. */
static bool says_wide(const char *note, const cell *one)
{
    static const char *const words[] = {"intervals are wider", "has no power reading",
                                        "no energy counter covers"};
    return has_any(note, words, COUNT(words)) || says_missing(note, one);
}

static void judge(outcome *out, const cell *one, const jm_report *report, bool aloud)
{
    const jm_report_totals *totals = jm_report_totals_get(report);
    bool missing_said = false, wide_said = false;
    out->low_j = totals->total_low_j;
    out->energy_j = totals->total_energy_j;
    out->high_j = totals->total_high_j;
    for (size_t i = 0; i < jm_report_note_count(report); i++) {
        const char *note = jm_report_note(report, i);
        missing_said = missing_said || says_missing(note, one);
        wide_said = wide_said || says_wide(note, one);
        if (aloud)
            printf("%s%s %s\n", jm_report_note_is_essential(report, i) ? "!" : " ",
                   says_missing(note, one) ? "*" : " ", note);
    }
    bool holds = out->low_j <= out->truth_j && out->truth_j <= out->high_j;
    bool sharp = (out->high_j - out->low_j) / 2 <= wide * out->energy_j;
    if (holds)
        out->verdict = sharp ? RIGHT : wide_said ? SAID : WRONG;
    else
        out->verdict = missing_said ? SAID : WRONG;
}

static void report_on(outcome *out, const cell *one, heard *all, int64_t from_ns, int64_t to_ns,
                      int64_t end_ns, int64_t start_ns, bool aloud)
{
    const char *names[] = {""};
    if (all->readings.count > 0)
        qsort(all->readings.items, all->readings.count, sizeof *all->readings.items, by_time);
    jm__dataset dataset = {
        .boards = all->boards.items,
        .board_count = all->boards.count,
        .sensors = all->sensors.items,
        .sensor_count = all->sensors.count,
        .readings = all->readings.items,
        .reading_count = all->readings.count,
        .events = all->events.items,
        .event_count = all->events.count,
        .kernels = {all_kernels_each, &(all_kernels){0}},
        .names = names,
        .name_count = 1,
        .start_ns = start_ns,
        .end_ns = end_ns,
        .cost = {-1, -1, -1},
    };
    const jm_report_options options = {
        .size = sizeof options, .by = JM_BY_BOARD, .from_ns = from_ns, .to_ns = to_ns};
    jm_report *report = NULL;
    jm_error err = {0};
    if (jm__report_from_dataset(&report, &dataset, &options, &err) != JM_OK) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    judge(out, one, report, aloud);
    jm_report_free(report);
}

static void readings_print(const heard *all, int64_t from_ns)
{
    for (size_t i = 0; i < all->readings.count; i++) {
        const jm_reading *r = &all->readings.items[i];
        const jm_sensor *sensor = &all->sensors.items[r->sensor_id - 1];
        bool counts = sensor->quantity == JM_QUANTITY_POWER || sensor->quantity == JM_QUANTITY_ENERGY;
        if (counts)
            printf("%9.4f s  %lld %-16s %.3f\n", 1e-9 * (double)(r->t_ns - from_ns),
                   (long long)sensor->board_id, sensor->name, r->value);
    }
    for (size_t i = 0; i < all->events.count; i++)
        printf("%9.4f s  %s\n", 1e-9 * (double)(all->events.items[i].t_ns - from_ns),
               all->events.items[i].text);
}

static int64_t epoch_ns(void)
{
    long long (*epoch)(void) = NULL;
    void *library = dlopen(JM_BUILD_DIR "/sim/libnvidia-ml.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library == NULL) return jm__now_ns();
    void *address = dlsym(library, "jmsim_epoch_ns");
    memcpy(&epoch, &address, sizeof epoch);
    int64_t found_ns = epoch();
    dlclose(library);
    return found_ns > 0 ? found_ns : jm__now_ns();
}

static void cell_run(outcome *out, int number, const char *folder, bool aloud)
{
    const cell *one = &cells[number];
    char path[128], seed[16];
    heard all = {0};
    jm_error err = {0};
    pthread_mutex_init(&all.lock, NULL);
    snprintf(path, sizeof path, "%s/%d", folder, number);
    snprintf(seed, sizeof seed, "%d", number + 1);
    mkdir(path, 0700);
    setenv("JOULEMAP_SIM_FAULTS", one->fault, 1);
    setenv("JOULEMAP_SIM_SEED", seed, 1);
    jm__sampler_sink sink = {&all, hear_board, hear_sensor, hear_readings, hear_event, hear_anchor};
    jm__sampler_options options = {
        .device = {.sim = one->boards == 2 ? "h200,h200" : "h200", .no_cpu = true, .run_dir = path}};
    jm__sampler *sampler = NULL;
    virtual_time_start(VIRTUAL_LIMIT_S * S, HANG_CODE);
    int64_t start_ns = jm__now_ns();
    if (jm__sampler_create(&sampler, &options, &sink, &err) != JM_OK) {
        if (aloud) puts(err.text);
        out->verdict = says_missing(err.text, one) ? SAID : WRONG;
        return;
    }
    int64_t zero_ns = epoch_ns();
    jm__sleep_ns(zero_ns + BEGIN_NS - jm__now_ns());
    jm__sleep_ns(one->later_s * S);
    int64_t from_ns = jm__now_ns();
    jm__sleep_ns(LENGTH_NS);
    int64_t to_ns = jm__now_ns();
    jm__sampler_stop(sampler);
    int64_t end_ns = to_ns;
    out->truth_j = one->boards * (script_j(to_ns - zero_ns) - script_j(from_ns - zero_ns));
    if (aloud) readings_print(&all, zero_ns);
    report_on(out, one, &all, from_ns, to_ns, end_ns, start_ns, aloud);
    jm__sampler_free(sampler);
}

/* ---- all of them ---- */

static char folder[64];

static void folder_make(void)
{
    char path[128];
    snprintf(folder, sizeof folder, "/tmp/joulemap-matrix-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/script.csv", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(script, file);
    fclose(file);
    setenv("JOULEMAP_SIM_SCRIPT", path, 1);
}

static void folder_remove(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

static pid_t cell_start(outcome *outcomes, int number)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0) return child;
    alarm(HANG_REAL_S);
    cell_run(&outcomes[number], number, folder, false);
    _exit(0);
}

static void cell_end(outcome *out, int how)
{
    bool hung =
        (WIFEXITED(how) && WEXITSTATUS(how) == HANG_CODE) || (WIFSIGNALED(how) && WTERMSIG(how) == SIGALRM);
    if (hung)
        out->verdict = HUNG;
    else if (!WIFEXITED(how) || WEXITSTATUS(how) != 0 || out->verdict == PENDING)
        out->verdict = CRASHED;
}

/* Every 31st cell in `make check`, all in the proof. */
static bool is_tried(int number)
{
    return proof_runs() || number % 31 == 0;
}

static void cells_run(outcome *outcomes)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int most = processors < 1 ? 1 : processors > 8 ? 8 : (int)processors;
    struct {
        pid_t child;
        int number;
    } busy[8] = {0};
    for (int started = 0, ended = 0; ended < cell_count;) {
        for (int i = 0; i < most && started < cell_count; i++) {
            if (busy[i].child != 0) continue;
            while (started < cell_count && !is_tried(started)) {
                started++;
                ended++;
            }
            if (started == cell_count) break;
            busy[i].number = started;
            busy[i].child = cell_start(outcomes, started++);
        }
        int how = 0;
        pid_t child = waitpid(-1, &how, 0);
        for (int i = 0; i < most; i++) {
            if (child != busy[i].child) continue;
            cell_end(&outcomes[busy[i].number], how);
            busy[i].child = 0;
            ended++;
        }
    }
}

static void test_every_run_is_right_or_says_what_is_missing(void **state)
{
    (void)state;
    static const char *const words[VERDICTS] = {"", "right", "said", "silent and wrong", "crashed", "hung"};
    int sums[VERDICTS] = {0}, tried = 0;
    size_t size = (size_t)cell_count * sizeof(outcome);
    outcome *outcomes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(outcomes != MAP_FAILED);
    cells_run(outcomes);
    for (int i = 0; i < cell_count; i++) {
        const outcome *out = &outcomes[i];
        if (!is_tried(i)) continue;
        sums[out->verdict]++;
        tried++;
        if (out->verdict < WRONG && getenv("JM_MATRIX_ALL") == NULL) continue;
        print_message("%-16s %4d %s%s, %d s later: %.1f J true, %.1f J in [%.1f, %.1f]\n",
                      words[out->verdict], i, cells[i].fault, cells[i].boards == 2 ? " of two boards" : "",
                      cells[i].later_s, out->truth_j, out->energy_j, out->low_j, out->high_j);
    }
    print_message("%d runs: %d right, %d said, %d silent and wrong, %d crashes, %d hangs\n", tried,
                  sums[RIGHT], sums[SAID], sums[WRONG], sums[CRASHED], sums[HUNG]);
    munmap(outcomes, size);
    assert_int_equal(sums[WRONG] + sums[CRASHED] + sums[HUNG], 0);
}

int main(int count, char **words)
{
    unsetenv("JOULEMAP_SIM");
    unsetenv("CUDA_VISIBLE_DEVICES");
    add_cells();
    folder_make();
    if (count > 1) {
        outcome out = {0};
        int number = atoi(words[1]);
        printf("%s\n", cells[number].fault);
        cell_run(&out, number, folder, true);
        printf("%d: %.1f J true, %.1f J in [%.1f, %.1f]\n", (int)out.verdict, out.truth_j, out.energy_j,
               out.low_j, out.high_j);
        folder_remove();
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_run_is_right_or_says_what_is_missing)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    folder_remove();
    return failed;
}
