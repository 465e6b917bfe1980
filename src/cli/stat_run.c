/* What one run took: a line, a line a board, and the notes that matter. */
#include "cli/stat_run.h"

#include "cli/energy.h"
#include "cli/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A row that is a board; the others (idle time, what is unresolved) are shares of them. */
static bool is_board(const jm_row *row)
{
    return row->depth == 0 && (strcmp(row->kind, "gpu") == 0 || strcmp(row->kind, "cpu") == 0);
}

static char *name_for_people(const jm_report *report, const jm_row *board)
{
    size_t namesakes = 0;
    char *name = NULL;
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        namesakes += is_board(row) && strcmp(row->name, board->name) == 0;
    }
    if (asprintf(&name, namesakes > 1 ? "%s %s" : "%s", board->name, board->boards) < 0) return NULL;
    return name;
}

static bool keep_board(cli_stat_run *run, const jm_report *report, const jm_row *row)
{
    cli_stat_board *board = &run->boards[run->board_count++];
    *board = (cli_stat_board){.name = name_for_people(report, row),
                              .kind = strdup(row->kind),
                              .path = strdup(row->path),
                              .boards = strdup(row->boards),
                              .plain_name = strdup(row->name),
                              .energy_j = row->energy_j,
                              .low_j = row->energy_low_j,
                              .high_j = row->energy_high_j};
    return board->name != NULL && board->kind != NULL && board->path != NULL && board->boards != NULL &&
           board->plain_name != NULL;
}

static bool keep_rows(cli_stat_run *run, const jm_report *report)
{
    size_t rows = jm_report_row_count(report), count = 0;
    for (size_t i = 0; i < rows; i++)
        count += is_board(jm_report_row(report, i));
    run->boards = calloc(count + 1, sizeof *run->boards);
    bool fine = run->boards != NULL;
    for (size_t i = 0; fine && i < rows; i++)
        if (is_board(jm_report_row(report, i))) fine = keep_board(run, report, jm_report_row(report, i));
    return fine;
}

static bool keep_notes(cli_stat_run *run, const jm_report *report)
{
    size_t count = jm_report_note_count(report);
    run->notes = calloc(count + 1, sizeof *run->notes);
    bool fine = run->notes != NULL;
    for (size_t i = 0; fine && i < count; i++) {
        cli_stat_note *note = &run->notes[run->note_count++];
        *note = (cli_stat_note){strdup(jm_report_note(report, i)), jm_report_note_is_essential(report, i)};
        fine = note->text != NULL;
    }
    return fine;
}

static bool keep(cli_stat_run *run, const jm_report *report)
{
    run->totals = *jm_report_totals_get(report);
    run->source = strdup(run->totals.total_source == NULL ? "" : run->totals.total_source);
    run->totals.total_source = run->source;
    run->temperature_c = jm_report_quality_get(report)->temperature_c;
    return run->source != NULL && keep_rows(run, report) && keep_notes(run, report);
}

jm_status cli_stat_run_of(cli_stat_run *out, jm_recording *recording, const cli_child *child, jm_error *err)
{
    jm_report *report;
    *out = (cli_stat_run){.duration_s = (double)(child->end_ns - child->start_ns) / 1e9,
                          .exit_code = child->exit_code};
    jm_status status = cli_energy_report(&report, recording, child->start_ns, child->end_ns, err);
    if (status != JM_OK) return status;
    if (!keep(out, report)) {
        *err = (jm_error){.status = JM_NO_MEMORY, .text = "out of memory"};
        status = JM_NO_MEMORY;
    }
    jm_report_free(report);
    return status;
}

void cli_stat_run_free(cli_stat_run *run)
{
    for (size_t i = 0; i < run->board_count; i++) {
        cli_stat_board *board = &run->boards[i];
        free(board->name);
        free(board->kind);
        free(board->path);
        free(board->boards);
        free(board->plain_name);
    }
    for (size_t i = 0; i < run->note_count; i++)
        free(run->notes[i].text);
    free(run->boards);
    free(run->notes);
    free(run->source);
    *run = (cli_stat_run){0};
}

void cli_stat_run_print(const cli_stat_run *run)
{
    fprintf(stderr, "%.2f s, ", run->duration_s);
    cli_energy_print_total(stderr, &run->totals, run->duration_s);
    fputc('\n', stderr);
    for (size_t i = 0; i < run->board_count; i++) {
        const cli_stat_board *board = &run->boards[i];
        cli_words("  %-24s ", board->name);
        cli_energy_print(stderr, board->energy_j, board->low_j, board->high_j, run->totals.duration_s);
        fputc('\n', stderr);
    }
    for (size_t i = 0; i < run->note_count; i++) /* `report` tells all of them */
        if (run->notes[i].essential) {
            cli_words("  note: %s", run->notes[i].text);
            fputc('\n', stderr);
        }
}

static json_t *board_json(const cli_stat_board *board, double duration_s)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "name", board->plain_name, "kind",
                     board->kind, "path", board->path, "boards", board->boards, "energy_j",
                     cli_json_number(board->energy_j), "energy_low_j", cli_json_number(board->low_j),
                     "energy_high_j", cli_json_number(board->high_j), "power_w",
                     cli_json_number(board->energy_j / duration_s));
}

json_t *cli_stat_run_json(const cli_stat_run *run)
{
    const jm_report_totals *totals = &run->totals;
    json_t *boards = json_array(), *notes = json_array();
    for (size_t i = 0; i < run->board_count; i++)
        json_array_append_new(boards, board_json(&run->boards[i], totals->duration_s));
    for (size_t i = 0; i < run->note_count; i++)
        json_array_append_new(notes, json_string(run->notes[i].text));
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:s, s:i, s:b, s:o, s:o, s:o}", "duration_s",
                     cli_json_number(run->duration_s), "energy_j", cli_json_number(totals->total_energy_j),
                     "energy_low_j", cli_json_number(totals->total_low_j), "energy_high_j",
                     cli_json_number(totals->total_high_j), "power_w",
                     cli_json_number(totals->total_energy_j / totals->duration_s), "source", run->source,
                     "exit_code", run->exit_code, "simulated", totals->simulated, "temperature_c",
                     cli_json_number(run->temperature_c), "boards", boards, "notes", notes);
}
