/* Time in which a board did not answer is no part of its energy: to go on with the last reading would be to
 * invent joules. */
#include "attribute/lost.h"

#include "base/search.h"
#include "base/status.h"

static int64_t last_ns_of(const jm_reading *readings, size_t count, int64_t t_ns)
{
    size_t after;
    jm__search(after, count, readings[after].t_ns <= t_ns);
    return after > 0 ? readings[after - 1].t_ns : INT64_MIN;
}

static int64_t first_ns_of(const jm_reading *readings, size_t count, int64_t t_ns)
{
    size_t at;
    jm__search(at, count, readings[at].t_ns < t_ns);
    return at < count ? readings[at].t_ns : INT64_MAX;
}

/* The newest of the part's readings up to t; INT64_MIN: there is none. */
static int64_t last_reading_ns(const jm__board_part *part, int64_t t_ns)
{
    int64_t last_ns = last_ns_of(part->counts, part->count_count, t_ns);
    for (size_t k = 0; k < part->power_count; k++) {
        int64_t own_ns = last_ns_of(part->powers[k].readings, part->powers[k].count, t_ns);
        if (own_ns > last_ns) last_ns = own_ns;
    }
    return last_ns;
}

/* The oldest from t on; INT64_MAX: there is none. */
static int64_t first_reading_ns(const jm__board_part *part, int64_t t_ns)
{
    int64_t first_ns = first_ns_of(part->counts, part->count_count, t_ns);
    for (size_t k = 0; k < part->power_count; k++) {
        int64_t own_ns = first_ns_of(part->powers[k].readings, part->powers[k].count, t_ns);
        if (own_ns < first_ns) first_ns = own_ns;
    }
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

jm_status jm__lost_find(jm__board_part *part, const jm__dataset *d, const jm__windows *windows,
                        const jm__windows *learn, jm_error *err)
{
    bool fine = true;
    for (size_t i = 0; fine && i < d->event_count; i++) {
        const jm__event *event = &d->events[i];
        if (event->kind != JM_EVENT_BOARD_LOST || event->board_id != part->board->id) continue;
        fine = jm__windows_add(&part->lost, last_reading_ns(part, event->t_ns), back_ns(d, part, event));
    }
    jm__windows_normalise(&part->lost);
    fine = fine && jm__windows_add_all(&part->windows, windows) &&
           jm__windows_subtract(&part->windows, &part->lost) && jm__windows_add_all(&part->learn, learn) &&
           jm__windows_subtract(&part->learn, &part->lost);
    return fine ? JM_OK : jm__no_memory(err, "jm__lost_find");
}
