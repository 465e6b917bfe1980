/* How wide 95 % is. */
#ifndef JM_ATTRIBUTE_FIT_STUDENT_H
#define JM_ATTRIBUTE_FIT_STUDENT_H

/* The t with P(|T| <= t) = probability, for `freedom` >= 1 degrees of freedom (fractions too). */
double jm__student_quantile(double probability, double freedom);

#endif
