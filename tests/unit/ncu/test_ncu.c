/* Tables of Nsight Compute: every form, whatever stands around them, and 10,000 damaged ones. */
#include "base/csv.h"
#include "chance.h"
#include "import/ncu/ncu.h"
#include "proof.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define assert_near(value, truth, within) assert_true(fabs((value) - (truth)) <= (within))

static char path[64];
static jm_error err;
static jm__ncu ncu;

static int make_path(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/joulemap-test-ncu-%d.csv", (int)getpid());
    return 0;
}

static int remove_path(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static jm_status read_bytes(const char *text, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fwrite(text, 1, size, file) == size);
    fclose(file);
    err = (jm_error){0};
    return jm__ncu_read(&ncu, path, NULL, NULL, &err);
}

static void read_good(const char *text)
{
    if (read_bytes(text, strlen(text)) != JM_OK) fail_msg("%s", err.text);
}

static double value_of(size_t kernel, const char *section, const char *name, const char *unit)
{
    const jm__ncu_kernel *k = &ncu.kernels[kernel];
    for (size_t i = 0; i < k->count; i++) {
        const jm__ncu_value *value = &ncu.values[k->first + i];
        const jm__ncu_metric *metric = &ncu.metrics[value->metric];
        if (strcmp(metric->section, section) == 0 && strcmp(metric->name, name) == 0 &&
            strcmp(metric->unit, unit) == 0)
            return value->number;
    }
    fail_msg("no %s / %s in %s", section, name, unit);
    return NAN;
}

#define HEAD                                                                                                 \
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\",\"Block "   \
    "Size\","                                                                                                \
    "\"Grid Size\",\"Device\",\"CC\","
#define DETAILS_HEAD                                                                                         \
    HEAD "\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\",\"Rule Name\",\"Rule "           \
         "Type\",\"Rule Description\","                                                                      \
         "\"Estimated Speedup Type\",\"Estimated Speedup\"\n"
#define KERNEL(id, name)                                                                                     \
    "\"" id "\",\"4711\",\"python3.11\",\"127.0.0.1\",\"" name                                               \
    "\",\"1\",\"7\",\"(256, 1, 1)\",\"(1,024, 1, 1)\",\"0\",\"9.0\","
#define NO_RULE ",\"\",\"\",\"\",\"\",\"\"\n"
#define SOL     "\"GPU Speed Of Light Throughput\","

static const char details[] = "step 1 of 2, loss 0.25\n"
                              "==PROF== Connected to process 4711 (/usr/bin/python3.11)\n"
                              "==PROF== Profiling \"gemm\" - 0: 0%....50%....100% - 8 passes\n"
                              "\"a line that the program prints in quotes\"\n"
                              "no line end" DETAILS_HEAD KERNEL("0", "void gemm<float, 128>(T1 *, int)") SOL
    "\"DRAM Frequency\",\"Ghz\",\"2.61\"" NO_RULE KERNEL("0", "void gemm<float, 128>(T1 *, int)") SOL
    "\"Elapsed Cycles\",\"cycle\",\"123,456\"" NO_RULE KERNEL("0", "void gemm<float, 128>(T1 *, int)") SOL
    "\"Memory Throughput\",\"%\",\"61.25\"" NO_RULE KERNEL("0", "void gemm<float, 128>(T1 *, int)") SOL
    "\"Duration\",\"us\",\"72.74\"" NO_RULE KERNEL("0", "void gemm<float, 128>(T1 *, int)") SOL
    "\"\",\"\",\"\",\"SOLBottleneck\",\"INF\",\"Two\nlines, \"\"quoted\"\"\",\"\",\"\"\n"
    "==WARNING== something in between\n" KERNEL(
        "0", "void gemm<float, 128>(T1 *, int)") "\"Memory Workload Analysis\",\"Memory "
                                                 "Throughput\",\"Tbyte/s\",\"2.15\"" NO_RULE KERNEL(
                                                     "1", "copy(T1 *, \"\"x\"\")") SOL
    "\"Duration\",\"ms\",\"1.50\"" NO_RULE KERNEL("1", "copy(T1 *, \"\"x\"\")") SOL
    "\"DRAM Frequency\",\"Ghz\",\"n/a\"" NO_RULE KERNEL("1", "copy(T1 *, \"\"x\"\")") SOL
    "\"Elapsed Cycles\",\"cycle\",\"\"" NO_RULE;

static void test_a_details_page_among_other_words_is_read_in_base_units(void **state)
{
    (void)state;
    read_good(details);
    assert_int_equal(ncu.count, 2);
    assert_string_equal(ncu.kernels[0].name, "void gemm<float, 128>(T1 *, int)");
    assert_string_equal(ncu.kernels[1].name, "copy(T1 *, \"x\")");
    assert_int_equal(ncu.kernels[0].process_id, 4711);
    assert_int_equal(ncu.kernels[0].cc_major, 9);
    assert_string_equal(ncu.kernels[0].grid, "(1,024, 1, 1)");
    const char *sol = "GPU Speed Of Light Throughput";
    assert_near(value_of(0, sol, "DRAM Frequency", "cycle/second"), 2.61e9, 1);
    assert_near(value_of(0, sol, "Elapsed Cycles", "cycle"), 123456, 0);
    assert_near(value_of(0, sol, "Duration", "second"), 72.74e-6, 1e-12);
    assert_near(value_of(1, sol, "Duration", "second"), 1.5e-3, 1e-12);
    jm__ncu_free(&ncu);
}

static void test_metrics_of_one_name_are_told_apart_by_section_and_unit(void **state)
{
    (void)state;
    read_good(details);
    assert_near(value_of(0, "GPU Speed Of Light Throughput", "Memory Throughput", "%"), 61.25, 1e-9);
    assert_near(value_of(0, "Memory Workload Analysis", "Memory Throughput", "byte/second"), 2.15e12, 1e3);
    jm__ncu_free(&ncu);
}

static void test_a_missing_metric_is_nan(void **state)
{
    (void)state;
    read_good(details);
    assert_true(isnan(value_of(1, "GPU Speed Of Light Throughput", "DRAM Frequency", "cycle/second")));
    assert_true(isnan(value_of(1, "GPU Speed Of Light Throughput", "Elapsed Cycles", "cycle")));
    jm__ncu_free(&ncu);
}

static void test_the_form_of_2020_without_block_grid_and_device(void **state)
{
    (void)state;
    read_good("\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Kernel "
              "Time\",\"Context\",\"Stream\","
              "\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
              "\"0\",\"9\",\"a\",\"h\",\"k\",\"2020-Nov-23 10:00:00\",\"1\",\"7\",\"GPU Speed Of "
              "Light\",\"Duration\",\"usecond\",\"4.80\"\n"
              "\"0\",\"9\",\"a\",\"h\",\"k\",\"2020-Nov-23 10:00:00\",\"1\",\"7\",\"GPU Speed Of "
              "Light\",\"SM Frequency\",\"cycle/nsecond\",\"1.31\"\n");
    assert_int_equal(ncu.count, 1);
    assert_int_equal(ncu.kernels[0].cc_major, 0);
    assert_near(value_of(0, "GPU Speed Of Light", "Duration", "second"), 4.8e-6, 1e-14);
    assert_near(value_of(0, "GPU Speed Of Light", "SM Frequency", "cycle/second"), 1.31e9, 1);
    jm__ncu_free(&ncu);
}

static const char raw[] =
    HEAD "\"gpu__time_duration.sum\",\"dram__bytes_read.sum\",\"device__attribute_display_name\",\"sm__"
         "inst_executed.sum\"\n"
         "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"us\",\"Mbyte\",\"\","
         "\"inst\"\n" KERNEL("0", "gemm") "\"72.74\",\"12.58\",\"NVIDIA H200\",\"1,695,744\"\n" KERNEL(
             "1", "copy") "\"3.25\",\"n/a\",\"NVIDIA H200\",\"12,288 (6,144; 6,144)\"\n";

static void test_a_raw_page_has_units_of_its_own_line(void **state)
{
    (void)state;
    read_good(raw);
    assert_int_equal(ncu.count, 2);
    assert_near(value_of(0, "", "gpu__time_duration.sum", "second"), 72.74e-6, 1e-12);
    assert_near(value_of(0, "", "dram__bytes_read.sum", "byte"), 12.58e6, 1e-3);
    assert_near(value_of(0, "", "sm__inst_executed.sum", "inst"), 1695744, 0);
    assert_near(value_of(1, "", "sm__inst_executed.sum", "inst"), 12288, 0);
    assert_true(isnan(value_of(1, "", "dram__bytes_read.sum", "byte")));
    const jm__ncu_value *name = &ncu.values[ncu.kernels[0].first + 2];
    assert_string_equal(name->text, "NVIDIA H200");
    jm__ncu_free(&ncu);
}

static void test_base_units_say_the_same(void **state)
{
    (void)state;
    read_good(HEAD
              "\"gpu__time_duration.sum\",\"dram__bytes_read.sum\",\"dram__cycles_elapsed.avg.per_second\"\n"
              "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"nsecond\",\"byte\",\"cycle/"
              "second\"\n" KERNEL("0", "gemm") "\"72,736\",\"12,582,912\",\"2,619,000,000\"\n");
    assert_near(value_of(0, "", "gpu__time_duration.sum", "second"), 72.736e-6, 1e-14);
    assert_near(value_of(0, "", "dram__bytes_read.sum", "byte"), 12582912, 0);
    jm__ncu_free(&ncu);
}

static void test_a_summary_stands_for_all_launches(void **state)
{
    (void)state;
    read_good("\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Block Size\",\"Grid "
              "Size\",\"Device\",\"CC\",\"Invocations\","
              "\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Minimum\",\"Maximum\",\"Average\"\n"
              "\"9\",\"a\",\"h\",\"k\",\"(1, 1, 1)\",\"(2, 1, "
              "1)\",\"0\",\"9.0\",\"12\",\"S\",\"Duration\",\"us\",\"1.00\",\"3.00\",\"2.00\"\n");
    assert_int_equal(ncu.kernels[0].launches, 12);
    assert_near(value_of(0, "S", "Duration", "second"), 2e-6, 1e-15);
    jm__ncu_free(&ncu);
}

static void test_several_tables_processes_and_contexts_stay_apart(void **state)
{
    (void)state;
    char text[8192];
    snprintf(text, sizeof text, "%s==PROF== Disconnected\n%s", raw, raw);
    read_good(text);
    assert_int_equal(ncu.tables, 2);
    assert_int_equal(ncu.count, 4);
    jm__ncu_free(&ncu);
    read_good(
        "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel "
        "Name\",\"Context\",\"Stream\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
        "\"0\",\"8\",\"a\",\"h\",\"k\",\"1\",\"7\",\"S\",\"Duration\",\"us\",\"1.50\"\n"
        "\"0\",\"9\",\"a\",\"h\",\"k\",\"1\",\"7\",\"S\",\"Duration\",\"us\",\"2.50\"\n"
        "\"0\",\"9\",\"a\",\"h\",\"k\",\"2\",\"7\",\"S\",\"Duration\",\"us\",\"3.50\"\n");
    assert_int_equal(ncu.count, 3);
    assert_near(value_of(2, "S", "Duration", "second"), 3.5e-6, 1e-15);
    jm__ncu_free(&ncu);
}

static void test_a_table_saved_again_without_quotes(void **state)
{
    (void)state;
    read_good("\xef\xbb\xbf,ID,Process ID,Kernel Name,Section Name,Metric Name,Metric Unit,Metric Value\r\n"
              "0,0,9,k,S,Duration,us,1.5\r\n"
              "1,0,9,k,S,Duration of it,us,\"1,234.5\"\r\n");
    assert_int_equal(ncu.count, 1);
    assert_near(value_of(0, "S", "Duration of it", "second"), 1234.5e-6, 1e-12);
    jm__ncu_free(&ncu);
    static const char *const others[] = {
        "ID;Process ID;Kernel Name;Section Name;Metric Name;Metric Unit;Metric Value\n"
        "0;9;k<1, 2>;S;Duration;us;1.5\n0;9;k<1, 2>;S;Duration of it;us;1234.5\n",
        "\"ID\"\t\"Process ID\"\t\"Kernel Name\"\t\"Section Name\"\t\"Metric Name\"\t\"Metric "
        "Unit\"\t\"Metric Value\"\n"
        "\"0\"\t\"9\"\t\"k<1, 2>\"\t\"S\"\t\"Duration of it\"\t\"us\"\t\"1234.5\"\n"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        read_good(others[i]);
        assert_int_equal(ncu.count, 1);
        assert_string_equal(ncu.kernels[0].name, "k<1, 2>");
        assert_near(value_of(0, "S", "Duration of it", "second"), 1234.5e-6, 1e-12);
        jm__ncu_free(&ncu);
    }
}

/* A column with the numbers of the rows or none, and quotes around all, around texts, around none. */
static void test_a_table_that_pandas_saved_again(void **state)
{
    (void)state;
    static const char *const tables[] = {
        "\"\",\"ID\",\"Process ID\",\"Kernel Name\",\"gpu__time_duration.sum\"\n"
        "\"0\",\"\",\"\",\"\",\"us\"\n\"1\",\"0\",\"9\",\"k<1, 2>\",\"2.5\"\n\"2\",\"1\",\"9\",\"k<1, "
        "2>\",\"7.5\"\n",
        "\"\",\"ID\",\"Process ID\",\"Kernel Name\",\"gpu__time_duration.sum\"\n"
        "0,\"\",\"\",\"\",\"us\"\n1,0.0,9.0,\"k<1, 2>\",\"2.5\"\n2,1.0,9.0,\"k<1, 2>\",\"7.5\"\n",
        "\"ID\",\"Process ID\",\"Kernel Name\",\"gpu__time_duration.sum\"\n"
        "\"\",\"\",\"\",\"us\"\n0,9,\"k<1, 2>\",2.5\n1,9,\"k<1, 2>\",7.5\n",
        "\xef\xbb\xbf\"\";\"ID\";\"Process ID\";\"Kernel Name\";\"gpu__time_duration.sum\"\n"
        "0;\"\";\"\";\"\";\"us\"\n1;0;9;\"k<1, 2>\";2.5\n2;1;9;\"k<1, 2>\";7.5\n",
        ",ID,Process ID,Kernel Name,gpu__time_duration.sum\n"
        "0,,,,us\n1,0,9,\"k<1, 2>\",2.5\n2,1,9,\"k<1, 2>\",7.5\n"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        read_good(tables[i]);
        assert_int_equal(ncu.count, 2);
        assert_string_equal(ncu.kernels[1].name, "k<1, 2>");
        assert_int_equal(ncu.kernels[1].id, 1);
        assert_int_equal(ncu.kernels[1].process_id, 9);
        assert_near(value_of(1, "", "gpu__time_duration.sum", "second"), 7.5e-6, 1e-12);
        jm__ncu_free(&ncu);
    }
}

/* ---- locales */

static void expect_number(const char *text, jm__number_kind kind, double point, double comma)
{
    double p, c;
    if (jm__number_read(text, &p, &c) != kind) fail_msg("\"%s\" is of another kind", text);
    if (isnan(point) ? !isnan(p) : !(fabs(p - point) <= 1e-12 * fabs(point)))
        fail_msg("\"%s\" is %g", text, p);
    if (isnan(comma) ? !isnan(c) : !(fabs(c - comma) <= 1e-12 * fabs(comma)))
        fail_msg("\"%s\" is %g", text, c);
}

static void test_numbers_of_every_locale(void **state)
{
    (void)state;
    expect_number("12", JM_NUMBER_PLAIN, 12, 12);
    expect_number("-12", JM_NUMBER_PLAIN, -12, -12);
    expect_number("1 234 567", JM_NUMBER_PLAIN, 1234567, 1234567);
    expect_number("1,234.5", JM_NUMBER_POINT, 1234.5, NAN);
    expect_number("1.234,5", JM_NUMBER_COMMA, NAN, 1234.5);
    expect_number("1 234,5", JM_NUMBER_COMMA, NAN, 1234.5);
    expect_number("1\xe2\x80\xaf"
                  "234,567",
                  JM_NUMBER_COMMA, NAN, 1234.567);
    expect_number("1\xc2\xa0"
                  "234,5",
                  JM_NUMBER_COMMA, NAN, 1234.5);
    expect_number("1'234.5", JM_NUMBER_POINT, 1234.5, NAN);
    expect_number("1,234", JM_NUMBER_AMBIGUOUS, 1234, 1.234);
    expect_number("1.234", JM_NUMBER_AMBIGUOUS, 1.234, 1234);
    expect_number("0.123", JM_NUMBER_POINT, 0.123, NAN);
    expect_number("0,123", JM_NUMBER_COMMA, NAN, 0.123);
    expect_number("1,234,567", JM_NUMBER_POINT, 1234567, NAN);
    expect_number("12,34,567.5", JM_NUMBER_POINT, 1234567.5, NAN);
    expect_number("1.5e-05", JM_NUMBER_POINT, 1.5e-5, NAN);
    expect_number("2e3", JM_NUMBER_PLAIN, 2000, 2000);
    expect_number(".5", JM_NUMBER_POINT, .5, NAN);
    expect_number("12 (5; 7)", JM_NUMBER_PLAIN, 12, 12);
    static const char *const none[] = {"abc", "1.2.3",       "1,2,3", "1,23.4.5", "12x", "1-2",  "1 2,3.4",
                                       "--1", "NVIDIA H200", ".",     ",",        "1e",  "0x12", "1.5e3e3"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        expect_number(none[i], JM_NUMBER_NONE, NAN, NAN);
    static const char *const missing[] = {"", "n/a", "N/A", "nan", "-nan", "inf"};
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++)
        expect_number(missing[i], JM_NUMBER_MISSING, NAN, NAN);
}

#define TWO(a, b)                                                                                            \
    HEAD                                                                                                     \
        "\"a__x.sum\",\"b__x.sum\"\n"                                                                        \
        "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"byte\",\"%\"\n" KERNEL("0", "k") "\"" a    \
                                                                                                   "\",\"" b \
                                                                                                   "\"\n"

static void test_a_comma_groups_and_a_decimal_comma_is_refused(void **state)
{
    (void)state;
    read_good(TWO("1,234", "45.5"));
    assert_near(value_of(0, "", "a__x.sum", "byte"), 1234, 0);
    jm__ncu_free(&ncu);
    assert_int_equal(read_bytes(TWO("1.234", "45,5"), strlen(TWO("1.234", "45,5"))), JM_BAD_DATA);
    assert_non_null(strstr(err.text, "decimal comma"));
    assert_non_null(strstr(err.text, "line 3"));
    assert_non_null(strstr(err.hint, "LC_ALL=C"));
}

static void test_units_of_all_years(void **state)
{
    (void)state;
    static const struct {
        const char *unit, *base;
        double factor;
    } all[] = {
        {"Kbyte", "byte", 1e3},
        {"Gbyte/second", "byte/second", 1e9},
        {"Gbyte/s", "byte/second", 1e9},
        {"GB/s", "byte/second", 1e9},
        {"KiB", "byte", 1024},
        {"usecond", "second", 1e-6},
        {"us", "second", 1e-6},
        {"msecond", "second", 1e-3},
        {"ns", "second", 1e-9},
        {"nsecond", "second", 1e-9},
        {"Ghz", "cycle/second", 1e9},
        {"cycle/nsecond", "cycle/second", 1e9},
        {"MHz", "cycle/second", 1e6},
        {"cycle/usecond", "cycle/second", 1e6},
        {"hz", "cycle/second", 1},
        {"%", "%", 1},
        {"inst/cycle", "inst/cycle", 1},
        {"byte/nsecond", "byte/second", 1e9},
        {"Minst/s", "inst/second", 1e6},
        {"", "", 1},
        {"register/thread", "register/thread", 1},
        {"mystery", "mystery", 1},
        {"Kbyte/block", "byte/block", 1e3},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        char base[JM_NCU_UNIT_TEXT];
        double factor = jm__ncu_unit(all[i].unit, base);
        if (strcmp(base, all[i].base) != 0 || fabs(factor / all[i].factor - 1) > 1e-12)
            fail_msg("%s is %g %s", all[i].unit, factor, base);
    }
}

/* ---- what is wrong, and where */

static void expect_bad(const char *text, const char *word)
{
    assert_int_equal(read_bytes(text, strlen(text)), JM_BAD_DATA);
    if (strstr(err.text, word) == NULL && strstr(err.hint, word) == NULL)
        fail_msg("%s (%s)", err.text, err.hint);
}

static void test_what_is_wrong_is_named_with_its_line(void **state)
{
    (void)state;
    expect_bad("", "no table");
    expect_bad("hello\nworld\n", "begins with \"hello\"");
    expect_bad("NVR\x01", "--import");
    expect_bad("==PROF== x\n==WARNING== No kernels were profiled.\n", "--target-processes all");
    expect_bad("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n",
               "NVreg_RestrictProfilingToAdminUsers");
    expect_bad(DETAILS_HEAD, "no kernel below");
    expect_bad(HEAD "\"a__x.sum\"\n" KERNEL("0", "k") "\"1\"\n", "line 2: the raw page has a line of units");
    expect_bad(DETAILS_HEAD KERNEL("0", "k") SOL "\"Duration\"\n" KERNEL("0", "k") SOL "\"Duration\"\n",
               "line 2: 13 fields where the header has 20");
    expect_bad(DETAILS_HEAD KERNEL("zero", "k") SOL "\"Duration\",\"us\",\"72.74\"" NO_RULE,
               "line 2, column \"ID\"");
    expect_bad(DETAILS_HEAD KERNEL("0", "") SOL "\"Duration\",\"us\",\"72.74\"" NO_RULE, "without a name");
    expect_bad(DETAILS_HEAD KERNEL("0", "k") SOL "\"Duration\",\"us\",\"72.7", "never ends");
}

/* ---- 10,000 damaged files. All numbers of the whole ones are of digits 1 to 9, and no mutation writes a 0,
 * so a value of 0 would be one that nobody wrote. */

static uint64_t seed = 11;

static unsigned below(unsigned n)
{
    return chance_below(&seed, n);
}

static size_t mutate(char *text, size_t size, size_t room)
{
    static const char *const inserts[] = {"\"", ",",    "\n", "n/a", "\"\",\"\",", "==PROF== x\n", "-", ".",
                                          "e9", "\xff", "(",  "%",   "Kbyte",      "us",           "9"};
    for (unsigned times = 1 + below(4); times > 0 && size > 4; times--) {
        unsigned at = below((unsigned)size);
        unsigned what = below(6);
        if (what == 0) {
            char byte = (char)(1 + below(255));
            text[at] = byte == '0' ? '9' : byte;
        } else if (what == 1) { /* a piece goes */
            size_t length = 1 + below(40);
            if (at + length > size) length = size - at;
            memmove(text + at, text + at + length, size - at - length);
            size -= length;
        } else if (what == 2) { /* the end goes */
            if (below(4) == 0) size = at + 1;
        } else if (what == 3) { /* a piece again */
            size_t length = 1 + below(200);
            if (at + length > size) length = size - at;
            if (size + length > room) continue;
            memmove(text + at + length, text + at, size - at);
            size += length;
        } else {
            const char *insert = inserts[below(sizeof inserts / sizeof inserts[0])];
            size_t length = strlen(insert);
            if (size + length > room) continue;
            memmove(text + at + length, text + at, size - at);
            memcpy(text + at, insert, length);
            size += length;
        }
    }
    return size;
}

#define N_KERNEL(id, name)                                                                                   \
    "\"" id "\",\"4711\",\"python3.11\",\"localhost\",\"" name                                               \
    "\",\"1\",\"7\",\"(256, 1, 1)\",\"(1,24, 1, 1)\",\"1\",\"9.1\","
#define N_DETAILS                                                                                            \
    "==PROF== Connected\n" DETAILS_HEAD N_KERNEL("1", "gemm") SOL                                            \
        "\"Duration\",\"us\",\"72.74\"" NO_RULE N_KERNEL("1", "gemm") SOL                                    \
        "\"Elapsed Cycles\",\"cycle\",\"123,456\"" NO_RULE N_KERNEL("2", "copy") SOL                         \
        "\"Duration\",\"ms\",\"1.52\"" NO_RULE
#define N_RAW                                                                                                \
    HEAD "\"gpu__time_duration.sum\",\"dram__bytes_read.sum\",\"sm__inst_executed.sum\"\n"                   \
         "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"us\",\"Mbyte\",\"inst\"\n" N_KERNEL(      \
             "1",                                                                                            \
             "gemm") "\"72.74\",\"12.58\",\"1,695,744\"\n" N_KERNEL("2",                                     \
                                                                    "copy") "\"3.25\",\"n/a\",\"12,288\"\n"
static void test_ten_thousand_damaged_files_give_an_error_or_what_is_there(void **state)
{
    (void)state;
    static const char *const whole[] = {N_DETAILS, N_RAW};
    static char text[8192];
    const unsigned files = (unsigned)proof_some(10000, 300);
    unsigned good = 0, bad = 0;
    for (unsigned i = 0; i < files; i++) {
        const char *from = whole[i % 2];
        size_t size = strlen(from);
        memcpy(text, from, size);
        size = mutate(text, size, sizeof text);
        jm_status status = read_bytes(text, size);
        if (status != JM_OK) {
            bad++;
            assert_true(status == JM_BAD_DATA);
            assert_non_null(strstr(err.text, path));
            continue;
        }
        good++;
        assert_true(ncu.count > 0 && ncu.count < 100);
        for (size_t k = 0; k < ncu.count; k++) {
            assert_true(ncu.kernels[k].name[0] != '\0');
            for (size_t v = 0; v < ncu.kernels[k].count; v++) {
                const jm__ncu_value *value = &ncu.values[ncu.kernels[k].first + v];
                assert_true(value->metric < ncu.metric_count);
                if (value->number == 0) fail_msg("a silent zero:\n%.*s", (int)size, text);
            }
        }
        jm__ncu_free(&ncu);
    }
    assert_true(good > files / 5 && bad > files / 10); /* both ways were walked */
}

static bool only_duration(const void *context, const char *section, const char *name, const char *unit)
{
    (void)section;
    (void)unit;
    return strcmp(name, context) == 0;
}

static void test_what_is_not_requested_is_not_kept_and_still_tells_of_a_decimal_comma(void **state)
{
    (void)state;
    read_good(TWO("1,234", "45.5"));
    jm__ncu_free(&ncu);
    assert_int_equal(jm__ncu_read(&ncu, path, only_duration, "a__x.sum", &err), JM_OK);
    assert_int_equal(ncu.metric_count, 1);
    jm__ncu_free(&ncu);
    assert_int_equal(read_bytes(TWO("1,234", "45,5"), strlen(TWO("1,234", "45,5"))), JM_BAD_DATA);
    assert_int_equal(jm__ncu_read(&ncu, path, only_duration, "a__x.sum", &err), JM_BAD_DATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_details_page_among_other_words_is_read_in_base_units),
        cmocka_unit_test(test_metrics_of_one_name_are_told_apart_by_section_and_unit),
        cmocka_unit_test(test_a_missing_metric_is_nan),
        cmocka_unit_test(test_the_form_of_2020_without_block_grid_and_device),
        cmocka_unit_test(test_a_raw_page_has_units_of_its_own_line),
        cmocka_unit_test(test_base_units_say_the_same),
        cmocka_unit_test(test_a_summary_stands_for_all_launches),
        cmocka_unit_test(test_several_tables_processes_and_contexts_stay_apart),
        cmocka_unit_test(test_a_table_saved_again_without_quotes),
        cmocka_unit_test(test_a_table_that_pandas_saved_again),
        cmocka_unit_test(test_numbers_of_every_locale),
        cmocka_unit_test(test_a_comma_groups_and_a_decimal_comma_is_refused),
        cmocka_unit_test(test_units_of_all_years),
        cmocka_unit_test(test_what_is_wrong_is_named_with_its_line),
        cmocka_unit_test(test_what_is_not_requested_is_not_kept_and_still_tells_of_a_decimal_comma),
        cmocka_unit_test(test_ten_thousand_damaged_files_give_an_error_or_what_is_there),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
