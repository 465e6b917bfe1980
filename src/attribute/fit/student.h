/* How wide 95 % is. */
#ifndef JM_ATTRIBUTE_FIT_STUDENT_H
#define JM_ATTRIBUTE_FIT_STUDENT_H

/* The normal distribution has 95 % within this many standard deviations on both sides. */
#define JM_NORMAL_95 1.96

/* The t with P(|T| <= t) = probability, for `freedom` >= 1 degrees of freedom (fractions too). */
double jm__student_quantile(double probability, double freedom);

#endif
