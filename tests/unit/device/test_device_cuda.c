/* Which board CUDA calls which number. */
#include "record/device/nvml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 4 };

static const jm__cuda_board boards[COUNT] = {
    {.uuid = "GPU-aaaa0000-1111-2222-3333-444455556666"},
    {.uuid = "GPU-aaab0000-1111-2222-3333-444455556666"},
    {.uuid = "GPU-bbbb0000-1111-2222-3333-444455556666",
     .mig = {"MIG-11110000-aaaa-bbbb-cccc-ddddeeeeffff", "MIG-22220000-aaaa-bbbb-cccc-ddddeeeeffff"},
     .mig_count = 2},
    {.uuid = "GPU-cccc0000-1111-2222-3333-444455556666"},
};

static void check(const char *visible, int a, int b, int c, int d)
{
    const int expected[COUNT] = {a, b, c, d};
    int indices[COUNT];
    jm__cuda_visible_resolve(visible, boards, COUNT, indices);
    for (int i = 0; i < COUNT; i++)
        if (indices[i] != expected[i])
            fail_msg("CUDA_VISIBLE_DEVICES=%s: board %d is %d, expected %d",
                     visible == NULL ? "(unset)" : visible, i, indices[i], expected[i]);
}

static void test_without_the_variable_all_boards_are_visible_in_order(void **state)
{
    (void)state;
    check(NULL, 0, 1, 2, 3);
}

static void test_indices_choose_and_reorder(void **state)
{
    (void)state;
    check("2", -1, -1, 0, -1);
    check("3,0", 1, -1, -1, 0);
    check(" 1 , 2 ", -1, 0, 1, -1);
    check("00002", -1, -1, 0, -1);
}

static void test_the_list_ends_at_its_first_invalid_entry(void **state)
{
    (void)state;
    check("", -1, -1, -1, -1);
    check("-1", -1, -1, -1, -1);
    check("1,-1,0", -1, 0, -1, -1);
    check("0,7,1", 0, -1, -1, -1);
    check("0,x", 0, -1, -1, -1);
    check("NoDevFiles", -1, -1, -1, -1);
}

static void test_uuids_and_their_unique_beginnings_choose(void **state)
{
    (void)state;
    check("GPU-cccc0000-1111-2222-3333-444455556666,GPU-aaaa0000-1111-2222-3333-444455556666", 1, -1, -1, 0);
    check("GPU-bbb", -1, -1, 0, -1);
    check("GPU-aaab,1", -1, 0, -1, -1);
}

static void test_an_ambiguous_beginning_chooses_nothing(void **state)
{
    (void)state;
    check("GPU-aaa", -1, -1, -1, -1);
    check("GPU-", -1, -1, -1, -1);
}

static void test_a_mig_instance_stands_for_its_board(void **state)
{
    (void)state;
    check("MIG-22220000-aaaa-bbbb-cccc-ddddeeeeffff", -1, -1, 0, -1);
    check("MIG-1111,3", -1, -1, 0, 1);
    check("MIG-GPU-bbbb0000-1111-2222-3333-444455556666/7/0", -1, -1, 0, -1);
    check("MIG-GPU-bbbb0000-1111-2222-3333-444455556666", -1, -1, -1, -1);
    check("MIG-9999", -1, -1, -1, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_the_variable_all_boards_are_visible_in_order),
        cmocka_unit_test(test_indices_choose_and_reorder),
        cmocka_unit_test(test_the_list_ends_at_its_first_invalid_entry),
        cmocka_unit_test(test_uuids_and_their_unique_beginnings_choose),
        cmocka_unit_test(test_an_ambiguous_beginning_chooses_nothing),
        cmocka_unit_test(test_a_mig_instance_stands_for_its_board),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
