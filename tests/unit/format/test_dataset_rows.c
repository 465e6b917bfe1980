/* Rows of a file, which may hold anything: what is taken, what is put right and what is left out, at both
 * ends of each range. */
#include "format/dataset_rows.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static jm__loading loading;

#define LATEST (INT64_MAX / 4)
#define HOUR   (3600 * JM_NS_PER_S)

static int set_up(void **state)
{
    (void)state;
    memset(&loading, 0, sizeof loading);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    jm__vec_free(&loading.boards);
    jm__vec_free(&loading.sensors);
    jm__vec_free(&loading.readings);
    jm__vec_free(&loading.processes);
    jm__vec_free(&loading.spans);
    jm__vec_free(&loading.classes);
    jm__vec_free(&loading.streams);
    jm__vec_free(&loading.marks);
    jm__vec_free(&loading.losses);
    jm__vec_free(&loading.events);
    jm__vec_free(&loading.names);
    jm__text_store_free(&loading.texts);
    return 0;
}

/* Hand over a row; is it left out? */
static bool left_out(jm__table_id table, const void *row)
{
    int64_t strays = loading.strays;
    for (size_t i = 0; i < jm__dataset_table_count; i++)
        if (jm__dataset_tables[i].table == table) assert_true(jm__dataset_tables[i].take(&loading, row));
    assert_in_range(loading.strays - strays, 0, 1);
    return loading.strays > strays;
}

static void take(jm__table_id table, const void *row)
{
    assert_false(left_out(table, row));
}

static void add_boards_sensors_and_names(void)
{
    take(JM_TABLE_BOARDS, &(jm_board){.id = 2, .index = 7});
    take(JM_TABLE_SENSORS, &(jm_sensor){.id = 3, .board_id = 2, .period_ns = 20});
    take(JM_TABLE_NAMES, &(jm__name){.id = 2, .text = "second"});
}

static void test_rows_stand_at_their_numbers_and_lost_ones_are_blank(void **state)
{
    (void)state;
    add_boards_sensors_and_names();
    assert_int_equal(loading.boards.count, 2);
    assert_int_equal(loading.boards.items[0].id, 1);
    assert_int_equal(loading.boards.items[0].index, jm__board_blank.index);
    assert_int_equal(loading.boards.items[1].index, 7);
    assert_int_equal(loading.sensors.count, 3);
    assert_int_equal(loading.sensors.items[0].id, 1);
    assert_int_equal(loading.sensors.items[1].board_id, 2);
    assert_string_equal(loading.sensors.items[1].missing, "lost with a part of the file");
    assert_string_equal(loading.sensors.items[2].missing, "");
    assert_int_equal(loading.names.count, 3);
    assert_string_equal(loading.names.items[1], "");
    assert_string_equal(loading.names.items[2], "second");
    take(JM_TABLE_NAMES, &(jm__name){.id = 1, .text = "first"});
    assert_string_equal(loading.names.items[1], "first");
    assert_int_equal(loading.names.count, 3);
}

static void test_numbers_that_no_row_can_have_are_left_out(void **state)
{
    (void)state;
    add_boards_sensors_and_names();
    assert_true(left_out(JM_TABLE_BOARDS, &(jm_board){.id = 0}));
    assert_true(left_out(JM_TABLE_BOARDS, &(jm_board){.id = 1025}));
    take(JM_TABLE_BOARDS, &(jm_board){.id = 1024});
    assert_true(left_out(JM_TABLE_SENSORS, &(jm_sensor){.id = 65537, .board_id = 1}));
    assert_true(left_out(JM_TABLE_SENSORS, &(jm_sensor){.id = 1, .board_id = 0}));
    assert_true(left_out(JM_TABLE_SENSORS, &(jm_sensor){.id = 1, .board_id = 1025}));
    take(JM_TABLE_SENSORS, &(jm_sensor){.id = 1, .board_id = 1024});
    assert_true(left_out(JM_TABLE_NAMES, &(jm__name){.id = 0, .text = "none"}));
    assert_true(left_out(JM_TABLE_NAMES, &(jm__name){.id = JM_NUMBERED_MAX + 1, .text = "none"}));
    assert_true(left_out(JM_TABLE_KERNEL_CLASSES, &(jm__kernel_class){.id = 0}));
    assert_true(left_out(JM_TABLE_STREAMS, &(jm__stream){.id = -1}));
    assert_int_equal(loading.strays, 9);
}

static void test_sensors_of_no_kind_or_of_a_response_beyond_an_hour_are_left_out(void **state)
{
    (void)state;
    add_boards_sensors_and_names();
    const jm_sensor fine = {.id = 1, .board_id = 1, .period_ns = HOUR, .lag_ns = -HOUR, .tau_u_ns = HOUR};
    take(JM_TABLE_SENSORS, &fine);
    jm_sensor bad[11];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        bad[i] = fine;
    bad[0].quantity = JM_QUANTITY_COUNT;
    bad[1].response = JM_RESPONSE_COUNT;
    bad[2].period_ns = -1;
    bad[3].period_ns = HOUR + 1;
    bad[4].lag_ns = HOUR + 1;
    bad[5].lag_ns = -HOUR - 1;
    bad[6].lag_ns = INT64_MIN;
    bad[7].lag_u_ns = -1;
    bad[8].window_ns = HOUR + 1;
    bad[9].tau_ns = -1;
    bad[10].tau_u_ns = HOUR + 1;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!left_out(JM_TABLE_SENSORS, &bad[i])) fail_msg("sensor %zu was taken", i);
}

static void test_readings_name_a_sensor_and_have_a_number(void **state)
{
    (void)state;
    add_boards_sensors_and_names();
    static const jm_reading fine[] = {{1, LATEST, 1e20}, {3, -LATEST, -1e20}, {2, 0, 0}};
    static const jm_reading bad[] = {{0, 5, 1},         {4, 5, 1},   {1, LATEST + 1, 1}, {1, -LATEST - 1, 1},
                                     {1, 5, 1.0001e20}, {1, 5, NAN}, {1, 5, -INFINITY}};
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        take(JM_TABLE_READINGS, &fine[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!left_out(JM_TABLE_READINGS, &bad[i])) fail_msg("reading %zu was taken", i);
    assert_int_equal(loading.readings.count, 3);
    assert_memory_equal(loading.readings.items, fine, sizeof fine);
}

static void test_spans_go_by_the_kinds_of_their_file(void **state)
{
    (void)state;
    add_boards_sensors_and_names();
    const int64_t last = 2 * JM_SPAN_KIND_COUNT - 1;
    take(JM_TABLE_SPAN_KINDS, &(jm__span_kind_row){.id = 5, .text = "phase"});
    take(JM_TABLE_SPAN_KINDS, &(jm__span_kind_row){.id = last, .text = "forward"});
    take(JM_TABLE_SPAN_KINDS, &(jm__span_kind_row){.id = 4, .text = "a kind of the future"});
    assert_true(left_out(JM_TABLE_SPAN_KINDS, &(jm__span_kind_row){.id = 0, .text = "phase"}));
    assert_true(left_out(JM_TABLE_SPAN_KINDS, &(jm__span_kind_row){.id = last + 1, .text = "phase"}));
    take(JM_TABLE_SPANS,
         &(jm__span){.start_ns = 10, .end_ns = -1, .kind = (jm_span_kind)5, .name_id = 2, .type_id = 3});
    take(JM_TABLE_SPANS, &(jm__span){.start_ns = 10, .end_ns = 10, .kind = (jm_span_kind)last, .type_id = 2});
    assert_int_equal(loading.spans.items[0].kind, JM_SPAN_PHASE);
    assert_int_equal(loading.spans.items[0].name_id, 2);
    assert_int_equal(loading.spans.items[0].type_id, 0); /* there is no such name */
    assert_int_equal(loading.spans.items[1].kind, JM_SPAN_FORWARD);
    assert_int_equal(loading.spans.items[1].type_id, 2);
    const jm__span bad[] = {
        {.start_ns = 10, .end_ns = 9, .kind = (jm_span_kind)5},
        {.start_ns = LATEST + 1, .end_ns = -1, .kind = (jm_span_kind)5},
        {.start_ns = 10, .end_ns = LATEST + 1, .kind = (jm_span_kind)5},
        {.start_ns = 10, .end_ns = 20, .kind = (jm_span_kind)4},
        {.start_ns = 10, .end_ns = 20, .kind = JM_SPAN_NONE},
        {.start_ns = 10, .end_ns = 20, .kind = (jm_span_kind)(last + 1)},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!left_out(JM_TABLE_SPANS, &bad[i])) fail_msg("span %zu was taken", i);
    assert_int_equal(loading.spans.count, 2);
}

static void test_what_names_something_that_is_not_there_names_nothing(void **state)
{
    (void)state;
    add_boards_sensors_and_names();
    take(JM_TABLE_KERNEL_CLASSES, &(jm__kernel_class){.id = 2, .name_id = 3, .work = (jm__work)77});
    take(JM_TABLE_KERNEL_CLASSES, &(jm__kernel_class){.id = 3, .name_id = 2, .work = JM_WORK_MEMCPY});
    assert_int_equal(loading.classes.items[0].work, JM_WORK_KERNEL);
    assert_int_equal(loading.classes.items[1].work, JM_WORK_KERNEL);
    assert_int_equal(loading.classes.items[1].name_id, 0);
    assert_int_equal(loading.classes.items[2].name_id, 2);
    assert_int_equal(loading.classes.items[2].work, JM_WORK_MEMCPY);
    take(JM_TABLE_STREAMS, &(jm__stream){.id = 1, .board_id = 2});
    take(JM_TABLE_STREAMS, &(jm__stream){.id = 2, .board_id = 3});
    assert_int_equal(loading.streams.items[0].board_id, 2);
    assert_int_equal(loading.streams.items[1].board_id, 0);
    take(JM_TABLE_EVENTS, &(jm__event){.kind = JM_EVENT_GAP, .t_ns = LATEST, .board_id = 2});
    take(JM_TABLE_EVENTS, &(jm__event){.kind = JM_EVENT_GAP, .t_ns = 5, .board_id = 3});
    assert_int_equal(loading.events.items[0].board_id, 2);
    assert_int_equal(loading.events.items[1].board_id, 0);
    assert_true(left_out(JM_TABLE_EVENTS, &(jm__event){.kind = JM_EVENT_COUNT, .t_ns = 5}));
    assert_true(left_out(JM_TABLE_EVENTS, &(jm__event){.kind = JM_EVENT_GAP, .t_ns = LATEST + 1}));
    take(JM_TABLE_MARKS, &(jm__mark){.t_ns = 5, .name_id = 2, .meta = "{}"});
    take(JM_TABLE_MARKS, &(jm__mark){.t_ns = 5, .name_id = 9});
    assert_int_equal(loading.marks.items[0].name_id, 2);
    assert_string_equal(loading.marks.items[0].meta, "{}");
    assert_int_equal(loading.marks.items[1].name_id, 0);
    assert_null(loading.marks.items[1].meta);
    assert_true(left_out(JM_TABLE_MARKS, &(jm__mark){.t_ns = -LATEST - 1}));
}

static void test_losses_are_added_up_as_far_as_a_number_goes(void **state)
{
    (void)state;
    take(JM_TABLE_LOSSES, &(jm__loss){.t_ns = 5, .count = 7, .source = "ring"});
    assert_int_equal(loading.lost, 7);
    assert_string_equal(loading.losses.items[0].source, "ring");
    assert_string_equal(loading.losses.items[0].reason, "");
    assert_true(left_out(JM_TABLE_LOSSES, &(jm__loss){.t_ns = 5, .count = -1}));
    assert_true(left_out(JM_TABLE_LOSSES, &(jm__loss){.t_ns = LATEST + 1, .count = 1}));
    take(JM_TABLE_LOSSES, &(jm__loss){.t_ns = 5, .count = INT64_MAX - 3});
    assert_int_equal(loading.lost, INT64_MAX);
    assert_int_equal(loading.losses.items[1].count, INT64_MAX - 7);
    take(JM_TABLE_LOSSES, &(jm__loss){.t_ns = 5, .count = 0});
}

static void test_a_process_whose_times_make_no_sense_keeps_its_name(void **state)
{
    (void)state;
    take(JM_TABLE_PROCESSES,
         &(jm__process){.id = 1, .start_ns = LATEST + 1, .end_ns = 20, .command = "train"});
    take(JM_TABLE_PROCESSES, &(jm__process){.id = 2, .start_ns = 10, .end_ns = -LATEST - 1, .host = "node"});
    take(JM_TABLE_PROCESSES, &(jm__process){.id = 3, .start_ns = 10, .end_ns = 20});
    const jm__process *all = loading.processes.items;
    assert_true(all[0].start_ns == 0 && all[0].end_ns == 20);
    assert_string_equal(all[0].command, "train");
    assert_string_equal(all[0].host, "");
    assert_true(all[1].start_ns == 10 && all[1].end_ns == 10);
    assert_string_equal(all[1].host, "node");
    assert_true(all[2].start_ns == 10 && all[2].end_ns == 20);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rows_stand_at_their_numbers_and_lost_ones_are_blank),
        TEST(test_numbers_that_no_row_can_have_are_left_out),
        TEST(test_sensors_of_no_kind_or_of_a_response_beyond_an_hour_are_left_out),
        TEST(test_readings_name_a_sensor_and_have_a_number),
        TEST(test_spans_go_by_the_kinds_of_their_file),
        TEST(test_what_names_something_that_is_not_there_names_nothing),
        TEST(test_losses_are_added_up_as_far_as_a_number_goes),
        TEST(test_a_process_whose_times_make_no_sense_keeps_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
