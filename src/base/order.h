/* Numbers in order, for qsort. */
#ifndef JM_BASE_ORDER_H
#define JM_BASE_ORDER_H

/* Of doubles, none of them NaN. */
static inline int jm__compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

#endif
