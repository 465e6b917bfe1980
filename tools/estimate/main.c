/* `joulemap estimate`: power and energy of kernels from counters, without a power sensor. */
#include "cli/child.h"
#include "cli/verb.h"

#include <joulemap/estimate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_ROWS = 50 };

static int print_text(const cli_args *args, jm_status status, char *text, const jm_error *err)
{
    if (status != JM_OK) return cli_fail(args, err);
    cli_write_data(text);
    size_t length = strlen(text);
    if (length > 0 && text[length - 1] != '\n') cli_write("\n");
    free(text);
    return 0;
}

static int print_metrics(const cli_args *args)
{
    jm_error err = {0};
    char *text = NULL;
    jm_status status = jm_estimate_metrics(cli_get(args, "--model"), &text, &err);
    return print_text(args, status, text, &err);
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
    return print_text(args, status, text, &err);
}

static int estimate(const cli_args *args, const char *csv)
{
    jm_error err = {0};
    jm_estimate *result;
    char *text = NULL;
    long long limit = DEFAULT_ROWS;
    jm_estimate_options options = {.size = sizeof options, .csv = csv, .model = cli_get(args, "--model")};
    options.board = cli_get(args, "--board");
    if (!cli_get_number(args, "--limit", 1, 1000000000, &limit) ||
        !cli_get_real(args, "--clock", 0, 1e5, &options.clock_mhz) ||
        !cli_get_real(args, "--program", 0, 1e9, &options.program_s))
        return jm_status_exit_code(JM_USAGE);
    const char *power_limit = cli_get(args, "--power-limit");
    if (power_limit != NULL && strcmp(power_limit, "none") == 0)
        options.limit_w = INFINITY;
    else if (!cli_get_real(args, "--power-limit", 0, 1e5, &options.limit_w))
        return jm_status_exit_code(JM_USAGE);
    if (jm_estimate_make(&result, &options, &err) != JM_OK) return cli_fail(args, &err);
    size_t width = isatty(STDOUT_FILENO) ? (size_t)cli_terminal_width(STDOUT_FILENO) : 0;
    size_t rows = cli_has(args, "--all") ? 0 : (size_t)limit;
    const char *format = cli_get(args, "--format");
    bool as_csv = format != NULL && strcmp(format, "csv") == 0;
    bool features = format != NULL && strcmp(format, "features") == 0;
    bool json = cli_has(args, "--json") || (format != NULL && strcmp(format, "json") == 0);
    jm_status status = features ? jm_estimate_features_csv(result, &text, &err)
                       : as_csv ? jm_estimate_csv(result, &text, &err)
                       : json   ? jm_estimate_json(result, &text, &err)
                                : jm_estimate_text(result, width, rows, &text, &err);
    jm_estimate_free(result);
    return print_text(args, status, text, &err);
}

enum { WORDS_MAX = 64 };

/* Split "--launch-count 100" at blanks. False: too many words. */
static bool split_words(char *text, const char *words[WORDS_MAX + 1])
{
    char *rest = NULL;
    for (size_t count = 0; count <= WORDS_MAX; text = NULL)
        if ((words[count++] = strtok_r(text, " ", &rest)) == NULL) return true;
    return false;
}

static bool pass_signals_on(void *context, int64_t ncu_pid)
{
    (void)context;
    cli_child_pass_signals_on((pid_t)ncu_pid);
    return true;
}

static int profile(const cli_args *args, const char *csv, int *program)
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
    int code = 0;
    if (text == NULL || !split_words(text, words))
        code = cli_error(args, JM_NO_MEMORY, "", "out of memory, or too many --ncu-options");
    else if (!cli_get_real(args, "--timeout", 0, 1e9, &options.timeout_s))
        code = jm_status_exit_code(JM_USAGE);
    if (code == 0) {
        cli_child child = {0};
        cli_child_prepare();
        jm_status status = jm_estimate_profile(&options, program, &err);
        cli_child_release(&child);
        if (status != JM_OK) code = cli_fail(args, &err);
    }
    free(text);
    return code;
}

/* Run a program under ncu, then estimate its power. */
static int profile_and_estimate(const cli_args *args)
{
    char temporary[] = "/tmp/joulemap-estimate-XXXXXX";
    const char *format = cli_get(args, "--format"), *csv = cli_get(args, "--keep-counters");
    int program = 0, file = -1;
    if (csv == NULL && (file = mkstemp(temporary)) < 0)
        return cli_error(args, JM_IO, "", "no file can be made in /tmp for ncu's counters");
    if (csv == NULL) csv = temporary;
    int code = profile(args, csv, &program);
    if (code == 0 && (format == NULL || strcmp(format, "none") != 0)) code = estimate(args, csv);
    if (file >= 0) {
        close(file);
        unlink(temporary);
    }
    return code == 0 ? program : code;
}

static const char *const ncu_options[] = {"--keep-counters", "--page", "--timeout", "--ncu-options"};

static int run(const cli_args *args)
{
    bool csv = cli_has(args, "--csv"), trains = cli_has(args, "--train"),
         metrics = cli_has(args, "--metrics");
    bool profiles = cli_command(args) != NULL;
    if (csv + trains + metrics + profiles != 1)
        return cli_usage_error(args,
                               "one of --csv FILE, --train FEATURES, --metrics and -- COMMAND is needed");
    for (size_t i = 0; !profiles && i < sizeof ncu_options / sizeof ncu_options[0]; i++)
        if (cli_has(args, ncu_options[i]))
            return cli_usage_error(args, "%s goes with -- COMMAND", ncu_options[i]);
    if (!trains && (cli_has(args, "--power") || cli_has(args, "--output")))
        return cli_usage_error(args, "--power and --output go with --train");
    if (metrics) return print_metrics(args);
    if (profiles) return profile_and_estimate(args);
    return trains ? train(args) : estimate(args, cli_get(args, "--csv"));
}

int main(int argc, char **argv)
{
    return cli_tool_main(&cli_verb_estimate, run, argc, argv);
}
