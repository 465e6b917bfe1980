/* What work makes of the counters, and windows of what was counted. */
#include "counters.h"

#include "noise.h"

#include <string.h>

static const struct {
    const char *name;
    double most, watts;
} metrics[SIM_METRICS] = {
#define X(name, most, watts) {name, most, watts},
    SIM_METRIC_MAP(X)
#undef X
};

enum { TENSOR = 2 }; /* takes what a share cannot */

int sim_metric_find(const char *name)
{
    for (int i = 0; i < SIM_METRICS; i++)
        if (strcmp(metrics[i].name, name) == 0) return i;
    return -1;
}

const char *sim_metric_name(int metric)
{
    return metrics[metric].name;
}

bool sim_metric_is_share(int metric)
{
    return strstr(metrics[metric].name, ".pct") != NULL;
}

double sim_metric_weight(int metric)
{
    return metrics[metric].watts / metrics[metric].most;
}

double sim_data_factor(const char *work)
{
    static const char *const constant[] = {SIM_CONSTANT_NAMES};
    for (size_t i = 0; i < sizeof constant / sizeof *constant; i++)
        if (strstr(work, constant[i]) != NULL) return SIM_DATA_CONSTANT;
    uint64_t key = sim_key(sim_text_key(work, strlen(work)), 1);
    return 1 + SIM_DATA_SPREAD * (2 * sim_uniform(key) - 1);
}

sim_rates sim_rates_of(const sim_profile *profile, const char *work, double power_w)
{
    sim_rates rates = {{0}};
    double parts[SIM_METRICS], all = 0, over_w = 0;
    uint64_t key = sim_key(sim_text_key(work, strlen(work)), 2);
    double above_w = fmax(power_w - profile->idle_context_w, 0) / sim_data_factor(work);
    for (int i = 0; i < SIM_METRICS; i++) { /* squared: most work lives of a few units */
        parts[i] = pow(sim_uniform(sim_key(key, (uint64_t)i)), 2) * metrics[i].watts;
        all += parts[i];
    }
    for (int i = 0; i < SIM_METRICS; i++) {
        double watts = above_w * parts[i] / all;
        if (sim_metric_is_share(i) && watts > 0.95 * metrics[i].watts) {
            over_w += watts - 0.95 * metrics[i].watts;
            watts = 0.95 * metrics[i].watts;
        }
        rates.of[i] = watts / sim_metric_weight(i);
    }
    rates.of[TENSOR] += over_w / sim_metric_weight(TENSOR);
    return rates;
}

/* ---- windows */

void sim_counting_begin(sim_counting *counting, sim_board *board, const sim_labels *labels, int64_t period_ns)
{
    int64_t t_ns = board->power.t_ns, into_ns = (t_ns - board->epoch_ns) % period_ns;
    if (into_ns < 0) into_ns += period_ns;
    counting->profile = board->profile;
    counting->labels = labels;
    counting->key = sim_key(board->key, 200);
    counting->period_ns = period_ns;
    counting->start_ns = t_ns - into_ns; /* the first is not whole, but no more is known of it */
    counting->t_ns = t_ns;
    memset(counting->sums, 0, sizeof counting->sums);
    sim_counting_load(counting, board->power.loads, board->power.load_count);
    board->counting = counting;
}

static void close_window(sim_counting *counting)
{
    sim_window window = {counting->start_ns, counting->start_ns + counting->period_ns, {0}};
    uint64_t key = sim_key(counting->key, (uint64_t)window.start_ns);
    for (int i = 0; i < SIM_METRICS; i++) {
        double noise = 1 + SIM_COUNTER_NOISE * sim_normal(sim_key(key, (uint64_t)i));
        double seconds = sim_metric_is_share(i) ? (double)counting->period_ns * 1e-9 : 1;
        window.values[i] = fmax(counting->sums[i] / seconds * noise, 0);
    }
    counting->start_ns = window.end_ns;
    memset(counting->sums, 0, sizeof counting->sums);
    counting->take(counting->context, &window);
}

void sim_counting_advance(sim_counting *counting, int64_t t_ns)
{
    while (counting->t_ns < t_ns) {
        int64_t end_ns = counting->start_ns + counting->period_ns;
        int64_t next_ns = t_ns < end_ns ? t_ns : end_ns;
        for (int i = 0; i < SIM_METRICS; i++)
            counting->sums[i] += counting->now.of[i] * (double)(next_ns - counting->t_ns) * 1e-9;
        counting->t_ns = next_ns;
        if (next_ns == end_ns) close_window(counting);
    }
}

void sim_counting_load(sim_counting *counting, const sim_load *loads, int count)
{
    memset(&counting->now, 0, sizeof counting->now);
    for (int k = 0; k < count; k++) {
        const sim_label *label = &counting->labels->items[loads[k].label];
        const char *work = label->type[0] != '\0' ? label->type : label->name;
        sim_rates rates = sim_rates_of(counting->profile, work, loads[k].power_w);
        for (int i = 0; i < SIM_METRICS; i++)
            counting->now.of[i] += rates.of[i];
    }
}
