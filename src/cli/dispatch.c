/* Runs one command line: finds the verb, parses its options, and runs it or the program joulemap-VERB. */
#include "cli/child.h"
#include "cli/program.h"
#include "cli/store.h"
#include "cli/verb.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- leases of power caps whose holder died: GPUs get back their former cap before a verb looks at them */

const char *cli_cap_holder_text(char *text, size_t size, const jm_cap_lease_info *lease)
{
    char who[44]; /* short enough for a message of 80 columns */
    const char *name = lease->who[0] != '\0' ? lease->who : "a program";
    jm_text_printable(who, sizeof who, name);
    if (strlen(who) < strlen(name) && strlen(who) + 4 > sizeof who - 3)
        snprintf(who + strlen(who) - 3, 4, "...");
    if (lease->pid > 0)
        snprintf(text, size, "%s (pid %lld, user %lld)", who, (long long)lease->pid, (long long)lease->uid);
    else
        snprintf(text, size, "%s (user %lld)", who, (long long)lease->uid);
    return text;
}

enum { RESTORED_MAX = 64 };

static void report_restored(const cli_args *args, const jm_cap_restored *one)
{
    const jm_cap_lease_info *lease = &one->lease;
    char board[JM_BOARD_TEXT + 16], holder[JM_LEASE_TEXT + 64];
    if (one->index >= 0)
        snprintf(board, sizeof board, "GPU %d", (int)one->index);
    else
        snprintf(board, sizeof board, "%s", one->uuid);
    if (one->fault[0] != '\0' && lease->found_w > 0)
        cli_message(args, "%s must still be put back to %.4g W, its cap before %s: %s", board, lease->found_w,
                    cli_cap_holder_text(holder, sizeof holder, lease), one->fault);
    else if (one->fault[0] != '\0')
        cli_message(args, "a power cap may have been left on %s: %s", board, one->fault);
    else if (!isnan(one->left_w))
        cli_message(args, "%s keeps %.4g W, which somebody else set after %s: nothing was put back", board,
                    one->left_w, cli_cap_holder_text(holder, sizeof holder, lease));
    else
        cli_message(args, "put %s back to %.4g W: %s was killed together with what should have done it",
                    board, lease->found_w, cli_cap_holder_text(holder, sizeof holder, lease));
}

size_t cli_put_back_lost(const cli_args *args, size_t *failed)
{
    static jm_cap_restored all[RESTORED_MAX];
    size_t count;
    jm_error err;
    *failed = 0;
    if (jm_cap_restore(all, RESTORED_MAX, &count, &err) != JM_OK) {
        cli_fail(args, &err);
        *failed = 1;
        return 1;
    }
    for (size_t i = 0; i < count && i < RESTORED_MAX; i++) {
        report_restored(args, &all[i]);
        *failed += all[i].fault[0] != '\0';
    }
    return count;
}

/* ---- the folder of joulemap.pc, for compiling C programs against an installed joulemap */

/* Relative to the command's folder: in a wheel, and in a system (cmake/install.cmake). */
static const char *const pkgconfig_folders[] = {"pkgconfig", "../pkgconfig"};

static int print_pkgconfig_folder(void)
{
    char self[PATH_MAX], folder[PATH_MAX + 64], file[PATH_MAX + 80], resolved[PATH_MAX];
    if (realpath("/proc/self/exe", self) == NULL)
        return cli_error(NULL, JM_NOT_SUPPORTED, "mount /proc", "/proc/self/exe: %s", strerror(errno));
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < sizeof pkgconfig_folders / sizeof *pkgconfig_folders; i++) {
        snprintf(folder, sizeof folder, "%s/%s", self, pkgconfig_folders[i]);
        snprintf(file, sizeof file, "%s/joulemap.pc", folder);
        if (access(file, R_OK) != 0 || realpath(folder, resolved) == NULL) continue;
        printf("%s\n", resolved);
        return 0;
    }
    return cli_error(NULL, JM_NOT_FOUND, "make install PREFIX=DIR; or pip install a wheel",
                     "this joulemap is not installed: no joulemap.pc for %s", self);
}

/* ---- verbs that are programs of their own */

/* joulemap-VERB beside this program, else on PATH. */
static bool find_tool(const char *verb, char *path, size_t size)
{
    char name[64];
    if (verb[0] == '-' || strchr(verb, '/') != NULL ||
        snprintf(name, sizeof name, "joulemap-%s", verb) >= (int)sizeof name)
        return false;
    cli_find_beside(name, path, size);
    return access(path, X_OK) == 0 || cli_find_on_path(name, path, size);
}

/* Replace this process by the tool, with `name` as argv[0]. Returns only on failure. */
static int become_tool(const char *path, char *name, char **argv)
{
    jm_error err;
    argv[0] = name;
    int code = cli_child_become(path, argv, &err);
    cli_fail(NULL, &err);
    return code;
}

static int run_tool(const cli_args *args, char **argv)
{
    char path[PATH_MAX];
    const char *name = args->verb->name, *needs = args->verb->needs;
    if (find_tool(name, path, sizeof path)) return become_tool(path, (char[]){"joulemap"}, argv);
    if (needs != NULL) {
        char hint[160];
        snprintf(hint, sizeof hint, "apt install %s (or the like), and build joulemap again", needs);
        return cli_error(args, JM_NOT_SUPPORTED, hint, "this joulemap was built without joulemap-%s", name);
    }
    return cli_error(args, JM_NOT_FOUND, "install joulemap again: it comes with it",
                     "the program joulemap-%s is not there", args->verb->name);
}

/* ---- a command line */

/* Whether a word, such as "-o", is an option that takes the next word. */
static bool takes_next(const cli_verb *verb, const char *word)
{
    for (const cli_option *o = verb->options; o != NULL && o->name != NULL; o++)
        if (cli_takes_word(o) && (strcmp(o->name, word) == 0 || (o->letter != 0 && word[0] == '-' &&
                                                                 word[1] == o->letter && word[2] == '\0')))
            return true;
    return false;
}

/* Whether --help comes before the command. Then the rest of the line is ignored. */
static bool requests_help(const cli_verb *verb, int argc, char **argv)
{
    bool begins = cli_begins_command(verb);
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
        if (begins && argv[i][0] != '-') return false;
        i += begins && takes_next(verb, argv[i]);
    }
    return false;
}

/* Take the newest recording of the store where none is given. */
static int choose_operand(cli_args *args)
{
    if (!args->verb->takes_newest || args->operand_count > 0) return CLI_GO_ON;
    int code = cli_store_newest(args, args->newest);
    if (code == CLI_GO_ON) args->operands[args->operand_count++] = args->newest;
    return code;
}

static int run_verb(const cli_verb *const *verbs, const cli_verb *verb, int argc, char **argv)
{
    if (requests_help(verb, argc - 1, argv + 1)) {
        cli_help_print_verb(stdout, verb);
        return 0;
    }
    cli_args args = {0};
    size_t failed;
    int code = cli_args_parse(&args, verb, argc - 1, argv + 1);
    args.verbs = verbs;
    if (code == CLI_GO_ON) code = choose_operand(&args);
    if (code == CLI_GO_ON && verb->run == NULL) code = run_tool(&args, argv);
    if (code == CLI_GO_ON && verb->looks_at_gpus) (void)cli_put_back_lost(&args, &failed);
    if (code == CLI_GO_ON) code = verb->run(&args);
    cli_args_free(&args);
    return code;
}

int cli_run(const cli_verb *const *verbs, int argc, char **argv)
{
    char path[PATH_MAX];
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
    if (strcmp(argv[0], "--pkgconfigdir") == 0) return print_pkgconfig_folder();
    const cli_verb *verb = cli_verb_find(verbs, argv[0]);
    if (verb != NULL) return run_verb(verbs, verb, argc, argv);
    if (find_tool(argv[0], path, sizeof path)) return become_tool(path, path, argv);
    return cli_verb_unknown(verbs, NULL, argv[0]);
}

int cli_tool_main(const cli_verb *table, int (*run)(const cli_args *args), int argc, char **argv)
{
    cli_verb verb = *table;
    const cli_verb *const verbs[] = {&verb, NULL};
    verb.run = run;
    cli_child_spare_file_limit();
    int code = run_verb(verbs, &verb, argc, argv);
    cli_progress(NULL);
    return cli_output_finish(code);
}
