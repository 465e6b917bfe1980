/* Where a run's recording is: one file, or parts of which the newest counts. */
#include "record/run/inside.h"

#include "base/status.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool jm__run_rotates(const jm_run_options *options)
{
    return options->rotate_s > 0 || options->rotate_bytes > 0;
}

static jm_status check_rotation(const jm_run_options *o, jm_error *err)
{
    static const char call[] = "jm_run_start";
    if (o->keep_files < 0 || o->rotate_bytes < 0)
        return jm__fail(err, JM_USAGE, 0, call, "a size, or a number of files, is no less than 0");
    if (o->keep_files > 0 && !jm__run_rotates(o))
        return jm__fail(err, JM_USAGE, 0, call, "keep_files is of a recording in parts: say when it rotates");
    if (jm__run_rotates(o) && o->path == NULL)
        return jm__fail(err, JM_USAGE, 0, call, "a recording in memory has no parts: give it a path");
    if (o->rotate_bytes > 0 && o->max_bytes > 0)
        return jm__fail(err, JM_USAGE, 0, call,
                        "a part that is condensed to stay below a size does not reach one: rotate by time");
    return JM_OK;
}

jm_status jm__run_start_writer(jm_run *run, const jm_run_options *options, jm_error *err)
{
    const jm__rotation_wanted parts = {options->rotate_s, options->rotate_bytes, options->keep_files};
    JM_TRY(check_rotation(options, err));
    if (jm__run_rotates(options))
        JM_TRY(jm__writer_create_parts(&run->writer, run->path, options->overwrite, &parts, err));
    else
        JM_TRY(jm__writer_create(&run->writer, run->path, options->overwrite, err));
    jm__writer_condense(run->writer, options->keep_s, options->max_bytes);
    return JM_OK;
}

/* What was read of the part before stays open: somebody may have it. */
static jm_status go_to_part(jm_run *run, const char *path)
{
    char *copy = strdup(path);
    const jm__older_part older = {run->recording};
    if (copy == NULL || (run->recording != NULL && !jm__vec_push(&run->older, older))) {
        free(copy);
        return JM_NO_MEMORY;
    }
    pthread_mutex_lock(&run->path_lock);
    free(run->path);
    run->path = copy;
    pthread_mutex_unlock(&run->path_lock);
    run->recording = NULL;
    return JM_OK;
}

void jm__run_follow_parts(jm_run *run)
{
    const char *path = jm__writer_path(run->writer);
    if (path == NULL || strcmp(path, run->path) == 0) return;
    if (go_to_part(run, path) == JM_OK) jm__run_folder_name(&run->folder, path);
}

/* The recorder above may have begun another part. */
void jm__run_follow_recorder(jm_run *run)
{
    char path[PATH_MAX];
    if (run->path == NULL || !jm__run_folder_named(&run->folder, path, sizeof path)) return;
    if (strcmp(path, run->path) != 0) (void)go_to_part(run, path);
}

const char *jm_run_path(jm_run *run)
{
    if (run->owner != getpid()) return NULL;
    if (run->attached) {
        pthread_mutex_lock(&run->writer_lock);
        jm__run_follow_recorder(run);
        pthread_mutex_unlock(&run->writer_lock);
    }
    pthread_mutex_lock(&run->path_lock); /* a writer may be at its file for a while: that is not waited for */
    free(run->told_path);
    run->told_path = run->path == NULL ? NULL : strdup(run->path);
    pthread_mutex_unlock(&run->path_lock);
    return run->told_path;
}
