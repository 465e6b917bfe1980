/* The journal of a recording at its end. */
#ifndef JM_FORMAT_JOURNAL_H
#define JM_FORMAT_JOURNAL_H

#include "format/database.h"

/* Everything into the one file, no journal beside it. No statement of `db` may stand in the way. */
jm_status jm__journal_end(sqlite3 *db, const char *path, jm_error *err);

#endif
