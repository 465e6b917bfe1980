/* Kinds of work and of events, as text and by what they carry. */
#include "format/rows/rows.h"

const char *jm__work_text(jm__work work)
{
    static const char *const texts[] = {"",
#define X(name, text) text,
                                        JM_WORK_MAP(X)
#undef X
    };
    return (unsigned)work < sizeof texts / sizeof *texts ? texts[work] : "";
}

bool jm__event_has_value(jm_event_kind kind)
{
    static const bool has_value[JM_EVENT_COUNT] = {
#define X(name, text, has_value) has_value,
        JM_EVENT_MAP(X)
#undef X
    };
    return (unsigned)kind < JM_EVENT_COUNT && has_value[kind];
}
