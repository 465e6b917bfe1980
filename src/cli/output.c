/* The end of stdout: was all of it written? And how wide is the terminal? */
#include "cli/verb.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
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

/* ---- data, which a terminal shows and does not obey */

static bool data_is_cut;

/* What of a line has come. */
typedef struct cleaner {
    FILE *to;
    char *line;
    size_t length, capacity;
} cleaner;

static bool put_line(cleaner *c)
{
    size_t size = 3 * c->length + 1; /* what replaces a byte has three */
    char *clean = malloc(size);
    if (clean == NULL) return false;
    c->line[c->length] = '\0';
    for (char *part = c->line, *end; part != NULL; part = end) {
        end = strchr(part, '\t');
        if (end != NULL) *end++ = '\0';
        fputs(jm_text_printable(clean, size, part), c->to);
        if (end != NULL) fputc('\t', c->to);
    }
    free(clean);
    c->length = 0;
    return ferror(c->to) == 0;
}

static ssize_t clean_write(void *cookie, const char *bytes, size_t count)
{
    cleaner *c = cookie;
    for (size_t i = 0; i < count; i++) {
        if (c->length + 1 >= c->capacity) {
            size_t capacity = 2 * c->capacity + 256;
            char *line = realloc(c->line, capacity);
            if (line == NULL) return 0;
            c->line = line;
            c->capacity = capacity;
        }
        if (bytes[i] != '\n')
            c->line[c->length++] = bytes[i];
        else if (!put_line(c) || fputc('\n', c->to) == EOF)
            return 0;
    }
    return (ssize_t)count;
}

static int clean_close(void *cookie)
{
    cleaner *c = cookie;
    bool whole = c->length == 0 || put_line(c);
    free(c->line);
    free(c);
    return whole ? 0 : EOF;
}

FILE *cli_data_open(FILE *to)
{
    static const cookie_io_functions_t functions = {.write = clean_write, .close = clean_close};
    if (!isatty(fileno(to))) return to;
    cleaner *c = calloc(1, sizeof *c);
    FILE *stream = c == NULL ? NULL : fopencookie(c, "w", functions);
    if (stream == NULL)
        free(c);
    else
        c->to = to;
    return stream;
}

void cli_data_close(FILE *stream, const FILE *to)
{
    errno = 0;
    if (stream == to || (stream != NULL && fclose(stream) == 0)) return;
    cli_write_failed(stream == NULL ? ENOMEM : errno);
    data_is_cut = true;
}

void cli_write_data(const char *text)
{
    FILE *out = cli_data_open(stdout);
    errno = 0;
    if (out != NULL && fputs(text, out) == EOF) cli_write_failed(errno);
    cli_data_close(out, stdout);
}

int cli_output_finish(int code)
{
    bool failed = ferror(stdout) != 0 || data_is_cut;
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
