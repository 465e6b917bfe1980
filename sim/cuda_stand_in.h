/* What the files of the stand-in for libcuda know of each other: its boards, and whether a call fails. */
#ifndef SIM_CUDA_STAND_IN_H
#define SIM_CUDA_STAND_IN_H

#include "profile.h"

/* SIM_CUDA_SUCCESS, NOT_INITIALIZED before cuInit, or the error that a fault wants of this call. */
int sim_cuda_check(const char *call);

/* A board; NULL: there is none of that number. After cuInit. */
const sim_profile *sim_cuda_board(int device);

#endif
