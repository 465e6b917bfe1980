/* `joulemap run`: record a command into the project's store, and say what it took. */
#include "cli/recorder.h"
#include "cli/store.h"
#include "cli/verb.h"

#include <joulemap/repeats.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const cli_option options[] = {
    {"--output", 'o', "FILE", "the recording (default: a new one in .joulemap, which keeps the newest)",
     NULL},
    {"--force", 'f', NULL, "replace an existing recording", NULL},
    {"--repeat", 'r', "N", "run it N times: mean and spread, for `joulemap diff`", NULL},
    CLI_SIM_OPTION,
    CLI_RECORDER_OPTIONS,
    {NULL, 0, NULL, NULL, NULL},
};

/* The program among the words of a command line: the script of an interpreter, else the command. */
static const char *program_name(char **command)
{
    const char *name = command[0];
    for (char **word = command; *word != NULL; word++) {
        size_t length = strlen(*word);
        if (length > 3 && strcmp(*word + length - 3, ".py") == 0) {
            name = *word;
            break;
        }
    }
    const char *slash = strrchr(name, '/');
    return slash != NULL ? slash + 1 : name;
}

static jm_status open_report(const char *path, jm_recording **recording, jm_report **report, jm_error *err)
{
    jm_status status = jm_recording_open(recording, path, err);
    if (status == JM_OK) status = jm_report_create(report, *recording, NULL, err);
    return status;
}

/* ---- the run before: the newest of the same command in the store */

typedef struct earlier {
    jm_recording *recording;
    jm_report *report;
    char when[32];
} earlier;

static bool is_success(const jm_recording *recording)
{
    const char *code = jm_recording_meta(recording, "child_exit_code");
    return code != NULL && strcmp(code, "0") == 0;
}

static bool is_of_command(const jm_recording *recording, const char *command)
{
    const char *its = jm_recording_meta(recording, "command");
    return its != NULL && strcmp(its, command) == 0 && is_success(recording);
}

static void format_when(char *when, size_t size, const char *path)
{
    struct stat info;
    struct tm local;
    if (stat(path, &info) == 0 && localtime_r(&info.st_mtime, &local) != NULL)
        strftime(when, size, "%d %b %H:%M", &local);
}

/* Nothing is compared with a run that cannot be read. */
static void find_earlier(const cli_args *args, const char *path, earlier *out)
{
    cli_store store;
    char *command = cli_child_text(cli_command(args));
    bool open = command != NULL && cli_store_open(args, &store) == CLI_GO_ON;
    for (size_t i = 0; open && i < store.count && out->report == NULL; i++) {
        char other[PATH_MAX];
        jm_error err;
        if (strcmp(cli_store_path(&store, i, other), path) >= 0) continue; /* it, or a later one */
        if (jm_recording_open(&out->recording, other, &err) != JM_OK) continue;
        if (is_of_command(out->recording, command) &&
            jm_report_create(&out->report, out->recording, NULL, &err) == JM_OK)
            format_when(out->when, sizeof out->when, other);
        else
            jm_recording_close(out->recording);
    }
    if (command != NULL) cli_store_free(&store);
    free(command);
}

static void free_earlier(earlier *run)
{
    if (run->report == NULL) return;
    jm_report_free(run->report);
    jm_recording_close(run->recording);
}

static jm_status make_summary(const cli_args *args, const char *path, char **text, jm_error *err)
{
    jm_recording *recording = NULL;
    jm_report *report = NULL;
    earlier before = {0};
    jm_status status = open_report(path, &recording, &report, err);
    if (status == JM_OK) {
        if (!cli_has(args, "--output") && is_success(recording)) find_earlier(args, path, &before);
        const jm_summary_options shown = {.size = sizeof shown,
                                          .width = cli_terminal_width(STDERR_FILENO),
                                          .name = program_name(cli_command(args)),
                                          .before = before.report,
                                          .when = before.when};
        status = jm_report_summary(report, recording, &shown, text, err);
    }
    free_earlier(&before);
    jm_report_free(report);
    jm_recording_close(recording);
    return status;
}

static void print_next(const cli_recorder *recorder)
{
    const char *given = cli_get(recorder->args, "--output");
    char *typed = given != NULL ? cli_typed_path(given) : NULL;
    if (typed != NULL) {
        cli_message_part("more       joulemap report %s", typed);
        fputc('\n', stderr);
    } else
        fputs("more       joulemap report, joulemap view, joulemap runs\n", stderr);
    free(typed);
}

static void print_summary(const cli_recorder *recorder)
{
    char *text = NULL;
    jm_error err = {0};
    cli_progress("adding up");
    jm_status status = make_summary(recorder->args, recorder->path, &text, &err);
    cli_progress(NULL);
    if (status == JM_OK) {
        fputc('\n', stderr);
        char *rest = text;
        for (char *line; (line = strsep(&rest, "\n")) != NULL && rest != NULL; fputc('\n', stderr))
            cli_message_part("%s", line);
        print_next(recorder);
    } else {
        cli_fail(recorder->args, &err);
    }
    free(text);
}

/* Records the command once. `path`: NULL: that of the options, or a new one. */
static int record(const cli_args *args, cli_recorder *recorder, const char *path)
{
    int code = cli_recorder_start_into(recorder, args, path);
    if (code == CLI_GO_ON) code = cli_recorder_run(recorder);
    if (code != CLI_GO_ON) return code;
    cli_child_wait(&recorder->child);
    return cli_recorder_end(recorder);
}

/* ---- several runs of the command: a set, whose files differ in their last number */

enum { RUNS_MOST = 50 };

typedef struct run_set {
    char stem[PATH_MAX];                            /* of the paths: without "-01.joulemap" */
    size_t count;                                   /* runs that succeeded */
    double energy_j[RUNS_MOST], seconds[RUNS_MOST]; /* of a steady step, else of the run */
    char kind[RUNS_MOST][160];                      /* what a step is; "": it has none */
} run_set;

static void set_path(const run_set *set, size_t run, char path[PATH_MAX + 32])
{
    snprintf(path, PATH_MAX + 32, "%s-%02zu.joulemap", set->stem, run + 1);
}

static int name_set(const cli_args *args, run_set *set)
{
    static const char suffix[] = ".joulemap";
    int code = cli_recorder_path(args, set->stem);
    size_t length = strlen(set->stem);
    if (length >= sizeof suffix && strcmp(set->stem + length - sizeof suffix + 1, suffix) == 0)
        set->stem[length - sizeof suffix + 1] = '\0';
    return code;
}

/* Takes the figures of a run into the set. */
static int add_run(const cli_args *args, run_set *set, const char *path)
{
    jm_recording *recording = NULL;
    jm_report *report = NULL;
    jm_error err = {0};
    jm_status status = open_report(path, &recording, &report, &err);
    if (status == JM_OK) {
        const jm_report_totals *t = jm_report_totals_get(report);
        bool steps = t->steady_steps > 1 && isfinite(t->steady_step_j);
        set->energy_j[set->count] = steps ? t->steady_step_j : t->total_energy_j;
        set->seconds[set->count] = steps ? t->steady_step_s : t->duration_s;
        if (steps)
            snprintf(set->kind[set->count], sizeof *set->kind, "%s of %s", t->step_name,
                     t->step_phase != NULL ? t->step_phase : "no phase");
        set->count++;
    }
    jm_report_free(report);
    jm_recording_close(recording);
    return status == JM_OK ? CLI_GO_ON : cli_fail(args, &err);
}

/* "86.5 ±0.4 J" */
static void print_mean(const jm_repeats *stats, const char *unit)
{
    static const struct {
        double size;
        const char *prefix;
    } scales[] = {{1e3, "k"}, {1, ""}, {1e-3, "m"}, {1e-6, "u"}};
    size_t s = unit[0] == 's'; /* nobody says kiloseconds */
    while (s + 1 < sizeof scales / sizeof *scales && fabs(stats->mean) < scales[s].size)
        s++;
    double half = (stats->high - stats->low) / 2 / scales[s].size, mean = stats->mean / scales[s].size;
    int decimals = half > 0 ? 1 - (int)floor(log10(half)) : 2;
    if (decimals < 0) decimals = 0;
    cli_message_part("%.*f", decimals, mean);
    if (isfinite(half)) cli_message_part(" ±%.*f", decimals, half);
    cli_message_part(" %s%s", scales[s].prefix, unit);
}

static void print_values(const run_set *set)
{
    double least = set->energy_j[0], size;
    for (size_t i = 1; i < set->count; i++)
        least = fmin(least, set->energy_j[i]);
    size = least >= 1 ? 1 : 1e-3;
    fputs("runs       ", stderr);
    for (size_t i = 0; i < set->count; i++)
        cli_message_part("%s%.4g", i > 0 ? ", " : "", set->energy_j[i] / size);
    cli_message_part(" %s", size < 1 ? "mJ" : "J");
}

static bool are_of_a_kind(const run_set *set)
{
    for (size_t i = 1; i < set->count; i++)
        if (strcmp(set->kind[i], set->kind[0]) != 0) return false;
    return true;
}

/* What the runs took, and how much they differ. */
static int print_set(const cli_args *args, const run_set *set)
{
    jm_repeats energy, time;
    jm_error err = {0};
    if (!are_of_a_kind(set))
        return cli_error(args, JM_USAGE, "compare runs of the same work",
                         "the runs have steps of different kinds: %s, and others", set->kind[0]);
    for (size_t i = 0; i < set->count; i++)
        if (!isfinite(set->energy_j[i]))
            return cli_error(args, JM_NOT_FOUND, "joulemap doctor says why",
                             "the energy of run %zu is not known", i + 1);
    if (jm_repeats_of(set->energy_j, set->count, &energy, &err) != JM_OK ||
        jm_repeats_of(set->seconds, set->count, &time, &err) != JM_OK)
        return cli_fail(args, &err);
    fputc('\n', stderr);
    cli_message_part("%-10s ", program_name(cli_command(args)));
    print_mean(&energy, "J");
    fputs(" and ", stderr);
    print_mean(&time, "s");
    cli_message_part("%s, mean of %zu runs", set->kind[0][0] != '\0' ? " a step" : "", set->count);
    fputc('\n', stderr);
    print_values(set);
    cli_message_part("; standard deviation %.2g %%", 100 * energy.deviation / energy.mean);
    fputc('\n', stderr);
    char *typed = cli_typed_path(set->stem);
    cli_message_part("more       joulemap diff %s-*.joulemap -- OTHERS", typed != NULL ? typed : "THESE");
    fputc('\n', stderr);
    free(typed);
    return 0;
}

/* The first run that fails is the last. */
static int run_several(const cli_args *args, size_t runs)
{
    static run_set set; /* large */
    int code = name_set(args, &set);
    for (size_t i = 0; code == CLI_GO_ON && i < runs; i++) {
        cli_recorder recorder;
        char path[PATH_MAX + 32];
        set_path(&set, i, path);
        code = record(args, &recorder, path);
        if (code != 0) {
            cli_message(args, "run %zu of %zu failed with exit code %d", i + 1, runs, code);
            return code;
        }
        code = add_run(args, &set, path);
    }
    return code == CLI_GO_ON ? print_set(args, &set) : code;
}

static int run_run(const cli_args *args)
{
    cli_recorder recorder = {0};
    long long runs = 1;
    if (!cli_get_number(args, "--repeat", 2, RUNS_MOST, &runs)) return jm_status_exit_code(JM_USAGE);
    if (runs > 1) return run_several(args, (size_t)runs);
    int code = record(args, &recorder, NULL);
    if (recorder.has_file) print_summary(&recorder);
    return code;
}

const cli_verb cli_verb_run = {
    .name = "run",
    .usage = "[options] COMMAND [ARG...]",
    .summary = "run a program and say what its steps take",
    .description =
        "Runs COMMAND as it is, and prints what a step of it took: joules, time, the dearest layers, "
        "waiting, "
        "and how that compares with the last run of the same command. Models of PyTorch are "
        "found, and so are steps. Only as many steps are traced as slow the program down by 1 % (--budget); "
        "the "
        "others count by what these took. The exit code is COMMAND's.\n\n"
        "The recording goes to the folder .joulemap of the project (where .git is, else here), which keeps "
        "the "
        "newest: 100 of them, 2 GB together. `joulemap report` and `export` take the newest if none is "
        "given.\n\n"
        "With --repeat N it runs N times, as one run does not show how much runs differ: it prints the mean "
        "of a step and the spread, and names the files, of which `joulemap diff` takes several a side.\n\n"
        "  joulemap run python train.py\n"
        "  joulemap run --repeat 5 python train.py\n"
        "  joulemap report\n"
        "  joulemap runs",
    .options = options,
    .looks_at_gpus = true,
    .takes_command = true,
    .keeps_runs = true,
    .run = run_run,
};
