/* The files of a run in parts: their names, which of them stay, and what people and kills do to them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "day.h"
#include "format/part_name.h"
#include "rotated.h"

#include <signal.h>
#include <sys/wait.h>

/* A server whose board alone is recorded, in parts of two minutes. */
enum { PART_S = 120, NOBODY = 65534 };

static day begin(int64_t keep)
{
    return day_begin_with(rotated_begin(PART_S, 0, keep), 0, 0, 0);
}

static jm_status end(day *d, jm_error *err)
{
    jm__writer_settle(d->writer, d->t_ns);
    day_number(d, "end_ns", d->t_ns);
    return jm__writer_close(d->writer, err);
}

static void write_text(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("not a recording", file);
    assert_int_equal(fclose(file), 0);
}

/* All joules of the run are in its parts, each once: the counter's, but for 0.1 s at both ends. */
static void check_joules(const day *d, int first)
{
    double energy_j = 0;
    for (int part = first; part < 20; part++)
        if (rotated_is_there(part)) energy_j += sums_of(rotated_path(part), JM_BY_BOARD).energy_j;
    assert_true(fabs(energy_j - d->energy_j) < 50);
}

static int clean(void **state)
{
    (void)state;
    rotated_empty();
    return 0;
}

/* ---- names */

static void test_names_sort_as_the_parts_follow(void **state)
{
    (void)state;
    static const struct {
        const char *base, *name;
        int64_t number;
    } of[] = {{"/a/run.joulemap", "/a/run.0001.joulemap", 1},
              {"run", "run.0012", 12},
              {"/a.b/run", "/a.b/run.0003", 3},
              {".hidden", ".hidden.0004", 4},
              {"a.b.db", "a.b.12345.db", 12345}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        char *name = jm__part_name(of[i].base, of[i].number);
        assert_string_equal(name, of[i].name);
        assert_int_equal(jm__part_number(of[i].base, jm__part_file_name(name)), of[i].number);
        free(name);
    }
    static const char *const others[] = {"run.joulemap",       "run.1.joulemap",        "run.00001.joulemap",
                                         "run.0001.joulemap2", "run.0001.joulemap-wal", "walk.0001.joulemap",
                                         "run.0001x.joulemap", "run.0000.joulemap"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(jm__part_number("/a/run.joulemap", others[i]), 0);
}

static void test_numbers_go_on_after_those_of_an_earlier_run(void **state)
{
    (void)state;
    jm_error err;
    for (int run = 0; run < 2; run++) {
        day d = begin(0);
        day_go_on(&d, 200);
        assert_int_equal(end(&d, &err), JM_OK);
    }
    assert_int_equal(rotated_count(), 4);
    assert_int_equal(rotated_fact(3, "part_before"), -1);
    assert_int_equal(rotated_ask(4, "SELECT value = 'r.0003.joulemap' FROM meta WHERE key = 'part_before'"),
                     1);
    assert_int_equal(rotated_ask(3, "SELECT value = 'r.0004.joulemap' FROM meta WHERE key = 'part_after'"),
                     1);
}

static void test_a_name_that_somebody_has_is_passed_over(void **state)
{
    (void)state;
    jm_error err;
    day d = begin(0);
    write_text(rotated_path(2));
    day_go_on(&d, 200);
    assert_int_equal(end(&d, &err), JM_OK);
    assert_true(rotated_is_there(3));
    assert_int_equal(rotated_ask(3, "SELECT value = 'r.0001.joulemap' FROM meta WHERE key = 'part_before'"),
                     1);
    assert_int_equal(unlink(rotated_path(2)), 0);
    check_joules(&d, 1);
}

static void test_nobody_else_begins_parts_of_that_name_meanwhile(void **state)
{
    (void)state;
    jm_error err;
    jm__writer *another;
    const jm__rotation_wanted wanted = {.every_s = PART_S};
    day d = begin(0);
    assert_int_equal(jm__writer_commit(d.writer, d.t_ns, NULL), JM_OK);
    assert_int_equal(jm__writer_create_parts(&another, base_path, true, &wanted, &err), JM_BUSY);
    assert_non_null(strstr(err.text, "is being written"));
    assert_int_equal(end(&d, &err), JM_OK);
}

/* ---- which stay */

static void test_the_newest_stay_and_what_is_not_ours(void **state)
{
    (void)state;
    jm_error err;
    write_text(rotated_path(1));
    jm__writer *whole; /* a recording, but no part */
    assert_int_equal(jm__writer_create(&whole, rotated_path(2), false, &err), JM_OK);
    assert_int_equal(jm__writer_close(whole, &err), JM_OK);
    char command[300];
    day d = begin(2);
    day_go_on(&d, 200); /* 3, 4 */
    snprintf(command, sizeof command, "cp %s %s/kept", rotated_path(3), folder);
    assert_int_equal(system(command), 0);
    day_go_on(&d, 500);
    assert_int_equal(end(&d, &err), JM_OK);
    int there = 0;
    for (int part = 3; part < 20; part++)
        there += rotated_is_there(part);
    assert_int_equal(there, 2);
    assert_true(rotated_is_there(1) && rotated_is_there(2));
    assert_false(rotated_is_there(3));
    snprintf(command, sizeof command, "mv %s/kept %s", folder,
             rotated_path(1)); /* says that it is another part */
    assert_int_equal(system(command), 0);
    d = begin(1); /* of all runs */
    day_go_on(&d, 200);
    assert_int_equal(end(&d, &err), JM_OK);
    there = 0;
    for (int part = 3; part < 20; part++)
        there += rotated_is_there(part);
    assert_int_equal(there, 1);
    assert_true(rotated_is_there(1) && rotated_is_there(2));
}

static void test_older_runs_go_only_once_the_new_one_comes_to_something(void **state)
{
    (void)state;
    jm_error err;
    day d = begin(0);
    day_go_on(&d, 200);
    assert_int_equal(end(&d, &err), JM_OK);
    for (int kept = 0; kept < 2; kept++) {
        jm__writer *writer;
        const jm__rotation_wanted wanted = {.every_s = PART_S};
        assert_int_equal(jm__writer_create_parts(&writer, base_path, true, &wanted, &err), JM_OK);
        assert_true(rotated_is_there(3));
        if (kept == 1) jm__writer_keep(writer);
        assert_true(rotated_is_there(1) == (kept == 0) && rotated_is_there(2) == (kept == 0));
        jm__writer_discard(writer);
        assert_false(rotated_is_there(3));
    }
}

/* ---- what people do */

static void test_an_older_part_may_be_removed(void **state)
{
    (void)state;
    jm_error err;
    jm_recording *recording;
    jm_sum sum;
    day d = begin(0);
    day_go_on(&d, 300);
    assert_int_equal(unlink(rotated_path(1)), 0);
    day_go_on(&d, 100);
    assert_int_equal(end(&d, &err), JM_OK);
    assert_int_equal(jm_recording_open(&recording, rotated_path(2), &err), JM_OK);
    assert_int_equal(jm_recording_energy(recording, 0, d.start_ns, d.t_ns, &sum, &err), JM_NOT_FOUND);
    assert_non_null(strstr(err.text, "that time is in the part before"));
    assert_non_null(strstr(err.text, "r.0001.joulemap"));
    jm_recording_close(recording);
    sums_of(rotated_path(2), JM_BY_BOARD); /* it has one */
}

/* Who names itself, or each the other, would be asked without end; and a file elsewhere is none of the run's.
 */
static void test_a_part_that_is_none_before_it_is_an_error(void **state)
{
    (void)state;
    static const char *const names[] = {"r.0002.joulemap", "r.0003.joulemap", "../r.0001.joulemap",
                                        "/etc/passwd"};
    jm_error err;
    day d = begin(0);
    day_go_on(&d, 300);
    assert_int_equal(end(&d, &err), JM_OK);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        jm_recording *recording;
        jm_sum sum;
        sqlite3 *db;
        char sql[120];
        snprintf(sql, sizeof sql, "UPDATE meta SET value = '%s' WHERE key = 'part_before'", names[i]);
        assert_int_equal(sqlite3_open(rotated_path(2), &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        assert_int_equal(jm_recording_open(&recording, rotated_path(2), &err), JM_OK);
        assert_int_equal(jm_recording_energy(recording, 0, d.start_ns, d.t_ns, &sum, &err), JM_BAD_DATA);
        assert_non_null(strstr(err.text, names[i]));
        assert_non_null(strstr(err.text, "as the part before it"));
        jm_recording_close(recording);
    }
}

static void test_a_part_that_is_removed_while_it_is_written_is_told_of(void **state)
{
    (void)state;
    jm_error err;
    char note[400];
    day d = begin(0);
    day_go_on(&d, 60);
    assert_int_equal(unlink(rotated_path(1)), 0);
    day_go_on(&d, 140);
    assert_int_equal(end(&d, &err), JM_NOT_FOUND);
    assert_non_null(strstr(err.text, "r.0001.joulemap is gone"));
    assert_true(rotated_note(2, "r.0001.joulemap is gone", note));
}

static void test_a_next_part_that_is_removed_costs_nothing(void **state)
{
    (void)state;
    jm_error err;
    day d = begin(0);
    while (!rotated_is_there(2))
        day_go_on(&d, 10);
    assert_int_equal(unlink(rotated_path(2)), 0);
    day_go_on(&d, 200);
    assert_int_equal(end(&d, &err), JM_OK);
    assert_true(rotated_count() >= 2);
    check_joules(&d, 1);
}

/* What happens to a folder that cannot be written for a while. */
typedef struct refusal {
    int for_s, more_s; /* after a minute, and until the end */
    jm_status status;
    const char *text;
} refusal;

/* A report of an hour's part takes its time. */
static void test_a_part_that_is_read_is_closed_once_it_is_not(void **state)
{
    (void)state;
    jm_error err;
    sqlite3 *reader;
    day d = begin(0);
    day_go_on(&d, 60);
    assert_int_equal(sqlite3_open_v2(rotated_path(1), &reader, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM readings", NULL, NULL, NULL),
                     SQLITE_OK);
    day_go_on(&d, 110);
    assert_true(rotated_is_there(2));
    assert_int_equal(rotated_fact(1, "closed"), -1);
    assert_int_equal(sqlite3_close(reader), SQLITE_OK);
    day_go_on(&d, 10);
    assert_int_equal(rotated_fact(1, "closed"), 1);
    assert_false(rotated_has_journal(1));
    day_go_on(&d, 30);
    assert_int_equal(end(&d, &err), JM_OK);
    assert_int_equal(rotated_fact(1, "end_ns"), rotated_fact(2, "start_ns"));
    check_joules(&d, 1);
}

/* In a process of its own, which is nobody's: who may write everywhere cannot be refused. */
static int recorded_by_nobody(const refusal *refused)
{
    jm_error err = {0};
    day d = begin(0);
    day_go_on(&d, 60);
    if (chmod(folder, 0555) != 0) return 1;
    day_go_on(&d, refused->for_s);
    if (rotated_is_there(2)) return 2;
    if (refused->more_s >= 0 && chmod(folder, 0700) != 0) return 1;
    if (refused->more_s > 0) day_go_on(&d, refused->more_s);
    if (end(&d, &err) != refused->status) return 4;
    return refused->text == NULL || strstr(err.text, refused->text) != NULL ? 0 : 5;
}

static void check_refused(const refusal *refused)
{
    char note[400];
    rotated_empty();
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (getuid() == 0 && (chown(folder, NOBODY, NOBODY) != 0 || setuid(NOBODY) != 0)) _exit(3);
        _exit(recorded_by_nobody(refused));
    }
    int how, seconds = 60 + refused->for_s + (refused->more_s > 0 ? refused->more_s : 0);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(chmod(folder, 0700), 0);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
    assert_true(rotated_note(1, "the next part could not be begun", note));
    assert_non_null(strstr(note, "r.0002.joulemap"));
    assert_true(fabs(rotated_sums(JM_BY_BOARD).seconds - seconds) < 1e-6);
    assert_int_equal(rotated_fact(rotated_count(), "end_ns"), (INT64_C(1000) + seconds) * JM_NS_PER_S);
}

static void test_a_folder_that_becomes_read_only_costs_nothing_and_is_told(void **state)
{
    (void)state;
    /* It comes back too late for a part, and in time for one; it does not: then a journal is left, too. */
    static const refusal refused[] = {
        {200, 0, JM_NO_PERMISSION, "r.0001.joulemap holds all that came after it was due for a new part"},
        {100, 100, JM_OK, NULL},
        {200, -1, JM_NO_PERMISSION, "r.0001.joulemap"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        check_refused(&refused[i]);
        assert_int_equal(rotated_count(), i == 1 ? 2 : 1);
    }
}

/* ---- kills */

/* After so many seconds, without a word; up to when all was committed. */
static int64_t killed_after(int seconds)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        day d = begin(0);
        day_go_on(&d, seconds);
        kill(getpid(), SIGKILL);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how));
    return INT64_C(1000) * JM_NS_PER_S + seconds / 10 * 10 * JM_NS_PER_S; /* a commit each ten seconds */
}

static void test_a_kill_at_any_time_of_a_cut_leaves_what_was_committed(void **state)
{
    (void)state;
    bool seen[3] = {false};
    for (int seconds = 100; seconds <= 160; seconds += 5) {
        rotated_empty();
        int64_t until_ns = killed_after(seconds), cut_ns = rotated_fact(1, "cut_ns");
        double whole_s = (double)(until_ns - INT64_C(1000) * JM_NS_PER_S) / 1e9;
        sums first = sums_of(rotated_path(1), JM_BY_BOARD), second = {0};
        if (rotated_is_there(2) && until_ns <= cut_ns) {
            jm_error err;
            jm_recording *recording;
            jm_report *report;
            assert_int_equal(jm_recording_open(&recording, rotated_path(2), &err), JM_OK);
            assert_int_equal(jm_report_create(&report, recording, NULL, &err), JM_NOT_FOUND);
            assert_non_null(strstr(err.text, "part 2 of the run has no time of its own"));
            jm_recording_close(recording);
        } else if (rotated_is_there(2)) {
            second = sums_of(rotated_path(2), JM_BY_BOARD);
        }
        assert_true(fabs(first.seconds + second.seconds - whole_s) < 1e-6);
        seen[rotated_fact(1, "closed") == 1 ? 2 : rotated_is_there(2) ? 1 : 0] = true;
    }
    assert_true(seen[0] && seen[1] && seen[2]);
}

static void test_after_a_kill_a_file_that_is_none_of_its_parts_counts_for_nothing(void **state)
{
    (void)state;
    double own_s = 0;
    for (int seconds = 100; seconds <= 160 && own_s == 0; seconds += 5) {
        rotated_empty();
        int64_t until_ns = killed_after(seconds);
        if (rotated_is_there(2) && rotated_fact(1, "closed") != 1 && until_ns > rotated_fact(1, "cut_ns"))
            own_s = (double)(until_ns - INT64_C(1000) * JM_NS_PER_S) / 1e9;
    }
    assert_true(own_s > 0);
    assert_true(sums_of(rotated_path(1), JM_BY_BOARD).seconds < own_s);
    char command[200];
    snprintf(command, sizeof command, "cd %s; cp r.0001.joulemap other; rm r.0002.*", folder);
    assert_int_equal(system(command), 0);
    assert_true(fabs(sums_of(rotated_path(1), JM_BY_BOARD).seconds - own_s) < 1e-6);
    snprintf(command, sizeof command, "cd %s; mv other r.0002.joulemap", folder);
    assert_int_equal(system(command), 0);
    assert_true(fabs(sums_of(rotated_path(1), JM_BY_BOARD).seconds - own_s) < 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_sort_as_the_parts_follow),
        cmocka_unit_test_setup(test_numbers_go_on_after_those_of_an_earlier_run, clean),
        cmocka_unit_test_setup(test_a_name_that_somebody_has_is_passed_over, clean),
        cmocka_unit_test_setup(test_nobody_else_begins_parts_of_that_name_meanwhile, clean),
        cmocka_unit_test_setup(test_the_newest_stay_and_what_is_not_ours, clean),
        cmocka_unit_test_setup(test_older_runs_go_only_once_the_new_one_comes_to_something, clean),
        cmocka_unit_test_setup(test_an_older_part_may_be_removed, clean),
        cmocka_unit_test_setup(test_a_part_that_is_none_before_it_is_an_error, clean),
        cmocka_unit_test_setup(test_a_part_that_is_removed_while_it_is_written_is_told_of, clean),
        cmocka_unit_test_setup(test_a_next_part_that_is_removed_costs_nothing, clean),
        cmocka_unit_test_setup(test_a_part_that_is_read_is_closed_once_it_is_not, clean),
        cmocka_unit_test_setup(test_a_kill_at_any_time_of_a_cut_leaves_what_was_committed, clean),
        cmocka_unit_test_setup(test_after_a_kill_a_file_that_is_none_of_its_parts_counts_for_nothing, clean),
        cmocka_unit_test_setup(test_a_folder_that_becomes_read_only_costs_nothing_and_is_told, clean),
    };
    return cmocka_run_group_tests(tests, rotated_set_up, rotated_tear_down);
}
