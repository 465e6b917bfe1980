/* `joulemap runs`: the recordings of the project's store. */
#include "cli/store.h"
#include "cli/verb.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const cli_option options[] = {
    {"--json", 'j', NULL, "print JSON in place of a table", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

/* What is known of a run without a fit. */
typedef struct run_facts {
    char path[PATH_MAX];
    char when[24];
    double size_mb, duration_s, energy_j;
    char *command; /* NULL: unknown, or the recording cannot be read */
} run_facts;

static double number_of(const jm_recording *recording, const char *key)
{
    const char *text = jm_recording_meta(recording, key);
    return text != NULL ? strtod(text, NULL) : NAN;
}

static void read_run(run_facts *run)
{
    struct stat info;
    struct tm local;
    jm_recording *recording;
    jm_error err;
    jm_sum sum;
    if (stat(run->path, &info) == 0) {
        run->size_mb = (double)info.st_size / 1e6;
        if (localtime_r(&info.st_mtime, &local) != NULL)
            strftime(run->when, sizeof run->when, "%Y-%m-%d %H:%M", &local);
    }
    if (jm_recording_open(&recording, run->path, &err) != JM_OK) return;
    const char *command = jm_recording_meta(recording, "command");
    if (command != NULL) run->command = strdup(command);
    double start_ns = number_of(recording, "child_start_ns"), end_ns = number_of(recording, "child_end_ns");
    run->duration_s = 1e-9 * (end_ns - start_ns);
    if (jm_recording_energy(recording, 0, INT64_MIN, INT64_MAX, &sum, &err) == JM_OK)
        run->energy_j = sum.energy_j;
    jm_recording_close(recording);
}

static json_t *json_of(const run_facts *run)
{
    char path[PATH_MAX], command[4096];
    jm_text_printable(path, sizeof path, run->path); /* JSON holds UTF-8 alone */
    jm_text_printable(command, sizeof command, run->command != NULL ? run->command : "");
    return json_pack("{s:s, s:s, s:s?, s:o, s:o, s:o}", "path", path, "when", run->when, "command",
                     run->command != NULL ? command : NULL, "duration_s", cli_json_number(run->duration_s),
                     "energy_j", cli_json_number(run->energy_j), "size_mb", cli_json_number(run->size_mb));
}

static void print_number(double value, int width, int decimals)
{
    if (isnan(value))
        printf(" %*s", width, "-");
    else
        printf(" %*.*f", width, decimals, value);
}

/* Print what fits of a text, with "..." where it was cut. */
static void print_cut(const char *text, int columns)
{
    int length = (int)strlen(text);
    if (length <= columns) {
        puts(text);
        return;
    }
    for (length = columns - 3; length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80;)
        length--; /* not inside of a character */
    printf("%.*s...\n", length, text);
}

static void print_of(const run_facts *run, int width)
{
    enum { BEFORE = 44 }; /* columns before the command */
    char command[1024];
    printf("%s", run->when);
    print_number(run->duration_s, 8, 1);
    print_number(run->energy_j, 9, 1);
    print_number(run->size_mb, 6, 1);
    jm_text_printable(command, sizeof command, run->command != NULL ? run->command : "(cannot be read)");
    fputs("  ", stdout);
    print_cut(command, width > BEFORE + 16 ? width - BEFORE : 16);
}

static int run_runs(const cli_args *args)
{
    cli_store store;
    int code = cli_store_open(args, &store), width = cli_terminal_width(STDOUT_FILENO);
    bool json = cli_has(args, "--json");
    json_t *all = json ? json_array() : NULL;
    if (code == CLI_GO_ON && !json) printf("%-16s %8s %9s %6s  %s\n", "when", "s", "J", "MB", "command");
    for (size_t i = 0; code == CLI_GO_ON && i < store.count; i++) {
        run_facts run = {.duration_s = NAN, .energy_j = NAN};
        cli_store_path(&store, i, run.path);
        read_run(&run);
        json ? (void)json_array_append_new(all, json_of(&run)) : print_of(&run, width);
        free(run.command);
    }
    if (code == CLI_GO_ON && !json) printf("in %s, the newest first\n", store.folder);
    char folder[PATH_MAX];
    jm_text_printable(folder, sizeof folder, store.folder);
    if (code == CLI_GO_ON)
        code = json ? cli_json_write(args, json_pack("{s:s, s:O}", "folder", folder, "runs", all)) : 0;
    json_decref(all);
    cli_store_free(&store);
    return code;
}

const cli_verb cli_verb_runs = {
    .name = "runs",
    .usage = "[options]",
    .summary = "list the runs of this project",
    .description =
        "Lists the recordings that `joulemap run` made in this project, the newest first: when, how long "
        "the command ran, joules of all boards, size of the file.\n\n"
        "  joulemap runs",
    .options = options,
    .run = run_runs,
};
