/* Sentences about ranks: who came late, and which processes shared a GPU. */
#include "attribute/notes/note_writer.h"
#include "base/strbuf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_TOLD = 8, PROCESSES_TOLD = 8 }; /* choices: a note is no list */

/* Over all collectives. */
typedef struct rank {
    int64_t process_id;
    size_t board;
    int64_t matched, late;
} rank;

typedef JM_VEC(rank) ranks;

static bool add_wait(ranks *all, const jm__collective_wait *wait)
{
    rank *known = NULL;
    for (size_t i = 0; i < all->count && known == NULL; i++)
        if (all->items[i].process_id == wait->process_id && all->items[i].board == wait->board)
            known = &all->items[i];
    const rank fresh = {.process_id = wait->process_id, .board = wait->board};
    if (known == NULL && !jm__vec_push(all, fresh)) return false;
    if (known == NULL) known = &all->items[all->count - 1];
    known->matched += wait->matched;
    known->late += wait->late;
    return true;
}

static int latest_first(const void *a, const void *b)
{
    const rank *left = a, *right = b;
    if (left->late != right->late) return left->late > right->late ? -1 : 1;
    return (left->process_id > right->process_id) - (left->process_id < right->process_id);
}

static void add_rank(jm__strbuf *text, const jm__attribution *a, const rank *r)
{
    const jm__process *process = jm__dataset_process(a->dataset, r->process_id);
    int gpu = jm__attribution_index(a, r->board);
    if (process != NULL && process->rank >= 0)
        jm__strbuf_format(text, "rank %" PRId64 " (GPU %d)", process->rank, gpu);
    else
        jm__strbuf_format(text, "GPU %d (process %" PRId64 ")", gpu, process != NULL ? process->pid : 0);
    jm__strbuf_format(text, " in %" PRId64 " of %" PRId64, r->late, r->matched);
}

static void say_late(jm__note_writer *w)
{
    const jm__collective_waits *waits = &w->a->work.ranks.waits;
    ranks all = {0};
    jm__strbuf text = {0};
    for (size_t i = 0; i < waits->count && !w->failed; i++)
        w->failed = !add_wait(&all, &waits->items[i]);
    if (all.count > 1) qsort(all.items, all.count, sizeof *all.items, latest_first);
    for (size_t i = 0; i < all.count && i < RANKS_TOLD && all.items[i].late > 0; i++) {
        if (i > 0) jm__strbuf_add(&text, ", ");
        add_rank(&text, w->a, &all.items[i]);
    }
    w->failed = w->failed || text.failed;
    if (text.text != NULL && text.text[0] != '\0' && !w->failed)
        jm__say(w, "Who came last to a collective, and was waited for: %s.", text.text);
    jm__strbuf_free(&text);
    jm__vec_free(&all);
}

/* Processes with kernels on a board, by their streams. */
static size_t add_processes(jm__note_writer *w, int64_t board_id, jm__strbuf *text)
{
    const jm__dataset *d = w->a->dataset;
    JM_VEC(int64_t) seen = {0};
    for (size_t i = 0; i < d->stream_count && !w->failed; i++) {
        const jm__process *process = jm__dataset_process(d, d->streams[i].process_id);
        bool known = d->streams[i].board_id != board_id || process == NULL;
        for (size_t k = 0; k < seen.count && !known; k++)
            known = seen.items[k] == process->id;
        if (known) continue;
        w->failed = !jm__vec_push(&seen, process->id);
        if (seen.count <= PROCESSES_TOLD)
            jm__strbuf_format(text, "%s%" PRId64, seen.count > 1 ? ", " : "", process->pid);
        else if (seen.count == PROCESSES_TOLD + 1)
            jm__strbuf_add(text, ", ...");
    }
    size_t count = seen.count;
    jm__vec_free(&seen);
    return count;
}

static void say_shared(jm__note_writer *w, const jm_board *board)
{
    jm__strbuf text = {0};
    size_t count = add_processes(w, board->id, &text);
    jm__note_writer_speak_of(w, board);
    w->failed = w->failed || text.failed;
    if (count > 1 && !w->failed)
        jm__say(
            w,
            "%s was shared by %zu processes of this run (%s): where their kernels overlap, by MPS or because "
            "they took turns, they share the time.",
            w->label, count, text.text);
    jm__strbuf_free(&text);
}

static bool is_recorded(const jm__dataset *d, int64_t pid)
{
    for (size_t i = 0; i < d->process_count; i++)
        if (d->processes[i].pid == pid) return true;
    return false;
}

/* Adds those of "4711 (python3), 4712" that are not recorded, and not told yet. */
static void add_others(jm__strbuf *text, const jm__dataset *d, const char *list)
{
    while (*list != '\0') {
        size_t length = strcspn(list, ",");
        char one[64];
        snprintf(one, sizeof one, "%.*s", (int)length, list);
        bool known =
            is_recorded(d, strtoll(one, NULL, 10)) || (text->text != NULL && strstr(text->text, one) != NULL);
        if (!known && one[0] != '\0') jm__strbuf_format(text, "%s%s", text->text != NULL ? ", " : "", one);
        list += length + strspn(list + length, ", ");
    }
}

/* What they drew is nobody's here: the sensor sees it, the fit does not know of it. */
static void say_others(jm__note_writer *w, const jm_board *board)
{
    const jm__dataset *d = w->a->dataset;
    jm__strbuf text = {0};
    for (size_t i = 0; i < d->event_count; i++)
        if (d->events[i].kind == JM_EVENT_PROCESSES && d->events[i].board_id == board->id)
            add_others(&text, d, d->events[i].text);
    jm__note_writer_speak_of(w, board);
    w->failed = w->failed || text.failed;
    if (text.text != NULL && text.text[0] != '\0' && !w->failed)
        jm__warn(
            w,
            "%s was also used by processes that are not recorded: %s. What they drew is in these joules, "
            "mostly in (idle) and (outside), and no interval knows of it.",
            w->label, text.text);
    jm__strbuf_free(&text);
}

void jm__notes_of_ranks(jm__note_writer *w)
{
    say_late(w);
    for (size_t b = 0; b < w->a->dataset->board_count; b++)
        if (w->a->boards[b].wanted) {
            say_shared(w, w->a->boards[b].board);
            say_others(w, w->a->boards[b].board);
        }
}
