/* Joules of the parts of a C program, marked by the program itself. Without a GPU, JOULEMAP_SIM=h200
 * simulates one.
 *
 *     cc parts.c $(pkg-config --cflags --libs joulemap) -o parts
 *     JOULEMAP_SIM=h200 ./parts
 *
 * Not installed under /usr? PKG_CONFIG_PATH=$(joulemap --pkgconfigdir)
 */
#include <joulemap/joulemap.h>
#include <stdio.h>
#include <stdlib.h>

static void die(const char *what, const jm_error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->text);
    exit(1);
}

/* A placeholder for work: launching kernels, waiting for results. */
static void work(double seconds)
{
    const int64_t end_ns = jm_now_ns() + (int64_t)(seconds * 1e9);
    while (jm_now_ns() < end_ns) {
    }
}

/* A part: its name is its path in the report, its type is common to all its calls. */
static void part(const char *name, const char *type, double seconds)
{
    const jm_span_id span = jm_span_begin(JM_SPAN_FORWARD, jm_name_intern(name), jm_name_intern(type), 0);
    work(seconds);
    jm_span_end(span);
}

int main(void)
{
    jm_error err = {0};
    jm_run *run = NULL;
    const jm_run_options options = {.size = sizeof options, .kernels = true};
    if (jm_run_start(&run, &options, &err) != JM_OK) die("start", &err);

    const jm_name step = jm_name_intern("step");
    for (int i = 0; i < 60; i++) {
        const jm_span_id span = jm_span_begin(JM_SPAN_STEP, step, 0, 1);
        part("solver.assemble", "Assemble", 0.005 + 0.0001 * (i % 20));
        part("solver.factor", "Factor", 0.030);
        jm_span_end(span);
    }

    jm_recording *recording = NULL;
    jm_report *report = NULL;
    char *text = NULL;
    if (jm_run_flush(run, 2000, &err) != JM_OK) die("flush", &err);
    if (jm_run_recording(run, &recording, &err) != JM_OK) die("recording", &err);
    if (jm_report_create(&report, recording, NULL, &err) != JM_OK) die("report", &err);
    if (jm_report_text(report, NULL, &text, &err) != JM_OK) die("text", &err);
    fputs(text, stdout);
    free(text);
    jm_report_free(report);
    jm_run_free(run);
    return 0;
}
