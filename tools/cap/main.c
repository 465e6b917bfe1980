/* joulemap-cap: the helper that sets power caps, and the subcommands of `joulemap cap`. */
#include "cap/command/caps.h"
#include "cap/helper/serve.h"

#include <string.h>

static int restore(const cli_args *args)
{
    size_t failed, count = cli_put_back_lost(args, &failed);
    if (count == 0) cli_message(args, "no lost lease: nothing to put back");
    return failed > 0 ? jm_status_exit_code(JM_BUSY) : 0;
}

static int run(const cli_args *args)
{
    size_t failed;
    static const struct {
        const char *name;
        int (*run)(const cli_args *args);
        int operands; /* operands after the subcommand */
        bool command;
    } subcommands[] = {
        {"show", cli_cap_show, 0, false},    {"set", cli_cap_set, 1, true},
        {"reset", cli_cap_reset, 0, false},  {"restore", restore, 0, false},
        {"search", cli_cap_search, 0, true},
    };
    const char *what = cli_operand(args, 0);
    size_t i = 0;
    while (strcmp(what, subcommands[i].name) != 0) /* one of the subcommands in the table of the verb */
        i++;
    if (args->operand_count > 1 + subcommands[i].operands)
        return cli_usage_error(args, "unexpected operand \"%s\"",
                               cli_operand(args, 1 + subcommands[i].operands));
    if (cli_command(args) != NULL && !subcommands[i].command)
        return cli_usage_error(args, "%s takes no command", what);
    /* Put lost caps back first, so that commands see the right caps. */
    if (subcommands[i].run != restore) (void)cli_put_back_lost(args, &failed);
    return subcommands[i].run(args);
}

int main(int argc, char **argv)
{
    int code;
    if (jm__cap_helper(argc, argv, &code)) return code;
    return cli_tool_main(&cli_verb_cap, run, argc, argv);
}
