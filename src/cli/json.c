/* JSON on stdout. */
#include "cli/json.h"

#include <math.h>
#include <stdlib.h>

json_t *cli_json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

int cli_json_write(const cli_args *args, json_t *document_take)
{
    char *text =
        document_take == NULL ? NULL : json_dumps(document_take, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    json_decref(document_take);
    if (text == NULL) return cli_error(args, JM_NO_MEMORY, "", "out of memory");
    cli_write(text);
    cli_write("\n");
    free(text);
    return 0;
}
