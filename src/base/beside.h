/* Files that lie beside our own library: the command, the injected library, the simulated board. */
#ifndef JM_BASE_BESIDE_H
#define JM_BASE_BESIDE_H

#include <stdbool.h>
#include <stddef.h>

/* The folder that libjoulemap.so lies in; false if it cannot be told. */
bool jm__own_folder(char *folder, size_t size);

/* The path of `name` ("sim/libnvidia-ml.so.1") in that folder, or one folder up (build/tests beside
 * build/sim). False if it is in neither; `path` then says where it should be. */
bool jm__beside(const char *name, char *path, size_t size);

#endif
