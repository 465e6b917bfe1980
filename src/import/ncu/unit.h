/* Units as Nsight Compute prints them, in their base: "Gbyte/s" is 1e9 byte/second. */
#ifndef JM_IMPORT_NCU_UNIT_H
#define JM_IMPORT_NCU_UNIT_H

#define JM_NCU_UNIT_TEXT 48

/* `base`: the unit without prefixes ("byte/second", "second", "cycle/second" for Hz, "%", "" for none), what
 * a value has to be multiplied by to be in it as the result. A unit that is not known stays as it is. */
double jm__ncu_unit(const char *unit, char base[JM_NCU_UNIT_TEXT]);

#endif
