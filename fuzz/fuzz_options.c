/* Any words after any verb: parsed, or refused with exit code 2; never run.
 *
 * An input is one word a line; the first names the verb (an unknown one: each verb gets the words). */
#include "fuzz.h"

#include "cli/verb.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 64 };

static void parse(const cli_verb *verb, int argc, char **argv)
{
    cli_args args = {0};
    int code = cli_args_parse(&args, verb, argc, argv);
    FUZZ_PROMISE(code == CLI_GO_ON || code == jm_status_exit_code(JM_USAGE));
    if (code == CLI_GO_ON) {
        for (const cli_option *option = verb->options; option->name; option++) {
            const char *value = cli_get(&args, option->name);
            FUZZ_PROMISE(value != NULL || !cli_is_required(verb, option));
            FUZZ_PROMISE(value == NULL || !cli_takes_word(option) || value[0] != '\0');
        }
        int operands = 0;
        while (cli_operand(&args, operands))
            operands++;
        FUZZ_PROMISE(operands >= verb->min_operands);
        FUZZ_PROMISE(verb->max_operands < 0 || operands <= verb->max_operands);
        FUZZ_PROMISE(!verb->takes_command || (cli_command(&args) && cli_command(&args)[0]));
    }
    cli_args_free(&args);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *nowhere;
    if (!nowhere) {
        nowhere = fopen("/dev/null", "w");
        FUZZ_PROMISE(nowhere != NULL);
    }
    char *text = malloc(size + 1);
    FUZZ_PROMISE(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    char *words[WORDS_MAX + 1];
    int count = 0;
    char *rest = text;
    for (char *word; count < WORDS_MAX && (word = strsep(&rest, "\n")) != NULL;)
        words[count++] = word;
    words[count] = NULL;

    FILE *words_go_to = stderr;
    stderr = nowhere;
    const cli_verb *verb = cli_verb_find(cli_verbs, words[0]);
    if (verb) {
        parse(verb, count - 1, words + 1);
    } else {
        FUZZ_PROMISE(cli_verb_unknown(cli_verbs, NULL, words[0]) == jm_status_exit_code(JM_USAGE));
        for (const cli_verb *const *each = cli_verbs; *each; each++)
            parse(*each, count - 1, words + 1);
    }
    stderr = words_go_to;
    free(text);
    return 0;
}
