/* Which power cap saves most: a planner that asks for few caps, and recorded sweeps to try it on.
 *
 * Pure computation: nothing here talks to a GPU, nothing sets anything. Whoever can set a cap asks the plan
 * which one, measures, and tells it; the plan says when that is enough, and which cap it was. */
#ifndef JOULEMAP_CAP_H
#define JOULEMAP_CAP_H

#include <joulemap/status.h>
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

/* A search that is over, with its figures. */
typedef struct jm_cap_search jm_cap_search;

/* Ask a plan for caps of a recorded sweep, CSV with the columns cap_w, time_s, power_w (others are ignored;
 * plain or gzipped), each cap once. Of the options, those of the caps are the sweep's and must be 0.
 * BAD_DATA names file, line and column. */
JM_API jm_status jm_cap_replay(jm_cap_search **out, const char *path, const jm_cap_plan_options *options,
                               jm_error *err);
JM_API void jm_cap_search_free(jm_cap_search *search);

/* Verdict and table for a terminal of `width` columns, or JSON (docs/caps.md). The text is the caller's
 * (free()). */
JM_API jm_status jm_cap_search_text(const jm_cap_search *search, size_t width, char **text, jm_error *err);
JM_API jm_status jm_cap_search_json(const jm_cap_search *search, char **text, jm_error *err);

#ifdef __cplusplus
}
#endif
#endif
