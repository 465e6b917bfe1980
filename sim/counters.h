/* The hardware counters of a simulated board: what work makes of them, and windows of what was counted.
 *
 * Each metric has a hidden weight, W per unit of its rate; that of work runs at the rates that, weighed, give
 * the watts it draws at the highest clock, but for what the work's data are worth. Lower clocks slow no work
 * here: then less power goes with the same rates (sim/README.md). */
#ifndef SIM_COUNTERS_H
#define SIM_COUNTERS_H

#include "truth.h"

#define SIM_CHIP "SIM1"

/* name, most of its rate (a second; percent, for a share), W at that rate */
#define SIM_METRIC_MAP(X)                                                                                    \
    X("sm__inst_executed.sum", 4e11, 180.0)                                                                  \
    X("sm__inst_executed_pipe_alu.sum", 2e11, 120.0)                                                         \
    X("sm__pipe_tensor_cycles_active.sum", 9e11, 520.0)                                                      \
    X("sm__warps_active.sum", 1.6e13, 90.0)                                                                  \
    X("l1tex__data_pipe_lsu_wavefronts.sum", 1.5e11, 150.0)                                                  \
    X("lts__t_sectors.sum", 1.2e11, 140.0)                                                                   \
    X("dram__read_throughput.avg.pct_of_peak_sustained_elapsed", 100.0, 110.0)                               \
    X("dram__write_throughput.avg.pct_of_peak_sustained_elapsed", 100.0, 160.0)

enum {
    SIM_METRICS = 0
#define X(name, most, watts) +1
    SIM_METRIC_MAP(X)
#undef X
};

#define SIM_COUNTER_NOISE  0.01 /* of a value, standard deviation */
#define SIM_DATA_SPREAD    0.04 /* names differ by up to this in watts at equal counters ... */
#define SIM_DATA_CONSTANT  0.6  /* ... and those of work on zeros or a constant draw so much of the watts */
#define SIM_CONSTANT_NAMES "zeros", "constant"

/* A second; percent. */
typedef struct sim_rates {
    double of[SIM_METRICS];
} sim_rates;

/* The number of a metric; -1: this chip has none of that name. */
int sim_metric_find(const char *name);
const char *sim_metric_name(int metric);
bool sim_metric_is_share(int metric);

/* W per unit of its rate. */
double sim_metric_weight(int metric);

/* Watts above idle at the highest clock are the weighed rates times this. */
double sim_data_factor(const char *work);

/* The rates of work that draws so much while it alone runs. */
sim_rates sim_rates_of(const sim_profile *profile, const char *work, double power_w);

/* What was counted from start_ns to end_ns: sums; of shares, the mean. With noise. */
typedef struct sim_window {
    int64_t start_ns, end_ns;
    double values[SIM_METRICS];
} sim_window;

/* The counters of a board, in windows one after the other. A board that has them in `counting` drives them.
 */
typedef struct sim_counting {
    const sim_profile *profile;
    const sim_labels *labels; /* borrowed */
    uint64_t key;             /* of noise */
    int64_t period_ns;
    int64_t start_ns; /* of the window that is open */
    int64_t t_ns;     /* counted up to here */
    sim_rates now;
    double sums[SIM_METRICS];
    void (*take)(void *context, const sim_window *window); /* each when it is whole */
    void *context;
} sim_counting;

/* From where the board is; windows begin at multiples of the period after its epoch. */
void sim_counting_begin(sim_counting *counting, sim_board *board, const sim_labels *labels,
                        int64_t period_ns);

/* For the board. */
void sim_counting_advance(sim_counting *counting, int64_t t_ns);
void sim_counting_load(sim_counting *counting, const sim_load *loads, int count);

#endif
