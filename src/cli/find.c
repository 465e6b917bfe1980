/* Names of verbs and options: which one is meant, and which may have been. */
#include "cli/args.h"

#include <string.h>

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

const cli_verb *cli_verb_find(const char *name)
{
    for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++) {
        if (strcmp((*verb)->name, name) == 0) return *verb;
    }
    return NULL;
}

static const char *verb_name(const void *context, int index)
{
    (void)context;
    return cli_verbs[index]->name;
}

int cli_verb_unknown(const cli_args *args, const char *name)
{
    int count = 0;
    while (cli_verbs[count] != NULL)
        count++;
    const char *nearest = name[0] == '-' ? NULL : cli_nearest(name, verb_name, NULL, count);
    const char *what = name[0] == '-' ? "option" : "verb";
    if (nearest != NULL) {
        return cli_usage_error(args, "unknown %s \"%s\"; did you mean \"%s\"?", what, name, nearest);
    }
    return cli_usage_error(args, "unknown %s \"%s\"", what, name);
}
