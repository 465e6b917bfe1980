/* Completion for bash, zsh and fish, made from the tables of verb.h. */
#include "cli/args.h"

#include <string.h>

/* Does this option take the name of a file? Told by the word for its argument. */
static bool wants_file(const cli_option *option)
{
    static const char *const words[] = {"FILE", "OUT", "CSV", "PATH"};
    for (size_t i = 0; option->argument != NULL && i < sizeof words / sizeof *words; i++) {
        if (strcmp(option->argument, words[i]) == 0) return true;
    }
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

/* bash: three questions, each a case: the options of a verb, the choices of an option, whether it wants a
 * file. */
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
        for (const cli_option *option = (*verb)->options; option != NULL && option->name != NULL; option++) {
            if (!cli_takes_word(option)) continue;
            fprintf(out, "    %s%s", (*verb)->name, option->name);
            if (option->letter != 0) fprintf(out, "|%s-%c", (*verb)->name, option->letter);
            fputs(") ", out);
            if (option->choices != NULL) {
                fputs("COMPREPLY=($(compgen -W '", out);
                print_choices(out, option->choices);
                fputs("' -- \"$current\")); ", out);
            } else if (wants_file(option)) {
                fputs("compopt -o default; ", out);
            }
            fputs("return ;;\n", out);
        }
    }
    fputs("    esac\n    if [[ $current == -* ]]; then\n        case $verb in\n", out);
    for (const cli_verb *const *verb = verbs; *verb != NULL; verb++) {
        fprintf(out, "        %s) COMPREPLY=($(compgen -W '--help", (*verb)->name);
        for (const cli_option *option = (*verb)->options; option != NULL && option->name != NULL; option++)
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

/* Text inside '...' of a shell, without what _arguments of zsh takes as syntax. */
static void print_quoted(FILE *out, const char *text)
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
    print_quoted(out, option->help);
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
        } else if (wants_file(option)) {
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
        print_quoted(out, (*verb)->summary);
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
        for (const cli_option *option = (*verb)->options; option != NULL && option->name != NULL; option++)
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

/* fish takes backslash and quote inside '...' only escaped. */
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
        fputs(wants_file(option) ? " -r -F" : " -x", out);
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
        for (const cli_option *option = (*verb)->options; option != NULL && option->name != NULL; option++)
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

bool cli_completion_print(FILE *out, const cli_verb *const *verbs, const char *shell)
{
    if (strcmp(shell, "bash") == 0) {
        print_bash(out, verbs);
    } else if (strcmp(shell, "zsh") == 0) {
        print_zsh(out, verbs);
    } else if (strcmp(shell, "fish") == 0) {
        print_fish(out, verbs);
    } else {
        return false;
    }
    return true;
}
