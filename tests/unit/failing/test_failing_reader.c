/* Memory and reads of SQLite that fail while a recording is read: an error, or all that is in it. */
#include "failing_each.h"
#include "small_run.h"
#include "told.h"

#include <joulemap/report.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/joulemap-test-XXXXXX";

static char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* ---- recordings of each kind */

static void copy_part(const char *from, const char *to, double share)
{
    char source[128];
    snprintf(source, sizeof source, "%s", path_of(from));
    FILE *in = fopen(source, "rb"), *out = fopen(path_of(to), "wb");
    assert_true(in != NULL && out != NULL);
    struct stat info;
    assert_int_equal(fstat(fileno(in), &info), 0);
    for (off_t left = (off_t)((double)info.st_size * share); left > 0; left--)
        putc(getc(in), out);
    assert_int_equal(fclose(out), 0);
    fclose(in);
}

/* Overwrite the middle of a file with zeros: a page that is none. */
static void break_page(const char *name, long page)
{
    static const char zeros[4096];
    FILE *file = fopen(path_of(name), "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, page * 4096, SEEK_SET), 0);
    assert_int_equal(fwrite(zeros, 1, sizeof zeros, file), sizeof zeros);
    assert_int_equal(fclose(file), 0);
}

static void run_sql(const char *name, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path_of(name), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* A recording, and one whose recorder was killed: its last rows lie in the journal. */
static void write_whole_and_killed(void)
{
    synthetic *run = small_run_make();
    jm__writer *writer;
    assert_int_equal(jm__writer_create(&writer, path_of("whole"), true, NULL), JM_OK);
    assert_int_equal(small_run_tell(writer, run, NULL), JM_OK);
    copy_part("whole", "killed", 1);
    copy_part("whole-wal", "killed-wal", 1);
    assert_int_equal(jm__writer_close(writer, NULL), JM_OK);
    syn_free(run);
    run_sql("killed", "UPDATE meta SET value = '1' WHERE key = 'recorder_pid'");
}

static int set_up(void **state)
{
    (void)state;
    char command[512];
    if (mkdtemp(folder) == NULL) return -1;
    failing_files_install();
    write_whole_and_killed();
    copy_part("whole", "cut", 0.7);
    copy_part("whole", "broken", 1);
    break_page("broken", 11); /* of readings */
    copy_part("whole", "stray", 1);
    run_sql("stray", "DELETE FROM kernel_classes WHERE rowid = 3; DELETE FROM sensors WHERE rowid = 4");
    snprintf(command, sizeof command, "xz -dc '%s/tests/data/recordings/small.joulemap.xz' >%s",
             JM_SOURCE_DIR, path_of("format-1"));
    return system(command);
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return 0;
}

/* ---- reading */

typedef struct reading {
    told_file file;
    char path[128];
} reading;

static jm_status open_file(void *context, jm_error *err)
{
    reading *r = context;
    return jm_recording_open(&r->file.recording, r->path, err);
}

static char *tell_damage(void *context)
{
    const reading *r = context;
    const char *damage = jm_recording_damage(r->file.recording);
    return strdup(damage != NULL ? damage : "none");
}

static void close_file(void *context)
{
    told_close(&((reading *)context)->file);
}

static jm_status load_dataset(void *context, jm_error *err)
{
    reading *r = context;
    return jm__dataset_load(&r->file.dataset, r->file.recording, err);
}

static jm_status load_counters(void *context, jm_error *err)
{
    reading *r = context;
    return told_read_blocks(&r->file.blocks, r->file.dataset, err);
}

static jm_status read_kernels(void *context, jm_error *err)
{
    return told_read_kernels(&((reading *)context)->file, err);
}

static char *tell_file(void *context)
{
    return told_text(&((reading *)context)->file);
}

static void free_dataset(void *context)
{
    reading *r = context;
    jm__dataset_free(r->file.dataset);
    r->file.dataset = NULL;
}

static void free_counters(void *context)
{
    reading *r = context;
    told_forget_blocks(&r->file.blocks);
}

static void keep(void *context)
{
    (void)context;
}

static void must(jm_status status)
{
    assert_int_equal(status, JM_OK);
}

/* The whole way, until an error ends it. */
static jm_status read_all(void *context, jm_error *err)
{
    reading *r = context;
    jm_status status = told_read(&r->file, r->path, err);
    if (status != JM_OK) told_close(&r->file);
    return status;
}

enum { OPEN = 1, LOAD = 2, COUNTERS = 4, KERNELS = 8, ALL = 16 };

static const struct {
    const char *name;
    int steps; /* that differ from those of the others */
} files[] = {
    {"whole", OPEN | LOAD | COUNTERS | KERNELS},
    {"killed", OPEN},
    {"cut", OPEN},
    {"broken", ALL},
    {"stray", LOAD | KERNELS},
    {"format-1", LOAD},
};

/* Each step again and again of the same open recording: a failure leaves it as it was. */
static void fail_each_step(reading *r, int steps, failing_what what, bool (*may_end_so)(const jm_error *err))
{
    const failing_trial open = {"open", r, open_file, tell_damage, close_file, may_end_so},
                        load = {"load", r, load_dataset, tell_file, free_dataset, may_end_so},
                        counters = {"counters", r, load_counters, tell_file, free_counters, may_end_so},
                        kernels = {"kernels", r, read_kernels, tell_file, keep, may_end_so};
    if (steps & OPEN) failing_each(&open, what);
    must(open_file(r, NULL));
    if (steps & LOAD) failing_each(&load, what);
    must(load_dataset(r, NULL));
    if (steps & COUNTERS) failing_each(&counters, what);
    if (steps & KERNELS) failing_each(&kernels, what);
    close_file(r);
}

static void fail_each_in_files(failing_what what, bool (*may_end_so)(const jm_error *err))
{
    enum { KERNELS_MAX = 1000, STEP = 50 };
    static jm__kernel_run kernels[KERNELS_MAX];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        reading r = {.file = {.kernels = kernels, .kernels_max = KERNELS_MAX}};
        const failing_trial all = {"all", &r, read_all, tell_file, close_file, may_end_so};
        snprintf(r.path, sizeof r.path, "%s", path_of(files[i].name));
        print_message("%s\n", files[i].name);
        if (files[i].steps & ALL) /* where damage shows, recovery begins, which is that of the cut file */
            failing_each_of(&all, what, (what == FAILING_MEMORY ? STEP : 1) * failing_step());
        else
            fail_each_step(&r, files[i].steps, what, may_end_so);
    }
}

static void test_a_recording_read_without_memory_is_an_error_or_all_of_it(void **state)
{
    (void)state;
    fail_each_in_files(FAILING_MEMORY, failing_for_memory);
}

static bool is_of_the_disk(const jm_error *err)
{
    return err->status == JM_IO || (err->status == JM_DISK_FULL && strstr(err->text, "full") != NULL);
}

static void test_a_recording_whose_file_fails_is_an_error_or_all_of_it(void **state)
{
    (void)state;
    for (failing_what what = FAILING_READ; what < FAILING_COUNT; what++)
        fail_each_in_files(what, is_of_the_disk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_recording_read_without_memory_is_an_error_or_all_of_it),
        cmocka_unit_test(test_a_recording_whose_file_fails_is_an_error_or_all_of_it),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
