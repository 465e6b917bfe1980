/* Nsight Compute (ncu): where it is, and a program under it. */
#ifndef CLI_NCU_H
#define CLI_NCU_H

#include "cli/verb.h"

typedef struct cli_ncu_wishes {
    char **command;
    const char *to;      /* the file to write */
    const char *page;    /* "raw", "details" */
    const char *metrics; /* "a,b,c" */
    const char *options; /* words for ncu, with spaces between them; NULL: none */
    double timeout_s;    /* 0: none */
} cli_ncu_wishes;

/* Run it. 0: the file is there and *program is the exit code of ncu, which is the program's; else the exit
 * code, and why was told. */
int cli_ncu_run(const cli_args *args, const cli_ncu_wishes *wishes, int *program);

#endif
