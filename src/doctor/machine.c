/* Shared memory and SQLite of this machine. */
#include "doctor/machine.h"

#include <sqlite3.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define SHM_FREE_MIN (UINT64_C(64) << 20)

/* The rings of a run live in shared memory. */
static void note_shm(jm__findings *findings)
{
    struct statvfs space;
    const char *cure = "give the container more: docker run --shm-size=1g, or --ipc=host";
    if (statvfs("/dev/shm", &space) != 0 || access("/dev/shm", W_OK) != 0) {
        jm__finding_add(findings, "shared memory", false, cure, "/dev/shm is not there or not writable");
        return;
    }
    uint64_t free_bytes = (uint64_t)space.f_bavail * (uint64_t)space.f_frsize;
    jm__finding_add(findings, "shared memory", free_bytes >= SHM_FREE_MIN, cure, "/dev/shm: %llu MiB free",
                    (unsigned long long)(free_bytes >> 20));
}

void jm__doctor_machine(jm__findings *findings)
{
    note_shm(findings);
    jm__finding_add(findings, "SQLite", true, "", "version %s", sqlite3_libversion());
}
