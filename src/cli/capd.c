/* `joulemap capd`: the daemon that sets power caps for ordinary users. */
#include "cli/args.h"
#include "cli/capd_unit.h"
#include "cli/program.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static void add(cli_line *line, const char *value)
{
    cli_line_add(line, value != NULL ? value : "");
}

static int run(const cli_args *args)
{
    char path[PATH_MAX];
    cli_line line = {0};
    if (cli_has(args, "--unit")) return cli_capd_unit_print(args);
    cli_find_beside("joulemap-capd", path, sizeof path);
    cli_line_add(&line, path);
    cli_line_add(&line, cli_has(args, "--check") ? "check" : "serve");
    add(&line, cli_get(args, "--socket"));
    add(&line, cli_get(args, "--config"));
    add(&line, cli_get(args, "--log"));
    add(&line, cli_get(args, "--sim"));
    execvp(path, line.words);
    int code = errno;
    cli_line_free(&line);
    return cli_error(args, JM_CHILD, "install joulemap again: it comes with it", "%s cannot be started: %s",
                     path, strerror(code));
}

static const cli_option options[] = {
    {"--config", 0, "FILE", "who may set what (default: /etc/joulemap/capd.json)", NULL, false},
    {"--check", 0, NULL, "only look whether that file is right", NULL, false},
    {"--socket", 0, "PATH", "where clients ask (default: JOULEMAP_CAPD_SOCKET, else /run/joulemap/capd.sock)",
     NULL, false},
    {"--log", 0, "FILE", "write the log there, not to standard error", NULL, false},
    {"--unit", 0, NULL, "print the unit for systemd", NULL, false},
    CLI_SIM_OPTION,
    {0},
};

const cli_verb cli_verb_capd = {
    .name = "capd",
    .usage = "[--config FILE] [--socket PATH] [--log FILE] | --check | --unit",
    .summary = "the daemon that lets ordinary users set power caps within bounds",
    .description =
        "Started by root, it serves a Unix socket: users and groups that its configuration names take leases "
        "of the GPUs, and set caps in the ranges, that it gives them. `joulemap cap` and programs ask it by "
        "themselves where they are not root. Each change is a line of its log; no GPU is changed more than "
        "once a second. A client that ends or is killed loses its lease, and what was found is put back. "
        "SIGHUP reads the configuration again, SIGTERM ends it and the leases of its clients. docs/capd.md "
        "has the file's keys and "
        "the systemd unit.\n"
        "\n"
        "  joulemap capd --check\n"
        "  joulemap capd --unit | sudo tee /etc/systemd/system/joulemap-capd.service\n"
        "  sudo systemctl enable --now joulemap-capd\n",
    .options = options,
    .run = run,
};
