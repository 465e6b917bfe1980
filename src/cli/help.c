/* --help, and the verb `help`: texts made from the tables of verb.h. */
#include "cli/args.h"

#include <string.h>
#include <unistd.h>

/* Print `text` word by word up to column `width`; `column` is where the cursor stands and
 * new lines begin at `indent`. */
static void print_wrapped(FILE *out, const char *text, size_t length, int indent, int column, int width)
{
    const char *end = text + length;
    while (text < end) {
        size_t word = 0;
        while (text + word < end && text[word] != ' ' && text[word] != '\n')
            word++;
        if (column > indent && column + 1 + (int)word > width) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, word, out);
        column += (int)word;
        text += word;
        while (text < end && (*text == ' ' || *text == '\n'))
            text++;
    }
    fputc('\n', out);
}

/* Paragraphs are wrapped; lines that begin with two spaces stay as they are. */
static void print_description(FILE *out, const char *text, int width)
{
    while (*text != '\0') {
        size_t line = strcspn(text, "\n");
        if (line == 0) {
            fputc('\n', out);
        } else if (strncmp(text, "  ", 2) == 0) {
            fwrite(text, 1, line, out);
            fputc('\n', out);
        } else {
            print_wrapped(out, text, line, 0, 0, width);
        }
        text += line;
        if (*text == '\n') text++;
    }
}

enum { HELP_COLUMN = 26, WIDEST_HELP = 100 };

static void print_option(FILE *out, const cli_option *option, int width)
{
    char head[96];
    int column =
        snprintf(head, sizeof head, "  %c%c%s %s%s%s", option->letter != 0 ? '-' : ' ',
                 option->letter != 0 ? option->letter : ' ', option->letter != 0 ? "," : " ", option->name,
                 cli_takes_word(option) ? " " : "", option->argument != NULL ? option->argument : "");
    fputs(head, out);
    if (column + 2 > HELP_COLUMN) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", HELP_COLUMN - column, "");
    char text[512];
    int used = snprintf(text, sizeof text, "%s", option->help);
    const char *list = option->choices, *choice;
    for (size_t length, i = 0; used < (int)sizeof text && (length = cli_choice_next(&list, &choice)) > 0;
         i++) {
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%.*s", i == 0 ? ": " : ", ", (int)length,
                         choice);
    }
    if (option->required && used < (int)sizeof text)
        snprintf(text + used, sizeof text - (size_t)used, " (required)");
    print_wrapped(out, text, strlen(text), HELP_COLUMN, HELP_COLUMN, width);
}

static int help_width(void)
{
    int width = cli_terminal_width(STDOUT_FILENO);
    return width < WIDEST_HELP ? width : WIDEST_HELP;
}

void cli_help_print_verb(FILE *out, const cli_verb *verb)
{
    static const cli_option help = {"--help", 'h', NULL, "show this text", NULL, false};
    int width = help_width();
    fprintf(out, "joulemap %s: %s\n\nusage: joulemap %s %s\n\n", verb->name, verb->summary, verb->name,
            verb->usage);
    print_description(out, verb->description, width);
    fputs("\noptions:\n", out);
    for (const cli_option *option = verb->options; option != NULL && option->name != NULL; option++)
        print_option(out, option, width);
    print_option(out, &help, width);
}

void cli_help_print(FILE *out, const cli_verb *const *verbs)
{
    int width = help_width();
    fputs("joulemap: where every joule of a GPU program goes\n\n"
          "usage: joulemap VERB [options] [-- COMMAND ...]\n\nverbs:\n",
          out);
    for (const cli_verb *const *verb = verbs; *verb != NULL; verb++) {
        int column = fprintf(out, "  %-10s ", (*verb)->name);
        print_wrapped(out, (*verb)->summary, strlen((*verb)->summary), column, column, width);
    }
    fputs("\njoulemap VERB --help tells what a verb does and which options it has.\n"
          "joulemap --version prints the version, joulemap --pkgconfigdir where joulemap.pc lies\n"
          "(for pkg-config, to compile C programs with).\n",
          out);
}

static int run(const cli_args *args)
{
    const char *name = cli_operand(args, 0);
    int wishes = cli_has(args, "--man") + cli_has(args, "--completion") + (name != NULL);
    if (wishes > 1) return cli_usage_error(args, "a verb, --man and --completion exclude each other");
    if (cli_has(args, "--man")) {
        cli_man_print(stdout, args->verbs);
    } else if (cli_has(args, "--completion")) {
        cli_completion_print(stdout, args->verbs, cli_get(args, "--completion"));
    } else if (name == NULL) {
        cli_help_print(stdout, args->verbs);
    } else {
        const cli_verb *verb = cli_verb_find(args->verbs, name);
        if (verb == NULL) return cli_verb_unknown(args->verbs, args, name);
        cli_help_print_verb(stdout, verb);
    }
    return 0;
}

static const cli_option options[] = {
    {"--man", 0, NULL, "print the manual page (roff)", NULL, false},
    {"--completion", 0, "SHELL", "print the completion of a shell", "bash|zsh|fish", false},
    {0},
};

const cli_verb cli_verb_help = {
    .name = "help",
    .usage = "[VERB] [options]",
    .summary = "tell what a verb does; manual page, shell completion",
    .description = "Without anything: all verbs. With a verb: what it does and its options.\n"
                   "\n"
                   "Man page and completion are made from the same tables as this text:\n"
                   "  joulemap help --man | man -l -\n"
                   "  source <(joulemap help --completion bash)\n"
                   "  joulemap help --completion zsh > ~/.zfunc/_joulemap\n"
                   "  joulemap help --completion fish > ~/.config/fish/completions/joulemap.fish\n",
    .options = options,
    .max_operands = 1,
    .operands_are_verbs = true,
    .run = run,
};
