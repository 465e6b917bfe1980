/* What a search is told: of the whole work, and of its parts. */
#include "base/status.h"
#include "cap/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static jm_status check(const jm_cap_probe *probe, const char *call, jm_error *err)
{
    bool sane = probe->time_s > 0 && probe->time_s <= 1e9 && probe->power_w > 0 && probe->power_w <= 1e6 &&
                probe->time_u_s >= 0 && probe->power_u_w >= 0;
    return sane ? JM_OK
                : jm__fail(err, JM_USAGE, 0, call, "%g s and %g W at a cap of %g W", probe->time_s,
                           probe->power_w, probe->cap_w);
}

static jm_status make_room(jm_cap_search *search, jm_error *err)
{
    if (search->told_count < search->told_capacity) return JM_OK;
    size_t capacity = search->told_capacity == 0 ? 32 : 2 * search->told_capacity;
    jm_cap_told *grown = realloc(search->told, capacity * sizeof *grown);
    if (grown == NULL) return jm__no_memory(err, "jm_cap_search_tell");
    search->told = grown;
    search->told_capacity = capacity;
    return JM_OK;
}

static jm_status tell_stage(jm_cap_search *search, const jm_cap_probe *probe, jm_error *err)
{
    if (search->trial.stage == JM_CAP_STAGE_CLOCK) return jm__cap_clock_tell(search, probe, err);
    if (search->trial.stage != JM_CAP_STAGE_PROOF) return jm_cap_plan_tell(search->plan, probe, err);
    jm__cap_proof_tell(&search->proofs[search->proof_count - 1], probe);
    return JM_OK;
}

jm_status jm_cap_search_tell(jm_cap_search *search, const jm_cap_probe *probe, jm_error *err)
{
    static const char call[] = "jm_cap_search_tell";
    if (!search->asked) return jm__fail(err, JM_USAGE, 0, call, "no trial was asked for");
    jm_cap_probe told = *probe;
    told.cap_w = search->trial.cap_w;
    JM_TRY(check(&told, call, err));
    JM_TRY(make_room(search, err));
    JM_TRY(tell_stage(search, &told, err));
    search->told[search->told_count++] = (jm_cap_told){search->trial, told};
    search->asked = false;
    return JM_OK;
}

size_t jm_cap_search_told_count(const jm_cap_search *search)
{
    return search->told_count;
}

const jm_cap_told *jm_cap_search_told(const jm_cap_search *search, size_t index)
{
    return index < search->told_count ? &search->told[index] : NULL;
}

/* ---- parts */

static jm_status new_part(jm_cap_search *search, const char *name, jm__cap_part **out, jm_error *err)
{
    static const char call[] = "jm_cap_search_tell_part";
    if (search->part_count == JM_CAP_MOST_PARTS)
        return jm__fail(err, JM_LIMIT, 0, call, "more than %d parts", JM_CAP_MOST_PARTS);
    jm__cap_part part = {.name = strdup(name)};
    if (part.name == NULL) return jm__no_memory(err, call);
    jm_cap_plan_options options = search->plan->options;
    jm_status status = jm_cap_plan_create(&part.plan, &options, err);
    if (status != JM_OK) {
        free(part.name);
        return status;
    }
    *out = &search->parts[search->part_count++];
    **out = part;
    return JM_OK;
}

jm_status jm_cap_search_tell_part(jm_cap_search *search, size_t number, const char *name,
                                  const jm_cap_probe *probe, jm_error *err)
{
    static const char call[] = "jm_cap_search_tell_part";
    const jm_cap_told *of = number > 0 ? jm_cap_search_told(search, number - 1) : NULL;
    if (of == NULL || of->trial.stage == JM_CAP_STAGE_CLOCK || of->trial.stage == JM_CAP_STAGE_PROOF)
        return jm__fail(err, JM_USAGE, 0, call, "%zu is no trial of the cap of which %s could be a part",
                        number, name);
    jm__cap_part *part = NULL;
    for (size_t i = 0; i < search->part_count; i++)
        if (strcmp(search->parts[i].name, name) == 0) part = &search->parts[i];
    if (part != NULL && part->last >= number)
        return jm__fail(err, JM_USAGE, 0, call, "%s was told of trial %zu already", name, part->last);
    if (part == NULL && !of->trial.reference)
        return jm__fail(err, JM_USAGE, 0, call, "the first trial of %s is not the reference's", name);
    jm_cap_probe told = *probe;
    told.cap_w = of->trial.cap_w;
    JM_TRY(check(&told, call, err));
    if (part == NULL) JM_TRY(new_part(search, name, &part, err));
    JM_TRY(jm_cap_plan_tell(part->plan, &told, err));
    part->last = number;
    return JM_OK;
}
