/* Where, when and on what a run ran. */
#include "page/column.h"
#include "page/parts.h"

#include <math.h>
#include <stdlib.h>

/* Facts of a recording that the page shows, and what it calls them. */
static const struct {
    const char *key;
    const char *title;
} facts[] = {
    {"command", "command"},
    {"folder", "folder"},
    {"host", "host"},
    {"system", "system"},
    {"kernel", "kernel"},
    {"cpu", "CPU"},
    {"joulemap_version", "recorded with joulemap"},
};

static json_t *fact_at(const void *context, size_t i)
{
    const char *value = jm_recording_meta(context, facts[i].key);
    return json_pack("[s o]", facts[i].title, jm__json_text(value));
}

static json_t *board_at(const void *context, size_t i)
{
    jm_report_board board;
    if (jm_report_board_get(context, i, &board, NULL) != JM_OK) return NULL;
    const jm_board *b = board.board;
    return json_pack("{si so so so so so so so so so sb}", "index", (int)board.index, "name",
                     jm__json_text(b->name), "uuid", jm__json_text(b->uuid), "pci", jm__json_text(b->pci),
                     "host", jm__json_text(b->host), "driver", jm__json_text(b->driver), "power_limit_w",
                     jm__json_real(b->power_limit_w), "clock_limit_mhz", jm__json_real(b->clock_limit_mhz),
                     "energy_j", jm__json_real(board.energy_j), "gain_u",
                     board.gain_u > 0 ? jm__json_real(board.gain_u) : json_null(), "simulated",
                     (int)b->simulated);
}

static json_t *started(const jm_recording *recording)
{
    const char *text = jm_recording_meta(recording, "start_unix_ns");
    return text != NULL ? json_integer(strtoll(text, NULL, 10) / 1000000000) : json_null();
}

json_t *jm__page_machine(const jm_page_run *run)
{
    const jm_recording *recording = run->recording;
    size_t fact_count = recording != NULL ? sizeof facts / sizeof *facts : 0;
    return json_pack("{so so so}", "facts", jm__page_array(fact_count, fact_at, recording), "start_unix_s",
                     recording != NULL ? started(recording) : json_null(), "boards",
                     jm__page_array(jm_report_board_count(run->report), board_at, run->report));
}
