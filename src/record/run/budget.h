/* Which steps are traced, so that tracing slows a program down by no more than a share of its time.
 *
 * At first everything is traced, until a second of each kind of step is known; then a few steps at a time, in
 * turns: WARM for one step, ON for some, STEPS in between. What a traced step takes longer than an untraced
 * one of its kind is measured by medians of the last ones, which lie around each other, so that a host that
 * drifts slows both alike; turns come as often as the budget pays for them. A fifth of it is kept for what
 * changes: steps of a new kind, and steps that take another time than they did.
 *
 * A function of what it is told; all times CLOCK_MONOTONIC. One thread at a time. */
#ifndef JM_RECORD_RUN_BUDGET_H
#define JM_RECORD_RUN_BUDGET_H

#include "base/clock.h"

#include <joulemap/run.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first turn, from the beginning on. */
#define JM_BUDGET_OPENING_NS JM_NS_PER_S
/* Of a kind that is new: so many steps, once they no longer become quicker from one to the next by a third;
 * of steps that take seconds two will do. */
#define JM_BUDGET_OPENED_NS (5 * JM_NS_PER_S)
enum { JM_BUDGET_OPENED_STEPS = 5, JM_BUDGET_OPENED_STEPS_LEAST = 2, JM_BUDGET_SETTLING_STEPS = 10 };

/* A turn: readings of a power sensor (20 ms apart, and 13 ms to follow) have to see known work alone ... */
#define JM_BUDGET_BURST_NS (250 * JM_NS_PER_MS)
/* ... and of longer steps two, of those longer than that one. */
#define JM_BUDGET_LONG_NS JM_NS_PER_S
enum { JM_BUDGET_BURST_STEPS = 2 };
/* Warm for one step and that long: 1,024 launches that a driver queues have run by then. */
#define JM_BUDGET_WARM_NS (20 * JM_NS_PER_MS)
/* What tracing leaves behind once it is off: CUPTI is let go within that time
 * (inject/cupti.h), and launches cost more until then. Steps in it are compared with nothing, and what they
 * take longer is spent.
 */
#define JM_BUDGET_AFTER_NS (300 * JM_NS_PER_MS)
/* Untraced steps are compared with once they are that long together: as CUPTI is let go, a host waits for its
 * GPU, and then runs ahead of it for a step or two, in half of their time. */
#define JM_BUDGET_COMPARED_NS (500 * JM_NS_PER_MS)
/* The first steps of a turn pay for what CUPTI, the rings and the hooks have to make first: each of them is
 * compared by itself, as the median of a turn would not know of it. More than that is the program's own. */
#define JM_BUDGET_EARLY_NS (300 * JM_NS_PER_MS)
/* Untraced between turns, at least. */
#define JM_BUDGET_APART_NS (JM_BUDGET_AFTER_NS + JM_BUDGET_BURST_NS)
enum { JM_BUDGET_APART_STEPS = 3 };

/* A turn that time alone calls for is told that long before: hardware counters begin 0.2 s after they are
 * told (H100), of which rings may take as much again. */
#define JM_BUDGET_AHEAD_NS (500 * JM_NS_PER_MS)
/* What takes longer to come is not told, or later: counters would be sampled for nothing, and given up
 * (JM_DUTY_CYCLE_SOON_NS). Of steps that long the first one alone is enough for them. */
#define JM_BUDGET_AHEAD_MOST_NS (1500 * JM_NS_PER_MS)

/* What may be owed for the openings of kinds: it is paid back before anything else. */
#define JM_BUDGET_DEBT_NS JM_NS_PER_S
/* Of the budget, for turns that nothing calls for. */
#define JM_BUDGET_REGULAR 0.8
/* Where all is traced, untraced steps are looked at again after that long, and so many steps. */
#define JM_BUDGET_CHECK_NS (60 * JM_NS_PER_S)
enum { JM_BUDGET_CHECK_STEPS = 100 };
/* Steps take another time if the last five differ by that share of it, and by more than chance makes of them.
 */
#define JM_BUDGET_CHANGE 0.1

enum { JM_STEP_CLASSES = 32, JM_BUDGET_LAST = 16 };

/* A step as the program tells it: name and phase are numbers of texts, counts are 0 where they are not known.
 */
typedef struct jm__budget_step {
    uint32_t name;
    uint32_t phase;
    uint32_t samples;
    uint32_t tokens;
    uint32_t whole; /* 1: a phase without steps in it, which stands for one; without time to get warm */
} jm__budget_step;

/* How long the last ones took. */
typedef struct jm__budget_last {
    int64_t ns[JM_BUDGET_LAST];
    size_t count; /* of all; the last one is at (count - 1) % JM_BUDGET_LAST */
} jm__budget_last;

/* Steps of one name in one phase whose counts are alike: within a factor of two. */
typedef struct jm__step_class {
    jm__budget_step step; /* with the counts rounded down to a power of two */
    uint64_t steps;       /* 0: the entry is free */
    uint64_t last;        /* number of its last step among all */
    uint64_t entered;     /* number of the last step of it that followed another kind's */
    uint64_t gap;         /* from one such to the next, rather less; 0: not known */
    uint64_t stay;        /* how many came one after the other, last */
    int64_t before_ns;    /* what the last one took */
    int64_t opening_ns;   /* traced of it so far, since its steps became no quicker */
    uint64_t opening_steps;
    bool settled;
    bool opened;
    uint64_t owed;         /* traced steps whose cost is not in `spent_ns` yet */
    uint64_t owed_after;   /* steps after a turn whose cost is not there either */
    bool compared;         /* what follows is known: */
    double extra_ns;       /* what a traced step took longer at its last turn ... */
    double extra_error_ns; /* ... and the standard error of that */
    int64_t change_ns;     /* untraced steps as they were at its last turn, 0: not known, ... */
    int64_t change_mad_ns; /* ... and how far they lay apart */
    int64_t untraced_ns;   /* of all those that are compared with */
    jm__budget_last untraced;
    jm__budget_last traced;
    jm__budget_last after; /* a turn */
} jm__step_class;

typedef struct jm__budget {
    double share;
    int64_t began_ns;
    int64_t now_ns;        /* of the last thing told */
    int64_t step_ns;       /* begin of the step that goes on */
    int64_t switch_ns;     /* that switching took last, there and back */
    double early_ns;       /* that the first steps of the last turn took longer */
    double spent_ns;       /* on steps that were traced, and on switching */
    double slower;         /* by what share of itself a traced step of any kind was last */
    uint64_t steps;        /* begun, ... */
    uint64_t phase_totals; /* ... of those, phases that stand for one */
    uint64_t traced_steps; /* ON, of those that ended */
    bool goes_on;          /* a step has begun */
    bool all;              /* tracing all costs less than the budget */
    bool turned;           /* the first turn is over */
    bool nameless;         /* a name a step: names tell nothing */
    unsigned lonely;       /* kinds of one step that made room for others */
    jm_tracing level;      /* of the step that goes on */
    jm__budget_step step;  /* that goes on */
    jm__step_class *kind;  /* of the step before, NULL: none */
    int64_t since_ns;      /* the level has been this one for that long, without the step that goes on */
    uint64_t since_steps;  /* ... and for so many steps */
    int64_t look_ns;       /* what it has cost is not added up before */
    uint64_t lag_steps;    /* from a level that is answered to the step that has it, as ranks agree on it */
    double soon_cost_ns;   /* of the turn that was told last */
    int64_t soon_ns;       /* since then a turn is to come; 0: none is */
    uint64_t on_step;      /* the turn that comes begins with this one; 0: none does */
    bool on_told;          /* that is no news */
    const jm__step_class *awaited; /* the turn goes on until one of these has passed */
    jm__step_class kinds[JM_STEP_CLASSES];
} jm__budget;

/* `share`: of the time, above 0. The level is ON until the first answer. */
void jm__budget_init(jm__budget *budget, double share, int64_t now_ns);

/* A step begins, and the one before is over. Returns the level that it is to have. Its counts are those known
 * now. `soon_ns` may begin to be other than 0 in it: that a turn comes is to be told. */
jm_tracing jm__budget_begin(jm__budget *budget, const jm__budget_step *step, int64_t t_ns);

/* The level that it has, before anything else is told: the one that was answered, or another one for a reason
 * of the caller's. */
void jm__budget_have(jm__budget *budget, jm_tracing level);

/* The level was switched, which took until now: the step begins here. */
void jm__budget_switched(jm__budget *budget, int64_t t_ns);

/* The step that goes on turned out to have these counts; 0: as was said. */
void jm__budget_count(jm__budget *budget, uint32_t samples, uint32_t tokens);

/* The step that goes on is over; what comes is none. */
void jm__budget_rest(jm__budget *budget, int64_t t_ns);

/* What tracing has cost so far, by itself, of the time since the beginning. */
double jm__budget_cost(jm__budget *budget, int64_t now_ns);

/* ---- Turns of tracing that the ranks of a job take together: they wait for each other in each step, so that
 * turns of each one's own would slow all of them down as many times as there are ranks, and hardly ever
 * coincide in a report.
 *
 * The first rank of this machine decides, a few steps ahead, and says so in a page of the run's folder; the
 * others do as it says when their step of that number begins. Nothing is waited for. Ranks that were started
 * dormant count their steps from when a recorder came, each for itself: they take turns of their own. */

/* Steps from what is said to when it holds: ranks are hardly ever further apart. */
enum { JM_BURSTS_AHEAD = 2 };

typedef struct jm__bursts_page jm__bursts_page;

typedef struct jm__bursts {
    jm__bursts_page *page; /* NULL: this process takes turns of its own */
    bool leads;
    bool waits;     /* the first rank may not have come yet: join again */
    uint32_t heard; /* of what the first rank told of turns to come */
} jm__bursts;

/* As the environment says that a launcher like torchrun set (WORLD_SIZE, LOCAL_RANK, MASTER_PORT): without
 * it, or where the page cannot be had, the process takes turns of its own. */
void jm__bursts_join(jm__bursts *bursts, const char *run_dir);

/* The level of this step, after `before`, which would be `requested` if the process were alone. */
jm_tracing jm__bursts_agree(const jm__bursts *bursts, uint64_t step, jm_tracing before, jm_tracing requested);

/* From a level that this process answers to the step that has it. */
uint64_t jm__bursts_lag(const jm__bursts *bursts);

/* Whether it is news here that a turn is to come; `own`: this process would have it so if it were alone. */
bool jm__bursts_comes_soon(jm__bursts *bursts, bool own);

/* The first rank's end is told to the others. */
void jm__bursts_leave(jm__bursts *bursts);

#endif
