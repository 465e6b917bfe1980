/* The answering end of a probe, in a process that exists for this alone. */
#include <joulemap/doctor.h>

#include "base/helper.h"
#include "doctor/probe.h"
#include "record/cupti/search.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define LIFE_MAX_S 60 /* if the process that asked is gone */

static void try_cuda(const char *library, char *line, size_t size)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void *address = handle == NULL ? NULL : dlsym(handle, "cuInit");
    if (address == NULL) {
        const char *text = dlerror();
        snprintf(line, size, JM_PROBE_WORD_FAULT " %s", text == NULL ? "no reason given" : text);
        return;
    }
    int (*init)(unsigned);
    memcpy(&init, &address, sizeof init);
    snprintf(line, size, JM_PROBE_WORD_CALLED " %u", (unsigned)init(0));
}

static void try_cupti(const char *library, char *line, size_t size)
{
    uint32_t version;
    char fault[480];
    if (jm__cupti_open(library, &version, fault, sizeof fault) != NULL)
        snprintf(line, size, JM_PROBE_WORD_CALLED " %u", version);
    else if (fault[0] == '\0')
        snprintf(line, size, JM_PROBE_WORD_ABSENT);
    else
        snprintf(line, size, JM_PROBE_WORD_FAULT " %s", fault);
}

int jm_doctor_probe(const char *what, const char *library)
{
    char line[512];
    const struct rlimit no_core = {0};
    /* What a library prints of itself goes nowhere. */
    int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), nowhere = open("/dev/null", O_WRONLY);
    if (out < 0 || nowhere < 0) return jm_status_exit_code(JM_IO);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    jm__helper_close_others(out);
    setrlimit(RLIMIT_CORE, &no_core);
    alarm(LIFE_MAX_S);
    if (strcmp(what, JM_PROBE_CUDA) == 0)
        try_cuda(library, line, sizeof line - 1);
    else if (strcmp(what, JM_PROBE_CUPTI) == 0)
        try_cupti(library, line, sizeof line - 1);
    else
        return jm_status_exit_code(JM_USAGE);
    size_t length = strlen(line);
    line[length++] = '\n';
    bool written = write(out, line, length) == (ssize_t)length;
    _exit(written ? 0 : jm_status_exit_code(JM_IO)); /* a driver may hang in what it does at exit */
}
