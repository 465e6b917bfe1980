/* Long C++ kernel names, made short enough for a table. */
#ifndef JM_REPORT_KERNEL_NAME_H
#define JM_REPORT_KERNEL_NAME_H

#include "base/strbuf.h"

/* How much is left out. */
typedef enum jm__brevity {
    JM_BREVITY_SIGNATURE,  /* without "void " and the list of parameters */
    JM_BREVITY_NAMESPACES, /* and without namespaces */
    JM_BREVITY_INNER,      /* and with "<>" in place of the template arguments of template arguments */
    JM_BREVITY_TEMPLATES,  /* and of all template arguments */
    JM_BREVITY_COUNT
} jm__brevity;

/* A demangled C++ name, as opposed to a layer's or a C function's. */
bool jm__is_cpp_name(const char *name);

/* Add a C++ name in short. */
void jm__kernel_name_add(jm__strbuf *out, const char *name, jm__brevity brevity);

/* Add a name that is too long even so: the middle of the function's name goes, and the end of its
 * template arguments, whose beginning tells best which one of its kind it is. */
void jm__kernel_name_add_cut(jm__strbuf *out, const char *name, size_t columns);

#endif
