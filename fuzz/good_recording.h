/* A small whole recording with a row in every table: what the fuzz target then breaks. */
#ifndef FUZZ_GOOD_RECORDING_H
#define FUZZ_GOOD_RECORDING_H

/* Write it; stops the program if that fails. */
void fuzz_good_recording_write(const char *path);

#endif
