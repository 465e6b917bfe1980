/* What ncu counted, given to the same kernels of a recording. */
#include "attribute/prior/known.h"
#include "format/dataset.h"

#include <joulemap/estimate.h>
#include <joulemap/report.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "onto_run.h"

static jm_error err;

static int set_up(void **state)
{
    if (onto_set_up(state) != 0) return -1;
    return jm__writer_close(onto_begin_run(false), &err) == JM_OK ? 0 : -1;
}

/* A raw page of all that a model needs; each kernel's counts are `scale` times 1000 and more, metric by
 * metric. */
typedef struct told {
    const char *name;
    const jm__kernel_class *of; /* whose shape it has */
    double scale;
} told;

static void put_ncu(const told *kernels, size_t count)
{
    char *metrics;
    assert_int_equal(jm_estimate_metrics(NULL, &metrics, &err), JM_OK);
    FILE *csv = fopen(csv_path, "w");
    assert_non_null(csv);
    fputs("==PROF== Connected\n\"ID\",\"Process ID\",\"Kernel Name\",\"Block Size\",\"Grid "
          "Size\",\"Device\",\"CC\"",
          csv);
    for (char *name = strtok(metrics, ","); name != NULL; name = strtok(NULL, ","))
        fprintf(csv, ",\"%s\"", name);
    free(metrics);
    assert_int_equal(jm_estimate_metrics(NULL, &metrics, &err), JM_OK);
    fputs("\n\"\",\"\",\"\",\"\",\"\",\"\",\"\"", csv);
    for (char *name = strtok(metrics, ","); name != NULL; name = strtok(NULL, ","))
        fprintf(csv, ",\"%s\"",
                strstr(name, "pct") != NULL          ? "%"
                : strstr(name, "duration") != NULL   ? "ms"
                : strstr(name, "per_second") != NULL ? "hz"
                : strstr(name, "bytes") != NULL      ? "byte"
                : strstr(name, "device") != NULL     ? ""
                                                     : "inst");
    free(metrics);
    for (size_t k = 0; k < count; k++) {
        assert_int_equal(jm_estimate_metrics(NULL, &metrics, &err), JM_OK);
        fprintf(csv, "\n\"%zu\",\"1\",\"%s\",\"(%u, %u, %u)\",\"(%u, %u, %u)\",\"0\",\"9.0\"", k,
                kernels[k].name, kernels[k].of->block[0], kernels[k].of->block[1], kernels[k].of->block[2],
                kernels[k].of->grid[0], kernels[k].of->grid[1], kernels[k].of->grid[2]);
        size_t m = 0;
        for (char *name = strtok(metrics, ","); name != NULL; name = strtok(NULL, ","), m++) {
            if (strstr(name, "device") != NULL)
                fputs(",\"NVIDIA H200\"", csv);
            else if (strstr(name, "duration") != NULL)
                fputs(",\"10.5\"", csv); /* ms; that of the recording differs */
            else if (strstr(name, "per_second") != NULL)
                fputs(",\"1500000000\"", csv);
            else if (strstr(name, "pct") != NULL)
                fprintf(csv, ",\"%.3f\"", 10.123 * kernels[k].scale);
            else
                fprintf(csv, ",\"%.3f\"", kernels[k].scale * (1000.125 + (double)m));
        }
        free(metrics);
    }
    fputc('\n', csv);
    fclose(csv);
}

static jm_status add(const char *from, const char *board)
{
    err = (jm_error){0};
    return onto_add(from, board, &(jm_counters_options){.ncu = csv_path}, &err);
}

/* ---- windows */

typedef struct seen {
    const jm__dataset *data;
    size_t windows, alu, share;
    double alu_values[400], share_values[400];
    int64_t starts[400], ends[400];
} seen;

static jm_status take_block(void *taker, const jm__counter_block *block, jm_error *error)
{
    seen *s = taker;
    (void)error;
    size_t metrics = (size_t)s->data->counters.sets[0].metric_count, width = 2 + metrics;
    for (size_t i = 0; i < (size_t)block->count; i++) {
        uint64_t times[2];
        const char *at = (const char *)block->data.at + i * 8 * width;
        memcpy(times, at, sizeof times);
        s->starts[s->windows] = block->start_ns + (int64_t)times[0];
        s->ends[s->windows] = s->starts[s->windows] + (int64_t)times[1];
        memcpy(&s->alu_values[s->windows], at + 8 * (2 + s->alu), 8);
        memcpy(&s->share_values[s->windows], at + 8 * (2 + s->share), 8);
        s->windows++;
    }
    return JM_OK;
}

static size_t metric_index(const char *metrics, const char *name)
{
    size_t index = 0;
    const char *at = strstr(metrics, name);
    assert_non_null(at);
    for (const char *c = metrics; c < at; c++)
        index += *c == ',';
    return index;
}

static void read_windows(seen *s, jm_recording **recording, jm__dataset **data)
{
    assert_int_equal(jm_recording_open(recording, out_path, &err), JM_OK);
    assert_int_equal(jm__dataset_load(data, *recording, &err), JM_OK);
    *s = (seen){.data = *data};
    assert_int_equal((*data)->counters.set_count, 1);
    const char *metrics = (*data)->counters.sets[0].metrics;
    s->alu = metric_index(metrics, "sm__inst_executed_pipe_alu_realtime");
    s->share = metric_index(metrics, "lts__t_sector_throughput");
    assert_int_equal((*data)->counters.each((*data)->counters.context, take_block, s, &err), JM_OK);
}

static const jm__kernel_run *run_at(int64_t start_ns, size_t board)
{
    const all_kernels *all = &run->kernels;
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].start_ns == start_ns &&
            run->dataset.streams[all->items[i].stream_id - 1].board_id == (int64_t)board + 1)
            return &all->items[i];
    return NULL;
}

static void test_each_launch_gets_what_was_counted_of_its_kernel_in_order(void **state)
{
    (void)state;
    const jm__kernel_class *gemm = &run->dataset.classes[0], *attention = &run->dataset.classes[2];
    const told kernels[] = {
        {"void at::native::sgemm<(int)8>(int)", gemm, 1},
        {"attention", attention, 5},
        {"void at::native::sgemm<(int)8>(int)", gemm, 2},
    };
    put_ncu(kernels, 3);
    if (add(run_path, "0") != JM_OK) fail_msg("%s (%s)", err.text, err.hint);
    seen s;
    jm_recording *recording;
    jm__dataset *data;
    read_windows(&s, &recording, &data);
    size_t gemms = 0, attentions = 0;
    double alu_of_one = 0;
    for (size_t i = 0; i < s.windows; i++) {
        const jm__kernel_run *k = run_at(s.starts[i], 0);
        assert_non_null(k);
        assert_true(k->end_ns == s.ends[i]);
        double seconds = (double)(k->end_ns - k->start_ns) / 1e9;
        double scale = k->class_id == gemm->id ? (gemms++ % 2 == 0 ? 1 : 2) : 5;
        attentions += k->class_id == attention->id;
        assert_true(k->class_id == gemm->id || k->class_id == attention->id);
        if (alu_of_one <= 0) alu_of_one = s.alu_values[i] / scale;
        assert_true(alu_of_one > 1000 && alu_of_one < 1100);
        assert_true(fabs(s.alu_values[i] / scale / alu_of_one - 1) <
                    1e-5); /* a launch's, however long it took */
        assert_true(fabs(s.share_values[i] - 10.123 * scale * 0.0105 / seconds) < 1e-2);
    }
    assert_int_equal(gemms, 2);
    assert_int_equal(attentions, 1);
    jm__dataset_free(data);
    jm_recording_close(recording);
}

/* What was counted decides where the sensor cannot tell: it is there as sampled counters are. */
static void test_a_report_with_a_model_believes_them(void **state)
{
    (void)state;
    const told kernels[] = {{"at::native::sgemm<8>", &run->dataset.classes[0], 1e6},
                            {"attention", &run->dataset.classes[2], 1e6}};
    put_ncu(kernels, 2);
    assert_int_equal(add(run_path, "0"), JM_OK);
    jm_recording *recording;
    jm_report *report;
    char *json;
    const jm_report_options options = {
        .size = sizeof options, .by = JM_BY_KERNEL, .model = JM_SOURCE_DIR "/src/model/shipped/h200.json"};
    assert_int_equal(jm_recording_open(&recording, out_path, &err), JM_OK);
    if (jm_report_create(&report, recording, &options, &err) != JM_OK) fail_msg("%s", err.text);
    assert_int_equal(jm_report_json(report, &json, &err), JM_OK);
    if (strstr(json, "Nsight Compute counted the same kernels, one at a time, in another run") == NULL)
        fail_msg("%s", strstr(json, "\"notes\""));
    assert_null(strstr(json, "windows of hardware counters tell"));
    assert_non_null(strstr(json, csv_path)); /* which file they are of */
    free(json);
    jm_report_free(report);
    jm_recording_close(recording);
}

/* Nobody sampled while the recording was made, so no reading has in it what a sampler draws. */
static void test_what_a_sampler_draws_is_not_added_where_none_went(void **state)
{
    (void)state;
    jm__board_work work = {.from_host = true};
    for (int imported = 0; imported < 2; imported++) {
        const jm__dataset data = {.ncu = imported ? csv_path : NULL};
        const jm__sampler_draw sampler = {.known.rest_w = 35};
        jm__board_known known = {.counted_by_hardware = true};
        known.model = (jm__board_model){.board = csv_path, .shipped = true, .constant_w = 130};
        jm__known_ready(&known, &work, &sampler, &data, NULL);
        assert_true(fabs(known.model.constant_w - (imported ? 130 : 165)) < 1e-9);
    }
}

static void test_what_does_not_fit_is_refused_with_its_cause(void **state)
{
    (void)state;
    jm__kernel_class other = run->dataset.classes[0];
    other.grid[0] += 1;
    const told of_another_size[] = {{"void at::native::sgemm<(int)8>(int)", &other, 1}};
    put_ncu(of_another_size, 1);
    assert_int_equal(add(run_path, "0"), JM_NOT_FOUND);
    assert_non_null(strstr(err.text, "none of the recording's 4 kinds of kernels is in /tmp/"));
    assert_int_equal(err.code, 0);
    assert_non_null(strstr(err.hint, "same sizes"));
    assert_int_not_equal(access(out_path, F_OK), 0);

    FILE *csv = fopen(csv_path, "w");
    fputs("\"ID\",\"Kernel Name\",\"Block Size\",\"Grid "
          "Size\",\"CC\",\"gpu__time_duration.sum\"\n\"\",\"\",\"\",\"\",\"\",\"us\"\n"
          "\"0\",\"attention\",\"(1, 1, 1)\",\"(1, 1, 1)\",\"9.0\",\"10.5\"\n",
          csv);
    fclose(csv);
    assert_int_equal(add(run_path, "0"), JM_BAD_DATA);
    assert_non_null(strstr(err.text, "lacks counters that a model needs: "));
    assert_non_null(strstr(err.text, "sm__inst_executed_pipe_alu"));
    assert_int_equal(err.code, 0);
    assert_non_null(strstr(err.hint, "--metrics"));

    csv = fopen(csv_path, "w"); /* of a chip that it does not tell */
    fputs("\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"gpu__time_duration.sum\"\n"
          "\"\",\"\",\"\",\"\",\"us\"\n\"0\",\"attention\",\"(1, 1, 1)\",\"(1, 1, 1)\",\"10.5\"\n",
          csv);
    fclose(csv);
    assert_int_equal(add(run_path, "0"), JM_NOT_SUPPORTED);
    assert_non_null(strstr(err.text, "does not state its chip"));
    assert_int_equal(err.code, 0);
}

/* How the rest is written differs from one tool, and one of its versions, to the next. */
static void test_kernels_go_by_the_last_part_of_their_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool fits;
    } cases[] = {{"sgemm", true},
                 {"void at::native::sgemm<8>(T1 *)", true},
                 {"at::native::sgemm(int)", true},
                 {"void at::<unnamed>::sgemm<8>(int)", true},
                 {"void <unnamed>::sgemm<8>(int)", true},
                 {"void at::(anonymous namespace)::sgemm<(int)8>(int)", true},
                 {"void a::(anonymous namespace)::b::<unnamed>::sgemm(a::b)", true},
                 {"sgemm2", false},
                 {"at::native<8>::sgemm", false},
                 {"a:sgemm", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const told kernels[] = {{cases[i].name, &run->dataset.classes[0], 1}};
        put_ncu(kernels, 1);
        if (add(run_path, "0") != (cases[i].fits ? JM_OK : JM_NOT_FOUND))
            fail_msg("%s: %s", cases[i].name, err.text);
    }
}

static void test_a_recording_with_counters_of_its_own_keeps_them(void **state)
{
    (void)state;
    char again[96];
    const told kernels[] = {{"attention", &run->dataset.classes[2], 1}};
    put_ncu(kernels, 1);
    assert_int_equal(add(run_path, "0"), JM_OK);
    snprintf(again, sizeof again, "%s/counted.joulemap", folder);
    assert_int_equal(rename(out_path, again), 0);
    assert_int_equal(add(again, "0"), JM_USAGE);
    assert_non_null(strstr(err.text, "counters of its own"));
    unlink(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_does_not_fit_is_refused_with_its_cause),
        cmocka_unit_test(test_each_launch_gets_what_was_counted_of_its_kernel_in_order),
        cmocka_unit_test(test_a_report_with_a_model_believes_them),
        cmocka_unit_test(test_what_a_sampler_draws_is_not_added_where_none_went),
        cmocka_unit_test(test_kernels_go_by_the_last_part_of_their_names),
        cmocka_unit_test(test_a_recording_with_counters_of_its_own_keeps_them),
    };
    return cmocka_run_group_tests(tests, set_up, onto_tear_down);
}
