/* Classes that draw otherwise in one place than in another: which of their uses get a power of their own. */
#ifndef JM_ATTRIBUTE_FIT_REFINE_H
#define JM_ATTRIBUTE_FIT_REFINE_H

#include "attribute/fit/fit.h"
#include "attribute/work/work.h"

/* Parts of classes by place: what may draw otherwise than the rest of its class. */

enum {
    JM_PARTS_MAX = 200,    /* of all classes: a choice, a few readings for each fit into a moment */
    JM_PARTS_OF_CLASS = 40 /* where there are more, they go by type of layer instead of by layer */
};

#define JM_NO_PART UINT32_MAX

typedef struct jm__part {
    uint32_t column; /* of its class */
    jm__context place;
    double seconds; /* of what powers are learnt from */
} jm__part;

typedef struct jm__parts {
    jm__part items[JM_PARTS_MAX];
    size_t count;
    uint32_t *of_use; /* [uses]: JM_NO_PART: not looked at */
    double busy_s;    /* of all classes */
} jm__parts;

/* The parts of the classes that take most of the time and ran in more than one place. */
jm_status jm__parts_choose(jm__parts *parts, const jm__work_set *set, const jm__board_work *work,
                           jm_error *err);
void jm__parts_free(jm__parts *parts);

/* Some parts of a class, by their bits from `first` on. */
typedef struct jm__part_set {
    size_t first;
    uint64_t bits;
    uint64_t whole; /* of all parts that the class has; 0: it has more than its parts */
    bool is_type;   /* all that is of one type of layer in one phase */
    bool tried;     /* picked, or not worth it */
} jm__part_set;

typedef JM_VEC(jm__part_set) jm__part_sets;

/* Sets that have something in common: one layer, one type of layer, one phase; none that is all of a class.
 * False if memory is out. */
bool jm__parts_list_sets(jm__part_sets *sets, const jm__parts *parts, const jm__board_work *work);

/* Sets of parts that are picked, and what another one would explain beside them.
 *
 * With the classes' weights A (as assumed beforehand) and the parts' weights W folded into one triangle, its
 * lower right corner R and right-hand side z have W'W and W'y with all that the classes explain taken out:
 * I = R'R, g = R'z. A set s of parts that draws d more than the rest of its class, d ~ N(0, q), then makes
 * the readings likelier by (g_s^2 q / (v (v + I_s q)) - ln(1 + I_s q / v)) / 2, v being the noise's variance.
 * Once it is picked, I loses h h' / p and g loses h g_s / p, with h = I s and p = I_s + v / q. As differences
 * have long tails, q is found with d (local_noise.c), and pays for being larger than usual by the tail of its
 * distribution. */

enum { JM_SELECTION_MAX = 24 };

typedef struct jm__pick {
    jm__part_set set;
    double q;                                   /* W^2 */
    double shared[JM_PARTS_MAX], square, score; /* h, p, g_s when it was picked */
} jm__pick;

typedef struct jm__selection {
    const jm__parts *parts;
    const double *power_w;     /* [columns]: of the classes */
    double *information;       /* [parts * parts]: I */
    double *score;             /* [parts]: g */
    double *left, *left_score; /* what the selection leaves of both */
    jm__pick items[JM_SELECTION_MAX];
    size_t count;
} jm__selection;

/* `folded`: a finished triangle whose last columns are the parts'. */
jm_status jm__selection_init(jm__selection *selection, const jm__parts *parts, const double *power_w,
                             const jm__qr *folded, jm_error *err);
void jm__selection_free(jm__selection *selection);

/* After a change of the selection, and for noise of another variance. */
void jm__selection_update(jm__selection *selection, double variance);

/* What a set differs by usually, W^2: it and the rest of its class, each from what they have in common. */
double jm__selection_usual_square(const jm__selection *selection, const jm__part_set *set);

/* I of a set, the selection taken out. */
double jm__selection_information(const jm__selection *selection, const jm__part_set *set);

/* By how much the logarithm of the likelihood rises with noise of this variance, and the q of it. */
double jm__selection_gain(const jm__selection *selection, const jm__part_set *set, double variance,
                          double *q);

/* How much more each part draws than its class, by the selection: [parts]. */
void jm__selection_differences(const jm__selection *selection, double *out);

/* How far parts that are in these selection, by their bits, may be from what their class has in common, W. */
double jm__selection_differ_w(const jm__selection *selection, uint32_t column, uint32_t bits);

typedef struct jm__refine_input {
    const jm__fit *fit;
    const jm__fit_input *fit_input; /* that it came from */
    const jm__work_set *set;
    jm__board_work *work; /* only its pieces are walked, and left as they were */
} jm__refine_input;

/* Where the likelihood asks for it, and where the readings cannot tell a layer's own power at all.
 * `out->count` is 0 where all may stay as it is; free with jm__split_free. */
jm_status jm__split_find(jm__column_split *out, const jm__refine_input *input, jm_error *err);
void jm__split_free(jm__column_split *split);

#endif
