/* Loading libnvrtc, choosing what it compiles for, compiling. */
#include "suite/compiler.h"

#include "suite/fault.h"
#include "suite/libraries.h"
#include "suite/sources.h"

#include <dlfcn.h>
#include <glob.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAPABILITIES_MAX = 64, LOG_MAX = 1 << 20, IMAGE_MAX = 64 << 20 };

static const char none[] =
    "pip install nvidia-cuda-nvrtc (nvidia-cuda-nvrtc-cu12 for a driver of CUDA 12), or PyTorch with CUDA";

/* ---- loading */

/* libnvrtc looks for its libnvrtc-builtins by name alone: outside of the loader's folders it is found if it
 * is loaded already. */
static void load_builtins(const char *path)
{
    char folder[SUITE_PATH], pattern[SUITE_PATH + 32];
    glob_t found;
    if (strchr(path, '/') == NULL) return;
    snprintf(folder, sizeof folder, "%s", path);
    snprintf(pattern, sizeof pattern, "%s/libnvrtc-builtins.so.1[1-9]*", dirname(folder));
    if (glob(pattern, 0, NULL, &found) != 0) return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_GLOBAL);
    globfree(&found);
}

static bool resolve(suite_compiler *compiler, void *library)
{
    const struct {
        const char *symbol;
        void *slot;
    } table[] = {
#define X(symbol, arguments) {#symbol, &compiler->symbol},
        SUITE_NVRTC_MAP(X)
#undef X
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        void *address = dlsym(library, table[i].symbol);
        if (address == NULL) return false;
        memcpy(table[i].slot, &address, sizeof address);
    }
    return true;
}

/* What to compile for: the GPU's own capability, or the highest below it, whose binaries run on the GPU too
 * where the first number is the same. */
static bool choose(suite_compiler *compiler, int capability)
{
    int known[CAPABILITIES_MAX], count = 0;
    compiler->capability = 0;
    if (compiler->nvrtcGetNumSupportedArchs(&count) != 0 || count > CAPABILITIES_MAX) return false;
    if (compiler->nvrtcGetSupportedArchs(known) != 0) return false;
    for (int i = 0; i < count; i++)
        if (known[i] <= capability && known[i] > compiler->capability) compiler->capability = known[i];
    compiler->binary = compiler->capability / 10 == capability / 10;
    return compiler->capability > 0;
}

/* `fault` says why not, if the file is there. */
static bool try_one(suite_compiler *compiler, const char *path, int capability, int driver, char *fault,
                    size_t fault_size)
{
    load_builtins(path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return false;
    bool good = false;
    if (!resolve(compiler, library) || compiler->nvrtcVersion(&compiler->major, &compiler->minor) != 0)
        snprintf(fault, fault_size, "%s is older than CUDA 11.2", path);
    else if (compiler->major > driver / 1000)
        snprintf(fault, fault_size, "%s is of CUDA %d.%d, the driver knows %d.%d", path, compiler->major,
                 compiler->minor, driver / 1000, driver % 1000 / 10);
    else if (!choose(compiler, capability))
        snprintf(fault, fault_size, "%s (CUDA %d.%d) does not know a GPU of compute capability %d.%d", path,
                 compiler->major, compiler->minor, capability / 10, capability % 10);
    else
        good = true;
    return good; /* never closed: libraries of CUDA do not like it */
}

jm_status suite_compiler_load(suite_compiler *compiler, int capability, int driver, bool simulated,
                              jm_error *err)
{
    char fault[400] = "";
    suite_paths *paths = malloc(sizeof *paths);
    if (paths == NULL) return suite_fail(err, JM_NO_MEMORY, "", "no memory");
    suite_libnvrtc_paths(paths, simulated);
    bool found = false;
    for (size_t i = 0; i < paths->count && !found; i++)
        found = try_one(compiler, paths->items[i], capability, driver, fault, sizeof fault);
    free(paths);
    if (found) return JM_OK;
    if (fault[0] != '\0') return suite_fail(err, JM_NOT_SUPPORTED, none, "%s", fault);
    return suite_fail(err, JM_NOT_SUPPORTED, none,
                      "there is no libnvrtc, which compiles the suite's kernels");
}

/* ---- compiling */

/* The first line of the log that speaks of an error. */
static void tell_log(const suite_compiler *compiler, suite_program program, const char *source, int code,
                     jm_error *err)
{
    size_t size = 0;
    char *log = NULL;
    const char *line = NULL;
    if (compiler->nvrtcGetProgramLogSize(program, &size) == 0 && size > 0 && size < LOG_MAX)
        log = calloc(1, size + 1);
    if (log != NULL && compiler->nvrtcGetProgramLog(program, log) == 0) {
        line = strstr(log, "error");
        while (line != NULL && line > log && line[-1] != '\n')
            line--;
        if (line == NULL) line = log;
    }
    if (line == NULL || line[0] == '\0')
        suite_fail(err, JM_NOT_SUPPORTED, "", "%s.cu does not compile: error %d of NVRTC", source, code);
    else
        suite_fail(err, JM_NOT_SUPPORTED, "", "%s.cu does not compile: %.*s", source,
                   (int)strcspn(line, "\n"), line);
    free(log);
}

static jm_status fail_call(const char *call, int code, jm_error *err)
{
    return suite_fail(err, JM_NOT_SUPPORTED, none, "%s returned error %d", call, code);
}

static jm_status take_image(const suite_compiler *compiler, suite_program program, char **image,
                            size_t *taken, jm_error *err)
{
    size_t size = 0;
    int code = compiler->binary ? compiler->nvrtcGetCUBINSize(program, &size)
                                : compiler->nvrtcGetPTXSize(program, &size);
    if (code != 0 || size == 0 || size > IMAGE_MAX) return fail_call("nvrtcGetCUBINSize", code, err);
    *image = calloc(1, size + 1);
    if (*image == NULL) return suite_fail(err, JM_NO_MEMORY, "", "no memory for a kernel's code");
    code =
        compiler->binary ? compiler->nvrtcGetCUBIN(program, *image) : compiler->nvrtcGetPTX(program, *image);
    if (taken != NULL) *taken = size;
    if (code == 0) return JM_OK;
    free(*image);
    *image = NULL;
    return fail_call("nvrtcGetCUBIN", code, err);
}

jm_status suite_compiler_compile(const suite_compiler *compiler, const char *source, bool own, char **image,
                                 size_t *size, jm_error *err)
{
    char target[48], name[64];
    const char *const options[] = {target, "--std=c++14"}, *const header_names[] = {"common.cuh"};
    suite_program program = NULL;
    char *text = suite_source_text(source), *common = suite_source_text("common");
    *image = NULL;
    jm_status status = JM_OK;
    snprintf(target, sizeof target, "--gpu-architecture=%s_%d%s", compiler->binary ? "sm" : "compute",
             compiler->capability, own ? "a" : "");
    snprintf(name, sizeof name, "%s.cu", source);
    int code = -1;
    if (text == NULL || common == NULL) {
        status = suite_fail(err, JM_NO_MEMORY, "", "no memory for a kernel's source");
        goto out;
    }
    const char *const headers[] = {common};
    code = compiler->nvrtcCreateProgram(&program, text, name, 1, headers, header_names);
    if (code != 0) {
        status = fail_call("nvrtcCreateProgram", code, err);
        goto out;
    }
    code = compiler->nvrtcCompileProgram(program, 2, options);
    if (code != 0) {
        tell_log(compiler, program, source, code, err);
        status = JM_NOT_SUPPORTED;
        goto out;
    }
    status = take_image(compiler, program, image, size, err);
out:
    if (program != NULL) compiler->nvrtcDestroyProgram(&program);
    free(text);
    free(common);
    return status;
}
