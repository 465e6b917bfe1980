/* What searches for a cap find, against what was kept (figures.h). */
#ifndef TEST_CAP_FOUND_H
#define TEST_CAP_FOUND_H

#include "figures.h"

#include <joulemap/cap.h>

/* What was chosen stays what it is. */
static inline void choice_kept(const char *source, const jm_cap_choice *c)
{
    const double values[] = {
        c->cap_w,          c->reference_w,   c->saving.value,        c->saving.low, c->saving.high,
        c->slowdown.value, c->slowdown.low,  c->slowdown.high,       c->gain.value, c->gain.low,
        c->gain.high,      c->expected_gain, (double)c->bound_broken};
    figures_keep(source, NULL, values, sizeof values / sizeof *values, (uint32_t)c->verdict);
}

static inline void found_kept(const char *source, const jm_cap_search *search, const jm_cap_found *f)
{
    const double values[] = {f->clock_mhz, (double)f->proof.blocks, (double)jm_cap_search_told_count(search)};
    choice_kept(source, &f->choice);
    figures_keep(source, NULL, values, sizeof values / sizeof *values,
                 (uint32_t)(f->over + 2 * f->proven + 4 * f->proof.whole + 8 * f->proof.bound_kept));
}

/* All that is said of it, to people at this width and as JSON behind the version. */
static inline void said_kept(const char *source, jm_cap_search *search, size_t width)
{
    char *text, *json;
    assert_int_equal(jm_cap_search_text(search, width, &text, NULL), JM_OK);
    assert_int_equal(jm_cap_search_json(search, &json, NULL), JM_OK);
    text_kept(source, text);
    text_kept(source, strstr(json, "\"simulated\""));
    free(text);
    free(json);
}

#endif
