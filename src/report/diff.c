/* Compares two sides row by row: matches rows, averages runs, finds the change and its verdict. */
#include "report/diff.h"

#include "attribute/fit/student.h"
#include "attribute/report.h"
#include "base/map.h"
#include "base/options.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "report/change.h"
#include "report/facts.h"

#include <joulemap/diff.h>
#include <joulemap/report.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNMATCHED ((size_t)-1)

/* A row of one report, to be matched with rows of the others. */
typedef struct matched_row {
    char *key;     /* kind, newline, and path without wrappers */
    bool left_out; /* a wrapper; its parent or its children represent it */
    int32_t depth; /* without wrappers */
    size_t row;    /* index among the matched rows of all reports; UNMATCHED: left out */
} matched_row;

typedef struct row_matching {
    matched_row **rows; /* [reports][rows of the report] */
    size_t *counts;
    size_t reports;
    size_t row_count; /* matched rows of all reports: those of the first report in its order, then what others
                         add */
} row_matching;

static bool has_no_id(const jm_board *board)
{
    return board->uuid[0] == '\0' && board->host[0] == '\0';
}

/* A CPU package has no UUID; its host identifies it. */
static bool is_same_board(const jm_board *a, const jm_board *b)
{
    if (a->uuid[0] != '\0' || b->uuid[0] != '\0') return strcmp(a->uuid, b->uuid) == 0;
    return strcmp(a->host, b->host) == 0 && strcmp(a->backend, b->backend) == 0 &&
           strcmp(a->name, b->name) == 0 && a->index == b->index;
}

/* A board without an identity may or may not be the same in all runs. Assume the worse: one board per side,
 * so that the mean does not reduce its gain error, and another on the other side, so that it does not cancel.
 */
static bool find_gain(jm__gains *gains, const jm_report_board *board, int side, size_t *out)
{
    int only = has_no_id(board->board) ? side : -1;
    size_t i = 0;
    while (i < gains->items.count &&
           (gains->items.items[i].side != only || !is_same_board(gains->items.items[i].board, board->board)))
        i++;
    *out = i;
    if (i == gains->items.count &&
        !jm__vec_push(&gains->items, ((jm__gain){board->board, 0, only, {0}, {0}})))
        return false;
    jm__gain *gain = &gains->items.items[i];
    gain->gain_u = fmax(gain->gain_u, board->gain_u);
    gain->present[side] = true;
    return true;
}

static jm_status list_places(jm__gains *gains, const jm__diff_run *runs, jm_error *err)
{
    for (size_t r = 0; r < gains->runs[0] + gains->runs[1]; r++) {
        for (size_t i = 0; i < jm_report_board_count(runs[r].report); i++) {
            jm__gain_place place = {.run = r};
            JM_TRY(jm_report_board_get(runs[r].report, i, &place.board, err));
            if (!find_gain(gains, &place.board, runs[r].side, &place.gain) ||
                !jm__vec_push(&gains->places, place))
                return jm__no_memory(err, "jm_diff_create");
        }
    }
    return JM_OK;
}

static void find_shares(jm__gains *gains, const jm__diff_run *runs)
{
    double all_j[2] = {0, 0};
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < gains->places.count; i++) {
            const jm__gain_place *place = &gains->places.items[i];
            const jm__diff_run *run = &runs[place->run];
            double energy_j = place->board.energy_j / (double)run->units;
            if (!isfinite(energy_j)) continue;
            if (pass == 0)
                all_j[run->side] += energy_j;
            else if (all_j[run->side] > 0)
                gains->items.items[place->gain].share[run->side] += energy_j / all_j[run->side];
        }
    }
}

static void find_sameness(jm__gains *gains)
{
    for (size_t i = 0; i < gains->items.count; i++) {
        const jm__gain *gain = &gains->items.items[i];
        if (gain->present[0] && gain->present[1]) continue;
        if (gains->sameness != JM_SAMENESS_DIFFERENT)
            gains->sameness = gain->side >= 0 ? JM_SAMENESS_UNKNOWN : JM_SAMENESS_DIFFERENT;
    }
}

/* Differences of shares below this are rounding. */
static const double share_rounding = 1e-12;

/* Relative standard uncertainty of each side's total from gain errors of boards that had more of its energy
 * than of the other side's. Gains of different boards are independent. */
static void gains_of_totals(const jm__gains *gains, double gain_u[2])
{
    gain_u[0] = gain_u[1] = 0;
    for (size_t i = 0; i < gains->items.count; i++) {
        const jm__gain *gain = &gains->items.items[i];
        double more = gain->share[1] - gain->share[0];
        int side = more > 0;
        if (fabs(more) < share_rounding) continue;
        gain_u[side] = hypot(gain_u[side], more * gain->gain_u);
    }
}

/* Whether `boards` lists the board: "0,12" lists 12. An empty list has all. */
static bool lists_board(const char *boards, int32_t index)
{
    if (boards[0] == '\0') return true;
    for (;;) {
        char *end;
        if (strtol(boards, &end, 10) == index && end != boards) return true;
        if (*end != ',') return false;
        boards = end + 1;
    }
}

/* Share of a side's runs with the row in which the row may have run on the board. */
static double run_share_on_board(const jm__gains *gains, size_t gain, int side, const jm_row *const *rows)
{
    size_t first = side == 0 ? 0 : gains->runs[0], have = 0, on_it = 0;
    for (size_t r = first; r < first + gains->runs[side]; r++)
        have += rows[r] != NULL;
    for (size_t i = 0; i < gains->places.count; i++) {
        const jm__gain_place *place = &gains->places.items[i];
        if (place->gain != gain || place->run < first || place->run >= first + gains->runs[side]) continue;
        on_it += rows[place->run] != NULL && lists_board(rows[place->run]->boards, place->board.index);
    }
    return have > 0 ? (double)on_it / (double)have : 0;
}

/* Relative standard uncertainty of a row's energy on each side from gain errors. `rows`: the row in each run,
 * NULL if missing. Of several boards the largest gain error counts, as the row's split among them is unknown.
 */
static void gains_of_rows(const jm__gains *gains, const jm_row *const *rows, double gain_u[2])
{
    double more[2] = {0, 0};
    gain_u[0] = gain_u[1] = 0;
    for (size_t i = 0; i < gains->items.count; i++) {
        double apart = run_share_on_board(gains, i, 1, rows) - run_share_on_board(gains, i, 0, rows);
        int side = apart > 0;
        if (fabs(apart) < share_rounding) continue;
        more[side] += fabs(apart);
        gain_u[side] = fmax(gain_u[side], gains->items.items[i].gain_u);
    }
    for (int side = 0; side < 2; side++)
        gain_u[side] *= fmin(1, more[side]);
}

/* ---- matching rows by kind and path. A model that was wrapped has longer paths: "module.blocks.0" matches
 * "blocks.0" */

/* The name of the model inside DistributedDataParallel and DataParallel, and inside torch.compile. */
static const char *const wrappers[] = {"module", "_orig_mod"};

static bool is_wrapper(const char *part, size_t length)
{
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
        if (strlen(wrappers[i]) == length && strncmp(part, wrappers[i], length) == 0) return true;
    return false;
}

static bool is_layer(const jm_row *row)
{
    return strcmp(row->kind, "layer") == 0;
}

/* Add the path without wrappers: "blocks.0" for "module.blocks._orig_mod.0"; nothing for "module". */
static void add_unwrapped(jm__strbuf *out, const char *path)
{
    bool first = true;
    for (;; path++) {
        size_t length = strcspn(path, ".");
        if (!is_wrapper(path, length)) {
            if (!first) jm__strbuf_add(out, ".");
            jm__strbuf_add_bytes(out, path, length);
            first = false;
        }
        path += length;
        if (*path == '\0') return;
    }
}

/* A layer with a wrapper's name but without children is an ordinary layer. */
static bool has_children(const jm_report *report, size_t row)
{
    const jm_row *next = jm_report_row(report, row + 1);
    return next != NULL && next->depth > jm_report_row(report, row)->depth;
}

/* Whether all components of the path are wrappers, so that its children represent it. */
static bool is_only_wrapper(const jm_report *report, size_t i)
{
    const jm_row *row = jm_report_row(report, i);
    const char *part = row->path;
    if (!is_layer(row) || !has_children(report, i)) return false;
    for (;; part++) {
        size_t length = strcspn(part, ".");
        if (!is_wrapper(part, length)) return false;
        part += length;
        if (*part == '\0') return true;
    }
}

/* NULL if memory is out. */
static char *make_key(const jm_report *report, size_t i, bool unwrapped)
{
    const jm_row *row = jm_report_row(report, i);
    jm__strbuf key = {0};
    jm__strbuf_format(&key, "%s\n", row->kind);
    size_t start = key.length;
    if (unwrapped && is_layer(row)) add_unwrapped(&key, row->path);
    if (key.length == start) jm__strbuf_add(&key, row->path);
    return jm__strbuf_take(&key);
}

typedef struct enclosing_row {
    size_t row;
    int32_t depth, inside; /* depth in the report, and of the diff's rows inside it */
} enclosing_row;

/* The ancestors of the next row, outermost first. */
typedef JM_VEC(enclosing_row) enclosing_rows;

static bool encloses(const enclosing_rows *enclosing, int64_t row)
{
    for (size_t i = 0; i < enclosing->count; i++)
        if (enclosing->items[i].row == (size_t)row) return true;
    return false;
}

/* Key the row by its full path in place of its unwrapped path. */
static bool use_full_path(matched_row *row, jm__map *by_key, const jm_report *report, size_t i)
{
    const char *key = row->key;
    jm__map_remove(by_key, &key);
    free(row->key);
    row->key = make_key(report, i, false);
    key = row->key;
    return key != NULL && jm__map_put(by_key, &key, (jm__map_value){.id = (int64_t)i});
}

/* Of nested rows with the same key the outermost stays. Elsewhere a model may be present twice, plain and
 * wrapped: then the wrapped one, or else the second, is keyed by its full path. */
static bool assign_key(matched_row *rows, jm__map *by_key, const enclosing_rows *enclosing,
                       const jm_report *report, size_t i)
{
    matched_row *mine = &rows[i];
    mine->key = make_key(report, i, true);
    if (mine->key == NULL) return false;
    const char *key = mine->key;
    const jm__map_value *before = jm__map_find(by_key, &key);
    mine->left_out = is_only_wrapper(report, i) || (before != NULL && encloses(enclosing, before->id));
    if (mine->left_out) return true;
    if (before != NULL) {
        char *whole = make_key(report, i, false);
        if (whole == NULL) return false;
        bool wrapped = strcmp(whole, mine->key) != 0;
        size_t other = (size_t)before->id;
        if (!wrapped && !use_full_path(&rows[other], by_key, report, other)) {
            free(whole);
            return false;
        }
        free(mine->key);
        mine->key = whole;
        key = whole;
    }
    return jm__map_put(by_key, &key, (jm__map_value){.id = (int64_t)i});
}

static bool list_rows(matched_row *rows, jm__map *by_key, const jm_report *report)
{
    enclosing_rows enclosing = {0};
    bool ok = true;
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        rows[i].row = UNMATCHED;
    for (size_t i = 0; ok && i < jm_report_row_count(report); i++) {
        int32_t depth = jm_report_row(report, i)->depth;
        while (enclosing.count > 0 && enclosing.items[enclosing.count - 1].depth >= depth)
            enclosing.count--;
        ok = assign_key(rows, by_key, &enclosing, report, i);
        rows[i].depth = enclosing.count > 0 ? enclosing.items[enclosing.count - 1].inside : 0;
        const enclosing_row own = {i, depth, rows[i].depth + (rows[i].left_out ? 0 : 1)};
        ok = ok && jm__vec_push(&enclosing, own);
    }
    jm__vec_free(&enclosing);
    return ok;
}

/* The only top-level layer without a counterpart among the keys of another report; UNMATCHED: none, or
 * several. */
static size_t only_root(const matched_row *rows, const jm_report *report, const jm__map *others)
{
    size_t root = UNMATCHED;
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        const char *key = rows[i].key;
        if (row->depth != 0 || !is_layer(row) || rows[i].left_out || jm__map_find(others, &key) != NULL)
            continue;
        if (root != UNMATCHED) return UNMATCHED;
        root = i;
    }
    return root;
}

/* Whether the first child is only a wrapper: "module" in "DistributedDataParallel". */
static bool wraps(const jm_report *report, size_t root)
{
    return has_children(report, root) && is_only_wrapper(report, root + 1);
}

/* The root has the name of the model's class, or that of DistributedDataParallel around it. If it is the only
 * root without a counterpart in both reports, the two match. */
static void match_root(row_matching *match, const jm_report *const *reports, const jm__map *by_key, size_t r)
{
    size_t first = only_root(match->rows[0], reports[0], &by_key[r]),
           mine = only_root(match->rows[r], reports[r], &by_key[0]);
    if (first == UNMATCHED || mine == UNMATCHED) return;
    if (wraps(reports[0], first) || wraps(reports[r], mine))
        match->rows[r][mine].row = match->rows[0][first].row;
}

/* Number the rows of one report among the matched rows. `all`: numbers by key. */
static bool number_rows(row_matching *match, size_t r, jm__map *all)
{
    for (size_t i = 0; i < match->counts[r]; i++) {
        matched_row *mine = &match->rows[r][i];
        const char *key = mine->key;
        if (mine->left_out || mine->row != UNMATCHED) continue;
        const jm__map_value *known = jm__map_find(all, &key);
        mine->row = known != NULL ? (size_t)known->id : match->row_count++;
        if (known == NULL && !jm__map_put(all, &key, (jm__map_value){.id = (int64_t)mine->row})) return false;
    }
    return true;
}

static bool match_all(row_matching *match, const jm_report *const *reports, jm__map *by_key)
{
    jm__map all = JM_MAP_OF_TEXTS;
    bool ok = true;
    for (size_t r = 0; ok && r < match->reports; r++) {
        by_key[r] = (jm__map)JM_MAP_OF_TEXTS;
        match->counts[r] = jm_report_row_count(reports[r]);
        match->rows[r] = calloc(match->counts[r] + 1, sizeof *match->rows[r]);
        ok = match->rows[r] != NULL && list_rows(match->rows[r], &by_key[r], reports[r]);
        if (ok && r > 0) match_root(match, reports, by_key, r);
        ok = ok && number_rows(match, r, &all);
    }
    jm__map_free(&all);
    return ok;
}

static jm_status match_make(row_matching *match, const jm_report *const *reports, size_t count, jm_error *err)
{
    *match = (row_matching){.rows = calloc(count, sizeof *match->rows),
                            .counts = calloc(count, sizeof *match->counts),
                            .reports = count};
    jm__map *by_key = calloc(count, sizeof *by_key);
    bool ok =
        match->rows != NULL && match->counts != NULL && by_key != NULL && match_all(match, reports, by_key);
    for (size_t r = 0; by_key != NULL && r < count; r++)
        jm__map_free(&by_key[r]);
    free(by_key);
    return ok ? JM_OK : jm__no_memory(err, "jm_diff_create");
}

static void match_free(row_matching *match)
{
    for (size_t r = 0; match->rows != NULL && r < match->reports; r++) {
        for (size_t i = 0; match->rows[r] != NULL && i < match->counts[r]; i++)
            free(match->rows[r][i].key);
        free(match->rows[r]);
    }
    free(match->rows);
    free(match->counts);
    *match = (row_matching){0};
}

/* ---- names of sides and runs */

static bool copy_name(char **own, const char *requested, const char *fallback)
{
    *own = strdup(requested != NULL && requested[0] != '\0' ? requested : fallback);
    return *own != NULL;
}

/* Length of the common prefix of a side's names, in bytes of complete characters. */
static size_t common_length(const jm_diff_side *side)
{
    const char *first = side->names[0];
    size_t length = strlen(first);
    for (size_t i = 1; i < side->count; i++) {
        size_t same = 0;
        while (side->names[i] != NULL && same < length && side->names[i][same] == first[same])
            same++;
        length = same;
    }
    while (length > 0 && (first[length] & 0xC0) == 0x80)
        length--;
    return length;
}

static bool is_between_words(char byte)
{
    return byte == '\0' || strchr("0123456789-_./ ", byte) != NULL;
}

/* The common name: "base" of "base-1", "base-2" and "base-3". NULL: the runs have no names; "": no words in
 * common. */
static char *common_name(const jm_diff_side *side)
{
    if (side->names == NULL || side->names[0] == NULL) return NULL;
    const char *first = side->names[0];
    size_t length = common_length(side);
    bool whole = true;
    for (size_t i = 0; i < side->count; i++)
        whole = whole && side->names[i] != NULL && is_between_words(side->names[i][length]);
    while (!whole && length > 0 && !is_between_words(first[length - 1]))
        length--;
    while (side->count > 1 && length > 0 && is_between_words(first[length - 1]))
        length--;
    return strndup(first, length);
}

/* Name the sides by the options, else by their runs. Sides with the same name become "A" and "B". */
static bool name_sides(jm_diff *diff, const jm_diff_side *const sides[2], const jm_diff_options *options,
                       bool *same_names)
{
    char *common[2] = {common_name(sides[0]), common_name(sides[1])};
    *same_names = common[0] != NULL && common[1] != NULL && strcmp(common[0], common[1]) == 0;
    const char *requested[2] = {options->name_a, options->name_b};
    bool ok = true;
    for (int s = 0; s < 2; s++) {
        if (requested[s] == NULL && !*same_names) requested[s] = common[s];
        ok = ok && copy_name(&diff->names[s], requested[s], s == 0 ? "A" : "B");
    }
    free(common[0]);
    free(common[1]);
    return ok;
}

/* Name the runs. One without a name, or whose name both single runs have, becomes "A"; of several, "A2". */
static bool name_runs(jm_diff *diff, int side, const jm_diff_side *requested, bool same_names)
{
    bool named = requested->names != NULL && !(same_names && jm__diff_run_count(diff) == 2);
    jm__diff_run *runs = diff->runs + (side == 0 ? 0 : diff->counts[0]);
    for (size_t i = 0; i < requested->count; i++) {
        char fallback[32];
        if (requested->count == 1)
            snprintf(fallback, sizeof fallback, "%s", diff->names[side]);
        else
            snprintf(fallback, sizeof fallback, "%c%zu", "AB"[side], i + 1);
        if (!copy_name(&runs[i].name, named ? requested->names[i] : NULL, fallback)) return false;
    }
    return true;
}

/* ---- means over the runs of a side, the change and the verdict */

static const char *const per_texts[JM_PER_COUNT] = {"",
#define X(name, text) text,
                                                    JM_PER_MAP(X)
#undef X
};

static const char *const change_texts[JM_CHANGE_COUNT] = {
#define X(name, text) text,
    JM_CHANGE_MAP(X)
#undef X
};

static const char *const sameness_texts[JM_SAMENESS_COUNT] = {
#define X(name, text) text,
    JM_SAMENESS_MAP(X)
#undef X
};

const char *jm_per_text(jm_per per)
{
    return (unsigned)per < JM_PER_COUNT ? per_texts[per] : "";
}

const char *jm_change_text(jm_change change)
{
    return (unsigned)change < JM_CHANGE_COUNT ? change_texts[change] : "";
}

const char *jm_sameness_text(jm_sameness sameness)
{
    return (unsigned)sameness < JM_SAMENESS_COUNT ? sameness_texts[sameness] : "";
}

/* Share of the total below which an energy is rounding, as in `(unresolved)`. */
static const double rounding = 1e-9;

static jm_change verdict_of(const jm_diff *diff, const jm_diff_row *row, int sign)
{
    if (row->b_runs == 0) return JM_CHANGE_ONLY_IN_A;
    if (row->a_runs == 0) return JM_CHANGE_ONLY_IN_B;
    if (!isfinite(row->a_high_j + row->b_high_j)) return JM_CHANGE_NOT_KNOWN;
    bool negligible = fabs(row->a_j) + fabs(row->b_j) < rounding * fabs(diff->total.a_j + diff->total.b_j);
    if (sign == 0 || negligible) return JM_CHANGE_NOT_SEEN;
    return sign < 0 ? JM_CHANGE_LESS : JM_CHANGE_MORE;
}

/* Fill the row. `runs`: joules of each run, which are divided by its units here. `gain_u`: of each side. */
static void compare(jm_diff_row *row, const jm_diff *diff, jm__run_figure *runs, const double gain_u[2])
{
    for (size_t r = 0; r < jm__diff_run_count(diff); r++) {
        double units = (double)diff->runs[r].units;
        runs[r].energy_j /= units;
        runs[r].low_j /= units;
        runs[r].high_j /= units;
        runs[r].seconds /= units;
    }
    jm__runs_mean a = jm__runs_mean_of(runs, diff->counts[0], diff->student),
                  b = jm__runs_mean_of(runs + diff->counts[0], diff->counts[1], diff->student);
    jm__ratio ratio = jm__change_of((jm__figure){a.energy_j, a.low_j, a.high_j, gain_u[0]},
                                    (jm__figure){b.energy_j, b.low_j, b.high_j, gain_u[1]});
    row->a_j = a.energy_j;
    row->a_low_j = a.low_j;
    row->a_high_j = a.high_j;
    row->a_deviation_j = a.deviation_j;
    row->a_runs = a.runs;
    row->a_s = a.seconds;
    row->b_j = b.energy_j;
    row->b_low_j = b.low_j;
    row->b_high_j = b.high_j;
    row->b_deviation_j = b.deviation_j;
    row->b_runs = b.runs;
    row->b_s = b.seconds;
    row->change = ratio.change;
    row->change_low = ratio.low;
    row->change_high = ratio.high;
    row->verdict = verdict_of(diff, row, ratio.sign);
}

/* Of all steady steps of a run. */
static jm__run_figure of_steps(jm__run_figure step, int64_t steps)
{
    double n = (double)steps;
    return (jm__run_figure){step.there, n * step.energy_j, n * step.low_j, n * step.high_j, n * step.seconds};
}

double jm__diff_unit_share(const jm_diff *diff, size_t run, const jm_row *row)
{
    const jm__diff_run *of = &diff->runs[run];
    double units = (double)of->units;
    if (diff->per == JM_PER_RUN) return 1 / units;
    double steps = (double)jm_report_totals_get(of->report)->steady_steps;
    return row->energy_j > 0 ? steps * row->step_j / row->energy_j / units : 0;
}

/* Compare the totals of all runs; also find the gain uncertainty of their change. */
static jm_status compare_totals(jm_diff *diff, jm_error *err)
{
    double gain_u[2];
    jm__run_figure *runs = calloc(jm__diff_run_count(diff), sizeof *runs);
    if (runs == NULL) return jm__no_memory(err, "jm_diff_create");
    for (size_t r = 0; r < jm__diff_run_count(diff); r++) {
        const jm_report_totals *t = jm_report_totals_get(diff->runs[r].report);
        const jm__run_figure step = {true, t->steady_step_j, t->steady_step_low_j, t->steady_step_high_j,
                                     t->steady_step_s};
        runs[r] = diff->per == JM_PER_RUN ? (jm__run_figure){true, t->total_energy_j, t->total_low_j,
                                                             t->total_high_j, t->duration_s}
                                          : of_steps(step, t->steady_steps);
    }
    gains_of_totals(&diff->gains, gain_u);
    diff->gain_u = hypot(gain_u[0], gain_u[1]);
    diff->total =
        (jm_diff_row){.name = jm_per_text(diff->per), .path = jm_per_text(diff->per), .kind = "total"};
    compare(&diff->total, diff, runs, gain_u);
    free(runs);
    return JM_OK;
}

/* The energy of some rows of one run together. */
static jm_status sum_members(jm__run_figure *figure, const jm_diff *diff, size_t run, const size_t *members,
                             size_t count, jm_error *err)
{
    const jm_report *report = diff->runs[run].report;
    const jm_row *row = jm_report_row(report, jm__diff_place(diff, members[0], run));
    int64_t steps = jm_report_totals_get(report)->steady_steps;
    bool per_run = diff->per == JM_PER_RUN;
    *figure = (jm__run_figure){row != NULL, NAN, NAN, NAN, NAN};
    if (row == NULL) return JM_OK;
    if (count == 1) {
        *figure = per_run ? (jm__run_figure){true, row->energy_j, row->energy_low_j, row->energy_high_j,
                                             row->busy_s}
                          : of_steps((jm__run_figure){true, row->step_j, row->step_low_j, row->step_high_j,
                                                      row->step_s},
                                     steps);
        return JM_OK;
    }
    jm_sum sum = {0};
    size_t *places = calloc(count, sizeof *places);
    if (places == NULL) return jm__no_memory(err, "jm_diff_text");
    double seconds = 0;
    for (size_t i = 0; i < count; i++) {
        places[i] = jm__diff_place(diff, members[i], run);
        seconds +=
            per_run ? jm_report_row(report, places[i])->busy_s : jm_report_row(report, places[i])->step_s;
    }
    jm_status status = per_run ? jm_report_sum(report, places, count, &sum, err)
                               : jm__report_sum_step(report, places, count, &sum, err);
    const jm__run_figure all = {true, sum.energy_j, sum.low_j, sum.high_j, seconds};
    *figure = per_run ? all : of_steps(all, steps);
    free(places);
    return status;
}

jm_status jm__diff_compare_rows(jm_diff_row *row, const jm_diff *diff, const size_t *members, size_t count,
                                jm_error *err)
{
    size_t run_count = jm__diff_run_count(diff);
    jm__run_figure *runs = calloc(run_count, sizeof *runs);
    const jm_row **rows = calloc(run_count, sizeof *rows);
    jm_status status = runs != NULL && rows != NULL ? JM_OK : jm__no_memory(err, "jm_diff_create");
    for (size_t r = 0; status == JM_OK && r < run_count; r++) {
        rows[r] = jm_report_row(diff->runs[r].report, jm__diff_place(diff, members[0], r));
        status = sum_members(&runs[r], diff, r, members, count, err);
    }
    if (status == JM_OK) {
        double gain_u[2];
        gains_of_rows(&diff->gains, rows, gain_u);
        compare(row, diff, runs, gain_u);
    }
    free(runs);
    free(rows);
    return status;
}

/* Number of units of a run; below 0: unknown. */
static int64_t units_of(const jm_report *report, jm_per per)
{
    const jm_report_totals *totals = jm_report_totals_get(report);
    if (per == JM_PER_RUN) return 1;
    if (per == JM_PER_TOKEN) return totals->steady_tokens;
    return per == JM_PER_STEP ? totals->steady_steps : totals->steady_samples;
}

static jm_status choose_unit(jm_diff *diff, jm_per requested, jm_error *err)
{
    const jm_report_totals *first = jm_report_totals_get(diff->runs[0].report);
    bool steps = jm_report_options_get(diff->runs[0].report)->by != JM_BY_REQUEST;
    diff->same_kind = true;
    for (size_t r = 0; r < jm__diff_run_count(diff); r++) {
        const jm_report_totals *t = jm_report_totals_get(diff->runs[r].report);
        diff->same_kind = diff->same_kind && jm__same_kind_of_step(t, first);
        steps = steps && t->steady_steps > 0 && isfinite(t->steady_step_j);
    }
    steps = steps && diff->same_kind;
    diff->per = requested != JM_PER_FITTING ? requested : steps ? JM_PER_STEP : JM_PER_RUN;
    for (size_t r = 0; r < jm__diff_run_count(diff); r++) {
        diff->runs[r].units = units_of(diff->runs[r].report, diff->per);
        if (diff->runs[r].units > 0) continue;
        jm__fail(err, JM_USAGE, 0, "jm_diff_create", "%s has no %ss%s: its joules a %s are not known",
                 diff->runs[r].name, jm_per_text(diff->per), diff->per == JM_PER_STEP ? "" : " of steps",
                 jm_per_text(diff->per));
        return jm__hint(err, JM_USAGE,
                        "record it with `run.step(%s)` around each step, or compare with --per run",
                        diff->per == JM_PER_STEP     ? ""
                        : diff->per == JM_PER_SAMPLE ? "samples=N"
                                                     : "tokens=N");
    }
    return JM_OK;
}

static bool find_places(jm_diff *diff, const row_matching *match)
{
    size_t runs = jm__diff_run_count(diff), count = match->row_count * runs;
    diff->places = malloc((count + 1) * sizeof *diff->places);
    for (size_t i = 0; diff->places != NULL && i < count; i++)
        diff->places[i] = JM__NO_PLACE;
    for (size_t r = 0; diff->places != NULL && r < runs; r++)
        for (size_t i = 0; i < match->counts[r]; i++)
            if (!match->rows[r][i].left_out) diff->places[match->rows[r][i].row * runs + r] = i;
    return diff->places != NULL;
}

static jm_status add_row(jm_diff *diff, const row_matching *match, size_t at, jm_error *err)
{
    size_t r = 0;
    while (jm__diff_place(diff, at, r) == JM__NO_PLACE)
        r++;
    size_t place = jm__diff_place(diff, at, r);
    const jm_row *first = jm_report_row(diff->runs[r].report, place);
    jm_diff_row row = {.name = first->name,
                       .path = first->path,
                       .kind = first->kind,
                       .depth = r == 0 ? match->rows[0][place].depth : 0};
    JM_TRY(jm__diff_compare_rows(&row, diff, &at, 1, err));
    return jm__vec_push(&diff->rows, row) ? JM_OK : jm__no_memory(err, "jm_diff_create");
}

/* Mark rows that share their path with another row; views show their kind as well. */
static bool mark_shared_paths(jm_diff *diff)
{
    jm__map first = JM_MAP_OF_TEXTS;
    bool ok = true;
    for (size_t i = 0; ok && i < diff->rows.count; i++) {
        jm_diff_row *row = &diff->rows.items[i];
        const jm__map_value *before = jm__map_find(&first, &row->path);
        if (before == NULL) {
            ok = jm__map_put(&first, &row->path, (jm__map_value){.id = (int64_t)i});
        } else {
            diff->rows.items[before->id].path_again = row->path_again = true;
        }
    }
    jm__map_free(&first);
    return ok;
}

static jm_status check_reports(const jm_diff *diff, const jm_diff_options *options, jm_error *err)
{
    jm_by by = jm_report_options_get(diff->runs[0].report)->by;
    bool same_names = true;
    for (size_t r = 1; r < jm__diff_run_count(diff); r++)
        same_names = same_names && jm_report_options_get(diff->runs[r].report)->by == by;
    if (!same_names || by == JM_BY_SPAN) {
        jm__fail(err, JM_USAGE, 0, "jm_diff_create",
                 same_names ? "single spans of one run have no counterpart in another"
                            : "reports by different keys cannot be compared");
        return jm__hint(err, JM_USAGE, "compare by layer, or by another key whose rows are sums");
    }
    if ((unsigned)options->per >= JM_PER_COUNT)
        return jm__fail(err, JM_USAGE, 0, "jm_diff_create", "%d is not a unit", (int)options->per);
    return JM_OK;
}

static jm_status compare_rows(jm_diff *diff, const jm_report *const *reports, jm_error *err)
{
    row_matching match;
    jm_status status = match_make(&match, reports, jm__diff_run_count(diff), err);
    if (status == JM_OK && !find_places(diff, &match)) status = jm__no_memory(err, "jm_diff_create");
    for (size_t i = 0; status == JM_OK && i < match.row_count; i++)
        status = add_row(diff, &match, i, err);
    if (status == JM_OK && !mark_shared_paths(diff)) status = jm__no_memory(err, "jm_diff_create");
    match_free(&match);
    return status;
}

/* Computed once for all rows, as each quantile takes a while. */
static bool find_student(jm_diff *diff)
{
    size_t most = diff->counts[diff->counts[1] > diff->counts[0]];
    diff->student = calloc(most + 1, sizeof *diff->student);
    for (size_t runs = 2; diff->student != NULL && runs <= most; runs++)
        diff->student[runs] = jm__student_quantile(0.95, (double)(runs - 1));
    return diff->student != NULL;
}

static jm_status make(jm_diff *diff, const jm_report *const *reports, const jm_diff_options *options,
                      jm_error *err)
{
    JM_TRY(check_reports(diff, options, err));
    JM_TRY(choose_unit(diff, options->per, err));
    memcpy(diff->gains.runs, diff->counts, sizeof diff->gains.runs);
    JM_TRY(list_places(&diff->gains, diff->runs, err));
    find_shares(&diff->gains, diff->runs);
    find_sameness(&diff->gains);
    if (!find_student(diff)) return jm__no_memory(err, "jm_diff_create");
    diff->expand = options->expand;
    JM_TRY(compare_totals(diff, err));
    return compare_rows(diff, reports, err);
}

static void set_runs(jm_diff *diff, int side, const jm_diff_side *requested, const jm_report **reports)
{
    size_t first = side == 0 ? 0 : diff->counts[0];
    for (size_t i = 0; i < requested->count; i++) {
        diff->runs[first + i].report = reports[first + i] = requested->reports[i];
        diff->runs[first + i].side = side;
    }
}

static jm_status build(jm_diff *diff, const jm_diff_side *a, const jm_diff_side *b,
                       const jm_diff_options *options, jm_error *err)
{
    diff->counts[0] = a->count;
    diff->counts[1] = b->count;
    diff->runs = calloc(a->count + b->count, sizeof *diff->runs);
    const jm_report **reports = calloc(a->count + b->count, sizeof *reports);
    bool ok = diff->runs != NULL && reports != NULL;
    bool same_names;
    if (ok) {
        set_runs(diff, 0, a, reports);
        set_runs(diff, 1, b, reports);
        ok = name_sides(diff, (const jm_diff_side *const[]){a, b}, options, &same_names) &&
             name_runs(diff, 0, a, same_names) && name_runs(diff, 1, b, same_names);
    }
    jm_status status = ok ? make(diff, reports, options, err) : jm__no_memory(err, "jm_diff_create");
    free(reports);
    return status;
}

jm_status jm_diff_create_many(jm_diff **out, const jm_diff_side *a, const jm_diff_side *b,
                              const jm_diff_options *options, jm_error *err)
{
    jm_diff_options own_options;
    *out = NULL;
    JM_TRY(jm__options_copy(&own_options, sizeof own_options, options, "jm_diff_create", err));
    if (a->count == 0 || b->count == 0)
        return jm__fail(err, JM_USAGE, 0, "jm_diff_create", "side %s has no runs", a->count == 0 ? "A" : "B");
    jm_diff *diff = calloc(1, sizeof *diff);
    if (diff == NULL) return jm__no_memory(err, "jm_diff_create");
    jm_status status = build(diff, a, b, &own_options, err);
    if (status == JM_OK)
        *out = diff;
    else
        jm_diff_free(diff);
    return status;
}

jm_status jm_diff_create(jm_diff **out, const jm_report *a, const jm_report *b,
                         const jm_diff_options *options, jm_error *err)
{
    const jm_diff_side sides[2] = {{.reports = &a, .count = 1}, {.reports = &b, .count = 1}};
    return jm_diff_create_many(out, &sides[0], &sides[1], options, err);
}

void jm_diff_free(jm_diff *diff)
{
    if (diff == NULL) return;
    for (size_t r = 0; diff->runs != NULL && r < jm__diff_run_count(diff); r++)
        free(diff->runs[r].name);
    free(diff->runs);
    free(diff->names[0]);
    free(diff->names[1]);
    jm__vec_free(&diff->gains.places);
    jm__vec_free(&diff->gains.items);
    jm__vec_free(&diff->rows);
    free(diff->places);
    free(diff->student);
    free(diff);
}

size_t jm_diff_row_count(const jm_diff *diff)
{
    return diff->rows.count;
}

const jm_diff_row *jm_diff_row_get(const jm_diff *diff, size_t row)
{
    return row < diff->rows.count ? &diff->rows.items[row] : NULL;
}

const jm_diff_row *jm_diff_total(const jm_diff *diff)
{
    return &diff->total;
}

jm_per jm_diff_per(const jm_diff *diff)
{
    return diff->per;
}

jm_sameness jm_diff_sameness(const jm_diff *diff)
{
    return diff->gains.sameness;
}

double jm_diff_gain_u(const jm_diff *diff)
{
    return diff->gain_u;
}
