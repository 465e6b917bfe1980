/* Programs and libraries: what lies beside our own library, and what lies on PATH. */
#ifndef JM_BASE_BESIDE_H
#define JM_BASE_BESIDE_H

#include <stdbool.h>
#include <stddef.h>

/* The folder that libjoulemap.so lies in; false if it cannot be told. */
bool jm__own_folder(char *folder, size_t size);

/* The path of `name` ("sim/libnvidia-ml.so.1") in that folder, or one folder up (build/tests beside
 * build/sim). False if it is in neither; `path` then says where it should be. */
bool jm__beside(const char *name, char *path, size_t size);

/* The first program of that name in a folder of PATH. False if there is none; `path` is then undefined. */
bool jm__on_path(const char *name, char *path, size_t size);

#endif
