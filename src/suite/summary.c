/* Counting and naming. */
#include "suite/summary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A text as JSON has it, in place of what it may not: quotes and control characters. */
static void escape(char *out, size_t size, const char *text)
{
    size_t i = 0;
    for (; text[i] != '\0' && i + 1 < size; i++)
        out[i] = text[i] == '"' || text[i] == '\\' || (unsigned char)text[i] < ' ' ? '\'' : text[i];
    out[i] = '\0';
}

void suite_mark_ready(const suite_ready *ready, uint64_t seed)
{
    char meta[320], reason[200];
    for (size_t i = 0; i < ready->reason_count; i++) {
        escape(reason, sizeof reason, ready->reasons[i].text);
        snprintf(meta, sizeof meta, "{\"reason\": \"%s\", \"kernels\": %zu}", reason,
                 ready->reasons[i].count);
        jm_mark("left out", meta);
    }
    snprintf(meta, sizeof meta, "{\"suite\": \"cuda\", \"entries\": %zu, \"left_out\": %zu, \"seed\": %llu}",
             ready->count, ready->left_out, (unsigned long long)seed);
    jm_mark("suite", meta);
}

static size_t family_length(const suite_entry *entry)
{
    return strcspn(entry->name, "/") + 1;
}

static size_t count_families(const suite_ready *ready)
{
    size_t count = 0;
    for (size_t i = 0; i < ready->count; i++) {
        const suite_entry *entry = &ready->entries[i];
        size_t k = 0;
        while (k < i && strncmp(ready->entries[k].name, entry->name, family_length(entry)) != 0)
            k++;
        count += k == i;
    }
    return count;
}

void suite_show_summary(const suite_ready *ready, const suite_played *played, const suite_driver *driver,
                        const char *path)
{
    double least_s = INFINITY, most_s = 0;
    for (size_t i = 0; i < ready->count; i++) {
        least_s = fmin(least_s, played->seconds[i]);
        most_s = fmax(most_s, played->seconds[i]);
    }
    printf("%s: %zu kernels of %zu families, %zu bursts, %.2f to %.2f s of each\n", path, ready->count,
           count_families(ready), played->bursts, least_s, most_s);
    printf("memory taken: %.1f GiB\n", (double)driver->taken_bytes / 0x1p30);
    for (size_t i = 0; i < ready->reason_count; i++) {
        const suite_reason *reason = &ready->reasons[i];
        printf("left out, %s:", reason->text);
        for (size_t k = 0; k < reason->count && k < SUITE_REASON_NAMES; k++)
            printf("%s %s", k > 0 ? "," : "", reason->names[k]);
        if (reason->count > SUITE_REASON_NAMES) printf(" and %zu more", reason->count - SUITE_REASON_NAMES);
        printf("\n");
    }
}
