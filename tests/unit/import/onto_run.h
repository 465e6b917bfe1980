/* A small run as a recording in a folder of the test's own, and a file that is imported onto it. */
#ifndef TEST_ONTO_RUN_H
#define TEST_ONTO_RUN_H

#include "small_run.h"

#include <joulemap/import.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* cmocka.h comes before. */

static char folder[] = "/tmp/joulemap-test-XXXXXX";
static char run_path[80], csv_path[80], out_path[80];
static synthetic *run;

static inline int onto_set_up(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(run_path, sizeof run_path, "%s/run.joulemap", folder);
    snprintf(csv_path, sizeof csv_path, "%s/counters.csv", folder);
    snprintf(out_path, sizeof out_path, "%s/out.joulemap", folder);
    run = small_run_make();
    return 0;
}

static inline int onto_tear_down(void **state)
{
    (void)state;
    unlink(run_path);
    unlink(csv_path);
    unlink(out_path);
    syn_free(run);
    return rmdir(folder);
}

/* A recording of 0.96 s from SMALL_START_NS on, two boards; with a set of counters or without. */
static inline jm__writer *onto_begin_run(bool counters)
{
    jm__writer *writer;
    jm_error err;
    if (jm__writer_create(&writer, run_path, true, &err) != JM_OK) fail_msg("%s", err.text);
    assert_int_equal(small_run_tell_boards(writer, run, &err), JM_OK);
    small_run_tell_facts(writer, run);
    if (counters) assert_int_equal(small_run_tell_counters(writer, &err), JM_OK);
    small_run_tell_rows(writer, run, 0);
    assert_int_equal(jm__writer_commit(writer, run->dataset.start_ns, &err), JM_OK);
    small_run_tell_rows(writer, run, 1);
    return writer;
}

/* `from` onto out_path, with one of the two files in `what`. */
static inline jm_status onto_add(const char *from, const char *board, const jm_counters_options *what,
                                 jm_error *err)
{
    jm_counters_options options = *what;
    options.size = sizeof options;
    options.overwrite = true;
    options.onto = from;
    options.path = out_path;
    options.board = board;
    return jm_recording_add_counters(&options, err);
}

#endif
