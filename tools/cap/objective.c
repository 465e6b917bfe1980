/* The table of objectives, and their names. */
#include "cap/objective.h"

#include "base/status.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *text, *title, *unit;
    jm__cap_powers powers;
} objectives[JM_CAP_OBJECTIVE_COUNT] = {
#define X(name, text, title, unit, time_power, watt_power) {text, title, unit, {time_power, watt_power}},
    JM_CAP_OBJECTIVE_MAP(X)
#undef X
};

const char *jm_cap_objective_text(jm_cap_objective objective)
{
    return objective < JM_CAP_OBJECTIVE_COUNT ? objectives[objective].text : "unknown";
}

jm_status jm_cap_objective_parse(const char *text, jm_cap_objective *out, jm_error *err)
{
    for (int i = 0; i < JM_CAP_OBJECTIVE_COUNT; i++) {
        if (strcmp(objectives[i].text, text) != 0) continue;
        *out = (jm_cap_objective)i;
        return JM_OK;
    }
    return jm__fail(err, JM_USAGE, 0, "jm_cap_objective_parse", "no objective \"%.60s\"", text);
}

const char *jm_cap_verdict_text(jm_cap_verdict verdict)
{
    static const char *const texts[JM_CAP_VERDICT_COUNT] = {
#define X(name, text) text,
        JM_CAP_VERDICT_MAP(X)
#undef X
    };
    return verdict < JM_CAP_VERDICT_COUNT ? texts[verdict] : "unknown";
}

jm__cap_powers jm__cap_powers_of(jm_cap_objective objective)
{
    return objectives[objective].powers;
}

double jm__cap_objective_of(jm_cap_objective objective, double time_s, double power_w)
{
    const jm__cap_powers *p = &objectives[objective].powers;
    return pow(time_s, p->time) * pow(power_w, p->watts);
}

const char *jm__cap_objective_title(jm_cap_objective objective)
{
    return objectives[objective].title;
}

const char *jm__cap_objective_unit(jm_cap_objective objective)
{
    return objectives[objective].unit;
}
