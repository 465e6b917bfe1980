/* The end of stdout: was all of it written? And how wide is the terminal? */
#include "cli/args.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A reader that went away (`| head`) is no fault of anybody. */
static bool reader_is_gone(int error)
{
    if (error == EPIPE) return true;
    struct pollfd reader = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&reader, 1, 0) == 1 && (reader.revents & POLLERR) != 0;
}

/* The first error of stdout, as it is only known when it happens. */
static int first_error;

void cli_write_failed(int error)
{
    if (first_error == 0) first_error = error;
}

void cli_write(const char *text)
{
    errno = 0;
    if (fputs(text, stdout) == EOF) cli_write_failed(errno);
}

int cli_output_finish(int code)
{
    bool failed = ferror(stdout) != 0;
    errno = 0;
    if (fflush(stdout) != 0) {
        if (!failed) cli_write_failed(errno);
        failed = true;
    }
    if (!failed) return code;
    enum { KILLED_BY_SIGPIPE = 128 + 13 }; /* what the shell reports where SIGPIPE is not ignored */
    if (reader_is_gone(first_error)) return code != 0 ? code : KILLED_BY_SIGPIPE;
    fprintf(stderr, "joulemap: cannot write the output%s%s\n", first_error != 0 ? ": " : "",
            first_error != 0 ? strerror(first_error) : "");
    return code != 0 ? code : jm_status_exit_code(JM_IO);
}

/* As other tools have it: https://no-color.org, https://bixense.com/clicolors */
bool cli_has_colour(int fd)
{
    const char *no = getenv("NO_COLOR"), *forced = getenv("CLICOLOR_FORCE"), *terminal = getenv("TERM");
    if (no != NULL && no[0] != '\0') return false;
    if (forced != NULL && strcmp(forced, "0") != 0) return true;
    return isatty(fd) && terminal != NULL && strcmp(terminal, "dumb") != 0;
}

int cli_terminal_width(int fd)
{
    enum { NARROWEST = 40, USUAL = 80, WIDEST = 1000 };
    const char *columns = getenv("COLUMNS");
    long width = columns != NULL ? strtol(columns, NULL, 10) : 0;
    struct winsize size;
    if (width <= 0 && ioctl(fd, TIOCGWINSZ, &size) == 0) width = size.ws_col;
    if (width <= 0) return USUAL;
    return (int)(width < NARROWEST ? NARROWEST : width > WIDEST ? WIDEST : width);
}
