/* Time in which a board did not answer is no part of its energy: to go on with the last reading would be to
 * invent joules. */
#include "attribute/lost.h"

#include "base/status.h"

/* The newest of the part's readings up to t; INT64_MIN: there is none. */
static int64_t last_reading_ns(const jm__board_part *part, int64_t t_ns)
{
    int64_t last_ns = INT64_MIN;
    for (size_t i = 0; i < part->powers.count && part->powers.items[i].t_ns <= t_ns; i++)
        last_ns = part->powers.items[i].t_ns;
    for (size_t i = 0; i < part->counts.count && part->counts.items[i].t_ns <= t_ns; i++)
        if (part->counts.items[i].t_ns > last_ns) last_ns = part->counts.items[i].t_ns;
    return last_ns;
}

/* The oldest from t on; INT64_MAX: there is none. */
static int64_t first_reading_ns(const jm__board_part *part, int64_t t_ns)
{
    int64_t first_ns = INT64_MAX;
    for (size_t i = part->powers.count; i > 0 && part->powers.items[i - 1].t_ns >= t_ns; i--)
        first_ns = part->powers.items[i - 1].t_ns;
    for (size_t i = part->counts.count; i > 0 && part->counts.items[i - 1].t_ns >= t_ns; i--)
        if (part->counts.items[i - 1].t_ns < first_ns) first_ns = part->counts.items[i - 1].t_ns;
    return first_ns;
}

/* When the board was back after event `lost`; INT64_MAX: never. */
static int64_t back_ns(const jm__dataset *d, const jm__board_part *part, const jm__event *lost)
{
    int64_t found_ns = INT64_MAX;
    for (size_t i = 0; i < d->event_count; i++) {
        const jm__event *event = &d->events[i];
        bool later = event->t_ns >= lost->t_ns && event->t_ns < found_ns;
        if (event->kind == JM_EVENT_BOARD_BACK && event->board_id == part->board->id && later)
            found_ns = event->t_ns;
    }
    return found_ns == INT64_MAX ? INT64_MAX : first_reading_ns(part, found_ns);
}

jm_status jm__lost_find(jm__board_part *part, const jm__attribution *a, jm_error *err)
{
    const jm__dataset *d = a->dataset;
    bool fine = true;
    for (size_t i = 0; fine && i < d->event_count; i++) {
        const jm__event *event = &d->events[i];
        if (event->kind != JM_EVENT_BOARD_LOST || event->board_id != part->board->id) continue;
        fine = jm__windows_add(&part->lost, last_reading_ns(part, event->t_ns), back_ns(d, part, event));
    }
    jm__windows_normalise(&part->lost);
    fine = fine && jm__windows_add_all(&part->windows, &a->windows) &&
           jm__windows_subtract(&part->windows, &part->lost) &&
           jm__windows_add_all(&part->learn, &a->learn) && jm__windows_subtract(&part->learn, &part->lost);
    return fine ? JM_OK : jm__no_memory(err, "jm__lost_find");
}
