/* The table of verbs, in the order of --help. Only what works stands here. */
#include "cli/verb.h"

/* clang-format off */
const cli_verb *const cli_verbs[] = {
    &cli_verb_list,
    &cli_verb_doctor,
    &cli_verb_stat,
    &cli_verb_record,
    &cli_verb_dormant,
    &cli_verb_attach,
    &cli_verb_report,
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
