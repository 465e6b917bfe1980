/* Words on stderr: failures and wrong usage. */
#include "cli/args.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void print_who(const cli_args *args)
{
    cli_progress(NULL);
    fflush(stdout); /* results and words keep their order on a terminal */
    fputs("joulemap", stderr);
    if (args != NULL && args->verb != NULL) fprintf(stderr, " %s", args->verb->name);
    fputs(": ", stderr);
}

int cli_fail(const cli_args *args, const jm_error *err)
{
    print_who(args);
    fprintf(stderr, "%s\n", err->text[0] != '\0' ? err->text : jm_status_text(err->status));
    if (err->hint[0] != '\0') fprintf(stderr, "  %s\n", err->hint);
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
    vfprintf(stderr, format, values);
    va_end(values);
    bool verb = args != NULL && args->verb != NULL;
    fprintf(stderr, " (see joulemap%s%s --help)\n", verb ? " " : "", verb ? args->verb->name : "");
    return jm_status_exit_code(JM_USAGE);
}
