/* A line every so often: when, mean power, energy since the line before. */
#include "cli/interval.h"

#include "cli/energy.h"
#include "cli/json.h"

#include <math.h>

/* The sensor's newest readings are some ms old; a board that answers no more is not waited for. */
enum { FLUSH_TIMEOUT_MS = 1000 };

static jm_status find(jm_sum *energy, jm_run *run, int64_t from_ns, int64_t to_ns, jm_error *err)
{
    jm_recording *recording;
    jm_status status = jm_run_flush(run, FLUSH_TIMEOUT_MS, err);
    if (status == JM_OK) status = jm_run_recording(run, &recording, err);
    return status == JM_OK ? jm_recording_energy(recording, 0, from_ns, to_ns, energy, err) : status;
}

static void print(const cli_args *args, double until_s, double length_s, const jm_sum *energy)
{
    if (cli_has(args, "--json")) {
        cli_json_write_line(
            args, json_pack("{s:f, s:f, s:o, s:o, s:o, s:o}", "until_s", until_s, "interval_s", length_s,
                            "energy_j", cli_json_number(energy->energy_j), "energy_low_j",
                            cli_json_number(energy->low_j), "energy_high_j", cli_json_number(energy->high_j),
                            "power_w", cli_json_number(energy->energy_j / length_s)));
        return;
    }
    fprintf(stderr, "%10.2f s  ", until_s);
    cli_energy_print(stderr, energy->energy_j, energy->low_j, energy->high_j, length_s);
    fputc('\n', stderr);
}

void cli_interval_wait(const cli_args *args, jm_run *run, cli_child *child, double interval_s)
{
    int64_t from_ns = child->start_ns;
    for (int64_t line = 1;; line++) {
        int64_t to_ns = child->start_ns + llround((double)line * interval_s * 1e9);
        if (cli_child_wait_until(child, to_ns)) return;
        jm_sum energy = {NAN, NAN, NAN};
        jm_error err;
        if (find(&energy, run, from_ns, to_ns, &err) != JM_OK) cli_tell(args, "%s", err.text);
        print(args, (double)(to_ns - child->start_ns) * 1e-9, (double)(to_ns - from_ns) * 1e-9, &energy);
        from_ns = to_ns;
    }
}
