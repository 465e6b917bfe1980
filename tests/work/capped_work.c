/* A program whose steps slow down with the simulated board, by a law whose best cap is known.
 *
 *     capped_work LAW STEPS [phases] [range NAME] [unmarked] [crash STEP] [noise SHARE]
 *
 * A law: time on the host, then parts that take (memory^8 + (compute / speed)^8)^(1/8) each, the speed being
 * what the board's clock is under its power limit and locked clocks. What the board draws meanwhile is the
 * part's type in its profile, held by the same limit: so time and power are one law of the cap. */
#include <joulemap/joulemap.h>

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct part {
    const char *phase, *name, *type;
    double memory_ms, compute_ms; /* at full clock */
} part;

typedef struct response {
    const char *name;
    double host_ms;
    part parts[2];
} response;

/* Watts of the types on the h200: Linear 520, MultiheadAttention 455, RMSNorm 290, Embedding 230. */
static const response responses[] = {
    {"compute", 1, {{"prefill", "net.matmul", "Linear", 4, 30}}},
    {"memory", 1, {{"decode", "net.attend", "MultiheadAttention", 30, 15}}},
    {"mixed",
     4,
     {{"prefill", "net.matmul", "Linear", 4, 16}, {"decode", "net.attend", "MultiheadAttention", 14, 6}}},
    {"inert", 30, {{"decode", "net.embed", "Embedding", 2, .3}}},
};

static double (*speed_of)(int, const char *);

static void rest(double ms)
{
    int64_t end_ns = jm_now_ns() + (int64_t)(ms * 1e6);
    const struct timespec end = {end_ns / 1000000000, end_ns % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
}

static double noise(double share)
{
    double radius = sqrt(-2 * log(1 - drand48()));
    return 1 + share * radius * cos(6.283185307179586 * drand48());
}

static void run(const part *p, bool phases, double spread)
{
    double speed = speed_of(0, p->type);
    double ms = pow(pow(p->memory_ms, 8) + pow(p->compute_ms / speed, 8), 1. / 8) * noise(spread);
    jm_span_id phase = phases ? jm_span_begin(JM_SPAN_PHASE, jm_name_intern(p->phase), 0, 0) : 0;
    jm_span_id span = jm_span_begin(JM_SPAN_FORWARD, jm_name_intern(p->name), jm_name_intern(p->type), 0);
    rest(ms);
    jm_span_end(span);
    jm_span_end(phase);
}

static bool load_board(void)
{
    const char *path = getenv("JOULEMAP_NVML");
    void *nvml = dlopen(path != NULL ? path : "libnvidia-ml.so.1", RTLD_NOW);
    if (nvml == NULL) return false;
    int (*init)(void);
    *(void **)&init = dlsym(nvml, "nvmlInit_v2");
    *(void **)&speed_of = dlsym(nvml, "jmsim_speed");
    return init != NULL && speed_of != NULL && init() == 0;
}

static jm_span_id begin_step(const char *range, bool unmarked)
{
    if (unmarked) return 0;
    if (range != NULL) return jm_span_begin(JM_SPAN_NVTX, jm_name_intern(range), 0, 0);
    return jm_span_begin(JM_SPAN_STEP, jm_name_intern("step"), 0, 1);
}

int main(int argc, char **argv)
{
    const response *of = NULL;
    const char *range = NULL;
    bool phases = false, unmarked = false;
    long crash = -1;
    double spread = 0;
    for (size_t i = 0; argc > 2 && i < sizeof responses / sizeof *responses; i++)
        if (strcmp(responses[i].name, argv[1]) == 0) of = &responses[i];
    for (int i = 3; i < argc; i++) {
        phases |= strcmp(argv[i], "phases") == 0;
        unmarked |= strcmp(argv[i], "unmarked") == 0;
        if (strcmp(argv[i], "range") == 0 && i + 1 < argc) range = argv[i + 1];
        if (strcmp(argv[i], "crash") == 0 && i + 1 < argc) crash = atol(argv[i + 1]);
        if (strcmp(argv[i], "noise") == 0 && i + 1 < argc) spread = atof(argv[i + 1]);
    }
    if (of == NULL || !load_board()) {
        fprintf(stderr, "capped_work: no such law, or no simulated board in JOULEMAP_NVML\n");
        return 2;
    }
    for (long step = 0; step < atol(argv[2]); step++) {
        jm_span_id span = begin_step(range, unmarked);
        rest(of->host_ms);
        for (size_t i = 0; i < 2 && of->parts[i].name != NULL; i++)
            run(&of->parts[i], phases, spread);
        jm_span_end(span);
        if (step == crash) abort();
    }
    return 0;
}
