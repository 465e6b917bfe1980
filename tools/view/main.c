/* `joulemap view`: serves the page of recordings to browsers of this machine. */
#include "cli/verb.h"
#include "cli/view.h"
#include "view/command/server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
extern const cli_verb cli_verb_view;

static char names[VIEW_FILES_MAX][256];

/* With as many folders as make the names differ. */
static void name_files(view_source *source)
{
    enum { MOST_FOLDERS = 8 };
    for (int folders = 0; folders <= MOST_FOLDERS; folders++) {
        for (size_t f = 0; f < source->count; f++) {
            cli_view_name(names[f], sizeof names[f], source->paths[f], folders);
            source->names[f] = names[f];
        }
        if (source->count < 2 || strcmp(names[0], names[1]) != 0) break;
    }
}

/* The page without data. */
static jm_status make_page(char **page, jm_error *err)
{
    size_t size;
    *page = NULL;
    FILE *out = open_memstream(page, &size);
    if (out == NULL) return cli_set_error(err, JM_NO_MEMORY, "", "out of memory");
    jm_status status = jm_page_write_served(out, err);
    fclose(out);
    return status;
}

/* Fail now, not in the browser, if a file is no recording. */
static int check_files(const cli_args *args, const view_source *source)
{
    for (size_t f = 0; f < source->count; f++) {
        jm_recording *recording;
        jm_error err = {0};
        if (jm_recording_open(&recording, source->paths[f], &err) != JM_OK) return cli_fail(args, &err);
        const char *command = jm_recording_meta(recording, "command");
        if (source->paths[f] == args->newest && command != NULL) /* its file's name is a date */
            jm_text_printable(names[f], 80, command);
        jm_recording_close(recording);
    }
    return CLI_GO_ON;
}

/* The browser's own messages go nowhere. */
static void open_browser(const char *address)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    char *words[] = {(char[]){"xdg-open"}, strdup(address), NULL};
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (words[1] != NULL) posix_spawnp(&pid, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    free(words[1]);
}

static bool has_display(void)
{
    const char *x11 = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    return (x11 != NULL && x11[0] != '\0') || (wayland != NULL && wayland[0] != '\0');
}

static int serve(const cli_args *args, view_answers *answers, const char *page, uint16_t port)
{
    view_server *server;
    jm_error err = {0};
    sigset_t ends;
    int signal_number;
    char address[VIEW_ADDRESS_MAX], once[VIEW_ADDRESS_MAX];
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &ends, NULL); /* for all threads */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);        /* nobody waits for xdg-open */
    setpriority(PRIO_PROCESS, 0, 5); /* a program that is being measured comes first */
    if (view_server_start(&server, port, answers, page, &err) != JM_OK) return cli_fail(args, &err);
    view_server_address(server, address);
    view_server_address_once(server, once);
    printf("%s\nCtrl-C ends it.\n", address);
    fflush(stdout);
    if (has_display() && !cli_has(args, "--no-browser")) open_browser(once);
    sigwait(&ends, &signal_number);
    if (view_answers_busy(answers))
        _exit(0); /* a report of a long run takes seconds, and nobody waits for it */
    view_server_stop(server);
    return 0;
}

static int run(const cli_args *args)
{
    view_source source = {.count = (size_t)args->operand_count,
                          .prior = cli_get(args, "--prior"),
                          .model = cli_get(args, "--model")};
    long long port = 0;
    char *page;
    jm_error err = {0};
    if (!cli_get_number(args, "--port", 1, 65535, &port)) return jm_status_exit_code(JM_USAGE);
    for (size_t f = 0; f < source.count; f++)
        source.paths[f] = cli_operand(args, (int)f);
    name_files(&source);
    int code = check_files(args, &source);
    if (code != CLI_GO_ON) return code;
    if (make_page(&page, &err) != JM_OK) {
        free(page);
        return cli_fail(args, &err);
    }
    view_answers *answers = view_answers_new(&source);
    code = answers != NULL ? serve(args, answers, page, (uint16_t)port)
                           : cli_error(args, JM_NO_MEMORY, "", "out of memory");
    view_answers_free(answers);
    free(page);
    return code;
}

int main(int argc, char **argv)
{
    return cli_tool_main(&cli_verb_view, run, argc, argv);
}
