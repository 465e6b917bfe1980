/* Output: stdout and its failures, messages on stderr, the progress line, JSON. */
#include "cli/verb.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* ---- stdout: failed writes, and the terminal's width */

/* A reader that went away (`| head`) is no error. */
static bool reader_is_gone(int error)
{
    if (error == EPIPE) return true;
    struct pollfd reader = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&reader, 1, 0) == 1 && (reader.revents & POLLERR) != 0;
}

/* errno of the first failed write; ferror keeps no reason. 0: none, or unknown. */
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

/* ---- data whose control characters a terminal must not get */

static bool data_is_cut;

/* A stream that removes control characters; `line` is the beginning of an incomplete line. */
typedef struct cleaner {
    FILE *to;
    char *line;
    size_t length, capacity;
} cleaner;

static bool put_line(cleaner *c)
{
    size_t size = 3 * c->length + 1; /* a byte is replaced by at most three */
    char *clean = malloc(size);
    if (clean == NULL) return false;
    c->line[c->length] = '\0';
    for (char *part = c->line, *stop_progress; part != NULL; part = stop_progress) {
        stop_progress = strchr(part, '\t');
        if (stop_progress != NULL) *stop_progress++ = '\0';
        fputs(jm_text_printable(clean, size, part), c->to);
        if (stop_progress != NULL) fputc('\t', c->to);
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
    enum { KILLED_BY_SIGPIPE = 128 + 13 }; /* the shell's exit code of a process that SIGPIPE killed */
    if (reader_is_gone(first_error)) return code != 0 ? code : KILLED_BY_SIGPIPE;
    fprintf(stderr, "joulemap: cannot write the output%s%s\n", first_error != 0 ? ": " : "",
            first_error != 0 ? strerror(first_error) : "");
    return code != 0 ? code : jm_status_exit_code(JM_IO);
}

/* Conventions: https://no-color.org, https://bixense.com/clicolors */
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

/* ---- Messages on stderr: failures, wrong usage, notices. Texts from elsewhere are cleaned only here. */

static void print_clean(const char *text)
{
    char clean[2048];
    fputs(jm_text_printable(clean, sizeof clean, text), stderr);
}

static void print_prefix(const cli_args *args)
{
    cli_progress(NULL);
    fflush(stdout); /* results and messages keep their order on a terminal */
    fputs("joulemap", stderr);
    if (args != NULL && args->verb != NULL) fprintf(stderr, " %s", args->verb->name);
    fputs(": ", stderr);
}

__attribute__((format(printf, 1, 0))) static void print_formatted(const char *format, va_list values)
{
    char text[2048];
    vsnprintf(text, sizeof text, format, values);
    print_clean(text);
}

void cli_message_part(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    print_formatted(format, values);
    va_end(values);
}

void cli_message(const cli_args *args, const char *format, ...)
{
    print_prefix(args);
    va_list values;
    va_start(values, format);
    print_formatted(format, values);
    va_end(values);
    fputc('\n', stderr);
}

int cli_fail(const cli_args *args, const jm_error *err)
{
    print_prefix(args);
    print_clean(err->text[0] != '\0' ? err->text : jm_status_text(err->status));
    fputc('\n', stderr);
    if (err->hint[0] != '\0') {
        fputs("  ", stderr);
        print_clean(err->hint);
        fputc('\n', stderr);
    }
    return jm_status_exit_code(err->status);
}

__attribute__((format(printf, 4, 0))) static void
fill_error(jm_error *err, jm_status status, const char *hint, const char *format, va_list values)
{
    *err = (jm_error){.status = status};
    snprintf(err->hint, sizeof err->hint, "%s", hint);
    vsnprintf(err->text, sizeof err->text, format, values);
}

jm_status cli_set_error(jm_error *err, jm_status status, const char *hint, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fill_error(err, status, hint, format, values);
    va_end(values);
    return status;
}

int cli_error(const cli_args *args, jm_status status, const char *hint, const char *format, ...)
{
    jm_error err;
    va_list values;
    va_start(values, format);
    fill_error(&err, status, hint, format, values);
    va_end(values);
    return cli_fail(args, &err);
}

int cli_usage_error(const cli_args *args, const char *format, ...)
{
    print_prefix(args);
    va_list values;
    va_start(values, format);
    print_formatted(format, values);
    va_end(values);
    bool verb = args != NULL && args->verb != NULL;
    fprintf(stderr, " (see joulemap%s%s --help)\n", verb ? " " : "", verb ? args->verb->name : "");
    return jm_status_exit_code(JM_USAGE);
}

/* ---- The progress line on the terminal: what takes so long, and for how long. */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    struct timespec start;
    char text[160];
    bool running;
    bool stop;
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER};

enum { INTERVAL_MS = 500 };

static struct timespec now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t;
}

static struct timespec later(struct timespec t, long ms)
{
    t.tv_nsec += ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

static void *show_progress(void *unused)
{
    (void)unused;
    bool shown = false;
    pthread_mutex_lock(&progress.lock);
    struct timespec next = now();
    while (!progress.stop) {
        next = later(next, INTERVAL_MS);
        while (!progress.stop && pthread_cond_timedwait(&progress.changed, &progress.lock, &next) == 0) {
        }
        if (progress.stop) break;
        int width = cli_terminal_width(STDERR_FILENO) - 12;
        fprintf(stderr, "\r\033[K%.*s ... %lld s", width, progress.text,
                (long long)(now().tv_sec - progress.start.tv_sec));
        fflush(stderr);
        shown = true;
    }
    if (shown) fputs("\r\033[K", stderr);
    pthread_mutex_unlock(&progress.lock);
    return NULL;
}

static void stop_progress(void)
{
    pthread_mutex_lock(&progress.lock);
    progress.stop = true;
    pthread_cond_signal(&progress.changed);
    pthread_mutex_unlock(&progress.lock);
    pthread_join(progress.thread, NULL);
    pthread_cond_destroy(&progress.changed);
    progress.running = false;
}

void cli_progress(const char *text)
{
    if (text == NULL) {
        if (progress.running) stop_progress();
        return;
    }
    if (!progress.running && !isatty(STDERR_FILENO)) return;
    pthread_mutex_lock(&progress.lock);
    snprintf(progress.text, sizeof progress.text, "%s", text);
    progress.start = now();
    pthread_mutex_unlock(&progress.lock);
    if (progress.running) return;

    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&progress.changed, &clock);
    pthread_condattr_destroy(&clock);
    progress.stop = false;
    /* Signals are handled by the working thread. If the progress thread cannot start, the work goes on
     * silently. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    progress.running = pthread_create(&progress.thread, NULL, show_progress, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- JSON on stdout. */

json_t *cli_json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static int write_bytes(const char *bytes, size_t count, void *context)
{
    errno = 0;
    if (fwrite(bytes, 1, count, context) != count) cli_write_failed(errno);
    return 0; /* stdout keeps the error */
}

/* Write while encoding: json_dumps leaves a key out for which its buffer could not grow (jansson 2.14). */
static int write_document(const cli_args *args, json_t *document_take, size_t flags)
{
    FILE *out = cli_data_open(stdout);
    bool whole = document_take != NULL && out != NULL &&
                 json_dump_callback(document_take, write_bytes, out, flags | JSON_REAL_PRECISION(12)) == 0;
    json_decref(document_take);
    cli_data_close(out, stdout);
    if (!whole) return cli_error(args, JM_NO_MEMORY, "", "out of memory");
    cli_write("\n");
    return 0;
}

int cli_json_write(const cli_args *args, json_t *document_take)
{
    return write_document(args, document_take, JSON_INDENT(2));
}

int cli_json_write_line(const cli_args *args, json_t *document_take)
{
    int code = write_document(args, document_take, JSON_COMPACT);
    fflush(stdout); /* stdout keeps an error until cli_output_finish */
    return code;
}
