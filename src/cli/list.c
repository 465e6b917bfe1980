/* `joulemap list`: the boards of this machine and what each of their sensors measures. */
#include "cli/verb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "20 ms", "3 us", "1 s" */
static const char *time_text(char *text, size_t size, int64_t t_ns)
{
    double t_us = (double)t_ns * 1e-3;
    if (t_us < 1000)
        snprintf(text, size, "%.3g us", t_us);
    else if (t_us < 1e6)
        snprintf(text, size, "%.3g ms", t_us * 1e-3);
    else
        snprintf(text, size, "%.4g s", t_us * 1e-6);
    return text;
}

static void response_text(char *text, size_t size, const jm_sensor *sensor)
{
    char width[24], lag[24];
    time_text(lag, sizeof lag, sensor->lag_ns);
    switch (sensor->response) {
    case JM_RESPONSE_BOX:
        snprintf(text, size, "mean of the last %s", time_text(width, sizeof width, sensor->window_ns));
        break;
    case JM_RESPONSE_FIRST_ORDER:
        snprintf(text, size, "first order, %s, %s late", time_text(width, sizeof width, sensor->tau_ns), lag);
        break;
    case JM_RESPONSE_COUNTER:
        snprintf(text, size, "sum since an unknown start");
        break;
    default:
        snprintf(text, size, "present value");
    }
}

static void print_sensor(const jm_sensor *sensor)
{
    char period[24] = "?", cost[24] = "?", response[64];
    if (sensor->missing[0] != '\0') {
        printf("    %-19s absent: %s\n", sensor->name, sensor->missing);
        return;
    }
    if (sensor->period_ns > 0)
        time_text(period, sizeof period, sensor->period_ns);
    else
        snprintf(period, sizeof period, "when set");
    if (sensor->read_cost_ns > 0) time_text(cost, sizeof cost, sensor->read_cost_ns);
    response_text(response, sizeof response, sensor);
    printf("    %-19s %-5s %-13s %-34s %s\n", sensor->name, jm_quantity_unit(sensor->quantity), period,
           response, cost);
}

static void print_limits(const jm_board *board)
{
    if (isnan(board->power_limit_w)) return;
    printf("  power limit %.0f W", board->power_limit_w);
    if (!isnan(board->power_limit_min_w) && !isnan(board->power_limit_max_w))
        printf(", settable from %.0f to %.0f W", board->power_limit_min_w, board->power_limit_max_w);
    printf("\n");
}

static void print_board(const jm_inventory *inventory, size_t number)
{
    const jm_board *board = jm_inventory_board(inventory, number);
    static const char *const titles[] = {
        [JM_BOARD_GPU] = "GPU", [JM_BOARD_CPU] = "CPU", [JM_BOARD_METER] = "Meter"};
    jm_board_kind kind = jm_board_kind_of(board);
    printf("%s%s", number > 0 ? "\n" : "", titles[kind]);
    if (board->index >= 0) printf(" %d", board->index);
    printf(": %s%s\n", board->name, board->simulated ? " (simulated)" : "");
    if (kind == JM_BOARD_GPU) {
        printf("  %s, PCI %s, ", board->uuid[0] != '\0' ? board->uuid : "no UUID",
               board->pci[0] != '\0' ? board->pci : "unknown");
        if (board->cuda_index >= 0)
            printf("CUDA index %d\n", board->cuda_index);
        else
            printf("hidden from CUDA by CUDA_VISIBLE_DEVICES\n");
        printf("  driver %s, profile %s\n", board->driver[0] != '\0' ? board->driver : "unknown",
               board->profile);
    }
    if (board->mig) printf("  cut into MIG instances: power is that of the whole GPU\n");
    print_limits(board);
    printf("    %-19s %-5s %-13s %-34s %s\n", "sensor", "unit", "updates every", "measures",
           "cost of a read");
    for (size_t i = 0; i < jm_inventory_sensor_count(inventory, number); i++)
        print_sensor(jm_inventory_sensor(inventory, number, i));
}

static json_t *text_or_null(const char *text)
{
    return text[0] != '\0' ? json_string(text) : json_null();
}

static json_t *index_or_null(int32_t index)
{
    return index >= 0 ? json_integer(index) : json_null();
}

static json_t *seconds(int64_t t_ns)
{
    return json_real((double)t_ns * 1e-9);
}

static json_t *seconds_or_null(int64_t t_ns)
{
    return t_ns > 0 ? seconds(t_ns) : json_null();
}

static json_t *sensor_json(const jm_sensor *sensor)
{
    json_t *object = json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", sensor->name, "quantity",
                               jm_quantity_text(sensor->quantity), "unit", jm_quantity_unit(sensor->quantity),
                               "source", sensor->source, "missing", text_or_null(sensor->missing));
    bool box = sensor->response == JM_RESPONSE_BOX, first_order = sensor->response == JM_RESPONSE_FIRST_ORDER;
    json_object_set_new(object, "response", json_string(jm_response_text(sensor->response)));
    json_object_set_new(object, "period_s", seconds_or_null(sensor->period_ns));
    json_object_set_new(object, "lag_s", seconds(sensor->lag_ns));
    json_object_set_new(object, "lag_u_s", seconds(sensor->lag_u_ns));
    json_object_set_new(object, "window_s", box ? seconds(sensor->window_ns) : json_null());
    json_object_set_new(object, "window_u_s", box ? seconds(sensor->tau_u_ns) : json_null());
    json_object_set_new(object, "tau_s", first_order ? seconds(sensor->tau_ns) : json_null());
    json_object_set_new(object, "tau_u_s", first_order ? seconds(sensor->tau_u_ns) : json_null());
    json_object_set_new(object, "noise", json_real(sensor->noise));
    json_object_set_new(object, "gain_u", json_real(sensor->gain_u));
    json_object_set_new(object, "read_cost_s", seconds_or_null(sensor->read_cost_ns));
    return object;
}

static json_t *board_json(const jm_inventory *inventory, size_t number)
{
    const jm_board *board = jm_inventory_board(inventory, number);
    json_t *sensors = json_array();
    for (size_t i = 0; i < jm_inventory_sensor_count(inventory, number); i++)
        json_array_append_new(sensors, sensor_json(jm_inventory_sensor(inventory, number, i)));
    return json_pack("{s:s, s:o, s:o, s:s, s:o, s:o, s:o, s:s, s:b, s:b, s:o, s:o, s:o, s:o, s:o}", "backend",
                     board->backend, "index", index_or_null(board->index), "cuda_index",
                     index_or_null(board->cuda_index), "name", board->name, "uuid", text_or_null(board->uuid),
                     "pci", text_or_null(board->pci), "driver", text_or_null(board->driver), "profile",
                     board->profile, "simulated", board->simulated, "mig", board->mig, "power_limit_w",
                     cli_json_number(board->power_limit_w), "power_limit_min_w",
                     cli_json_number(board->power_limit_min_w), "power_limit_max_w",
                     cli_json_number(board->power_limit_max_w), "clock_limit_mhz",
                     cli_json_number(board->clock_limit_mhz), "sensors", sensors);
}

static int print_json(const cli_args *args, const jm_inventory *inventory)
{
    json_t *boards = json_array();
    for (size_t i = 0; i < jm_inventory_board_count(inventory); i++)
        json_array_append_new(boards, board_json(inventory, i));
    return cli_json_write(args, json_pack("{s:o}", "boards", boards));
}

static int run(const cli_args *args)
{
    jm_inventory *inventory;
    jm_error err;
    if (jm_inventory_create(&inventory, cli_get(args, "--sim"), &err) != JM_OK) return cli_fail(args, &err);
    int code = 0;
    size_t count = jm_inventory_board_count(inventory);
    if (cli_has(args, "--json")) {
        code = print_json(args, inventory);
    } else if (count == 0) {
        code = cli_error(args, JM_NO_DEVICE, "`joulemap doctor` shows why; `--sim h200` simulates a GPU",
                         "no GPU found, and no CPU whose energy can be read");
    } else {
        for (size_t i = 0; i < count; i++)
            print_board(inventory, i);
    }
    jm_inventory_free(inventory);
    return code;
}

static const cli_option options[] = {
    CLI_SIM_OPTION,
    {"--json", 0, NULL, "print JSON", NULL},
    {0},
};

const cli_verb cli_verb_list = {
    .name = "list",
    .usage = "[options]",
    .summary = "show GPUs, CPUs and their sensors",
    .description =
        "GPUs and, where the kernel lets us read them, CPU packages and their memory. Of each sensor: how "
        "often its value updates, how it answers to the true power, and what a read cost just now. What a "
        "sensor measures comes from the GPU's profile (docs/sensors.md).\n\n"
        "The CUDA index is the number that a CUDA program would use, after CUDA_VISIBLE_DEVICES.\n\n"
        "  joulemap list\n"
        "  joulemap list --sim h200,a100 --json\n",
    .options = options,
    .looks_at_gpus = true,
    .run = run,
};
