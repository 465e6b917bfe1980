/* Memory that runs out in the holder of a lease: an error, or all as it is; the board is put back in any
 * case. */
#include "failing_each.h"

#include "cap_lease.h"

static const char *board_uuid;

typedef struct told {
    double enforced_w, found_w;
    size_t boards, restored;
} told;

static void check_board(void)
{
    wait_until_put_back(0);
    assert_float_equal(limit_w(0), 700, 1e-3);
}

static jm_status hold(told *t, jm_error *err)
{
    jm_cap_lease *lease;
    jm_error end_err = {0};
    const jm_cap_lease_options options = {.size = sizeof options, .who = "the test"};
    jm_status status = jm_cap_lease_take(&lease, &options, err);
    if (status != JM_OK) return status;
    t->found_w = jm_cap_lease_board(lease)->cap_w;
    status = jm_cap_lease_set(lease, 400, &t->enforced_w, err);
    jm_status ended = jm_cap_lease_end(lease, &end_err);
    if (status == JM_OK && ended != JM_OK) *err = end_err;
    return status == JM_OK ? ended : status;
}

/* A helper whose answer could not be read is still at work. Takes no memory. */
static void wait_until_free(void)
{
    int lock = -1;
    int64_t until_ns = jm__now_ns() + SOON_NS;
    while (jm__lease_lock_take(&lock, &caps, board_uuid, NULL) == JM_BUSY && jm__now_ns() < until_ns)
        jm__sleep_ns(JM_NS_PER_MS);
    if (lock >= 0) close(lock);
}

static jm_status work_lease(void *context, jm_error *err)
{
    told *t = context;
    *t = (told){0};
    wait_until_free();
    return hold(t, err);
}

static jm_status work_boards(void *context, jm_error *err)
{
    told *t = context;
    jm_cap_boards *boards;
    *t = (told){0};
    jm_status status = jm_cap_boards_create(&boards, NULL, err);
    if (status != JM_OK) return status;
    t->boards = jm_cap_boards_count(boards);
    jm_cap_boards_free(boards);
    return JM_OK;
}

static char *tell(void *context)
{
    const told *t = context;
    char *text = NULL;
    return asprintf(&text, "%g %g %zu %zu", t->enforced_w, t->found_w, t->boards, t->restored) >= 0 ? text
                                                                                                    : NULL;
}

static void drop(void *context)
{
    (void)context;
}

static void test_boards_without_memory_are_an_error_or_the_same(void **state)
{
    (void)state;
    told t;
    const failing_trial trial = {"boards", &t, work_boards, tell, drop, failing_for_memory};
    failing_each(&trial, FAILING_OWN_MEMORY);
}

/* A message that cannot be read for want of memory is one that cannot be understood. */
static bool for_memory(const jm_error *err)
{
    return err->status == JM_NO_MEMORY || err->status == JM_BAD_DATA || err->status == JM_DEVICE_LOST;
}

static void test_a_holder_without_memory_leaves_no_cap(void **state)
{
    (void)state;
    told t;
    board_uuid = uuid_of(0);
    const failing_trial trial = {"lease", &t, work_lease, tell, drop, for_memory};
    failing_each(&trial, FAILING_MEMORY);
    check_board();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_boards_without_memory_are_an_error_or_the_same),
        cmocka_unit_test(test_a_holder_without_memory_leaves_no_cap),
    };
    return cmocka_run_group_tests(tests, open_board, close_board);
}
