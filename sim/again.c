/* The work of traced steps, kept and played again. */
#include "again.h"

#include <stdlib.h>
#include <string.h>

/* As src/format/rows/marks.h has them. */
static const char traced_mark[] = "joulemap: traced from here",
                  untraced_mark[] = "joulemap: not traced from here",
                  steps_mark[] = "joulemap: steps alone from here";

#define KINDS       32     /* names of steps of a program */
#define KEPT        32     /* steps of each */
#define CHANGES_MAX 100000 /* in a step; one of more is not kept */
#define LEAST_NS    10000  /* nor one that is shorter: it would come again too often */
#define LEAST_PACE  0.1

/* What is on the board from here on. */
typedef struct change {
    int64_t at_ns; /* after the step's beginning */
    uint32_t call;
    uint32_t first; /* of its loads */
    int count;
} change;

/* Of a step. */
typedef struct course {
    change *changes;
    size_t count, room;
    sim_load *loads;
    size_t load_count, load_room;
    int64_t length_ns;
    bool failed;
} course;

/* The last ones of a name. */
typedef struct step_kind {
    uint64_t key;
    course kept[KEPT];
    size_t count, oldest;
    double unmarked_ns; /* what its untraced steps take; 0: there was none yet */
    /* What is played of them: each untraced step goes on where the last one ended, so that all of a course
     * comes, however long single steps are. */
    const course *plays;      /* NULL: none yet */
    size_t next_course, next; /* next: change that comes next */
    int64_t left_ns;          /* until then, once a step goes on */
} step_kind;

struct sim_again {
    sim_again *other; /* the next process; NULL: it is the last */
    int32_t pid;
    int board;
    bool alone;    /* steps alone are told */
    uint64_t step; /* that goes on, 0: none */
    uint64_t key;
    int64_t begun_ns;
    bool learns; /* of this step */
    course now;  /* of this step, as far as it has come */
    step_kind kinds[KINDS];
    size_t kind_count, oldest;
    step_kind *plays; /* the kind of this step; NULL: nothing is carried again */
    int64_t next_ns;
};

static void course_free(course *c)
{
    free(c->changes);
    free(c->loads);
    *c = (course){0};
}

static void kind_free(step_kind *kind)
{
    for (size_t i = 0; i < kind->count; i++)
        course_free(&kind->kept[i]);
    *kind = (step_kind){0};
}

static void again_free(sim_again *again)
{
    course_free(&again->now);
    for (size_t k = 0; k < again->kind_count; k++)
        kind_free(&again->kinds[k]);
    free(again);
}

void sim_agains_free(sim_agains *all)
{
    while (all->first != NULL) {
        sim_again *other = all->first->other;
        again_free(all->first);
        all->first = other;
    }
}

sim_again *sim_again_of(sim_agains *all, int32_t pid, int board)
{
    sim_again *again = all->first;
    while (again != NULL && again->pid != pid)
        again = again->other;
    if (again == NULL) {
        again = calloc(1, sizeof *again);
        if (again == NULL) return NULL;
        *again = (sim_again){.other = all->first, .pid = pid, .next_ns = INT64_MAX};
        all->first = again;
    }
    again->board = board;
    return again;
}

void sim_again_forget(sim_agains *all, int32_t pid)
{
    for (sim_again **at = &all->first; *at != NULL; at = &(*at)->other) {
        sim_again *gone = *at;
        if (gone->pid != pid) continue;
        *at = gone->other;
        again_free(gone);
        return;
    }
}

void sim_again_mark(sim_again *again, const char *name)
{
    if (strcmp(name, steps_mark) == 0) again->alone = true;
    if (strcmp(name, traced_mark) == 0 || strcmp(name, untraced_mark) == 0) again->alone = false;
}

/* ---- to keep what a step put on the board */

static void *room_for(void *items, size_t *room, size_t wanted, size_t size)
{
    if (wanted <= *room) return items;
    size_t larger = *room < 64 ? 64 : 2 * *room;
    if (larger < wanted) larger = wanted;
    void *grown = realloc(items, larger * size);
    if (grown != NULL) *room = larger;
    return grown;
}

static void push_change(course *c, int64_t at_ns, const sim_load *loads, int count, uint32_t call)
{
    size_t wanted = c->load_count + (size_t)count;
    change *changes = c->failed || c->count == CHANGES_MAX
                          ? NULL
                          : room_for(c->changes, &c->room, c->count + 1, sizeof *changes);
    if (changes != NULL) c->changes = changes;
    sim_load *all = changes == NULL ? NULL : room_for(c->loads, &c->load_room, wanted + 1, sizeof *all);
    if (all != NULL) c->loads = all;
    c->failed = all == NULL;
    if (c->failed) return;
    c->changes[c->count++] =
        (change){.at_ns = at_ns, .call = call, .first = (uint32_t)c->load_count, .count = count};
    if (count > 0) memcpy(c->loads + c->load_count, loads, (size_t)count * sizeof *loads);
    c->load_count = wanted;
}

static step_kind *find_kind(sim_again *again, uint64_t key)
{
    for (size_t k = 0; k < again->kind_count; k++)
        if (again->kinds[k].key == key) return &again->kinds[k];
    return NULL;
}

/* Made if it is not there, in the place of the oldest where there is no other. */
static step_kind *make_kind(sim_again *again, uint64_t key)
{
    step_kind *kind = find_kind(again, key);
    if (kind != NULL) return kind;
    kind = again->kind_count < KINDS ? &again->kinds[again->kind_count++]
                                     : &again->kinds[again->oldest++ % KINDS];
    kind_free(kind);
    kind->key = key;
    return kind;
}

static void keep(sim_again *again)
{
    step_kind *kind = make_kind(again, again->key);
    course *to = kind->count < KEPT ? &kind->kept[kind->count++] : &kind->kept[kind->oldest++ % KEPT];
    if (kind->plays == to) kind->plays = NULL;
    course_free(to);
    *to = again->now;
    again->now = (course){0};
}

/* ---- to play it again */

static void stop(sim_again *again, int64_t t_ns)
{
    if (again->plays != NULL) again->plays->left_ns = again->next_ns - t_ns;
    again->plays = NULL;
    again->next_ns = INT64_MAX;
}

/* From the change before, or from the course's beginning, to the one that comes, or to its end: as much
 * shorter as steps are that are not traced. */
static int64_t length_ns(const step_kind *kind)
{
    const course *c = kind->plays;
    int64_t from_ns = kind->next > 0 ? c->changes[kind->next - 1].at_ns : 0;
    int64_t to_ns = kind->next < c->count ? c->changes[kind->next].at_ns : c->length_ns;
    double pace = kind->unmarked_ns > 0 ? kind->unmarked_ns / (double)c->length_ns : 1;
    if (pace < LEAST_PACE) pace = LEAST_PACE;
    return (int64_t)(pace * (double)(to_ns - from_ns));
}

static void begin_course(step_kind *kind)
{
    kind->plays = &kind->kept[kind->next_course++ % kind->count];
    kind->next = 0;
    kind->left_ns = length_ns(kind);
}

static void play(sim_again *again, int64_t t_ns)
{
    if (again->plays->plays == NULL) begin_course(again->plays);
    again->next_ns = t_ns + again->plays->left_ns;
}

sim_again *sim_again_next(const sim_agains *all, int64_t *t_ns)
{
    sim_again *next = NULL;
    *t_ns = INT64_MAX;
    for (sim_again *at = all->first; at != NULL; at = at->other) {
        if (at->next_ns >= *t_ns) continue;
        next = at;
        *t_ns = at->next_ns;
    }
    return next;
}

int sim_again_move(sim_again *again, uint32_t *call)
{
    step_kind *kind = again->plays;
    *call = kind->next > 0 ? kind->plays->changes[kind->next - 1].call : UINT32_MAX;
    if (kind->next < kind->plays->count) {
        kind->next++;
        kind->left_ns = length_ns(kind);
    } else {
        begin_course(kind);
    }
    again->next_ns += kind->left_ns;
    return again->board;
}

int sim_again_loads(const sim_agains *all, int board, sim_load *loads)
{
    int count = 0;
    for (const sim_again *at = all->first; at != NULL; at = at->other) {
        const step_kind *kind = at->plays;
        if (at->board != board || kind == NULL || kind->next == 0) continue;
        const change *last = &kind->plays->changes[kind->next - 1];
        for (int k = 0; k < last->count && count < SIM_LOADS; k++)
            loads[count++] = kind->plays->loads[last->first + (uint32_t)k];
    }
    return count;
}

/* ---- what the program says */

void sim_again_begin(sim_again *again, uint64_t id, uint64_t key, int64_t t_ns)
{
    if (again->step != 0) return;
    again->step = id;
    again->key = key;
    again->begun_ns = t_ns;
    again->learns = !again->alone;
    course_free(&again->now);
    again->plays = again->alone ? find_kind(again, key) : NULL;
    if (again->plays != NULL) play(again, t_ns);
}

/* Their mean is what the next one will take. */
static void note_unmarked(step_kind *kind, int64_t taken_ns)
{
    if (kind->unmarked_ns == 0) kind->unmarked_ns = (double)taken_ns;
    kind->unmarked_ns += ((double)taken_ns - kind->unmarked_ns) / 8;
}

void sim_again_end(sim_again *again, uint64_t id, int64_t t_ns)
{
    if (again->step == 0 || again->step != id) return;
    again->step = 0;
    again->now.length_ns = t_ns - again->begun_ns;
    if (again->plays != NULL) note_unmarked(again->plays, again->now.length_ns);
    stop(again, t_ns);
    bool works = again->now.load_count > 0 && again->now.length_ns >= LEAST_NS;
    if (again->learns && !again->alone && !again->now.failed && works) keep(again);
}

/* Work is told all the same, to get ready for what is traced: it draws by itself. */
void sim_again_told(sim_again *again, const sim_load *loads, int count, uint32_t call, int64_t t_ns)
{
    if (count > 0) stop(again, t_ns);
    if (again->step != 0 && again->learns)
        push_change(&again->now, t_ns - again->begun_ns, loads, count, call);
}

void sim_again_broken(sim_again *again)
{
    again->learns = false;
}
