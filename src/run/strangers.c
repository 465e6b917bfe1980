/* Processes that were to be in the run and may not enter its folder: another user's. */
#include "base/clock.h"
#include "run/inside.h"
#include "timeline/door.h"

#include <stdio.h>

static bool is_known(const jm_run *run, pid_t pid)
{
    for (size_t i = 0; i < run->stranger_count; i++)
        if (run->strangers[i] == pid) return true;
    return false;
}

void jm__run_hear_strangers(jm_run *run)
{
    char words[160];
    pid_t pid;
    uid_t uid;
    if (!jm__kept_file_is_ours(&run->folder.door)) return;
    while (run->stranger_count < JM_RUN_STRANGERS &&
           jm__door_hear(run->folder.door.fd_plus_one - 1, &pid, &uid)) {
        if (is_known(run, pid)) continue; /* each of its libraries knocks */
        run->strangers[run->stranger_count++] = pid;
        snprintf(words, sizeof words,
                 "it runs as user %u, who may not enter the folder of this run: nothing of it is recorded%s",
                 (unsigned)uid,
                 run->stranger_count == JM_RUN_STRANGERS ? "; of others nothing more is said" : "");
        jm__run_tell_of_process(run, JM_EVENT_RECORDER, pid, words);
    }
}
