/* The command's entry, and the table of verbs in the order of --help. */
#include "cli/child.h"
#include "cli/verb.h"

#include <string.h>

/* clang-format off */
const cli_verb *const cli_verbs[] = {
    &cli_verb_run,
    &cli_verb_runs,
    &cli_verb_list,
    &cli_verb_doctor,
    &cli_verb_top,
    &cli_verb_stat,
    &cli_verb_record,
    &cli_verb_dormant,
    &cli_verb_attach,
    &cli_verb_report,
    &cli_verb_view,
    &cli_verb_diff,
    &cli_verb_export,
    &cli_verb_plot,
    &cli_verb_import,
    &cli_verb_calibrate,
    &cli_verb_estimate,
    &cli_verb_cap,
    &cli_verb_demo,
    &cli_verb_help,
    NULL,
};
/* clang-format on */

int main(int argc, char **argv)
{
    /* Not a verb: `joulemap doctor` starts it to load a driver's library in a process of its own. */
    if (argc == 4 && strcmp(argv[1], "probe") == 0) return jm_doctor_probe(argv[2], argv[3]);
    cli_child_spare_file_limit();
    int code = cli_run(cli_verbs, argc > 0 ? argc - 1 : 0, argv + 1);
    cli_progress(NULL);
    return cli_output_finish(code);
}
