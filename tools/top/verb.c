/* Options of `joulemap top`, for joulemap and joulemap-top. */
#include "cli/verb.h"

static const cli_option options_table[] = {
    CLI_SIM_OPTION,
    {"--delay", 'd', "S", "read sensors every S seconds, from 0.2 on (default: 0.5)", NULL},
    {0},
};

const cli_verb cli_verb_top = {
    .name = "top",
    .usage = "[options]",
    .summary = "watch GPUs, processes and layers live in the terminal",
    .description =
        "A live screen: watts, utilisation, temperature and clock of each GPU and CPU, power over the last "
        "minutes, the processes on the GPUs, and the layers and phases of programs that joulemap records at "
        "present, in watts of the last half minute.\n\n"
        "Keys are those of htop: Tab changes the list, arrows move, F4 filters, F6 sorts, I "
        "inverts the order, Z pauses, F1 shows all keys, q quits. + and - choose the GPU of the chart.\n\n"
        "It only reads: no process is signalled and no setting is changed. Energy of a GPU is from the first "
        "reading on.\n\n"
        "  joulemap top\n"
        "  joulemap top --sim h200,a100\n",
    .options = options_table,
    .needs = "libncurses-dev",
    .looks_at_gpus = true,
};
