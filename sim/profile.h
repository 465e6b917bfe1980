/* A board's profile: what a board is and how its sensors answer, from a JSON file (sim/README.md). */
#ifndef SIM_PROFILE_H
#define SIM_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The sensors of a board: name in the profile */
#define SIM_CHANNEL_MAP(X)                                                                                   \
    X(RING, "ring")                 /* nvmlDeviceGetSamples(TOTAL_POWER), W */                               \
    X(INSTANT, "instant")           /* field 186, W */                                                       \
    X(AVERAGE, "average")           /* field 185, W */                                                       \
    X(COUNTER, "counter")           /* nvmlDeviceGetTotalEnergyConsumption, J */                             \
    X(MEMORY_POWER, "memory_power") /* field 185, scope memory, W */                                         \
    X(UTILISATION, "utilisation")   /* nvmlDeviceGetSamples(GPU_UTILIZATION), percent */                     \
    X(MEMORY_UTILISATION, "memory_utilisation")

enum {
#define X(name, text) SIM_CHANNEL_##name,
    SIM_CHANNEL_MAP(X)
#undef X
        SIM_CHANNEL_COUNT
};

typedef enum sim_response {
    SIM_RESPONSE_NONE,
    SIM_RESPONSE_FIRST_ORDER,
    SIM_RESPONSE_BOX,
    SIM_RESPONSE_COUNTER
} sim_response;

/* One sensor. Its value k belongs to the grid time phase + k * period. */
typedef struct sim_channel_profile {
    sim_response response; /* NONE: this board has no such sensor */
    int64_t period_ns;
    int64_t tau_ns;    /* FIRST_ORDER */
    int64_t window_ns; /* BOX */
    int64_t lag_ns;
    int64_t delay_min_ns; /* from its stamp until it can be read */
    int64_t delay_max_ns;
    int64_t jitter_ns;   /* a stamp lies within this of the grid, even */
    int64_t late_every;  /* one in so many samples comes late, 0: none ... */
    double late_share;   /* ... in this share of cases ... */
    int64_t late_min_ns; /* ... by so much */
    int64_t late_max_ns;
    int64_t depth;          /* how many samples can be read back */
    double noise;           /* standard deviation, in the channel's unit ... */
    double noise_throttled; /* ... and while the cap holds the board down */
    int64_t read_cost_ns;
    double read_tail_share; /* this share of reads costs read_tail_ns */
    int64_t read_tail_ns;
} sim_channel_profile;

/* P is settled only this long after the fact, so that the records of all threads have come in; no
 * sensor can be read sooner. */
#define SIM_HORIZON_NS INT64_C(10000000)

#define SIM_TEXT       96
#define SIM_STAGES     8
#define SIM_LIVE_TYPES 64
#define SIM_DIRECTIONS 4
enum { SIM_FORWARD, SIM_BACKWARD, SIM_OPTIMIZER, SIM_OTHER };

/* Power after the end of work, until it has been idle for `until_ns`. */
typedef struct sim_idle_stage {
    int64_t until_ns;
    double power_w;
} sim_idle_stage;

typedef struct sim_live_type {
    char type[SIM_TEXT];
    double power_w[SIM_DIRECTIONS]; /* 0: not in the profile */
} sim_live_type;

typedef struct sim_profile {
    char id[32]; /* "h200" */
    char name[SIM_TEXT];
    char driver[SIM_TEXT];
    char nvml[SIM_TEXT];
    int cuda_driver; /* 13000 */
    int cc_major;
    int cc_minor;
    unsigned int architecture; /* NVML_DEVICE_ARCH_* */
    unsigned int pci_device_id;
    unsigned int pci_subsystem_id;
    uint64_t memory_bytes;
    uint64_t memory_reserved_bytes;
    bool mig_capable;
    int multiprocessors;         /* 0: NVML does not tell */
    bool power_usage_is_average; /* nvmlDeviceGetPowerUsage: average, else instant */
    double limit_min_w;
    double limit_max_w;
    double limit_default_w;
    double clock_max_mhz;
    double clock_min_mhz;
    double clock_idle_mhz;
    double memory_clock_mhz;
    double clock_exponent; /* clock = maximum * (power / demand)^exponent */
    double idle_no_context_w;
    double idle_context_w;
    double pm_sampler_w; /* drawn by the board as long as somebody has a PM sampler on it */
    sim_idle_stage stages[SIM_STAGES];
    int stage_count;
    double memory_idle_w;
    double memory_share;      /* of the power above idle */
    double memory_busy_share; /* memory utilisation over GPU utilisation */
    double ambient_c;
    double thermal_c_per_w;
    int64_t thermal_tau_ns;
    sim_channel_profile channels[SIM_CHANNEL_COUNT];
    sim_live_type live[SIM_LIVE_TYPES];
    int live_count;
    double unknown_min_w;
    double unknown_max_w;
} sim_profile;

/* `source`: an embedded profile's name, or a path (anything with a '/' or ".json").
 * False: `why` says what is wrong. */
bool sim_profile_load(sim_profile *profile, const char *source, char *why, size_t why_size);

/* Those of JOULEMAP_SIM, at most `most`. Their number; 0: `why` says what is wrong. */
int sim_profiles_load(sim_profile *profiles, int most, char *why, size_t why_size);

/* Watts of a span: its type's text up to "(", and its direction (SIM_FORWARD...). A type that the
 * profile does not know gets a fixed value of its own between unknown_min_w and unknown_max_w. */
double sim_profile_watts(const sim_profile *profile, const char *type, int direction);

/* The embedded ones (generated from profiles/ by embed.cmake). */
typedef struct sim_embedded {
    const char *name;
    const char *text;
    size_t length;
} sim_embedded;
extern const sim_embedded sim_embedded_profiles[];
extern const size_t sim_embedded_profile_count;

#endif
