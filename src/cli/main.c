/* The command line's entry: find the verb, parse its options, run it. */
#include "cli/args.h"
#include "cli/child.h"

#include <string.h>

/* Is there a --help before the command? Then nothing else is looked at. */
static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
    }
    return false;
}

int cli_run(int argc, char **argv)
{
    if (argc == 0) {
        cli_help_print(stderr);
        return jm_status_exit_code(JM_USAGE);
    }
    if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0) {
        cli_help_print(stdout);
        return 0;
    }
    if (strcmp(argv[0], "--version") == 0 || strcmp(argv[0], "-V") == 0) {
        printf("joulemap %s\n", jm_version());
        return 0;
    }
    if (strcmp(argv[0], "--pkgconfigdir") == 0) return cli_pkgconfig_folder_print();
    const cli_verb *verb = cli_verb_find(argv[0]);
    if (verb == NULL) return cli_verb_unknown(NULL, argv[0]);
    if (asks_for_help(argc - 1, argv + 1)) {
        cli_help_print_verb(stdout, verb);
        return 0;
    }
    cli_args args = {0};
    size_t failed;
    int code = cli_args_parse(&args, verb, argc - 1, argv + 1);
    if (code == CLI_GO_ON && verb->looks_at_gpus) (void)cli_put_back_lost(&args, &failed);
    if (code == CLI_GO_ON) code = verb->run(&args);
    cli_args_free(&args);
    return code;
}

int main(int argc, char **argv)
{
    /* Not a verb: what doctor starts to try a driver's library, for no person to type. */
    if (argc == 4 && strcmp(argv[1], "probe") == 0) return jm_doctor_probe(argv[2], argv[3]);
    cli_child_spare_file_limit();
    int code = cli_run(argc > 0 ? argc - 1 : 0, argv + 1);
    cli_progress(NULL);
    return cli_output_finish(code);
}
