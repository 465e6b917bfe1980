/* Words on stderr: failures, wrong usage, and what else is worth a line. Here alone texts from elsewhere are
 * cleaned. */
#include "cli/verb.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void print(const char *text)
{
    char clean[2048];
    fputs(jm_text_printable(clean, sizeof clean, text), stderr);
}

static void print_who(const cli_args *args)
{
    cli_progress(NULL);
    fflush(stdout); /* results and words keep their order on a terminal */
    fputs("joulemap", stderr);
    if (args != NULL && args->verb != NULL) fprintf(stderr, " %s", args->verb->name);
    fputs(": ", stderr);
}

__attribute__((format(printf, 1, 0))) static void print_formatted(const char *format, va_list values)
{
    char text[2048];
    vsnprintf(text, sizeof text, format, values);
    print(text);
}

void cli_words(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    print_formatted(format, values);
    va_end(values);
}

void cli_tell(const cli_args *args, const char *format, ...)
{
    print_who(args);
    va_list values;
    va_start(values, format);
    print_formatted(format, values);
    va_end(values);
    fputc('\n', stderr);
}

int cli_fail(const cli_args *args, const jm_error *err)
{
    print_who(args);
    print(err->text[0] != '\0' ? err->text : jm_status_text(err->status));
    fputc('\n', stderr);
    if (err->hint[0] != '\0') {
        fputs("  ", stderr);
        print(err->hint);
        fputc('\n', stderr);
    }
    return jm_status_exit_code(err->status);
}

int cli_error(const cli_args *args, jm_status status, const char *hint, const char *format, ...)
{
    jm_error err = {.status = status};
    snprintf(err.hint, sizeof err.hint, "%s", hint);
    va_list values;
    va_start(values, format);
    vsnprintf(err.text, sizeof err.text, format, values);
    va_end(values);
    return cli_fail(args, &err);
}

int cli_usage_error(const cli_args *args, const char *format, ...)
{
    print_who(args);
    va_list values;
    va_start(values, format);
    print_formatted(format, values);
    va_end(values);
    bool verb = args != NULL && args->verb != NULL;
    fprintf(stderr, " (see joulemap%s%s --help)\n", verb ? " " : "", verb ? args->verb->name : "");
    return jm_status_exit_code(JM_USAGE);
}
