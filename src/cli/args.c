/* Parses a command line: finds the verb, then reads its options and operands by the verb's table. */
#include "cli/verb.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- verbs, and the nearest name to a mistyped one */

enum { NAME_MAX_LENGTH = 32 };

static int min3(int a, int b, int c)
{
    int least = a < b ? a : b;
    return least < c ? least : c;
}

/* Edits from one text to the other: insert, delete, replace, swap two neighbours. */
static int edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    int rows[NAME_MAX_LENGTH + 1][NAME_MAX_LENGTH + 1];
    if (a_length > NAME_MAX_LENGTH || b_length > NAME_MAX_LENGTH) return NAME_MAX_LENGTH;
    for (size_t i = 0; i <= a_length; i++)
        for (size_t j = 0; j <= b_length; j++) {
            if (i == 0 || j == 0) {
                rows[i][j] = (int)(i + j);
                continue;
            }
            int differs = a[i - 1] != b[j - 1];
            rows[i][j] = min3(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + differs);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                rows[i - 2][j - 2] + 1 < rows[i][j])
                rows[i][j] = rows[i - 2][j - 2] + 1;
        }
    return rows[a_length][b_length];
}

/* The nearest name to a mistyped one. */
typedef struct nearest {
    const char *wrong;
    const char *name; /* NULL: none is near */
    size_t length;    /* of the name */
    int distance;     /* a candidate must be nearer than this */
} nearest;

static nearest nearest_to(const char *wrong)
{
    return (nearest){.wrong = wrong, .distance = strlen(wrong) < 5 ? 2 : 3};
}

static void try_name(nearest *n, const char *name, size_t length)
{
    size_t typed = strlen(n->wrong);
    /* A prefix of a name counts as one typing error. */
    bool is_prefix = typed <= length && memcmp(name, n->wrong, typed) == 0;
    int distance = is_prefix ? 1 : edit_distance(n->wrong, typed, name, length);
    if (distance < n->distance) *n = (nearest){n->wrong, name, length, distance};
}

static int report_unknown(const cli_args *args, const char *what, const nearest *n)
{
    if (n->name == NULL) return cli_usage_error(args, "unknown %s \"%s\"", what, n->wrong);
    return cli_usage_error(args, "unknown %s \"%s\"; did you mean \"%.*s\"?", what, n->wrong, (int)n->length,
                           n->name);
}

const cli_verb *cli_verb_find(const cli_verb *const *verbs, const char *name)
{
    for (const cli_verb *const *verb = verbs; *verb != NULL; verb++)
        if (strcmp((*verb)->name, name) == 0) return *verb;
    return NULL;
}

int cli_verb_unknown(const cli_verb *const *verbs, const cli_args *args, const char *name)
{
    nearest n = nearest_to(name);
    if (name[0] == '-') return report_unknown(args, "option", &n);
    for (const cli_verb *const *verb = verbs; *verb != NULL; verb++)
        try_name(&n, (*verb)->name, strlen((*verb)->name));
    return report_unknown(args, "verb", &n);
}

/* ---- options and operands */

size_t cli_choice_next(const char **list, const char **choice)
{
    if (*list == NULL || **list == '\0') return 0;
    *choice = *list;
    size_t length = strcspn(*list, "|");
    *list += length;
    if (**list == '|') ++*list;
    return length;
}

/* -1: it is none of the list's choices. */
static int choice_index(const char *list, const char *value)
{
    const char *choice;
    int index = 0;
    for (size_t length; (length = cli_choice_next(&list, &choice)) > 0; index++)
        if (strlen(value) == length && strncmp(value, choice, length) == 0) return index;
    return -1;
}

static int report_unknown_option(const cli_args *args, const char *name)
{
    nearest n = nearest_to(name);
    for (const cli_option *option = args->verb->options; option->name != NULL; option++)
        try_name(&n, option->name, strlen(option->name));
    return report_unknown(args, "option", &n);
}

static int report_wrong_choice(const cli_args *args, const cli_option *option, const char *value)
{
    nearest n = nearest_to(value);
    const char *list = option->choices, *choice;
    for (size_t length; (length = cli_choice_next(&list, &choice)) > 0;)
        try_name(&n, choice, length);
    if (n.name != NULL)
        return cli_usage_error(args, "option \"%s\" cannot be \"%s\"; did you mean \"%.*s\"?", option->name,
                               value, (int)n.length, n.name);
    return cli_usage_error(args, "option \"%s\" cannot be \"%s\": it is one of %s", option->name, value,
                           option->choices);
}

bool cli_is_required(const cli_verb *verb, const cli_option *option)
{
    return verb->required != NULL && strcmp(verb->required, option->name) == 0;
}

bool cli_takes_word(const cli_option *option)
{
    return option->argument != NULL && option->argument[0] != '[';
}

static int accept(cli_args *args, const cli_option *option, const char *value)
{
    if (option->argument != NULL && value[0] == '\0')
        return cli_usage_error(args, "option \"%s\" needs an argument (%s)", option->name, option->argument);
    if (option->choices != NULL && choice_index(option->choices, value) < 0)
        return report_wrong_choice(args, option, value);
    args->given[args->given_count++] = (cli_given){option, value};
    return CLI_GO_ON;
}

/* Take the next word, argv[*i + 1], as the option's argument. A word that begins with "--" is never an
 * argument; --name=--value passes one. */
static int accept_next(cli_args *args, const cli_option *option, int argc, char **argv, int *i)
{
    if (*i + 1 >= argc || strncmp(argv[*i + 1], "--", 2) == 0) return accept(args, option, "");
    return accept(args, option, argv[++*i]);
}

/* "--name", "--name value", "--name=value" */
static int parse_long(cli_args *args, int argc, char **argv, int *i)
{
    const char *word = argv[*i];
    size_t length = strcspn(word, "=");
    for (const cli_option *option = args->verb->options; option->name != NULL; option++) {
        if (strncmp(option->name, word, length) != 0 || option->name[length] != '\0') continue;
        if (option->argument == NULL) {
            if (word[length] == '=')
                return cli_usage_error(args, "option \"%s\" takes no argument", option->name);
            return accept(args, option, "");
        }
        if (word[length] == '=') return accept(args, option, word + length + 1);
        if (!cli_takes_word(option)) {
            args->given[args->given_count++] = (cli_given){option, ""};
            return CLI_GO_ON;
        }
        return accept_next(args, option, argc, argv, i);
    }
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), word);
    return report_unknown_option(args, name);
}

/* "-o value", "-ovalue", "-abc" for three flags */
static int parse_letters(cli_args *args, int argc, char **argv, int *i)
{
    for (const char *letter = argv[*i] + 1; *letter != '\0'; letter++) {
        const cli_option *option = args->verb->options;
        while (option->name != NULL && option->letter != *letter)
            option++;
        if (option->name == NULL)
            return cli_usage_error(args, "unknown option \"-%c\" in \"%s\"", *letter, argv[*i]);
        if (option->argument != NULL) {
            if (letter[1] != '\0') return accept(args, option, letter + 1);
            return accept_next(args, option, argc, argv, i);
        }
        int code = accept(args, option, "");
        if (code != CLI_GO_ON) return code;
    }
    return CLI_GO_ON;
}

static int report_unknown_subcommand(const cli_args *args)
{
    char subcommands[256] = "";
    size_t used = 0;
    const char *list = args->verb->subcommands, *word, *separator = "";
    for (size_t length; (length = cli_choice_next(&list, &word)) > 0 && used < sizeof subcommands;
         separator = ", ")
        used += (size_t)snprintf(subcommands + used, sizeof subcommands - used, "%s%.*s", separator,
                                 (int)length, word);
    return cli_usage_error(args, "unknown word \"%s\"; there are: %s", args->operands[0], subcommands);
}

static int check_operands(const cli_args *args)
{
    const cli_verb *verb = args->verb;
    if (verb->max_operands >= 0 && args->operand_count > verb->max_operands) {
        const char *extra = args->operands[verb->max_operands];
        return cli_usage_error(args, "unexpected operand \"%s\"", extra);
    }
    if (args->operand_count < verb->min_operands)
        return cli_usage_error(args, "an operand is missing: joulemap %s %s", verb->name, verb->usage);
    if (verb->takes_command && (args->command == NULL || args->command[0] == NULL))
        return cli_usage_error(args, "the command is missing: joulemap %s %s", verb->name, verb->usage);
    for (const cli_option *option = verb->options; option->name != NULL; option++) {
        if (cli_is_required(verb, option) && !cli_has(args, option->name))
            return cli_usage_error(args, "option \"%s %s\" is missing", option->name, option->argument);
    }
    if (verb->subcommands != NULL && choice_index(verb->subcommands, args->operands[0]) < 0)
        return report_unknown_subcommand(args);
    return CLI_GO_ON;
}

int cli_args_parse(cli_args *args, const cli_verb *verb, int argc, char **argv)
{
    /* A word holds at most one operand, or one option per letter. */
    size_t most = 1;
    for (int i = 0; i < argc; i++)
        most += strlen(argv[i]) + 1;
    *args = (cli_args){.verb = verb, .before_dashes = -1};
    args->given = calloc(most, sizeof *args->given);
    args->operands = calloc((size_t)argc + 1, sizeof *args->operands);
    if (args->given == NULL || args->operands == NULL)
        return cli_error(args, JM_NO_MEMORY, "", "out of memory");
    for (int i = 0; i < argc; i++) {
        int code = CLI_GO_ON;
        if (strcmp(argv[i], "--") == 0) {
            if (!verb->takes_command && !verb->may_take_command) {
                args->before_dashes = args->operand_count;
                while (++i < argc)
                    args->operands[args->operand_count++] = argv[i];
                break;
            }
            args->command = argv + i + 1; /* argv ends with NULL, so does the command */
            break;
        }
        if (strncmp(argv[i], "--", 2) == 0) {
            code = parse_long(args, argc, argv, &i);
        } else if (argv[i][0] == '-' && argv[i][1] != '\0') {
            code = parse_letters(args, argc, argv, &i);
        } else if (cli_begins_command(verb)) {
            args->command = argv + i; /* the first word that is no option begins it */
            break;
        } else {
            args->operands[args->operand_count++] = argv[i];
        }
        if (code != CLI_GO_ON) return code;
    }
    return check_operands(args);
}

void cli_args_free(cli_args *args)
{
    free(args->given);
    free(args->operands);
    *args = (cli_args){0};
}

static const cli_given *find_given(const cli_args *args, const char *name)
{
    for (int i = args->given_count; i-- > 0;)
        if (strcmp(args->given[i].option->name, name) == 0) return &args->given[i];
    return NULL;
}

const char *cli_get(const cli_args *args, const char *name)
{
    const cli_given *given = find_given(args, name);
    return given != NULL ? given->value : NULL;
}

int cli_get_choice(const cli_args *args, const char *name, int usual)
{
    const cli_given *given = find_given(args, name);
    return given != NULL ? choice_index(given->option->choices, given->value) : usual;
}

bool cli_has(const cli_args *args, const char *name)
{
    return cli_get(args, name) != NULL;
}

bool cli_get_real(const cli_args *args, const char *name, double above, double most, double *out)
{
    const char *text = cli_get(args, name);
    if (text == NULL || text[0] == '\0') return true;
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value > above && value <= most)) {
        cli_usage_error(args, "option \"%s\" cannot be \"%s\": it is a number above %g, up to %g", name, text,
                        above, most);
        return false;
    }
    *out = value;
    return true;
}

bool cli_get_share(const cli_args *args, const char *name, double least, double *out)
{
    const char *text = cli_get(args, name);
    if (text == NULL) return true;
    char *end = NULL;
    double value = strtod(text, &end);
    bool plain = end > text && strspn(text, "0123456789.") == (size_t)(end - text);
    bool percent = plain && strcmp(end, "%") == 0;
    if (percent) {
        value /= 100;
        end++;
    }
    if (plain && *end == '\0' && value >= least && (percent ? value <= 1 : value < 1)) {
        *out = value;
        return true;
    }
    char from[40] = "";
    if (least > 0) snprintf(from, sizeof from, "at least %g%%, ", 100 * least);
    cli_usage_error(args, "option \"%s\" cannot be \"%s\": it is a share like 3%% or 0.03, %sat most 100%%",
                    name, text, from);
    return false;
}

bool cli_get_number(const cli_args *args, const char *name, long long low, long long high, long long *out)
{
    const char *text = cli_get(args, name);
    if (text == NULL) return true;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < low || value > high) {
        cli_usage_error(args, "option \"%s\" cannot be \"%s\": it is a whole number from %lld to %lld", name,
                        text, low, high);
        return false;
    }
    *out = value;
    return true;
}

const char *cli_operand(const cli_args *args, int index)
{
    return index >= 0 && index < args->operand_count ? args->operands[index] : NULL;
}

char **cli_command(const cli_args *args)
{
    return args->command;
}

/* ---- Times and sizes as people write them: "90s", "2h", "200M". */

typedef struct suffix {
    const char *text;
    double factor;
} suffix;

static bool parse_with_suffix(const char *text, const suffix *suffixes, size_t count, double *out)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || !isfinite(value) || value <= 0) return false;
    for (size_t i = 0; i < count; i++)
        if (strcmp(end, suffixes[i].text) == 0) {
            *out = value * suffixes[i].factor;
            return isfinite(*out);
        }
    return false;
}

bool cli_get_duration(const cli_args *args, const char *name, double least_s, double *out_s)
{
    static const suffix suffixes[] = {{"", 1}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86400}};
    const char *text = cli_get(args, name);
    double value;
    if (text == NULL) return true;
    if (parse_with_suffix(text, suffixes, sizeof suffixes / sizeof *suffixes, &value) && value >= least_s &&
        value < 1e9) {
        *out_s = value;
        return true;
    }
    cli_usage_error(args,
                    "option \"%s\" cannot be \"%.40s\": it is a time of at least %g s, as 90s, 30m, 2h or 1d",
                    name, text, least_s);
    return false;
}

bool cli_get_size(const cli_args *args, const char *name, double least_bytes, int64_t *out_bytes)
{
    static const suffix suffixes[] = {{"", 1},          {"k", 1e3},          {"K", 1e3},  {"kB", 1e3},
                                      {"M", 1e6},       {"MB", 1e6},         {"G", 1e9},  {"GB", 1e9},
                                      {"MiB", 1048576}, {"GiB", 1073741824}, {"T", 1e12}, {"TB", 1e12},
                                      {"KiB", 1024.}};
    const char *text = cli_get(args, name);
    double value;
    if (text == NULL) return true;
    if (parse_with_suffix(text, suffixes, sizeof suffixes / sizeof *suffixes, &value) &&
        value >= least_bytes && value < 1e15) {
        *out_bytes = (int64_t)value;
        return true;
    }
    cli_usage_error(args, "option \"%s\" cannot be \"%.40s\": it is a size of at least %g MB, as 200M or 2G",
                    name, text, least_bytes / 1e6);
    return false;
}
