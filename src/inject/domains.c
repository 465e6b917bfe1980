/* Domains and categories: two tables that only grow, written without a lock. */
#include "inject/domains.h"

#include "base/utf8.h"
#include "inject/nccl.h"
#include "inject/xla.h"
#include "record/timeline/track.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES_MOST 4095u
#define DOMAIN_BYTES    120u /* of a domain's name; longer ones are cut */
#define DOMAINS_MAX     256u
#define CATEGORIES_MAX  4096u /* a power of two */
#define PROBES_MAX      64u

struct jm__domain {
    _Atomic uint32_t number; /* of its name; 0: free */
    _Atomic bool ready;      /* what follows is written */
    bool kept, xla, nccl;
    uint32_t length;
    char name[DOMAIN_BYTES];
};

static jm__domain domains[DOMAINS_MAX]; /* the last one is of all for whom there was no room */

/* ---- which of them count */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char wanted[1024];
static bool default_kept;

static bool is_word(const char *word, size_t length, const char *name)
{
    return strlen(name) == length && strncmp(word, name, length) == 0;
}

static bool is_wanted(const char *name)
{
    bool some = false, hit = false;
    for (const char *at = wanted; *at != '\0';) {
        size_t length = strcspn(at, ",");
        bool out = *at == '-';
        bool same = is_word(at + out, length - out, name);
        if (out && same) return false;
        some = some || (!out && length > 0);
        hit = hit || (!out && same);
        at += length + (at[length] == ',');
    }
    return hit || !some;
}

/* A list that is too long is none: a part of it would keep what it names further on out. */
static void read_wanted(void)
{
    const char *value = getenv(JM_DOMAINS_VARIABLE);
    if (value != NULL && strlen(value) < sizeof wanted) memcpy(wanted, value, strlen(value) + 1);
    default_kept = is_wanted("default");
}

/* ---- domains */

static const jm__domain *fill(jm__domain *domain, const char *name)
{
    domain->length = (uint32_t)jm__utf8_cut(name, DOMAIN_BYTES - 1);
    memcpy(domain->name, name, domain->length);
    domain->kept = is_wanted(name);
    domain->xla = strcmp(name, JM_XLA_DOMAIN) == 0;
    domain->nccl = strcmp(name, JM_NCCL_DOMAIN) == 0;
    atomic_store_explicit(&domain->ready, true, memory_order_release);
    return domain;
}

/* One that another thread still writes is passed by: two domains of a name do no harm. */
const jm__domain *jm__domain_make(const char *name)
{
    pthread_once(&once, read_wanted);
    uint32_t number = jm__track_register(name, DOMAIN_BYTES - 1);
    if (number == 0) return NULL;
    for (size_t i = 0; i < DOMAINS_MAX; i++) {
        bool last = i == DOMAINS_MAX - 1;
        uint32_t known = domains[i].number;
        if (known == 0 && atomic_compare_exchange_strong(&domains[i].number, &known, number))
            return fill(&domains[i], last ? "(other domains)" : name);
        bool ready = atomic_load_explicit(&domains[i].ready, memory_order_acquire);
        if (ready && (known == number || last)) return &domains[i];
    }
    return NULL;
}

const jm__domain *jm__domain_of(const void *handle)
{
    uintptr_t at = (uintptr_t)handle, first = (uintptr_t)domains;
    bool ours = at >= first && at < first + sizeof domains && (at - first) % sizeof domains[0] == 0;
    return ours ? &domains[(at - first) / sizeof domains[0]] : NULL;
}

bool jm__domain_is_kept(const jm__domain *domain)
{
    if (domain != NULL) return domain->kept;
    pthread_once(&once, read_wanted);
    return default_kept;
}

bool jm__domain_is_xla(const jm__domain *domain)
{
    return domain != NULL && domain->xla && domain->kept;
}

bool jm__domain_is_nccl(const jm__domain *domain)
{
    return domain != NULL && domain->nccl && domain->kept;
}

uint32_t jm__domain_text(const jm__domain *domain, const char *text, bool registered)
{
    if (!jm__domain_is_kept(domain)) return 0;
    char whole[NAME_BYTES_MOST + DOMAIN_BYTES + 8]; /* more than is kept: so it is cut at a character */
    if (domain != NULL) {
        size_t length = text == NULL ? 0 : strnlen(text, NAME_BYTES_MOST + 1), at = domain->length;
        memcpy(whole, domain->name, at);
        if (length > 0) {
            whole[at++] = ':';
            memcpy(whole + at, text, length);
        }
        whole[at + length] = '\0';
        text = whole;
    }
    return registered ? jm__track_register(text, NAME_BYTES_MOST) : jm__track_intern(text, NAME_BYTES_MOST);
}

/* ---- categories */

typedef struct category {
    _Atomic uint64_t key; /* 0: free */
    _Atomic uint32_t name;
} category;
static category categories[CATEGORIES_MAX];

/* NULL: there is no room. */
static category *category_at(const jm__domain *domain, uint32_t id)
{
    uint64_t place = domain == NULL ? 0 : (uint64_t)(domain - domains) + 1;
    uint64_t key = UINT64_C(1) << 63 | place << 32 | id, hash = key * UINT64_C(0x9E3779B97F4A7C15) >> 40;
    for (uint64_t i = 0; i < PROBES_MAX; i++) {
        category *at = &categories[(hash + i) % CATEGORIES_MAX];
        uint64_t known = at->key;
        if (known == 0 && atomic_compare_exchange_strong(&at->key, &known, key)) return at;
        if (known == key) return at;
    }
    return NULL;
}

void jm__domain_name_category(const jm__domain *domain, uint32_t id, const char *name)
{
    if (id == 0 || !jm__domain_is_kept(domain)) return;
    category *at = category_at(domain, id);
    uint32_t number = name == NULL || name[0] == '\0' ? 0 : jm__domain_text(domain, name, true);
    if (at != NULL && number != 0) at->name = number;
}

uint32_t jm__domain_category(const jm__domain *domain, uint32_t id)
{
    if (id == 0) return 0;
    category *at = category_at(domain, id);
    if (at == NULL) return 0;
    if (at->name == 0) {
        char text[32];
        snprintf(text, sizeof text, "category %u", id);
        uint32_t number = jm__domain_text(domain, text, true), none = 0;
        atomic_compare_exchange_strong(&at->name, &none, number);
    }
    return at->name;
}
