/* From a tree to rows: sums, order, provenance. Trees are made by hand with measured energy, so that each
 * figure can be computed by hand. */
#include "attribute/rollup/rows.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const jm__dataset nothing = {0};
static const jm__attribution no_boards = {.scope = {.dataset = &nothing, .options = {.by = JM_BY_LAYER}},
                                          .columns = 8};

static void check_near(double is, double expected)
{
    if (!(fabs(is - expected) < 1e-6)) fail_msg("%.9g is not %.9g", is, expected);
}

static size_t add(jm__tree *tree, size_t parent, const char *name, const char *kind)
{
    size_t node = jm__tree_node(tree, parent, name, name, kind);
    assert_int_not_equal(node, JM__NO_NODE);
    return node;
}

static size_t add_measured(jm__tree *tree, size_t parent, const char *name, double seconds, double energy_j,
                           double u_j)
{
    size_t node = add(tree, parent, name, "gpu");
    jm__node *item = &tree->nodes.items[node];
    item->spent.busy_s = seconds;
    item->measured = true;
    item->measured_j = energy_j;
    item->measured_u_j = u_j;
    return node;
}

static jm__rows rows_of(jm__tree *tree)
{
    jm__rows rows = {0};
    jm_report_totals totals;
    jm_error err;
    if (jm__rows_make(&rows, &totals, tree, &no_boards, &err) != JM_OK) fail_msg("%s", err.text);
    return rows;
}

static const jm_row *row_of(const jm__rows *rows, const char *name)
{
    for (size_t i = 0; i < rows->count; i++)
        if (strcmp(rows->items[i].name, name) == 0) return &rows->items[i];
    fail_msg("there is no row %s", name);
    return NULL;
}

/* ---- provenance */

static void test_a_row_says_how_it_is_known(void **state)
{
    (void)state;
    const jm__subtotal decided = {.cell_count = 1,
                                  .spent.busy_s = 2,
                                  .energy = {.known = true, .decided = true, .assumed = JM_PROVENANCE_GIVEN}};
    jm__subtotal sub = decided;
    const jm__node plain = {0}, measured = {.measured = true}, total = {.is_phase_total = true};
    assert_int_equal(jm__row_provenance(&plain, &sub), JM_PROVENANCE_FITTED);
    assert_int_equal(jm__row_provenance(&measured, &sub), JM_PROVENANCE_FITTED); /* a part of it was fitted */
    assert_int_equal(jm__row_provenance(&total, &sub), JM_PROVENANCE_MEASURED);
    sub.energy.decided = false; /* by its prior, then */
    assert_int_equal(jm__row_provenance(&plain, &sub), JM_PROVENANCE_GIVEN);
    sub = decided;
    sub.spent.merged_s = 1; /* half of its time in shared columns: not most of it */
    assert_int_equal(jm__row_provenance(&plain, &sub), JM_PROVENANCE_FITTED);
    sub.spent.merged_s = 1.01;
    assert_int_equal(jm__row_provenance(&plain, &sub), JM_PROVENANCE_WEAK);
    assert_int_equal(jm__row_provenance(&total, &sub), JM_PROVENANCE_MEASURED);
    sub.energy.known = false;
    assert_int_equal(jm__row_provenance(&plain, &sub), JM_PROVENANCE_UNRESOLVED);
    sub = (jm__subtotal){0}; /* all of it is measured */
    assert_int_equal(jm__row_provenance(&measured, &sub), JM_PROVENANCE_MEASURED);
    assert_int_equal(jm__row_provenance(&plain, &sub), JM_PROVENANCE_FITTED);
    sub.measured = true;
    assert_int_equal(jm__row_provenance(&plain, &sub), JM_PROVENANCE_MEASURED);
}

/* A meter with a reversed clamp; a row with a wide interval. */
static void test_an_interval_holds_its_figure_also_below_zero(void **state)
{
    (void)state;
    static const struct {
        double energy_j, u_j, low_j;
    } meters[] = {{-100, 1, -100 - 1.96}, {-1, 10, -1 - 19.6}, {1, 10, 0}, {100, 1, 100 - 1.96}};
    for (size_t i = 0; i < sizeof meters / sizeof *meters; i++) {
        jm__tree tree;
        jm__tree_init(&tree);
        add_measured(&tree, JM__NO_NODE, "meter", 2, meters[i].energy_j, meters[i].u_j);
        jm__rows rows = rows_of(&tree);
        const jm_row *row = row_of(&rows, "meter");
        assert_true(fabs(row->energy_low_j - meters[i].low_j) < 0.01);
        assert_true(row->energy_low_j <= row->energy_j && row->energy_j <= row->energy_high_j);
        jm__rows_free(&rows);
        jm__tree_free(&tree);
    }
}

/* ---- sums */

static void test_a_row_holds_all_below_it(void **state)
{
    (void)state;
    jm__tree tree;
    jm__tree_init(&tree);
    size_t top = add_measured(&tree, JM__NO_NODE, "top", 2, 300, 3);
    size_t left = add_measured(&tree, top, "left", 4, 100, 4);
    size_t below = add_measured(&tree, left, "below", 1, 50, 12);
    add_measured(&tree, top, "right", 3, 10, 0);
    tree.nodes.items[left].calls = 7;
    jm__tree_seen(&tree, left, 500, 900, 0);
    jm__tree_seen(&tree, below, 400, 600, 1);
    jm__tree_seen(&tree, below, 450, 1000, 1);
    jm__rows rows = rows_of(&tree);
    const jm_row *row = row_of(&rows, "top");
    check_near(row->energy_j, 460);
    check_near(row->energy_self_j, 300);
    check_near(row->busy_s, 10);
    check_near(row->power_w, 46);
    double half_j = 1.96 * 13; /* of 3, 4 and 12 */
    check_near(row->energy_high_j - row->energy_j, half_j);
    check_near(row->energy_j - row->energy_low_j, half_j);
    assert_int_equal(row->start_ns, 400);
    assert_int_equal(row->end_ns, 1000);
    assert_int_equal(tree.nodes.items[top].boards, 3);
    assert_int_equal(tree.nodes.items[below].boards, 2);
    row = row_of(&rows, "left");
    check_near(row->energy_j, 150);
    check_near(row->energy_self_j, 100);
    assert_int_equal(row->depth, 1);
    assert_int_equal(row->calls, 7);
    row = row_of(&rows, "below");
    assert_int_equal(row->depth, 2);
    check_near(row->energy_high_j, 50 + 1.96 * 12);
    check_near(row->energy_low_j, 50 - 1.96 * 12);
    assert_int_equal(rows.count, 5);
    assert_string_equal(rows.items[4].name, "(unresolved)");
    jm__rows_free(&rows);
    jm__tree_free(&tree);
}

static void test_a_row_is_weak_if_most_below_it_shares_columns(void **state)
{
    (void)state;
    jm__tree tree;
    jm__tree_init(&tree);
    size_t top = add(&tree, JM__NO_NODE, "top", "forward");
    size_t shared = add(&tree, top, "shared", "forward"), own = add(&tree, top, "own", "forward");
    jm__tree_add(&tree, shared, 1, 3, 0);
    jm__tree_add(&tree, own, 2, 2, 0);
    tree.nodes.items[shared].spent.busy_s = tree.nodes.items[shared].spent.merged_s = 3;
    tree.nodes.items[own].spent.busy_s = 2;
    jm__rows rows = rows_of(&tree);
    assert_int_equal(row_of(&rows, "top")->provenance, JM_PROVENANCE_WEAK);
    assert_int_equal(row_of(&rows, "shared")->provenance, JM_PROVENANCE_WEAK);
    assert_int_not_equal(row_of(&rows, "own")->provenance, JM_PROVENANCE_WEAK);
    jm__rows_free(&rows);
    jm__tree_free(&tree);
}

static void test_a_row_is_shown_if_it_or_what_is_below_has_anything(void **state)
{
    (void)state;
    jm__tree tree;
    jm__tree_init(&tree);
    size_t top = add(&tree, JM__NO_NODE, "top", "forward"), called = add(&tree, top, "called", "forward"),
           empty = add(&tree, JM__NO_NODE, "empty", "forward"),
           busy = add(&tree, JM__NO_NODE, "busy", "forward"),
           worked = add(&tree, JM__NO_NODE, "worked", "forward");
    add(&tree, empty, "as empty", "forward");
    add_measured(&tree, JM__NO_NODE, "measured", 0, 1, 0);
    tree.nodes.items[called].calls = 1;
    tree.nodes.items[busy].spent.busy_s = 0.5;
    jm__tree_add(&tree, worked, 1, 1, 0);
    jm__rows rows = rows_of(&tree);
    static const char *const shown[] = {"top", "called", "busy", "worked", "measured"};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        (void)row_of(&rows, shown[i]);
    assert_int_equal(rows.count, sizeof shown / sizeof *shown + 1); /* and what is unresolved */
    jm__rows_free(&rows);
    jm__tree_free(&tree);
}

/* Of a span without work, the first occurrence on the host. */
static void test_a_row_without_work_has_the_time_of_its_span(void **state)
{
    (void)state;
    jm__tree tree;
    jm__tree_init(&tree);
    size_t node = add(&tree, JM__NO_NODE, "span", "forward"),
           none = add(&tree, JM__NO_NODE, "never", "forward");
    tree.nodes.items[node].calls = tree.nodes.items[none].calls = 1;
    jm__tree_seen_on_host(&tree, node, 30, 40);
    jm__tree_seen_on_host(&tree, node, 10, 20);
    jm__rows rows = rows_of(&tree);
    assert_int_equal(row_of(&rows, "span")->start_ns, 30);
    assert_int_equal(row_of(&rows, "span")->end_ns, 40);
    assert_int_equal(row_of(&rows, "never")->start_ns, 0);
    assert_true(isnan(row_of(&rows, "span")->power_w));
    jm__rows_free(&rows);
    jm__tree_free(&tree);
}

/* The parts of a phase take columns 1, 2 and 4; together as many seconds as the phase was measured over. */
static jm__rows phase_of(jm__tree *tree, double phase_s)
{
    jm__tree_init(tree);
    size_t phase = add(tree, JM__NO_NODE, "phase", "phase");
    size_t forward = add(tree, phase, "forward", "forward"),
           backward = add(tree, phase, "backward", "backward");
    jm__tree_add(tree, backward, 4, 3, 0);
    jm__tree_add(tree, backward, 1, 2, 0);
    jm__tree_add(tree, forward, 2, 4, 0);
    jm__tree_add(tree, forward, 1, 0.5, 0);
    jm__tree_add(tree, forward, 1, 0.5, 0);
    jm__tree_add(tree, phase, 4, 1, 0);
    tree->nodes.items[forward].measured_j = 40;
    jm__node *item = &tree->nodes.items[phase];
    item->phase_j = 100;
    item->phase_u_j = 5;
    item->phase_s = phase_s;
    return rows_of(tree);
}

static void test_what_was_measured_as_a_whole_is_marked_as_such_if_its_parts_are_that_time(void **state)
{
    (void)state;
    static const double as_long[] = {11, 11 * 1.0049, 11 * 0.9951},
                        not_so[] = {10, 12, 11 * 1.006, 11 * 0.994};
    jm__tree tree;
    for (size_t i = 0; i < sizeof as_long / sizeof *as_long; i++) {
        jm__rows rows = phase_of(&tree, as_long[i]);
        const jm_row *row = row_of(&rows, "phase");
        check_near(row->energy_j, 100);
        check_near(row->energy_self_j, 60);
        check_near(row->energy_high_j, 100 + 5 * 1.96);
        check_near(row->energy_low_j, 100 - 5 * 1.96);
        assert_int_equal(row->provenance, JM_PROVENANCE_MEASURED);
        jm__rows_free(&rows);
        jm__tree_free(&tree);
    }
    for (size_t i = 0; i < sizeof not_so / sizeof *not_so; i++) {
        jm__rows rows = phase_of(&tree, not_so[i]);
        check_near(row_of(&rows, "phase")->energy_j, 40);
        assert_int_not_equal(row_of(&rows, "phase")->provenance, JM_PROVENANCE_MEASURED);
        jm__rows_free(&rows);
        jm__tree_free(&tree);
    }
}

/* ---- order */

static void check_order(const jm__tree *tree, const jm__subtotal *subtotals, jm_by by, const char *expected)
{
    jm__row_order order = {0};
    jm_error err;
    char text[128] = "";
    assert_int_equal(jm__row_order_find(&order, tree, subtotals, by, &err), JM_OK);
    for (size_t i = 0; i < tree->nodes.count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d%s ", order.depth[order.nodes[i]],
                 tree->nodes.items[order.nodes[i]].name);
    assert_string_equal(text, expected);
    jm__row_order_free(&order);
}

static void test_rows_stratum_as_the_program_ran_or_by_their_energy(void **state)
{
    (void)state;
    enum { NODES = 8 };
    static const int64_t starts[NODES] = {0, 1, 50, 40, 7, 20, 10, 20};
    jm__subtotal subtotals[NODES] = {0};
    jm__tree tree;
    jm__tree_init(&tree);
    add(&tree, JM__NO_NODE, "(idle)", "idle");
    add(&tree, JM__NO_NODE, "(outside)", "outside");
    size_t late = add(&tree, JM__NO_NODE, "late", "forward"),
           early = add(&tree, JM__NO_NODE, "early", "forward");
    add(&tree, late, "l1", "forward");
    add(&tree, early, "e2", "forward");
    add(&tree, early, "e1", "forward");
    add(&tree, early, "e3", "forward"); /* as early as e2, and found later */
    for (size_t n = 0; n < NODES; n++) {
        tree.nodes.items[n].start_ns = starts[n];
        subtotals[n].energy.energy_j = (double)n;
    }
    check_order(&tree, subtotals, JM_BY_LAYER, "0early 1e1 1e2 1e3 0late 1l1 0(outside) 0(idle) ");
    check_order(&tree, subtotals, JM_BY_SPAN, "0early 1e1 1e2 1e3 0late 1l1 0(outside) 0(idle) ");
    check_order(&tree, subtotals, JM_BY_KERNEL, "0early 1e3 1e1 1e2 0late 1l1 0(outside) 0(idle) ");
    check_order(&tree, subtotals, JM_BY_TYPE, "0early 1e3 1e1 1e2 0late 1l1 0(outside) 0(idle) ");
    subtotals[6].energy.energy_j = subtotals[3].energy.energy_j = NAN; /* e1 and early: unknown */
    check_order(&tree, subtotals, JM_BY_KERNEL, "0late 1l1 0early 1e3 1e2 1e1 0(outside) 0(idle) ");
    check_order(&tree, subtotals, JM_BY_BOARD, "0late 1l1 0early 1e2 1e1 1e3 0(outside) 0(idle) ");
    jm__tree_free(&tree);
}

/* In the span view calls of one layer are nodes of their own, whose power differs from the column in the same
 * way.
 */
static void test_calls_of_one_layer_are_alike_column_by_column(void **state)
{
    (void)state;
    jm__tree tree;
    jm__tree_init(&tree);
    const struct {
        const char *path, *kind;
        size_t group[2]; /* the first cell of its group, by column */
    } calls[] = {{"net.one", "forward", {0, 1}},
                 {"net.two", "forward", {2, 3}},
                 {"net.one", "forward", {0, 1}},
                 {"net.one", "backward", {6, 7}},
                 {"net.two", "forward", {2, 3}}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        size_t node = jm__tree_new(&tree, JM__NO_NODE, calls[i].path, calls[i].path, calls[i].kind);
        assert_int_equal(node, i);
        for (uint32_t column = 0; column < 2; column++) {
            jm__tree_add(&tree, node, column, 1, 0);
            assert_int_equal(tree.cells.items[2 * i + column].group, calls[i].group[column]);
        }
    }
    assert_false(tree.failed);
    jm__tree_free(&tree);
}

static void test_nodes_are_marked_apart_by_path_and_kind(void **state)
{
    (void)state;
    jm__tree tree;
    jm__tree_init(&tree);
    size_t forward = jm__tree_node(&tree, JM__NO_NODE, "a", "x/a", "forward");
    assert_int_equal(jm__tree_node(&tree, JM__NO_NODE, "b", "x/a", "forward"), forward);
    assert_int_not_equal(jm__tree_node(&tree, JM__NO_NODE, "a", "x/a", "backward"), forward);
    assert_int_not_equal(jm__tree_node(&tree, JM__NO_NODE, "a", "y/a", "forward"), forward);
    assert_int_equal(jm__tree_find(&tree, "x/a", "forward"), forward);
    assert_int_equal(jm__tree_find(&tree, "x/a", "other"), JM__NO_NODE);
    assert_int_equal(tree.nodes.count, 3);
    jm__tree_free(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_row_says_how_it_is_known),
        cmocka_unit_test(test_an_interval_holds_its_figure_also_below_zero),
        cmocka_unit_test(test_a_row_holds_all_below_it),
        cmocka_unit_test(test_a_row_is_weak_if_most_below_it_shares_columns),
        cmocka_unit_test(test_a_row_is_shown_if_it_or_what_is_below_has_anything),
        cmocka_unit_test(test_a_row_without_work_has_the_time_of_its_span),
        cmocka_unit_test(test_what_was_measured_as_a_whole_is_marked_as_such_if_its_parts_are_that_time),
        cmocka_unit_test(test_rows_stratum_as_the_program_ran_or_by_their_energy),
        cmocka_unit_test(test_calls_of_one_layer_are_alike_column_by_column),
        cmocka_unit_test(test_nodes_are_marked_apart_by_path_and_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
