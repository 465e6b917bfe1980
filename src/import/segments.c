/* Host-timed work: part,kernel,t_start_s,t_end_s,kernel_launches[,phase]. */
#include "base/status.h"
#include "import/gather.h"

static jm_status put_in_phase(jm__import *im, size_t part, size_t phase, jm_error *err)
{
    while (im->phases.count < part)
        if (!jm__vec_push(&im->phases, 0)) return jm__no_memory(err, "jm_recording_import");
    im->phases.items[part - 1] = phase;
    return JM_OK;
}

/* A part is a phase, or a window of always the same phase. */
static jm_status take_window(jm__import *im, const jm__csv *csv, size_t column, const jm__import_kernel *row,
                             bool is_new, size_t *open_phase, jm_error *err)
{
    size_t phase;
    JM_TRY(jm__import_number(&im->parts, jm__csv_text(csv, column), &phase, err));
    if (row->part == 0 || row->part == phase)
        return jm__csv_bad(csv, column, err, "a part of a phase has a name of its own");
    if (jm__import_phase_of(im, phase) != 0)
        return jm__csv_bad(csv, column, err, "\"%.60s\" lies in a phase itself", jm__csv_text(csv, column));
    if (!is_new && jm__import_phase_of(im, row->part) != phase)
        return jm__csv_bad(csv, column, err, "\"%.60s\" did not lie in this phase before",
                           jm__import_text(&im->parts, row->part));
    JM_TRY(put_in_phase(im, row->part, phase, err));
    JM_TRY(jm__import_add_window(im, row->part, row->start_ns, row->end_ns, err));
    return jm__import_add_to_part(im, open_phase, phase, row->start_ns, row->end_ns, err);
}

static jm_status take_part(jm__import *im, const jm__csv *csv, size_t column, const jm__import_kernel *row,
                           size_t *open, jm_error *err)
{
    if (jm__import_phase_of(im, row->part) != 0)
        return jm__csv_bad(csv, column, err, "\"%.60s\" lay in a phase before",
                           jm__import_text(&im->parts, row->part));
    return jm__import_add_to_part(im, open, row->part, row->start_ns, row->end_ns, err);
}

/* Parts may follow each other in the file; the time of each must not run backwards. */
static jm_status check_clock(jm__import *im, const jm__csv *csv, size_t column, const jm__import_kernel *row,
                             jm_error *err)
{
    while (im->part_clocks.count <= row->part)
        if (!jm__vec_push(&im->part_clocks, (jm__import_clock){0}))
            return jm__no_memory(err, "jm_recording_import");
    return jm__import_clock_add(&im->part_clocks.items[row->part], csv, column, row->start_ns,
                                row->part == 0 ? "no part" : jm__import_text(&im->parts, row->part), err);
}

static jm_status check_clocks(const jm__import *im, jm_error *err)
{
    for (size_t i = 0; i < im->part_clocks.count; i++)
        JM_TRY(jm__import_clock_end(&im->part_clocks.items[i], im->options.files[JM_IMPORT_SEGMENTS],
                                    i == 0 ? "no part" : jm__import_text(&im->parts, i), err));
    return JM_OK;
}

jm_status jm__import_segments(jm__import *im, jm__csv *csv, jm_error *err)
{
    size_t part, kernel, start, end, open = SIZE_MAX;
    size_t calls = jm__csv_find(csv, "kernel_launches"), phase = jm__csv_find(csv, "phase");
    JM_TRY(jm__csv_column(csv, "part", &part, err));
    JM_TRY(jm__csv_column(csv, "kernel", &kernel, err));
    JM_TRY(jm__csv_column(csv, "t_start_s", &start, err));
    JM_TRY(jm__csv_column(csv, "t_end_s", &end, err));
    /* With a file of kernels, segments must not count the same work twice. */
    bool as_kernels = im->options.files[JM_IMPORT_KERNELS] == NULL;
    for (;;) {
        bool more;
        jm__import_kernel row = {.calls = 1};
        JM_TRY(jm__csv_next(csv, &more, err));
        if (!more) return check_clocks(im, err);
        JM_TRY(jm__csv_scaled(csv, start, 9, &row.start_ns, err));
        JM_TRY(jm__csv_scaled(csv, end, 9, &row.end_ns, err));
        if (row.end_ns < row.start_ns) return jm__csv_bad(csv, end, err, "the end lies before the start");
        if (!jm__csv_missing(csv, calls)) JM_TRY(jm__csv_integer(csv, calls, &row.calls, err));
        if (row.calls < 1) return jm__csv_bad(csv, calls, err, "a segment has at least one launch");
        size_t known_parts = im->parts.items.count;
        JM_TRY(jm__import_number(&im->parts, jm__csv_text(csv, part), &row.part, err));
        JM_TRY(check_clock(im, csv, start, &row, err));
        JM_TRY(jm__import_number(&im->kernels, jm__csv_text(csv, kernel), &row.name, err));
        if (jm__csv_text(csv, phase)[0] != '\0')
            JM_TRY(take_window(im, csv, phase, &row, row.part > known_parts, &open, err));
        else
            JM_TRY(take_part(im, csv, part, &row, &open, err));
        jm__import_extend_time(im, row.start_ns, row.end_ns);
        if (as_kernels && row.name != 0) JM_TRY(jm__import_add_kernel(im, row, err));
    }
}
