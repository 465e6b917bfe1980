/* All that a back end says, as text: its boards, their sensors, and what was found on the way. */
#ifndef TEST_DEVICE_TOLD_H
#define TEST_DEVICE_TOLD_H

#include "base/strbuf.h"
#include "files_open.h"
#include "record/device/device.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline void told_boards_of(jm__strbuf *out, const jm__devices *devices, const char *backend)
{
    for (size_t i = 0; i < jm__devices_board_count(devices); i++) {
        const jm_board *board = jm__devices_board(devices, i);
        if (strcmp(board->backend, backend) != 0) continue;
        jm__strbuf_format(out, "%s, %" PRId32 "%s\n", board->name, board->index,
                          board->upstream ? ", upstream" : "");
        if (board->pci[0] != '\0')
            jm__strbuf_format(out, "  %s %s %s %s cuda %d%s%s, %g W of %g to %g, %g MHz, %d\n", board->uuid,
                              board->pci, board->driver, board->profile, (int)board->cuda_index,
                              board->mig ? " mig" : "", board->simulated ? " simulated" : "",
                              board->power_limit_w, board->power_limit_min_w, board->power_limit_max_w,
                              board->clock_limit_mhz, (int)board->multiprocessors);
        for (size_t k = 0; k < jm__devices_sensor_count(devices, i); k++) {
            const jm__device_sensor *sensor = jm__devices_sensor(devices, i, k);
            const jm_sensor *row = &sensor->row;
            jm__strbuf_format(out, "  %s by %s%s", row->name, row->source,
                              sensor->buffered ? ", buffered" : "");
            if (row->period_ns != 0)
                jm__strbuf_format(out, ", %d %d %g %g %g %g %g %g %g %g", (int)row->quantity,
                                  (int)row->response, (double)row->period_ns, (double)row->lag_ns,
                                  (double)row->lag_u_ns, (double)row->window_ns, (double)row->tau_ns,
                                  (double)row->tau_u_ns, row->noise, row->gain_u);
            /* Why it is missing depends on the machine behind its last colon. */
            const char *colon = strrchr(row->missing, ':');
            size_t length = colon != NULL ? (size_t)(colon - row->missing) : strlen(row->missing);
            if (length > 0) jm__strbuf_format(out, ", missing: %.*s", (int)length, row->missing);
            jm__strbuf_add(out, "\n");
        }
    }
}

/* Of the boards of one back end, and the findings whose subject begins with `subject`, in which "~" stands
 * for `root`; free() it. */
static inline char *device_told(const jm__devices *devices, const char *backend, const char *subject,
                                const char *root)
{
    jm__strbuf out = {0}, without_root = {0};
    told_boards_of(&out, devices, backend);
    const jm__findings *findings = jm__devices_findings(devices);
    for (size_t i = 0; i < findings->count; i++) {
        const jm_finding *f = &findings->items[i];
        if (strncmp(f->subject, subject, strlen(subject)) == 0)
            jm__strbuf_format(&out, "%s %s: %s%s%s\n", f->works ? "+" : "-", f->subject, f->detail,
                              f->cure[0] != '\0' ? " | " : "", f->cure);
    }
    for (size_t i = 0; i < findings->absent_count; i++)
        jm__strbuf_format(&out, "absent %s\n", findings->absent[i]);
    jm__strbuf_add(&out, "");
    const char *rest = out.text;
    for (const char *at = NULL; (at = strstr(rest, root)) != NULL; rest = at + strlen(root)) {
        jm__strbuf_add_bytes(&without_root, rest, (size_t)(at - rest));
        jm__strbuf_add(&without_root, "~");
    }
    jm__strbuf_add(&without_root, rest);
    jm__strbuf_free(&out);
    return jm__strbuf_take(&without_root);
}

static inline void assert_told(const jm__devices *devices, const char *backend, const char *subject,
                               const char *root, const char *expected)
{
    char *text = device_told(devices, backend, subject, root);
    if (strcmp(text, expected) != 0) fail_msg("told:\n%s\nexpected:\n%s", text, expected);
    free(text);
}

#endif
