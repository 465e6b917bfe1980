/* `joulemap import`: a recording from CSV files. */
#include "cli/verb.h"

#include <stddef.h>

static int run(const cli_args *args)
{
    const char *readings = cli_get(args, "--readings"), *segments = cli_get(args, "--segments");
    const char *kernels = cli_get(args, "--kernels");
    if (readings == NULL && segments == NULL && kernels == NULL)
        return cli_usage_error(args, "give at least one of --readings, --segments and --kernels");
    jm_error err;
    cli_progress("reading and writing");
    jm_status status = jm_recording_import(cli_get(args, "--output"), cli_has(args, "--force"),
                                           cli_get(args, "--board"), readings, segments, kernels, &err);
    cli_progress(NULL);
    return status == JM_OK ? 0 : cli_fail(args, &err);
}

static const cli_option options[] = {
    {"--output", 'o', "FILE", "the recording to write", NULL, true},
    {"--force", 'f', NULL, "replace an existing recording", NULL, false},
    {"--board", 'b', "PROFILE",
     "profile of the GPU that knows the sensors: h200, h100, ... (default: generic)", NULL, false},
    {"--readings", 0, "CSV", "sensor readings: sensor,t_s,value", NULL, false},
    {"--segments", 0, "CSV", "work timed on the host: part,kernel,t_start_s,t_end_s,kernel_launches", NULL,
     false},
    {"--kernels", 0, "CSV", "kernels: t_start_s,duration_us,kernel,stream,part", NULL, false},
    {0},
};

const cli_verb cli_verb_import = {
    .name = "import",
    .usage = "[options] -o FILE",
    .summary = "make a recording from CSV files",
    .description =
        "Files may be plain or gzipped; other columns are ignored; times are seconds from any common zero.\n"
        "\n"
        "Sensors go by their names in the profile. Rows of the same part that follow each other make "
        "a phase of that name: see `joulemap report --phase`. A segment counts as one kernel row that "
        "stands for kernel_launches calls; with --kernels beside it, segments only tell the phases.\n"
        "\n"
        "Late stamps of the sample ring are put right, as they are in live recordings.\n",
    .options = options,
    .run = run,
};
