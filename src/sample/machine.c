/* What the machine offers beside its boards: for `doctor`. */
#include "sample/inventory.h"

#include <dlfcn.h>
#include <glob.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROBE_LIMIT_S 10
#define SHM_FREE_MIN  (UINT64_C(64) << 20)

/* Load a library and ask it for one number, in a child: drivers may hang, crash, or leave threads behind.
 * `symbol` is called with a pointer to the number (of_version) or with 0. False with words in `why`. */
typedef struct probe {
    const char *symbol;
    bool of_version;
} probe;

typedef struct probe_answer {
    int code; /* what the call returned */
    uint32_t version;
    char why[192]; /* "" if it was called */
} probe_answer;

static void probe_child(const char *library, const probe *what, int out)
{
    probe_answer answer = {0};
    sigset_t none;
    sigemptyset(&none);
    signal(SIGALRM, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    alarm(PROBE_LIMIT_S);
    unsetenv("CUDA_INJECTION64_PATH"); /* nothing shall be traced here */
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void *address = handle == NULL ? NULL : dlsym(handle, what->symbol);
    if (address == NULL) {
        const char *text = dlerror();
        snprintf(answer.why, sizeof answer.why, "%.190s", text == NULL ? "no reason given" : text);
    } else if (what->of_version) {
        int (*call)(uint32_t *);
        memcpy(&call, &address, sizeof call);
        answer.code = call(&answer.version);
    } else {
        int (*call)(unsigned);
        memcpy(&call, &address, sizeof call);
        answer.code = call(0);
    }
    ssize_t written = write(out, &answer, sizeof answer);
    _exit(written == (ssize_t)sizeof answer ? 0 : 1);
}

static void probe_run(const char *library, const probe *what, probe_answer *answer)
{
    int ends[2];
    *answer = (probe_answer){0};
    snprintf(answer->why, sizeof answer->why, "loading %.120s crashed or took longer than %d s", library,
             PROBE_LIMIT_S);
    if (pipe(ends) != 0) return;
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        probe_child(library, what, ends[1]);
    }
    close(ends[1]);
    probe_answer got;
    if (child > 0 && read(ends[0], &got, sizeof got) == (ssize_t)sizeof got) *answer = got;
    close(ends[0]);
    if (child > 0) waitpid(child, NULL, 0);
}

/* First file that a pattern finds. */
static bool first_match(const char *pattern, char *path, size_t size)
{
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0) return false;
    bool any = found.gl_pathc > 0;
    if (any) snprintf(path, size, "%s", found.gl_pathv[found.gl_pathc - 1]); /* the highest version */
    globfree(&found);
    return any;
}

/* An address of our own library. */
static const char here[] = "joulemap";

/* libcupti below one place where Python keeps packages. */
static bool in_packages(const char *place, char *path, size_t size)
{
    static const char *const wheels[] = {"nvidia/cu1[3-9]/lib/libcupti.so.1[3-9]",
                                         "nvidia/cuda_cupti/lib/libcupti.so.1[2-9]"};
    for (size_t i = 0; i < sizeof wheels / sizeof wheels[0]; i++) {
        char pattern[1024];
        snprintf(pattern, sizeof pattern, "%.700s/%s", place, wheels[i]);
        if (first_match(pattern, path, size)) return true;
    }
    return false;
}

/* Site-packages that a Python started from here would use, and the one our own package lies in. */
static bool in_site_packages(char *path, size_t size)
{
    char place[800];
    const char *environment = getenv("VIRTUAL_ENV");
    const char *home = getenv("HOME");
    Dl_info info;
    if (environment != NULL) {
        snprintf(place, sizeof place, "%.600s/lib/python3*/site-packages", environment);
        if (in_packages(place, path, size)) return true;
    }
    if (dladdr(here, &info) != 0 && info.dli_fname != NULL) {
        /* joulemap/_native/libjoulemap.so: two folders up */
        snprintf(place, sizeof place, "%.600s/../../..", info.dli_fname);
        char *slash = strrchr(info.dli_fname, '/');
        if (slash != NULL)
            snprintf(place, sizeof place, "%.*s/../..", (int)(slash - info.dli_fname), info.dli_fname);
        if (in_packages(place, path, size)) return true;
    }
    if (home != NULL) {
        snprintf(place, sizeof place, "%.600s/.local/lib/python3*/site-packages", home);
        if (in_packages(place, path, size)) return true;
    }
    return in_packages("/usr/local/lib/python3*/*-packages", path, size) ||
           in_packages("/usr/lib/python3*/*-packages", path, size);
}

/* The search order of src/inject/cupti.c, but for a libcupti that a program has loaded already. NULL: only
 * the loader's own path is left. */
static const char *cupti_find(char *path, size_t size)
{
    const char *override = getenv("JOULEMAP_CUPTI");
    if (override != NULL && override[0] != '\0') {
        snprintf(path, size, "%s", override);
        return "JOULEMAP_CUPTI";
    }
    if (in_site_packages(path, size)) return "site-packages";
    const char *homes[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    static const char *const names[] = {"CUDA_HOME", "CUDA_PATH", "/usr/local/cuda"};
    for (size_t i = 0; i < sizeof homes / sizeof homes[0]; i++) {
        char pattern[1024];
        if (homes[i] == NULL) continue;
        snprintf(pattern, sizeof pattern, "%.700s/extras/CUPTI/lib64/libcupti.so.1[2-9]", homes[i]);
        if (first_match(pattern, path, size)) return names[i];
        snprintf(pattern, sizeof pattern, "%.700s/lib64/libcupti.so.1[2-9]", homes[i]);
        if (first_match(pattern, path, size)) return names[i];
    }
    return NULL;
}

static void cupti_note(jm__findings *findings)
{
    char path[1024];
    const char *where = cupti_find(path, sizeof path);
    static const char *const sonames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
    const probe version = {"cuptiGetVersion", true};
    probe_answer answer = {.why = "not found"};
    if (where != NULL) probe_run(path, &version, &answer);
    for (size_t i = 0; where == NULL && i < sizeof sonames / sizeof sonames[0] && answer.why[0] != '\0';
         i++) {
        snprintf(path, sizeof path, "%s", sonames[i]);
        probe_run(path, &version, &answer);
    }
    if (where == NULL) where = "the loader's path";
    const char *cure =
        "pip install nvidia-cuda-cupti (PyTorch with CUDA brings it), or name it in JOULEMAP_CUPTI; "
        "without it, energy goes to layers by their spans, not by kernels";
    if (answer.why[0] != '\0')
        jm__finding_add(findings, "CUPTI", false, cure, "%.200s", answer.why);
    else if (answer.code != 0)
        jm__finding_add(findings, "CUPTI", false, cure, "cuptiGetVersion of %.160s: error %d", path,
                        answer.code);
    else
        jm__finding_add(findings, "CUPTI", true, "", "%.180s (%s), API version %u", path, where,
                        answer.version);
}

static void cuda_note(jm__findings *findings)
{
    probe_answer answer;
    probe_run("libcuda.so.1", &(probe){"cuInit", false}, &answer);
    if (answer.why[0] != '\0')
        jm__finding_add(findings, "CUDA", false,
                        "install the NVIDIA driver; not needed for the simulated board", "%.200s",
                        answer.why);
    else if (answer.code != 0)
        jm__finding_add(findings, "CUDA", false, "`nvidia-smi` should work first; check CUDA_VISIBLE_DEVICES",
                        "cuInit: error %d%s", answer.code, answer.code == 100 ? " (no device)" : "");
    else
        jm__finding_add(findings, "CUDA", true, "", "cuInit works");
}

/* The rings of a run live in shared memory. */
static void shm_note(jm__findings *findings)
{
    struct statvfs space;
    const char *cure = "give the container more: docker run --shm-size=1g, or --ipc=host";
    if (statvfs("/dev/shm", &space) != 0 || access("/dev/shm", W_OK) != 0) {
        jm__finding_add(findings, "shared memory", false, cure, "/dev/shm is not there or not writable");
        return;
    }
    uint64_t free_bytes = (uint64_t)space.f_bavail * (uint64_t)space.f_frsize;
    jm__finding_add(findings, "shared memory", free_bytes >= SHM_FREE_MIN, cure, "/dev/shm: %llu MiB free",
                    (unsigned long long)(free_bytes >> 20));
}

void jm__machine_findings_add(jm__findings *findings)
{
    cuda_note(findings);
    cupti_note(findings);
    shm_note(findings);
    jm__finding_add(findings, "SQLite", true, "", "version %s", sqlite3_libversion());
}
