/* What the fuzz targets share: libFuzzer's entry, and files to put an input into. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Each target has one. Returns 0; finds a fault by crashing. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The path of a file in this process's scratch folder (made at the first call,
 * removed at exit). Valid until the next call but seven. */
const char *fuzz_path(const char *name);

/* Write a whole file there; returns its path. */
const char *fuzz_file(const char *name, const void *data, size_t size);

/* Remove everything from the scratch folder. */
void fuzz_clear(void);

/* Stop as a found fault if a promise is broken. */
#define FUZZ_PROMISE(condition)                                                                              \
    do {                                                                                                     \
        if (!(condition)) fuzz_broken(#condition, __FILE__, __LINE__);                                       \
    } while (0)
_Noreturn void fuzz_broken(const char *promise, const char *file, int line);

#endif
