/* Seconds and memory of reports on recordings with much of one thing, and how many times those of a report
 * on the same work without it: 200,000 kernels. */
#include "../tests/unit/grown_report.h"

enum { KERNELS = 200000, RUNS = 3 };

static const struct {
    grown_kind kind;
    size_t count;
    const char *by;
} cases[] = {
    {GROWN_LOSSES, 40000, "layer"}, {GROWN_CLASSES, 16000, "kernel"}, {GROWN_MARKS, 700000, "layer"},
    {GROWN_RANGES, 30000, "layer"}, {GROWN_RANGES, 30000, "span"},    {GROWN_CALLS, 30000, "layer"},
    {GROWN_PHASES, 30000, "phase"}, {GROWN_LAYERS, 700000, "layer"},  {GROWN_SHAPELESS, 700000, "kernel"},
};

int main(void)
{
    char folder[] = "/tmp/joulemap-bench-XXXXXX", base[64], path[64];
    if (mkdtemp(folder) == NULL) return perror(folder), 1;
    snprintf(base, sizeof base, "%s/base.joulemap", folder);
    snprintf(path, sizeof path, "%s/grown.joulemap", folder);
    bool fine = grown_write_apart(base, GROWN_NOTHING, 0, KERNELS);
    printf("%d kernels of %d classes, and besides:\n", (int)KERNELS, (int)GROWN_KERNEL_CLASSES);
    for (size_t i = 0; fine && i < sizeof cases / sizeof *cases; i++) {
        for (int json = 0; fine && json < 2; json++) {
            grown_cost without, with;
            fine = (json == 1 || grown_write_apart(path, cases[i].kind, cases[i].count, KERNELS)) &&
                   grown_report(base, cases[i].by, json == 1, RUNS, &without) == 0 &&
                   grown_report(path, cases[i].by, json == 1, RUNS, &with) == 0;
            if (!fine) break;
            printf("%6zu %-60s by %-6s %-5s %5.2f s of CPU (%.1f times), at most %4.0f MB (%.1f times)\n",
                   cases[i].count, grown_text(cases[i].kind), cases[i].by, json == 1 ? "JSON" : "text",
                   with.cpu_s, with.cpu_s / without.cpu_s, with.memory_mb,
                   with.memory_mb / without.memory_mb);
            fflush(stdout);
        }
    }
    unlink(base);
    unlink(path);
    rmdir(folder);
    return fine ? 0 : 1;
}
