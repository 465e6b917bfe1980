/* `joulemap export`: all rows of a view in a format for other programs. */
#include "cli/verb.h"
#include "cli/view.h"

#include <string.h>
#include <unistd.h>

static jm_status write_to(const cli_args *args, jm_recording *recording, const jm_report_options *options,
                          FILE *to, jm_error *err)
{
    FILE *out = cli_data_open(to);
    jm_status status =
        out == NULL ? JM_OK : jm_export(recording, cli_get(args, "--format"), options, out, err);
    cli_data_close(out, to);
    return status;
}

static int export_to_stdout(const cli_args *args, jm_recording *recording, const jm_report_options *options)
{
    jm_error err = {0};
    jm_status status = write_to(args, recording, options, stdout, &err);
    if (status == JM_OK) return 0;
    if (!ferror(stdout)) return cli_fail(args, &err);
    cli_write_failed((int)err.code);
    return 0;
}

static int export_to_file(const cli_args *args, jm_recording *recording, const jm_report_options *options,
                          const char *path)
{
    jm_error err = {0};
    cli_whole_file file;
    jm_status status = cli_whole_file_open(&file, path, &err);
    if (status == JM_OK) {
        status = write_to(args, recording, options, file.stream, &err);
        status = cli_whole_file_close(&file, status, &err);
    }
    return status == JM_OK ? 0 : cli_fail(args, &err);
}

/* Binary data can put a terminal into an odd state. */
static bool refuse_terminal(const cli_args *args)
{
    const char *format = cli_get(args, "--format");
    if (!jm_export_is_binary(format) || !isatty(STDOUT_FILENO)) return false;
    cli_message(args, "%s is bytes, not text for a terminal: give a file, -o FILE", format);
    return true;
}

static int run(const cli_args *args)
{
    jm_recording *recording;
    jm_report_options options;
    const char *path = cli_get(args, "--output");
    bool to_stdout = path == NULL || strcmp(path, "-") == 0;
    if (to_stdout && refuse_terminal(args)) return jm_status_exit_code(JM_USAGE);
    int code = cli_view_open(args, 0, &recording, &options);
    if (code != CLI_GO_ON) return code;
    options.kernels = cli_has(args, "--kernels");
    cli_progress("fitting power to kernels");
    code = to_stdout ? export_to_stdout(args, recording, &options)
                     : export_to_file(args, recording, &options, path);
    if (code == 0) cli_view_warn_of_damage(args, 0, recording);
    jm_recording_close(recording);
    return code;
}

static const char formats[] =
#define X(name) "|" #name
    JM_EXPORT_FORMAT_MAP(X);
#undef X

static const cli_option options_table[] = {
    {"--format", 'f', "FORMAT", "format of the export", formats + 1},
    {"--output", 'o', "FILE", "write to FILE, which appears only when it is whole (default: standard output)",
     NULL},
    CLI_VIEW_OPTIONS(cli_view_keys + 1),
    {"--kernels", 0, NULL, "the kernels of a row, each as a row inside it (pprof has them always)", NULL},
    {0},
};

const cli_verb cli_verb_export = {
    .name = "export",
    .usage = "[FILE] --format FORMAT [options]",
    .summary = "write a recording's rows for other programs",
    .description =
        "Writes all rows of a view, with every figure in full. CSV has a header with the unit in each name, "
        "and an empty field where there is no figure. JSON is that of `joulemap report --json`. For flame "
        "graphs of joules there are folded stacks (flamegraph.pl, speedscope); perfetto (and chrome, the "
        "same as JSON) is a trace of spans, kernels, power, clock and hardware counters; pprof has joules "
        "and time by layer and kernel. OpenMetrics has a counter a row.\n\n"
        "  joulemap export gpt.joulemap --format csv --by kernel -o kernels.csv\n"
        "  joulemap export gpt.joulemap --format folded | flamegraph.pl --countname uJ >gpt.svg\n",
    .options = options_table,
    .required = "--format",
    .takes_newest = true,
    .max_operands = 1,
    .run = run,
};
