/* Leases of power caps on the simulated board: taken, set, put back, refused. */
#include "cap_lease.h"

#include <pwd.h>

static jm_status take_status(jm_cap_lease **lease, const jm_cap_lease_options *options, jm_error *err)
{
    *lease = NULL;
    *err = (jm_error){0};
    return jm_cap_lease_take(lease, options, err);
}

static void test_a_lease_sets_a_cap_and_its_end_puts_back_what_was_found(void **state)
{
    (void)state;
    set_limit(0, 650); /* not the default: what was found is put back, not the maximum */
    jm_cap_lease *lease = take(0, "the test");
    const jm_cap_board *board = jm_cap_lease_board(lease);
    assert_int_equal(board->index, 0);
    assert_string_equal(board->uuid, uuid_of(0));
    assert_float_equal(board->cap_w, 650, 1e-3);
    assert_float_equal(board->default_w, 700, 1e-3);
    assert_float_equal(board->low_w, 200, 1e-3);
    assert_true(board->simulated);
    assert_float_equal(limit_w(0), 650, 1e-3);
    set(lease, 400);
    assert_float_equal(limit_w(0), 400, 1e-3);
    set(lease, 500);
    assert_float_equal(limit_w(0), 500, 1e-3);
    end(lease);
    assert_float_equal(limit_w(0), 650, 1e-3);
    assert_true(is_put_back(0));
    set_limit(0, 700);
}

static void test_what_was_found_is_written_down_before_it_is_changed(void **state)
{
    (void)state;
    jm__lease_state written;
    jm_cap_lease *lease = take(1, "the test");
    assert_true(read_state(1, &written));
    assert_float_equal(written.info.found_w, 700, 1e-3);
    assert_true(isnan(written.info.cap_w));
    assert_int_equal(written.info.pid, getpid());
    assert_int_equal(written.holder_start, jm__process_start(getpid()));
    assert_int_equal(written.info.uid, getuid());
    assert_string_equal(written.info.who, "the test");
    set(lease, 300);
    assert_true(read_state(1, &written));
    assert_float_equal(written.info.cap_w, 300, 1e-3);
    end(lease);
}

static void test_a_cap_out_of_range_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    static const double wrong[] = {199.9, 700.1, 1e6, -1, 0, (double)NAN, (double)INFINITY};
    jm_cap_lease *lease = take(0, "the test");
    set(lease, 450);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        jm_error err = {0};
        assert_int_equal(jm_cap_lease_set(lease, wrong[i], NULL, &err), JM_USAGE);
        assert_true(err.text[0] != '\0');
        if (isfinite(wrong[i]) && wrong[i] > 0) assert_non_null(strstr(err.text, "from 200 to 700 W"));
        assert_float_equal(limit_w(0), 450, 1e-3);
    }
    set(lease, 700);
    set(lease, 200);
    end(lease);
    assert_float_equal(limit_w(0), 700, 1e-3);
}

static void test_a_second_program_is_refused_with_the_firsts_name(void **state)
{
    (void)state;
    jm_error err;
    jm_cap_lease *lease = take(0, "the first of all"), *second;
    const jm_cap_lease_options options = {.size = sizeof options, .who = "the second"};
    set(lease, 400);
    assert_int_equal(take_status(&second, &options, &err), JM_BUSY);
    assert_non_null(strstr(err.text, "the first of all"));
    assert_non_null(strstr(err.hint, "joulemap cap reset --board 0"));
    assert_null(second);
    assert_float_equal(limit_w(0), 400, 1e-3);
    end(lease);
    end(take(0, "the second"));
}

static void test_two_boards_have_a_lease_each(void **state)
{
    (void)state;
    jm_cap_lease *first = take(0, "one"), *second = take(1, "two");
    set(first, 400);
    set(second, 500);
    assert_float_equal(limit_w(0), 400, 1e-3);
    assert_float_equal(limit_w(1), 500, 1e-3);
    end(first);
    assert_float_equal(limit_w(0), 700, 1e-3);
    assert_float_equal(limit_w(1), 500, 1e-3);
    end(second);
    assert_float_equal(limit_w(1), 700, 1e-3);
}

static void test_a_board_is_taken_by_its_uuid(void **state)
{
    (void)state;
    jm_error err;
    jm_cap_lease *lease;
    jm_cap_lease_options options = {.size = sizeof options, .uuid = uuid_of(1)};
    assert_int_equal(take_status(&lease, &options, &err), JM_OK);
    assert_int_equal(jm_cap_lease_board(lease)->index, 1);
    end(lease);
    options.uuid = "GPU-0";
    assert_int_equal(take_status(&lease, &options, &err), JM_NOT_FOUND);
    options.uuid = NULL;
    options.board = 2;
    assert_int_equal(take_status(&lease, &options, &err), JM_NOT_FOUND);
    options.board = -1;
    assert_int_equal(take_status(&lease, &options, &err), JM_NOT_FOUND);
    options.board = 0;
    options.for_ns = -1;
    assert_int_equal(take_status(&lease, &options, &err), JM_USAGE);
}

static void test_a_lease_ends_when_its_time_is_up(void **state)
{
    (void)state;
    jm_error err;
    jm_cap_lease *lease;
    const jm_cap_lease_options options = {.size = sizeof options, .for_ns = 200 * JM_NS_PER_MS};
    assert_int_equal(take_status(&lease, &options, &err), JM_OK);
    set(lease, 400);
    wait_until_put_back(0);
    assert_float_equal(limit_w(0), 700, 1e-3);
    assert_int_equal(jm_cap_lease_set(lease, 500, NULL, &err), JM_NOT_FOUND);
    assert_non_null(strstr(err.text, "its time was up"));
    assert_int_equal(jm_cap_lease_set(lease, 500, NULL, &err), JM_NOT_FOUND);
    assert_float_equal(limit_w(0), 700, 1e-3);
    end(lease); /* it has been put back: nothing to complain of */
}

static void test_a_detached_lease_stands_until_it_is_reset(void **state)
{
    (void)state;
    jm_error err;
    jm_cap_lease *lease;
    jm_cap_restored back;
    jm__lease_state written;
    const jm_cap_lease_options options = {.size = sizeof options, .detached = true};
    pid_t program = fork();
    if (program == 0) {
        if (take_status(&lease, &options, &err) != JM_OK) _exit(1);
        if (jm_cap_lease_set(lease, 400, NULL, &err) != JM_OK) _exit(2);
        _exit(jm_cap_lease_end(lease, &err) == JM_OK ? 0 : 3);
    }
    int status;
    assert_int_equal(waitpid(program, &status, 0), program);
    assert_int_equal(status, 0);
    assert_true(read_state(0, &written));
    assert_int_equal(written.info.pid, 0); /* nobody's */
    assert_float_equal(limit_w(0), 400, 1e-3);
    assert_int_equal(jm_cap_reset(uuid_of(0), &back, &err), JM_OK);
    assert_float_equal(back.lease.found_w, 700, 1e-3);
    assert_int_equal(back.index, 0);
    assert_float_equal(limit_w(0), 700, 1e-3);
    assert_int_equal(jm_cap_reset(uuid_of(0), &back, &err), JM_NOT_FOUND);
    /* One on which nothing was set has nothing to stand for. */
    assert_int_equal(take_status(&lease, &options, &err), JM_OK);
    end(lease);
    assert_true(is_put_back(0));
}

static void test_a_lease_whose_helper_stands_still_is_reset(void **state)
{
    (void)state;
    jm_error err = {0};
    jm__lease_state written;
    jm_cap_lease *lease = take(0, "the test");
    set(lease, 400);
    assert_true(read_state(0, &written));
    kill((pid_t)written.helper_pid, SIGSTOP);
    jm__lease_call_ns = 300 * JM_NS_PER_MS; /* for a test: they are fifteen seconds */
    assert_int_equal(jm_cap_reset(uuid_of(0), NULL, &err), JM_OK);
    jm__lease_call_ns = 15 * JM_NS_PER_S;
    assert_float_equal(limit_w(0), 700, 1e-3);
    end(lease);
}

static bool clock_is_held(unsigned board)
{
    void *device;
    unsigned long long reasons = 0;
    assert_int_equal(nvml.handle(board, &device), 0);
    assert_int_equal(nvml.reasons(device, &reasons), 0);
    return (reasons & 2) != 0; /* nvmlClocksEventReasonApplicationsClocksSetting */
}

static void test_a_held_clock_is_let_go_with_the_lease(void **state)
{
    (void)state;
    jm_error err = {0};
    jm_cap_lease *lease = take(0, "the test");
    assert_int_equal(jm_cap_lease_clock(lease, 1200, &err), JM_OK);
    jm__sleep_ns(50 * JM_NS_PER_MS); /* the board settles power and clocks 10 ms after the fact */
    assert_true(clock_is_held(0));
    assert_int_equal(jm_cap_lease_clock(lease, 99999, &err), JM_USAGE);
    assert_int_equal(jm_cap_lease_clock(lease, -1, &err), JM_USAGE);
    assert_int_equal(jm_cap_lease_clock(lease, 0, &err), JM_OK);
    jm__sleep_ns(50 * JM_NS_PER_MS);
    assert_false(clock_is_held(0));
    assert_int_equal(jm_cap_lease_clock(lease, 1000, &err), JM_OK);
    end(lease);
    jm__sleep_ns(50 * JM_NS_PER_MS);
    assert_false(clock_is_held(0));
}

/* ---- what boards and drivers refuse */

static void test_a_clock_that_is_none_is_refused_also_where_the_board_tells_no_bound(void **state)
{
    (void)state;
    jm_error err;
    setenv("JOULEMAP_SIM_FAULTS", "missing:nvmlDeviceGetMaxClockInfo", 1);
    jm_cap_lease *lease = take(0, "the test");
    unsetenv("JOULEMAP_SIM_FAULTS");
    assert_int_equal(jm_cap_lease_clock(lease, 1e300, &err), JM_USAGE);
    assert_int_equal(jm_cap_lease_clock(lease, 0.3, &err), JM_USAGE); /* 0 would be the lowest there is */
    assert_int_equal(jm_cap_lease_clock(lease, 1200, &err), JM_OK);
    end(lease);
}

static void test_who_may_not_set_is_told_when_he_takes(void **state)
{
    (void)state;
    jm_error err;
    jm_cap_lease *lease;
    const jm_cap_lease_options options = {.size = sizeof options};
    setenv("JOULEMAP_SIM_FAULTS", "nvmlDeviceSetPowerManagementLimit=NO_PERMISSION", 1);
    assert_int_equal(take_status(&lease, &options, &err), JM_NO_PERMISSION);
    assert_true(err.hint[0] != '\0');
    setenv("JOULEMAP_SIM_FAULTS", "missing:nvmlDeviceSetPowerManagementLimit", 1);
    assert_int_equal(take_status(&lease, &options, &err), JM_NOT_SUPPORTED);
    setenv("JOULEMAP_SIM_FAULTS", "nvmlDeviceGetPowerManagementLimitConstraints=NOT_SUPPORTED", 1);
    assert_int_equal(take_status(&lease, &options, &err), JM_NOT_SUPPORTED);
    setenv("JOULEMAP_SIM_FAULTS", "lost#0", 1);
    assert_int_equal(take_status(&lease, &options, &err), JM_DEVICE_LOST);
    unsetenv("JOULEMAP_SIM_FAULTS");
    assert_true(is_put_back(0));
    setenv("JOULEMAP_SIM", "none", 1);
    assert_int_equal(take_status(&lease, &options, &err), JM_NO_DEVICE);
    setenv("JOULEMAP_SIM", "h200,h200", 1);
}

static void test_a_machine_without_nvml_is_told_with_what_to_do(void **state)
{
    (void)state;
    jm_error err;
    jm_cap_lease *lease;
    const jm_cap_lease_options options = {.size = sizeof options};
    const char *given = getenv("JOULEMAP_NVML");
    char *kept = given != NULL ? strdup(given) : NULL;
    setenv("JOULEMAP_NVML", "/nowhere/libnvidia-ml.so.1", 1);
    assert_int_equal(take_status(&lease, &options, &err), JM_NO_DEVICE);
    if (kept != NULL)
        setenv("JOULEMAP_NVML", kept, 1);
    else
        unsetenv("JOULEMAP_NVML");
    free(kept);
    assert_non_null(strstr(err.text, "no GPU can be reached: "));
    assert_non_null(strstr(err.text, "/nowhere/libnvidia-ml.so.1"));
    assert_string_equal(err.hint, "check the path in JOULEMAP_NVML");
}

static void test_a_cap_that_somebody_else_sets_meanwhile_stays(void **state)
{
    (void)state;
    static const double theirs_w[] = {250, 650}; /* lower than the lease's, and higher */
    for (size_t i = 0; i < 2; i++) {
        jm_cap_lease *lease = take(0, "the test");
        set(lease, 600);
        set_limit(0, theirs_w[i]);
        end(lease);
        assert_float_equal(limit_w(0), theirs_w[i], 1e-3);
        assert_true(is_put_back(0));
        set_limit(0, 700);
    }
    jm_error err;
    jm_cap_restored back;
    jm_cap_lease *lease = take(0, "the test");
    set(lease, 600);
    set_limit(0, 333);
    assert_int_equal(jm_cap_reset(uuid_of(0), &back, &err), JM_OK);
    assert_float_equal(back.left_w, 333, 1e-3);
    set_limit(0, 700);
    assert_int_equal(jm_cap_lease_end(lease, &err), JM_OK);
    lease = take(0, "the test"); /* it sets nothing */
    set_limit(0, 400);
    end(lease);
    assert_float_equal(limit_w(0), 400, 1e-3);
    set_limit(0, 700);
}

/* A lease as one leaves it of which nobody is there any more. */
static jm__lease_state lost_lease(double cap_w, double before_w)
{
    jm__lease_state lost = {.helper_pid = INT32_MAX,
                            .helper_start = 1,
                            .before_w = before_w,
                            .sim = "h200,h200",
                            .info = {.who = "the lost", .found_w = 700, .cap_w = cap_w}};
    snprintf(lost.uuid, sizeof lost.uuid, "%s", uuid_of(0));
    jm__boot_id(lost.boot, sizeof lost.boot);
    return lost;
}

static size_t restore(jm_cap_restored *one)
{
    jm_error err;
    size_t count;
    if (jm_cap_restore(one, 1, &count, &err) != JM_OK) fail_msg("%s", err.text);
    return count;
}

static void test_a_lease_lost_before_it_set_what_it_wrote_down_is_put_back(void **state)
{
    (void)state;
    jm_cap_restored back;
    jm__lease_state lost = lost_lease(300, 500);
    set_limit(0, 500);
    assert_int_equal(jm__lease_state_write(&lost, &caps, NULL), JM_OK);
    assert_int_equal(restore(&back), 1);
    assert_string_equal(back.fault, "");
    assert_true(isnan(back.left_w));
    assert_float_equal(limit_w(0), 700, 1e-3);
    assert_int_equal(jm__lease_state_write(&lost, &caps, NULL), JM_OK);
    set_limit(0, 450); /* another's */
    assert_int_equal(restore(&back), 1);
    assert_float_equal(back.left_w, 450, 1e-3);
    assert_float_equal(limit_w(0), 450, 1e-3);
    assert_true(is_put_back(0));
    set_limit(0, 700);
}

static void test_a_lease_of_before_a_boot_is_void(void **state)
{
    (void)state;
    jm_error err;
    jm_cap_boards *boards;
    jm_cap_restored back;
    jm__lease_state lost = lost_lease(350, 700);
    snprintf(lost.boot, sizeof lost.boot, "01234567-89ab-cdef-0123-456789abcdef");
    for (int way = 0; way < 2; way++) {
        set_limit(0, 350); /* by a script at boot */
        assert_int_equal(jm__lease_state_write(&lost, &caps, NULL), JM_OK);
        assert_int_equal(jm_cap_boards_create(&boards, NULL, &err), JM_OK);
        assert_false(jm_cap_boards_board(boards, 0)->has_lease);
        jm_cap_boards_free(boards);
        if (way == 0)
            assert_int_equal(restore(&back), 0);
        else
            end(take(0, "the next"));
        assert_true(is_put_back(0));
        assert_float_equal(limit_w(0), 350, 1e-3);
    }
    set_limit(0, 700);
}

static void test_bounds_of_a_rule_hold(void **state)
{
    (void)state;
    jm_error err = {0};
    jm_cap_lease *lease, *other;
    const jm_cap_lease_options options = {.size = sizeof options, .board = 1};
    setenv("JOULEMAP_CAP", "joulemap-cap serve --within 300:600 --board 0", 1);
    set_limit(0, 650); /* outside: it is put back all the same */
    lease = take(0, "the test");
    assert_float_equal(jm_cap_lease_board(lease)->low_w, 300, 1e-3);
    assert_float_equal(jm_cap_lease_board(lease)->high_w, 600, 1e-3);
    set(lease, 300);
    assert_int_equal(jm_cap_lease_set(lease, 299, NULL, &err), JM_NO_PERMISSION);
    assert_non_null(strstr(err.text, "300 to 600 W"));
    assert_int_equal(jm_cap_lease_set(lease, 601, NULL, &err), JM_NO_PERMISSION);
    assert_int_equal(jm_cap_lease_clock(lease, 1200, &err), JM_NO_PERMISSION);
    assert_float_equal(limit_w(0), 300, 1e-3);
    assert_int_equal(take_status(&other, &options, &err), JM_NO_PERMISSION);
    assert_non_null(strstr(err.text, "GPU 0, not that of GPU 1"));
    end(lease);
    assert_float_equal(limit_w(0), 650, 1e-3);
    set_limit(0, 700);
    static const char *const wrong[] = {
        "--within 600:300",  "--within 300", "--within 300:", "--within 0:300",
        "--within 300:600W", "--board",      "--clocks yes",  "--within nan:nan"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char command[64];
        snprintf(command, sizeof command, "joulemap-cap serve %s", wrong[i]);
        setenv("JOULEMAP_CAP", command, 1);
        assert_int_not_equal(take_status(&lease, &options, &err), JM_OK);
    }
    setenv("JOULEMAP_CAP", "/nowhere/sudo -n joulemap-cap serve", 1);
    assert_int_equal(take_status(&lease, &options, &err), JM_NOT_FOUND);
    assert_non_null(strstr(err.hint, "JOULEMAP_CAP"));
    unsetenv("JOULEMAP_CAP");
}

static void test_a_rule_of_a_board_pins_to_caps(void **state)
{
    (void)state;
    jm_error err = {0};
    setenv("JOULEMAP_CAP", "joulemap-cap serve --board 0", 1);
    jm_cap_lease *lease = take(0, "the test");
    set(lease, 200);
    assert_int_equal(jm_cap_lease_clock(lease, 1200, &err), JM_NO_PERMISSION);
    assert_non_null(strstr(err.text, "not its clock"));
    end(lease);
    setenv("JOULEMAP_CAP", "joulemap-cap serve", 1);
    lease = take(0, "the test");
    assert_int_equal(jm_cap_lease_clock(lease, 1200, &err), JM_OK);
    end(lease);
    unsetenv("JOULEMAP_CAP");
}

static void test_boards_tell_bounds_as_the_helper_takes_them(void **state)
{
    (void)state;
    static const struct {
        const char *words, *reason;
        double low_w, high_w; /* 0: cannot be set */
    } rules[] = {
        {"--within 300:600 --board 0", "", 300, 600},
        {"--board 0  --within  300.5:1e3 ", "", 300.5, 700},
        {"--within 300:400 --within 250:350", "", 250, 350},
        {"", "", 200, 700},
        {"--within 500:250", "not LOW:HIGH", 0, 0},
        {"--within 250,5:500", "not LOW:HIGH", 0, 0},
        {"--within 250:500,5", "not LOW:HIGH", 0, 0},
        {"--within 250-500", "not LOW:HIGH", 0, 0},
        {"--within 250:500W", "not LOW:HIGH", 0, 0},
        {"--within nan:500", "not LOW:HIGH", 0, 0},
        {"--within 250:inf", "not LOW:HIGH", 0, 0},
        {"--within -5:500", "not LOW:HIGH", 0, 0},
        {"--within :500", "not LOW:HIGH", 0, 0},
        {"--board 0 --within", "not LOW:HIGH", 0, 0},
        {"--within 800:900", "outside this GPU", 0, 0},
        {"--board", "for another GPU", 0, 0},
        {"--board 0 --board 1", "for another GPU", 0, 0},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        jm_cap_boards *boards;
        char command[256];
        snprintf(command, sizeof command, "joulemap-cap serve %s", rules[i].words);
        setenv("JOULEMAP_CAP", command, 1);
        assert_int_equal(jm_cap_boards_create(&boards, NULL, NULL), JM_OK);
        const jm_cap_board *board = jm_cap_boards_board(boards, 0);
        assert_non_null(strstr(board->may_not_set, rules[i].reason));
        assert_string_equal(board->may_set, rules[i].high_w > 0 ? "joulemap-cap" : "");
        assert_float_equal(board->low_w, (rules[i].high_w > 0 ? rules[i].low_w : 200), 1e-3);
        assert_float_equal(board->high_w, (rules[i].high_w > 0 ? rules[i].high_w : 700), 1e-3);
        jm_cap_boards_free(boards);
    }
    unsetenv("JOULEMAP_CAP");
}

static void test_the_user_who_asks_is_known_under_sudo_polkit_and_doas(void **state)
{
    (void)state;
    const struct passwd *nobody = getpwnam("nobody");
    if (geteuid() != 0 || nobody == NULL) skip(); /* only root's helper asks */
    const struct {
        const char *variable, *value;
        int64_t uid;
    } ways[] = {{"SUDO_UID", "1234", 1234},
                {"PKEXEC_UID", "1235", 1235},
                {"DOAS_USER", "nobody", nobody->pw_uid},
                {"DOAS_USER", "no such user", -1}};
    unsetenv("SUDO_UID");
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        jm__lease_state written;
        setenv(ways[i].variable, ways[i].value, 1);
        jm_cap_lease *lease = take(0, "the test");
        assert_true(read_state(0, &written));
        assert_int_equal(written.info.uid, ways[i].uid);
        end(lease);
        unsetenv(ways[i].variable);
    }
}

static void test_a_holder_without_a_name_is_called_by_its_command(void **state)
{
    (void)state;
    jm__lease_state written;
    jm_cap_lease *lease = take(0, NULL);
    assert_true(read_state(0, &written));
    assert_non_null(strstr(written.info.who, "test_cap_lease"));
    end(lease);
}

/* What `joulemap-cap` says when it cannot do what it is there for. */
static void test_a_clock_that_cannot_be_held_leaves_the_cap_as_it_is(void **state)
{
    (void)state;
    jm_error err;
    setenv("JOULEMAP_SIM_FAULTS", "nvmlDeviceSetGpuLockedClocks=NOT_SUPPORTED", 1);
    jm_cap_lease *lease = take(0, "the test");
    unsetenv("JOULEMAP_SIM_FAULTS");
    set(lease, 400);
    assert_int_equal(jm_cap_lease_clock(lease, 1200, &err), JM_NOT_SUPPORTED);
    assert_float_equal(limit_w(0), 400, 1e-3);
    jm__lease_state written;
    assert_true(read_state(0, &written));
    assert_false(written.clock_held); /* else whoever puts back would try what cannot be done */
    end(lease);
    assert_float_equal(limit_w(0), 700, 1e-3);
}

static void test_a_board_that_is_lost_for_a_while_is_put_back_when_it_is_there_again(void **state)
{
    (void)state;
    jm_error err;
    char faults[64];
    /* From now on, as the boards count: the test opened them, and the helper shares their epoch. */
    double from_s = (double)(jm__now_ns() - epoch_ns()) * 1e-9 + 1, until_s = from_s + 1.5;
    snprintf(faults, sizeof faults, "lost@%.3fs-%.3fs#0", from_s, until_s);
    setenv("JOULEMAP_SIM_FAULTS", faults, 1);
    jm_cap_lease *lease = take(0, "the test");
    unsetenv("JOULEMAP_SIM_FAULTS");
    set(lease, 400);
    while ((double)(jm__now_ns() - epoch_ns()) * 1e-9 < from_s + 0.05)
        jm__sleep_ns(JM_NS_PER_MS);
    assert_int_equal(jm_cap_lease_set(lease, 300, NULL, &err), JM_DEVICE_LOST);
    assert_int_equal(jm_cap_lease_end(lease, &err), JM_DEVICE_LOST);
    assert_non_null(strstr(err.hint, "joulemap cap restore"));
    assert_false(is_put_back(0)); /* the state says what is to be done */
    wait_until_put_back(0);       /* the guard did it */
    assert_float_equal(limit_w(0), 700, 1e-3);
}

static void test_a_helper_that_hangs_is_killed_and_the_board_put_back(void **state)
{
    (void)state;
    jm_error err;
    char faults[96];
    double from_s = (double)(jm__now_ns() - epoch_ns()) * 1e-9 + 1;
    snprintf(faults, sizeof faults, "slow:nvmlDeviceSetPowerManagementLimit=100s@%.3fs-%.3fs", from_s,
             from_s + 1.5);
    setenv("JOULEMAP_SIM_FAULTS", faults, 1);
    jm_cap_lease *lease = take(0, "the test");
    unsetenv("JOULEMAP_SIM_FAULTS");
    set(lease, 400);
    jm__lease_call_ns = 2 * JM_NS_PER_S; /* for a test: they are fifteen */
    while ((double)(jm__now_ns() - epoch_ns()) * 1e-9 < from_s + 0.05)
        jm__sleep_ns(JM_NS_PER_MS);
    assert_int_equal(jm_cap_lease_set(lease, 300, NULL, &err), JM_DEVICE_LOST);
    assert_non_null(strstr(err.text, "has not answered"));
    assert_non_null(strstr(err.text, "was put back to 700 W"));
    assert_int_equal(err.code, 0);
    assert_float_equal(limit_w(0), 700, 1e-3);
    end(lease);
    jm__lease_call_ns = 15 * JM_NS_PER_S;
}

/* ---- boards */

static void test_boards_tell_caps_ranges_rights_and_leases(void **state)
{
    (void)state;
    jm_error err;
    jm_cap_boards *boards;
    jm_cap_lease *lease = take(1, "the test");
    set(lease, 444);
    assert_int_equal(jm_cap_boards_create(&boards, NULL, &err), JM_OK);
    assert_int_equal(jm_cap_boards_count(boards), 2);
    const jm_cap_board *first = jm_cap_boards_board(boards, 0), *second = jm_cap_boards_board(boards, 1);
    assert_null(jm_cap_boards_board(boards, 2));
    assert_false(first->has_lease);
    assert_float_equal(first->cap_w, 700, 1e-3);
    assert_float_equal(first->default_w, 700, 1e-3);
    assert_float_equal(first->low_w, 200, 1e-3);
    assert_float_equal(first->high_w, 700, 1e-3);
    assert_string_equal(first->name, "NVIDIA H200");
    assert_string_equal(first->uuid, uuid_of(0));
    assert_int_equal(second->index, 1);
    assert_true(first->simulated);
    assert_true(second->has_lease);
    assert_false(second->lease.lost);
    assert_float_equal(second->lease.found_w, 700, 1e-3);
    assert_float_equal(second->cap_w, 444, 1e-3);
    assert_float_equal(second->enforced_w, 444, 1e-3);
    assert_float_equal(second->lease.cap_w, 444, 1e-3);
    assert_string_equal(second->lease.who, "the test");
    assert_string_equal(second->may_set, "simulated");
    assert_string_equal(second->may_not_set, "");
    jm_cap_boards_free(boards);
    end(lease);
    jm_cap_boards_free(NULL);
    assert_int_equal(jm_cap_lease_end(NULL, &err), JM_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lease_sets_a_cap_and_its_end_puts_back_what_was_found),
        cmocka_unit_test(test_what_was_found_is_written_down_before_it_is_changed),
        cmocka_unit_test(test_a_cap_out_of_range_is_refused_and_changes_nothing),
        cmocka_unit_test(test_a_second_program_is_refused_with_the_firsts_name),
        cmocka_unit_test(test_two_boards_have_a_lease_each),
        cmocka_unit_test(test_a_board_is_taken_by_its_uuid),
        cmocka_unit_test(test_a_lease_ends_when_its_time_is_up),
        cmocka_unit_test(test_a_detached_lease_stands_until_it_is_reset),
        cmocka_unit_test(test_a_lease_whose_helper_stands_still_is_reset),
        cmocka_unit_test(test_a_held_clock_is_let_go_with_the_lease),
        cmocka_unit_test(test_who_may_not_set_is_told_when_he_takes),
        cmocka_unit_test(test_a_machine_without_nvml_is_told_with_what_to_do),
        cmocka_unit_test(test_a_cap_that_somebody_else_sets_meanwhile_stays),
        cmocka_unit_test(test_a_lease_lost_before_it_set_what_it_wrote_down_is_put_back),
        cmocka_unit_test(test_a_lease_of_before_a_boot_is_void),
        cmocka_unit_test(test_bounds_of_a_rule_hold),
        cmocka_unit_test(test_a_rule_of_a_board_pins_to_caps),
        cmocka_unit_test(test_boards_tell_bounds_as_the_helper_takes_them),
        cmocka_unit_test(test_the_user_who_asks_is_known_under_sudo_polkit_and_doas),
        cmocka_unit_test(test_a_holder_without_a_name_is_called_by_its_command),
        cmocka_unit_test(test_a_clock_that_is_none_is_refused_also_where_the_board_tells_no_bound),
        cmocka_unit_test(test_a_clock_that_cannot_be_held_leaves_the_cap_as_it_is),
        cmocka_unit_test(test_a_board_that_is_lost_for_a_while_is_put_back_when_it_is_there_again),
        cmocka_unit_test(test_a_helper_that_hangs_is_killed_and_the_board_put_back),
        cmocka_unit_test(test_boards_tell_caps_ranges_rights_and_leases),
    };
    char path[4096]; /* of a command in JOULEMAP_CAP, which a blank in the name of our folder would cut */
    snprintf(path, sizeof path, JM_BUILD_DIR ":%s", getenv("PATH"));
    setenv("PATH", path, 1);
    return cmocka_run_group_tests(tests, open_board, close_board);
}
