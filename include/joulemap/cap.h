/* Which power cap saves most: a planner that asks for few caps, and recorded sweeps to try it on.
 *
 * Pure computation: nothing here talks to a GPU, nothing sets anything. Whoever can set a cap asks the plan
 * which one, measures, and tells it; the plan says when that is enough, and which cap it was. */
#ifndef JOULEMAP_CAP_H
#define JOULEMAP_CAP_H

#include <joulemap/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is to be as small as possible: name, its name for people, its unit, the power of time and the power of
 * watts in it. */
#define JM_CAP_OBJECTIVE_MAP(X)                                                                              \
    X(ENERGY, "energy", "energy", "J", 1, 1)                                                                 \
    X(EDP, "edp", "EDP", "J s", 2, 1)                                                                        \
    X(ED2P, "ed2p", "ED2P", "J s2", 3, 1)                                                                    \
    X(TIME, "time", "time", "s", 1, 0)

typedef enum jm_cap_objective {
#define X(name, text, title, unit, time_power, watt_power) JM_CAP_##name,
    JM_CAP_OBJECTIVE_MAP(X)
#undef X
        JM_CAP_OBJECTIVE_COUNT
} jm_cap_objective;

JM_API const char *jm_cap_objective_text(jm_cap_objective objective); /* "ed2p"; never NULL */
/* USAGE: there is none of that name. */
JM_API jm_status jm_cap_objective_parse(const char *text, jm_cap_objective *out, jm_error *err);

/* What a search found: name, text. */
#define JM_CAP_VERDICT_MAP(X)                                                                                \
    X(BETTER, "better")       /* the chosen cap is better than the reference: all of the interval is */      \
    X(MAYBE, "maybe better")  /* it seems better, and may be chance */                                       \
    X(REFERENCE, "as it is")  /* no other cap that was tried is better, or keeps the bound */                \
    X(INERT, "no difference") /* the cap makes no difference to this work; the reference is chosen */

typedef enum jm_cap_verdict {
#define X(name, text) JM_CAP_##name,
    JM_CAP_VERDICT_MAP(X)
#undef X
        JM_CAP_VERDICT_COUNT
} jm_cap_verdict;

JM_API const char *jm_cap_verdict_text(jm_cap_verdict verdict); /* never NULL */

/* Work measured at a cap: how long the same amount of work took, and its mean power. */
typedef struct jm_cap_probe {
    double cap_w;
    double time_s, power_w;
    double time_u_s, power_u_w; /* standard uncertainties; 0: what was measured is what counts */
} jm_cap_probe;

#define JM_CAP_MOST_CAPS   512
#define JM_CAP_MOST_PROBES 64

typedef struct jm_cap_plan_options {
    uint32_t size; /* sizeof of this struct */
    jm_cap_objective objective;
    double max_slowdown;  /* share of the reference's time, 0.05: at most 5 % slower; 0: no bound */
    const double *caps_w; /* [cap_count] those there are, in any order; NULL: from low_w to high_w */
    size_t cap_count;
    double low_w, high_w;
    double step_w;      /* of a range; 0: what makes about 60 */
    double reference_w; /* what all others are compared with and what is asked for first: the cap as found. 0:
                         * the highest */
    size_t most_probes; /* 0: 5. Repeats count */
    double least_gain;  /* stop where another probe is expected to gain less, as a share of the objective. 0:
                         * 0.001 */
    double drift; /* standard deviation, a probe, of what time and power drift by as shares; the reference is
                   * then asked for again every few probes. 0: nothing drifts */
} jm_cap_plan_options;

typedef struct jm_cap_plan jm_cap_plan;

/* Copies what it needs. USAGE: an option that cannot be; LIMIT: more than JM_CAP_MOST_CAPS. */
JM_API jm_status jm_cap_plan_create(jm_cap_plan **out, const jm_cap_plan_options *options, jm_error *err);
JM_API void jm_cap_plan_free(jm_cap_plan *plan);

/* The cap to try next; NAN: enough was tried. Always the same after the same probes. */
JM_API jm_status jm_cap_plan_next(jm_cap_plan *plan, double *cap_w, jm_error *err);

/* A measurement, at any cap in the range, asked for or not. The first must be the reference's. USAGE: a value
 * that cannot be; LIMIT: more than JM_CAP_MOST_PROBES. */
JM_API jm_status jm_cap_plan_tell(jm_cap_plan *plan, const jm_cap_probe *probe, jm_error *err);

JM_API size_t jm_cap_plan_probe_count(const jm_cap_plan *plan);
JM_API const jm_cap_probe *jm_cap_plan_probe(const jm_cap_plan *plan, size_t index);

/* A figure with its 95 % interval. */
typedef struct jm_cap_figure {
    double value, low, high;
} jm_cap_figure;

/* What is thought of a cap: by the law through all probes, where it was tried by those most of all. */
typedef struct jm_cap_prediction {
    double cap_w;
    size_t probes;                                    /* at this cap */
    jm_cap_figure time_s, power_w, energy_j;          /* as when the first probe was made */
    jm_cap_figure objectives[JM_CAP_OBJECTIVE_COUNT]; /* each in its unit */
    /* Of the reference's: 0.9 is 10 % less. The drift of a search cancels. */
    jm_cap_figure relative[JM_CAP_OBJECTIVE_COUNT];
} jm_cap_prediction;

typedef struct jm_cap_choice {
    double cap_w; /* one that was tried and kept the bound */
    double reference_w;
    jm_cap_verdict verdict;
    jm_cap_figure saving;   /* of energy, share of the reference's; below 0: it takes more */
    jm_cap_figure slowdown; /* of time */
    jm_cap_figure gain;     /* of the objective */
    double expected_gain;   /* of one more probe, share of the objective */
    size_t bound_broken;    /* caps that were tried and did not keep the bound */
} jm_cap_choice;

/* The best cap of those tried. USAGE: nothing was told. */
JM_API jm_status jm_cap_plan_choice(jm_cap_plan *plan, jm_cap_choice *out, jm_error *err);

/* What is thought of each cap of the plan, from the lowest on; valid until the next call with this plan.
 * USAGE: nothing was told. */
JM_API jm_status jm_cap_plan_predictions(jm_cap_plan *plan, const jm_cap_prediction **out, size_t *count,
                                         jm_error *err);

/* What the probes at other caps say of this one: to be compared with what was found there. USAGE: there are
 * none. */
JM_API jm_status jm_cap_plan_without(jm_cap_plan *plan, double cap_w, jm_cap_prediction *out, jm_error *err);

/* ---- a search: a plan's probes, or a sweep, then the proof
 *
 * Whoever can set caps asks for a trial, sets it, lets the board settle, measures, and tells; until it is
 * over. The same for recorded sweeps, the command and Python. */

/* What a trial is for: name, text. */
#define JM_CAP_STAGE_MAP(X)                                                                                  \
    X(PROBE, "probe") /* where the plan expects to gain most; the reference first */                         \
    X(SWEEP, "sweep") /* one of those spread over the range */                                               \
    X(CLOCK, "clock") /* a bound of the SM clock at the cap that was chosen */                               \
    X(PROOF, "proof") /* reference and choice in turns */                                                    \
    X(OVER, "over")   /* nothing more is to be tried */

typedef enum jm_cap_stage {
#define X(name, text) JM_CAP_STAGE_##name,
    JM_CAP_STAGE_MAP(X)
#undef X
        JM_CAP_STAGE_COUNT
} jm_cap_stage;

JM_API const char *jm_cap_stage_text(jm_cap_stage stage); /* never NULL */

typedef struct jm_cap_trial {
    jm_cap_stage stage;
    double cap_w;     /* NAN when over */
    double clock_mhz; /* bound of the SM clock; 0: none of ours */
    bool reference;   /* the cap as found, and no bound of the clock */
    size_t number;    /* from 1 on */
    double settle_s;  /* to wait after the change; 0: nothing changes */
    double window_s;  /* to measure */
} jm_cap_trial;

typedef struct jm_cap_search_options {
    uint32_t size;                   /* sizeof of this struct */
    const jm_cap_plan_options *plan; /* which caps, and what is best; required */
    double settle_s, window_s;       /* of each trial; the caller's: the search itself waits for nothing */
    size_t sweep_count;  /* so many caps over the range in place of the plan's probes, from 2 on; 0: the plan
                          * asks. most_probes does not count then */
    size_t sweep_rounds; /* 0: 2, there and back again, which cancels a straight drift; 1: there */
    uint64_t seed;       /* of the order of sweep and proof */
    /* Proof: blocks reference, choice, choice, reference, or the other way round, so that a straight drift
     * cancels. So many at first; as many more as their spread asks for, at most so many in all. */
    size_t proof_blocks;      /* 0: 4 */
    size_t most_proof_blocks; /* 0: 8 */
    double proof_width;       /* half of the interval of the saving that is to be reached; 0: 0.01 */
    bool no_proof;            /* what the probes say is what counts */
    const double
        *clocks_mhz; /* [clock_count] bounds of the SM clock to try once the cap is chosen; none: NULL */
    size_t clock_count;
    bool simulated; /* text and JSON say that the GPU is none */
} jm_cap_search_options;

typedef struct jm_cap_search jm_cap_search;

/* Copies what it needs. USAGE, LIMIT: an option that cannot be. */
JM_API jm_status jm_cap_search_create(jm_cap_search **out, const jm_cap_search_options *options,
                                      jm_error *err);
JM_API void jm_cap_search_free(jm_cap_search *search);

/* What to try now: the same until it was told. */
JM_API jm_status jm_cap_search_next(jm_cap_search *search, jm_cap_trial *out, jm_error *err);

/* What the trial of jm_cap_search_next gave; its cap is that trial's. A proof needs no uncertainties: its
 * pairs tell them. USAGE: a value that cannot be, no trial was asked for, or it is over. */
JM_API jm_status jm_cap_search_tell(jm_cap_search *search, const jm_cap_probe *probe, jm_error *err);

/* What a part of the work (a phase) took in a trial that was told, by number: it gets a choice of its own.
 * Trials in rising order, the first one the reference's. USAGE besides: that trial was not one of the cap.
 * LIMIT: more than JM_CAP_MOST_PARTS names. */
#define JM_CAP_MOST_PARTS 16
JM_API jm_status jm_cap_search_tell_part(jm_cap_search *search, size_t number, const char *part,
                                         const jm_cap_probe *probe, jm_error *err);

/* A trial that was told. */
typedef struct jm_cap_told {
    jm_cap_trial trial;
    jm_cap_probe probe;
} jm_cap_told;

JM_API size_t jm_cap_search_told_count(const jm_cap_search *search);
JM_API const jm_cap_told *jm_cap_search_told(const jm_cap_search *search, size_t index); /* NULL: no such */

/* What the proof measured: each interval is Student's, of blocks in which a straight drift cancels. */
typedef struct jm_cap_proof {
    double cap_w, clock_mhz;
    size_t blocks;
    bool whole;        /* all blocks that were needed were told */
    bool bound_kept;   /* the slowdown is within the bound, or there is none */
    bool bound_proven; /* all of its interval is */
    jm_cap_figure saving, slowdown, gain;
} jm_cap_proof;

/* The best so far: by the proof where there is one. It may be asked at any time. USAGE: nothing was told. */
typedef struct jm_cap_found {
    jm_cap_choice choice; /* its saving, slowdown and gain are the proof's if it is proven */
    double clock_mhz;     /* 0: no bound */
    bool over;            /* else the search was broken off */
    bool proven;
    jm_cap_proof proof; /* where proven */
} jm_cap_found;

JM_API jm_status jm_cap_search_found(jm_cap_search *search, jm_cap_found *out, jm_error *err);

/* Ask a plan for caps of a recorded sweep, CSV with the columns cap_w, time_s, power_w (others are ignored;
 * plain or gzipped). Of a cap that stands there several times the mean counts; how much such repeats differ
 * is the uncertainty of all. Of the options, those of the caps are the sweep's and must be 0. BAD_DATA names
 * file, line and column. */
JM_API jm_status jm_cap_replay(jm_cap_search **out, const char *path, const jm_cap_plan_options *options,
                               jm_error *err);

/* Verdict and table for a terminal of `width` columns, or JSON (docs/caps.md). The text is the caller's
 * (free()). USAGE: nothing was told. */
JM_API jm_status jm_cap_search_text(jm_cap_search *search, size_t width, char **text, jm_error *err);
JM_API jm_status jm_cap_search_json(jm_cap_search *search, char **text, jm_error *err);

#ifdef __cplusplus
}
#endif
#endif
