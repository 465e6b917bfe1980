/* Correlated errors of the rows of a report, against a dense computation: each cell of the tree (seconds of a
 * row in a column) has an error of its own, and the covariance of all cells is a matrix. Rows with a part of
 * a column's time, measured phases, sums of rows. */
#include "attribute/rollup/rows.h"
#include "attribute/rollup/sums.h"
#include "dense.h"
#include "proof.h"

#include <stdio.h>

enum { BOARDS = 2, COLUMNS = 3, ALL_COLUMNS = BOARDS * COLUMNS };

static const double quantile = 2.1; /* of a fit with few readings */

/* Two boards, whose errors are independent; a phase of three parts, of which the second has two parts of its
 * own; and one of a single part beside it. */
typedef struct made {
    jm__dataset dataset;
    jm_board boards[BOARDS];
    jm__board_part parts[BOARDS];
    jm__board_work work[BOARDS];
    jm__attribution a;
    double power_w[ALL_COLUMNS], covariance[BOARDS][COLUMNS * COLUMNS];
    jm__tree tree;
    jm__rows rows;
    jm_report_totals totals;
} made;

enum { PHASE, FIRST, SECOND, INNER, INMOST, THIRD, BESIDE, BELOW, NODES };

static const char *const names[NODES] = {"phase",  "first", "second", "inner",
                                         "inmost", "third", "beside", "below"};
static const size_t parents[NODES] = {JM__NO_NODE, PHASE, PHASE, SECOND, SECOND, PHASE, JM__NO_NODE, BESIDE};

/* Seconds of each node in each column. */
static const double cell_s[NODES][ALL_COLUMNS] = {
    [PHASE] = {0.5, 0, 0.2, 0, 0, 0.4},  [FIRST] = {2, 1, 0, 0.5, 0, 0},
    [SECOND] = {0, 0.7, 0, 0, 1, 0},     [INNER] = {1, 0.3, 0, 0.9, 0, 0},
    [INMOST] = {0, 0, 0.6, 0, 0.4, 0.1}, [THIRD] = {0.8, 0, 0.3, 1.5, 0.2, 0},
    [BELOW] = {0, 0.4, 0.3, 0, 0.7, 0},  [BESIDE] = {0.9, 1.2, 0, 0.7, 0, 0.8},
};

/* `known_w`: uncertainty of each prior, which is 5 W too low. */
static void make_assumed(made *m, double discrepancy, double known_w)
{
    *m = (made){.dataset = {.boards = m->boards, .board_count = BOARDS}};
    m->a = (jm__attribution){.scope = {.dataset = &m->dataset, .options = {.by = JM_BY_PHASE}},
                             .boards = m->parts,
                             .columns = ALL_COLUMNS};
    for (size_t b = 0; b < BOARDS; b++) {
        double l[COLUMNS * COLUMNS] = {0}, turned[COLUMNS * COLUMNS];
        jm__board_part *part = &m->parts[b];
        m->work[b].columns.count = m->work[b].columns.class_columns = COLUMNS;
        for (size_t k = 0; k < COLUMNS; k++) {
            m->power_w[b * COLUMNS + k] = 300 + 70 * (double)k + 40 * (double)b;
            for (size_t j = 0; j <= k; j++)
                l[k * COLUMNS + j] = j == k ? 8 + 8 * dense_uniform() : 10 * dense_normal();
        }
        dense_transpose(turned, l, COLUMNS, COLUMNS);
        dense_multiply(m->covariance[b], l, turned, COLUMNS, COLUMNS, COLUMNS);
        *part = (jm__board_part){
            .requested = true, .board = &m->boards[b], .work = &m->work[b], .first_column = b * COLUMNS};
        part->fit = (jm__fit){.columns = COLUMNS,
                              .power_w = m->power_w + b * COLUMNS,
                              .covariance = m->covariance[b],
                              .fitted = true,
                              .known = true,
                              .discrepancy = discrepancy,
                              .quantile = quantile};
        jm__prior prior;
        const jm__prior *all = &prior;
        prior = (jm__prior){.provenance = JM_PROVENANCE_WEAK, .columns = COLUMNS};
        for (size_t k = 0; k < COLUMNS; k++)
            assert_int_equal(jm__prior_add_power(&prior, k, m->power_w[b * COLUMNS + k] - 5, known_w, NULL),
                             JM_OK);
        assert_int_equal(
            jm__joint_prior_make(&part->fit.joint_prior, all, NULL, 0, (jm__noise_prior){5, 2}, NULL), JM_OK);
        jm__prior_free(&prior);
    }
    jm__tree_init(&m->tree);
    for (size_t n = 0; n < NODES; n++) {
        assert_int_equal(jm__tree_node(&m->tree, parents[n], names[n], names[n], "phase"), n);
        for (uint32_t k = 0; k < ALL_COLUMNS; k++)
            if (cell_s[n][k] > 0) jm__tree_add(&m->tree, n, k, cell_s[n][k], 0);
    }
    assert_int_equal(jm__class_variance_find(&m->a, &m->tree, NULL), JM_OK);
}

static void make(made *m, double discrepancy)
{
    make_assumed(m, discrepancy, 500);
}

static bool is_within(size_t node, size_t of)
{
    while (node != JM__NO_NODE && node != of)
        node = parents[node];
    return node == of;
}

static double sum_of(const made *m, size_t of)
{
    double sum_j = 0;
    for (size_t n = 0; n < NODES; n++)
        for (size_t k = 0; k < ALL_COLUMNS && is_within(n, of); k++)
            sum_j += cell_s[n][k] * m->power_w[k];
    return sum_j;
}

/* `off_j`: the measured phase less the sum of its rows. */
static void measure(made *m, size_t of, double off_j, double u_j)
{
    jm__node *phase = &m->tree.nodes.items[of];
    phase->phase_j = sum_of(m, of) + off_j;
    phase->phase_u_j = u_j;
    phase->phase_s = 0;
    for (size_t n = 0; n < NODES; n++)
        for (size_t k = 0; k < ALL_COLUMNS && is_within(n, of); k++)
            phase->phase_s += cell_s[n][k];
}

static void make_rows(made *m)
{
    jm_error err = {0};
    if (jm__rows_make(&m->rows, &m->totals, &m->tree, &m->a, &err) != JM_OK) fail_msg("%s", err.text);
}

static void release(made *m)
{
    jm__rows_free(&m->rows);
    jm__tree_free(&m->tree);
    for (size_t b = 0; b < BOARDS; b++) {
        free(m->parts[b].fit.class_variance);
        jm__joint_prior_free(&m->parts[b].fit.joint_prior);
    }
}

static size_t row_of(const made *m, size_t node)
{
    for (size_t i = 0; i < m->rows.count; i++)
        if (m->rows.nodes.items[i] == node) return i;
    fail_msg("no row %s", names[node]);
    return 0;
}

static void assert_near(const char *what, double is, double truth)
{
    if (!(fabs(is - truth) <= 1e-8 * (1 + fabs(truth)))) fail_msg("%s: %.12g, not %.12g", what, is, truth);
}

/* ---- the same in full */

/* The covariance of the nodes' own energies: powers, and the variation of rows around their column's mean.
 * Rows of a column draw differences d of variance q, whose mean over the column's time is zero: with shares f
 * of that time, s d has the covariance q S^2 / n (f_i [i = j] - f_i f_j), where S is the column's seconds and
 * n is one over the sum of the squares of all shares. */
static void in_full(const made *m, double discrepancy, double *covariance)
{
    memset(covariance, 0, NODES * NODES * sizeof *covariance);
    for (size_t k = 0; k < ALL_COLUMNS; k++) {
        double all_s = 0, squares = 0, q = pow(discrepancy * m->power_w[k], 2);
        for (size_t n = 0; n < NODES; n++) {
            all_s += cell_s[n][k];
            squares += pow(cell_s[n][k], 2);
        }
        for (size_t i = 0; i < NODES; i++)
            for (size_t j = 0; j < NODES; j++) {
                double f = cell_s[i][k] / all_s, g = cell_s[j][k] / all_s, rows = all_s * all_s / squares;
                covariance[i * NODES + j] += q * all_s * all_s / rows * ((i == j ? f : 0) - f * g);
                for (size_t l = k / COLUMNS * COLUMNS; l < (k / COLUMNS + 1) * COLUMNS; l++)
                    covariance[i * NODES + j] +=
                        cell_s[i][k] * cell_s[j][l] *
                        m->covariance[k / COLUMNS][k % COLUMNS * COLUMNS + l % COLUMNS];
            }
    }
}

/* A row of the report: the node and all below it. */
static void rows_in_full(const double *own, double *rows)
{
    double member[NODES * NODES];
    for (size_t n = 0; n < NODES; n++)
        for (size_t r = 0; r < NODES; r++)
            member[n * NODES + r] = is_within(n, r);
    dense_around(rows, member, own, NODES, NODES);
}

/* After e + g (E - 1'e) of a phase's nodes, E being off by u: errors (1 - g 1') e + g u. Returns g. */
static void measured_in_full(double *own, size_t of, double u_j, double *g)
{
    double sum = 0, residual_map[NODES * NODES], after[NODES * NODES];
    memset(g, 0, NODES * sizeof *g);
    for (size_t n = 0; n < NODES; n++)
        for (size_t j = 0; j < NODES; j++)
            if (is_within(n, of) && is_within(j, of)) {
                g[n] += own[n * NODES + j];
                sum += own[n * NODES + j];
            }
    for (size_t n = 0; n < NODES; n++) {
        assert_true(g[n] >= 0); /* else it would count as none */
        g[n] /= sum;
    }
    for (size_t n = 0; n < NODES; n++) /* the transpose of 1 - g 1' */
        for (size_t j = 0; j < NODES; j++)
            residual_map[j * NODES + n] = (n == j) - (is_within(j, of) ? g[n] : 0);
    dense_around(after, residual_map, own, NODES, NODES);
    for (size_t n = 0; n < NODES; n++)
        for (size_t j = 0; j < NODES; j++)
            own[n * NODES + j] = after[n * NODES + j] + g[n] * g[j] * u_j * u_j;
}

/* ---- tests */

/* All rows, all pairs of rows, and a sum of two that is no row. */
static void check_report(const made *m, const double *own)
{
    double rows[NODES * NODES];
    const jm__sums sums = {.a = &m->a, .tree = &m->tree, .rows = &m->rows, .totals = &m->totals};
    rows_in_full(own, rows);
    for (size_t i = 0; i < NODES; i++) {
        size_t row = row_of(m, i);
        const jm_row *stated = &m->rows.items[row];
        jm_sum sum;
        assert_int_equal(jm__sums_add(&sums, &row, 1, &sum, NULL), JM_OK);
        assert_near(names[i], sum.energy_j, stated->energy_j);
        assert_near(names[i], sum.high_j, stated->energy_high_j);
        assert_near(names[i], sum.low_j, stated->energy_low_j);
        for (size_t j = 0; j < NODES; j++) {
            double j2 = 0;
            char both[32];
            snprintf(both, sizeof both, "%s and %s", names[i], names[j]);
            assert_int_equal(jm__sums_covariance(&sums, row, row_of(m, j), &j2, NULL), JM_OK);
            assert_near(both, j2, rows[i * NODES + j]);
        }
    }
}

static double half_of(const made *m, size_t node)
{
    const jm_row *row = &m->rows.items[row_of(m, node)];
    assert_near("below and above", row->energy_high_j - row->energy_j, row->energy_j - row->energy_low_j);
    return row->energy_high_j - row->energy_j;
}

static void test_rows_and_sums_of_rows_err_as_their_cells_do_together(void **state)
{
    (void)state;
    static const double misfits[] = {0, 0.07};
    for (size_t i = 0; i < sizeof misfits / sizeof *misfits; i++) {
        made m;
        double own[NODES * NODES], rows[NODES * NODES];
        make(&m, misfits[i]);
        make_rows(&m);
        in_full(&m, misfits[i], own);
        rows_in_full(own, rows);
        for (size_t n = 0; n < NODES; n++) {
            assert_near(names[n], m.rows.items[row_of(&m, n)].energy_j, sum_of(&m, n));
            assert_near(names[n], half_of(&m, n), quantile * sqrt(rows[n * NODES + n]));
        }
        check_report(&m, own);
        release(&m);
    }
}

/* No interval reaches farther than that of the priors alone. */
static void test_rows_and_sums_are_no_less_sure_than_the_priors(void **state)
{
    (void)state;
    const double discrepancy = 0.05, known_w = 2;
    size_t bound = 0;
    made m;
    make_assumed(&m, discrepancy, known_w);
    measure(&m, BESIDE, 40, 6);
    make_rows(&m);
    const jm__sums sums = {.a = &m.a, .tree = &m.tree, .rows = &m.rows, .totals = &m.totals};
    for (size_t r = 0; r < NODES; r++) {
        double off_j = 0, square = 0;
        size_t row = row_of(&m, r);
        jm_sum sum;
        if (r == BESIDE || r == BELOW) continue; /* measured */
        for (size_t k = 0; k < ALL_COLUMNS; k++) {
            double seconds = 0, all_s = 0, squares = 0;
            for (size_t n = 0; n < NODES; n++) {
                seconds += is_within(n, r) ? cell_s[n][k] : 0;
                all_s += cell_s[n][k];
                squares += pow(cell_s[n][k], 2);
            }
            off_j += seconds * 5;
            square += pow(seconds * known_w, 2) + pow(discrepancy * m.power_w[k], 2) * squares /
                                                      pow(all_s, 2) * seconds * (all_s - seconds);
        }
        double most_j = 1.96 * sqrt(square + off_j * off_j);
        double own[NODES * NODES], rows[NODES * NODES];
        in_full(&m, discrepancy, own);
        rows_in_full(own, rows);
        bound += most_j < quantile * sqrt(rows[r * NODES + r]);
        assert_near(names[r], half_of(&m, r), fmin(most_j, quantile * sqrt(rows[r * NODES + r])));
        assert_int_equal(jm__sums_add(&sums, &row, 1, &sum, NULL), JM_OK);
        assert_near(names[r], sum.high_j, m.rows.items[row].energy_high_j);
        assert_near(names[r], sum.low_j, m.rows.items[row].energy_low_j);
    }
    assert_true(bound >= 3);
    release(&m);
}

/* With `(unresolved)`, a sum is the total less all other rows. If the fit was conditioned on the total, the
 * unresolved part has an error of its own; else the total has. One board is conditioned, the other not, or
 * both, or none. */
static void test_a_sum_with_what_is_unresolved_is_the_total_less_the_others(void **state)
{
    (void)state;
    static const size_t set[] = {FIRST, THIRD, BESIDE};
    const double discrepancy = 0.05, u_j[BOARDS] = {30, 17}, rest_variance[BOARDS] = {110, 75};
    for (int held = 0; held < 4; held++) {
        made m;
        double own[NODES * NODES], variance = 0, others_j = 0, total_j = 0, member[NODES] = {0};
        make(&m, discrepancy);
        in_full(&m, discrepancy, own);
        for (size_t b = 0; b < BOARDS; b++) {
            jm__board_part *part = &m.parts[b];
            part->counted = true;
            part->fit.held = held >> b & 1;
            part->fit.rest_variance = rest_variance[b];
            part->fit.closure_z = NAN;
            part->total = (jm__total){.source = "energy_counter", .energy_j = 6000, .u_j = u_j[b]};
            total_j += 6000;
            variance += part->fit.held ? rest_variance[b] : u_j[b] * u_j[b];
        }
        make_rows(&m);
        size_t rows[4] = {0}, last = m.rows.count - 1;
        assert_int_equal(m.rows.nodes.items[last], JM__NO_NODE);
        rows[0] = last;
        for (size_t i = 0; i < 3; i++) {
            rows[i + 1] = row_of(&m, set[i]);
            for (size_t n = 0; n < NODES; n++)
                if (is_within(n, set[i])) member[n] = 1;
        }
        double fit_j2 = 0;
        for (size_t b = 0; b < BOARDS; b++) { /* errors of the rows in the sum, or of those that are not */
            double one[NODES * NODES], sign[NODES], sum[1];
            made alone = m;
            memset(alone.covariance[1 - b], 0, sizeof alone.covariance[0]);
            for (size_t k = 0; k < COLUMNS; k++)
                alone.power_w[(1 - b) * COLUMNS + k] = 0; /* no model discrepancy of it either */
            in_full(&alone, discrepancy, one);
            for (size_t n = 0; n < NODES; n++)
                sign[n] = m.parts[b].fit.held ? member[n] : 1 - member[n];
            dense_around(sum, sign, one, NODES, 1);
            fit_j2 += sum[0];
        }
        for (size_t n = 0; n < NODES; n++)
            for (size_t k = 0; k < ALL_COLUMNS; k++)
                others_j += (1 - member[n]) * cell_s[n][k] * m.power_w[k];
        const jm__sums sums = {.a = &m.a, .tree = &m.tree, .rows = &m.rows, .totals = &m.totals};
        jm_sum sum;
        assert_int_equal(jm__sums_add(&sums, rows, 4, &sum, NULL), JM_OK);
        assert_near("sum", sum.energy_j, total_j - others_j);
        assert_near("its half", sum.high_j - sum.energy_j,
                    hypot(quantile * sqrt(fit_j2), 1.96 * sqrt(variance)));
        release(&m);
    }
}

/* Two phases: one has more than its rows, and one less, or the other way round. */
static void test_parts_of_a_measured_phase_know_what_it_took(void **state)
{
    (void)state;
    static const size_t phases[] = {PHASE, BESIDE};
    static const double off_j[][2] = {{25, -15}, {-40, 12}}, u_j[] = {6, 4};
    for (size_t i = 0; i < sizeof off_j / sizeof *off_j; i++) {
        const double discrepancy = 0.05;
        made m;
        double own[NODES * NODES], rows[NODES * NODES], before[NODES * NODES], g[2][NODES];
        make(&m, discrepancy);
        in_full(&m, discrepancy, own);
        rows_in_full(own, before);
        for (size_t p = 0; p < 2; p++) {
            measured_in_full(own, phases[p], u_j[p], g[p]);
            measure(&m, phases[p], off_j[i][p], u_j[p]);
        }
        rows_in_full(own, rows);
        make_rows(&m);
        for (size_t n = 0; n < NODES; n++) {
            size_t p = is_within(n, BESIDE);
            double share = 0;
            for (size_t j = 0; j < NODES; j++)
                share += is_within(j, n) ? g[p][j] : 0;
            assert_near(names[n], m.rows.items[row_of(&m, n)].energy_j, sum_of(&m, n) + share * off_j[i][p]);
            double fit_j2 = rows[n * NODES + n] - pow(share * u_j[p], 2); /* the fit's by its quantile */
            double half_j = hypot(quantile * sqrt(fmax(0, fit_j2)), 1.96 * share * u_j[p]);
            assert_near(names[n], half_of(&m, n), n == phases[p] ? 1.96 * u_j[p] : half_j);
            assert_true(rows[n * NODES + n] < before[n * NODES + n]);
        }
        check_report(&m, own);
        release(&m);
    }
}

/* Truths drawn from the fit's covariance, and phases measured with an error: the errors of rows agree with
 * their uncertainties. */
static void test_rows_of_measured_phases_are_off_as_they_say(void **state)
{
    (void)state;
    const int draws = proof_some(8000, 500);
    const double u_j = 9;
    double factor[BOARDS][COLUMNS * COLUMNS], square[NODES] = {0}, stated[NODES] = {0};
    for (int draw = 0; draw < draws; draw++) {
        made m;
        double truth_w[ALL_COLUMNS], truth_j[NODES] = {0};
        dense_random = UINT64_C(88172645463325252); /* the same covariance each time */
        make(&m, 0);
        dense_random = UINT64_C(88172645463325252) + (uint64_t)draw * UINT64_C(0x9e3779b97f4a7c15);
        for (int i = 0; i < 20; i++)
            dense_uniform();
        for (size_t b = 0; b < BOARDS; b++) {
            memcpy(factor[b], m.covariance[b], sizeof factor[b]);
            dense_factor(factor[b], COLUMNS);
            dense_draw(truth_w + b * COLUMNS, m.power_w + b * COLUMNS, factor[b], COLUMNS);
        }
        for (size_t n = 0; n < NODES; n++)
            for (size_t r = 0; r < NODES; r++)
                for (size_t k = 0; k < ALL_COLUMNS && is_within(n, r); k++)
                    truth_j[r] += cell_s[n][k] * truth_w[k];
        measure(&m, PHASE, truth_j[PHASE] - sum_of(&m, PHASE) + u_j * dense_normal(), u_j);
        make_rows(&m);
        for (size_t n = 0; n < NODES; n++) {
            double j2;
            const jm__sums sums = {.a = &m.a, .tree = &m.tree, .rows = &m.rows, .totals = &m.totals};
            size_t row = row_of(&m, n);
            square[n] += pow(m.rows.items[row].energy_j - truth_j[n], 2) / draws;
            assert_int_equal(jm__sums_covariance(&sums, row, row, &j2, NULL), JM_OK);
            stated[n] = j2;
        }
        release(&m);
    }
    /* 3.8 standard deviations of a variance from this many draws: 8,000 give 1.6 %. */
    for (size_t n = 0; n < NODES; n++)
        if (!(fabs(square[n] / stated[n] - 1) < 0.06 * sqrt(8000.0 / draws)))
            fail_msg("%s: %g J^2, said %g", names[n], square[n], stated[n]);
}

/* How the rows of a phase share the difference to its measured energy. */
typedef enum by_what { BY_FIRST_COLUMN, BY_ENERGY, BY_ROOM, BY_NONE } by_what;

static void check_shares(double off_j, double first_w2, double most_w, by_what by)
{
    const double limits_w[COLUMNS] = {most_w, most_w, most_w};
    made m;
    double own_j[NODES] = {0}, most_j[NODES] = {0}, all_j = 0, room_j = 0, sum_j = 0, first_s = 0;
    make(&m, 0);
    for (size_t b = 0; b < BOARDS; b++) {
        assert_int_equal(jm__joint_prior_limit(&m.parts[b].fit.joint_prior, limits_w, NULL), JM_OK);
        memset(m.covariance[b], 0, sizeof m.covariance[b]);
    }
    m.covariance[0][0] = first_w2;
    measure(&m, PHASE, off_j, 6);
    make_rows(&m);
    for (size_t n = 0; n < NODES; n++) {
        first_s += is_within(n, PHASE) ? cell_s[n][0] : 0;
        for (size_t k = 0; k < ALL_COLUMNS && is_within(n, PHASE); k++) {
            own_j[n] += cell_s[n][k] * m.power_w[k];
            if (cell_s[n][k] > 0) most_j[n] += cell_s[n][k] * most_w;
            all_j += cell_s[n][k] * m.power_w[k];
            if (cell_s[n][k] > 0) room_j += cell_s[n][k] * (most_w - m.power_w[k]);
        }
    }
    for (size_t n = 0; n < NODES; n++) {
        const double shares[] = {cell_s[n][0] / first_s, own_j[n] / all_j, (most_j[n] - own_j[n]) / room_j,
                                 n == PHASE};
        double self_j = m.rows.items[row_of(&m, n)].energy_self_j;
        if (!is_within(n, PHASE)) continue;
        sum_j += self_j;
        assert_near(names[n], self_j, own_j[n] + shares[by] * off_j);
    }
    assert_near("all of the phase", sum_j, all_j + off_j);
    release(&m);
}

/* Only one column is uncertain: the difference to the phase would all go to it, below zero and above the 600
 * W limit of the board. */
static void test_a_measured_phase_leaves_powers_within_their_limits(void **state)
{
    (void)state;
    check_shares(-2500, 400, 600, BY_ENERGY); /* all move towards zero */
    check_shares(2000, 400, 600, BY_ROOM);    /* and nearer to the limit */
    check_shares(5000, 400, 600, BY_ENERGY);  /* beyond all limits there is no way to keep them */
    check_shares(2000, 400, INFINITY, BY_FIRST_COLUMN);
    check_shares(-10, 0, 600, BY_ENERGY); /* without any error no row may go below zero either */
    check_shares(10, 0, 600, BY_NONE);    /* the phase itself takes what no row can */
}

/* Five equal rows of a column differ as drawn: each from the column's mean over all of them. */
static void test_rows_with_a_part_of_a_columns_time_differ_from_its_mean_as_drawn(void **state)
{
    (void)state;
    enum { ROWS = 5, DRAWS = 20000 };
    const double discrepancy = 0.06, power_w = 400, each_s = 2;
    made m;
    double covariance = 0;
    make(&m, 0);
    jm__tree_free(&m.tree);
    free(m.parts[0].fit.class_variance);
    free(m.parts[1].fit.class_variance);
    m.parts[1].fit.class_variance = NULL;
    m.parts[1].fit.fitted = false;
    m.parts[0].fit.discrepancy = discrepancy;
    m.parts[0].fit.columns = 1;
    m.parts[0].fit.covariance = &covariance;
    m.power_w[0] = power_w;
    jm__tree_init(&m.tree);
    for (size_t n = 0; n < ROWS; n++) {
        char name[8];
        snprintf(name, sizeof name, "%zu", n);
        jm__tree_add(&m.tree,
                     jm__tree_node(&m.tree, JM__NO_NODE, "row", jm__tree_text(&m.tree, "%s", name), "x"), 0,
                     each_s, 0);
    }
    assert_int_equal(jm__class_variance_find(&m.a, &m.tree, NULL), JM_OK);
    double one = 0, two = 0, apart = 0;
    for (int draw = 0; draw < DRAWS; draw++) {
        double off[ROWS], mean = 0;
        for (size_t n = 0; n < ROWS; n++) {
            off[n] = discrepancy * power_w * dense_normal();
            mean += off[n] / ROWS;
        }
        one += pow(each_s * (off[0] - mean), 2) / DRAWS;
        two += pow(each_s * (off[0] + off[1] - 2 * mean), 2) / DRAWS;
        apart += each_s * (off[0] - mean) * each_s * (off[1] - mean) / DRAWS;
    }
    const double left[COLUMNS] = {each_s}, right[COLUMNS] = {each_s}, both[COLUMNS] = {2 * each_s},
                 all[COLUMNS] = {ROWS * each_s};
    const jm__fit *fit = &m.parts[0].fit;
    const jm__cell cell = {.seconds = each_s}, cells = {.seconds = 2 * each_s},
                   whole = {.seconds = ROWS * each_s};
    assert_near("one", jm__fit_sum_of(fit, &cell, 1, 0).variance, jm__fit_covariance(fit, left, left, left));
    assert_near("two", jm__fit_sum_of(fit, &cells, 1, 0).variance, jm__fit_covariance(fit, both, both, both));
    assert_near("all", jm__fit_covariance(fit, all, all, all), 0);
    assert_near("all", jm__fit_sum_of(fit, &whole, 1, 0).variance, 0);
    assert_true(fabs(jm__fit_covariance(fit, left, left, left) / one - 1) < 0.04); /* known to 1 % */
    assert_true(fabs(jm__fit_covariance(fit, both, both, both) / two - 1) < 0.04);
    assert_true(fabs(jm__fit_covariance(fit, left, right, NULL) / apart - 1) < 0.12); /* known to 4 % */
    m.parts[0].fit.columns = COLUMNS;
    release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_and_sums_of_rows_err_as_their_cells_do_together),
        cmocka_unit_test(test_rows_and_sums_are_no_less_sure_than_the_priors),
        cmocka_unit_test(test_a_sum_with_what_is_unresolved_is_the_total_less_the_others),
        cmocka_unit_test(test_parts_of_a_measured_phase_know_what_it_took),
        cmocka_unit_test(test_rows_of_measured_phases_are_off_as_they_say),
        cmocka_unit_test(test_a_measured_phase_leaves_powers_within_their_limits),
        cmocka_unit_test(test_rows_with_a_part_of_a_columns_time_differ_from_its_mean_as_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
