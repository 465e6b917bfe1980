/* How much of a recording still fits on its disk. */
#ifndef JM_FORMAT_ROOM_H
#define JM_FORMAT_ROOM_H

#include "format/database.h"

#define JM_RESERVE_BYTES ((size_t)1 << 20) /* of a disk, for readings alone: some minutes of two boards */
#define JM_RESERVE_SHARE 8                 /* of a small disk */

/* How far the file may still grow, on its file system and by the limit of this process (`ulimit -f`), when
 * what lies in the journal is in it; and how much of that is for readings alone. False: nobody knows. */
bool jm__room_find(sqlite3 *db, const char *path, uint64_t *room, uint64_t *reserve);

#endif
