/* Numbers as Nsight Compute and spreadsheets print them, in any locale: 1,234.5 and 1.234,5 and 1 234,5. */
#ifndef JM_BASE_NUMBER_H
#define JM_BASE_NUMBER_H

#include <stdbool.h>

typedef enum jm__number_kind {
    JM_NUMBER_NONE,      /* the text is no number */
    JM_NUMBER_MISSING,   /* empty, "n/a", "nan": there is none */
    JM_NUMBER_PLAIN,     /* whatever the locale: the same */
    JM_NUMBER_POINT,     /* only a point can be its decimal sign */
    JM_NUMBER_COMMA,     /* only a comma can */
    JM_NUMBER_AMBIGUOUS, /* 1,234: what it is, other numbers of the file must tell */
} jm__number_kind;

/* `point` and `comma`: its value if that is the decimal sign; NAN where it cannot be. What follows a number
 * in brackets ("12 (5; 7)", the values of single units) is passed over. */
jm__number_kind jm__number_read(const char *text, double *point, double *comma);

/* As C writes it, "1234.5", every digit kept; false if `decimal`, '.' or ',', cannot be its decimal sign. */
enum { JM_NUMBER_BYTES = 80 };
bool jm__number_plain(const char *text, char decimal, char out[JM_NUMBER_BYTES]);

#endif
