/* Family by board: how kernels of a family draw beside all others.
 *
 * A board's clock, its limit and its cooling move all kernels alike, so what carries over from one run to
 * another is what a family draws of the mean. The figures are of one H200 at 1980 MHz (limit 700 W), from
 *   suite    shared/data/h200-counters-llama, 45 s of 57 micro-kernels in bursts of 1 to 46 ms, fitted to the
 * ring (first order, 13 ms, lag 4.5 ms; least squares without powers below zero, readings 3 robust deviations
 * out left out: residual 20 W, standard errors of 4 to 8 W). Kernels of more than 20 us, where launches do
 *            not leave the board waiting.
 *   mixture  shared/data/h200-mixture, 25 s of seven kernels in random segments, fitted alike (15 W)
 *   bursts   shared/data/h200-gpt and shared/attribution.md: parts of a GPT alone, in bursts
 */
#include "attribute/beliefs/family_power.h"

#include "attribute/work/kernel_family.h"
#include "base/map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* power_w: of an H200; own_u: standard deviation of the members, relative; does it wait for memory? */
typedef struct family_power {
    double power_w;
    double own_u;
    bool memory;
} family_power;

static const family_power families[JM_KERNEL_FAMILY_COUNT] = {
    /* Any kernel: 25 to 30 % around the mean busy power (shared/attribution.md), the mean being that of the
     * families from MATRIX to COPY. */
    [JM_KERNEL_FAMILY_OTHER] = {690, 0.30, false},
    /* Waiting for others, for the most part: 218 W (shared/findings.md, 12). A choice: half as much again
     * when they do not wait. */
    [JM_KERNEL_FAMILY_COLLECTIVE] = {270, 0.35, false},
    /* suite: 978, 962, 926, 855 (fp16), 853; mixture: 953; bursts: 925 (head, one product): 922 +- 5 %. One
     * of zeros draws half (suite: 468): numbers of a program are seldom random, a choice between the two. */
    [JM_KERNEL_FAMILY_MATRIX] = {922, 0.12, false},
    /* suite: 629 (single precision), 658 (double); mixture: 612 (single). */
    [JM_KERNEL_FAMILY_PLAIN_MATRIX] = {633, 0.10, false},
    /* suite: 938 (heads of 128), 618 (of 64); bursts: 860, the 878 of attn less 57 % of its time at 922 W;
     * with dropout, 594: of ELECTRA's self-attention in bursts (bench/results/bursts.txt) what its products
     * (800 W) and casts (450 W) leave. */
    [JM_KERNEL_FAMILY_ATTENTION] = {752, 0.23, false},
    /* suite: 970 (3x3). Those of few channels wait for memory as a copy does (620); a choice between the two.
     */
    [JM_KERNEL_FAMILY_CONVOLUTION] = {860, 0.20, false},
    /* None was measured. No tensor cores, so a plain product at most (633), a cumulative sum at least (500).
     */
    [JM_KERNEL_FAMILY_DEPTHWISE] = {565, 0.25, false},
    /* suite: layer norm 720, sums 639 and 596, softmax 541, row means 511, cumulative sum 501, pooling 470,
     * batch norm 456; mixture: softmax 565. */
    [JM_KERNEL_FAMILY_REDUCTION] = {555, 0.16, true},
    /* suite: addcdiv 697, add 681 and 654, relu 663, pow 660 and 647, lerp 610, int_mod 550, int_mul 519,
     * cast_up 519; bursts: AdamW 470. */
    [JM_KERNEL_FAMILY_ELEMENTWISE] = {606, 0.13, true},
    /* suite: gelu 793 and 722, exp 740 and 685; mixture: sin 774. */
    [JM_KERNEL_FAMILY_TRANSCENDENTAL] = {743, 0.08, false},
    /* suite: copy 662 and 640, cat 610, transpose 558; mixture: 621. */
    [JM_KERNEL_FAMILY_COPY] = {618, 0.08, true},
    /* suite: 493 and 427. */
    [JM_KERNEL_FAMILY_FILL] = {460, 0.10, true},
    /* No core works, memory hardly: as in gaps between work, suite 160 W, mixture 126, bursts 122 to 148. */
    [JM_KERNEL_FAMILY_TRANSFER] = {160, 0.25, false},
    /* suite: sort 408, gather 304. */
    [JM_KERNEL_FAMILY_INDEX] = {356, 0.20, true},
};

/* A short kernel has not filled the board before it ends: it draws this of a gap (120 to 160 W), and half of
 * what is left once it runs so long. mixture: a matrix product of 5.4 us a launch 654 W, half at 3.1 us; gelu
 * of 2.6 us 339 W, half at 4.9 us; the geometric mean. Where memory is what a kernel waits for, the data of a
 * short one lie in the cache as well. bursts: layer norm of 36 us, 50 MB in and out, 544 W where large ones
 * draw 720. */
static const double gap_w = 140, half_us = 3.9, memory_half_us = 15;

/* One family as a whole, from one program to the next on boards of this kind: attention 778 W in the suite
 * and 860 in bursts, elementwise 620 and 470 (AdamW). On others the order holds but not the figures: a V100's
 * sgemm draws 1.3 times the mean of its 26 kernels, which spread by 20 % (shared/data/accelwattch-volta),
 * where the table has 0.9.
 */
static const double known_family_u = 0.1, other_family_u = 0.25;

/* One kernel in two launch shapes, or in two layers, is off alike: half of its variance, a choice. */
static const double kin_share = 0.5;

static bool is_known(const jm_board *board)
{
    return strcmp(board->profile, "h100") == 0 || strcmp(board->profile, "h200") == 0;
}

static double power_of(jm__kernel_family family, double mean_us)
{
    double most_w = families[family].power_w, half = families[family].memory ? memory_half_us : half_us;
    return gap_w + (most_w - gap_w) * mean_us / (mean_us + half);
}

/* What the classes of a column come to. */
typedef struct mixture {
    double seconds;
    double joules;  /* if all drew what their families do */
    double errors;  /* seconds times the squares of the members' errors */
    uint32_t first; /* class + 1 */
    bool one_family, one_name;
} mixture;

static void add_class(mixture *m, const jm__classes *classes, uint32_t c, const jm__use_sum *sum)
{
    jm__kernel_family family = classes->items[c].family;
    const jm__class *first = m->first != 0 ? &classes->items[m->first - 1] : NULL;
    double mean_us = sum->calls > 0 ? sum->ran_s / (double)sum->calls * 1e6 : 0;
    double seconds = fmax(sum->ran_s, 1e-9); /* one of no length counts for nothing, and for something */
    m->seconds += seconds;
    m->joules += seconds * power_of(family, mean_us);
    m->errors += seconds * families[family].own_u * families[family].own_u;
    m->one_family = first == NULL || (m->one_family && first->family == family);
    m->one_name = first == NULL || (m->one_name && strcmp(first->name, classes->items[c].name) == 0);
    if (first == NULL) m->first = c + 1;
}

static mixture *mix(const jm__board_work *work, const jm__work_set *set)
{
    mixture *columns = calloc(work->columns.class_columns + 1, sizeof *columns);
    for (size_t u = 0; columns != NULL && u < work->tally.uses.count; u++) {
        const jm__use_sum *sum = &work->tally.uses.items[u];
        if (sum->ran_s < 0) continue;
        add_class(&columns[work->columns.of_use[u]], &set->classes, set->uses.items.items[u].class_index,
                  sum);
    }
    return columns;
}

/* kin[k]: the first column of the same kernel, which may be k itself. False if memory is out. */
static bool find_kin(uint32_t *kin, const mixture *columns, size_t count, const jm__classes *classes)
{
    jm__map first = JM_MAP_OF_TEXTS;
    bool fine = true;
    for (size_t k = 0; fine && k < count; k++) {
        kin[k] = (uint32_t)k;
        if (!columns[k].one_name) continue;
        const char *name = classes->items[columns[k].first - 1].name;
        const jm__map_value *known = jm__map_find(&first, &name);
        if (known != NULL)
            kin[k] = (uint32_t)known->id;
        else
            fine = jm__map_put(&first, &name, (jm__map_value){.id = (int64_t)k});
    }
    jm__map_free(&first);
    return fine;
}

static jm__expectation expect(const mixture *m, double mean_w, double all_j, double family_u,
                              const jm__classes *classes)
{
    jm__kernel_family family = classes->items[m->first - 1].family;
    if (!m->one_family) family = JM_KERNEL_FAMILY_OTHER;
    double own_u = m->one_family ? sqrt(m->errors / m->seconds) : families[family].own_u;
    return (jm__expectation){
        .share = m->joules / m->seconds / mean_w,
        .weight = m->joules / all_j,
        .family = (uint32_t)family,
        .family_u = family == JM_KERNEL_FAMILY_OTHER ? 0 : family_u, /* nothing that they have in common */
        .own_u = own_u,
    };
}

jm__expectation *jm__family_power(const jm_board *board, const jm__board_work *work, const jm__work_set *set)
{
    size_t count = work->columns.class_columns;
    jm__expectation *out = calloc(count + 1, sizeof *out);
    uint32_t *kin = calloc(count + 1, sizeof *kin), *kin_columns = calloc(count + 1, sizeof *kin_columns);
    mixture *columns = mix(work, set);
    bool fine = out != NULL && kin != NULL && kin_columns != NULL && columns != NULL &&
                find_kin(kin, columns, count, &set->classes);
    double all_s = 0, all_j = 0;
    for (size_t k = 0; fine && k < count; k++) {
        all_s += columns[k].seconds;
        all_j += columns[k].joules;
        kin_columns[kin[k]]++;
    }
    for (size_t k = 0; fine && k < count; k++) {
        out[k] = expect(&columns[k], all_j / all_s, all_j, is_known(board) ? known_family_u : other_family_u,
                        &set->classes);
        out[k].kin = kin[k];
        if (kin_columns[kin[k]] < 2) continue;
        out[k].kin_u = sqrt(kin_share) * out[k].own_u;
        out[k].own_u *= sqrt(1 - kin_share);
    }
    free(columns);
    free(kin);
    free(kin_columns);
    if (!fine) free(out);
    return fine ? out : NULL;
}
