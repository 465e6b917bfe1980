/* JSON on stdout, for verbs that answer with a document of their own. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include "cli/verb.h"
#include <jansson.h>

/* A number, null where there is none (NAN). */
json_t *cli_json_number(double value);

/* Print the document and free it; returns the exit code. */
int cli_json_write(const cli_args *args, json_t *document_take);

/* The same on one line, at once: one of several documents. */
int cli_json_write_line(const cli_args *args, json_t *document_take);

#endif
