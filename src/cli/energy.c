/* What a run took, in one line. */
#include "cli/energy.h"

#include <math.h>

jm_status cli_energy_report(jm_report **out, jm_recording *recording, int64_t from_ns, int64_t to_ns,
                            jm_error *err)
{
    jm_report_options options = {
        .size = sizeof options, .by = JM_BY_BOARD, .from_ns = from_ns, .to_ns = to_ns};
    return jm_report_create(out, recording, &options, err);
}

/* So many that the uncertainty shows one or two digits. */
static int decimals_for(double half_width)
{
    if (!(half_width > 0)) return 1;
    return half_width >= 10 ? 0 : half_width >= 0.095 ? 1 : half_width >= 0.0095 ? 2 : 3;
}

void cli_energy_print(FILE *out, double energy_j, double low_j, double high_j, double duration_s)
{
    if (!isfinite(energy_j)) {
        fputs("energy not known", out);
        return;
    }
    double half_width = (high_j - low_j) / 2;
    int decimals = decimals_for(half_width);
    fprintf(out, "%.*f J", decimals, energy_j);
    if (isfinite(half_width)) fprintf(out, " (±%.*f)", decimals, half_width);
    if (duration_s > 0) fprintf(out, ", %.1f W", energy_j / duration_s);
}

void cli_energy_print_total(FILE *out, const jm_report_totals *totals, double wanted_s)
{
    cli_energy_print(out, totals->total_energy_j, totals->total_low_j, totals->total_high_j,
                     totals->duration_s);
    if (isfinite(totals->total_energy_j) && totals->duration_s < 0.98 * wanted_s)
        fprintf(out, " in the %.2f s that are recorded", totals->duration_s);
    if (totals->simulated) fputs(" (simulated GPU)", out);
}
