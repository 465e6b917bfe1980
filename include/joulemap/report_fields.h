/* The fields of a report, each defined once. Derived from these tables: the structs of joulemap/report.h,
 * JSON objects, CSV columns, and the Python classes Row, Totals and Quality with types and documentation. A
 * test checks docs/report.md against them.
 *
 *     X(kind, name, key, place, doc)
 *
 * kind   type, and how a value can be missing: one of JM_FIELD_KIND_MAP
 * name   the struct's member and Python's attribute
 * key    in JSON and CSV
 * place  in JSON: a sum of JM_IN_...; CSV and Python have all fields of a row
 * doc    the meaning and its unit */
#ifndef JOULEMAP_REPORT_FIELDS_H
#define JOULEMAP_REPORT_FIELDS_H

/* kind, type in C, type in Python. What is missing is null in JSON, empty in CSV, None in Python. */
#define JM_FIELD_KIND_MAP(X)                                                                                 \
    X(TEXT, const char *, "str")                                                                             \
    X(TEXT_OR_NONE, const char *, "str | None") /* missing: NULL */                                          \
    X(TEXTS, const char *const *, "list[str]")  /* NULL-terminated; NULL if there are none; not in rows */   \
    X(INT32, int32_t, "int")                                                                                 \
    X(INT64, int64_t, "int")                                                                                 \
    X(COUNT_OR_NONE, int64_t, "int | None") /* missing: less than 0 */                                       \
    X(REAL, double, "float")                                                                                 \
    X(REAL_OR_NONE, double, "float | None") /* missing: NAN */                                               \
    X(FLAG, bool, "bool")                                                                                    \
    X(PROVENANCE, jm_provenance, "str")

/* Initial values: missing, if the kind can be missing. `(jm_row){JM_ROW_FIELDS(JM_NOTHING_YET)}` */
#define JM_NOTHING_TEXT          ""
#define JM_NOTHING_TEXT_OR_NONE  NULL
#define JM_NOTHING_TEXTS         NULL
#define JM_NOTHING_INT32         0
#define JM_NOTHING_INT64         0
#define JM_NOTHING_COUNT_OR_NONE -1
#define JM_NOTHING_REAL          0
#define JM_NOTHING_REAL_OR_NONE  NAN
#define JM_NOTHING_FLAG          false
#define JM_NOTHING_PROVENANCE    JM_PROVENANCE_UNRESOLVED

#define JM_NOTHING_YET(kind, name, key, place, doc) .name = JM_NOTHING_##kind,

/* Places in JSON. */
#define JM_IN_ROW        1  /* every row */
#define JM_IN_OCCURRENCE 2  /* rows that are one occurrence (JM_BY_SPAN, JM_BY_REQUEST) */
#define JM_IN_REPORT     4  /* the report's own object */
#define JM_IN_QUALITY    8  /* its object "quality" */
#define JM_IN_OVERHEAD   16 /* its object "overhead" */

#define JM_QUOTED(name, text) " \"" text "\""

/* Means over the time of a row's work of a property of each kind of work. A new one is a line here and
 * src/attribute/rollup/NAME.c with jm__mean_NAME; all are REAL_OR_NONE. */
#define JM_ROW_MEANS(X)                                                                                      \
    X(REAL_OR_NONE, clock_limit_share, "clock_limit_share", JM_IN_ROW,                                       \
      "Mean clock while its kernels ran, of the highest that the GPU allows; missing where not recorded")

#define JM_ROW_FIELDS(X)                                                                                     \
    X(TEXT, name, "name", JM_IN_ROW, "\"attn\"")                                                             \
    X(TEXT, path, "path", JM_IN_ROW,                                                                         \
      "\"blocks.0.attn\"; with kind unique in a report, but for by=\"span\"; far inside others a number "    \
      "replaces its beginning: \".../8c6f3ab2d10f9e47/attn\"")                                               \
    X(TEXT, kind, "kind", JM_IN_ROW,                                                                         \
      "\"forward\", \"backward\", \"recompute\", \"optimizer\", \"collective\", \"kernel\", \"phase\", "     \
      "\"gpu\", \"class\", \"idle\", \"unrecorded\", \"gap\", \"sampling\", \"wait\", \"request\", "         \
      "\"outside\", "                                                                                        \
      "\"unresolved\" and others")                                                                           \
    X(TEXT, type, "type", JM_IN_ROW,                                                                         \
      "Class of a layer: \"Linear\", or of a kernel: \"matrix product\"; operation of a collective: "        \
      "\"all-reduce\"; empty where there is none")                                                           \
    X(INT32, depth, "depth", JM_IN_ROW, "Depth in the tree, from 0")                                         \
    X(INT64, calls, "calls", JM_IN_ROW, "How often it ran")                                                  \
    X(REAL, busy_s, "busy_s", JM_IN_ROW,                                                                     \
      "Seconds that its kernels (without a GPU: its spans) took, children included; kernels that overlap "   \
      "share them")                                                                                          \
    X(REAL_OR_NONE, energy_j, "energy_j", JM_IN_ROW, "Joules with all children; missing without a sensor")   \
    X(REAL_OR_NONE, energy_low_j, "energy_low_j", JM_IN_ROW,                                                 \
      "Lower end of the 95 % interval of energy_j, relative to the board's own sensor")                      \
    X(REAL_OR_NONE, energy_high_j, "energy_high_j", JM_IN_ROW, "Upper end of it")                            \
    X(REAL_OR_NONE, energy_self_j, "energy_self_j", JM_IN_ROW,                                               \
      "Joules without children; those of all rows add up to total_energy_j")                                 \
    X(REAL_OR_NONE, power_w, "power_w", JM_IN_ROW,                                                           \
      "Watts: energy_j / busy_s, of a board / all of its time; missing where it was never busy")             \
    X(REAL_OR_NONE, share, "share", JM_IN_ROW,                                                               \
      "energy_j / total_energy_j; missing where the total is not known")                                     \
    X(REAL_OR_NONE, step_s, "step_s", JM_IN_ROW,                                                             \
      "Of busy_s, seconds in a steady step (steady_step_s); missing without steps, and by=\"span\" and "     \
      "\"request\"")                                                                                         \
    X(REAL_OR_NONE, step_j, "step_j", JM_IN_ROW,                                                             \
      "Of energy_j, joules in a steady step; those of rows at the top add up to steady_step_j; missing "     \
      "likewise")                                                                                            \
    X(REAL_OR_NONE, step_low_j, "step_low_j", JM_IN_ROW, "Lower end of its 95 % interval")                   \
    X(REAL_OR_NONE, step_high_j, "step_high_j", JM_IN_ROW, "Upper end of it")                                \
    X(PROVENANCE, provenance, "provenance", JM_IN_ROW,                                                       \
      "How the figure is known, best first:" JM_PROVENANCE_MAP(JM_QUOTED))                                   \
    X(TEXT, boards, "boards", JM_IN_ROW, "Indices of the boards: \"0\", \"0,1\"")                            \
    X(INT64, start_ns, "start_ns", JM_IN_OCCURRENCE,                                                         \
      "CLOCK_MONOTONIC, nanoseconds: of the occurrence (by=\"span\" and \"request\"), else of the first "    \
      "one")                                                                                                 \
    X(INT64, end_ns, "end_ns", JM_IN_OCCURRENCE, "The end of it")                                            \
    JM_ROW_MEANS(X)                                                                                          \
    X(COUNT_OR_NONE, samples, "samples", JM_IN_ROW,                                                          \
      "Samples of the steps in it, marked or found (by=\"phase\" and \"span\"); missing where none")         \
    X(REAL_OR_NONE, forward_share, "forward_share", JM_IN_ROW,                                               \
      "Share of its kernels' energy that forward passes of layers took; missing where no pass did")          \
    X(REAL_OR_NONE, backward_share, "backward_share", JM_IN_ROW, "The same of backward passes")              \
    X(TEXT_OR_NONE, mostly_at, "mostly_at", JM_IN_ROW,                                                       \
      "Kernels: the layer that most of their time was in, \"blocks.*.attn (backward)\", equal layers as "    \
      "one; "                                                                                                \
      "gaps: the layer whose kernel came after most of it; missing for other rows")                          \
    X(REAL_OR_NONE, mostly_share, "mostly_share", JM_IN_ROW, "Share of the row's time that this was")        \
    X(COUNT_OR_NONE, tokens, "tokens", JM_IN_ROW,                                                            \
      "Tokens of the steps in it, as samples; of a request (by=\"request\") those that it was fed, or made " \
      "in decode")                                                                                           \
    X(COUNT_OR_NONE, bytes, "bytes", JM_IN_ROW,                                                              \
      "Bytes of a collective's calls: of each its message, as NCCL counts it; missing for other rows, and "  \
      "where not all are known")                                                                             \
    X(REAL_OR_NONE, bytes_per_s, "bytes_per_s", JM_IN_ROW,                                                   \
      "bytes by the time that its kernels took, without waiting where ranks could be compared")              \
    X(REAL_OR_NONE, exposed_s, "exposed_s", JM_IN_ROW,                                                       \
      "Seconds of a collective's busy_s in which no other kernel ran beside; missing for other rows")

/* Totals (T: jm_report_totals) and quality of the data (Q: jm_report_quality), in the order of JSON, whose
 * objects mix the two. */
#define JM_SUMMARY_FIELDS(T, Q)                                                                              \
    T(FLAG, simulated, "simulated", JM_IN_REPORT, "Any board was a simulated one")                           \
    T(REAL_OR_NONE, duration_s, "duration_s", JM_IN_REPORT,                                                  \
      "Seconds of the total, without the time in which the boards were lost")                                \
    T(COUNT_OR_NONE, steps, "steps", JM_IN_REPORT,                                                           \
      "Steps of all processes, one inside another not counted; missing where none")                          \
    T(COUNT_OR_NONE, traced_steps, "traced_steps", JM_IN_REPORT,                                             \
      "Steps of those that were traced in full, and represent the others, with only their edges "            \
      "recorded; missing where all of what counts was traced")                                               \
    T(COUNT_OR_NONE, unmatched_steps, "unmatched_steps", JM_IN_REPORT,                                       \
      "Steps that are in no figure, since none like them was traced; missing as traced_steps")               \
    T(TEXT_OR_NONE, steps_found, "steps_found", JM_IN_REPORT,                                                \
      "What each step is where the program marked none and they were found: \"batch of a DataLoader\"; "     \
      "missing where marked")                                                                                \
    T(COUNT_OR_NONE, samples, "samples", JM_IN_REPORT,                                                       \
      "Samples of all steps, marked or found; missing where none")                                           \
    T(COUNT_OR_NONE, tokens, "tokens", JM_IN_REPORT,                                                         \
      "Tokens of all steps, marked or found; missing where none")                                            \
    T(COUNT_OR_NONE, requests, "requests", JM_IN_REPORT,                                                     \
      "Requests of a server that were in a step (by=\"request\", as what follows of them); missing "         \
      "elsewhere")                                                                                           \
    T(REAL_OR_NONE, request_median_j, "request_median_j", JM_IN_REPORT,                                      \
      "Joules that half of them stay below")                                                                 \
    T(REAL_OR_NONE, request_p95_j, "request_p95_j", JM_IN_REPORT, "Joules that 95 % of them stay below")     \
    T(COUNT_OR_NONE, prefill_tokens, "prefill_tokens", JM_IN_REPORT,                                         \
      "Tokens of their prompts that they were fed; missing where not reported")                              \
    T(REAL_OR_NONE, prefill_j, "prefill_energy_j", JM_IN_REPORT,                                             \
      "Joules of their prefill; missing where none")                                                         \
    T(REAL_OR_NONE, prefill_low_j, "prefill_energy_low_j", JM_IN_REPORT, "Lower end of its 95 % interval")   \
    T(REAL_OR_NONE, prefill_high_j, "prefill_energy_high_j", JM_IN_REPORT, "Upper end of it")                \
    T(COUNT_OR_NONE, decode_tokens, "decode_tokens", JM_IN_REPORT,                                           \
      "Tokens that they were fed after that, or those that they made; missing where not reported")           \
    T(REAL_OR_NONE, decode_j, "decode_energy_j", JM_IN_REPORT, "Joules of their decode; missing where none") \
    T(REAL_OR_NONE, decode_low_j, "decode_energy_low_j", JM_IN_REPORT, "Lower end of its 95 % interval")     \
    T(REAL_OR_NONE, decode_high_j, "decode_energy_high_j", JM_IN_REPORT, "Upper end of it")                  \
    T(TEXT_OR_NONE, step_name, "step_name", JM_IN_REPORT,                                                    \
      "The kind of step that the next figures are of, that with the most time; missing where no steps")      \
    T(TEXT_OR_NONE, step_phase, "step_phase", JM_IN_REPORT, "The phase of that kind; missing where in none") \
    T(COUNT_OR_NONE, kind_steps, "kind_steps", JM_IN_REPORT,                                                 \
      "Steps of that kind; ranks that step together make each together")                                     \
    T(COUNT_OR_NONE, warm_up_steps, "warm_up_steps", JM_IN_REPORT,                                           \
      "Of these, steps at the beginning that took another time than those after them")                       \
    T(COUNT_OR_NONE, steady_steps, "steady_steps", JM_IN_REPORT,                                             \
      "Of these, steps after those, without steps of more than twice the median time")                       \
    T(COUNT_OR_NONE, steady_samples, "steady_samples", JM_IN_REPORT,                                         \
      "Samples of the steady steps; missing where none")                                                     \
    T(COUNT_OR_NONE, steady_tokens, "steady_tokens", JM_IN_REPORT,                                           \
      "Tokens of the steady steps; missing where none")                                                      \
    T(REAL_OR_NONE, steady_step_s, "steady_step_s", JM_IN_REPORT,                                            \
      "Seconds of a steady step, to the begin of the next one")                                              \
    T(REAL_OR_NONE, steady_step_j, "steady_step_j", JM_IN_REPORT,                                            \
      "Joules of all boards a steady step, idle time inside it included")                                    \
    T(REAL_OR_NONE, steady_step_low_j, "steady_step_low_j", JM_IN_REPORT, "Lower end of its 95 % interval")  \
    T(REAL_OR_NONE, steady_step_high_j, "steady_step_high_j", JM_IN_REPORT, "Upper end of it")               \
    T(REAL_OR_NONE, steady_idle_j, "steady_idle_j", JM_IN_REPORT,                                            \
      "Of steady_step_j, joules of boards while nothing ran on them; missing without a fit")                 \
    T(REAL_OR_NONE, total_energy_j, "total_energy_j", JM_IN_REPORT,                                          \
      "Joules of all boards; missing without a sensor")                                                      \
    T(REAL_OR_NONE, total_low_j, "total_energy_low_j", JM_IN_REPORT,                                         \
      "Lower end of its 95 % interval, relative to the boards' own sensors")                                 \
    T(REAL_OR_NONE, total_high_j, "total_energy_high_j", JM_IN_REPORT, "Upper end of it")                    \
    T(TEXT_OR_NONE, total_source, "total_source", JM_IN_REPORT,                                              \
      "The sensor behind it: \"energy_counter\", \"power_ring\"")                                            \
    T(REAL_OR_NONE, idle_energy_j, "idle_energy_j", JM_IN_REPORT, "Joules while nothing ran")                \
    T(REAL_OR_NONE, unrecorded_energy_j, "unrecorded_energy_j", JM_IN_REPORT,                                \
      "Joules of work that was not recorded: a GPU was busy by its utilisation")                             \
    T(REAL_OR_NONE, outside_energy_j, "outside_energy_j", JM_IN_REPORT,                                      \
      "Joules of what ran outside of all layers")                                                            \
    T(REAL_OR_NONE, unresolved_energy_j, "unresolved_energy_j", JM_IN_REPORT,                                \
      "Joules that the data cannot separate")                                                                \
    T(REAL_OR_NONE, copy_s, "copy_s", JM_IN_REPORT,                                                          \
      "Seconds of all GPUs in which memory was copied and no kernel ran beside; in the rows that launched "  \
      "them; missing where kernels were not traced")                                                         \
    T(REAL_OR_NONE, copy_energy_j, "copy_energy_j", JM_IN_REPORT, "Joules of that time")                     \
    T(REAL_OR_NONE, collective_s, "collective_s", JM_IN_REPORT,                                              \
      "Seconds of all GPUs in which collectives ran; missing where kernels were not traced")                 \
    T(REAL_OR_NONE, collective_energy_j, "collective_energy_j", JM_IN_REPORT,                                \
      "Joules of the collectives, waiting included")                                                         \
    T(REAL_OR_NONE, collective_exposed_s, "collective_exposed_s", JM_IN_REPORT,                              \
      "Seconds of collective_s in which no other kernel ran beside them")                                    \
    T(REAL_OR_NONE, collective_exposed_energy_j, "collective_exposed_energy_j", JM_IN_REPORT,                \
      "Joules of the collectives in that time")                                                              \
    T(REAL_OR_NONE, collective_wait_s, "collective_wait_s", JM_IN_REPORT,                                    \
      "Seconds of all GPUs that collectives waited for the rank that began last; missing where ranks could " \
      "not be compared")                                                                                     \
    T(REAL_OR_NONE, collective_wait_energy_j, "collective_wait_energy_j", JM_IN_REPORT,                      \
      "Joules of that time, at the power of a collective that waits")                                        \
    T(COUNT_OR_NONE, collective_wait_gpu, "collective_wait_gpu", JM_IN_REPORT,                               \
      "Index of the GPU that half of it or more was for; missing where there is none")                       \
    T(REAL_OR_NONE, closure, "closure", JM_IN_REPORT,                                                        \
      "(sum of the free fit - independent total) / total; missing if there is no second total")              \
    Q(TEXT, verdict, "verdict", JM_IN_QUALITY,                                                               \
      "\"good\": the parts can be printed with their intervals; \"fair\": with verdict_reason beside them; " \
      "\"poor\": not the parts, and the total only if verdict_reason spares it")                             \
    Q(TEXT, verdict_reason, "verdict_reason", JM_IN_QUALITY, "The most serious objection to the figures")    \
    Q(TEXTS, verdict_more, "verdict_more", JM_IN_QUALITY, "Other objections, most serious first")            \
    Q(TEXTS, sensors, "sensors", JM_IN_QUALITY, "What the fit used, one a board: \"0: power_ring\"")         \
    T(INT64, readings, "readings", JM_IN_QUALITY, "Readings of sensors that were used")                      \
    Q(INT64, gaps, "gaps", JM_IN_QUALITY, "Intervals without readings")                                      \
    Q(REAL, gap_s, "gap_s", JM_IN_QUALITY, "Their length, seconds")                                          \
    Q(INT64, lost_records, "lost_records", JM_IN_QUALITY, "Spans and kernels that did not fit")              \
    Q(REAL_OR_NONE, no_layer_share, "no_layer_share", JM_IN_QUALITY,                                         \
      "Share of the kernels' energy in no layer; missing for programs without layers")                       \
    Q(INT64, throttle_events, "throttle_events", JM_IN_QUALITY, "Times that a board began to throttle")      \
    Q(REAL_OR_NONE, throttled_share, "throttled_share", JM_IN_QUALITY,                                       \
      "Share of the time in which the boards were throttled; missing where not recorded")                    \
    Q(REAL_OR_NONE, clock_mhz, "clock_mhz", JM_IN_QUALITY,                                                   \
      "Mean clock of the boards while kernels ran, MHz; missing where not recorded")                         \
    Q(REAL_OR_NONE, temperature_c, "temperature_c", JM_IN_QUALITY,                                           \
      "Mean temperature of the boards, degrees Celsius; missing where not recorded")                         \
    Q(REAL_OR_NONE, power_limit_w, "power_limit_w", JM_IN_QUALITY,                                           \
      "Power limit of a board, the mean of all, watts; missing where not recorded")                          \
    Q(COUNT_OR_NONE, counter_windows, "counter_windows", JM_IN_QUALITY,                                      \
      "Windows of hardware counters used for powers; missing where none were")                               \
    Q(TEXT_OR_NONE, counters_missing, "counters_missing", JM_IN_QUALITY,                                     \
      "Why hardware counters were not sampled; missing if they were, or were not requested")                 \
    Q(TEXT_OR_NONE, counters_of_ncu, "counters_of_ncu", JM_IN_QUALITY,                                       \
      "File of Nsight Compute whose counts, of another run of the program, replace sampled ones; missing "   \
      "where none was imported")                                                                             \
    Q(REAL_OR_NONE, sampler_energy_j, "sampler_energy_j", JM_IN_QUALITY,                                     \
      "Joules that sampling hardware counters made the boards draw, in the total and in the row "            \
      "\"(counter sampling)\"; missing if they were not sampled")                                            \
    T(REAL_OR_NONE, residual_w, "residual_w", JM_IN_REPORT | JM_IN_QUALITY,                                  \
      "Root mean square of the fit, watts; missing without a fit")                                           \
    T(REAL_OR_NONE, chi2_n, "chi2_n", JM_IN_QUALITY, "Reduced chi square; missing without a fit")            \
    T(REAL_OR_NONE, closure_z, "closure_z", JM_IN_QUALITY,                                                   \
      "closure in standard uncertainties; above 3 the fit is not held to the total")                         \
    T(REAL_OR_NONE, tracing_slow_down, "tracing_slow_down", JM_IN_OVERHEAD,                                  \
      "By how much a traced step took longer than the others of its kind, of these; missing where there "    \
      "were none")                                                                                           \
    T(REAL_OR_NONE, tracing_s, "tracing_s", JM_IN_OVERHEAD,                                                  \
      "Seconds of all GPUs in which nothing ran only because steps were traced; missing likewise")           \
    T(REAL_OR_NONE, tracing_energy_j, "tracing_energy_j", JM_IN_OVERHEAD,                                    \
      "Joules of that time, in the total and in no row but their own; missing likewise")                     \
    Q(REAL_OR_NONE, overhead_cpu_s, "cpu_s", JM_IN_OVERHEAD,                                                 \
      "CPU time of the sampler, seconds; missing if not noted")                                              \
    Q(COUNT_OR_NONE, overhead_calls, "calls", JM_IN_OVERHEAD, "Reads of sensors; missing if not noted")      \
    Q(REAL_OR_NONE, overhead_call_s, "call_s", JM_IN_OVERHEAD, "Seconds spent in them; missing if not noted")

#define JM_NO_FIELD(kind, name, key, place, doc)
#define JM_TOTALS_FIELDS(X)  JM_SUMMARY_FIELDS(X, JM_NO_FIELD)
#define JM_QUALITY_FIELDS(X) JM_SUMMARY_FIELDS(JM_NO_FIELD, X)

#endif
