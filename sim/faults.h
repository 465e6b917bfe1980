/* Faults on demand: the text of JOULEMAP_SIM_FAULTS (sim/README.md tells its form). Times: ns since the
 * epoch. */
#ifndef SIM_FAULTS_H
#define SIM_FAULTS_H

#include "nvml_abi.h"

#include <stdbool.h>
#include <stddef.h>

#define SIM_FAULTS_MAX    64
#define SIM_FOREIGN_ERROR 10000

typedef enum sim_fault_kind {
    SIM_FAULT_ERROR,   /* the call returns `error` */
    SIM_FAULT_MISSING, /* the symbol is not there */
    SIM_FAULT_SLOW,    /* the call takes `amount_ns` longer */
    SIM_FAULT_LOST,    /* the board is lost */
    SIM_FAULT_STUCK,   /* the energy counter stands still */
    SIM_FAULT_RESET,   /* the energy counter begins at 0 again */
    SIM_FAULT_STEP,    /* stamps are `amount_ns` off */
    SIM_FAULT_HELD,    /* the call's numbers stay what they were; a ring has nothing new */
    SIM_FAULT_GLITCH,  /* the call's numbers are all `number` */
} sim_fault_kind;

typedef struct sim_fault {
    sim_fault_kind kind;
    char call[64];      /* a '*' at its end stands for any rest */
    nvmlReturn_t error; /* of a call of CUPTI or libcuda: its number + SIM_FOREIGN_ERROR */
    int64_t amount_ns;
    unsigned long long number;
    int64_t from_ns;
    int64_t until_ns;
    int board; /* -1: all */
} sim_fault;

typedef struct sim_faults {
    sim_fault items[SIM_FAULTS_MAX];
    int count;
} sim_faults;

/* `text` may be NULL. False: `why` says what is wrong. */
bool sim_faults_parse(sim_faults *faults, const char *text, char *why, size_t why_size);

/* The fault of this kind that holds at t_ns for this board (-1: a call without a board) and call; NULL: none.
 */
const sim_fault *sim_fault_find(const sim_faults *faults, sim_fault_kind kind, const char *call, int board,
                                int64_t t_ns);

#endif
