/* Words on stderr: failures, wrong usage, and what somebody may have meant. */
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

enum { NAME_MAX_LENGTH = 32 };

static int min3(int a, int b, int c)
{
    int least = a < b ? a : b;
    return least < c ? least : c;
}

/* Edits from one text to the other: insert, delete, replace, swap two neighbours. */
static int edit_distance(const char *a, const char *b)
{
    int rows[NAME_MAX_LENGTH + 1][NAME_MAX_LENGTH + 1];
    int a_length = (int)strlen(a), b_length = (int)strlen(b);
    if (a_length > NAME_MAX_LENGTH || b_length > NAME_MAX_LENGTH) return NAME_MAX_LENGTH;
    for (int i = 0; i <= a_length; i++) {
        for (int j = 0; j <= b_length; j++) {
            if (i == 0 || j == 0) {
                rows[i][j] = i + j;
                continue;
            }
            int differs = a[i - 1] != b[j - 1];
            rows[i][j] = min3(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + differs);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                rows[i - 2][j - 2] + 1 < rows[i][j]) {
                rows[i][j] = rows[i - 2][j - 2] + 1;
            }
        }
    }
    return rows[a_length][b_length];
}

const char *cli_nearest(const char *wrong, const char *(*name)(const void *context, int index),
                        const void *context, int count)
{
    const char *nearest = NULL;
    size_t length = strlen(wrong);
    int least = length < 5 ? 2 : 3; /* only what is nearer than this */
    for (int i = 0; i < count; i++) {
        const char *candidate = name(context, i);
        /* The beginning of a name is as near as a slip of one key. */
        int distance = strncmp(candidate, wrong, length) == 0 ? 1 : edit_distance(wrong, candidate);
        if (distance < least) {
            least = distance;
            nearest = candidate;
        }
    }
    return nearest;
}
