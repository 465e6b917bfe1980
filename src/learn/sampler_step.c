/* Means of readings before and after each time that a sampler went at rest. */
#include "learn/sampler_step.h"

#include "base/clock.h"
#include "base/search.h"
#include "base/status.h"

#include <math.h>

/* Readings from so long before the event to so long after it; near it, the sampler may be there or not (the
 * recorder hears of it a tenth of a second late), and the sensor remembers. */
#define AROUND_NS (600 * JM_NS_PER_MS)
#define NEAR_NS   (200 * JM_NS_PER_MS)

enum { LEAST_READINGS = 10 };

/* A board that cools falls by a watt a second at most (seen on an H100 after work of 690 W). */
static const double cooling_u_w = 1;

typedef struct going {
    int64_t t_ns;
    bool at_rest;
} going;

typedef struct finding {
    const jm__lesson *lesson;
    JM_VEC(going) goings;
    bool traced;
} finding;

static jm_status take_kernel(void *taker, const jm__kernel_run *kernel, jm_error *err)
{
    finding *f = taker;
    going *goings = f->goings.items;
    size_t at;
    (void)err;
    if (!jm__lesson_has_kernel(f->lesson, kernel)) return JM_OK;
    f->traced = true;
    jm__search(at, f->goings.count, goings[at].t_ns <= kernel->start_ns - AROUND_NS);
    for (; at < f->goings.count && goings[at].t_ns < kernel->end_ns + AROUND_NS; at++)
        goings[at].at_rest = false;
    return JM_OK;
}

static bool find_goings(finding *f)
{
    const jm__dataset *d = f->lesson->dataset;
    bool fine = true;
    for (size_t i = 0; fine && i < d->event_count; i++) {
        const jm__event *event = &d->events[i];
        bool goes = event->kind == JM_EVENT_SAMPLING && event->value == 0;
        if (goes && event->board_id == f->lesson->board->id)
            fine = jm__vec_push(&f->goings, ((going){event->t_ns, true}));
    }
    return fine;
}

/* NAN: too few readings. */
static double mean_w(const jm__lesson *l, int64_t from_ns, int64_t to_ns)
{
    const jm_reading *readings = l->recorded;
    double sum_w = 0;
    size_t at, count = 0;
    jm__search(at, l->recorded_count, readings[at].t_ns < from_ns);
    for (; at < l->recorded_count && readings[at].t_ns < to_ns; at++) {
        if (!isfinite(readings[at].value)) continue;
        sum_w += readings[at].value;
        count++;
    }
    return count < LEAST_READINGS ? NAN : sum_w / (double)count;
}

static void add_up(const finding *f, double *power_w, double *u_w)
{
    double sum = 0, square = 0, count = 0;
    for (size_t i = 0; i < f->goings.count; i++) {
        int64_t t_ns = f->goings.items[i].t_ns;
        double step = mean_w(f->lesson, t_ns - AROUND_NS, t_ns - NEAR_NS) -
                      mean_w(f->lesson, t_ns + NEAR_NS, t_ns + AROUND_NS);
        if (!f->goings.items[i].at_rest || isnan(step)) continue;
        sum += step;
        square += step * step;
        count++;
    }
    if (count == 0 || !f->traced) return;
    *power_w = fmax(0, sum / count);
    *u_w = hypot(cooling_u_w, sqrt(fmax(0, square / count - pow(sum / count, 2)) / count));
}

jm_status jm__sampler_step_find(double *power_w, double *u_w, const jm__lesson *l, jm_error *err)
{
    const jm__kernel_source *kernels = &l->dataset->kernels;
    finding f = {.lesson = l};
    *power_w = *u_w = NAN;
    jm_status status = find_goings(&f) ? JM_OK : jm__no_memory(err, "jm_model_learn");
    if (status == JM_OK && f.goings.count > 0 && kernels->each != NULL)
        status = kernels->each(kernels->context, false, take_kernel, &f, err);
    if (status == JM_OK) add_up(&f, power_w, u_w);
    jm__vec_free(&f.goings);
    return status;
}
