/* Which power cap saves the most: a planner that needs few trials, and recorded sweeps to test it on.
 *
 * Pure computation: nothing here talks to a GPU or sets anything. The caller asks the plan for the next cap,
 * sets it, measures, and reports the result. The plan says when that is enough, and which cap is best. */
#ifndef JOULEMAP_CAP_H
#define JOULEMAP_CAP_H

#include <joulemap/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The objective to minimise: name, text, title, unit, exponent of time and exponent of watts. */
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
/* USAGE: no such objective. */
JM_API jm_status jm_cap_objective_parse(const char *text, jm_cap_objective *out, jm_error *err);

/* The result of a search: name, text. */
#define JM_CAP_VERDICT_MAP(X)                                                                                \
    X(BETTER, "better")       /* the chosen cap is better than the reference, with all of its interval */    \
    X(MAYBE, "maybe better")  /* it seems better, but that may be chance */                                  \
    X(REFERENCE, "as it is")  /* no other cap that was tried is better and keeps the bound */                \
    X(INERT, "no difference") /* the cap makes no difference to this work; the reference is chosen */

typedef enum jm_cap_verdict {
#define X(name, text) JM_CAP_##name,
    JM_CAP_VERDICT_MAP(X)
#undef X
        JM_CAP_VERDICT_COUNT
} jm_cap_verdict;

JM_API const char *jm_cap_verdict_text(jm_cap_verdict verdict); /* never NULL */

/* A measurement at a cap: time for a fixed amount of work, and mean power. */
typedef struct jm_cap_probe {
    double cap_w;
    double time_s, power_w;
    double time_u_s, power_u_w; /* standard uncertainties; 0: exact */
} jm_cap_probe;

#define JM_CAP_MOST_CAPS   512
#define JM_CAP_MOST_PROBES 64

typedef struct jm_cap_plan_options {
    uint32_t size; /* sizeof of this struct */
    jm_cap_objective objective;
    double max_slowdown;  /* share of the reference's time (0.05: at most 5 % slower); 0: no bound */
    const double *caps_w; /* [cap_count] available caps, in any order; NULL: from low_w to high_w */
    size_t cap_count;
    double low_w, high_w;
    double step_w;      /* step of the range; 0: about 60 steps */
    double reference_w; /* the cap that all others are compared with, and the first one tried: the cap as
                           found. 0: the highest */
    size_t most_probes; /* at most this many, repeats included; 0: 5 */
    double least_gain;  /* stop if another probe is expected to gain less, as a share of the objective. 0:
                           0.001 */
    double drift; /* standard deviation of the drift of time and power per probe, as shares; the reference is
                     then repeated every few probes. 0: no drift */
} jm_cap_plan_options;

typedef struct jm_cap_plan jm_cap_plan;

/* Copies what it needs. USAGE: an invalid option; LIMIT: more than JM_CAP_MOST_CAPS. */
JM_API jm_status jm_cap_plan_create(jm_cap_plan **out, const jm_cap_plan_options *options, jm_error *err);
JM_API void jm_cap_plan_free(jm_cap_plan *plan);

/* The cap to try next; NAN: enough was tried. Deterministic for given probes. */
JM_API jm_status jm_cap_plan_next(jm_cap_plan *plan, double *cap_w, jm_error *err);

/* Report a measurement at any cap in the range, requested or not. The first must be at the reference. USAGE:
 * an invalid value; LIMIT: more than JM_CAP_MOST_PROBES. */
JM_API jm_status jm_cap_plan_tell(jm_cap_plan *plan, const jm_cap_probe *probe, jm_error *err);

JM_API size_t jm_cap_plan_probe_count(const jm_cap_plan *plan);
JM_API const jm_cap_probe *jm_cap_plan_probe(const jm_cap_plan *plan, size_t index);

/* A figure with its 95 % interval. */
typedef struct jm_cap_figure {
    double value, low, high;
} jm_cap_figure;

/* The prediction for a cap, from the response model fitted to all probes. */
typedef struct jm_cap_prediction {
    double cap_w;
    size_t probes;                                    /* number of probes at this cap */
    jm_cap_figure time_s, power_w, energy_j;          /* at the time of the first probe, without drift */
    jm_cap_figure objectives[JM_CAP_OBJECTIVE_COUNT]; /* each in its unit */
    /* Relative to the reference: 0.9 is 10 % less. Drift cancels. */
    jm_cap_figure relative[JM_CAP_OBJECTIVE_COUNT];
} jm_cap_prediction;

typedef struct jm_cap_choice {
    double cap_w; /* a cap that was tried and kept the bound */
    double reference_w;
    jm_cap_verdict verdict;
    jm_cap_figure saving;   /* of energy, as a share of the reference's; negative: it takes more */
    jm_cap_figure slowdown; /* of time */
    jm_cap_figure gain;     /* of the objective */
    double expected_gain;   /* expected of one more probe, as a share of the objective */
    size_t bound_broken;    /* number of caps that were tried and broke the bound */
} jm_cap_choice;

/* The best cap of those tried. USAGE: no probe was reported. */
JM_API jm_status jm_cap_plan_choice(jm_cap_plan *plan, jm_cap_choice *out, jm_error *err);

/* Predictions for all caps of the plan, lowest first; valid until the next call with this plan. USAGE: no
 * probe was reported. */
JM_API jm_status jm_cap_plan_predictions(jm_cap_plan *plan, const jm_cap_prediction **out, size_t *count,
                                         jm_error *err);

/* The prediction for a cap from the probes at other caps, to compare with the measurement there. USAGE: there
 * are no other probes. */
JM_API jm_status jm_cap_plan_without(jm_cap_plan *plan, double cap_w, jm_cap_prediction *out, jm_error *err);

/* ---- A search: a plan's probes or a sweep, then the confirmation (proof).
 *
 * The caller gets a trial, sets its cap, lets the board settle, measures, and reports the result, until the
 * search is over. The command, Python and recorded sweeps all use it. */

/* The purpose of a trial: name, text. */
#define JM_CAP_STAGE_MAP(X)                                                                                  \
    X(PROBE, "probe") /* where the plan expects the largest gain; the reference comes first */               \
    X(SWEEP, "sweep") /* one of several caps spread over the range */                                        \
    X(CLOCK, "clock") /* a bound of the SM clock at the chosen cap */                                        \
    X(PROOF, "proof") /* reference and choice alternately, to confirm the choice */                          \
    X(OVER, "over")   /* nothing more to try */

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
    double clock_mhz; /* bound of the SM clock; 0: none */
    bool reference;   /* the cap as found, and no bound of the clock */
    size_t number;    /* from 1 on */
    double settle_s;  /* seconds to wait after the change; 0: nothing changes */
    double window_s;  /* seconds to measure */
} jm_cap_trial;

typedef struct jm_cap_search_options {
    uint32_t size;                   /* sizeof of this struct */
    const jm_cap_plan_options *plan; /* the caps and the objective; required */
    double settle_s, window_s;       /* of each trial, for the caller; the search itself does not wait */
    size_t sweep_count;  /* number of caps of a sweep over the range instead of the plan's probes, from 2 on;
                            0: the plan chooses. A sweep ignores most_probes */
    size_t sweep_rounds; /* 0: 2, there and back, which cancels a linear drift; 1: one way */
    uint64_t seed;       /* for the order of sweep and proof */
    /* Proof: blocks of reference, choice, choice, reference, or the reverse, so that a linear drift cancels.
     * proof_blocks at first; more if their spread requires it, up to most_proof_blocks. */
    size_t proof_blocks;      /* 0: 4 */
    size_t most_proof_blocks; /* 0: 8 */
    double proof_width;       /* target for half of the saving's interval; 0: 0.01 */
    bool no_proof;            /* skip the proof and trust the probes */
    const double *clocks_mhz; /* [clock_count] bounds of the SM clock to try at the chosen cap; NULL: none */
    size_t clock_count;
    bool simulated; /* text and JSON mark the GPU as simulated */
} jm_cap_search_options;

typedef struct jm_cap_search jm_cap_search;

/* Copies what it needs. USAGE, LIMIT: an invalid option. */
JM_API jm_status jm_cap_search_create(jm_cap_search **out, const jm_cap_search_options *options,
                                      jm_error *err);
JM_API void jm_cap_search_free(jm_cap_search *search);

/* The next trial; the same one until its result is reported. */
JM_API jm_status jm_cap_search_next(jm_cap_search *search, jm_cap_trial *out, jm_error *err);

/* Report the result of the trial of jm_cap_search_next; the cap is the trial's. A proof needs no
 * uncertainties, as they follow from its pairs. USAGE: an invalid value, no trial is pending, or the search
 * is over. */
JM_API jm_status jm_cap_search_tell(jm_cap_search *search, const jm_cap_probe *probe, jm_error *err);

/* Report the result of a part of the work (a phase) in trial `number`, whose result was reported. The part
 * gets its own choice. Trials must come in ascending order, the reference's first. USAGE also: not a trial of
 * a cap. LIMIT: more than JM_CAP_MOST_PARTS names. */
#define JM_CAP_MOST_PARTS 16
JM_API jm_status jm_cap_search_tell_part(jm_cap_search *search, size_t number, const char *part,
                                         const jm_cap_probe *probe, jm_error *err);

/* A trial with its reported result. */
typedef struct jm_cap_told {
    jm_cap_trial trial;
    jm_cap_probe probe;
} jm_cap_told;

JM_API size_t jm_cap_search_told_count(const jm_cap_search *search);
JM_API const jm_cap_told *jm_cap_search_told(const jm_cap_search *search,
                                             size_t index); /* NULL: no such trial */

/* The result of the proof. Each interval is Student's, over blocks in which a linear drift cancels. */
typedef struct jm_cap_proof {
    double cap_w, clock_mhz;
    size_t blocks;
    bool whole;        /* all required blocks were measured */
    bool bound_kept;   /* the slowdown is within the bound, or there is none */
    bool bound_proven; /* with all of its interval */
    jm_cap_figure saving, slowdown, gain;
} jm_cap_proof;

/* The best cap so far, by the proof if there is one. Can be called at any time. USAGE: no result was
 * reported. */
typedef struct jm_cap_found {
    jm_cap_choice choice; /* saving, slowdown and gain are from the proof if `proven` */
    double clock_mhz;     /* 0: no bound */
    bool over;            /* the search is complete; false: it was interrupted */
    bool proven;
    jm_cap_proof proof; /* valid if `proven` */
} jm_cap_found;

JM_API jm_status jm_cap_search_found(jm_cap_search *search, jm_cap_found *out, jm_error *err);

/* Run a search on a recorded sweep: CSV with the columns cap_w, time_s, power_w; others are ignored; plain or
 * gzipped. Repeated caps are averaged, and their spread is the uncertainty of all. The options on caps must
 * be 0, as the sweep defines the caps. BAD_DATA names file, line and column. */
JM_API jm_status jm_cap_replay(jm_cap_search **out, const char *path, const jm_cap_plan_options *options,
                               jm_error *err);

/* Verdict and table for a terminal of `width` columns, or JSON (docs/caps.md). The caller frees the text with
 * free(). USAGE: no result was reported. */
JM_API jm_status jm_cap_search_text(jm_cap_search *search, size_t width, char **text, jm_error *err);
JM_API jm_status jm_cap_search_json(jm_cap_search *search, char **text, jm_error *err);

#ifdef __cplusplus
}
#endif
#endif
