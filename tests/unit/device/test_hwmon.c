/* Meters of NVIDIA Grace on a tree of our own: both layouts of the kernel, rails within sockets, the module.
 */
#include "device_told.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char root[64];

static void put(const char *folder, const char *file, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/sys/class/hwmon/%s/%s", root, folder, file);
    for (char *slash = strchr(path + strlen(root) + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0755);
        *slash = '/';
    }
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void put_meter(const char *named, const char *folder, const char *label, const char *microwatts)
{
    put(named, "name", "power_meter\n");
    put(folder, "power1_oem_info", label);
    put(folder, "power1_average", microwatts);
    put(folder, "power1_average_interval", "50\n");
}

/* A superchip as Linux 5 shows it, a second socket as Linux 6.15 does, with its rails alone; and a disk. */
static int make_tree(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/joulemap-hwmon-XXXXXX");
    if (mkdtemp(root) == NULL) return -1;
    put_meter("hwmon0", "hwmon0/device", "Module Power Socket 0\n", "610000000\n");
    put_meter("hwmon1/device", "hwmon1/device", "Grace Power Socket 0\n", "120500000\n");
    put_meter("hwmon2", "hwmon2/device", "CPU Power Socket 0\n", "80000000\n");
    put_meter("hwmon3", "hwmon3/device", "SysIO Power Socket 0\n", "20000000\n");
    put_meter("hwmon4", "hwmon4", "CPU Power Socket 1\n", "70000000\n");
    put_meter("hwmon10", "hwmon10", "SysIO Power Socket 1\n", "0\n");
    put_meter("hwmon11", "hwmon11", "a power supply\n", "900000000\n");
    put("hwmon12", "name", "nvme\n");
    return 0;
}

static int remove_tree(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

static jm__devices *open_tree(void)
{
    jm__devices *devices = NULL;
    jm_error err = {0};
    jm__device_options options = {.sys_root = root};
    if (jm__devices_open(&devices, &options, &err) != JM_OK) fail_msg("%s", err.text);
    return devices;
}

static void test_each_socket_counts_once_and_a_module_in_no_total(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int socket, kind;
        double power_w;
    } expected[] = {
        {"Module Power Socket 0", -1, JM_BOARD_METER, 610},
        {"Grace Power Socket 0", 0, JM_BOARD_CPU, 120.5},
        {"CPU Power Socket 1", 1, JM_BOARD_CPU, 70},
        {"SysIO Power Socket 1", 1, JM_BOARD_CPU, 0},
    };
    static jm__samples samples;
    jm__devices *devices = open_tree();
    assert_int_equal(jm__devices_board_count(devices), 4);
    for (size_t i = 0; i < 4; i++) {
        const jm_board *board = jm__devices_board(devices, i);
        assert_string_equal(board->backend, "hwmon");
        assert_string_equal(board->name, expected[i].name);
        assert_int_equal(board->index, expected[i].socket);
        assert_int_equal(jm_board_kind_of(board), expected[i].kind);
        const jm_sensor *sensor = &jm__devices_sensor(devices, i, 0)->row;
        assert_int_equal(sensor->quantity, JM_QUANTITY_POWER);
        assert_int_equal(sensor->response, JM_RESPONSE_BOX);
        assert_int_equal(sensor->window_ns, 50000000);
        assert_string_equal(sensor->missing, "");
        assert_int_equal(jm__devices_read(devices, i, 0, &samples, NULL), JM_OK);
        assert_int_equal(samples.count, 1);
        assert_true(samples.items[0].value == expected[i].power_w);
    }
    jm__devices_close(devices);
}

static void test_each_read_is_of_its_moment_and_no_number_is_an_error(void **state)
{
    (void)state;
    static jm__samples samples;
    jm__devices *devices = open_tree();
    jm_error err = {0};
    put("hwmon4", "power1_average", "71000000\n");
    assert_int_equal(jm__devices_read(devices, 2, 0, &samples, &err), JM_OK);
    assert_true(samples.items[0].value == 71);
    put("hwmon4", "power1_average", "gone\n");
    assert_int_equal(jm__devices_read(devices, 2, 0, &samples, &err), JM_IO);
    assert_memory_equal(err.text, "CPU Power Socket 1: /", 21);
    assert_non_null(strstr(err.text, "hwmon4/power1_average: not a number"));
    assert_int_equal(samples.count, 0);
    jm__devices_close(devices);
}

static void test_all_meters_are_told_with_what_is_known_of_them(void **state)
{
    (void)state;
    char path[128];
    size_t files = files_open();
    snprintf(path, sizeof path, "%s/sys/class/hwmon/hwmon0/device/power1_average_interval", root);
    assert_int_equal(unlink(path), 0);
    jm__devices *devices = open_tree();
    assert_told(
        devices, "hwmon", "Grace", root,
        "Module Power Socket 0, -1, upstream\n"
        "  power_meter by ~/sys/class/hwmon/hwmon0/device/power1_average, 0 1 1e+09 0 5e+08 1e+09 0 0 0.5 "
        "0.05\n"
        "Grace Power Socket 0, 0\n"
        "  power_meter by ~/sys/class/hwmon/hwmon1/device/power1_average, 0 1 5e+07 0 2.5e+07 5e+07 0 0 0.5 "
        "0.05\n"
        "CPU Power Socket 1, 1\n"
        "  power_meter by ~/sys/class/hwmon/hwmon4/power1_average, 0 1 5e+07 0 2.5e+07 5e+07 0 0 0.5 0.05\n"
        "SysIO Power Socket 1, 1\n"
        "  power_meter by ~/sys/class/hwmon/hwmon10/power1_average, 0 1 5e+07 0 2.5e+07 5e+07 0 0 0.5 0.05\n"
        "+ Grace (hwmon): 6 meters in ~/sys/class/hwmon\n");
    jm__devices_close(devices);
    assert_int_equal(files_open(), files);
    snprintf(path, sizeof path, "%s/sys/class/hwmon/hwmon4/power1_average", root);
    assert_int_equal(unlink(path), 0);
    static jm__samples samples;
    jm_error err = {0};
    devices = open_tree();
    assert_int_equal(jm__devices_read(devices, 2, 0, &samples, &err), JM_IO);
    const jm_finding *finding = NULL;
    for (size_t i = 0; i < jm__devices_findings(devices)->count; i++)
        if (strcmp(jm__devices_findings(devices)->items[i].subject, "Grace (hwmon)") == 0)
            finding = &jm__devices_findings(devices)->items[i];
    assert_non_null(finding);
    assert_false(finding->works);
    assert_string_equal(finding->detail, "1 of 6 meters: power1_average cannot be read");
    assert_non_null(strstr(finding->cure, "chmod a+r"));
    assert_non_null(strstr(jm__devices_sensor(devices, 2, 0)->row.missing, "No such file"));
    jm__devices_close(devices);
    put_meter("hwmon4", "hwmon4", "CPU Power Socket 1\n", "70000000\n");
    put_meter("hwmon0", "hwmon0/device", "Module Power Socket 0\n", "610000000\n");
}

static void test_nothing_is_said_where_there_is_no_grace(void **state)
{
    (void)state;
    jm__devices *devices = NULL;
    jm__device_options options = {.sys_root = "/nonexistent"};
    assert_int_equal(jm__devices_open(&devices, &options, NULL), JM_OK);
    const jm__findings *findings = jm__devices_findings(devices);
    for (size_t i = 0; i < findings->count; i++)
        assert_null(strstr(findings->items[i].subject, "hwmon"));
    jm__devices_close(devices);
    options = (jm__device_options){.sys_root = root, .no_cpu = true};
    assert_int_equal(jm__devices_open(&devices, &options, NULL), JM_OK);
    assert_int_equal(jm__devices_board_count(devices), 0);
    jm__devices_close(devices);
}

int main(void)
{
    unsetenv("JOULEMAP_SIM");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_socket_counts_once_and_a_module_in_no_total),
        cmocka_unit_test(test_each_read_is_of_its_moment_and_no_number_is_an_error),
        cmocka_unit_test(test_all_meters_are_told_with_what_is_known_of_them),
        cmocka_unit_test(test_nothing_is_said_where_there_is_no_grace),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
