/* CSV files, and recordings made from them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "all_kernels.h"
#include "base/csv.h"
#include "told.h"

#include <joulemap/joulemap.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

static char folder[] = "/tmp/joulemap-test-XXXXXX";
static char csv_path[80], gz_path[80], other_path[80], out_path[80];

static int set_up(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(csv_path, sizeof csv_path, "%s/a.csv", folder);
    snprintf(gz_path, sizeof gz_path, "%s/a.csv.gz", folder);
    snprintf(other_path, sizeof other_path, "%s/b.csv", folder);
    snprintf(out_path, sizeof out_path, "%s/out.joulemap", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(csv_path);
    unlink(gz_path);
    unlink(other_path);
    unlink(out_path);
    return rmdir(folder);
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void put_gz(const char *path, const char *text, size_t cut)
{
    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    gzputs(file, text);
    gzclose(file);
    if (cut == 0) return;
    FILE *whole = fopen(path, "r+");
    fseek(whole, 0, SEEK_END);
    assert_int_equal(ftruncate(fileno(whole), ftell(whole) - (long)cut), 0);
    fclose(whole);
}

static jm_status import_into(bool overwrite, const char *board, const char *readings, const char *segments,
                             const char *kernels, jm_error *err)
{
    const jm_import_options options = {
        .size = sizeof options,
        .overwrite = overwrite,
        .path = out_path,
        .board = board,
        .files = {
            [JM_IMPORT_READINGS] = readings, [JM_IMPORT_SEGMENTS] = segments, [JM_IMPORT_KERNELS] = kernels}};
    return jm_recording_import(&options, err);
}

static void test_fields_may_hold_commas_quotes_and_line_ends(void **state)
{
    (void)state;
    static const char text[] =
        "name,t_s\r\n\"void f<1, 2>(char*)\",1.5\r\n\r\n\"say \"\"x\"\"\nnow\",-2\nplain,\n";
    put(csv_path, text);
    put_gz(gz_path, text, 0);
    for (int packed = 0; packed < 2; packed++) {
        jm__csv *csv;
        jm_error err;
        bool more;
        int64_t t_ns;
        size_t name, t;
        assert_int_equal(jm__csv_open(&csv, packed ? gz_path : csv_path, &err), JM_OK);
        assert_int_equal(jm__csv_column(csv, "name", &name, &err), JM_OK);
        assert_int_equal(jm__csv_column(csv, "t_s", &t, &err), JM_OK);
        assert_int_equal(jm__csv_next(csv, &more, &err), JM_OK);
        assert_string_equal(jm__csv_text(csv, name), "void f<1, 2>(char*)");
        assert_int_equal(jm__csv_scaled(csv, t, 9, &t_ns, &err), JM_OK);
        assert_int_equal(t_ns, 1500000000);
        assert_int_equal(jm__csv_next(csv, &more, &err), JM_OK);
        assert_string_equal(jm__csv_text(csv, name), "say \"x\"\nnow");
        assert_int_equal(jm__csv_scaled(csv, t, 9, &t_ns, &err), JM_OK);
        assert_int_equal(t_ns, -2000000000);
        assert_int_equal(jm__csv_next(csv, &more, &err), JM_OK);
        assert_int_equal(jm__csv_scaled(csv, t, 9, &t_ns, &err), JM_BAD_DATA);
        assert_non_null(strstr(err.text, "line 6, column \"t_s\"")); /* a quoted field spans 4 and 5 */
        assert_int_equal(jm__csv_next(csv, &more, &err), JM_OK);
        assert_false(more);
        jm__csv_close(csv);
    }
}

static void test_seconds_since_1970_keep_their_nanoseconds(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {{"1763634398.123456789", 1763634398123456789},
                 {"-0.000000001", -1},
                 {".5", 500000000},
                 {"1e-3", 1000000},
                 {"7", 7000000000},
                 {"0.1234567899", 123456789}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "t\n%s\n", cases[i].text);
        put(csv_path, text);
        jm__csv *csv;
        bool more;
        int64_t ns;
        assert_int_equal(jm__csv_open(&csv, csv_path, NULL), JM_OK);
        assert_int_equal(jm__csv_next(csv, &more, NULL), JM_OK);
        assert_int_equal(jm__csv_scaled(csv, 0, 9, &ns, NULL), JM_OK);
        assert_true(ns == cases[i].ns);
        jm__csv_close(csv);
    }
}

/* As spreadsheets, loggers and other countries write them; all are t,v of 0.5,-1234.25 and 1,7. */
static void test_a_table_is_read_whoever_wrote_it(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "t,v\n0.5,-1234.25\n1,7\n",
        "\xef\xbb\xbf\"t\",\"v\"\n\"0.5\",\"-1234.25\"\n1,7\n",
        "\xef\xbb\xbft;v\r\n0,5;-1.234,25\r\n1;7\r\n",
        "sep=;\r\nt;v\r\n0.5;-1234.25\r\n\r\n1;7",
        "t\tv\n0,5\t-1234,25\n1\t7\n",
        "t,v\r0.5,-1234.25\r1,7\r",
        "  t , \"v\"  \n 0.5 ,\t\"-1234.25\" \n   \n1,7 \n",
        "T,V,w\n0.5,-1234.25,\"a;b;c\"\n1,7,\n",
        "\n \r\nt;v\n0,5;-1 234,25\n1;7\n",
        "\"sep=;\"\r\nt;v\r\n0.5;-1234.25\r\n1;7\r\n",
        "sep=;\rt;v\r0.5;-1234.25\r1;7\r",
        "\r\rt;v\r0.5;-1234.25\r1;7\r",
        "t\tv\n0.5\t-1,234.25\n1\t7\n",
        "t;v\n0,5;-1\u202f234,25\n;\n1;7\n",
        ",,\nt,v,\n0.5,-1234.25,\n,,\nt,v,\n1,7,\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        jm__csv *csv;
        jm_error err = {0};
        bool more;
        int64_t t_ns;
        double value;
        size_t t, v;
        put(csv_path, texts[i]);
        if (jm__csv_open(&csv, csv_path, &err) != JM_OK) fail_msg("%s", err.text);
        assert_int_equal(jm__csv_column(csv, "t", &t, &err), JM_OK);
        assert_int_equal(jm__csv_column(csv, "v", &v, &err), JM_OK);
        for (int row = 0; row < 2; row++) {
            assert_int_equal(jm__csv_next(csv, &more, &err), JM_OK);
            assert_true(more);
            if (jm__csv_scaled(csv, t, 9, &t_ns, &err) != JM_OK) fail_msg("%s", err.text);
            if (jm__csv_number(csv, v, &value, &err) != JM_OK) fail_msg("%s", err.text);
            assert_true(t_ns == (row == 0 ? 500000000 : 1000000000));
            assert_true(value == (row == 0 ? -1234.25 : 7));
        }
        assert_int_equal(jm__csv_next(csv, &more, &err), JM_OK);
        assert_false(more);
        jm__csv_close(csv);
    }
}

static void test_what_is_no_number_says_what_to_change(void **state)
{
    (void)state;
    static const struct {
        const char *text, *hint;
    } cases[] = {
        {"t_s,power_w\n2024/10/26 22:13:05.1,80\n", "date -d STAMP"},
        {"t_s,power_w\n26.10.2024 22:13,80\n", "date -d STAMP"},
        {"t_s,power_w\n2024-10-26T22:13:05Z,80\n", "date -d STAMP"},
        {"t_s,power_w\n1,80.5 W\n", "without a unit"},
        {"t_s,power_w\n1,\"80,5\"\n", "with a point"},
        {"t_s,power_w\n1,\"1,080.5\"\n", "with a point"},
        {"t_s,power_w\nN/A,80\n", "leave lines without a value out"},
        {"t_s,power_w\n1,inf\n", "leave lines without a value out"},
        {"t_s,power_w\n1,\u2212"
         "80\n",
         "the sign on the keyboard"},
        {"t_s,power_w\n1,1\u202f080.5\n", "no sign between thousands"},
        {"t_s,power_w\n1761516000123,80\n", "milliseconds: divide by 1000"},
        {"t_s,power_w\n1761516000123456,80\n", "microseconds: divide by 1000000"},
        {"t_s;power_w\n1761516000123456789;80\n", "nanoseconds: divide by 1000000000"},
        {"t_s\tpower_w\n1\t1,080\n", "between thousands"},
        {"timestamp, power.draw [W]\n2024/10/26 22:13:05.137, 80.00 W\n", "t_s in seconds"},
        {"#Entity   POWER\nID        W\nGPU 0     68.5\n", "t_s in seconds"},
        {"\xff\xfet\0_\0s\0", "UTF-8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const jm_import_options options = {.size = sizeof options,
                                           .overwrite = true,
                                           .path = out_path,
                                           .files = {[JM_IMPORT_METER] = csv_path}};
        jm_error err = {0};
        put(csv_path, cases[i].text);
        assert_int_equal(jm_recording_import(&options, &err), JM_BAD_DATA);
        if (strstr(err.hint, cases[i].hint) == NULL)
            fail_msg("\"%s\", \"%s\" does not say: %s", err.text, err.hint, cases[i].hint);
    }
}

/* "1.250" is 1.25 or 1250: what other numbers of its column show, then those of others; else it is neither.
 */
static void test_a_number_that_may_be_two_is_what_the_others_tell_or_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value; /* of the first row; 0: refused */
    } cases[] = {
        {"t;v\n1;1.250\n2;7\n", 0},
        {"t\tv\n1\t1,250\n2\t7\n", 0},
        {"t;v\n1;1.250\n2;1.250,75\n", 1250},
        {"t;v\n1;1.250\n2;7.5\n", 1.25},
        {"t\tv\n1\t1,250\n2\t0,5\n", 1.25},
        {"t\tv\n1\t1,250\n2\t1,250.5\n", 1250},
        {"t\tv\n1761516000.250\t98.125\n", 98.125},
        {"t;v\n1,5;1.250\n2;7\n", 1250},
        {"t;v;w\n1;1.250;7.5\n2;7;7,5\n", 0},
        {"t;v\n1;1.250\n2;7.5\n3;7,5\n", 0},
        {"t;v\n1;12 (3)\n", 0},
        {"t,v\n1,1.250\n2,7\n", 1.25},
        {"t,v\n1,\"1,250\"\n2,7\n", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int packed = 0; packed < 2; packed++) {
            jm__csv *csv;
            jm_error err = {0};
            bool more;
            double value = 0;
            int64_t scaled = 0, whole;
            put(csv_path, cases[i].text);
            put_gz(gz_path, cases[i].text, 0);
            assert_int_equal(jm__csv_open(&csv, packed ? gz_path : csv_path, &err), JM_OK);
            assert_int_equal(jm__csv_next(csv, &more, &err), JM_OK);
            assert_int_equal(jm__csv_line(csv), 2);
            jm_status status = jm__csv_number(csv, 1, &value, &err);
            if ((status == JM_OK) != (cases[i].value != 0) || (status == JM_OK && value != cases[i].value))
                fail_msg("%s: %g, %s", cases[i].text, value, err.text);
            assert_int_equal(jm__csv_scaled(csv, 1, 3, &scaled, &err), status);
            if (status == JM_OK) assert_true(scaled == (int64_t)(1000 * cases[i].value));
            if (status != JM_OK) assert_non_null(strstr(err.text, "line 2, column \"v\""));
            bool is_whole = value == 1250;
            assert_int_equal(jm__csv_integer(csv, 1, &whole, NULL), is_whole ? JM_OK : JM_BAD_DATA);
            if (is_whole) assert_int_equal(whole, 1250);
            jm__csv_close(csv);
        }
    }
}

static void test_a_log_of_another_program_is_named(void **state)
{
    (void)state;
    static const char *const logs[][2] = {
        {"timestamp, power.draw [W], temperature.gpu\n2024/10/26 22:13:05.137, 80.00 W, 40\n", "nvidia-smi"},
        {"#Entity   POWER\nGPU 0     68.5\n", "dcgmi"},
        {"#Date       Time        gpu   pwr\n 20251026   22:13:05      0   80\n", "nvidia-smi dmon"},
        {"#gpu, pwr, gtemp\n#Idx, W, C\n0, 80, 40\n", "nvidia-smi dmon"},
        {"2024/10/26 22:13:05.137, 80.00 W\n2024/10/26 22:13:06.137, 81.00 W\n", "no header line"},
        {"# HELP DCGM_FI_DEV_POWER_USAGE Power draw (in W).\n", "DCGM"}};
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        jm_error err = {0};
        put(csv_path, logs[i][0]);
        assert_int_equal(import_into(true, "h200", csv_path, NULL, NULL, &err), JM_BAD_DATA);
        if (strstr(err.text, logs[i][1]) == NULL) fail_msg("\"%s\" does not name %s", err.text, logs[i][1]);
        assert_non_null(strstr(err.hint, "columns are sensor,t_s,value: t_s in seconds"));
        assert_non_null(strstr(err.hint, "power_average"));
    }
    jm_error err = {0};
    put(csv_path, "sensor,t_s,value\npower.draw,1,80\n");
    assert_int_equal(import_into(true, "h200", csv_path, NULL, NULL, &err), JM_BAD_DATA);
    assert_non_null(strstr(err.hint, "power_instant, power_average"));
}

typedef struct bad_case {
    const char *readings, *segments, *kernels, *words;
} bad_case;

static void test_what_is_wrong_with_a_file_is_told_by_file_line_and_column(void **state)
{
    (void)state;
    static const bad_case cases[] = {
        {"sensor,t_s,value\npower_ring_w,1,80\npower_ring_w,x,80\n", NULL, NULL,
         "line 3, column \"t_s\": \"x\" is not a number"},
        {"sensor,t_s,value\npower_ring_w,1,inf\n", NULL, NULL, "line 2, column \"value\""},
        {"sensor,t_s,value\npower_ring_w,1,nan\n", NULL, NULL, "no rows with a value"},
        {"sensor,t_s,value\nvolts,1,80\n", NULL, NULL, "has no sensor \"volts\""},
        {"sensor,t,value\n", NULL, NULL, "no column \"t_s\"; this file has: sensor, t, value"},
        {"", NULL, NULL, "line 1: the file is empty"},
        {"sensor,t_s,value\n", NULL, NULL, "no rows"},
        {"sensor,t_s,value\n\"power_ring_w,1,80\n", NULL, NULL, "line 2: a quoted field never ends"},
        {NULL, "part,kernel,t_start_s,t_end_s\na,b,2,1\n", NULL,
         "line 2, column \"t_end_s\": the end lies before the start"},
        {NULL, "part,kernel,t_start_s,t_end_s,kernel_launches\na,b,1,2,0\n", NULL,
         "line 2, column \"kernel_launches\""},
        {NULL, "part,kernel,t_start_s,t_end_s,phase\na,b,1,2,a\n", NULL,
         "line 2, column \"phase\": a part of a phase has a name of its own"},
        {NULL, "part,kernel,t_start_s,t_end_s,phase\n,b,1,2,p\n", NULL,
         "line 2, column \"phase\": a part of a phase has a name of its own"},
        {NULL, "part,kernel,t_start_s,t_end_s,phase\na,b,1,2,p\nc,b,2,3,a\n", NULL,
         "line 3, column \"phase\": \"a\" lies in a phase itself"},
        {NULL, "part,kernel,t_start_s,t_end_s,phase\na,b,1,2,p\na,b,2,3,q\n", NULL,
         "line 3, column \"phase\": \"a\" did not lie in this phase before"},
        {NULL, "part,kernel,t_start_s,t_end_s,phase\na,b,1,2,p\na,b,2,3,\n", NULL,
         "line 3, column \"part\": \"a\" lay in a phase before"},
        {NULL, NULL, "t_start_s,duration_us,kernel,stream\n1,-1,k,7\n", "line 2, column \"duration_us\""},
        {NULL, NULL, "t_start_s,duration_us,kernel,stream\n1,1,k,seven\n", "line 2, column \"stream\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const bad_case *c = &cases[i];
        const char *text = c->readings != NULL ? c->readings : c->segments != NULL ? c->segments : c->kernels;
        jm_error err = {0};
        put(csv_path, text);
        jm_status status = import_into(true, "h200", c->readings ? csv_path : NULL,
                                       c->segments ? csv_path : NULL, c->kernels ? csv_path : NULL, &err);
        assert_int_equal(status, JM_BAD_DATA);
        if (strstr(err.text, c->words) == NULL) fail_msg("\"%s\" does not say: %s", err.text, c->words);
        assert_int_equal(err.code, 0);
        assert_int_not_equal(access(out_path, F_OK), 0); /* nothing half made is left */
    }
}

static void test_a_damaged_gzip_file_is_named(void **state)
{
    (void)state;
    static char text[200000] = "sensor,t_s,value\n";
    size_t used = strlen(text);
    for (int i = 0; used + 64 < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "power_ring_w,%d.%05d,%d\n", i,
                                 i * 7919 % 100000, i % 977);
    put_gz(gz_path, text, 2000);
    jm_error err = {0};
    assert_int_equal(import_into(true, "h200", gz_path, NULL, NULL, &err), JM_BAD_DATA);
    assert_non_null(strstr(err.text, gz_path));
    assert_non_null(strstr(err.text, "damaged"));
}

static void test_a_missing_file_and_an_existing_output_are_refused(void **state)
{
    (void)state;
    jm_error err = {0};
    assert_int_equal(import_into(false, "h200", "/nowhere/x.csv", NULL, NULL, &err), JM_NOT_FOUND);
    assert_int_equal(import_into(false, "h200", NULL, NULL, NULL, &err), JM_USAGE);
    assert_string_equal(err.text, "there is no file to import");
    assert_int_equal(err.code, 0);
    assert_int_equal(jm_recording_import(&(jm_import_options){.size = sizeof(jm_import_options)}, &err),
                     JM_USAGE);
    assert_string_equal(err.text, "there is no path to write to");
    assert_int_equal(err.code, 0);
    put(csv_path, "sensor,t_s,value\npower_ring_w,1,80\n");
    assert_int_equal(import_into(false, "h201", csv_path, NULL, NULL, &err), JM_NOT_FOUND);
    put(out_path, "mine");
    assert_int_not_equal(import_into(false, "h200", csv_path, NULL, NULL, &err), JM_OK);
    FILE *file = fopen(out_path, "r");
    char text[8] = "";
    assert_int_equal(fread(text, 1, sizeof text - 1, file), 4);
    fclose(file);
    assert_string_equal(text, "mine");
    unlink(out_path);
}

static jm__dataset *import_and_load(const char *readings, const char *segments, const char *kernels,
                                    jm_recording **recording)
{
    jm_error err = {0};
    jm__dataset *dataset = NULL;
    if (import_into(true, "h200", readings, segments, kernels, &err) != JM_OK) fail_msg("%s", err.text);
    if (jm_recording_open(recording, out_path, &err) != JM_OK) fail_msg("%s", err.text);
    assert_null(jm_recording_damage(*recording));
    if (jm__dataset_load(&dataset, *recording, &err) != JM_OK) fail_msg("%s", err.text);
    return dataset;
}

static void test_parts_become_phases_and_segments_kernels(void **state)
{
    (void)state;
    put(csv_path, "part,kernel,t_start_s,t_end_s,kernel_launches\n"
                  "warm,k1,-3,-2.5,10\nrun,k1,0,1,20\nrun,k2,1.5,2,30\nwarm,k1,3,4,40\n");
    put(other_path, "sensor,t_s,value,read_took_s\n"
                    "power_ring_w,-3,80,\npower_ring_w,-2.98,81,\npower_ring_w,-2.96,82,\n"
                    "power_ring_w,-2.9305,83,\npower_ring_w,-2.92,84,\npower_ring_w,-2.90,85,\n"
                    "energy_counter_j,-2.95,1000,0.003\nsm_clock_mhz,0,1980,\n");
    jm_recording *recording;
    jm__dataset *d = import_and_load(other_path, csv_path, NULL, &recording);
    assert_int_equal(d->span_count, 3);
    static const struct {
        const char *name;
        int64_t start_ns, end_ns;
    } phases[] = {
        {"warm", -3000000000, -2500000000}, {"run", 0, 2000000000}, {"warm", 3000000000, 4000000000}};
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(d->names[d->spans[i].name_id], phases[i].name);
        assert_int_equal(d->spans[i].kind, JM_SPAN_PHASE);
        assert_true(d->spans[i].start_ns == phases[i].start_ns && d->spans[i].end_ns == phases[i].end_ns);
    }
    jm_status status;
    all_kernels kernels = all_kernels_of(d, &status);
    assert_int_equal(status, JM_OK);
    assert_int_equal(kernels.count, 4);
    assert_int_equal(kernels.items[2].calls, 30);
    assert_int_equal(kernels.items[2].span_id, d->spans[1].id);
    assert_string_equal(d->names[d->classes[kernels.items[2].class_id - 1].name_id], "k2");
    assert_int_equal(d->sensor_count, 3);
    assert_int_equal(d->reading_count, 8);
    int64_t late = 0; /* 9.5 ms late, and kept as it was read */
    for (size_t i = 0; i < d->reading_count; i++)
        if (d->readings[i].value == 83) late = d->readings[i].t_ns;
    assert_true(late == -2930500000);
    assert_true(d->start_ns == -3000000000 && d->end_ns == 4000000000);
    free(kernels.items);
    jm__dataset_free(d);
    jm_recording_close(recording);
}

/* Two bursts of one class in a row are two windows, also where kernels lie beside them. */
static void test_a_part_in_a_phase_becomes_its_windows(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        jm_span_kind kind;
        int64_t start_ms, end_ms, parent;
    } expected[] = {{"suite", JM_SPAN_PHASE, 0, 40, 0},
                    {"gemm", JM_SPAN_WINDOW, 0, 10, 1},
                    {"gemm", JM_SPAN_WINDOW, 15, 20, 1},
                    {"norm", JM_SPAN_WINDOW, 30, 40, 1},
                    {"live", JM_SPAN_PHASE, 50, 60, 0}};
    put(csv_path, "part,kernel,t_start_s,t_end_s,phase\ngemm,k,0,0.01,suite\ngemm,k,0.015,0.02,suite\n"
                  "norm,n,0.03,0.04,suite\nlive,k,0.05,0.06,\n");
    put(other_path, "t_start_s,duration_us,kernel,stream,part\n0,10000,k,7,gemm\n0.015,5000,k,7,gemm\n"
                    "0.03,10000,n,7,norm\n0.05,10000,k,7,live\n");
    for (int beside = 0; beside < 2; beside++) {
        jm_recording *recording;
        jm__dataset *d = import_and_load(NULL, csv_path, beside ? other_path : NULL, &recording);
        jm_status status;
        all_kernels kernels = all_kernels_of(d, &status);
        assert_int_equal(status, JM_OK);
        assert_int_equal(kernels.count, 4);
        assert_int_equal(d->span_count, 5);
        for (size_t i = 0; i < d->span_count; i++) {
            const jm__span *span = &d->spans[i];
            assert_string_equal(d->names[span->name_id], expected[i].name);
            assert_int_equal(span->kind, expected[i].kind);
            assert_true(span->start_ns == expected[i].start_ms * 1000000);
            assert_true(span->end_ns == expected[i].end_ms * 1000000);
            assert_int_equal(span->parent_id, expected[i].parent);
        }
        for (size_t i = 0; i < kernels.count; i++)
            assert_int_equal(kernels.items[i].span_id, d->spans[i + 1].id);
        free(kernels.items);
        jm__dataset_free(d);
        jm_recording_close(recording);
    }
}

static void test_kernels_beside_segments_count_once(void **state)
{
    (void)state;
    put(csv_path, "part,kernel,t_start_s,t_end_s\nrun,all,0,1\nrest,all,2,3\n");
    put(other_path,
        "t_start_s,duration_us,kernel,stream,part\n0.1,5.25,\"k<1, 2>\",7,run\n0.2,4,Memset (Device),9,run\n"
        "1.5,1,k3,7,\n");
    jm_recording *recording;
    jm__dataset *d = import_and_load(NULL, csv_path, other_path, &recording);
    jm_status status;
    all_kernels kernels = all_kernels_of(d, &status);
    assert_int_equal(status, JM_OK);
    assert_int_equal(kernels.count, 3);
    assert_int_equal(d->stream_count, 2);
    assert_int_equal(d->span_count, 2);
    assert_true(kernels.items[0].end_ns - kernels.items[0].start_ns == 5250);
    assert_int_equal(kernels.items[0].span_id, d->spans[0].id);
    assert_int_equal(kernels.items[2].span_id, 0); /* in no part */
    assert_int_equal(d->classes[kernels.items[1].class_id - 1].work, JM_WORK_MEMSET);
    free(kernels.items);
    jm__dataset_free(d);
    jm_recording_close(recording);
}

/* By the names that PyTorch's profiler gives them, and by ours. */
static void test_copies_are_known_by_their_names(void **state)
{
    (void)state;
    static const jm__work requested[] = {JM_WORK_MEMCPY, JM_WORK_MEMCPY, JM_WORK_MEMSET, JM_WORK_KERNEL};
    put(csv_path, "part,kernel,t_start_s,t_end_s\nrun,all,0,1\n");
    put(other_path, "t_start_s,duration_us,kernel,stream,part\n0.1,5,Memcpy DtoH (Device -> Pinned),7,run\n"
                    "0.2,4,[memcpy HtoD],7,run\n0.3,4,[memset],7,run\n0.4,4,my_memcpy_kernel,7,run\n");
    jm_recording *recording;
    jm__dataset *d = import_and_load(NULL, csv_path, other_path, &recording);
    jm_status status;
    all_kernels kernels = all_kernels_of(d, &status);
    assert_int_equal(status, JM_OK);
    assert_int_equal(kernels.count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(d->classes[kernels.items[i].class_id - 1].work, requested[i]);
    free(kernels.items);
    jm__dataset_free(d);
    jm_recording_close(recording);
}

static jm_status import_meter(const char *readings, const char *meter, jm_error *err)
{
    const jm_import_options options = {.size = sizeof options,
                                       .overwrite = true,
                                       .path = out_path,
                                       .board = "h200",
                                       .files = {[JM_IMPORT_READINGS] = readings, [JM_IMPORT_METER] = meter}};
    return jm_recording_import(&options, err);
}

static void test_each_meter_is_a_board_upstream_of_the_gpu_and_does_not_lengthen_the_run(void **state)
{
    (void)state;
    jm_error err = {0};
    put(csv_path, "sensor,t_s,value\npower_ring_w,1,80\npower_ring_w,1.02,81\n");
    put(other_path, "t_s,power_w,meter\n-60,100,psu\n-59,101,psu\n-60,7,fan\n-58,102,psu\n60,103,psu\n");
    if (import_meter(csv_path, other_path, &err) != JM_OK) fail_msg("%s", err.text);
    jm_recording *recording;
    jm__dataset *d = NULL;
    assert_int_equal(jm_recording_open(&recording, out_path, &err), JM_OK);
    assert_int_equal(jm__dataset_load(&d, recording, &err), JM_OK);
    assert_int_equal(d->board_count, 3);
    assert_string_equal(d->boards[1].name, "psu");
    assert_string_equal(d->boards[2].name, "fan");
    assert_true(!d->boards[0].upstream && d->boards[1].upstream && d->boards[2].upstream);
    assert_true(d->start_ns == 1000000000 && d->end_ns == 1020000000);
    assert_int_equal(d->reading_count, 7);
    assert_int_equal(d->sensors[1].board_id, 2);
    assert_true(d->sensors[1].period_ns == 1000000000); /* steps of 1, 1 and 118 s */
    int64_t gpu;
    assert_int_equal(jm_recording_board_id(recording, 0, &gpu, &err), JM_OK);
    assert_int_equal(jm_recording_cuda_board_id(recording, 0, &gpu, &err), JM_NOT_FOUND);
    assert_string_equal(err.text, "no CUDA device 0; this recording has: none");
    assert_int_equal(jm_recording_board_id(recording, 0, &gpu, &err), JM_OK);
    assert_int_equal(gpu, d->boards[0].id);
    jm__dataset_free(d);
    jm_recording_close(recording);
}

/* Parts that overlap are one; the run is as long as what its segments, kernels and readings tell of. */
static void test_a_recording_has_all_that_four_files_tell(void **state)
{
    (void)state;
    static const char expected[] = "damage none\n"
                                   "damage of the dataset none\n"
                                   "run 1000000000 9000000000 -1\n"
                                   "fact start_ns 1000000000\n"
                                   "fact end_ns 9000000000\n"
                                   "fact closed 1\n"
                                   "fact source import\n"
                                   "board 1  import any board  0 -1 nan 0\n"
                                   "board 2  meter psu  -1 -1 nan 0\n"
                                   "board 3  meter meter  -1 -1 nan 0\n"
                                   "sensor 1 1 power_ring  0 2 20000000 4000000 13000000 8\n"
                                   "sensor 2 1 clock_sm  6 0 100000000 0 0 8\n"
                                   "sensor 3 2 meter_power  0 0 8000000000 0 0 0\n"
                                   "sensor 4 3 meter_power  0 0 0 0 0 0\n"
                                   "name 0 \n"
                                   "name 1 a\n"
                                   "name 2 suite\n"
                                   "name 3 b\n"
                                   "name 4 live\n"
                                   "name 5 late\n"
                                   "name 6 k\n"
                                   "name 7 [memset]\n"
                                   "class 1 6 1 0 0\n"
                                   "class 2 7 3 0 0\n"
                                   "stream 1 1 1 7\n"
                                   "stream 2 1 1 8\n"
                                   "stream 3 1 1 9\n"
                                   "process 1 1 -1 1000000000 9000000000  joulemap import\n"
                                   "span 1 1 0 1000000000 3000000000 2 0 1\n"
                                   "span 2 1 1 1000000000 2000000000 1 0 4\n"
                                   "span 3 1 1 3000000000 3000000000 3 0 4\n"
                                   "span 4 1 0 4000000000 5101001000 4 0 1\n"
                                   "span 5 1 0 6000000000 6000001000 5 0 1\n"
                                   "reading 3 0 0x1.9p+6\n"
                                   "reading 1 1000000000 0x1.4p+6\n"
                                   "reading 3 1000000000 0x1.94p+6\n"
                                   "reading 4 1000000000 0x1.cp+2\n"
                                   "reading 2 2000000000 0x1.efp+10\n"
                                   "reading 1 2990000000 0x1.48p+6\n"
                                   "reading 1 3000000000 0x1.44p+6\n"
                                   "reading 3 9000000000 0x1.98p+6\n"
                                   "kernel 4500000000 5100000000 1 1 4 1\n"
                                   "kernel 5100000000 5101000000 2 1 4 1\n"
                                   "kernel 5101000000 5101001000 1 2 4 1\n"
                                   "kernel 5200000000 5200001000 1 2 0 1\n"
                                   "kernel 6000000000 6000001000 1 3 5 1\n"
                                   "kernel 4900000000 4900001000 1 1 4 1\n";
    char paths[4][80];
    static const char *const texts[4] = {
        "sensor,t_s,value\npower_ring_w,1,80\npower_ring_w,3,81\npower_ring_w,2.99,82\nsm_clock_mhz,2,1980\n",
        "part,kernel,t_start_s,t_end_s,phase\na,k,1,2,suite\nb,k,3,3,suite\nlive,,4,5,\n,,5,9,\n",
        ("t_start_s,duration_us,kernel,stream,part\n4.5,600000,k,7,live\n5.1,1000,[memset],7,live\n"
         "5.101,1,k,8,live\n5.2,1,k,8,\n6,1,k,9,late\n4.9,1,k,7,live\n"),
        "t_s,power_w,meter\n0,100,psu\n1,101,psu\n9,102,psu\n1,7,\n"};
    jm_import_options options = {.size = sizeof options, .overwrite = true, .path = out_path};
    for (size_t i = 0; i < 4; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%zu.csv", folder, i);
        put(paths[i], texts[i]);
        options.files[i] = paths[i];
    }
    jm_error err = {0};
    if (jm_recording_import(&options, &err) != JM_OK) fail_msg("%s", err.text);
    jm__kernel_run kernels[8];
    told_file file = {.kernels = kernels, .kernels_max = 8};
    if (told_read(&file, out_path, &err) != JM_OK) fail_msg("%s", err.text);
    char *text = told_text(&file);
    assert_string_equal(text, expected);
    free(text);
    told_close(&file);
    for (size_t i = 0; i < 4; i++)
        unlink(paths[i]);
    sqlite3 *db; /* the rows of a sensor stand in the order of time */
    sqlite3_stmt *late;
    assert_int_equal(sqlite3_open_v2(out_path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT 1 FROM readings a JOIN readings b USING (sensor_id) WHERE "
                                        "a.rowid < b.rowid AND a.t_ns > b.t_ns",
                                        -1, &late, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(late), SQLITE_DONE);
    sqlite3_finalize(late);
    sqlite3_close(db);
}

static void test_what_is_wrong_with_a_meter_is_told(void **state)
{
    (void)state;
    char many[1024] = "t_s,power_w,meter\n", name[JM_BOARD_TEXT + 1];
    for (int i = 0; i < 17; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), "1,1,m%d\n", i);
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    char longer[256];
    snprintf(longer, sizeof longer, "t_s,power_w,meter\n1,1,%s\n", name);
    const struct {
        const char *text, *words;
        jm_status status;
    } cases[] = {{"t_s,watts\n1,2\n", "no column \"power_w\"; this file has: t_s, watts", JM_BAD_DATA},
                 {"t_s,power_w\n1,inf\n", "line 2, column \"power_w\"", JM_BAD_DATA},
                 {"t_s,power_w\n", "no rows", JM_BAD_DATA},
                 {longer, "line 2, column \"meter\": a meter's name has at most", JM_BAD_DATA},
                 {many, "more than 16 meters", JM_LIMIT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        jm_error err = {0};
        put(csv_path, cases[i].text);
        assert_int_equal(import_meter(NULL, csv_path, &err), cases[i].status);
        if (strstr(err.text, cases[i].words) == NULL)
            fail_msg("\"%s\" does not say: %s", err.text, cases[i].words);
        assert_int_equal(err.code, 0);
    }
}

static size_t readings_of_meter(const char *text)
{
    jm_error err = {0};
    jm_recording *recording;
    jm__dataset *d = NULL;
    put(csv_path, text);
    if (import_meter(NULL, csv_path, &err) != JM_OK) fail_msg("%s", err.text);
    assert_int_equal(jm_recording_open(&recording, out_path, &err), JM_OK);
    assert_int_equal(jm__dataset_load(&d, recording, &err), JM_OK);
    size_t count = d->reading_count;
    jm__dataset_free(d);
    jm_recording_close(recording);
    return count;
}

static void test_a_value_that_is_missing_is_a_gap(void **state)
{
    (void)state;
    assert_int_equal(readings_of_meter("t_s,power_w\n0,1\n1,[N/A]\n2,\n3,[Not Supported]\n4,nan\n5,-\n6,2\n"),
                     2);
}

/* The hour that comes twice would be counted once. */
static void test_a_clock_that_was_set_back_is_refused_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *readings, *meter, *words;
    } cases[] = {
        {NULL, "t_s,power_w\n0,1\n3600,1\n3590,1\n", "line 4, column \"t_s\": time runs backwards, by 10 s"},
        {NULL, "t_s,power_w,meter\n0,1,a\n0,1,b\n60,1,a\n60,1,b\n30,1,a\n", "line 6"},
        {"sensor,t_s,value\npower_ring_w,5,80\npower_instant,1,80\npower_ring_w,3.5,80\n", NULL, "line 4"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        jm_error err = {0};
        put(csv_path, cases[i].readings != NULL ? cases[i].readings : cases[i].meter);
        jm_status status = import_meter(cases[i].readings != NULL ? csv_path : NULL,
                                        cases[i].meter != NULL ? csv_path : NULL, &err);
        assert_int_equal(status, JM_BAD_DATA);
        if (strstr(err.text, cases[i].words) == NULL) fail_msg("%s", err.text);
        assert_non_null(strstr(err.hint, "daylight saving time"));
    }
    /* A file may have one sensor after the other, and rings give late stamps. */
    assert_int_equal(readings_of_meter("t_s,power_w,meter\n0,1,a\n9,1,a\n0,1,b\n90,1,b\n89.5,1,b\n"), 5);
}

/* Each step back is less than a second, and all together are a tenth of the time. */
static void test_a_clock_that_is_set_back_a_little_often_is_refused(void **state)
{
    (void)state;
    for (int share = 0; share < 2; share++) { /* of a step in each second: a fifth; and a thousandth */
        char text[8192] = "sensor,t_s,value\n";
        double t_s = 100;
        for (int i = 0; i < 200; i++, t_s += 0.1) {
            if (i % 10 == 9) t_s -= share == 0 ? 0.3 : 0.101;
            snprintf(text + strlen(text), sizeof text - strlen(text), "power_ring_w,%.3f,150\n", t_s);
        }
        jm_error err = {0};
        put(csv_path, text);
        jm_status status = import_meter(csv_path, NULL, &err);
        if (status != (share == 0 ? JM_BAD_DATA : JM_OK)) fail_msg("%d: %s", share, err.text);
        if (share == 0) assert_non_null(strstr(err.text, "line 11: time runs backwards"));
        if (share == 0) assert_non_null(strstr(err.hint, "daylight saving time"));
    }
}

static void test_segments_over_others_of_their_part_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"a,k,0,1\nb,k,2,3\na,k,40,41\nb,k,42,43\na,k,14,15\n",
         "line 6, column \"t_start_s\": time runs backwards, by 26 s since the line of a before"},
        {"a,k,0,0.5\na,k,1,1.5\na,k,0.7,0.9\n",
         "a.csv, line 4: time runs backwards, of a 1 times and by 0.3 s of 1 s together"},
        {",k,5,6\n,k,3,4\n",
         "line 3, column \"t_start_s\": time runs backwards, by 2 s since the line of no part before"},
        {"a,k,1,1\n,k,5,6\n,k,4.9,4.9\n,k,4.8,4.8\n,k,6,6\n",
         "a.csv, line 4: time runs backwards, of no part 2 times and by 0.2 s of 1.2 s together"}};
    static const char right[] = "a,k,0,1\na,k,40,41\nb,k,2,3\nb,k,42,43\n";
    char text[200];
    jm_error err = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "part,kernel,t_start_s,t_end_s\n%s", wrong[i][0]);
        put(csv_path, text);
        assert_int_equal(import_into(true, "h200", NULL, csv_path, NULL, &err), JM_BAD_DATA);
        if (strstr(err.text, wrong[i][1]) == NULL) fail_msg("%s", err.text);
        assert_int_equal(err.code, 0);
    }
    snprintf(text, sizeof text, "part,kernel,t_start_s,t_end_s\n%s", right);
    put(csv_path, text);
    if (import_into(true, "h200", NULL, csv_path, NULL, &err) != JM_OK) fail_msg("%s", err.text);
}

static void test_two_boards_in_one_sensor_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *readings, *meter, *hint;
    } cases[] = {{"sensor,t_s,value\npower_average,1,90\npower_average,1,250\npower_average,2,91\n"
                  "power_average,2,251\n",
                  NULL, "a file of its own"},
                 {NULL, "t_s,power_w\n1,300\n1,310\n2,300\n2,300\n", "a column named meter"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        jm_error err = {0};
        const bool meter = cases[i].meter != NULL;
        put(csv_path, meter ? cases[i].meter : cases[i].readings);
        assert_int_equal(import_meter(meter ? NULL : csv_path, meter ? csv_path : NULL, &err), JM_BAD_DATA);
        if (strstr(err.text, meter ? "two meters" : "two GPUs") == NULL) fail_msg("%s", err.text);
        if (strstr(err.hint, cases[i].hint) == NULL) fail_msg("%s", err.hint);
        assert_int_equal(err.code, 0);
    }
    assert_int_equal(readings_of_meter("t_s,power_w,meter\n1,300,a\n1,310,b\n1,300,a\n2,301,a\n"), 4);
    char text[4096]; /* one in a hundred is let be, three in two hundred are not */
    for (int same = 1; same <= 3; same += 2) {
        jm_error err = {0};
        snprintf(text, sizeof text, "t_s,power_w\n");
        for (int i = 0; i < 100 * (same + 1) / 2; i++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%d,%d\n", i < 2 * same ? i / 2 : i, i);
        put(csv_path, text);
        assert_int_equal(import_meter(NULL, csv_path, &err), same == 1 ? JM_OK : JM_BAD_DATA);
    }
    jm_error err = {0};
    import_meter(NULL, csv_path, &err);
    assert_non_null(
        strstr(err.text, "meter_power is 0 and 1 at one time, 0.000000000 s, and at 3 times all in all"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields_may_hold_commas_quotes_and_line_ends),
        cmocka_unit_test(test_seconds_since_1970_keep_their_nanoseconds),
        cmocka_unit_test(test_a_table_is_read_whoever_wrote_it),
        cmocka_unit_test(test_what_is_no_number_says_what_to_change),
        cmocka_unit_test(test_a_number_that_may_be_two_is_what_the_others_tell_or_refused),
        cmocka_unit_test(test_a_log_of_another_program_is_named),
        cmocka_unit_test(test_what_is_wrong_with_a_file_is_told_by_file_line_and_column),
        cmocka_unit_test(test_a_damaged_gzip_file_is_named),
        cmocka_unit_test(test_a_missing_file_and_an_existing_output_are_refused),
        cmocka_unit_test(test_parts_become_phases_and_segments_kernels),
        cmocka_unit_test(test_a_part_in_a_phase_becomes_its_windows),
        cmocka_unit_test(test_kernels_beside_segments_count_once),
        cmocka_unit_test(test_copies_are_known_by_their_names),
        cmocka_unit_test(test_each_meter_is_a_board_upstream_of_the_gpu_and_does_not_lengthen_the_run),
        cmocka_unit_test(test_a_recording_has_all_that_four_files_tell),
        cmocka_unit_test(test_what_is_wrong_with_a_meter_is_told),
        cmocka_unit_test(test_a_value_that_is_missing_is_a_gap),
        cmocka_unit_test(test_a_clock_that_was_set_back_is_refused_with_its_line),
        cmocka_unit_test(test_a_clock_that_is_set_back_a_little_often_is_refused),
        cmocka_unit_test(test_segments_over_others_of_their_part_are_refused),
        cmocka_unit_test(test_two_boards_in_one_sensor_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
