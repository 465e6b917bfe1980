/* joulemap.1 in roff, made from the tables of verb.h. */
#include "cli/args.h"

#include <string.h>

/* Text where nothing is an instruction to roff. `line_start`: a leading dot needs a guard. */
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

static void print_description(FILE *out, const char *text)
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

static void print_option(FILE *out, const cli_option *option)
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
    fputs(option->required ? " (required)\n" : "\n", out);
}

static void print_verb(FILE *out, const cli_verb *verb)
{
    fprintf(out, ".SS \"joulemap %s %s\"\n", verb->name, verb->usage);
    print_description(out, verb->description);
    for (const cli_option *option = verb->options; option != NULL && option->name != NULL; option++)
        print_option(out, option);
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

void cli_man_print(FILE *out, const cli_verb *const *verbs)
{
    fprintf(out, ".TH JOULEMAP 1 \"\" \"joulemap %s\" \"User Commands\"\n", jm_version());
    fputs(
        ".SH NAME\njoulemap \\- where every joule of a GPU program goes\n"
        ".SH SYNOPSIS\n.B joulemap\n.I VERB\n[\\fIoptions\\fR] [\\fB\\-\\-\\fR \\fICOMMAND\\fR ...]\n"
        ".SH DESCRIPTION\n"
        "joulemap measures the energy of GPU programs and tells to which phase, layer and kernel each joule\n"
        "belongs. Every figure comes with its 95 % interval and a word for how it is known.\n"
        "Results go to standard output, words to standard error.\n"
        ".SH VERBS\n",
        out);
    for (const cli_verb *const *verb = verbs; *verb != NULL; verb++)
        print_verb(out, *verb);
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
