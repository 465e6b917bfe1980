/* A file that is there only when it is whole: written under another name in the same folder, then renamed.
 * What is no regular file (a pipe, /dev/stdout) is written as it is. */
#ifndef CLI_WHOLE_FILE_H
#define CLI_WHOLE_FILE_H

#include <joulemap/status.h>
#include <stdio.h>

typedef struct cli_whole_file {
    const char *path;
    char *temporary; /* NULL: written directly */
    FILE *stream;
} cli_whole_file;

jm_status cli_whole_file_open(cli_whole_file *file, const char *path, jm_error *err);

/* `status`: how writing went; if not well, what was there before stays. Returns it, or how closing went. */
jm_status cli_whole_file_close(cli_whole_file *file, jm_status status, jm_error *err);

#endif
