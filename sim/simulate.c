/* joulemap-simulate: recordings with known truth, without waiting for them.
 *
 * A made-up program runs on a simulated board; what `joulemap import` reads, and the truth beside it, are
 * written to a folder: readings.csv, segments.csv, kernels.csv, truth.csv, and, if asked for, counters.csv
 * and counters_truth.csv. The board is the library's own. */
#include "board.h"
#include "counters_csv.h"
#include "program.h"
#include "truth.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LEAD_NS   INT64_C(1500000000) /* idle before and after the program */
#define STATE_NS  INT64_C(50000000)   /* how often clock and temperature are written */
#define DRAIN_NS  INT64_C(200000000)  /* no ring is shorter */
#define SETTLE_NS INT64_C(200000000)  /* after the end, until the last samples are made */
#define WINDOW_NS INT64_C(1000000)    /* of counters */

static const char suite_phase[] = "suite";

static const char usage[] =
    "usage: joulemap-simulate --out FOLDER [options]\n"
    "  --profile NAME     board: a profile's name or file (h200)\n"
    "  --seed N           of program and noise (1)\n"
    "  --seconds S        length of the program (30)\n"
    "  --classes N        kernel classes, made up: 20 us to 5 ms (12)\n"
    "  --program FILE     classes from a file instead: name,duration_us,power_w[,calls]\n"
    "  --order fixed|random   order of the classes in a round (fixed)\n"
    "  --gap-us T         mean gap after a kernel (5)\n"
    "  --round-gap-us T   gap after a round (0)\n"
    "  --spread SHARE     how much a kernel's duration varies (0.02)\n"
    "  --repeat-ms T      after a round, one class at random again for so long (0)\n"
    "  --part NAME        name of the phase (mixture; after a suite, live)\n"
    "  --suite S          first, micro-kernels one by one in bursts for so many seconds: phase suite (0)\n"
    "  --suite-classes N  how many of them (40)\n"
    "  --counters         hardware counters, too: counters.csv, counters_truth.csv\n";

typedef struct options {
    const char *out;
    const char *profile;
    const char *program;
    const char *part;
    double seconds;
    double suite_s;
    int classes;
    int suite_classes;
    bool counters;
} options;

typedef struct output {
    FILE *readings;
    FILE *segments;
    FILE *kernels;
    FILE *counters; /* NULL: nobody asked */
} output;

/* One run. Times: ns since the program's start. */
typedef struct run {
    sim_profile profile;
    sim_board board;
    sim_program suite, program;
    sim_player player;
    sim_labels labels;
    sim_counting counting;
    output to;
    int64_t written[SIM_CHANNEL_COUNT];
    int64_t state_ns;
    int64_t drained_ns;
    int64_t suite_ns; /* how long the suite is to take, 0: there is none */
} run;

static const char *const sensor_names[SIM_CHANNEL_COUNT] = {
    [SIM_CHANNEL_RING] = "power_ring_w",
    [SIM_CHANNEL_INSTANT] = "power_instant_w",
    [SIM_CHANNEL_AVERAGE] = "power_average_1s_w",
    [SIM_CHANNEL_COUNTER] = "energy_counter_j",
    [SIM_CHANNEL_MEMORY_POWER] = "memory_power_average_w",
    [SIM_CHANNEL_UTILISATION] = "gpu_utilisation_percent",
    [SIM_CHANNEL_MEMORY_UTILISATION] = "memory_utilisation_percent",
};

/* Samples made since the last time; a day of the simulated clock is far off, so all can be read. */
static void drain(run *of, int64_t from_ns, int64_t until_ns)
{
    for (int i = 0; i < SIM_CHANNEL_COUNT; i++) {
        const sim_channel *channel = &of->board.channels[i];
        for (; of->written[i] < channel->count; of->written[i]++) {
            const sim_sample *sample = sim_board_sample(&of->board, i, of->written[i], INT64_MAX);
            if (sample == NULL || sample->stamp_ns < from_ns || sample->stamp_ns > until_ns) continue;
            fprintf(of->to.readings, "%s,%.6f,%.3f\n", sensor_names[i], (double)sample->stamp_ns * 1e-9,
                    sample->value);
        }
    }
    of->drained_ns = of->board.power.t_ns;
}

/* Forward to t_ns, in steps that no ring outruns. */
static void advance(run *of, int64_t t_ns, int64_t end_ns)
{
    while (of->board.power.t_ns < t_ns) {
        int64_t next = of->drained_ns + DRAIN_NS;
        if (of->state_ns < next) next = of->state_ns;
        if (t_ns < next) next = t_ns;
        sim_board_advance(&of->board, next);
        if (next >= of->drained_ns + DRAIN_NS) drain(of, -LEAD_NS, end_ns + LEAD_NS);
        if (next < of->state_ns) continue;
        if (next <= end_ns + LEAD_NS)
            fprintf(of->to.readings, "sm_clock_mhz,%.6f,%.0f\ntemperature_c,%.6f,%.0f\n", (double)next * 1e-9,
                    of->board.power.clock_mhz, (double)next * 1e-9,
                    of->profile.ambient_c + of->profile.thermal_c_per_w * of->board.power.heat_w);
        of->state_ns += STATE_NS;
    }
}

static void write_segment(const run *of, const char *phase, const char *kernel, int64_t start_ns,
                          int64_t stop_ns, int calls)
{
    bool window = phase == suite_phase; /* each burst is one, by its class's name */
    fprintf(of->to.segments, "%s,%s,%.9f,%.9f,%d%s%s\n", window ? kernel : phase, kernel,
            (double)start_ns * 1e-9, (double)stop_ns * 1e-9, calls, of->suite_ns > 0 ? "," : "",
            window ? phase : "");
}

/* Play a program from `t_ns` until `end_ns`; returns when its last call ended. */
static int64_t play(run *of, const sim_program *program, const char *phase, int64_t t_ns, int64_t end_ns)
{
    int64_t burst_start_ns = 0;
    int burst_calls = 0;
    sim_player_start(&of->player, program);
    while (t_ns < end_ns) {
        sim_call_step step = sim_player_next(&of->player);
        const sim_class *one = &program->classes[step.class_number];
        sim_load load = {sim_label_intern(&of->labels, one->name, "", "kernel"), one->power_w};
        advance(of, t_ns, end_ns);
        sim_power_call(&of->board.power, load.label);
        sim_board_load(&of->board, &load, 1, true);
        int64_t stop_ns = t_ns + step.duration_ns;
        advance(of, stop_ns, end_ns);
        sim_board_load(&of->board, NULL, 0, true);
        fprintf(of->to.kernels, "%.9f,%.3f,%s,1,%s\n", (double)t_ns * 1e-9, (double)step.duration_ns * 1e-3,
                one->name, phase == suite_phase ? one->name : phase);
        if (burst_calls++ == 0) burst_start_ns = t_ns;
        t_ns = stop_ns + step.gap_ns;
        if (!step.burst_ends && t_ns < end_ns) continue;
        write_segment(of, phase, one->name, burst_start_ns, stop_ns, burst_calls);
        burst_calls = 0;
    }
    return t_ns;
}

static FILE *create(const char *folder, const char *name, const char *header)
{
    char path[4096];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    FILE *file = fopen(path, "we");
    if (file != NULL) fputs(header, file);
    return file;
}

/* 0 or errno. */
static int finish(FILE *file)
{
    if (file == NULL) return 0;
    int failed = ferror(file) ? EIO : 0;
    return fclose(file) != 0 ? errno : failed;
}

/* False: errno tells. */
static bool open_files(output *to, const char *folder, bool suite, bool counters)
{
    to->readings = create(folder, "readings.csv", "sensor,t_s,value\n");
    to->segments = create(folder, "segments.csv",
                          suite ? "part,kernel,t_start_s,t_end_s,kernel_launches,phase\n"
                                : "part,kernel,t_start_s,t_end_s,kernel_launches\n");
    to->kernels = create(folder, "kernels.csv", "t_start_s,duration_us,kernel,stream,part\n");
    if (counters) to->counters = create(folder, "counters.csv", "");
    return to->readings != NULL && to->segments != NULL && to->kernels != NULL &&
           (!counters || to->counters != NULL);
}

/* 0 or errno. */
static int finish_files(output *to)
{
    const int closed[] = {finish(to->readings), finish(to->segments), finish(to->kernels),
                          finish(to->counters)};
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++)
        if (closed[i] != 0) return closed[i];
    return 0;
}

/* From here on: the truth and the counters. */
static int begin(run *of, const char *folder)
{
    sim_power_account_reset(&of->board.power);
    if (of->to.counters == NULL) return 0;
    FILE *truth = create(folder, "counters_truth.csv", "");
    if (truth == NULL) return errno;
    sim_counters_truth(truth, &of->profile);
    sim_counters_csv_header(of->to.counters);
    of->counting.take = sim_counters_csv_take;
    of->counting.context = of->to.counters;
    sim_counting_begin(&of->counting, &of->board, &of->labels, WINDOW_NS);
    return finish(truth);
}

static int run_programs(run *of, const options *with)
{
    int64_t start_ns = 0, end_ns = of->suite_ns + (int64_t)(with->seconds * 1e9);
    const char *part = with->part != NULL ? with->part : of->suite_ns > 0 ? "live" : "mixture";
    of->state_ns = -LEAD_NS;
    of->drained_ns = of->board.power.t_ns;
    advance(of, -LEAD_NS, end_ns);
    sim_board_load(&of->board, NULL, 0, true); /* the context comes long before the first kernel */
    int failed = begin(of, with->out);
    if (failed != 0) return failed;
    advance(of, 0, end_ns);
    if (of->suite_ns > 0) start_ns = play(of, &of->suite, suite_phase, 0, of->suite_ns);
    end_ns = play(of, &of->program, part, start_ns, end_ns);
    advance(of, end_ns + LEAD_NS, end_ns);
    char truth[4096];
    if ((size_t)snprintf(truth, sizeof truth, "%s/truth.csv", with->out) >= sizeof truth) return ENAMETOOLONG;
    failed = sim_truth_write(truth, &of->board, 1, &of->labels, 0);
    of->board.counting = NULL; /* windows end where the truth does */
    advance(of, end_ns + LEAD_NS + SETTLE_NS, end_ns);
    drain(of, -LEAD_NS, end_ns + LEAD_NS);
    return failed;
}

static int simulate(run *of, const options *with)
{
    if (mkdir(with->out, 0777) != 0 && errno != EEXIST) return errno;
    of->suite_ns = (int64_t)(with->suite_s * 1e9);
    bool open = open_files(&of->to, with->out, of->suite_ns > 0, with->counters);
    int failed = open ? run_programs(of, with) : errno;
    int closed = finish_files(&of->to);
    if (failed == 0) failed = closed;
    return failed == 0 && of->board.power.failed ? ENOMEM : failed;
}

static bool read_number(const char *text, double least, double most, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && *value >= least && *value <= most;
}

/* False: the option's value is no good. */
static bool take_option(int key, const char *value, options *with, sim_program *program)
{
    double number = 0;
    switch (key) {
    case 'o':
        with->out = value;
        return true;
    case 'p':
        with->profile = value;
        return true;
    case 'f':
        with->program = value;
        return true;
    case 'n':
        with->part = value;
        return value[0] != '\0' && strpbrk(value, ",\"\n") == NULL;
    case 's':
        program->seed = strtoull(value, NULL, 0);
        return true;
    case 'C':
        with->counters = true;
        return true;
    case 'S':
        return read_number(value, 0.001, 86400, &with->suite_s);
    case 'm':
        if (!read_number(value, 1, SIM_CLASSES_MAX, &number)) return false;
        with->suite_classes = (int)number;
        return true;
    case 'O':
        program->shuffled = strcmp(value, "random") == 0;
        return program->shuffled || strcmp(value, "fixed") == 0;
    case 't':
        return read_number(value, 0.001, 86400, &with->seconds);
    case 'g':
        return read_number(value, 0, 1e7, &program->gap_us);
    case 'G':
        return read_number(value, 0, 1e7, &program->round_us);
    case 'v':
        return read_number(value, 0, 0.3, &program->spread);
    case 'r':
        return read_number(value, 0, 1e4, &program->repeat_ms);
    case 'c':
        if (!read_number(value, 1, SIM_CLASSES_MAX, &number)) return false;
        with->classes = (int)number;
        return true;
    default:
        return false;
    }
}

static bool parse(int argc, char **argv, options *with, sim_program *program)
{
    static const struct option known[] = {
        {"out", 1, NULL, 'o'},           {"profile", 1, NULL, 'p'},  {"seed", 1, NULL, 's'},
        {"seconds", 1, NULL, 't'},       {"classes", 1, NULL, 'c'},  {"program", 1, NULL, 'f'},
        {"order", 1, NULL, 'O'},         {"gap-us", 1, NULL, 'g'},   {"round-gap-us", 1, NULL, 'G'},
        {"spread", 1, NULL, 'v'},        {"help", 0, NULL, 'h'},     {"repeat-ms", 1, NULL, 'r'},
        {"part", 1, NULL, 'n'},          {"counters", 0, NULL, 'C'}, {"suite", 1, NULL, 'S'},
        {"suite-classes", 1, NULL, 'm'}, {NULL, 0, NULL, 0},
    };
    for (int key; (key = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (key == 'h') {
            fputs(usage, stdout);
            exit(0);
        }
        if (key != '?' && take_option(key, optarg, with, program)) continue;
        if (key != '?') fprintf(stderr, "joulemap-simulate: \"%s\" does not do here\n", optarg);
        return false;
    }
    return with->out != NULL && optind == argc;
}

int main(int argc, char **argv)
{
    static run one; /* large: the program's classes */
    options with = {.profile = "h200", .seconds = 30, .classes = 12, .suite_classes = 40};
    char why[512];
    one.program = (sim_program){.seed = 1, .gap_us = 5, .spread = 0.02};
    if (!parse(argc, argv, &with, &one.program)) {
        fputs(usage, stderr);
        return 2;
    }
    if (!sim_profile_load(&one.profile, with.profile, why, sizeof why) ||
        (with.program != NULL && !sim_program_read(&one.program, with.program, why, sizeof why))) {
        fprintf(stderr, "joulemap-simulate: %s\n", why);
        return 2;
    }
    if (with.program == NULL) sim_program_invent(&one.program, &one.profile, with.classes);
    one.suite = (sim_program){.seed = one.program.seed, .gap_us = 5, .spread = 0.02};
    sim_program_invent_suite(&one.suite, &one.profile, with.suite_classes);
    int failed = ENOMEM;
    if (sim_board_open(&one.board, &one.profile, 0, one.program.seed, -LEAD_NS))
        failed = simulate(&one, &with);
    sim_board_close(&one.board);
    sim_labels_free(&one.labels);
    if (failed == 0) return 0;
    fprintf(stderr, "joulemap-simulate: %s: %s\n", with.out, strerror(failed));
    return 1;
}
