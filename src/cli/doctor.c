/* `joulemap doctor`: shows what works on this machine, what does not, why, and the cure. */
#include "cli/verb.h"

#include <string.h>

/* The summary at the top of the output. */
typedef struct abilities {
    size_t gpu_count; /* boards whose power can be read */
    size_t cpu_count; /* CPU domains whose energy can be read */
    const char *gpu_sensor;
    bool simulated;
    bool kernels;
} abilities;

static const char *find_power_sensor(const jm_inventory *inventory, size_t board)
{
    for (size_t i = 0; i < jm_inventory_sensor_count(inventory, board); i++) {
        const jm_sensor *sensor = jm_inventory_sensor(inventory, board, i);
        bool measures = sensor->quantity == JM_QUANTITY_POWER || sensor->quantity == JM_QUANTITY_ENERGY;
        if (measures && sensor->missing[0] == '\0') return sensor->name;
    }
    return NULL;
}

static bool finding_works(const jm_doctor *doctor, const char *subject)
{
    for (size_t i = 0; i < jm_doctor_finding_count(doctor); i++) {
        const jm_finding *finding = jm_doctor_finding(doctor, i);
        if (strcmp(finding->subject, subject) == 0) return finding->works;
    }
    return false;
}

static abilities find_abilities(const jm_doctor *doctor)
{
    const jm_inventory *inventory = jm_doctor_inventory(doctor);
    abilities found = {0};
    for (size_t i = 0; i < jm_inventory_board_count(inventory); i++) {
        const jm_board *board = jm_inventory_board(inventory, i);
        const char *sensor = find_power_sensor(inventory, i);
        if (sensor == NULL) continue;
        found.cpu_count += jm_board_kind_of(board) == JM_BOARD_CPU;
        if (jm_board_kind_of(board) != JM_BOARD_GPU) continue;
        if (found.gpu_count++ == 0) found.gpu_sensor = sensor;
        found.simulated = found.simulated || board->simulated;
    }
    found.kernels = finding_works(doctor, "CUDA") && finding_works(doctor, "injected library") &&
                    finding_works(doctor, "CUPTI");
    return found;
}

static void print_text(const jm_doctor *doctor, const abilities *found)
{
    printf("joulemap %s\n\n", jm_version());
    if (found->gpu_count > 0)
        printf("  GPU energy   yes: %zu GPU%s%s, main sensor %s\n", found->gpu_count,
               found->gpu_count == 1 ? "" : "s", found->simulated ? " (simulated)" : "", found->gpu_sensor);
    else
        printf("  GPU energy   no: see NVML below; --sim h200 simulates a GPU\n");
    if (found->cpu_count > 0)
        printf("  CPU energy   yes: %zu domains\n", found->cpu_count);
    else
        printf("  CPU energy   no: see RAPL below\n");
    printf("  GPU kernels  %s\n\n",
           found->kernels
               ? "yes"
               : "no: see CUDA, injected library and CUPTI below; energy goes to layers by their spans");
    for (size_t i = 0; i < jm_doctor_finding_count(doctor); i++) {
        const jm_finding *finding = jm_doctor_finding(doctor, i);
        printf("%-8s %s: %s\n", finding->works ? "works" : "missing", finding->subject, finding->detail);
        if (finding->cure[0] != '\0') printf("         cure: %s\n", finding->cure);
    }
}

static int print_json(const cli_args *args, const jm_doctor *doctor, const abilities *found)
{
    json_t *findings = json_array();
    for (size_t i = 0; i < jm_doctor_finding_count(doctor); i++) {
        const jm_finding *finding = jm_doctor_finding(doctor, i);
        json_array_append_new(findings,
                              json_pack("{s:s, s:b, s:s, s:s}", "subject", finding->subject, "works",
                                        finding->works, "detail", finding->detail, "cure", finding->cure));
    }
    return cli_json_write(args,
                          json_pack("{s:s, s:b, s:b, s:b, s:b, s:o}", "version", jm_version(), "gpu_energy",
                                    found->gpu_count > 0, "cpu_energy", found->cpu_count > 0, "gpu_kernels",
                                    found->kernels, "simulated", found->simulated, "findings", findings));
}

static int run(const cli_args *args)
{
    jm_doctor *doctor;
    jm_error err;
    cli_progress("looking at GPUs, drivers and libraries");
    if (jm_doctor_create(&doctor, cli_get(args, "--sim"), &err) != JM_OK) return cli_fail(args, &err);
    abilities found = find_abilities(doctor);
    cli_progress(NULL);
    int code = 0;
    if (cli_has(args, "--json"))
        code = print_json(args, doctor, &found);
    else
        print_text(doctor, &found);
    jm_doctor_free(doctor);
    if (code == 0 && found.gpu_count + found.cpu_count == 0) code = jm_status_exit_code(JM_NO_DEVICE);
    return code;
}

static const cli_option options[] = {
    CLI_SIM_OPTION,
    {"--json", 0, NULL, "print JSON", NULL},
    {0},
};

const cli_verb cli_verb_doctor = {
    .name = "doctor",
    .usage = "[options]",
    .summary = "show what works on this machine, what does not, and the cure",
    .description =
        "Looks for NVML and each of its calls, for CPU energy (RAPL), CUDA, CUPTI, hardware counters, shared "
        "memory and SQLite. Nothing is changed. CUDA, CUPTI and counters are tried in processes of their "
        "own.\n\n"
        "The exit code is 0 if the energy of anything can be read here, else 69.\n\n"
        "  joulemap doctor\n"
        "  joulemap doctor --json | jq '.findings[] | select(.works | not)'\n",
    .options = options,
    .looks_at_gpus = true,
    .run = run,
};
