/* Starts, records and ends a command as `joulemap record` does, and reports the energy of the run. */
#include "cli/recorder.h"

#include "cli/store.h"
#include "cli/verb.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BUDGET_LEAST 1e-4 /* below this, tracing gets less than a second an hour */
#define USUAL_BUDGET 0.01 /* of `joulemap run`: nobody runs a program that gets slower every time */
#define COUNTERS_S   1.8  /* seconds of each minute, for --counters without an argument */

int cli_recorder_path(const cli_args *args, char path[PATH_MAX])
{
    const char *given = cli_get(args, "--output");
    if (given != NULL && strlen(given) >= PATH_MAX)
        return cli_error(args, JM_LIMIT, "give a shorter one", "the path of the recording is too long");
    if (given == NULL && args->verb->keeps_runs) return cli_store_add(args, path);
    time_t now = time(NULL);
    struct tm local;
    char date[32] = "";
    if (localtime_r(&now, &local) != NULL) strftime(date, sizeof date, "%Y%m%d-%H%M%S", &local);
    if (given != NULL)
        snprintf(path, PATH_MAX, "%s", given);
    else
        snprintf(path, PATH_MAX, "joulemap-%s-%d.joulemap", date, (int)getpid());
    return CLI_GO_ON;
}

/* Another tool's injection stays, so our library is not loaded: report it. */
static void report_other_tool(const cli_args *args, const char *variable, const char *what)
{
    const char *present = getenv(variable);
    if (present == NULL || present[0] == '\0' || strstr(present, "libjoulemap_inject.so") != NULL) return;
    cli_message(args, "%s is set to %s already: %s are not traced; unset it to trace them", variable, present,
                what);
}

/* For jm_run_options.counters; with neither option the run decides (0). False after a usage error was
 * reported. */
static bool get_counters(const cli_args *args, double *seconds_a_minute)
{
    if (cli_has(args, "--counters") && cli_has(args, "--no-counters")) {
        cli_usage_error(args, "--counters and --no-counters contradict each other");
        return false;
    }
    *seconds_a_minute = cli_has(args, "--no-counters") ? -1 : cli_has(args, "--counters") ? COUNTERS_S : 0;
    return cli_get_real(args, "--counters", 0, 60, seconds_a_minute);
}

static jm_status start_run(jm_run **run, const jm_run_options *options, jm_error *err)
{
    jm_status status = jm_run_start(run, options, err);
    if (status != JM_OK || !jm_run_attached(*run)) return status;
    jm_run_free(*run);
    *run = NULL;
    return cli_set_error(
        err, JM_BUSY, "leave out the inner `joulemap record`; one recording holds all processes",
        "this command is being recorded already, by the recorder of %s", getenv("JOULEMAP_RUN"));
}

/* The injected library reads this variable (src/inject/nvtx.c). */
static bool set_domains(const cli_args *args)
{
    const char *list = cli_get(args, "--nvtx-domain");
    if (list == NULL) return true;
    if (list[0] != '\0' && strlen(list) < 1024) return setenv("JOULEMAP_NVTX_DOMAINS", list, 1) == 0;
    cli_usage_error(args, "--nvtx-domain takes names of NVTX domains with commas between, not \"%.40s\"%s",
                    list, list[0] == '\0' ? "" : "... (at most 1,023 bytes)");
    return false;
}

/* Note "child_pid", or "attached_pid". */
static void note(const cli_recorder *r, const char *what, int64_t value)
{
    char key[64], text[24];
    snprintf(key, sizeof key, "%s_%s", r->attached ? "attached" : "child", what);
    snprintf(text, sizeof text, "%" PRId64, value);
    jm_run_note(r->run, key, text, NULL);
}

static void report_end(const cli_args *args, const cli_child *child)
{
    if (child->signal != 0)
        cli_message(args, "the command was ended by signal %d (%s); all up to then is recorded",
                    child->signal, strsignal(child->signal));
    if (child->left_processes)
        cli_message(args,
                    "processes that the command started still run; what they do from now on is not recorded");
}

/* `path`: NULL: that of the options, or a new one. */
static int start_for(cli_recorder *r, const cli_args *args, const char *command, const char *path)
{
    static const double least_bytes = 10e6; /* the sampler alone takes 1 MB an hour, condensed */
    jm_error err;
    *r = (cli_recorder){.args = args};
    jm_run_options options = {.size = sizeof options,
                              .sim = cli_get(args, "--sim"),
                              .command = command,
                              .overwrite = cli_has(args, "--force"),
                              .child_kernels = !cli_has(args, "--no-kernels"),
                              .no_cpu = cli_has(args, "--no-cpu"),
                              .openacc = cli_has(args, "--openacc"),
                              .child_layers = args->verb->keeps_runs || cli_has(args, "--layers"),
                              .child_budget = args->verb->keeps_runs ? USUAL_BUDGET : 0};
    if (!get_counters(args, &options.counters) || !set_domains(args) ||
        !cli_get_share(args, "--budget", BUDGET_LEAST, &options.child_budget) ||
        !cli_get_duration(args, "--keep", 60, &options.keep_s) ||
        !cli_get_size(args, "--max-size", least_bytes, &options.max_bytes))
        return jm_status_exit_code(JM_USAGE);
    int code = path == NULL ? cli_recorder_path(args, r->name) : CLI_GO_ON;
    if (code != CLI_GO_ON) return code;
    options.path = r->path = path != NULL ? path : r->name;
    cli_child_prepare();
    return start_run(&r->run, &options, &err) == JM_OK ? CLI_GO_ON : cli_fail(args, &err);
}

int cli_recorder_start_for(cli_recorder *r, const cli_args *args, const char *command)
{
    return start_for(r, args, command, NULL);
}

int cli_recorder_start(cli_recorder *r, const cli_args *args)
{
    return cli_recorder_start_into(r, args, NULL);
}

int cli_recorder_start_into(cli_recorder *r, const cli_args *args, const char *path)
{
    char *command = cli_child_text(cli_command(args));
    int code = start_for(r, args, command, path);
    free(command);
    if (code != CLI_GO_ON) return code;
    if (!cli_has(args, "--no-kernels")) report_other_tool(args, "CUDA_INJECTION64_PATH", "kernels");
    report_other_tool(args, "NVTX_INJECTION64_PATH", "NVTX ranges");
    if (cli_has(args, "--openacc")) report_other_tool(args, "ACC_PROFLIB", "regions of OpenACC");
    report_other_tool(args, "KOKKOS_TOOLS_LIBS", "kernels and regions of Kokkos");
    return CLI_GO_ON;
}

void cli_recorder_discard(cli_recorder *r)
{
    jm_run_discard(r->run);
    r->run = NULL;
}

/* Note the process at once, so that the file has it even if this process is killed. */
static void keep(cli_recorder *r)
{
    jm_run_keep(r->run);
    note(r, "pid", r->child.pid);
    note(r, "start_ns", r->child.start_ns);
}

void cli_recorder_keep(cli_recorder *r, pid_t pid)
{
    r->child = (cli_child){.pid = pid, .start_ns = jm_now_ns()};
    r->attached = true;
    keep(r);
}

int cli_recorder_run(cli_recorder *r)
{
    jm_error err;
    if (cli_child_start(&r->child, cli_command(r->args), jm_run_environment(r->run), &err) != JM_OK) {
        cli_recorder_discard(r);
        cli_fail(r->args, &err);
        return r->child.exit_code;
    }
    keep(r);
    return CLI_GO_ON;
}

int cli_recorder_end(cli_recorder *r)
{
    jm_error err;
    if (r->attached) r->child.end_ns = jm_now_ns();
    note(r, "end_ns", r->child.end_ns);
    if (!r->attached) note(r, "exit_code", r->child.exit_code);
    if (r->child.signal != 0) note(r, "signal", r->child.signal);
    jm_status status = jm_run_stop(r->run, &err);
    cli_child_release(&r->child);
    if (!r->attached) report_end(r->args, &r->child);
    int code = r->child.exit_code;
    if (status != JM_OK) {
        int failure_code = cli_fail(r->args, &err);
        if (code == 0) code = failure_code;
    }
    jm_run_free(r->run);
    r->run = NULL;
    r->has_file = status != JM_NOT_FOUND;
    return code;
}

void cli_recorder_print_summary(const cli_recorder *r)
{
    if (!r->has_file) return;
    const char *path = r->path;
    const cli_child *child = &r->child;
    struct stat info;
    jm_recording *recording = NULL;
    jm_report *report = NULL;
    jm_error err;
    cli_progress("adding up");
    jm_status status = jm_recording_open(&recording, path, &err);
    if (status == JM_OK) status = cli_energy_report(&report, recording, child->start_ns, child->end_ns, &err);
    cli_progress(NULL);
    double duration_s = (double)(child->end_ns - child->start_ns) / 1e9;
    fprintf(stderr, "joulemap %s: %.2f s, ", r->args->verb->name, duration_s);
    if (status == JM_OK)
        cli_energy_print_total(stderr, jm_report_totals_get(report), duration_s);
    else
        cli_message_part("joules unknown (%s)", err.text);
    fputs(", ", stderr);
    double bytes = stat(path, &info) == 0 ? (double)info.st_size : 0;
    fprintf(stderr, bytes < 1e6 ? "%.0f kB" : "%.1f MB", bytes < 1e6 ? bytes / 1e3 : bytes / 1e6);
    if (strcmp(path, cli_scratch_recording()) != 0) { /* a scratch recording is removed at the end */
        char *typed = cli_typed_path(path);
        cli_message_part(" in %s", path);
        if (typed != NULL) cli_message_part("; next: joulemap report %s", typed);
        free(typed);
    }
    fputc('\n', stderr);
    jm_report_free(report);
    jm_recording_close(recording);
}

/* ---- the energy of a run, in one line */

jm_status cli_energy_report(jm_report **out, jm_recording *recording, int64_t from_ns, int64_t to_ns,
                            jm_error *err)
{
    jm_report_options options = {
        .size = sizeof options, .by = JM_BY_BOARD, .from_ns = from_ns, .to_ns = to_ns};
    return jm_report_create(out, recording, &options, err);
}

/* As many decimals as show one or two digits of the uncertainty. */
static int decimals_for(double half_width)
{
    if (!(half_width > 0)) return 1;
    return half_width >= 10 ? 0 : half_width >= 0.095 ? 1 : half_width >= 0.0095 ? 2 : 3;
}

void cli_energy_print(FILE *out, double energy_j, double low_j, double high_j, double duration_s)
{
    if (!isfinite(energy_j)) {
        fputs("energy not known", out);
        return;
    }
    double half_width = (high_j - low_j) / 2;
    int decimals = decimals_for(half_width);
    fprintf(out, "%.*f J", decimals, energy_j);
    if (isfinite(half_width)) fprintf(out, " (±%.*f)", decimals, half_width);
    if (duration_s > 0) fprintf(out, ", %.1f W", energy_j / duration_s);
}

void cli_energy_print_total(FILE *out, const jm_report_totals *totals, double requested_s)
{
    cli_energy_print(out, totals->total_energy_j, totals->total_low_j, totals->total_high_j,
                     totals->duration_s);
    if (isfinite(totals->total_energy_j) && totals->duration_s < 0.98 * requested_s)
        fprintf(out, " in the %.2f s that are recorded", totals->duration_s);
    if (totals->simulated) fputs(" (simulated GPU)", out);
}

/* ---- The scratch folder. Its paths are made beforehand, as a signal handler may remove it. */

static const int end_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { END_SIGNAL_COUNT = sizeof end_signals / sizeof *end_signals };

static char folder[PATH_MAX / 2];

static struct {
    char paths[CLI_RECORDING_FILES][PATH_MAX];
    volatile sig_atomic_t exists;
    struct sigaction before[END_SIGNAL_COUNT];
} scratch;

static void remove_all(void)
{
    for (int i = 0; i < CLI_RECORDING_FILES; i++)
        unlink(scratch.paths[i]);
    rmdir(folder);
}

static void on_end(int number)
{
    if (scratch.exists) remove_all();
    signal(number, SIG_DFL);
    raise(number); /* delivered once this handler returns */
}

static void watch_signals(void)
{
    struct sigaction action = {.sa_handler = on_end};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < END_SIGNAL_COUNT; i++) {
        sigaction(end_signals[i], NULL, &scratch.before[i]);
        if (scratch.before[i].sa_handler != SIG_IGN) sigaction(end_signals[i], &action, NULL);
    }
}

static void stop_watching(void)
{
    scratch.exists = 0;
    for (int i = 0; i < END_SIGNAL_COUNT; i++)
        sigaction(end_signals[i], &scratch.before[i], NULL);
}

int cli_scratch_make(const cli_args *args)
{
    const char *tmp = getenv("TMPDIR");
    int length = snprintf(folder, sizeof folder, "%s/joulemap-%s-XXXXXX",
                          tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp", args->verb->name);
    if (length >= (int)sizeof folder)
        return cli_error(args, JM_LIMIT, "set TMPDIR to another folder", "TMPDIR is too long a path");
    if (mkdtemp(folder) == NULL)
        return cli_error(args, JM_IO, "set TMPDIR to a folder that can be written",
                         "cannot make a folder %s: %s", folder, strerror(errno));
    for (int i = 0; i < CLI_RECORDING_FILES; i++)
        snprintf(scratch.paths[i], PATH_MAX, "%s/%s.joulemap%s", folder, args->verb->name,
                 cli_recording_files[i]);
    watch_signals();
    scratch.exists = 1;
    return CLI_GO_ON;
}

const char *cli_scratch_recording(void)
{
    return scratch.paths[0];
}

void cli_scratch_remove(void)
{
    if (!scratch.exists) return;
    remove_all();
    stop_watching();
}

void cli_scratch_keep(void)
{
    if (scratch.exists) stop_watching();
}
