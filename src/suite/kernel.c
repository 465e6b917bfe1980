/* Names and sizes. */
#include "suite/kernel.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *text, *maker;
    uint64_t bytes;
} types[] = {
#define X(name, text, bytes, data) {text, data, bytes},
    SUITE_TYPE_MAP(X)
#undef X
};

const char *suite_kind_text(suite_kind kind)
{
    static const char *const texts[] = {"random", "trained", "constant", "zeros"};
    return texts[kind];
}

const char *suite_type_text(suite_type type)
{
    return types[type].text;
}

uint64_t suite_type_bytes(suite_type type)
{
    return types[type].bytes;
}

void suite_type_maker(suite_type type, char *text, size_t size)
{
    snprintf(text, size, "data_%s", types[type].maker);
}

void suite_kernel_name(const suite_kernel *kernel, const uint64_t n[4], char *text, size_t size)
{
    size_t length = (size_t)snprintf(text, size, "%s/%s", kernel->family, kernel->what);
    for (int i = 0; i < 4 && length < size; i++) {
        if (n[i] == 0) continue;
        length += (size_t)snprintf(text + length, size - length, "%c%llu", i == 0 ? '-' : 'x',
                                   (unsigned long long)n[i]);
    }
    if (length < size) snprintf(text + length, size - length, "-%s", types[kernel->type].text);
}

void suite_kernel_function(const suite_kernel *kernel, char *text, size_t size)
{
    snprintf(text, size, "%s_%s", kernel->what, types[kernel->type].text);
    for (; *text != '\0'; text++)
        if (*text == '-') *text = '_';
}

bool suite_kernel_is_heavy(const suite_kernel *kernel)
{
    static const char *const heavy[] = {"product", "single", "double", "convolution"};
    for (size_t i = 0; i < sizeof heavy / sizeof *heavy; i++)
        if (strcmp(kernel->family, heavy[i]) == 0) return true;
    return false;
}

bool suite_kernel_is_for(const suite_kernel *kernel, int capability)
{
    return kernel->capability < 0 ? capability == -kernel->capability : capability >= kernel->capability;
}

/* Tiles and packs fit: a large number stays a multiple of 1024, a small one of 8. */
void suite_kernel_scale(const suite_kernel *kernel, double share, uint64_t n[4])
{
    enum { LARGE = 2048 };
    memcpy(n, kernel->n, sizeof kernel->n);
    if (share > 0.9) return;
    double unit = n[0] >= LARGE ? 1024 : 8;
    n[0] = (uint64_t)(unit * fmax(1, round((double)n[0] * share / unit)));
}
