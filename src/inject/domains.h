/* NVTX's domains: whose ranges are recorded, what they and their categories are called.
 *
 * A program knows a domain by a pointer of ours; the default one is NULL. Ranges of a named domain are called
 * "DOMAIN:NAME", as NVIDIA's own tools print them; a category is the type of a range. Nothing is locked, as a
 * fork may come at any time, and nothing allocated but names.
 *
 * JOULEMAP_NVTX_DOMAINS says which domains count: names with commas between, "default" for the default one;
 * with a minus before, all but those: "-CCCL,-NCCL". */
#ifndef JM_INJECT_DOMAINS_H
#define JM_INJECT_DOMAINS_H

#include <stdbool.h>
#include <stdint.h>

#define JM_DOMAINS_VARIABLE "JOULEMAP_NVTX_DOMAINS"

typedef struct jm__domain jm__domain;

/* The domain of that name; NULL, the default one, for none. Beyond 255 names all others share one. */
const jm__domain *jm__domain_make(const char *name);

/* What a program handed over as a domain; the default one for what is none of ours. */
const jm__domain *jm__domain_of(const void *handle);

bool jm__domain_is_kept(const jm__domain *domain);
bool jm__domain_is_xla(const jm__domain *domain);
bool jm__domain_is_nccl(const jm__domain *domain);

/* The number of a text in a domain (track.h). `registered`: also where there is no run yet. */
uint32_t jm__domain_text(const jm__domain *domain, const char *text, bool registered);

/* A category gets a name, at any time. Beyond 4096 of them the rest have none. */
void jm__domain_name_category(const jm__domain *domain, uint32_t category, const char *name);

/* The number of its name, "category 7" if nobody named it; 0: there is none. */
uint32_t jm__domain_category(const jm__domain *domain, uint32_t category);

#endif
