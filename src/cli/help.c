/* --help, the man page and shell completion, made from the tables of verb.h. */
#include "cli/verb.h"

#include <string.h>
#include <unistd.h>

/* Print `text` wrapped at column `width`. `column` is the cursor's present column; new lines are indented by
 * `indent`. */
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

static void print_option(FILE *out, const cli_option *option, bool required, int width)
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
    if (required && used < (int)sizeof text) snprintf(text + used, sizeof text - (size_t)used, " (required)");
    print_wrapped(out, text, strlen(text), HELP_COLUMN, HELP_COLUMN, width);
}

static int help_width(void)
{
    int width = cli_terminal_width(STDOUT_FILENO);
    return width < WIDEST_HELP ? width : WIDEST_HELP;
}

void cli_help_print_verb(FILE *out, const cli_verb *verb)
{
    static const cli_option help = {"--help", 'h', NULL, "show this text", NULL};
    int width = help_width();
    fprintf(out, "joulemap %s: %s\n\nusage: joulemap %s %s\n\n", verb->name, verb->summary, verb->name,
            verb->usage);
    print_description(out, verb->description, width);
    fputs("\noptions:\n", out);
    for (const cli_option *option = verb->options; option->name != NULL; option++)
        print_option(out, option, cli_is_required(verb, option), width);
    print_option(out, &help, false, width);
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
    fputs("\njoulemap VERB --help explains a verb and its options.\n"
          "joulemap --version prints the version, joulemap --pkgconfigdir the folder of\n"
          "joulemap.pc (for pkg-config, to compile C programs).\n",
          out);
}

/* ---- the man page, in roff */

/* Print text without roff's markup. `line_start`: a leading dot is escaped too. */
static void print_escaped(FILE *out, const char *text, size_t length, bool line_start)
{
    if (line_start && length > 0 && (text[0] == '.' || text[0] == '\'')) fputs("\\&", out);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\\') {
            fputs("\\e", out);
        } else if (text[i] == '-') {
            fputs("\\-", out);
        } else {
            fputc(text[i], out);
        }
    }
}

static void roff_description(FILE *out, const char *text)
{
    bool verbatim = false;
    while (*text != '\0') {
        size_t line = strcspn(text, "\n");
        bool example = strncmp(text, "  ", 2) == 0;
        if (example != verbatim) fputs(example ? ".PP\n.RS 4\n.nf\n" : ".fi\n.RE\n", out);
        verbatim = example;
        if (line == 0) {
            if (text[1] != '\0') fputs(".PP\n", out);
        } else {
            size_t skip = example ? 2 : 0;
            print_escaped(out, text + skip, line - skip, true);
            fputc('\n', out);
        }
        text += line;
        if (*text == '\n') text++;
    }
    if (verbatim) fputs(".fi\n.RE\n", out);
}

static void roff_option(FILE *out, const cli_verb *verb, const cli_option *option)
{
    fputs(".TP\n", out);
    if (option->letter != 0) fprintf(out, "\\fB\\-%c\\fR, ", option->letter);
    fputs("\\fB", out);
    print_escaped(out, option->name, strlen(option->name), false);
    fputs("\\fR", out);
    if (option->argument != NULL)
        fprintf(out, "%s\\fI%s\\fR", cli_takes_word(option) ? " " : "", option->argument);
    fputc('\n', out);
    print_escaped(out, option->help, strlen(option->help), true);
    const char *list = option->choices, *choice, *separator = ": ";
    for (size_t length; (length = cli_choice_next(&list, &choice)) > 0; separator = ", ") {
        fprintf(out, "%s\\fB", separator);
        print_escaped(out, choice, length, false);
        fputs("\\fR", out);
    }
    fputs(cli_is_required(verb, option) ? " (required)\n" : "\n", out);
}

static void roff_verb(FILE *out, const cli_verb *verb)
{
    fprintf(out, ".SS \"joulemap %s %s\"\n", verb->name, verb->usage);
    roff_description(out, verb->description);
    for (const cli_option *option = verb->options; option->name != NULL; option++)
        roff_option(out, verb, option);
}

/* Exit codes with all the failures that share one. */
static void print_exit_codes(FILE *out)
{
    for (int code = 0; code <= 255; code++) {
        bool first = true;
        for (int status = 0; status < JM_STATUS_COUNT; status++) {
            if (jm_status_exit_code((jm_status)status) != code) continue;
            if (first) {
                fprintf(out, ".TP\n.B %d\n", code);
            } else {
                fputs("; ", out);
            }
            fputs(jm_status_text((jm_status)status), out);
            first = false;
        }
        if (!first) fputs("\n", out);
    }
}

static void man_print(FILE *out, const cli_verb *const *verbs)
{
    fprintf(out, ".TH JOULEMAP 1 \"\" \"joulemap %s\" \"User Commands\"\n", jm_version());
    fputs(".SH NAME\njoulemap \\- where every joule of a GPU program goes\n"
          ".SH SYNOPSIS\n.B joulemap\n.I VERB\n[\\fIoptions\\fR] [\\fB\\-\\-\\fR \\fICOMMAND\\fR ...]\n"
          ".SH DESCRIPTION\n"
          "joulemap measures the energy of GPU programs and assigns each joule to a phase, layer and\n"
          "kernel. Every figure comes with its 95 % interval and its source.\n"
          "Results go to standard output, messages to standard error.\n"
          ".SH VERBS\n",
          out);
    for (const cli_verb *const *verb = verbs; *verb != NULL; verb++)
        roff_verb(out, *verb);
    fputs(".SH EXIT STATUS\nA verb that runs a command exits with the status of that command. Else:\n", out);
    print_exit_codes(out);
    fputs(".SH ENVIRONMENT\n"
          ".TP\n.B JOULEMAP_SIM\nProfile (or its file) of the simulated GPU to use in place of real ones;\n"
          "several are separated by commas.\n"
          ".TP\n.B JOULEMAP_NVML, JOULEMAP_CUPTI\nPath of the library to load in place of the one found.\n"
          ".TP\n.B JOULEMAP_PYTHON\nThe Python that runs the programs of \\fBjoulemap demo\\fR, "
          "\\fBcalibrate\\fR and \\fBplot\\fR.\n"
          ".TP\n.B COLUMNS\nWidth of tables, in place of the width of the terminal.\n",
          out);
}

/* ---- completion for bash, zsh and fish */

/* Whether the option takes a file name, by the word that names its argument. */
static bool takes_file(const cli_option *option)
{
    static const char *const words[] = {"FILE", "OUT", "CSV", "PATH"};
    for (size_t i = 0; option->argument != NULL && i < sizeof words / sizeof *words; i++)
        if (strcmp(option->argument, words[i]) == 0) return true;
    return false;
}

static void print_choices(FILE *out, const char *list)
{
    const char *choice, *separator = "";
    for (size_t length; (length = cli_choice_next(&list, &choice)) > 0; separator = " ")
        fprintf(out, "%s%.*s", separator, (int)length, choice);
}

static void print_verb_names(FILE *out, const cli_verb *const *verbs)
{
    for (const cli_verb *const *verb = verbs; *verb != NULL; verb++)
        fprintf(out, "%s%s", verb == verbs ? "" : " ", (*verb)->name);
}

/* Three `case` statements: the argument of an option, the options of a verb, the operands of a verb. */
static void print_bash(FILE *out, const cli_verb *const *verbs)
{
    fputs("# bash completion of joulemap, made by `joulemap help --completion bash`\n"
          "_joulemap() {\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} "
          "verb=${COMP_WORDS[1]} i\n"
          "    COMPREPLY=()\n"
          "    if ((COMP_CWORD == 1)); then\n"
          "        COMPREPLY=($(compgen -W '",
          out);
    print_verb_names(out, verbs);
    fputs(" --help --version --pkgconfigdir' -- \"$current\"))\n"
          "        return\n"
          "    fi\n"
          "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
          "        if [[ ${COMP_WORDS[i]} == -- ]]; then\n"
          "            if declare -F _command_offset >/dev/null; then _command_offset $((i + 1)); else "
          "compopt -o default; fi\n"
          "            return\n"
          "        fi\n"
          "    done\n"
          "    # --name=value comes as three words\n"
          "    if [[ $current == = ]]; then current=; elif [[ $before == = ]]; then "
          "before=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
          "    case $verb$before in\n",
          out);
    for (const cli_verb *const *verb = verbs; *verb != NULL; verb++) {
        for (const cli_option *option = (*verb)->options; option->name != NULL; option++) {
            if (!cli_takes_word(option)) continue;
            fprintf(out, "    %s%s", (*verb)->name, option->name);
            if (option->letter != 0) fprintf(out, "|%s-%c", (*verb)->name, option->letter);
            fputs(") ", out);
            if (option->choices != NULL) {
                fputs("COMPREPLY=($(compgen -W '", out);
                print_choices(out, option->choices);
                fputs("' -- \"$current\")); ", out);
            } else if (takes_file(option)) {
                fputs("compopt -o default; ", out);
            }
            fputs("return ;;\n", out);
        }
    }
    fputs("    esac\n    if [[ $current == -* ]]; then\n        case $verb in\n", out);
    for (const cli_verb *const *verb = verbs; *verb != NULL; verb++) {
        fprintf(out, "        %s) COMPREPLY=($(compgen -W '--help", (*verb)->name);
        for (const cli_option *option = (*verb)->options; option->name != NULL; option++)
            fprintf(out, " %s", option->name);
        fputs("' -- \"$current\")) ;;\n", out);
    }
    fputs("        esac\n        return\n    fi\n    case $verb in\n", out);
    for (const cli_verb *const *verb = verbs; *verb != NULL; verb++) {
        if ((*verb)->operands_are_verbs) {
            fprintf(out, "    %s) COMPREPLY=($(compgen -W '", (*verb)->name);
            print_verb_names(out, verbs);
            fputs("' -- \"$current\")) ;;\n", out);
        } else if ((*verb)->max_operands != 0) {
            fprintf(out, "    %s) compopt -o default ;;\n", (*verb)->name);
        }
    }
    fputs("    esac\n}\ncomplete -F _joulemap joulemap\n", out);
}

/* Print text for a shell's '...', with the syntax of zsh's _arguments escaped. */
static void print_zsh_quoted(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            fputs("'\\''", out);
        } else if (strchr("[]:\\", *text) != NULL) {
            fprintf(out, "\\%c", *text);
        } else {
            fputc(*text, out);
        }
    }
}

static void print_zsh_option(FILE *out, const cli_option *option)
{
    fputs(" \\\n            ", out);
    bool optional = option->argument != NULL && !cli_takes_word(option);
    const char *joined = optional ? "=-" : option->argument != NULL ? "=" : "";
    if (option->letter != 0) {
        fprintf(out, "'(-%c %s)'{-%c%s,%s%s}'[", option->letter, option->name, option->letter,
                option->argument != NULL ? "+" : "", option->name, joined);
    } else {
        fprintf(out, "'%s%s[", option->name, joined);
    }
    print_zsh_quoted(out, option->help);
    fputc(']', out);
    if (optional) {
        fprintf(out, "::%.*s:", (int)strlen(option->argument) - 3,
                option->argument + 2); /* between [= and ] */
    } else if (option->argument != NULL) {
        fprintf(out, ":%s:", option->argument);
        if (option->choices != NULL) {
            fputc('(', out);
            print_choices(out, option->choices);
            fputc(')', out);
        } else if (takes_file(option)) {
            fputs("_files", out);
        }
    }
    fputc('\'', out);
}

static void print_zsh(FILE *out, const cli_verb *const *verbs)
{
    fputs("#compdef joulemap\n"
          "# zsh completion of joulemap, made by `joulemap help --completion zsh`\n"
          "_joulemap() {\n"
          "    local -a verbs\n"
          "    verbs=(\n",
          out);
    for (const cli_verb *const *verb = verbs; *verb != NULL; verb++) {
        fprintf(out, "        '%s:", (*verb)->name);
        print_zsh_quoted(out, (*verb)->summary);
        fputs("'\n", out);
    }
    fputs("    )\n"
          "    if ((CURRENT == 2)); then\n"
          "        _describe verb verbs\n"
          "        return\n"
          "    fi\n"
          "    local verb=$words[2]\n"
          "    shift words\n"
          "    ((CURRENT--))\n"
          "    case $verb in\n",
          out);
    for (const cli_verb *const *verb = verbs; *verb != NULL; verb++) {
        fprintf(out, "        %s) _arguments '(-h --help)'{-h,--help}'[show the help]'", (*verb)->name);
        for (const cli_option *option = (*verb)->options; option->name != NULL; option++)
            print_zsh_option(out, option);
        if ((*verb)->takes_command || (*verb)->may_take_command) {
            fputs(" \\\n            '*::command:_normal'", out);
        } else if ((*verb)->operands_are_verbs) {
            fputs(" \\\n            ':verb:(", out);
            print_verb_names(out, verbs);
            fputs(")'", out);
        } else if ((*verb)->max_operands != 0) {
            fputs(" \\\n            '*:file:_files'", out);
        }
        fputs(" ;;\n", out);
    }
    fputs("    esac\n}\nif [[ $funcstack[1] == _joulemap ]]; then _joulemap \"$@\"; else compdef _joulemap "
          "joulemap; fi\n",
          out);
}

/* Inside '...' fish has escapes for backslash and quote only. */
static void print_fish_quoted(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\') fputc('\\', out);
        fputc(*text, out);
    }
    fputc('\'', out);
}

static void print_fish_option(FILE *out, const cli_verb *verb, const cli_option *option)
{
    fprintf(out, "complete -c joulemap -n '__fish_seen_subcommand_from %s' -l %s", verb->name,
            option->name + 2);
    if (option->letter != 0) fprintf(out, " -s %c", option->letter);
    if (option->choices != NULL) {
        fputs(" -x -a '", out);
        print_choices(out, option->choices);
        fputc('\'', out);
    } else if (cli_takes_word(option)) {
        fputs(takes_file(option) ? " -r -F" : " -x", out);
    }
    fputs(" -d ", out);
    print_fish_quoted(out, option->help);
    fputc('\n', out);
}

static void print_fish(FILE *out, const cli_verb *const *verbs)
{
    fputs("# fish completion of joulemap, made by `joulemap help --completion fish`\n"
          "complete -c joulemap -n __fish_use_subcommand -f\n"
          "complete -c joulemap -n __fish_use_subcommand -l version -d 'print the version'\n"
          "complete -c joulemap -s h -l help -d 'show the help'\n",
          out);
    for (const cli_verb *const *verb = verbs; *verb != NULL; verb++) {
        fprintf(out, "complete -c joulemap -n __fish_use_subcommand -f -a %s -d ", (*verb)->name);
        print_fish_quoted(out, (*verb)->summary);
        fputc('\n', out);
        for (const cli_option *option = (*verb)->options; option->name != NULL; option++)
            print_fish_option(out, *verb, option);
        if ((*verb)->operands_are_verbs) {
            fprintf(out, "complete -c joulemap -n '__fish_seen_subcommand_from %s' -f -a '", (*verb)->name);
            print_verb_names(out, verbs);
            fputs("'\n", out);
        } else if ((*verb)->max_operands == 0 && !(*verb)->takes_command) {
            fprintf(out, "complete -c joulemap -n '__fish_seen_subcommand_from %s' -f\n", (*verb)->name);
        }
    }
}

/* ---- the verb */

static int run(const cli_args *args)
{
    static void (*const completions[])(FILE *, const cli_verb *const *) = {print_bash, print_zsh, print_fish};
    const char *name = cli_operand(args, 0);
    int given = cli_has(args, "--man") + cli_has(args, "--completion") + (name != NULL);
    if (given > 1) return cli_usage_error(args, "a verb, --man and --completion exclude each other");
    if (cli_has(args, "--man")) {
        man_print(stdout, args->verbs);
    } else if (cli_has(args, "--completion")) {
        completions[cli_get_choice(args, "--completion", 0)](stdout, args->verbs);
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
    {"--man", 0, NULL, "print the manual page (roff)", NULL},
    {"--completion", 0, "SHELL", "print the completion of a shell", "bash|zsh|fish"},
    {0},
};

const cli_verb cli_verb_help = {
    .name = "help",
    .usage = "[VERB] [options]",
    .summary = "explain a verb; print the manual page or shell completion",
    .description = "Without operands: all verbs. With a verb: what it does and its options.\n\n"
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
