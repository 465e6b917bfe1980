/* Figures for people: a unit that fits, as many digits as are known. What is absent is "-". */
#ifndef JM_REPORT_FORMAT_H
#define JM_REPORT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

enum { JM_CELL = 40 }; /* room for any of these texts */

/* "12.34 ±0.31 kJ": `low` and `high` bound the interval; without them (NAN) "12.34 kJ". */
void jm__format_energy(char out[JM_CELL], double energy_j, double low_j, double high_j);
/* One unit for a column of energies, and as many decimals as give the largest four digits, one at least. */
typedef struct jm__energy_scale {
    const char *unit; /* "mJ" */
    double size_j;
    int decimals;
} jm__energy_scale;

jm__energy_scale jm__energy_scale_for(double largest_j);
void jm__format_scaled(char out[JM_CELL], double energy_j, const jm__energy_scale *scale); /* "12.340" */

/* Half of the interval by the energy: "3 %", "0.4 %". */
void jm__format_half(char out[JM_CELL], double energy_j, double low_j, double high_j);

/* "86.50 ±0.52" in the unit of a column, with no more decimals than it has. */
void jm__format_energy_in(char out[JM_CELL], const jm__energy_scale *scale, double energy_j, double low_j,
                          double high_j);

/* 0.123 in [0.113, 0.133]: "+12.3 ±1.0 %"; without an interval "+12.3 %". */
void jm__format_change(char out[JM_CELL], double change, double low, double high);

void jm__format_power(char out[JM_CELL], double power_w); /* "612 W" */
void jm__format_time(char out[JM_CELL], double time_s);   /* "1.23 ms" */
void jm__format_share(char out[JM_CELL], double share);   /* 0.123: "12.3 %" */
void jm__format_count(char out[JM_CELL], int64_t count);  /* "123", "1.23M" */

#endif
