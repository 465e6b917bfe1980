/* `joulemap import`: a recording from CSV files. */
#include "cli/verb.h"

#include <stdio.h>

static const struct {
    const char *option, *separator; /* before it, in a sentence that lists all of them */
} sources[JM_IMPORT_COUNT] = {
#define X(name, option, text)                                                                                \
    {"--" #option, JM_IMPORT_##name == 0 ? "" : JM_IMPORT_##name + 1 == JM_IMPORT_COUNT ? " and " : ", "},
    JM_IMPORT_MAP(X)
#undef X
};

static int report_no_source(const cli_args *args)
{
    char all[256];
    size_t used = 0;
    for (size_t i = 0; i < JM_IMPORT_COUNT && used < sizeof all; i++)
        used +=
            (size_t)snprintf(all + used, sizeof all - used, "%s%s", sources[i].separator, sources[i].option);
    return cli_usage_error(args, "give at least one of %s", all);
}

/* Copy a recording and add counters that were read beside it. */
static int add_counters(const cli_args *args, size_t other_sources)
{
    const jm_counters_options counters = {
        .size = sizeof counters,
        .overwrite = cli_has(args, "--force"),
        .onto = cli_get(args, "--onto"),
        .path = cli_get(args, "--output"),
        .counters = cli_get(args, "--counters"),
        .board = cli_get(args, "--board"),
        .ncu = cli_get(args, "--ncu"),
    };
    if (counters.onto == NULL) return cli_usage_error(args, "--counters and --ncu need --onto RECORDING");
    if ((counters.counters == NULL) == (counters.ncu == NULL))
        return cli_usage_error(args, "--onto needs --counters or --ncu");
    if (other_sources > 0) return cli_usage_error(args, "--onto takes --counters or --ncu alone");
    jm_error err;
    cli_progress("reading and writing");
    jm_status status = jm_recording_add_counters(&counters, &err);
    cli_progress(NULL);
    return status == JM_OK ? 0 : cli_fail(args, &err);
}

static int run(const cli_args *args)
{
    jm_import_options import_options = {
        .size = sizeof import_options,
        .overwrite = cli_has(args, "--force"),
        .path = cli_get(args, "--output"),
        .board = cli_get(args, "--board"),
    };
    size_t given = 0;
    for (size_t i = 0; i < JM_IMPORT_COUNT; i++) {
        import_options.files[i] = cli_get(args, sources[i].option);
        given += import_options.files[i] != NULL;
    }
    if (cli_has(args, "--onto") || cli_has(args, "--counters") || cli_has(args, "--ncu"))
        return add_counters(args, given);
    if (given == 0) return report_no_source(args);
    jm_error err;
    cli_progress("reading and writing");
    jm_status status = jm_recording_import(&import_options, &err);
    cli_progress(NULL);
    return status == JM_OK ? 0 : cli_fail(args, &err);
}

static const cli_option options[] = {
    {"--output", 'o', "FILE", "the recording to write", NULL},
    {"--force", 'f', NULL, "replace an existing recording", NULL},
    {"--board", 'b', "PROFILE",
     "profile of the GPU, which describes its sensors: h200, h100, ... (default: generic); with --onto, the "
     "number of the GPU, where there is more than one",
     NULL},
#define X(name, option, text) {"--" #option, 0, "CSV", text, NULL},
    JM_IMPORT_MAP(X)
#undef X
        {"--onto", 0, "RECORDING", "Copy this recording, and add --counters.", NULL},
    {"--counters", 0, "CSV", "Hardware counters for --onto: start_ns,end_ns,METRIC...", NULL},
    {"--ncu", 0, "CSV", "What Nsight Compute counted of the same program, for --onto.", NULL},
    {0},
};

const cli_verb cli_verb_import = {
    .name = "import",
    .usage = "[options] -o FILE",
    .summary = "make a recording from CSV files",
    .description =
        "Files may be plain or gzipped; other columns are ignored; times are seconds from any common zero, "
        "of a clock that is never set back. Commas, semicolons or tabs separate fields; with the latter two, "
        "decimals may have a comma. A reading without a value (N/A) is a gap.\n\n"
        "Sensors go by their names in the profile. Rows of the same part that follow each other make a phase "
        "of that name: see `joulemap report --phase`. A row with a text in the column phase is a window of "
        "that phase instead. A segment counts as one kernel row that represents kernel_launches calls; with "
        "--kernels, segments only mark phases and windows.\n\n"
        "Timestamps are kept as read; reports correct late ones of the sample ring.\n\n"
        "Counters that were read beside a recording are added to a copy of it:\n\n"
        "  joulemap import --onto run.joulemap --counters counters.csv.gz -o all.joulemap\n\n"
        "A line is a window, from start_ns to end_ns of CLOCK_REALTIME, with what was counted in it; an "
        "empty field was not measured. Windows are sorted and do not overlap. For a recording that came from "
        "CSV itself, times are on the clock of those files.\n\n"
        "Where counters may not be sampled, but Nsight Compute could once run the same program, its counts "
        "are assigned to the kernels by name, launch shape and order:\n\n"
        "  ncu --csv --page raw --metrics \"$(joulemap estimate --metrics)\" ./program >counters.csv\n"
        "  joulemap import --onto run.joulemap --ncu counters.csv -o all.joulemap\n",
    .options = options,
    .required = "--output",
    .run = run,
};
