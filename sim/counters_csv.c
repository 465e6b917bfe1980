/* The counters of a generated recording as CSV. */
#include "counters_csv.h"

#include <inttypes.h>

void sim_counters_csv_header(FILE *file)
{
    fputs("start_ns,end_ns", file);
    for (int i = 0; i < SIM_METRICS; i++)
        fprintf(file, ",%s", sim_metric_name(i));
    fputc('\n', file);
}

void sim_counters_csv_take(void *context, const sim_window *window)
{
    FILE *file = context;
    fprintf(file, "%" PRId64 ",%" PRId64, window->start_ns, window->end_ns);
    for (int i = 0; i < SIM_METRICS; i++)
        fprintf(file, ",%.6g", window->values[i]);
    fputc('\n', file);
}

void sim_counters_truth(FILE *file, const sim_profile *profile)
{
    fputs("metric,weight\n", file);
    for (int i = 0; i < SIM_METRICS; i++)
        fprintf(file, "%s,%.9g\n", sim_metric_name(i), sim_metric_weight(i));
    fprintf(file, "(constant),%.9g\n", profile->idle_context_w);
}
