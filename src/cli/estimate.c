/* `joulemap estimate`: power and energy of kernels from counters, without a power sensor. */
#include "cli/child.h"
#include "cli/verb.h"

#include <joulemap/estimate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { USUAL_ROWS = 50 };

static int show(const cli_args *args, jm_status status, char *text, const jm_error *err)
{
    if (status != JM_OK) return cli_fail(args, err);
    cli_write_data(text);
    size_t length = strlen(text);
    if (length > 0 && text[length - 1] != '\n') cli_write("\n");
    free(text);
    return 0;
}

static int tell_metrics(const cli_args *args)
{
    jm_error err = {0};
    char *text = NULL;
    jm_status status = jm_estimate_metrics(cli_get(args, "--model"), &text, &err);
    return show(args, status, text, &err);
}

static int train(const cli_args *args)
{
    jm_error err = {0};
    jm_training *training;
    jm_train_options options = {.size = sizeof options,
                                .features = cli_get(args, "--train"),
                                .power = cli_get(args, "--power"),
                                .path = cli_get(args, "--output")};
    char *text = NULL;
    cli_progress("training, and leaving out each kernel in turn");
    jm_status status = jm_estimate_train(&training, &options, &err);
    cli_progress(NULL);
    if (status != JM_OK) return cli_fail(args, &err);
    status = cli_has(args, "--json") ? jm_training_json(training, &text, &err)
                                     : jm_training_text(training, &text, &err);
    jm_training_free(training);
    return show(args, status, text, &err);
}

static size_t rows_of(const cli_args *args, int *code)
{
    long long limit = USUAL_ROWS;
    if (!cli_get_number(args, "--limit", 1, 1000000000, &limit)) *code = jm_status_exit_code(JM_USAGE);
    return cli_has(args, "--all") ? 0 : (size_t)limit;
}

static int estimate(const cli_args *args, const char *csv)
{
    jm_error err = {0};
    jm_estimate *made;
    char *text = NULL;
    int code = 0;
    size_t limit = rows_of(args, &code);
    jm_estimate_options options = {.size = sizeof options, .csv = csv, .model = cli_get(args, "--model")};
    options.board = cli_get(args, "--board");
    if (code != 0) return code;
    if (!cli_get_real(args, "--clock", 0, 1e5, &options.clock_mhz) ||
        !cli_get_real(args, "--program", 0, 1e9, &options.program_s))
        return jm_status_exit_code(JM_USAGE);
    const char *power_limit = cli_get(args, "--power-limit");
    if (power_limit != NULL && strcmp(power_limit, "none") == 0)
        options.limit_w = INFINITY;
    else if (!cli_get_real(args, "--power-limit", 0, 1e5, &options.limit_w))
        return jm_status_exit_code(JM_USAGE);
    if (jm_estimate_make(&made, &options, &err) != JM_OK) return cli_fail(args, &err);
    size_t width = isatty(STDOUT_FILENO) ? (size_t)cli_terminal_width(STDOUT_FILENO) : 0;
    const char *format = cli_get(args, "--format");
    bool as_csv = format != NULL && strcmp(format, "csv") == 0;
    bool features = format != NULL && strcmp(format, "features") == 0;
    bool json = cli_has(args, "--json") || (format != NULL && strcmp(format, "json") == 0);
    jm_status status = features ? jm_estimate_features_csv(made, &text, &err)
                       : as_csv ? jm_estimate_csv(made, &text, &err)
                       : json   ? jm_estimate_json(made, &text, &err)
                                : jm_estimate_text(made, width, limit, &text, &err);
    jm_estimate_free(made);
    return show(args, status, text, &err);
}

enum { WORDS_MAX = 64 };

/* "--launch-count 100" as words. False: there are too many. */
static bool split(char *text, const char *words[WORDS_MAX + 1])
{
    char *rest = NULL;
    size_t count = 0;
    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        if (count == WORDS_MAX) return false;
        words[count++] = word;
    }
    words[count] = NULL;
    return true;
}

static bool pass_signals_on(void *context, int64_t ncu_pid)
{
    (void)context;
    cli_child_pass_signals_on((pid_t)ncu_pid);
    return true;
}

static int count_kernels(const cli_args *args, const char *csv, int *program)
{
    char *text = strdup(cli_has(args, "--ncu-options") ? cli_get(args, "--ncu-options") : "");
    const char *words[WORDS_MAX + 1];
    jm_error err = {0};
    jm_estimate_profile_options options = {.size = sizeof options,
                                           .command = (const char *const *)cli_command(args),
                                           .csv = csv,
                                           .page = cli_get(args, "--page"),
                                           .model = cli_get(args, "--model"),
                                           .arguments = words,
                                           .goes_on = pass_signals_on};
    if (text == NULL || !split(text, words)) {
        free(text);
        return cli_error(args, JM_NO_MEMORY, "", "out of memory, or too many --ncu-options");
    }
    if (!cli_get_real(args, "--timeout", 0, 1e9, &options.timeout_s)) {
        free(text);
        return jm_status_exit_code(JM_USAGE);
    }
    cli_child child = {0};
    cli_child_prepare();
    jm_status status = jm_estimate_profile(&options, program, &err);
    cli_child_release(&child);
    free(text);
    return status == JM_OK ? 0 : cli_fail(args, &err);
}

/* Run a program under ncu, then say what it draws. */
static int count_and_estimate(const cli_args *args)
{
    char own[] = "/tmp/joulemap-estimate-XXXXXX";
    const char *format = cli_get(args, "--format"), *csv = cli_get(args, "--keep-counters");
    int program = 0, file = -1;
    if (csv == NULL && (file = mkstemp(own)) < 0)
        return cli_error(args, JM_IO, "", "no file can be made in /tmp for what ncu counts");
    if (csv == NULL) csv = own;
    int code = count_kernels(args, csv, &program);
    if (code == 0 && (format == NULL || strcmp(format, "none") != 0)) code = estimate(args, csv);
    if (file >= 0) {
        close(file);
        unlink(own);
    }
    return code == 0 ? program : code;
}

static const char *const of_ncu[] = {"--keep-counters", "--page", "--timeout", "--ncu-options"};

static int run(const cli_args *args)
{
    bool csv = cli_has(args, "--csv"), trains = cli_has(args, "--train"),
         metrics = cli_has(args, "--metrics");
    bool counts = cli_command(args) != NULL;
    if (csv + trains + metrics + counts != 1)
        return cli_usage_error(args,
                               "one of --csv FILE, --train FEATURES, --metrics and -- COMMAND is needed");
    for (size_t i = 0; !counts && i < sizeof of_ncu / sizeof of_ncu[0]; i++)
        if (cli_has(args, of_ncu[i])) return cli_usage_error(args, "%s goes with -- COMMAND", of_ncu[i]);
    if (!trains && (cli_has(args, "--power") || cli_has(args, "--output")))
        return cli_usage_error(args, "--power and --output go with --train");
    if (metrics) return tell_metrics(args);
    if (counts) return count_and_estimate(args);
    return trains ? train(args) : estimate(args, cli_get(args, "--csv"));
}

static const cli_option options_table[] = {
    {"--csv", 0, "FILE",
     "what Nsight Compute printed: ncu --csv --page raw (or details); or features, for a trained model", NULL,
     false},
    {"--model", 0, "MODEL",
     "file of a board's model (joulemap calibrate -o) or of a trained one, or h100, h200 (default: "
     "what calibrate keeps for the file's board, else what is shipped for its kind)",
     NULL, false},
    {"--clock", 0, "MHZ", "for this clock of the multiprocessors (default: what they run at by themselves)",
     NULL, false},
    {"--board", 0, "NAME",
     "what if it ran on another kind of board of the chip: h100, h200, h100-pcie, h100-nvl (marked "
     "extrapolated)",
     NULL, false},
    {"--program", 0, "SECONDS", "how long the program takes: gaps between kernels are counted as idle", NULL,
     false},
    {"--power-limit", 0, "WATTS",
     "that the mean of all kernels does not pass, or none (default: usual on the board)", NULL, false},
    {"--train", 0, "FEATURES", "learn a model: CSV, kernel,[family,][duration_s,]FEATURE...", NULL, false},
    {"--power", 0, "POWER",
     "what those kernels draw: CSV, kernel,power_w[,u_w] (default: a column of FEATURES)", NULL, false},
    {"--output", 'o', "FILE", "write the trained model to FILE", NULL, false},
    {"--metrics", 0, NULL, "print what ncu has to count for the model, for its --metrics", NULL, false},
    {"--json", 0, NULL, "everything as JSON (docs/schema/estimate.schema.json)", NULL, false},
    {"--format", 0, "FORMAT",
     "text, json, csv (a line a kernel), features (what the model asks of each kernel, as CSV), none",
     "text|json|csv|features|none", false},
    {"--keep-counters", 0, "FILE", "with -- COMMAND: keep there what ncu counted", NULL, false},
    {"--page", 0, "PAGE", "with -- COMMAND: which page of ncu's (default: raw)", "raw|details", false},
    {"--timeout", 0, "SECONDS", "with -- COMMAND: end it after so long", NULL, false},
    {"--ncu-options", 0, "WORDS", "with -- COMMAND: for ncu: --ncu-options=\"--launch-count 100\"", NULL,
     false},
    {"--limit", 0, "ROWS", "so many kernels of most energy in the table (default: 50)", NULL, false},
    {"--all", 0, NULL, "all kernels in the table", NULL, false},
    {0},
};

const cli_verb cli_verb_estimate = {
    .name = "estimate",
    .usage =
        "--csv FILE [options] | [options] -- COMMAND [ARG...] | --train FEATURES [--power POWER] [-o MODEL]",
    .may_take_command = true,
    .summary = "power and energy of kernels from Nsight Compute's counters",
    .description =
        "Says what kernels draw without measuring it: Nsight Compute has counted what they do, and a model "
        "of the board "
        "(joulemap calibrate) knows what that is worth in watts. Rows are in the file's order. ncu runs "
        "kernels at the "
        "board's base clock and with cold caches, unless it was told otherwise; figures are for a normal "
        "run. Ranges hold "
        "90 %; their lower end admits constant data, which draw less and which no counter sees.\n"
        "\n"
        "  joulemap estimate -- ./program --size 4\n"
        "  ncu --csv --page raw --metrics \"$(joulemap estimate --metrics)\" ./program >counters.csv\n"
        "  joulemap estimate --csv counters.csv\n"
        "\n"
        "With --train it learns a model of any chip from features of kernels and their watts, and says how "
        "far off such a "
        "model is for kernels that it has not seen.\n"
        "\n"
        "  joulemap estimate --train features.csv --power power.csv -o model.json\n"
        "  joulemap estimate --csv others.csv --model model.json\n",
    .options = options_table,
    .run = run,
};
