/* From two energies that err independently to their change. */
#ifndef JM_REPORT_CHANGE_H
#define JM_REPORT_CHANGE_H

typedef struct jm__figure {
    double energy_j, low_j, high_j; /* 95 % */
    double gain_u; /* relative, standard: of a sensor whose gain the other figure does not have */
} jm__figure;

typedef struct jm__ratio {
    double change;    /* b / a - 1; NAN where a is not above 0 */
    double low, high; /* 95 % interval; NAN where that of a reaches 0 */
    int sign;         /* of b - a, where its 95 % interval leaves out 0; else 0 */
} jm__ratio;

/* The interval is Fieller's (J. R. Stat. Soc. B 16, 1954): those ratios r for which b - r a may be 0. So it
 * leaves out a change of 0 just where `sign` is not 0. All NAN, sign 0: something of a or b is missing. */
jm__ratio jm__change_of(jm__figure a, jm__figure b);

#endif
