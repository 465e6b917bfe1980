/* What one run took: a line, a line a board, and the notes that matter. */
#include "cli/stat_run.h"

#include "cli/energy.h"
#include "cli/json.h"

#include <stdio.h>
#include <string.h>

jm_status cli_stat_run_of(cli_stat_run *out, jm_recording *recording, const cli_child *child, jm_error *err)
{
    *out = (cli_stat_run){.duration_s = (double)(child->end_ns - child->start_ns) / 1e9,
                          .exit_code = child->exit_code};
    return cli_energy_report(&out->report, recording, child->start_ns, child->end_ns, err);
}

void cli_stat_run_free(cli_stat_run *run)
{
    jm_report_free(run->report);
    *run = (cli_stat_run){0};
}

bool cli_stat_is_board(const jm_row *row)
{
    return row->depth == 0 && (strcmp(row->kind, "gpu") == 0 || strcmp(row->kind, "cpu") == 0);
}

void cli_stat_board_name(char *out, size_t size, const jm_report *report, const jm_row *board)
{
    size_t namesakes = 0;
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        namesakes += cli_stat_is_board(row) && strcmp(row->name, board->name) == 0;
    }
    snprintf(out, size, namesakes > 1 ? "%s %s" : "%s", board->name, board->boards);
}

void cli_stat_run_print(const cli_stat_run *run)
{
    const jm_report *report = run->report;
    double duration_s = run->duration_s;
    const jm_report_totals *totals = jm_report_totals_get(report);
    fprintf(stderr, "%.2f s, ", duration_s);
    cli_energy_print_total(stderr, totals, duration_s);
    fputc('\n', stderr);
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        if (!cli_stat_is_board(row)) continue;
        char name[160];
        cli_stat_board_name(name, sizeof name, report, row);
        cli_words("  %-24s ", name);
        cli_energy_print(stderr, row->energy_j, row->energy_low_j, row->energy_high_j, totals->duration_s);
        fputc('\n', stderr);
    }
    for (size_t i = 0; i < jm_report_note_count(report); i++) /* `report` tells all of them */
        if (jm_report_note_is_essential(report, i)) {
            cli_words("  note: %s", jm_report_note(report, i));
            fputc('\n', stderr);
        }
}

static json_t *board_json(const jm_row *row, double duration_s)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "name", row->name, "kind", row->kind, "path",
                     row->path, "boards", row->boards, "energy_j", cli_json_number(row->energy_j),
                     "energy_low_j", cli_json_number(row->energy_low_j), "energy_high_j",
                     cli_json_number(row->energy_high_j), "power_w",
                     cli_json_number(row->energy_j / duration_s));
}

json_t *cli_stat_run_json(const cli_stat_run *run)
{
    const jm_report *report = run->report;
    const jm_report_totals *totals = jm_report_totals_get(report);
    json_t *boards = json_array(), *notes = json_array();
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        if (cli_stat_is_board(jm_report_row(report, i)))
            json_array_append_new(boards, board_json(jm_report_row(report, i), totals->duration_s));
    for (size_t i = 0; i < jm_report_note_count(report); i++)
        json_array_append_new(notes, json_string(jm_report_note(report, i)));
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:s, s:i, s:b, s:o, s:o, s:o}", "duration_s",
        cli_json_number(run->duration_s), "energy_j", cli_json_number(totals->total_energy_j), "energy_low_j",
        cli_json_number(totals->total_low_j), "energy_high_j", cli_json_number(totals->total_high_j),
        "power_w", cli_json_number(totals->total_energy_j / totals->duration_s), "source",
        totals->total_source == NULL ? "" : totals->total_source, "exit_code", run->exit_code, "simulated",
        totals->simulated, "temperature_c", cli_json_number(jm_report_quality_get(report)->temperature_c),
        "boards", boards, "notes", notes);
}
