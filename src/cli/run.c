/* `joulemap run`: record a command into the project's store, and say what it took. */
#include "cli/recorder.h"
#include "cli/store.h"
#include "cli/verb.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const cli_option options[] = {
    {"--output", 'o', "FILE", "the recording (default: a new one in .joulemap, which keeps the newest)",
     NULL},
    {"--force", 'f', NULL, "replace an existing recording", NULL},
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

static int run_run(const cli_args *args)
{
    cli_recorder recorder;
    int code = cli_recorder_start(&recorder, args);
    if (code == CLI_GO_ON) code = cli_recorder_run(&recorder);
    if (code != CLI_GO_ON) return code;
    cli_child_wait(&recorder.child);
    code = cli_recorder_end(&recorder);
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
        "  joulemap run python train.py\n"
        "  joulemap report\n"
        "  joulemap runs",
    .options = options,
    .looks_at_gpus = true,
    .takes_command = true,
    .keeps_runs = true,
    .run = run_run,
};
