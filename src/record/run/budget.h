/* Chooses the steps to trace, so that tracing slows a program down by at most a share of its time.
 *
 * At first everything is traced, until a second of each class of steps is covered. Then tracing comes in
 * bursts of a few steps: WARM for one step, ON for some, STEPS in between. The extra time of a traced step is
 * the difference of the medians of recent traced and untraced steps of its class. These lie close together,
 * so a drifting host slows both alike. Bursts come as often as the budget pays for them. A fifth of it is
 * reserved for changes: steps of a new class, and steps whose duration changed.
 *
 * Pure functions of their inputs; all times are CLOCK_MONOTONIC. One thread at a time. */
#ifndef JM_RECORD_RUN_BUDGET_H
#define JM_RECORD_RUN_BUDGET_H

#include "base/clock.h"

#include <joulemap/run.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first burst, from the beginning. */
#define JM_BUDGET_OPENING_NS JM_NS_PER_S
/* The opening of a new class: this many steps, counted once they no longer become faster by a third from one
 * to the next. For steps of seconds two suffice. */
#define JM_BUDGET_OPENED_NS (5 * JM_NS_PER_S)
enum { JM_BUDGET_OPENED_STEPS = 5, JM_BUDGET_OPENED_STEPS_LEAST = 2, JM_BUDGET_SETTLING_STEPS = 10 };

/* A burst: readings of a power sensor (20 ms apart, and 13 ms of delay) must see only traced work ... */
#define JM_BUDGET_BURST_NS (250 * JM_NS_PER_MS)
/* ... and at least two steps, unless steps are longer than this. */
#define JM_BUDGET_LONG_NS JM_NS_PER_S
enum { JM_BUDGET_BURST_STEPS = 2 };
/* Warm for one step and this long: then the 1,024 launches that a driver may queue have run. */
#define JM_BUDGET_WARM_NS (20 * JM_NS_PER_MS)
/* The after-effect of tracing: CUPTI is released within this time (inject/cupti.h), and launches cost more
 * until then. Steps in it are not used for comparison, and their extra time is charged. */
#define JM_BUDGET_AFTER_NS (300 * JM_NS_PER_MS)
/* Untraced steps are used for comparison once they add up to this. While CUPTI is released a host waits for
 * its GPU, and then runs ahead of it for a step or two at half their duration. */
#define JM_BUDGET_COMPARED_NS (500 * JM_NS_PER_MS)
/* The first steps of a burst pay for setting up CUPTI, rings and hooks. Each is charged separately, since a
 * median would hide them, up to this limit: more is the program's own time. */
#define JM_BUDGET_EARLY_NS (300 * JM_NS_PER_MS)
/* The least untraced time between bursts. */
#define JM_BUDGET_APART_NS (JM_BUDGET_AFTER_NS + JM_BUDGET_BURST_NS)
enum { JM_BUDGET_APART_STEPS = 3 };

/* A regular burst is announced this long before: hardware counters begin 0.2 s after their start (H100), and
 * rings may delay the announcement by as much. */
#define JM_BUDGET_AHEAD_NS (500 * JM_NS_PER_MS)
/* Bursts that would begin later than this are not announced yet: counters would be sampled in vain and given
 * up (JM_DUTY_CYCLE_SOON_NS). Of steps this long the first one alone is enough for them. */
#define JM_BUDGET_AHEAD_MOST_NS (1500 * JM_NS_PER_MS)

/* The debt allowed for openings; it is paid back before anything else. */
#define JM_BUDGET_DEBT_NS JM_NS_PER_S
/* The part of the budget for regular bursts. */
#define JM_BUDGET_REGULAR 0.8
/* If everything is traced, untraced steps are measured again after this long and this many steps. */
#define JM_BUDGET_CHECK_NS (60 * JM_NS_PER_S)
enum { JM_BUDGET_CHECK_STEPS = 100 };
/* The duration has changed if the last five steps differ by this share and by more than chance. */
#define JM_BUDGET_CHANGE 0.1

enum { JM_STEP_CLASSES = 32, JM_BUDGET_LAST = 16 };

/* A step as the program marks it: name and phase are numbers of texts, counts are 0 if unknown. */
typedef struct jm__budget_step {
    uint32_t name;
    uint32_t phase;
    uint32_t samples;
    uint32_t tokens;
    uint32_t is_phase; /* 1: a phase without steps, treated as one step; no warm-up */
} jm__budget_step;

/* The durations of the last steps. */
typedef struct jm__budget_last {
    int64_t ns[JM_BUDGET_LAST];
    size_t count; /* in total; the last one is at (count - 1) % JM_BUDGET_LAST */
} jm__budget_last;

/* Steps of one name in one phase with counts of one class (base/count_class.h). */
typedef struct jm__step_class {
    jm__budget_step step; /* with its counts rounded down to powers of two */
    uint64_t steps;       /* 0: the entry is unused */
    uint64_t last;        /* number of its last step, among all steps */
    uint64_t entered;     /* number of its last step that followed another class */
    uint64_t gap;         /* a low estimate of the distance of such steps; 0: unknown */
    uint64_t stay;        /* number of consecutive steps, the last time */
    int64_t before_ns;    /* duration of the last step */
    int64_t opening_ns;   /* traced time of the opening so far */
    uint64_t opening_steps;
    bool settled;
    bool opened;
    uint64_t owed;         /* traced steps that are not charged to `spent_ns` yet */
    uint64_t owed_after;   /* steps after a burst that are not charged yet */
    bool compared;         /* the following members are known: */
    double extra_ns;       /* extra time of a traced step in its last burst ... */
    double extra_error_ns; /* ... and its standard error */
    int64_t change_ns;     /* duration of untraced steps before its last burst, 0: unknown, ... */
    int64_t change_mad_ns; /* ... and their MAD */
    int64_t untraced_ns;   /* total of the steps used for comparison */
    jm__budget_last untraced;
    jm__budget_last traced;
    jm__budget_last after; /* after a burst */
} jm__step_class;

typedef struct jm__budget {
    double share;
    int64_t began_ns;
    int64_t now_ns;                /* time of the last event */
    int64_t step_ns;               /* begin of the current step */
    int64_t switch_ns;             /* time of the last switching, on and off */
    double early_ns;               /* extra time of the first steps of the last burst */
    double spent_ns;               /* on traced steps and on switching */
    double slower;                 /* relative extra time of the last traced step of any class */
    uint64_t steps;                /* begun, ... */
    uint64_t phase_steps;          /* ... of which are phases treated as steps */
    uint64_t traced_steps;         /* finished steps at level ON */
    bool is_running;               /* a step is running */
    bool all;                      /* tracing everything costs less than the budget */
    bool first_burst_done;         /* the first burst is over */
    bool ignores_names;            /* each step has its own name, so names are ignored */
    unsigned evicted_single_steps; /* evicted classes with one step */
    jm_tracing level;              /* of the current step */
    jm__budget_step step;          /* the current step */
    jm__step_class *class;         /* of the previous step, NULL: none */
    int64_t level_ns;              /* time at this level, without the current step */
    uint64_t level_steps;          /* ... and number of steps */
    int64_t look_ns;               /* the cost is next summed up at this time */
    uint64_t lag_steps;            /* steps between choosing a level and having it, as ranks agree on it */
    double soon_cost_ns;           /* cost of the burst that was announced last */
    int64_t soon_ns;               /* when the next burst was announced; 0: none */
    uint64_t on_step;              /* first step of the next burst; 0: none */
    bool is_announced;             /* it was announced */
    const jm__step_class *awaited; /* the burst lasts until a step of this class has ended */
    jm__step_class classes[JM_STEP_CLASSES];
} jm__budget;

/* `share`: of the time, above 0. The first level is ON. */
void jm__budget_init(jm__budget *budget, double share, int64_t now_ns);

/* A step begins, which ends the previous one. Returns the level that it should have. Its counts are those
 * known now. If `soon_ns` changes from 0, announce a burst. */
jm_tracing jm__budget_begin(jm__budget *budget, const jm__budget_step *step, int64_t t_ns);

/* Sets the level that it really has, before any other call: the returned one, or another by the caller's
 * choice. */
void jm__budget_set_level(jm__budget *budget, jm_tracing level);

/* The level was switched, which took until now: the step begins here. */
void jm__budget_switched(jm__budget *budget, int64_t t_ns);

/* The final counts of the current step; 0 keeps the earlier one. */
void jm__budget_count(jm__budget *budget, uint32_t samples, uint32_t tokens);

/* The current step is over, and none follows. */
void jm__budget_rest(jm__budget *budget, int64_t t_ns);

/* The cost of tracing so far, as measured by itself, as a share of the elapsed time. */
double jm__budget_cost(jm__budget *budget, int64_t now_ns);

/* ---- Bursts that the ranks of a job make together. They wait for each other in each step: separate bursts
 * would slow all of them down once per rank, and would rarely coincide in a report.
 *
 * The first rank of this machine decides a few steps ahead and publishes it in a page of the run's folder.
 * The others follow when their step of that number begins. No rank waits. Ranks that were started dormant
 * count their steps from their recorder's arrival, so each makes its own bursts. */

/* Steps between a decision and its effect: ranks are rarely further apart. */
enum { JM_BURSTS_AHEAD = 2 };

typedef struct jm__bursts_page jm__bursts_page;

typedef struct jm__bursts {
    jm__bursts_page *page; /* NULL: this process makes its own bursts */
    bool leads;
    bool waits;                  /* the first rank may come later: join again */
    uint32_t seen_announcements; /* announcements of the first rank that were seen */
} jm__bursts;

/* Uses the environment of launchers like torchrun (WORLD_SIZE, LOCAL_RANK, MASTER_PORT). Without it or
 * without the page the process makes its own bursts. */
void jm__bursts_join(jm__bursts *bursts, const char *run_dir);

/* The level of this step, after `before`; `requested` is what the process would choose alone. */
jm_tracing jm__bursts_agree(const jm__bursts *bursts, uint64_t step, jm_tracing before, jm_tracing requested);

/* The number of steps from choosing a level to having it. */
uint64_t jm__bursts_lag(const jm__bursts *bursts);

/* Should a burst be announced here now? `own`: this process would announce it if it were alone. */
bool jm__bursts_announce(jm__bursts *bursts, bool own);

/* Leaves; the end of the first rank is published. */
void jm__bursts_leave(jm__bursts *bursts);

#endif
