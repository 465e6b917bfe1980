/* Trying to sample counters, by the process that a recording would have do it: all boards at once. */
#include "doctor/counters.h"

#include "base/clock.h"
#include "record/counters/helper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_NS (INT64_C(10) * JM_NS_PER_S)

enum { BOARDS_MAX = 64 };

typedef struct trial {
    const jm_board *board;
    jm__counter_helper helper;
} trial;

static void take_nothing(void *context, const jm__counter_block *block)
{
    (void)context;
    (void)block;
}

/* It has said how it went, or will not any more. */
static void await(trial *t, int64_t until_ns)
{
    while (t->helper.state == JM_COUNTERS_PREPARING && jm__now_ns() < until_ns) {
        jm__counter_helper_hear(&t->helper, take_nothing, NULL);
        jm__sleep_ns(2 * JM_NS_PER_MS);
    }
}

static void note(jm__findings *findings, trial *t, bool alone)
{
    const jm__counter_helper *helper = &t->helper;
    char subject[64] = "hardware counters";
    if (!alone) snprintf(subject, sizeof subject, "hardware counters: GPU %d", (int)t->board->index);
    if (helper->state == JM_COUNTERS_IDLE)
        jm__finding_add(findings, subject, true, "", "%s, %d metrics in one pass", helper->chip,
                        (int)helper->metric_count);
    else if (helper->state == JM_COUNTERS_PREPARING)
        jm__finding_add(findings, subject, false, "", "trying them took longer than %.3g s",
                        (double)LIMIT_NS / (double)JM_NS_PER_S);
    else
        jm__finding_add(findings, subject, false, helper->cure, "%s", helper->fault);
    if (findings->count > 0)
        findings->items[findings->count - 1].lacks_right = strcmp(helper->cure, JM_COUNTERS_RIGHT_CURE) == 0;
}

void jm__doctor_counters(jm__findings *findings, const jm_inventory *inventory, const char *sim)
{
    size_t count = 0;
    trial *trials = calloc(BOARDS_MAX, sizeof *trials);
    jm__counter_way way = {0};
    for (size_t i = 0; trials != NULL && i < jm_inventory_board_count(inventory) && count < BOARDS_MAX; i++) {
        const jm_board *board = jm_inventory_board(inventory, i);
        if (!jm__counter_board_has_them(board)) continue;
        if (count == 0) jm__counter_way_find(&way, NULL, board->simulated ? sim : NULL, NULL);
        trials[count].board = board;
        jm__counter_helper_start(&trials[count++].helper, &way, "try", board);
    }
    int64_t until_ns = jm__now_ns() + LIMIT_NS;
    for (size_t i = 0; i < count; i++)
        await(&trials[i], until_ns);
    for (size_t i = 0; i < count; i++) {
        note(findings, &trials[i], count == 1);
        jm__counter_helper_end(&trials[i].helper, jm__now_ns() + JM_NS_PER_S / 5);
    }
    jm__counter_way_free(&way);
    free(trials);
}
