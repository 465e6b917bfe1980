/* From the options of a view to a recording and a report's options. */
#include "cli/view.h"

#include "cli/verb.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

const char cli_view_keys[] =
#define X(name, text) "|" text
    JM_BY_MAP(X);
#undef X

static jm_by parse_by(const char *text)
{
    int by = 0;
    while (by < JM_BY_COUNT - 1 && strcmp(jm_by_text((jm_by)by), text) != 0)
        by++;
    return (jm_by)by; /* the table of options lets nothing else through */
}

int cli_view_open(const cli_args *args, int operand, jm_recording **recording, jm_report_options *options)
{
    long long board = -1, process = 0;
    if (!cli_get_number(args, "--board", 0, INT_MAX, &board)) return jm_status_exit_code(JM_USAGE);
    if (!cli_get_number(args, "--process", 1, INT_MAX, &process)) return jm_status_exit_code(JM_USAGE);
    *options = (jm_report_options){
        .size = sizeof *options,
        .by = cli_has(args, "--by") ? parse_by(cli_get(args, "--by")) : JM_BY_LAYER,
        .phase = cli_get(args, "--phase"),
        .belief = cli_get(args, "--belief"),
        .model = cli_get(args, "--model"),
        .process_id = process,
    };
    jm_error err = {0};
    if (jm_recording_open(recording, cli_operand(args, operand), &err) != JM_OK) return cli_fail(args, &err);
    if (board >= 0 && jm_recording_board_id(*recording, (int)board, &options->board_id, &err) != JM_OK) {
        jm_recording_close(*recording);
        return cli_fail(args, &err);
    }
    return CLI_GO_ON;
}

int cli_view_refuse(const cli_args *args, const char *view, const char *why, const char *const *options)
{
    for (; *options != NULL; options++)
        if (cli_has(args, *options))
            return cli_usage_error(args, "there is no place for \"%s\" with \"%s\": %s", *options, view, why);
    return CLI_GO_ON;
}

void cli_view_warn_of_damage(const cli_args *args, int operand, const jm_recording *recording)
{
    const char *damage = jm_recording_damage(recording);
    if (damage != NULL) cli_tell(args, "%s: %s", cli_operand(args, operand), damage);
}

void cli_view_long_name(char *out, size_t size, const char *path, int folders)
{
    static const char suffix[] = ".joulemap";
    size_t length = strlen(path), start = length;
    while (start > 0 && (path[start - 1] != '/' || start == length || folders-- > 0))
        start--;
    const char *name = path + start;
    length -= start;
    bool suffixed = length >= sizeof suffix && strcmp(name + length - (sizeof suffix - 1), suffix) == 0 &&
                    name[length - sizeof suffix] != '/';
    if (suffixed) length -= sizeof suffix - 1;
    snprintf(out, size, "%.*s", (int)(length < size ? length : size - 1), name);
}

void cli_view_name(char *out, size_t size, const char *path)
{
    cli_view_long_name(out, size, path, 0);
}
