/* Blocks of four windows, their differences and Student's intervals.
 *
 * In a block ABBA (or BAAB) a straight drift weighs as much on A as on B. Blocks are compared in logarithms.
 * How many: C. Stein, A two-sample test for a linear hypothesis whose power is independent of the variance
 * (1945). The spread of the first blocks says how many are needed, and stays the one that the interval is
 * made of: so it holds 95 % of the time, however many they become. */
#include "cap/proof.h"

#include "attribute/fit/student.h"
#include "cap/objective.h"

#include <math.h>

static size_t blocks_of(const jm__cap_proof *proof)
{
    return proof->windows / JM__CAP_BLOCK;
}

bool jm__cap_proof_is_reference(const jm__cap_proof *proof)
{
    size_t place = proof->windows % JM__CAP_BLOCK;
    bool choice_first = proof->choice_first != (blocks_of(proof) % 2 == 1);
    bool outer = place == 0 || place == JM__CAP_BLOCK - 1;
    return outer != choice_first;
}

static void close_block(jm__cap_proof *proof)
{
    size_t block = blocks_of(proof) - 1;
    double pairs = JM__CAP_BLOCK / 2;
    proof->time[block] = (proof->open_time[1] - proof->open_time[0]) / pairs;
    proof->watts[block] = (proof->open_watts[1] - proof->open_watts[0]) / pairs;
    proof->from_time += proof->open_time[0];
    proof->from_watts += proof->open_watts[0];
    proof->at_time += proof->open_time[1];
    proof->at_watts += proof->open_watts[1];
    for (int side = 0; side < 2; side++)
        proof->open_time[side] = proof->open_watts[side] = 0;
}

void jm__cap_proof_tell(jm__cap_proof *proof, const jm_cap_probe *probe)
{
    int side = jm__cap_proof_is_reference(proof) ? 0 : 1;
    proof->open_time[side] += log(probe->time_s);
    proof->open_watts[side] += log(probe->power_w);
    proof->windows++;
    if (proof->windows % JM__CAP_BLOCK == 0) close_block(proof);
}

typedef struct moments {
    double mean, deviation; /* the deviation is of the first blocks alone */
    size_t first;
} moments;

static moments moments_of(const jm__cap_proof *proof, jm__cap_powers powers)
{
    size_t blocks = blocks_of(proof);
    moments m = {.first = blocks < proof->first_blocks ? blocks : proof->first_blocks};
    double first_mean = 0, squares = 0;
    for (size_t i = 0; i < blocks; i++) {
        double value = powers.time * proof->time[i] + powers.watts * proof->watts[i];
        m.mean += (value - m.mean) / (double)(i + 1);
        if (i >= m.first) continue;
        double off = value - first_mean;
        first_mean += off / (double)(i + 1);
        squares += off * (value - first_mean);
    }
    m.deviation = m.first > 1 ? sqrt(squares / (double)(m.first - 1)) : 0;
    return m;
}

static double student(size_t first)
{
    return jm__student_quantile(.95, (double)(first - 1));
}

/* exp(mean) - 1 with its interval. */
static jm_cap_figure change_of(const jm__cap_proof *proof, jm_cap_objective objective)
{
    moments m = moments_of(proof, jm__cap_powers_of(objective));
    double half = student(m.first) * m.deviation / sqrt((double)blocks_of(proof));
    return (jm_cap_figure){expm1(m.mean), expm1(m.mean - half), expm1(m.mean + half)};
}

/* Neither surely kept nor surely broken. */
static bool bound_is_open(const jm__cap_proof *proof)
{
    if (proof->max_slowdown == 0) return false;
    jm_cap_figure slowdown = change_of(proof, JM_CAP_TIME);
    return slowdown.low <= proof->max_slowdown && slowdown.high > proof->max_slowdown;
}

bool jm__cap_proof_is_over(const jm__cap_proof *proof)
{
    size_t blocks = blocks_of(proof);
    if (blocks < proof->first_blocks) return false;
    if (blocks >= proof->most_blocks) return true;
    moments m = moments_of(proof, jm__cap_powers_of(JM_CAP_ENERGY));
    double needed = pow(student(m.first) * m.deviation / proof->width, 2);
    return (double)blocks >= needed && !bound_is_open(proof);
}

static jm_cap_figure less_of(jm_cap_figure change)
{
    return (jm_cap_figure){-change.value, -change.high, -change.low};
}

bool jm__cap_proof_result(const jm__cap_proof *proof, jm_cap_objective objective, double max_slowdown,
                          jm_cap_proof *out)
{
    *out = (jm_cap_proof){.cap_w = proof->cap_w, .clock_mhz = proof->clock_mhz, .blocks = blocks_of(proof)};
    if (out->blocks < 2) return false;
    out->slowdown = change_of(proof, JM_CAP_TIME);
    out->saving = less_of(change_of(proof, JM_CAP_ENERGY));
    out->gain = less_of(change_of(proof, objective));
    out->whole = jm__cap_proof_is_over(proof);
    out->bound_kept = max_slowdown == 0 || out->slowdown.value <= max_slowdown;
    out->bound_proven = max_slowdown == 0 || out->slowdown.high <= max_slowdown;
    return true;
}
