/* Joules by layer with the reference and with the choice: each window a run of its side. */
#include "cli/cap_live.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_WINDOWS = 16, /* a side; each is a report of its own */ MOST_DEPTH = 6 };

struct cli_cap_saved {
    jm_report *reports[2][MOST_WINDOWS]; /* reference, choice */
    size_t counts[2];
    char names[2][40];
    jm_diff *diff;
};

static jm_status add(cli_cap_saved *saved, int side, jm_recording *recording, const cli_cap_window *window,
                     jm_error *err)
{
    const jm_report_options options = {
        .size = sizeof options, .by = JM_BY_LAYER, .from_ns = window->from_ns, .to_ns = window->to_ns};
    if (saved->counts[side] == MOST_WINDOWS) return JM_OK;
    jm_status status = jm_report_create(&saved->reports[side][saved->counts[side]], recording, &options, err);
    saved->counts[side] += status == JM_OK;
    return status;
}

/* Windows of the proof where there is one, which stand by turns; else of the probes. */
static jm_status add_all(cli_cap_saved *saved, const cli_cap_live *live, const jm_cap_found *found,
                         jm_recording *recording, jm_error *err)
{
    jm_status status = JM_OK;
    for (size_t i = 0; status == JM_OK && i < live->done_count; i++) {
        const jm_cap_trial *t = &live->done[i].trial;
        bool chosen = t->cap_w == found->choice.cap_w && t->clock_mhz == found->clock_mhz;
        if (found->proven != (t->stage == JM_CAP_STAGE_PROOF) || (!chosen && !t->reference)) continue;
        status = add(saved, t->reference ? 0 : 1, recording, &live->done[i].window, err);
    }
    return status;
}

static jm_status compare(cli_cap_saved *saved, const jm_cap_found *found, jm_error *err)
{
    const jm_report *reports[2][MOST_WINDOWS];
    jm_diff_side sides[2];
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < saved->counts[side]; i++)
            reports[side][i] = saved->reports[side][i];
        sides[side] = (jm_diff_side){.reports = reports[side], .count = saved->counts[side]};
    }
    snprintf(saved->names[0], sizeof saved->names[0], "%g W", found->choice.reference_w);
    int length = snprintf(saved->names[1], sizeof saved->names[1], "%g W", found->choice.cap_w);
    if (found->clock_mhz > 0)
        snprintf(saved->names[1] + length, sizeof saved->names[1] - (size_t)length, ", %g MHz",
                 found->clock_mhz);
    const jm_diff_options options = {
        .size = sizeof options, .per = JM_PER_STEP, .name_a = saved->names[0], .name_b = saved->names[1]};
    jm_status status = jm_diff_create_many(&saved->diff, &sides[0], &sides[1], &options, err);
    return status == JM_USAGE ? JM_OK : status; /* no steps were told: ranges or marks were */
}

jm_status cli_cap_saved_create(cli_cap_saved **out, const cli_cap_live *live, jm_recording *recording,
                               jm_error *err)
{
    jm_cap_found found;
    *out = NULL;
    jm_status status = jm_cap_search_found(live->search, &found, err);
    bool is_reference = found.choice.cap_w == found.choice.reference_w && found.clock_mhz == 0;
    if (status != JM_OK || is_reference) return status;
    cli_cap_saved *saved = calloc(1, sizeof *saved);
    if (saved == NULL) {
        *err = (jm_error){.status = JM_NO_MEMORY, .text = "out of memory"};
        return JM_NO_MEMORY;
    }
    status = add_all(saved, live, &found, recording, err);
    if (status == JM_OK && saved->counts[0] > 0 && saved->counts[1] > 0) status = compare(saved, &found, err);
    if (status == JM_OK && saved->diff != NULL)
        *out = saved;
    else
        cli_cap_saved_free(saved);
    return status;
}

const jm_diff *cli_cap_saved_diff(const cli_cap_saved *saved)
{
    return saved->diff;
}

/* ---- for people */

static double saved_j(const jm_diff_row *row)
{
    return row->a_j - row->b_j;
}

static int by_saving(const void *a, const void *b)
{
    double left = fabs(*(const double *)a), right = fabs(*(const double *)b);
    return (left < right) - (left > right);
}

/* Smaller ones are only counted, as diff does it. */
static const double least_share = .005;

static bool counts(const jm_diff *diff, const jm_diff_row *row)
{
    double least_j = least_share * jm_diff_total(diff)->a_j;
    return row->depth <= MOST_DEPTH && (row->a_j >= least_j || row->b_j >= least_j);
}

/* What as many rows as are shown save at least; NAN: memory is out. */
static double least_shown_j(const jm_diff *diff, size_t most)
{
    size_t count = jm_diff_row_count(diff), known = 0;
    double *all = calloc(count + 1, sizeof *all), least_j = 0;
    if (all == NULL) return NAN;
    for (size_t i = 0; i < count; i++) {
        const jm_diff_row *row = jm_diff_row_get(diff, i);
        if (counts(diff, row) && isfinite(saved_j(row))) all[known++] = saved_j(row);
    }
    qsort(all, known, sizeof *all, by_saving);
    if (known > most) least_j = fabs(all[most - 1]);
    free(all);
    return least_j;
}

/* Four digits of the total, in all rows alike. */
static void print_energy(FILE *out, const jm_diff *diff, double energy_j, double half_j)
{
    char text[60];
    int decimals = 3 - (int)floor(log10(fmax(jm_diff_total(diff)->a_j, 1e-6)));
    decimals = decimals < 0 ? 0 : decimals > 8 ? 8 : decimals;
    snprintf(text, sizeof text, "%.*f ±%.*f", decimals, energy_j, decimals, half_j);
    fprintf(out, "%18s", text); /* "±" is two bytes and one column */
}

static void print_row(FILE *out, const jm_diff *diff, const jm_diff_row *row)
{
    double a_half_j = (row->a_high_j - row->a_low_j) / 2, b_half_j = (row->b_high_j - row->b_low_j) / 2;
    int indent = 2 * row->depth + 2;
    fprintf(out, "%*s%-*.*s", indent, "", 26 - indent, 26 - indent, row->name);
    print_energy(out, diff, row->a_j, a_half_j);
    print_energy(out, diff, row->b_j, b_half_j);
    print_energy(out, diff, saved_j(row), hypot(a_half_j, b_half_j));
    fputs(row->verdict == JM_CHANGE_LESS || row->verdict == JM_CHANGE_MORE ? "\n" : " ?\n", out);
}

char *cli_cap_saved_text(const cli_cap_saved *saved, size_t most)
{
    char *text = NULL;
    size_t size, left_out = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) return NULL;
    const jm_diff *diff = saved->diff;
    double least_j = least_shown_j(diff, most);
    fprintf(out, "\n  %-24s%17s%17s%17s\n", "joules a step", saved->names[0], saved->names[1], "saved");
    print_row(out, diff, jm_diff_total(diff));
    for (size_t i = 0; i < jm_diff_row_count(diff); i++) {
        const jm_diff_row *row = jm_diff_row_get(diff, i);
        bool shown = counts(diff, row) && fabs(saved_j(row)) >= least_j;
        if (shown) print_row(out, diff, row);
        left_out += !shown;
    }
    if (left_out > 0) fprintf(out, "  %zu smaller rows: --json\n", left_out);
    fputs("\n± and ?: 95 %, and no difference seen. Fitted over all caps at once.\n", out);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

void cli_cap_saved_free(cli_cap_saved *saved)
{
    if (saved == NULL) return;
    jm_diff_free(saved->diff);
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < saved->counts[side]; i++)
            jm_report_free(saved->reports[side][i]);
    free(saved);
}
