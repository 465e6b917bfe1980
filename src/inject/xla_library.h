/* Is XLA in this process, be it idle? */
#ifndef JM_INJECT_XLA_LIBRARY_H
#define JM_INJECT_XLA_LIBRARY_H

#include <stdbool.h>

/* Libraries that have it were loaded since this was asked last: JAX's, older and newer, or TensorFlow's.
 * Where nothing was loaded meanwhile, their names are not looked at again. Any thread. */
bool jm__xla_was_loaded(void);

#endif
