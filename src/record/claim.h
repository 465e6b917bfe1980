/* The file of a new recording: made, or refused with words. */
#ifndef JM_RECORD_CLAIM_H
#define JM_RECORD_CLAIM_H

#include <joulemap/status.h>
#include <stdbool.h>

/* Claim the name, so that two recorders never write one file. SQLite fills the empty file. An existing one is
 * refused (IO) unless `overwrite`, and then replaced, with the journals beside it. */
jm_status jm__claim(const char *path, bool overwrite, jm_error *err);

#endif
