/* `joulemap stat`: run a command and say what it took. */
#include "cli/child.h"
#include "cli/energy.h"
#include "cli/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLUSH_TIMEOUT_MS 5000 /* a recorder commits twice a second: that late, it stands still */

static const cli_option options[] = {
    {"--json", 0, NULL, "print a JSON object on stdout", NULL, false},
    CLI_SIM_OPTION,
    {"--no-cpu", 0, NULL, "do not read the CPU's energy", NULL, false},
    {NULL, 0, NULL, NULL, NULL, false},
};

/* The rest is idle time and the like: shares of the boards, not boards. */
static bool is_board(const jm_row *row)
{
    return row->depth == 0 && (strcmp(row->kind, "gpu") == 0 || strcmp(row->kind, "cpu") == 0);
}

/* ---- text: on stderr, as the command's own results are on stdout */

static void print_text(const jm_report *report, const cli_child *child)
{
    double duration_s = (double)(child->end_ns - child->start_ns) / 1e9;
    const jm_report_totals *totals = jm_report_totals_get(report);
    fprintf(stderr, "%.2f s, ", duration_s);
    cli_energy_print_total(stderr, totals, duration_s);
    fputc('\n', stderr);
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        if (!is_board(row)) continue;
        cli_words("  %-24s ", row->name);
        cli_energy_print(stderr, row->energy_j, row->energy_low_j, row->energy_high_j, totals->duration_s);
        fputc('\n', stderr);
    }
    for (size_t i = 0; i < jm_report_note_count(report); i++) /* `report` tells all of them */
        if (jm_report_note_is_essential(report, i)) {
            cli_words("  note: %s", jm_report_note(report, i));
            fputc('\n', stderr);
        }
}

/* ---- JSON */

static json_t *board_json(const jm_row *row, double duration_s)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "name", row->name, "kind", row->kind, "path",
                     row->path, "boards", row->boards, "energy_j", cli_json_number(row->energy_j),
                     "energy_low_j", cli_json_number(row->energy_low_j), "energy_high_j",
                     cli_json_number(row->energy_high_j), "power_w",
                     cli_json_number(row->energy_j / duration_s));
}

static int print_json(const cli_args *args, const jm_report *report, const cli_child *child)
{
    double duration_s = (double)(child->end_ns - child->start_ns) / 1e9;
    const jm_report_totals *totals = jm_report_totals_get(report);
    json_t *boards = json_array(), *notes = json_array();
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        if (is_board(jm_report_row(report, i)))
            json_array_append_new(boards, board_json(jm_report_row(report, i), totals->duration_s));
    for (size_t i = 0; i < jm_report_note_count(report); i++)
        json_array_append_new(notes, json_string(jm_report_note(report, i)));
    json_t *all = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:s, s:i, s:b, s:o, s:o}", "duration_s", cli_json_number(duration_s),
        "energy_j", cli_json_number(totals->total_energy_j), "energy_low_j",
        cli_json_number(totals->total_low_j), "energy_high_j", cli_json_number(totals->total_high_j),
        "power_w", cli_json_number(totals->total_energy_j / totals->duration_s), "source",
        totals->total_source == NULL ? "" : totals->total_source, "exit_code", child->exit_code, "simulated",
        totals->simulated, "boards", boards, "notes", notes);
    return cli_json_write(args, all);
}

/* ---- the run */

static int print_result(const cli_args *args, jm_run *run, const cli_child *child)
{
    jm_recording *recording;
    jm_report *report = NULL;
    jm_error err;
    jm_status status = jm_run_recording(run, &recording, &err);
    if (status == JM_OK) status = cli_energy_report(&report, recording, child->start_ns, child->end_ns, &err);
    if (status != JM_OK) return cli_fail(args, &err);
    int code = 0;
    if (cli_has(args, "--json"))
        code = print_json(args, report, child);
    else
        print_text(report, child);
    jm_report_free(report);
    return code;
}

static int run_stat(const cli_args *args)
{
    jm_run_options run_options = {.size = sizeof run_options,
                                  .sim = cli_get(args, "--sim"),
                                  .no_cpu = cli_has(args, "--no-cpu"),
                                  .sampling_only = true};
    jm_run *run;
    cli_child child;
    jm_error err;
    cli_child_prepare();
    if (jm_run_start(&run, &run_options, &err) != JM_OK) return cli_fail(args, &err);
    if (cli_child_start(&child, cli_command(args), jm_run_environment(run), &err) != JM_OK) {
        jm_run_free(run);
        cli_fail(args, &err);
        return child.exit_code;
    }
    cli_child_wait(&child);
    /* Under another recorder its newest readings are asked for; our own come with the stop. */
    jm_status status =
        jm_run_attached(run) ? jm_run_flush(run, FLUSH_TIMEOUT_MS, &err) : jm_run_stop(run, &err);
    cli_child_release(&child);
    int code = status == JM_OK ? print_result(args, run, &child) : cli_fail(args, &err);
    jm_run_free(run);
    return child.exit_code != 0 ? child.exit_code : code;
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
        "The interval is relative to the GPU's own sensor; how true that sensor is in itself is told in "
        "docs/accuracy.md.\n\n"
        "  joulemap stat -- python train.py",
    .options = options,
    .takes_command = true,
    .run = run_stat,
};
