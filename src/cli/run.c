/* One command line: find the verb, parse its options, run it. */
#include "cli/args.h"

#include <string.h>

/* Is there a --help before the command? Then nothing else is looked at. */
static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
    }
    return false;
}

int cli_run(const cli_verb *const *verbs, int argc, char **argv)
{
    if (argc == 0) {
        cli_help_print(stderr, verbs);
        return jm_status_exit_code(JM_USAGE);
    }
    if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0) {
        cli_help_print(stdout, verbs);
        return 0;
    }
    if (strcmp(argv[0], "--version") == 0 || strcmp(argv[0], "-V") == 0) {
        printf("joulemap %s\n", jm_version());
        return 0;
    }
    if (strcmp(argv[0], "--pkgconfigdir") == 0) return cli_pkgconfig_folder_print();
    const cli_verb *verb = cli_verb_find(verbs, argv[0]);
    if (verb == NULL) return cli_verb_unknown(verbs, NULL, argv[0]);
    if (asks_for_help(argc - 1, argv + 1)) {
        cli_help_print_verb(stdout, verb);
        return 0;
    }
    cli_args args = {0};
    size_t failed;
    int code = cli_args_parse(&args, verb, argc - 1, argv + 1);
    args.verbs = verbs;
    if (code == CLI_GO_ON && verb->looks_at_gpus) (void)cli_put_back_lost(&args, &failed);
    if (code == CLI_GO_ON) code = verb->run(&args);
    cli_args_free(&args);
    return code;
}
