/* RAPL on a tree of our own: domains, wrap, rights, and perf's description of its events. */
#include "base/clock.h"
#include "device_told.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char root[64];

static void put(const char *path, const char *text)
{
    char full[512], folder[512];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *slash = strchr(full + strlen(root) + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - full), full);
        (void)mkdir(folder, 0755);
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void domain_put(const char *path, const char *name, const char *energy_uj)
{
    char file[256];
    snprintf(file, sizeof file, "sys/class/powercap/%s/name", path);
    put(file, name);
    snprintf(file, sizeof file, "sys/class/powercap/%s/energy_uj", path);
    put(file, energy_uj);
    snprintf(file, sizeof file, "sys/class/powercap/%s/max_energy_range_uj", path);
    put(file, "262143328850\n");
}

/* Two sockets, each with core and DRAM; the whole platform; and the first package once more by way of MMIO.
 */
static int tree_make(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/joulemap-rapl-XXXXXX");
    if (mkdtemp(root) == NULL) return -1;
    domain_put("intel-rapl:0", "package-0\n", "1000000\n");
    domain_put("intel-rapl:0/intel-rapl:0:0", "core\n", "500000\n");
    domain_put("intel-rapl:0/intel-rapl:0:1", "dram\n", "200000\n");
    domain_put("intel-rapl:1", "package-1\n", "3000000\n");
    domain_put("intel-rapl:1/intel-rapl:1:0", "dram\n", "400000\n");
    domain_put("intel-rapl:2", "psys\n", "9000000\n");
    domain_put("intel-rapl-mmio:0", "package-0\n", "7000000\n"); /* another unit's count of the same joules */
    return 0;
}

static int tree_remove(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

static jm__devices *tree_open(void)
{
    jm__devices *devices = NULL;
    jm_error err = {0};
    jm__device_options options = {.sys_root = root};
    if (jm__devices_open(&devices, &options, &err) != JM_OK) fail_msg("%s", err.text);
    return devices;
}

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance)) fail_msg("%.9f is not %.9f", value, expected);
}

static size_t board_find(const jm__devices *devices, const char *name)
{
    for (size_t i = 0; i < jm__devices_board_count(devices); i++)
        if (strcmp(jm__devices_board(devices, i)->name, name) == 0) return i;
    fail_msg("no board %s", name);
    return 0;
}

static double energy_read(jm__devices *devices, const char *name)
{
    static jm__samples samples;
    jm_error err = {0};
    if (jm__devices_read(devices, board_find(devices, name), 0, &samples, &err) != JM_OK)
        fail_msg("%s", err.text);
    assert_int_equal(samples.count, 1);
    return samples.items[0].value;
}

static bool finding_says(const jm__devices *devices, const char *subject, const char *words)
{
    const jm__findings *findings = jm__devices_findings(devices);
    for (size_t i = 0; i < findings->count; i++) {
        const jm_finding *finding = &findings->items[i];
        if (strcmp(finding->subject, subject) != 0) continue;
        if (strstr(finding->detail, words) != NULL || strstr(finding->cure, words) != NULL) return true;
    }
    return false;
}

static void test_each_package_and_each_dram_counts_once(void **state)
{
    (void)state;
    jm__devices *devices = tree_open();
    size_t rapl_count = 0;
    for (size_t i = 0; i < jm__devices_board_count(devices); i++)
        rapl_count += strcmp(jm__devices_board(devices, i)->backend, "rapl") == 0;
    assert_int_equal(rapl_count, 4);
    assert_near(energy_read(devices, "package-0"), 1.0, 1e-9);
    assert_near(energy_read(devices, "package-1"), 3.0, 1e-9);
    assert_near(energy_read(devices, "dram-0"), 0.2, 1e-9);
    assert_near(energy_read(devices, "dram-1"), 0.4, 1e-9);
    assert_int_equal(jm__devices_board(devices, board_find(devices, "dram-1"))->index, 1);
    jm__devices_close(devices);
}

/* Zones lie in zones, of which one that is no package says nothing of its own. */
static void test_all_domains_are_told_with_what_is_read(void **state)
{
    (void)state;
    static const char deep[] = "intel-rapl:3/intel-rapl:3:0/intel-rapl:3:0:0/intel-rapl:3:0:0:0";
    char path[256];
    domain_put("intel-rapl:3", "package-15\n", "1\n");
    domain_put("intel-rapl:3/intel-rapl:3:0", "node\n", "1\n");
    domain_put("intel-rapl:3/intel-rapl:3:0/intel-rapl:3:0:0", "node\n", "1\n");
    domain_put(deep, "node\n", "1\n");
    snprintf(path, sizeof path, "%s/intel-rapl:4", deep);
    domain_put(path, "dram\n", "5000000\n");
    snprintf(path, sizeof path, "%s/intel-rapl:4/intel-rapl:5", deep);
    domain_put(path, "package-16\n", "1\n");                 /* too deep */
    domain_put("intel-rapl:3/power", "package-17\n", "1\n"); /* no zones: */
    domain_put("intel-rapl:3:1", "package-18\n", "1\n");
    domain_put("dtpm:0", "package-19\n", "1\n");
    domain_put("intel-rapl", "package-20\n", "1\n");
    size_t files = files_open();
    jm__devices *devices = tree_open();
    assert_told(devices, "rapl", "RAPL", root,
                "package-0, 0\n  energy_counter by ~/sys/class/powercap/intel-rapl:0/energy_uj\n"
                "dram-0, 0\n  energy_counter by ~/sys/class/powercap/intel-rapl:0/intel-rapl:0:1/energy_uj\n"
                "package-1, 1\n  energy_counter by ~/sys/class/powercap/intel-rapl:1/energy_uj\n"
                "dram-1, 1\n  energy_counter by ~/sys/class/powercap/intel-rapl:1/intel-rapl:1:0/energy_uj\n"
                "package-15, 15\n  energy_counter by ~/sys/class/powercap/intel-rapl:3/energy_uj\n"
                "dram-15, 15\n  energy_counter by "
                "~/sys/class/powercap/intel-rapl:3/intel-rapl:3:0/intel-rapl:3:0:0/intel\n"
                "+ RAPL (powercap): 6 domains in ~/sys/class/powercap\n"
                "- RAPL (perf events): no ~/sys/bus/event_source/devices/power | sudo modprobe rapl; most "
                "virtual machines have no RAPL at all\n");
    assert_near(energy_read(devices, "dram-15"), 5.0, 1e-9);
    assert_int_equal(jm__devices_sensor(devices, 0, 0)->row.quantity, JM_QUANTITY_ENERGY);
    assert_null(jm__devices_sensor(devices, 0, 1));
    size_t package = board_find(devices, "package-1"), pids = 7;
    int32_t pid;
    jm_board_memory memory;
    jm_error err = {0};
    assert_int_equal(jm__devices_memory(devices, package, &memory, &err), JM_NOT_SUPPORTED);
    assert_string_equal(err.text, "package-1 has no memory of its own");
    assert_int_equal(err.code, 0);
    assert_int_equal(jm__devices_processes(devices, package, &pid, 1, &pids, &err), JM_NOT_SUPPORTED);
    assert_string_equal(err.text, "package-1 has no processes of its own");
    assert_int_equal(err.code, 0);
    assert_int_equal(pids, 0);
    jm__devices_close(devices);
    assert_int_equal(files_open(), files);
    snprintf(path, sizeof path, "cd %s/sys/class/powercap && rm -r intel-rapl:3* dtpm:0 intel-rapl", root);
    assert_int_equal(system(path), 0);
}

static void test_energy_goes_on_when_the_counter_wraps(void **state)
{
    (void)state;
    put("sys/class/powercap/intel-rapl:0/energy_uj", "262143000000\n");
    jm__devices *devices = tree_open();
    double before_j = energy_read(devices, "package-0");
    put("sys/class/powercap/intel-rapl:0/energy_uj",
        "671150\n"); /* 0.32885 J to the end, 0.67115 J after it */
    assert_near(energy_read(devices, "package-0") - before_j, 1.0, 1e-6);
    put("sys/class/powercap/intel-rapl:0/energy_uj", "1671150\n");
    assert_near(energy_read(devices, "package-0") - before_j, 2.0, 1e-6);
    put("sys/class/powercap/intel-rapl:0/energy_uj", "0\n"); /* once more around */
    assert_near(energy_read(devices, "package-0") - before_j, 262143.32885 + 0.32885, 1e-3);
    jm__devices_close(devices);
    put("sys/class/powercap/intel-rapl:0/energy_uj", "1000000\n");
}

static void test_a_counter_that_is_no_number_is_an_error_not_a_zero(void **state)
{
    (void)state;
    static jm__samples samples;
    put("sys/class/powercap/intel-rapl:1/energy_uj", "gone\n");
    jm__devices *devices = tree_open();
    jm_error err = {0};
    assert_int_equal(jm__devices_read(devices, board_find(devices, "package-1"), 0, &samples, &err), JM_IO);
    assert_memory_equal(err.text, "package-1: /", 12);
    assert_non_null(strstr(err.text, "intel-rapl:1/energy_uj: not a number"));
    assert_int_equal(samples.count, 0);
    jm__devices_close(devices);
    put("sys/class/powercap/intel-rapl:1/energy_uj", "3000000\n");
}

/* As somebody who is not root: 0 if the words are right. */
static int refused_as_nobody(void)
{
    if (geteuid() == 0 && setuid(65534) != 0) return 10;
    jm__devices *devices = NULL;
    jm__device_options options = {.sys_root = root};
    if (jm__devices_open(&devices, &options, NULL) != JM_OK) return 11;
    int code = finding_says(devices, "RAPL (powercap)", "chmod a+r") ? 0 : 12;
    if (!finding_says(devices, "RAPL (powercap)", "1 of 4 domains: no permission")) code = 14;
    size_t board = 0;
    while (board < jm__devices_board_count(devices) &&
           strcmp(jm__devices_board(devices, board)->name, "package-1") != 0)
        board++;
    const jm__device_sensor *sensor = jm__devices_sensor(devices, board, 0);
    if (sensor == NULL || strstr(sensor->row.missing, "Permission denied") == NULL) code = 13;
    static jm__samples samples;
    jm_error err = {0};
    if (code == 0 && jm__devices_read(devices, board, 0, &samples, &err) != JM_NO_PERMISSION) code = 15;
    if (code == 0 && (strncmp(err.text, "package-1: /", 12) != 0 || strstr(err.text, "denied") == NULL))
        code = 16;
    jm__devices_close(devices);
    return code;
}

static void test_a_counter_that_may_not_be_read_says_how_to_allow_it(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/sys/class/powercap/intel-rapl:1/energy_uj", root);
    assert_int_equal(chmod(root, 0755), 0);
    assert_int_equal(chmod(path, 0), 0);
    pid_t child = fork();
    if (child == 0) _exit(refused_as_nobody());
    int how = -1;
    assert_int_equal(waitpid(child, &how, 0), child);
    chmod(path, 0644);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
}

static void test_without_any_domain_the_reason_is_told(void **state)
{
    (void)state;
    jm__devices *devices = NULL;
    jm__device_options options = {.sys_root = "/nonexistent"};
    assert_int_equal(jm__devices_open(&devices, &options, NULL), JM_OK);
    assert_true(finding_says(devices, "RAPL (powercap)", "no package or DRAM domain"));
    assert_true(finding_says(devices, "RAPL (powercap)", "sudo modprobe"));
    assert_true(
        finding_says(devices, "RAPL (perf events)", "/nonexistent/sys/bus/event_source/devices/power"));
    jm__devices_close(devices);
}

/* The kernel's CPU clock stands in for the energy counter: the same file descriptor, scale and reading. */
static void test_a_perf_event_is_read_with_its_scale(void **state)
{
    (void)state;
    const char *pmu = "sys/bus/event_source/devices/power";
    char path[256];
    const char *const files[][2] = {{"type", "1\n"},
                                    {"cpumask", "0\n"},
                                    {"events/energy-pkg", "event=0x00\n"},
                                    {"events/energy-pkg.scale", "2.0e-09\n"},
                                    {"events/energy-pkg.unit", "Joules\n"}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", pmu, files[i][0]);
        put(path, files[i][1]);
        if (i > 1) continue;
        jm__devices *empty = tree_open(); /* a PMU without events so far */
        assert_true(finding_says(empty, "RAPL (perf events)", "the power PMU has no energy events"));
        jm__devices_close(empty);
    }
    put("sys/devices/system/cpu/cpu0/topology/physical_package_id", "5\n");
    jm__devices *devices = tree_open();
    size_t board = board_find(devices, "package-5");
    bool allowed = jm__devices_sensor(devices, board, 0)->row.missing[0] == '\0';
    if (allowed) {
        assert_true(finding_says(devices, "RAPL (perf events)", "1 counters of "));
        int64_t before_ns = jm__now_ns();
        double first_j = energy_read(devices, "package-5");
        jm__sleep_ns(50 * JM_NS_PER_MS);
        double second_j = energy_read(devices, "package-5");
        double longest_j = 2e-9 * (double)(jm__now_ns() - before_ns);
        /* PERF_COUNT_SW_CPU_CLOCK counts the nanoseconds that pass on CPU 0. */
        assert_true(second_j - first_j >= 2e-9 * 49e6 && second_j - first_j <= longest_j + 2e-6);
    } else {
        assert_true(finding_says(devices, "RAPL (perf events)", "perf_event_paranoid"));
    }
    jm__devices_close(devices);
    if (!allowed) skip();
}

/* Of a package of which powercap tells, perf's counter is not wanted; one that is read takes no second. */
static void test_perf_events_are_a_counter_for_each_package_that_powercap_lacks(void **state)
{
    (void)state;
    put("sys/devices/system/cpu/cpu0/topology/physical_package_id", "15\n");
    put("sys/bus/event_source/devices/power/type", "1\n");
    put("sys/bus/event_source/devices/power/events/energy-pkg", "umask=0x00,event=0x00\n");
    put("sys/bus/event_source/devices/power/events/energy-pkg.scale", "2.0e-09\n");
    put("sys/bus/event_source/devices/power/events/energy-ram", "event=0x01\n");
    put("sys/bus/event_source/devices/power/events/energy-ram.scale", "1.0e-09\n");
    char path[128];
    snprintf(path, sizeof path, "%s/sys/bus/event_source/devices/power/cpumask", root);
    (void)unlink(path);
    jm__devices *devices = NULL;
    for (int listed = 0; listed < 2; listed++) { /* CPU 0 where none is named */
        if (listed == 1) put("sys/bus/event_source/devices/power/cpumask", "0-0,0\n");
        size_t files = files_open();
        devices = tree_open();
        bool allowed =
            jm__devices_sensor(devices, board_find(devices, "package-15"), 0)->row.missing[0] == '\0';
        int count = listed == 1 ? 4 : 2;
        char finding[200];
        if (allowed)
            snprintf(finding, sizeof finding, "%d counters of %s/sys/bus", count, root);
        else
            snprintf(finding, sizeof finding, "%d of %d counters: no permission", count, count);
        assert_true(finding_says(devices, "RAPL (perf events)", finding));
        for (size_t i = 0; allowed && i < 2; i++)
            assert_true(energy_read(devices, i == 0 ? "package-15" : "dram-15") >= 0);
        jm__devices_close(devices);
        assert_int_equal(files_open(), files);
    }
    put("sys/devices/system/cpu/cpu10/topology/physical_package_id", "0\n");
    put("sys/bus/event_source/devices/power/cpumask", "0,10,11,\n"); /* of 11 is not known which it is */
    devices = tree_open();
    size_t powercap = 0;
    for (size_t i = 0; i < jm__devices_board_count(devices); i++)
        powercap += strncmp(jm__devices_sensor(devices, i, 0)->row.source, "perf", 4) != 0;
    assert_int_equal(powercap, 4);
    assert_non_null(
        strstr(jm__devices_sensor(devices, board_find(devices, "package-15"), 0)->row.source, "cpu 0)"));
    assert_non_null(
        strstr(jm__devices_sensor(devices, board_find(devices, "package-2"), 0)->row.source, "cpu 11)"));
    assert_non_null(
        strstr(jm__devices_sensor(devices, board_find(devices, "dram-5"), 0)->row.source, "cpu 11)"));
    jm__devices_close(devices);
    static const char *const useless[][2] = {{"energy-pkg", "umask=0x00\n"}, {"energy-ram.scale", "0\n"}};
    put("sys/bus/event_source/devices/power/cpumask", "0\n");
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "sys/bus/event_source/devices/power/events/%s", useless[i][0]);
        put(path, useless[i][1]);
        devices = tree_open();
        assert_int_equal(jm__devices_board_count(devices), 5 - i);
        jm__devices_close(devices);
    }
}

int main(void)
{
    unsetenv("JOULEMAP_SIM");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_package_and_each_dram_counts_once),
        cmocka_unit_test(test_all_domains_are_told_with_what_is_read),
        cmocka_unit_test(test_energy_goes_on_when_the_counter_wraps),
        cmocka_unit_test(test_a_counter_that_is_no_number_is_an_error_not_a_zero),
        cmocka_unit_test(test_a_counter_that_may_not_be_read_says_how_to_allow_it),
        cmocka_unit_test(test_without_any_domain_the_reason_is_told),
        cmocka_unit_test(test_a_perf_event_is_read_with_its_scale),
        cmocka_unit_test(test_perf_events_are_a_counter_for_each_package_that_powercap_lacks),
    };
    return cmocka_run_group_tests(tests, tree_make, tree_remove);
}
