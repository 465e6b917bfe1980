/* Properties of a run for `meta`: machine and command. */
#include "record/run/inside.h"

#include "base/strbuf.h"
#include "record/sample/inventory.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

void jm__run_facts_write_number(jm__writer *writer, const char *key, int64_t value)
{
    char number[24];
    snprintf(number, sizeof number, "%" PRId64, value);
    jm__writer_meta(writer, key, number);
}

/* The value of the first line "KEY<blanks>SEPARATOR VALUE" of a file; false if there is none. */
static bool find_line(const char *path, const char *key, char separator, char *value, size_t size)
{
    char line[512];
    FILE *file = fopen(path, "re");
    if (file == NULL) return false;
    bool found = false;
    while (!found && fgets(line, sizeof line, file) != NULL) {
        char *at = strncmp(line, key, strlen(key)) == 0 ? strchr(line, separator) : NULL;
        if (at == NULL) continue;
        at += 1 + strspn(at + 1, " \t\"");
        at[strcspn(at, "\"\n")] = '\0';
        found = at[0] != '\0';
        if (found) snprintf(value, size, "%s", at);
    }
    fclose(file);
    return found;
}

static void write_machine(jm__writer *writer)
{
    struct utsname system;
    char value[512];
    if (uname(&system) == 0) {
        jm__writer_meta(writer, "host", system.nodename);
        snprintf(value, sizeof value, "%s %s %s", system.sysname, system.release, system.machine);
        jm__writer_meta(writer, "kernel", value);
    }
    if (find_line("/etc/os-release", "PRETTY_NAME", '=', value, sizeof value))
        jm__writer_meta(writer, "system", value);
    if (find_line("/proc/cpuinfo", "model name", ':', value, sizeof value))
        jm__writer_meta(writer, "cpu", value);
}

static void write_own_command(jm__writer *writer)
{
    char arguments[16384];
    FILE *file = fopen("/proc/self/cmdline", "re");
    if (file == NULL) return;
    size_t count = fread(arguments, 1, sizeof arguments - 1, file);
    fclose(file);
    if (count > 0 && arguments[count - 1] == '\0') count--;
    for (size_t i = 0; i < count; i++)
        if (arguments[i] == '\0') arguments[i] = ' ';
    arguments[count] = '\0';
    if (count > 0) jm__writer_meta(writer, "command", arguments);
}

void jm__run_facts_write(jm__writer *writer, const char *command)
{
    char folder[PATH_MAX];
    if (command != NULL)
        jm__writer_meta(writer, "command", command);
    else
        write_own_command(writer);
    if (getcwd(folder, sizeof folder) != NULL) jm__writer_meta(writer, "folder", folder);
    write_machine(writer);
}

void jm__run_facts_write_findings(jm__writer *writer, const jm_inventory *inventory)
{
    const jm__findings *findings = jm__devices_findings(jm__inventory_devices(inventory));
    for (size_t i = 0; i < findings->count; i++) {
        const jm_finding *finding = &findings->items[i];
        jm__strbuf key = {0}, value = {0};
        jm__strbuf_format(&key, "found: %s", finding->subject);
        jm__strbuf_format(&value, "%s: %s", finding->works ? "works" : "missing", finding->detail);
        if (!key.failed && !value.failed) jm__writer_meta(writer, key.text, value.text);
        jm__strbuf_free(&key);
        jm__strbuf_free(&value);
    }
}
