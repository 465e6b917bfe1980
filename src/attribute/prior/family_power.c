/* Family by board: how kernels of a family draw beside all others.
 *
 * A board's clock, its limit and its cooling move all kernels alike, so what carries over from one run to
 * another is what a family draws of the mean. What waits for memory draws less on an H100, whose memory is
 * slower (3.4 TB/s, an H200's 4.8), and products draw the same. The figures are of one H200 and two H100s at
 * 1980 MHz (limit 700 W), from these sources:
 *
 * suite: shared/data/h200-counters-llama, 45 s of 57 micro-kernels in bursts of 1 to 46 ms, fitted to the
 * ring (first order, 13 ms, lag 4.5 ms; least squares without powers below zero, readings 3 robust deviations
 * out left out: residual 20 W, standard errors of 4 to 8 W). Kernels of more than 20 us, where launches do
 * not leave the board waiting.
 *
 * mixture: shared/data/h200-mixture, 25 s of seven kernels in random segments, fitted alike (15 W).
 *
 * bursts: shared/data/h200-gpt and shared/attribution.md, parts of a GPT alone, in bursts.
 *
 * H100: bench/results/families.txt, 36 calls alone, in bursts (2 to 6 %).
 */
#include "attribute/prior/family_power.h"

#include "attribute/work/kernel_family.h"
#include "base/map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* own_u: standard deviation of the members, relative; are short ones slow to fill the board? */
typedef struct family_power {
    double h200_w, h100_w;
    double own_u;
    bool slow;
} family_power;

static const family_power families[JM_KERNEL_FAMILY_COUNT] = {
    /* Any kernel: 25 to 30 % around the mean busy power (shared/attribution.md), the mean being that of the
     * families from MATRIX to COPY. */
    [JM_KERNEL_FAMILY_OTHER] = {663, 609, 0.30, false},
    /* Waiting for others, for the most part: 218 W (shared/findings.md, 12). A choice: half as much again
     * when they do not wait. */
    [JM_KERNEL_FAMILY_COLLECTIVE] = {270, 270, 0.35, false},
    /* suite: 978, 962, 926, 855 (fp16), 853; mixture: 953; bursts: 925 (head, one product): 922 +- 5 %. H100:
     * 973, 946, 941, 929, 910, 862: 927 +- 4 %; over few columns 734, 668 and 549. One of zeros draws half
     * (suite: 468): numbers of a program are seldom random, and a product over few columns waits for memory:
     * a choice between the two. */
    [JM_KERNEL_FAMILY_MATRIX] = {922, 927, 0.15, false},
    /* H100: 730 and 717 (rows of 4 bytes), 602 and 572 (of 2). On an H200 none was measured: the same. */
    [JM_KERNEL_FAMILY_WARP_MATRIX] = {655, 655, 0.12, false},
    /* suite: 629 (single precision), 658 (double); mixture: 612 (single). On an H100 none was measured: the
       same. */
    [JM_KERNEL_FAMILY_PLAIN_MATRIX] = {633, 633, 0.10, false},
    /* suite: 938 (heads of 128), 618 (of 64); bursts: 860, the 878 of attn less 57 % of its time at 922 W.
     * H100: forward 820, 815 (heads of 128), 719, with dropout 545; backward, both ways less forward: 654,
     * 615, with dropout 629. */
    [JM_KERNEL_FAMILY_ATTENTION] = {805, 685, 0.20, false},
    /* suite: 970 (3x3). H100: 903 (1x1), 802 and 778 (3x3). Those of few channels wait for memory as a copy
     * does (620, 480). For an H200 a choice between the two. */
    [JM_KERNEL_FAMILY_CONVOLUTION] = {860, 828, 0.20, false},
    /* H100: 388. On an H200 none was measured: as much more as for what waits for memory, half. No tensor
     * cores, so a plain product at most. */
    [JM_KERNEL_FAMILY_DEPTHWISE] = {430, 388, 0.25, false},
    /* suite: 456. H100: 346; in layers of MNASNet, RegNet and Wide ResNet, alone in bursts
     * (bench/results/bursts.txt): 470, 468, 430, 398, 383. */
    [JM_KERNEL_FAMILY_BATCH_NORM] = {456, 416, 0.12, true},
    /* suite: layer norm 720, sums 639 and 596, softmax 541, row means 511, cumulative sum 501, pooling 470;
     * mixture: softmax 565. H100: softmax 632, layer norm 558, sum 401. */
    [JM_KERNEL_FAMILY_REDUCTION] = {568, 530, 0.22, true},
    /* suite: addcdiv 697, add 681 and 654, relu 663, pow 660 and 647, lerp 610, int_mod 550, int_mul 519,
     * cast_up 519; bursts: AdamW 470. H100: dropout 517, add 510, masked fill 475; bursts: ReLU 563. */
    [JM_KERNEL_FAMILY_ELEMENTWISE] = {606, 516, 0.13, false},
    /* suite: gelu 793 and 722, exp 740 and 685; mixture: sin 774. H100: gelu 663. */
    [JM_KERNEL_FAMILY_TRANSCENDENTAL] = {743, 663, 0.08, false},
    /* suite: copy 662 and 640, cat 610, transpose 558; mixture: 621. H100: casts 479 and 436, transpose 473.
     */
    [JM_KERNEL_FAMILY_COPY] = {618, 463, 0.08, false},
    /* suite: 493 and 427. H100: 379. */
    [JM_KERNEL_FAMILY_FILL] = {460, 379, 0.10, false},
    /* No core works, memory hardly: as in gaps between work, suite 160 W, mixture 126, bursts 122 to 148. */
    [JM_KERNEL_FAMILY_TRANSFER] = {160, 160, 0.25, false},
    /* suite: sort 408, gather 304. On an H100 none was measured: less by as much as a copy. */
    [JM_KERNEL_FAMILY_INDEX] = {356, 270, 0.20, true},
};

/* A short kernel has not filled the board before it ends: it draws this of a gap (120 to 160 W), and half of
 * what is left once it runs so long. mixture: a matrix product of 5.4 us a launch 654 W, half at 3.1 us; gelu
 * of 2.6 us 339 W, half at 4.9 us; the geometric mean. H100: casts of 22 and 202 us 436 and 479 W, half
 * at 3.3 us. Where rows are summed, a short one waits for its last rows as well. bursts: layer norm of 36 us,
 * 50 MB in and out, 544 W where large ones draw 720. */
static const double gap_w = 140, half_us = 3.9, slow_half_us = 15;

/* One family as a whole, from one program to the next on boards of this kind: attention 778 W in the suite
 * and 860 in bursts, elementwise 620 and 470 (AdamW). On others the order holds but not the figures: a V100's
 * sgemm draws 1.3 times the mean of its 26 kernels, which spread by 20 % (shared/data/accelwattch-volta),
 * where the table has 0.9.
 */
static const double known_family_u = 0.1, other_family_u = 0.25;

/* One kernel in two launch shapes, or in two layers, is off alike: half of its variance, a choice. */
static const double kin_share = 0.5;

static bool is_h200(const jm_board *board)
{
    return strcmp(board->profile, "h200") == 0;
}

/* Others have less memory for their cores than an H200: they are taken for an H100. */
static bool is_known(const jm_board *board)
{
    return is_h200(board) || strcmp(board->profile, "h100") == 0;
}

static double power_of(const jm_board *board, jm__kernel_family family, double mean_us)
{
    double most_w = is_h200(board) ? families[family].h200_w : families[family].h100_w,
           half = families[family].slow ? slow_half_us : half_us;
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

static void add_class(mixture *m, const jm_board *board, const jm__classes *classes, uint32_t c,
                      const jm__use_sum *sum)
{
    jm__kernel_family family = classes->items[c].family;
    const jm__class *first = m->first != 0 ? &classes->items[m->first - 1] : NULL;
    double mean_us = sum->calls > 0 ? sum->ran_s / (double)sum->calls * 1e6 : 0;
    double seconds = fmax(sum->ran_s, 1e-9); /* one of no length counts for nothing, and for something */
    m->seconds += seconds;
    m->joules += seconds * power_of(board, family, mean_us);
    m->errors += seconds * families[family].own_u * families[family].own_u;
    m->one_family = first == NULL || (m->one_family && first->family == family);
    m->one_name = first == NULL || (m->one_name && strcmp(first->name, classes->items[c].name) == 0);
    if (first == NULL) m->first = c + 1;
}

static mixture *mix(const jm_board *board, const jm__board_work *work, const jm__work_set *set)
{
    mixture *columns = calloc(work->columns.class_columns + 1, sizeof *columns);
    for (size_t u = 0; columns != NULL && u < work->tally.uses.count; u++) {
        const jm__use_sum *sum = &work->tally.uses.items[u];
        if (sum->ran_s < 0) continue;
        add_class(&columns[work->columns.of_use[u]], board, &set->classes,
                  set->uses.items.items[u].class_index, sum);
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
    mixture *columns = mix(board, work, set);
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
