/* Figures for people: a unit that fits, as many digits as are known. */
#include "report/format.h"

#include "base/plain.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct unit {
    const char *text;
    double size;
} unit;

static const unit energy_units[] = {{"uJ", 1e-6}, {"mJ", 1e-3}, {"J", 1}, {"kJ", 1e3}, {"MJ", 1e6}};
static const unit power_units[] = {{"mW", 1e-3}, {"W", 1}, {"kW", 1e3}};
static const unit time_units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
static const unit count_units[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}};

/* The position of the first digit: 3 for 1234, -1 for 0.12. */
static int first_digit(double value)
{
    return value > 0 ? (int)floor(log10(value)) : 0;
}

/* `value` as it reads with `digits` digits: 999.96 with four is 1000. */
static double rounded(double value, int digits)
{
    double step = pow(10, first_digit(value) - digits + 1);
    return value > 0 ? round(value / step) * step : value;
}

/* The largest unit that leaves a figure of at least one. */
static const unit *unit_for(const unit *units, size_t count, double value)
{
    const unit *best = units;
    for (size_t i = 1; i < count; i++) {
        if (value >= units[i].size * (1 - 1e-12)) best = &units[i];
    }
    return best;
}
#define UNIT_FOR(units, value) unit_for(units, sizeof(units) / sizeof *(units), value)

/* Decimals that give `value` so many digits in all. */
static int decimals_for(double value, int digits)
{
    int decimals = digits - 1 - first_digit(value);
    return decimals > 0 ? decimals : 0;
}

/* What rounds to nothing has no sign. */
static void drop_sign_of_zero(char out[JM_CELL])
{
    if (out[0] != '-') return;
    char after = out[1 + strspn(out + 1, "0.")];
    if (after == ' ' || after == '\0') memmove(out, out + 1, strlen(out));
}

static void format_plain(char out[JM_CELL], double value, const unit *units, size_t count, int digits)
{
    if (!isfinite(value)) {
        snprintf(out, JM_CELL, "-");
        return;
    }
    double size = rounded(fabs(value), digits);
    const unit *best = unit_for(units, count, size > 0 ? size : 1);
    int decimals = size > 0 ? decimals_for(size / best->size, digits) : 0;
    jm__print(out, JM_CELL, "%.*f %s", decimals, value / best->size, best->text);
}

void jm__format_energy(char out[JM_CELL], double energy_j, double low_j, double high_j)
{
    enum { DIGITS = 4, MOST_DECIMALS = 6 };
    double half = (high_j - low_j) / 2;
    if (!isfinite(energy_j) || !isfinite(half) || (energy_j == 0 && half == 0)) {
        format_plain(out, energy_j, energy_units, sizeof energy_units / sizeof *energy_units, DIGITS);
        return;
    }
    double size = rounded(fabs(energy_j), DIGITS);
    const unit *best =
        size > 0 || half > 0 ? UNIT_FOR(energy_units, fmax(size, half)) : UNIT_FOR(energy_units, 1);
    /* Two digits of the interval decide; an exact figure keeps its usual digits. */
    int decimals =
        half > 0 ? decimals_for(rounded(half, 2) / best->size, 2) : decimals_for(size / best->size, DIGITS);
    if (decimals > MOST_DECIMALS) decimals = MOST_DECIMALS;
    jm__print(out, JM_CELL, "%.*f \302\261%.*f %s", decimals, energy_j / best->size, decimals,
              half / best->size, best->text);
    drop_sign_of_zero(out);
}

jm__energy_scale jm__energy_scale_for(double largest_j)
{
    enum { DIGITS = 4 };
    double size = rounded(fabs(largest_j), DIGITS);
    const unit *best =
        size > 0 && isfinite(size) ? UNIT_FOR(energy_units, size / 10) : UNIT_FOR(energy_units, 1);
    int decimals = size > 0 ? decimals_for(size / best->size, DIGITS) : 0;
    return (jm__energy_scale){best->text, best->size, decimals > 0 ? decimals : 1};
}

void jm__format_scaled(char out[JM_CELL], double energy_j, const jm__energy_scale *scale)
{
    if (!isfinite(energy_j)) {
        snprintf(out, JM_CELL, "-");
        return;
    }
    jm__print(out, JM_CELL, "%.*f", scale->decimals, energy_j / scale->size_j);
    drop_sign_of_zero(out);
}

void jm__format_half(char out[JM_CELL], double energy_j, double low_j, double high_j)
{
    double percent = 100 * (high_j - low_j) / 2 / fabs(energy_j);
    if (!isfinite(percent))
        snprintf(out, JM_CELL, "-");
    else if (percent > 999)
        snprintf(out, JM_CELL, "> 999 %%");
    else
        jm__print(out, JM_CELL, "%.*f %%", percent > 0 && percent < 0.95 ? 1 : 0, percent);
}

void jm__format_energy_in(char out[JM_CELL], const jm__energy_scale *scale, double energy_j, double low_j,
                          double high_j)
{
    double half = (high_j - low_j) / 2 / scale->size_j;
    if (!isfinite(energy_j) || !isfinite(half)) {
        jm__format_scaled(out, energy_j, scale);
        return;
    }
    int decimals = half > 0 ? decimals_for(rounded(half, 2), 2) : scale->decimals;
    if (decimals > scale->decimals) decimals = scale->decimals;
    jm__print(out, JM_CELL, "%.*f \302\261%.*f", decimals, energy_j / scale->size_j, decimals, half);
    drop_sign_of_zero(out);
}

void jm__format_change(char out[JM_CELL], double change, double low, double high)
{
    double percent = change * 100, half = (high - low) / 2 * 100;
    int decimals = half >= 10 ? 0 : half >= 0.1 || fabs(percent) >= 10 ? 1 : 2;
    if (!isfinite(percent))
        snprintf(out, JM_CELL, "-");
    else if (!isfinite(half))
        jm__print(out, JM_CELL, "%+.1f %%", percent);
    else
        jm__print(out, JM_CELL, "%+.*f \302\261%.*f %%", decimals, percent, decimals, half);
}

void jm__format_power(char out[JM_CELL], double power_w)
{
    format_plain(out, power_w, power_units, sizeof power_units / sizeof *power_units, 3);
}

void jm__format_time(char out[JM_CELL], double time_s)
{
    format_plain(out, time_s, time_units, sizeof time_units / sizeof *time_units, 3);
}

void jm__format_share(char out[JM_CELL], double share)
{
    if (!isfinite(share)) {
        snprintf(out, JM_CELL, "-");
    } else {
        jm__print(out, JM_CELL, "%.1f %%", share * 100);
        drop_sign_of_zero(out);
    }
}

void jm__format_count(char out[JM_CELL], int64_t count)
{
    const unit *best = UNIT_FOR(count_units, count >= 100000 ? rounded((double)count, 3) : 1);
    if (best->size == 1) {
        snprintf(out, JM_CELL, "%lld", (long long)count);
    } else {
        double figure = rounded((double)count, 3) / best->size;
        jm__print(out, JM_CELL, "%.*f%s", decimals_for(figure, 3), figure, best->text);
    }
}
