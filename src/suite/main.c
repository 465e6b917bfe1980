/* The command joulemap-suite: kernels of many families in bursts, out of which a board's power is learnt, for
 * a machine without PyTorch. Exit codes: those of joulemap (69: no CUDA or no NVRTC, 75: busy, 77: not
 * permitted), or 128 and a signal's number. */
#include "suite/check.h"
#include "suite/options.h"
#include "suite/record.h"
#include "suite/watch.h"

#include <stdio.h>

static int fail(const jm_error *err)
{
    char text[2 * sizeof err->text], hint[2 * sizeof err->hint];
    fprintf(stderr, "joulemap-suite: %s\n", jm_text_printable(text, sizeof text, err->text));
    if (err->hint[0] != '\0') fprintf(stderr, "  %s\n", jm_text_printable(hint, sizeof hint, err->hint));
    return jm_status_exit_code(err->status);
}

int main(int argc, char **argv)
{
    enum { SIGNALLED = 128 };
    suite_options options;
    jm_error err;
    int code = suite_options_read(&options, argc, argv);
    if (code >= 0) return code;
    if (options.list) {
        suite_show_list();
        return 0;
    }
    jm_status status;
    if (options.compile > 0) {
        status = suite_compile_all(options.compile, options.sim != NULL, &err);
    } else {
        suite_watch_signals();
        status = suite_record(&options, &err);
    }
    if (status != JM_OK) return fail(&err);
    return suite_ended() != 0 ? SIGNALLED + suite_ended() : 0;
}
