/* The folder of the leases' state: what each one found, written before anything is changed. */
#ifndef JM_CAP_LEASE_FOLDER_H
#define JM_CAP_LEASE_FOLDER_H

#include <joulemap/status.h>
#include <limits.h>
#include <stdbool.h>

typedef struct jm__lease_folder {
    char path[PATH_MAX];
} jm__lease_folder;

/* JOULEMAP_CAPS_DIR, else root's (also of who has root set caps, by JOULEMAP_CAP) or this user's. NOT_FOUND:
 * nothing says where it is; USAGE: what does is no absolute path, or too long. */
jm_status jm__lease_folder_find(jm__lease_folder *folder, jm_error *err);

/* Root's, where it is another and nobody said which to take: leases of the machine, for all to see. */
bool jm__lease_folder_of_root(jm__lease_folder *folder);

/* Make it where it is not there. NO_PERMISSION: one may not, or others may write into it. */
jm_status jm__lease_folder_make(const jm__lease_folder *folder, jm_error *err);

/* What it holds can be believed: it is this user's or root's, and nobody else writes into it. NOT_FOUND: it
 * is not there. */
jm_status jm__lease_folder_trust(const jm__lease_folder *folder, jm_error *err);

/* "FOLDER/UUID.END"; false: the UUID is none that can name a file, or the path is too long. */
bool jm__lease_folder_path(const jm__lease_folder *folder, const char *uuid, const char *end, char *path,
                           size_t size);

/* The next UUID of which there is a state, of an open DIR of the folder. */
bool jm__lease_folder_next(void *directory, char *uuid, size_t size);

#endif
