/* Kernels: t_start_s,duration_us,kernel,stream,part. */
#include "base/status.h"
#include "import/gather.h"

jm_status jm__import_kernels(jm__import *im, jm__csv *csv, jm_error *err)
{
    size_t start, duration, kernel, stream, part = jm__csv_find(csv, "part"), open = SIZE_MAX;
    JM_TRY(jm__csv_column(csv, "t_start_s", &start, err));
    JM_TRY(jm__csv_column(csv, "duration_us", &duration, err));
    JM_TRY(jm__csv_column(csv, "kernel", &kernel, err));
    JM_TRY(jm__csv_column(csv, "stream", &stream, err));
    for (;;) {
        bool more;
        int64_t duration_ns, number;
        jm__import_kernel row = {.calls = 1};
        JM_TRY(jm__csv_next(csv, &more, err));
        if (!more) return JM_OK;
        JM_TRY(jm__csv_scaled(csv, start, 9, &row.start_ns, err));
        JM_TRY(jm__csv_scaled(csv, duration, 3, &duration_ns, err));
        if (duration_ns < 0 || row.start_ns > INT64_MAX - duration_ns)
            return jm__csv_bad(csv, duration, err, "a duration cannot be %lld ns", (long long)duration_ns);
        row.end_ns = row.start_ns + duration_ns;
        JM_TRY(jm__csv_integer(csv, stream, &number, err));
        if (number < 0 || number > UINT32_MAX) return jm__csv_bad(csv, stream, err, "no stream number");
        JM_TRY(jm__import_stream_find(im, (uint32_t)number, &row.stream, err));
        JM_TRY(jm__import_number(&im->kernels, jm__csv_text(csv, kernel), &row.name, err));
        JM_TRY(jm__import_number(&im->parts, jm__csv_text(csv, part), &row.part, err));
        JM_TRY(jm__import_add_to_part(im, &open, row.part, row.start_ns, row.end_ns, err));
        JM_TRY(jm__import_add_kernel(im, row, err));
    }
}
