/* Traced steps of a kind that lie together, and the nearest of them for each other step. */
#include "attribute/sampling/parts.h"
#include "base/search.h"

#include <math.h>
#include <stdlib.h>

/* On a shelf. */
#define NOWHERE SIZE_MAX

typedef struct turn_key {
    uint64_t process, stretch, kind;
} turn_key;

typedef struct stand_key {
    uint32_t turn, kind;
} stand_key;

/* Turns by the kind that they are looked for by, and time. */
typedef struct shelf {
    uint32_t *turns; /* numbers */
    size_t count;
    bool loose;
    const jm__stands *of;
} shelf;

static bool add_to_turn(jm__stands *out, jm__map *numbers, size_t lap, const jm__stands_wanted *w)
{
    jm__lap *now = &out->laps.items[lap];
    int64_t end_ns = now->step_end_ns;
    const jm__windows *on = &w->traced[now->process].on;
    size_t stretch = jm__windows_first_after(on, now->start_ns + (end_ns - now->start_ns) / 2);
    const turn_key key = {now->process, stretch, now->kind};
    const jm__map_value *known = jm__map_find(numbers, &key);
    size_t number = known != NULL ? (size_t)known->id : out->turns.count;
    const jm__turn fresh = {.process = now->process,
                            .kind = now->kind,
                            .loose_kind = out->loose_of.items[now->kind - 1],
                            .stretch = (uint32_t)stretch,
                            .span = now->span,
                            .from_ns = now->start_ns,
                            .slowed_s = NAN};
    if (known == NULL && (!jm__map_put(numbers, &key, (jm__map_value){.id = (int64_t)number}) ||
                          !jm__vec_push(&out->turns, fresh)))
        return false;
    jm__turn *turn = &out->turns.items[number];
    now->stand = (uint32_t)number;
    now->turn_place = turn->laps++;
    turn->step_s += 1e-9 * (double)(end_ns - now->start_ns);
    if (end_ns > turn->to_ns) turn->to_ns = end_ns;
    return true;
}

static int by_kind_and_time(const void *a, const void *b, void *context)
{
    const shelf *on = context;
    const jm__turn *left = &on->of->turns.items[*(const uint32_t *)a],
                   *right = &on->of->turns.items[*(const uint32_t *)b];
    uint32_t left_kind = on->loose ? left->loose_kind : left->kind,
             right_kind = on->loose ? right->loose_kind : right->kind;
    if (left_kind != right_kind) return left_kind < right_kind ? -1 : 1;
    return (left->from_ns > right->from_ns) - (left->from_ns < right->from_ns);
}

static bool fill(shelf *out, const jm__stands *of, bool loose)
{
    *out = (shelf){.count = of->turns.count, .loose = loose, .of = of};
    out->turns = malloc((out->count + 1) * sizeof *out->turns);
    for (size_t i = 0; out->turns != NULL && i < out->count; i++)
        out->turns[i] = (uint32_t)i;
    if (out->turns != NULL && out->count > 1)
        qsort_r(out->turns, out->count, sizeof *out->turns, by_kind_and_time, out);
    return out->turns != NULL;
}

/* Turns in the order of their shelf: those of a kind stand together. */
static bool sort_turns(jm__stands *out, shelf *strict)
{
    jm__turn *sorted = malloc((out->turns.count + 1) * sizeof *sorted);
    uint32_t *number = malloc((out->turns.count + 1) * sizeof *number);
    bool fine = sorted != NULL && number != NULL;
    for (size_t i = 0; fine && i < strict->count; i++) {
        sorted[i] = out->turns.items[strict->turns[i]];
        number[strict->turns[i]] = (uint32_t)i;
    }
    for (size_t i = 0; fine && i < strict->count; i++) {
        out->turns.items[i] = sorted[i];
        strict->turns[i] = (uint32_t)i;
    }
    for (size_t i = 0; fine && i < out->laps.count; i++)
        if (jm__lap_stands(&out->laps.items[i])) out->laps.items[i].stand = number[out->laps.items[i].stand];
    free(sorted);
    free(number);
    return fine;
}

static const jm__turn *turn_at(const shelf *on, size_t at)
{
    return &on->of->turns.items[on->turns[at]];
}

/* That it is looked for by. */
static uint32_t kind_at(const shelf *on, size_t at)
{
    return on->loose ? turn_at(on, at)->loose_kind : turn_at(on, at)->kind;
}

static int64_t distance_ns(const jm__turn *turn, int64_t t_ns)
{
    if (t_ns < turn->from_ns) return turn->from_ns - t_ns;
    return t_ns > turn->to_ns ? t_ns - turn->to_ns : 0;
}

static bool is_before(const shelf *on, size_t at, uint32_t kind, int64_t t_ns)
{
    uint32_t mine = kind_at(on, at);
    return mine < kind || (mine == kind && turn_at(on, at)->from_ns <= t_ns);
}

/* By place on the shelf; NOWHERE: none is of this kind. */
static size_t nearest(const shelf *on, uint32_t kind, int64_t t_ns)
{
    size_t best = NOWHERE, at;
    int64_t best_ns = INT64_MAX;
    jm__search(at, on->count, is_before(on, at, kind, t_ns));
    for (size_t i = at > 0 ? at - 1 : 0; i < on->count && i <= at; i++) {
        const jm__turn *turn = turn_at(on, i);
        if (kind_at(on, i) != kind || distance_ns(turn, t_ns) >= best_ns) continue;
        best = i;
        best_ns = distance_ns(turn, t_ns);
    }
    return best;
}

static double apart(const jm__span *a, const jm__span *b)
{
    return fabs(log((a->samples + 1.0) / (b->samples + 1.0))) +
           fabs(log((a->tokens + 1.0) / (b->tokens + 1.0)));
}

/* Of the turns of one stretch that stand together on the shelf, that whose counts are nearest to the step's:
 * they may be parts of a kind. */
static uint32_t most_like(const shelf *on, size_t place, const jm__span *step, const jm__span *spans)
{
    const jm__turn *there = turn_at(on, place);
    uint32_t kind = kind_at(on, place), best = on->turns[place];
    double least = INFINITY;
    while (place > 0 && kind_at(on, place - 1) == kind && turn_at(on, place - 1)->stretch == there->stretch)
        place--;
    for (; place < on->count && kind_at(on, place) == kind && turn_at(on, place)->stretch == there->stretch;
         place++) {
        double distance = apart(step, &spans[turn_at(on, place)->span]);
        if (distance < least) best = on->turns[place];
        least = fmin(least, distance);
    }
    return best;
}

/* The stand of a turn for steps of another kind than its own. */
static bool stand_in(jm__stands *out, jm__map *others, uint32_t turn, jm__lap *lap)
{
    const stand_key key = {turn, lap->kind};
    const jm__map_value *known = jm__map_find(others, &key);
    const jm__stand fresh = {turn, lap->span};
    lap->stand = known != NULL ? (uint32_t)known->id : (uint32_t)out->items.count;
    return known != NULL ||
           (jm__map_put(others, &key, (jm__map_value){.id = lap->stand}) && jm__vec_push(&out->items, fresh));
}

/* In the same row if any was traced there, else wherever the like was. */
static bool find_stand(jm__stands *out, jm__map *others, const shelf shelves[2], size_t lap,
                       const jm__span *spans)
{
    jm__lap *now = &out->laps.items[lap];
    size_t place = nearest(&shelves[0], now->kind, now->start_ns);
    out->told++;
    if (place != NOWHERE) {
        now->stand = shelves[0].turns[place];
        return true;
    }
    place = nearest(&shelves[1], out->loose_of.items[now->kind - 1], now->start_ns);
    out->missing += place == NOWHERE;
    return place == NOWHERE ||
           stand_in(out, others, most_like(&shelves[1], place, &spans[now->span], spans), now);
}

/* What is told by steps, but for those that nothing stands for, and pauses. */
static bool find_stood(jm__stands *out, const jm__stands_wanted *w)
{
    bool fine = true;
    for (size_t p = 0; fine && p < out->processes; p++) {
        for (size_t i = out->laps_of[p]; fine && i < out->laps_of[p + 1]; i++) {
            const jm__lap *lap = &out->laps.items[i];
            if (lap->stand != JM__NO_STAND)
                fine = jm__windows_add(&out->stood[p], lap->start_ns, lap->end_ns);
        }
        jm__windows_normalise(&out->stood[p]);
        fine = fine && jm__windows_intersect(&out->stood[p], &w->traced[p].steps);
    }
    return fine;
}

/* Those of a process that are not traced find who stands for them. */
static bool find_of_process(jm__stands *out, jm__map *others, const shelf shelves[2], size_t process,
                            const jm__stands_wanted *w)
{
    const jm__windows *steps = &w->traced[process].steps;
    bool fine = true;
    size_t at = 0;
    for (size_t i = out->laps_of[process]; fine && i < out->laps_of[process + 1]; i++) {
        const jm__lap *lap = &out->laps.items[i];
        if (jm__lap_stands(lap))
            out->items.items[lap->stand].span = lap->span;
        else if (!lap->traced && jm__windows_next_overlap_ns(steps, &at, lap->start_ns, lap->end_ns) > 0)
            fine = find_stand(out, others, shelves, i, w->spans->dataset->spans);
    }
    return fine;
}

static bool find_stands(jm__stands *out, shelf shelves[2], const jm__stands_wanted *w)
{
    jm__map others = {.key_size = sizeof(stand_key)};
    bool fine = sort_turns(out, &shelves[0]) && fill(&shelves[1], out, true);
    for (size_t t = 0; fine && t < out->turns.count; t++)
        fine = jm__vec_push(&out->items, ((jm__stand){(uint32_t)t, 0}));
    for (size_t p = 0; fine && p < out->processes; p++)
        fine = find_of_process(out, &others, shelves, p, w);
    jm__map_free(&others);
    return fine;
}

bool jm__turns_find(jm__stands *out, const jm__stands_wanted *w)
{
    jm__map numbers = {.key_size = sizeof(turn_key)};
    shelf shelves[2] = {{0}};
    bool fine = true;
    for (size_t i = 0; fine && i < out->laps.count; i++)
        if (jm__lap_stands(&out->laps.items[i])) fine = add_to_turn(out, &numbers, i, w);
    out->stood = calloc(out->processes + 1, sizeof *out->stood);
    fine = fine && out->stood != NULL && fill(&shelves[0], out, false) && find_stands(out, shelves, w) &&
           find_stood(out, w);
    jm__map_free(&numbers);
    free(shelves[0].turns);
    free(shelves[1].turns);
    return fine;
}
