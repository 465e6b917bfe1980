/* Energy, draws, means, amounts and dominant layers of nodes, over all boards. */
#include "attribute/rollup/energy.h"

#include "attribute/fit/student.h"
#include "base/module_path.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* With less shrinkage, the figure is prior-dominated (shared/attribution.md, "Before a figure is assumed").
 * Two equal classes of which the readings determine only the sum have exactly this shrinkage. */
static const double shrinkage_min = 0.5;

/* Sums over boards, whose errors are independent. */
typedef struct board_sum {
    jm__fit_sum all;
    double largest_prior_j2; /* J^2: the largest variance that one board's prior has in it */
    double quantile;
} board_sum;

static double energy_j(const jm__board_part *part)
{
    double sum_j = 0;
    for (size_t k = 0; part->fit.known && k < part->work->columns.count; k++)
        sum_j += part->work->seconds[k] * part->fit.power_w[k];
    return sum_j;
}

static void add_board(jm__energy *energy, board_sum *boards, const jm__board_part *part,
                      const jm__cell *cells, size_t count)
{
    jm__fit_sum *all = &boards->all;
    jm__fit_sum sum = jm__fit_sum_of(&part->fit, cells, count, part->first_column);
    energy->fitted = energy->fitted && part->fit.fitted;
    energy->known = energy->known && part->fit.known;
    if (sum.prior_variance >= boards->largest_prior_j2) {
        boards->largest_prior_j2 = sum.prior_variance;
        energy->assumed = sum.assumed;
    }
    all->energy_j += sum.energy_j;
    all->prior_j += sum.prior_j;
    all->prior_variance += sum.prior_variance;
    all->variance += sum.variance;
    boards->quantile = fmax(boards->quantile, part->fit.quantile);
}

jm__energy jm__energy_of(const jm__attribution *a, const jm__cell *cells, size_t count)
{
    jm__energy energy = {.fitted = true, .known = true};
    board_sum boards = {0};
    size_t i = 0;
    for (size_t b = 0; b < a->scope.dataset->board_count && i < count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->requested || part->work->columns.count == 0) continue;
        size_t first = i;
        while (i < count && cells[i].column < part->first_column + part->work->columns.count)
            i++;
        if (i > first) add_board(&energy, &boards, part, cells + first, i - first);
    }
    const jm__fit_sum sum = boards.all;
    energy.energy_j = sum.energy_j;
    energy.prior_variance = sum.prior_variance;
    energy.quantile = boards.quantile;
    /* The interval need not reach farther than that of the priors alone. */
    energy.half_max_j = JM_NORMAL_95 * sqrt(sum.prior_variance + pow(sum.energy_j - sum.prior_j, 2));
    jm__energy_set_variance(&energy, sum.variance);
    return energy;
}

void jm__energy_set_variance(jm__energy *energy, double variance)
{
    energy->variance = fmax(0, variance);
    energy->half_j = fmin(energy->quantile * sqrt(energy->variance), energy->half_max_j);
    energy->shrinkage = energy->prior_variance > 0 ? 1 - energy->variance / energy->prior_variance : 1;
    energy->decided = energy->fitted && energy->shrinkage >= shrinkage_min;
}

bool jm__draws_begin(jm__tree *tree, const jm__attribution *a)
{
    if (a->scope.extrapolated.strata == NULL) return true;
    tree->off_board_j = calloc((a->scope.dataset->board_count + 1) * JM_DRAWS, sizeof *tree->off_board_j);
    return tree->off_board_j != NULL;
}

/* The draws of a node; allocates them if needed. NULL if memory is out. */
static double *draws_of(jm__tree *tree, size_t node)
{
    size_t count = tree->off_j.count, requested = (node + 1) * JM_DRAWS;
    if (!jm__vec_reserve(&tree->off_j, requested)) {
        tree->failed = true;
        return NULL;
    }
    if (requested > count) {
        memset(tree->off_j.items + count, 0, (requested - count) * sizeof *tree->off_j.items);
        tree->off_j.count = requested;
    }
    return tree->off_j.items + node * JM_DRAWS;
}

void jm__draws_add_board(jm__tree *tree, size_t board, const double *off_s, double power_w)
{
    if (off_s == NULL || tree->off_board_j == NULL) return;
    for (size_t r = 0; r < JM_DRAWS; r++)
        tree->off_board_j[board * JM_DRAWS + r] += power_w * off_s[r];
}

void jm__draws_share(jm__tree *tree, size_t node, const double *off_j, double share)
{
    if (off_j == NULL || node == JM__NO_NODE || tree->off_board_j == NULL || tree->failed) return;
    double *own_j = draws_of(tree, node);
    for (size_t r = 0; own_j != NULL && r < JM_DRAWS; r++)
        own_j[r] += share * off_j[r];
}

void jm__draws_add(jm__tree *tree, size_t node, size_t board, const double *off_s, double power_w)
{
    if (node == JM__NO_NODE) return;
    jm__draws_add_board(tree, board, off_s, power_w);
    jm__draws_share(tree, node, off_s, power_w);
}

/* Widens intervals for few degrees of freedom: Student's t over the normal quantile. */
static double student_factor(const jm__attribution *a)
{
    double freedom = INFINITY;
    for (size_t b = 0; b < a->scope.dataset->board_count; b++)
        if (a->boards[b].time.extrapolated.time_s > 0)
            freedom = fmin(freedom, a->boards[b].time.extrapolated.freedom);
    return isfinite(freedom) ? jm__student_quantile(0.95, fmax(1, freedom)) / JM_NORMAL_95 : 1;
}

/* Subtract the sum of all errors of a board from its rows, by energy, so that they add up to zero. */
static void subtract_common(jm__tree *tree, const jm__attribution *a, size_t b)
{
    const jm__board_part *part = &a->boards[b];
    const double *common_off_j = tree->off_board_j + b * JM_DRAWS;
    double all_j = part->requested ? energy_j(part) : 0;
    if (!(all_j > 0)) return;
    for (size_t i = 0; i < tree->cells.count; i++) {
        const jm__cell *cell = &tree->cells.items[i];
        if (cell->column < part->first_column) continue;
        if (cell->column >= part->first_column + part->work->columns.count) continue;
        double share = cell->seconds * part->fit.power_w[cell->column - part->first_column] / all_j;
        for (size_t r = 0; r < JM_DRAWS; r++)
            tree->off_j.items[(size_t)cell->node * JM_DRAWS + r] -= share * common_off_j[r];
    }
}

void jm__draws_close(jm__tree *tree, const jm__attribution *a)
{
    if (tree->off_board_j == NULL || tree->failed || tree->nodes.count == 0) return;
    if (draws_of(tree, tree->nodes.count - 1) == NULL) return;
    for (size_t b = 0; b < a->scope.dataset->board_count; b++)
        if (a->boards[b].fit.held) subtract_common(tree, a, b);
    double size = student_factor(a) / sqrt(JM_DRAWS);
    for (size_t i = 0; i < tree->off_j.count; i++)
        tree->off_j.items[i] *= size;
}

/* Of each node with all below it; within a measured phase, less the gain's share of the phase's error. */
static void find_u(double *u_j, double *off_j, double *gain, size_t *phase, const jm__tree *tree)
{
    const jm__node *nodes = tree->nodes.items;
    size_t count = tree->nodes.count;
    memcpy(off_j, tree->off_j.items, count * JM_DRAWS * sizeof *off_j);
    for (size_t n = 0; n < count; n++)
        gain[n] = nodes[n].gain;
    for (size_t n = count; n-- > 0;) { /* children come after their parents */
        size_t parent = nodes[n].parent;
        if (parent == JM__NO_NODE) continue;
        gain[parent] += gain[n];
        for (size_t r = 0; r < JM_DRAWS; r++)
            off_j[parent * JM_DRAWS + r] += off_j[n * JM_DRAWS + r];
    }
    for (size_t n = 0; n < count; n++) {
        double square = 0;
        phase[n] = jm__node_measured_phase(tree, n, phase);
        for (size_t r = 0; r < JM_DRAWS; r++) {
            double back_j = phase[n] == JM__NO_NODE ? 0 : gain[n] * off_j[phase[n] * JM_DRAWS + r];
            square += pow(off_j[n * JM_DRAWS + r] - back_j, 2);
        }
        u_j[n] = nodes[n].is_phase_total ? 0 : sqrt(square);
    }
}

bool jm__draws_u_j(double **u_j, const jm__tree *tree)
{
    *u_j = NULL;
    size_t count = tree->nodes.count;
    if (tree->off_board_j == NULL || tree->off_j.count < count * JM_DRAWS || count == 0) return true;
    double *off_j = malloc(count * (JM_DRAWS + 1) * sizeof *off_j);
    size_t *phase = malloc(count * sizeof *phase);
    *u_j = calloc(count + 1, sizeof **u_j);
    bool fine = off_j != NULL && phase != NULL && *u_j != NULL;
    if (fine) find_u(*u_j, off_j, off_j + count * JM_DRAWS, phase, tree);
    free(off_j);
    free(phase);
    return fine;
}

double jm__draws_covariance(const jm__tree *tree, const double *left, const double *right)
{
    double sum_j2 = 0;
    if (tree->off_j.count < tree->nodes.count * JM_DRAWS) return 0;
    for (size_t r = 0; r < JM_DRAWS; r++) {
        double sums[2] = {0};
        for (size_t n = 0; n < tree->nodes.count; n++) {
            sums[0] += left[n] * tree->off_j.items[n * JM_DRAWS + r];
            sums[1] += right[n] * tree->off_j.items[n * JM_DRAWS + r];
        }
        sum_j2 += sums[0] * sums[1];
    }
    return sum_j2;
}

/* The clock of each column, relative to the board's highest: below 1, power or heat limited it. */
static void find_clock_limit_share(double *value, const jm__attribution *a)
{
    for (size_t b = 0; b < a->scope.dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (part->clock_mhz == NULL || !(part->board->clock_limit_mhz > 0)) continue;
        for (size_t k = 0; k < part->work->columns.count; k++)
            value[part->first_column + k] = part->clock_mhz[k] / part->board->clock_limit_mhz;
    }
}

/* Sets value[a->columns], which is NAN before. */
static void (*const find[JM_MEAN_COUNT])(double *value, const jm__attribution *a) = {
#define X(kind, name, key, place, doc) find_##name,
    JM_ROW_MEANS(X)
#undef X
};

jm_status jm__means_find(jm__means *means, const jm__attribution *a, jm_error *err)
{
    for (int m = 0; m < JM_MEAN_COUNT; m++) {
        means->value[m] = malloc((a->columns + 1) * sizeof(double));
        if (means->value[m] == NULL) return jm__no_memory(err, "jm__means_find");
        for (size_t k = 0; k < a->columns; k++)
            means->value[m][k] = NAN;
        find[m](means->value[m], a);
    }
    return JM_OK;
}

void jm__means_free(jm__means *means)
{
    for (int m = 0; m < JM_MEAN_COUNT; m++)
        free(means->value[m]);
}

void jm__mean_sums_add_cells(jm__mean_sums *sums, const jm__means *means, const jm__cell *cells, size_t count)
{
    for (int m = 0; m < JM_MEAN_COUNT; m++) {
        for (size_t i = 0; i < count; i++) {
            double value = means->value[m][cells[i].column];
            if (isnan(value)) continue;
            sums->weighted[m] += cells[i].seconds * value;
            sums->seconds[m] += cells[i].seconds;
        }
    }
}

void jm__mean_sums_add(jm__mean_sums *sums, const jm__mean_sums *of)
{
    for (int m = 0; m < JM_MEAN_COUNT; m++) {
        sums->weighted[m] += of->weighted[m];
        sums->seconds[m] += of->seconds[m];
    }
}

void jm__mean_sums_write(jm_row *row, const jm__mean_sums *sums)
{
#define X(kind, name, key, place, doc)                                                                       \
    row->name = sums->seconds[JM_MEAN_##name] > 0                                                            \
                    ? sums->weighted[JM_MEAN_##name] / sums->seconds[JM_MEAN_##name]                         \
                    : NAN;
    JM_ROW_MEANS(X)
#undef X
}

/* The amount of a step in this report; 0: none. */
static int64_t amount_of(const jm__attribution *a, size_t span, jm__amount amount)
{
    const jm__span *step = &a->scope.dataset->spans[span];
    int64_t count = jm__marked_amount(&a->scope.marked, step, amount);
    if (count == 0 || !jm__intervals_contain(&a->scope.windows, step->start_ns)) return 0;
    return jm__dataset_process_has_pid(a->scope.dataset, step->process_id, a->scope.options.process_id)
               ? count
               : 0;
}

static bool is_part_of_another(const jm__attribution *a, size_t span, jm__amount amount)
{
    const jm__span *all = a->scope.dataset->spans;
    for (size_t s = jm__span_enclosing(&a->scope.spans, span, span); s != JM__NO_SPAN;
         s = jm__span_enclosing(&a->scope.spans, span, s))
        if (jm__step_has_part(&all[s], &all[span]) && amount_of(a, s, amount) > 0) return true;
    return false;
}

static void add_amount(jm__tree *tree, const jm__attribution *a, size_t node, size_t span, jm__amount amount)
{
    int64_t count = amount_of(a, span, amount);
    if (count == 0 || node == JM__NO_NODE) return;
    tree->nodes.items[node].amounts[amount] += count;
    if (is_part_of_another(a, span, amount)) return;
    for (size_t n = tree->nodes.items[node].parent; n != JM__NO_NODE; n = tree->nodes.items[n].parent)
        tree->nodes.items[n].amounts[amount] += count;
}

void jm__amounts_add(jm__tree *tree, const jm__attribution *a, size_t node, size_t span)
{
    add_amount(tree, a, node, span, JM_AMOUNT_SAMPLES);
    add_amount(tree, a, node, span, JM_AMOUNT_TOKENS);
}

/* Is it one of the steady steps, or part of one? */
static bool is_steady(const jm__attribution *a, size_t span)
{
    const jm__steps *steps = &a->scope.steps;
    const jm__span *all = a->scope.dataset->spans;
    if (!jm__intervals_contain(&steps->steady, all[span].start_ns)) return false;
    for (size_t s = span; s != JM__NO_SPAN; s = jm__span_enclosing(&a->scope.spans, span, s))
        if (all[s].name_id == steps->name_id && jm__marked_is_step(&a->scope.marked, &all[s])) return true;
    return false;
}

int64_t jm__amount_sum(const jm__attribution *a, jm__amount amount, bool steady)
{
    int64_t sum = 0;
    for (size_t i = 0; i < a->scope.dataset->span_count; i++)
        if (amount_of(a, i, amount) > 0 && !is_part_of_another(a, i, amount) && (!steady || is_steady(a, i)))
            sum += amount_of(a, i, amount);
    return sum > 0 ? sum : -1;
}

static uint64_t spot_hash(const void *key)
{
    const jm__spot *spot = key;
    return jm__map_hash_bytes(jm__map_hash_bytes(0, spot->path, strlen(spot->path)), &spot->kind,
                              sizeof spot->kind);
}

static bool spot_equal(const void *key, const void *another)
{
    const jm__spot *a = key, *b = another;
    return a->kind == b->kind && strcmp(a->path, b->path) == 0;
}

/* SIZE_MAX: memory is out. */
static size_t number_of(jm__dominant *m, const char *path, int64_t kind)
{
    jm__spot spot = {path, kind};
    const jm__map_value *found = jm__map_find(&m->spot_at, &spot);
    if (found != NULL) return (size_t)found->id;
    spot.path = jm__tree_text(m->tree, "%s", path);
    return spot.path == NULL ? SIZE_MAX : jm__map_item(&m->spot_at, &spot, &m->spots, &spot);
}

static size_t spot_of(jm__dominant *m, uint32_t context)
{
    if (m->spot_of[context] != 0) return m->spot_of[context] - 1;
    const jm__context *at = &m->a->work.contexts.items.items[context];
    const char *name = jm__dataset_text(m->a->scope.dataset, at->layer);
    if (name[0] == '\0') name = jm__dataset_text(m->a->scope.dataset, at->type);
    jm__strbuf path = {0};
    jm__module_path_add_unnumbered(&path, name);
    size_t spot = path.failed ? SIZE_MAX : number_of(m, path.text != NULL ? path.text : "", at->kind);
    jm__strbuf_free(&path);
    if (spot == SIZE_MAX) m->tree->failed = true;
    m->spot_of[context] = spot + 1; /* 0 after a failure */
    return spot;
}

bool jm__dominant_begin(jm__dominant *m, jm__tree *tree, const jm__attribution *a)
{
    *m = (jm__dominant){.a = a,
                        .tree = tree,
                        .spot_at = {.key_size = sizeof(jm__spot), .hash = spot_hash, .equal = spot_equal},
                        .spot_time_at = {.key_size = 2 * sizeof(size_t)}};
    m->spot_of = calloc(a->work.contexts.items.count + 1, sizeof *m->spot_of);
    return m->spot_of != NULL;
}

void jm__dominant_free(jm__dominant *m)
{
    free(m->spot_of);
    jm__vec_free(&m->spots);
    jm__vec_free(&m->spot_times);
    jm__map_free(&m->spot_at);
    jm__map_free(&m->spot_time_at);
    *m = (jm__dominant){0};
}

/* ---- time by node and spot ---- */

static void add(jm__dominant *m, size_t node, size_t spot, double seconds)
{
    const size_t key[2] = {node, spot};
    const jm__spot_time first = {node, spot, 0};
    size_t at = jm__map_item(&m->spot_time_at, key, &m->spot_times, &first);
    if (at == SIZE_MAX)
        m->tree->failed = true;
    else
        m->spot_times.items[at].seconds += seconds;
}

void jm__dominant_add(jm__dominant *m, size_t node, size_t use, double seconds)
{
    if (seconds <= 0) return;
    size_t spot = spot_of(m, m->a->work.uses.items.items[use].context);
    for (size_t n = node; n != JM__NO_NODE && !m->tree->failed; n = m->tree->nodes.items[n].parent)
        add(m, n, spot, seconds);
}

/* ---- the dominant layer ---- */

/* The end of a path sorts before the end of a segment, and that before all other characters. */
static int rank_of(char character)
{
    return character == '\0' ? 0 : character == '.' ? 1 : 2 + (unsigned char)character;
}

/* All paths inside a layer follow directly after the layer itself. */
static int compare_paths(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return rank_of(*a) - rank_of(*b);
}

static int by_node_and_path(const void *left, const void *right, void *context)
{
    const jm__dominant *m = context;
    const jm__spot_time *a = left, *b = right;
    const jm__spot *spot_a = &m->spots.items[a->spot], *spot_b = &m->spots.items[b->spot];
    if (a->node != b->node) return a->node < b->node ? -1 : 1;
    if (spot_a->kind != spot_b->kind) return spot_a->kind < spot_b->kind ? -1 : 1;
    return compare_paths(spot_a->path, spot_b->path);
}

static size_t depth_of(const char *path)
{
    size_t depth = 1;
    for (; *path != '\0'; path++)
        depth += *path == '.';
    return depth;
}

/* Bytes of the first `depth` segments of a path, at most all. */
static size_t outer_length(const char *path, size_t depth)
{
    const char *at = path;
    for (;; at++) {
        at += strcspn(at, ".");
        if (*at == '\0' || --depth == 0) return (size_t)(at - path);
    }
}

static bool is_same_layer(const jm__spot *a, const jm__spot *b, size_t depth)
{
    size_t length = outer_length(a->path, depth);
    return a->kind == b->kind && length == outer_length(b->path, depth) &&
           strncmp(a->path, b->path, length) == 0;
}

/* The layer at this depth with the most time among the spots of a node: its first item. */
static const jm__spot_time *find_largest(const jm__dominant *m, const jm__spot_time *spot_times, size_t count,
                                         size_t depth, double *most_s)
{
    const jm__spot_time *dominant = spot_times;
    *most_s = 0;
    for (size_t i = 0, end; i < count; i = end) {
        double seconds = 0;
        for (end = i; end < count && is_same_layer(&m->spots.items[spot_times[i].spot],
                                                   &m->spots.items[spot_times[end].spot], depth);
             end++)
            seconds += spot_times[end].seconds;
        if (seconds <= *most_s) continue;
        *most_s = seconds;
        dominant = &spot_times[i];
    }
    return dominant;
}

static void set_place(jm__dominant *m, jm__node *node, const jm__spot *spot, size_t depth)
{
    bool again = spot->kind == JM_SPAN_BACKWARD || spot->kind == JM_SPAN_RECOMPUTE;
    node->mostly_at =
        spot->path[0] == '\0'
            ? "(no layer)"
            : jm__tree_text(m->tree, "%.*s%s%s%s", (int)outer_length(spot->path, depth), spot->path,
                            again ? " (" : "", again ? jm_span_kind_text((jm_span_kind)spot->kind) : "",
                            again ? ")" : "");
}

static void set_dominant(jm__dominant *m, const jm__spot_time *spot_times, size_t count)
{
    static const double half_of_time = 0.5;
    double all_s = 0, most_s = 0;
    size_t depth = 1;
    for (size_t i = 0; i < count; i++) {
        size_t own_depth = depth_of(m->spots.items[spot_times[i].spot].path);
        all_s += spot_times[i].seconds;
        depth = own_depth > depth ? own_depth : depth;
    }
    const jm__spot_time *dominant = find_largest(m, spot_times, count, depth, &most_s);
    while (most_s < half_of_time * all_s && depth > 1)
        dominant = find_largest(m, spot_times, count, --depth, &most_s);
    jm__node *node = &m->tree->nodes.items[spot_times->node];
    node->mostly_share = most_s / all_s;
    set_place(m, node, &m->spots.items[dominant->spot], depth);
}

void jm__dominant_finish(jm__dominant *m)
{
    jm__spot_time *spot_times = m->spot_times.items;
    size_t count = m->spot_times.count;
    if (count > 0) qsort_r(spot_times, count, sizeof *spot_times, by_node_and_path, m);
    for (size_t i = 0, end; i < count && !m->tree->failed; i = end) {
        for (end = i; end < count && spot_times[end].node == spot_times[i].node; end++) {
        }
        set_dominant(m, spot_times + i, end - i);
    }
}
