/* Memory, and a disk, that fail while a recording is written: what is left of it is right, and says what it
 * lacks. */
#include "failing_each.h"
#include "line_sets.h"
#include "small_run.h"
#include "told.h"

#include <dirent.h>
#include <joulemap/import.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/dev/shm/joulemap-test-XXXXXX";
static char path[64];
static char onto_folder[] = "/dev/shm/joulemap-test-XXXXXX";
static char onto_run[64], onto_counters[64];
static synthetic *run;
static char *told_whole; /* of a recording of it, without a failure */
static char old_bytes[] = "what stood there before";

static int set_up(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/r.joulemap", folder);
    failing_files_install();
    run = small_run_make();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    syn_free(run);
    free(told_whole);
    return rmdir(folder);
}

/* ---- the folder */

static void put_old_file(void)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(old_bytes, file);
    assert_int_equal(fclose(file), 0);
}

static bool old_file_is_back(void)
{
    char bytes[sizeof old_bytes + 1] = "";
    FILE *file = fopen(path, "rb");
    if (file == NULL) return false;
    size_t count = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return count == sizeof old_bytes - 1 && memcmp(bytes, old_bytes, count) == 0;
}

/* Remove all files; how many there were. */
static size_t empty_folder(void)
{
    size_t count = 0;
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        char name[512];
        snprintf(name, sizeof name, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != 46) count += unlink(name) == 0;
    }
    closedir(entries);
    return count;
}

/* All is in the one file: what lies beside it, because it could not be removed, is not needed. */
static void leave_one_file(void)
{
    static const char *const beside[] = {"-wal", "-shm", "-journal"};
    char name[512];
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        snprintf(name, sizeof name, "%s%s", path, beside[i]);
        unlink(name);
    }
    snprintf(name, sizeof name, "%s.replaced-%d", path, (int)getpid());
    assert_int_not_equal(access(name, F_OK), 0);
}

/* ---- writing */

typedef enum ending {
    NEVER_BEGUN, /* the old file stays */
    GIVEN_UP,    /* by the caller, whom a call told of the failure: likewise */
    CLOSED,
    CLOSED_WITH_ERROR
} ending;

/* In one go, from other people's data. */
static ending import_run(jm_error *err)
{
    const jm_import_options options = {
        .size = sizeof options,
        .overwrite = true,
        .path = path,
        .board = "h200",
        .files = {[JM_IMPORT_READINGS] = JM_SOURCE_DIR "/tests/data/small/readings.csv",
                  [JM_IMPORT_SEGMENTS] = JM_SOURCE_DIR "/tests/data/small/segments.csv"}};
    if (jm_recording_import(&options, err) == JM_OK) return CLOSED;
    return old_file_is_back() ? GIVEN_UP : CLOSED_WITH_ERROR;
}

/* As a recorder does: a failed commit is tried again with the next. */
static ending write_run(jm_error *err)
{
    jm__writer *writer;
    if (jm__writer_create(&writer, path, true, err) != JM_OK) return NEVER_BEGUN;
    if (small_run_tell_boards(writer, run, err) != JM_OK || small_run_tell_counters(writer, err) != JM_OK) {
        jm__writer_discard(writer);
        return GIVEN_UP;
    }
    small_run_tell_facts(writer, run);
    small_run_tell_rows(writer, run, 0);
    jm__writer_commit(writer, run->dataset.start_ns, NULL);
    small_run_tell_rows(writer, run, 1);
    jm__writer_commit(writer, run->dataset.end_ns, NULL);
    return jm__writer_close(writer, err) == JM_OK ? CLOSED : CLOSED_WITH_ERROR;
}

/* A recording again, with counters. */
static ending add_counters(jm_error *err)
{
    const jm_counters_options options = {.size = sizeof options,
                                         .overwrite = true,
                                         .onto = onto_run,
                                         .path = path,
                                         .counters = onto_counters,
                                         .board = "0"};
    if (jm_recording_add_counters(&options, err) == JM_OK) return CLOSED;
    return old_file_is_back() ? GIVEN_UP : CLOSED_WITH_ERROR;
}

static int set_up_onto(void **state)
{
    if (set_up(state) != 0 || mkdtemp(onto_folder) == NULL) return -1;
    snprintf(onto_run, sizeof onto_run, "%s/r.joulemap", onto_folder);
    snprintf(onto_counters, sizeof onto_counters, "%s/c.csv", onto_folder);
    FILE *file = fopen(onto_counters, "w");
    if (file == NULL) return -1;
    fprintf(file, "start_ns,end_ns,a\n%d,%d,1\n", SMALL_START_NS, SMALL_START_NS + 1000);
    fclose(file);
    jm__writer *writer;
    jm__anchor anchor = {SMALL_START_NS, SMALL_START_NS};
    if (jm__writer_create(&writer, onto_run, false, NULL) != JM_OK) return -1;
    jm__writer_anchor(writer, &anchor);
    if (small_run_tell(writer, run, NULL) != JM_OK) return -1;
    return jm__writer_close(writer, NULL) == JM_OK ? 0 : -1;
}

static int tear_down_onto(void **state)
{
    unlink(onto_run);
    unlink(onto_counters);
    return rmdir(onto_folder) + tear_down(state);
}

static char *read_back(jm_error *err)
{
    enum { KERNELS_MAX = 1000 };
    static jm__kernel_run kernels[KERNELS_MAX];
    told_file file = {.kernels = kernels, .kernels_max = KERNELS_MAX};
    char *text = told_read(&file, path, err) == JM_OK ? told_text(&file) : NULL;
    told_close(&file);
    return text;
}

/* ---- what is missing, and what was told of it */

typedef struct balance {
    const char *which;
    int64_t missing, told; /* rows; facts about the run are several rows */
    bool damaged;
} balance;

static void take_missing(void *context, const char *line)
{
    balance *b = context;
    if (strncmp(line, "damage", 6) != 0) b->missing++;
}

static void take_added(void *context, const char *line)
{
    balance *b = context;
    int64_t t_ns, count, id[5];
    char reason[200];
    if (sscanf(line, "loss %" SCNd64 " %" SCNd64 " recorder %199[^\n]", &t_ns, &count, reason) == 3) {
        b->told += count;
        if (strstr(reason, "success") != NULL) fail_msg("%s: %s", b->which, line);
    } else if (strncmp(line, "damage", 6) == 0) {
        b->damaged = true;
    } else if (strncmp(line, "run ", 4) != 0 && /* as far as rows go, where its bounds are lost */
               !(sscanf(line, "span %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, &id[0], &id[1],
                        &id[2], &id[3], &id[4]) == 5 &&
                 id[4] == -1)) { /* its end is lost */
        fail_msg("%s: a line that is not true: %s", b->which, line);
    }
}

/* Nothing but what is true, and what is missing is counted as lost. */
static void check_left(const char *which, ending end, const jm_error *err)
{
    jm_error unread = {0};
    char *got = read_back(&unread);
    if (got == NULL && end == CLOSED) fail_msg("%s: it cannot be read: %s", which, unread.text);
    if (got == NULL) return; /* the error at the end said that nothing is there; so does this one */
    line_set is = line_set_of(got), want = line_set_of(told_whole);
    balance b = {.which = which};
    line_set_less(&want, &is, take_missing, &b);
    line_set_less(&is, &want, take_added, &b);
    bool whole = b.missing == 0 && !b.damaged;
    if (end == CLOSED && (b.damaged || b.told < b.missing || (b.told > 0 && b.missing == 0)))
        fail_msg("%s: %" PRId64 " rows missing, %" PRId64 " told of\n%s", which, b.missing, b.told, got);
    if (end == CLOSED_WITH_ERROR && !whole && !b.damaged)
        fail_msg("%s: %s; but it looks whole:\n%s", which, err->text, got);
    line_set_free(&is);
    line_set_free(&want);
    free(got);
}

/* ---- all n */

static bool try_one(ending (*write)(jm_error *err), failing_what what, long n, bool for_good,
                    size_t counts[4])
{
    jm_error err = {0};
    char which[80];
    snprintf(which, sizeof which, "%s %ld fails%s", failing_text(what), n,
             for_good ? ", and all after it" : "");
    put_old_file();
    failing_begin(what, n, for_good);
    ending end = write(&err);
    bool failed = failing_end();
    counts[end]++;
    if (end != CLOSED && (!failed || err.text[0] == '\0')) fail_msg("%s: an error without words", which);
    if (end == NEVER_BEGUN || end == GIVEN_UP) {
        if (!old_file_is_back()) fail_msg("%s: %s; and the old file is gone", which, err.text);
        if (empty_folder() != 1) fail_msg("%s: something is left beside the old file", which);
    } else {
        if (end == CLOSED) leave_one_file();
        check_left(which, end, &err);
        empty_folder();
    }
    return failed;
}

static void write_whole(ending (*write)(jm_error *err))
{
    jm_error err = {0};
    assert_int_equal(write(&err), CLOSED);
    free(told_whole);
    told_whole = read_back(&err);
    assert_non_null(told_whole);
    assert_int_equal(empty_folder(), 1);
}

static void fail_each(ending (*write)(jm_error *err), failing_what what)
{
    long n = 1;
    size_t counts[4] = {0};
    write_whole(write);
    while (try_one(write, what, n, false, counts))
        n += failing_step();
    for (long m = 1; m < n; m += failing_for_good_step(failing_step(), n, FAILING_FOR_GOOD_MOST))
        try_one(write, what, m, true, counts);
    if (n == 1) return;
    print_message(
        "each %s of %ld failed: refused at once %zu times, told of a failure %zu, all or its losses "
        "told at the end %zu, an error at the end %zu\n",
        failing_text(what), n - 1, counts[NEVER_BEGUN], counts[GIVEN_UP], counts[CLOSED],
        counts[CLOSED_WITH_ERROR]);
}

static void test_a_recording_written_without_memory_tells_what_it_lacks(void **state)
{
    (void)state;
    fail_each(write_run, FAILING_MEMORY);
}

static void test_a_recording_on_a_disk_that_fails_tells_what_it_lacks(void **state)
{
    (void)state;
    for (failing_what what = FAILING_READ; what < FAILING_COUNT; what++)
        fail_each(write_run, what);
}

static void test_an_import_that_fails_leaves_what_was_there_or_tells_what_it_lacks(void **state)
{
    (void)state;
    fail_each(import_run, FAILING_OWN_MEMORY);
    fail_each(import_run, FAILING_MEMORY);
    for (failing_what what = FAILING_READ; what < FAILING_COUNT; what++)
        fail_each(import_run, what);
}

static void test_a_copy_that_fails_leaves_what_was_there_or_tells_what_it_lacks(void **state)
{
    (void)state;
    for (failing_what what = 0; what < FAILING_COUNT; what++)
        if (what != FAILING_MEMORY) fail_each(add_counters, what);
}

/* With an argument: an import. */
int main(int count, char **arguments)
{
    const struct CMUnitTest writer[] = {
        cmocka_unit_test(test_a_recording_written_without_memory_tells_what_it_lacks),
        cmocka_unit_test(test_a_recording_on_a_disk_that_fails_tells_what_it_lacks),
    };
    const struct CMUnitTest import[] = {
        cmocka_unit_test(test_an_import_that_fails_leaves_what_was_there_or_tells_what_it_lacks),
    };
    const struct CMUnitTest onto[] = {
        cmocka_unit_test(test_a_copy_that_fails_leaves_what_was_there_or_tells_what_it_lacks),
    };
    if (count > 1 && strcmp(arguments[1], "onto") == 0)
        return cmocka_run_group_tests(onto, set_up_onto, tear_down_onto);
    return count > 1 ? cmocka_run_group_tests(import, set_up, tear_down)
                     : cmocka_run_group_tests(writer, set_up, tear_down);
}
