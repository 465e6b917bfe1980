/* JSON on stdout. */
#include "cli/json.h"

#include "cli/verb.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

json_t *cli_json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static int write_bytes(const char *bytes, size_t count, void *context)
{
    errno = 0;
    if (fwrite(bytes, 1, count, context) != count) cli_write_failed(errno);
    return 0; /* stdout remembers */
}

/* As it is made: json_dumps leaves a key out for which its buffer could not grow (jansson 2.14). */
static int write_document(const cli_args *args, json_t *document_take, size_t flags)
{
    FILE *out = cli_data_open(stdout);
    bool whole = document_take != NULL && out != NULL &&
                 json_dump_callback(document_take, write_bytes, out, flags | JSON_REAL_PRECISION(12)) == 0;
    json_decref(document_take);
    cli_data_close(out, stdout);
    if (!whole) return cli_error(args, JM_NO_MEMORY, "", "out of memory");
    cli_write("\n");
    return 0;
}

int cli_json_write(const cli_args *args, json_t *document_take)
{
    return write_document(args, document_take, JSON_INDENT(2));
}

int cli_json_write_line(const cli_args *args, json_t *document_take)
{
    int code = write_document(args, document_take, JSON_COMPACT);
    fflush(stdout); /* an error of it stays there for the end */
    return code;
}
