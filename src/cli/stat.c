/* `joulemap stat`: run a command and say what it took. */
#include "cli/interval.h"
#include "cli/json.h"
#include "cli/repeat.h"
#include "cli/stat_run.h"

#include <stdlib.h>

enum { MOST_RUNS = 10000 };

/* A sensor answers ten times a second: of less time nothing is told. */
#define LEAST_INTERVAL_S 0.1

#define FLUSH_TIMEOUT_MS 5000 /* a recorder commits twice a second: that late, it stands still */

static const cli_option options[] = {
    {"--repeat", 'r', "N", "run it N times, and say what they take together", NULL, false},
    {"--interval", 'i', "S",
     "while it runs, every S seconds (0.1 or more) a line of what was taken since the line before", NULL,
     false},
    {"--json", 0, NULL, "print a JSON object on stdout", NULL, false},
    CLI_SIM_OPTION,
    {"--no-cpu", 0, NULL, "do not read the CPU's energy", NULL, false},
    {NULL, 0, NULL, NULL, NULL, false},
};

/* The command, once or several times, while the boards are read. */
typedef struct session {
    const cli_args *args;
    jm_run *run;
    cli_child *children; /* [wanted] */
    size_t wanted;
    double interval_s; /* 0: nothing is said on the way */
    size_t count;      /* that ran */
    bool vanished;     /* the one after them could not be started */
    int exit_code;     /* of the last one, or why it could not be started */
} session;

/* Said at once: what was measured before may take a moment. */
static void tell_vanished(session *s, jm_error *err)
{
    char text[sizeof err->text];
    snprintf(text, sizeof text, "%s", err->text);
    if (s->count > 0)
        snprintf(err->text, sizeof err->text, "run %zu of %zu: %.400s", s->count + 1, s->wanted, text);
    cli_fail(s->args, err);
    s->exit_code = s->children[s->count].exit_code;
    s->vanished = true;
}

/* One that fails, or cannot be started, is the last. */
static void run_all(session *s)
{
    jm_error err;
    while (s->count < s->wanted && s->exit_code == 0) {
        cli_child *child = &s->children[s->count];
        if (cli_child_start(child, cli_command(s->args), jm_run_environment(s->run), &err) != JM_OK) {
            tell_vanished(s, &err);
            return;
        }
        if (s->interval_s > 0)
            cli_interval_wait(s->args, s->run, child, s->interval_s);
        else
            cli_child_wait(child);
        s->exit_code = child->exit_code;
        s->count++;
    }
}

static int print_runs(const session *s, const cli_stat_run *runs)
{
    size_t whole = s->count - (s->exit_code != 0 && !s->vanished ? 1 : 0);
    if (s->wanted > 1 && whole > 0)
        return cli_repeat_print(s->args, runs, whole, s->wanted,
                                s->vanished ? "could not be started" : "failed");
    if (s->wanted > 1) cli_tell(s->args, "the first of %zu runs failed, so there is no other", s->wanted);
    if (cli_has(s->args, "--json") && s->interval_s > 0)
        return cli_json_write_line(s->args, cli_stat_run_json(&runs[0]));
    if (cli_has(s->args, "--json")) return cli_json_write(s->args, cli_stat_run_json(&runs[0]));
    cli_stat_run_print(&runs[0]);
    return 0;
}

static int print_result(const session *s)
{
    jm_recording *recording;
    jm_error err;
    cli_stat_run *runs = calloc(s->count, sizeof *runs);
    if (runs == NULL) return cli_error(s->args, JM_NO_MEMORY, "", "out of memory");
    jm_status status = jm_run_recording(s->run, &recording, &err);
    for (size_t i = 0; status == JM_OK && i < s->count; i++)
        status = cli_stat_run_of(&runs[i], recording, &s->children[i], &err);
    int code = status == JM_OK ? print_runs(s, runs) : cli_fail(s->args, &err);
    for (size_t i = 0; i < s->count; i++)
        cli_stat_run_free(&runs[i]);
    free(runs);
    return code;
}

static int measure(session *s)
{
    jm_error err;
    run_all(s);
    if (s->count == 0) return s->exit_code;
    /* Under another recorder its newest readings are asked for; our own come with the stop. */
    jm_status status =
        jm_run_attached(s->run) ? jm_run_flush(s->run, FLUSH_TIMEOUT_MS, &err) : jm_run_stop(s->run, &err);
    cli_child_release(&s->children[s->count - 1]);
    int code = status == JM_OK ? print_result(s) : cli_fail(s->args, &err);
    return s->exit_code != 0 ? s->exit_code : code;
}

static int run_stat(const cli_args *args)
{
    jm_run_options run_options = {.size = sizeof run_options,
                                  .sim = cli_get(args, "--sim"),
                                  .no_cpu = cli_has(args, "--no-cpu"),
                                  .sampling_only = true};
    long long wanted = 1;
    jm_error err;
    if (!cli_get_number(args, "--repeat", 1, MOST_RUNS, &wanted)) return jm_status_exit_code(JM_USAGE);
    double interval_s = 0;
    if (!cli_get_real(args, "--interval", 0, 86400, &interval_s)) return jm_status_exit_code(JM_USAGE);
    if (interval_s > 0 && interval_s < LEAST_INTERVAL_S)
        return cli_usage_error(
            args, "option \"--interval\" cannot be \"%s\": of less than %g s no sensor tells anything",
            cli_get(args, "--interval"), LEAST_INTERVAL_S);
    if (interval_s > 0 && wanted > 1)
        return cli_usage_error(args, "--interval is for one run, so there is no place for --repeat");
    session s = {.args = args, .wanted = (size_t)wanted, .interval_s = interval_s};
    s.children = calloc(s.wanted, sizeof *s.children);
    if (s.children == NULL) return cli_error(args, JM_NO_MEMORY, "", "out of memory");
    cli_child_prepare();
    int code = jm_run_start(&s.run, &run_options, &err) == JM_OK ? measure(&s) : cli_fail(args, &err);
    jm_run_free(s.run);
    free(s.children);
    return code;
}

const cli_verb cli_verb_stat = {
    .name = "stat",
    .usage = "[options] -- COMMAND [ARG...]",
    .summary = "run a command and say what energy it took",
    .description =
        "Runs COMMAND and prints time, energy with its 95 % interval, and mean power, then a line for each "
        "GPU and, if it can be read, the CPU. Nothing is written to disk. The exit code is COMMAND's.\n\n"
        "The line goes to stderr, as COMMAND's output may go to stdout; with --json an object goes to "
        "stdout.\n\n"
        "With --repeat N it runs N times, and the mean of energy, time and power is told with its 95 % "
        "interval, by "
        "the spread of the runs, standard deviation and median. First runs that are not like those after "
        "them "
        "(a warm-up) are in no figure; outliers are named, and so is a drift from run to run, as a GPU that "
        "gets "
        "warm has it. A run that fails is the last.\n\n"
        "With --interval S a line every S seconds says what was taken since the line before; with --json "
        "each is "
        "an object on a line of its own, and so is the last one, of the whole run.\n\n"
        "The interval of a single run is relative to the GPU's own sensor; how true that sensor is in itself "
        "is told in "
        "docs/accuracy.md.\n\n"
        "  joulemap stat -- python train.py\n"
        "  joulemap stat -r 10 -- python train.py\n"
        "  joulemap stat -i 1 -- python serve.py",
    .options = options,
    .looks_at_gpus = true,
    .takes_command = true,
    .run = run_stat,
};
