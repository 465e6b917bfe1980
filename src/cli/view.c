/* Shared by verbs that read a recording: their options, the page, and files written atomically. */
#include "cli/view.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- options of a view */

const char cli_view_keys[] =
#define X(name, text) "|" text
    JM_BY_MAP(X);
#undef X

int cli_view_open(const cli_args *args, int operand, jm_recording **recording, jm_report_options *options)
{
    long long board = -1, process = 0;
    if (!cli_get_number(args, "--board", 0, INT_MAX, &board)) return jm_status_exit_code(JM_USAGE);
    if (!cli_get_number(args, "--process", 1, INT_MAX, &process)) return jm_status_exit_code(JM_USAGE);
    *options = (jm_report_options){
        .size = sizeof *options,
        .by = (jm_by)cli_get_choice(args, "--by", JM_BY_LAYER),
        .phase = cli_get(args, "--phase"),
        .prior = cli_get(args, "--prior"),
        .model = cli_get(args, "--model"),
        .process_id = process,
    };
    jm_error err = {0};
    if (jm_recording_open(recording, cli_operand(args, operand), &err) != JM_OK) return cli_fail(args, &err);
    if (board >= 0 && jm_recording_board_id(*recording, (int)board, &options->board_id, &err) != JM_OK) {
        jm_recording_close(*recording);
        return cli_fail(args, &err);
    }
    return CLI_GO_ON;
}

int cli_view_refuse(const cli_args *args, const char *view, const char *why, const char *const *options)
{
    for (; *options != NULL; options++)
        if (cli_has(args, *options))
            return cli_usage_error(args, "there is no place for \"%s\" with \"%s\": %s", *options, view, why);
    return CLI_GO_ON;
}

void cli_view_warn_of_damage(const cli_args *args, int operand, const jm_recording *recording)
{
    const char *damage = jm_recording_damage(recording);
    if (damage != NULL) cli_message(args, "%s: %s", cli_operand(args, operand), damage);
}

void cli_view_name(char *out, size_t size, const char *path, int folders)
{
    static const char suffix[] = ".joulemap";
    size_t length = strlen(path), start = length;
    while (start > 0 && (path[start - 1] != '/' || start == length || folders-- > 0))
        start--;
    const char *name = path + start;
    length -= start;
    bool suffixed = length >= sizeof suffix && strcmp(name + length - (sizeof suffix - 1), suffix) == 0 &&
                    name[length - sizeof suffix] != '/';
    if (suffixed) length -= sizeof suffix - 1;
    snprintf(out, size, "%.*s", (int)(length < size ? length : size - 1), name);
}

/* ---- the page */

static jm_status make_report_by(jm_report **out, jm_recording *recording, const jm_report *like, jm_by by,
                                jm_error *err)
{
    jm_report_options options = *jm_report_options_get(like);
    options.by = by;
    return jm_report_create(out, recording, &options, err);
}

jm_status cli_page_run_make(cli_page_run *page, const char *name, jm_recording *recording,
                            const jm_report *report, jm_error *err)
{
    jm_status status = JM_OK;
    *page = (cli_page_run){
        .run = {.size = sizeof page->run, .name = name, .recording = recording, .report = report}};
    if (jm_report_options_get(report)->by != JM_BY_KERNEL)
        status = make_report_by(&page->kernels, recording, report, JM_BY_KERNEL, err);
    if (status == JM_OK && jm_page_wants_spans(report))
        status = make_report_by(&page->spans, recording, report, JM_BY_SPAN, err);
    page->run.kernels = page->kernels;
    page->run.spans = page->spans;
    return status;
}

void cli_page_run_free(cli_page_run *page)
{
    jm_report_free(page->kernels);
    jm_report_free(page->spans);
}

static jm_status write_page(const cli_page_run *page, const cli_page_run *other, const jm_diff *diff,
                            FILE *out, jm_error *err)
{
    if (diff != NULL) return jm_page_write_diff(diff, &page->run, &other->run, out, err);
    return jm_page_write(&page->run, out, err);
}

int cli_page_write(const cli_args *args, const cli_page_run *page, const cli_page_run *other,
                   const jm_diff *diff)
{
    const char *path = cli_get(args, "--html");
    jm_error err = {0};
    cli_progress(NULL);
    if (strcmp(path, "-") == 0) {
        if (write_page(page, other, diff, stdout, &err) == JM_OK) return 0;
        if (!ferror(stdout)) return cli_fail(args, &err);
        cli_write_failed((int)err.code);
        return 0;
    }
    cli_whole_file file;
    jm_status status = cli_whole_file_open(&file, path, &err);
    if (status == JM_OK) {
        status = write_page(page, other, diff, file.stream, &err);
        status = cli_whole_file_close(&file, status, &err);
    }
    return status == JM_OK ? 0 : cli_fail(args, &err);
}

/* ---- files that appear only when they are complete */

static jm_status fail(jm_error *err, const char *call, const char *path)
{
    int code = errno;
    *err = (jm_error){.status = jm_status_of_errno(code), .code = code};
    snprintf(err->call, sizeof err->call, "%s", call);
    snprintf(err->text, sizeof err->text, "cannot write %s: %s", path, strerror(code));
    return err->status;
}

static jm_status open_temporary(cli_whole_file *file, jm_error *err)
{
    int fd = mkostemp(file->temporary, O_CLOEXEC);
    if (fd < 0) return fail(err, "mkostemp", file->path);
    mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, 0666 & ~mask); /* as any new file; mkostemp makes it private */
    file->stream = fdopen(fd, "w");
    if (file->stream != NULL) return JM_OK;
    jm_status status = fail(err, "fdopen", file->path);
    close(fd);
    unlink(file->temporary);
    return status;
}

jm_status cli_whole_file_open(cli_whole_file *file, const char *path, jm_error *err)
{
    struct stat present;
    *file = (cli_whole_file){.path = path};
    if (stat(path, &present) == 0 && !S_ISREG(present.st_mode)) {
        file->stream = fopen(path, "we");
        return file->stream != NULL ? JM_OK : fail(err, "fopen", path);
    }
    if (asprintf(&file->temporary, "%s.XXXXXX", path) < 0) {
        file->temporary = NULL;
        return fail(err, "malloc", path);
    }
    jm_status status = open_temporary(file, err);
    if (status != JM_OK) {
        free(file->temporary);
        file->temporary = NULL;
    }
    return status;
}

jm_status cli_whole_file_close(cli_whole_file *file, jm_status status, jm_error *err)
{
    if (fclose(file->stream) != 0 && status == JM_OK) status = fail(err, "fclose", file->path);
    if (file->temporary != NULL) {
        if (status == JM_OK && rename(file->temporary, file->path) != 0)
            status = fail(err, "rename", file->path);
        if (status != JM_OK) unlink(file->temporary);
        free(file->temporary);
    }
    return status;
}
