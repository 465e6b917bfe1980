/* Rows that hold a part of a column's time: how much their power may differ from the column's mean. */
#ifndef JM_ATTRIBUTE_ROLLUP_UNEVEN_H
#define JM_ATTRIBUTE_ROLLUP_UNEVEN_H

#include "attribute/attribution.h"
#include "attribute/rollup/tree.h"

/* Sets `uneven` of the fits of all boards; after the tree has all its cells. */
jm_status jm__uneven_find(jm__attribution *a, const jm__tree *tree, jm_error *err);

#endif
