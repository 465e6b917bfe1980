/* Is XLA in this process, be it idle? */
#ifndef JM_INJECT_XLA_LIBRARY_H
#define JM_INJECT_XLA_LIBRARY_H

#include <stdbool.h>

/* Libraries that have it are loaded: JAX's, older and newer, or TensorFlow's. */
bool jm__xla_is_loaded(void);

#endif
