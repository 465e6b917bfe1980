/* Events by board and time. */
#include "attribute/notes/events.h"

/* A century: longer than that no recorder waits. */
#define JM_GAP_MAX_NS (INT64_C(3155760000) * JM_NS_PER_S)

static bool is_of_wanted_board(const jm__attribution *a, int64_t board_id)
{
    if (board_id == 0) return true; /* it concerns all of them */
    for (size_t b = 0; b < a->dataset->board_count; b++)
        if (a->boards[b].board->id == board_id) return a->boards[b].wanted;
    return false;
}

/* What was absent, and what a sensor that failed, CUPTI, the recorder or the sampler of counters had to say
 * holds from then on. */
static bool lasts(jm_event_kind kind)
{
    return kind == JM_EVENT_BOARD_ABSENT || kind == JM_EVENT_SENSOR_FAILED || kind == JM_EVENT_CUPTI ||
           kind == JM_EVENT_RECORDER || kind == JM_EVENT_COUNTERS;
}

int64_t jm__event_gap_ns(const jm__event *event)
{
    bool told = event->kind == JM_EVENT_GAP && event->value > 0 && event->value < (double)JM_GAP_MAX_NS;
    return told ? (int64_t)event->value : 0;
}

bool jm__event_concerns(const jm__attribution *a, const jm__event *event)
{
    const jm_report_options *o = &a->options;
    bool all_time = o->phase == NULL && o->from_ns == 0 && o->to_ns == 0;
    if (!is_of_wanted_board(a, event->board_id)) return false;
    if (all_time || lasts(event->kind) || jm__windows_hold(&a->windows, event->t_ns)) return true;
    return jm__windows_overlap_ns(&a->windows, event->t_ns, event->t_ns + jm__event_gap_ns(event)) > 0;
}
