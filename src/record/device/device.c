/* Findings of back ends, and sensors by role. */
#include "record/device/device.h"

#include "base/plain.h"
#include "base/vec.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void jm__finding_add(jm__findings *findings, const char *subject, bool works, const char *cure,
                     const char *format, ...)
{
    jm_finding finding = {.works = works};
    snprintf(finding.subject, sizeof finding.subject, "%s", subject);
    snprintf(finding.cure, sizeof finding.cure, "%s", works ? "" : cure);
    va_list args;
    va_start(args, format);
    jm__vprint(finding.detail, sizeof finding.detail, format, args);
    va_end(args);
    (void)jm__vec_push(findings, finding);
}

void jm__finding_add_absent(jm__findings *findings, const char *board, const char *cure, const char *format,
                            ...)
{
    char why[120], (*grown)[sizeof *findings->absent];
    va_list args;
    va_start(args, format);
    jm__vprint(why, sizeof why, format, args);
    va_end(args);
    jm__finding_add(findings, board, false, cure, "%s", why);
    grown = realloc(findings->absent, (findings->absent_count + 1) * sizeof *grown);
    if (grown == NULL) return;
    findings->absent = grown;
    snprintf(grown[findings->absent_count++], sizeof *grown, "%.32s: %s", board, why);
}

void jm__device_sensor_init(jm__device_sensor *sensor, jm__sensor_role role, const char *source)
{
    *sensor = (jm__device_sensor){.row.quantity = jm__sensor_quantity(role)};
    snprintf(sensor->row.name, sizeof sensor->row.name, "%s", jm__sensor_name(role));
    snprintf(sensor->row.source, sizeof sensor->row.source, "%.95s", source);
}

bool jm__device_read_line(char *line, size_t size, const char *format, ...)
{
    char path[512];
    va_list args;
    va_start(args, format);
    int path_length = vsnprintf(path, sizeof path, format, args);
    va_end(args);
    if (path_length < 0 || (size_t)path_length >= sizeof path) return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t length = read(fd, line, size - 1);
    close(fd);
    if (length <= 0) return false;
    line[length] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return true;
}
