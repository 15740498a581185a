/* SPDX-License-Identifier: MIT */
/* Runs a program in the foreground with its kernels sampled, and receives their records. */
#ifndef SPEX_TOOLS_MODELS_SAMPLE_PROGRAM_H
#define SPEX_TOOLS_MODELS_SAMPLE_PROGRAM_H

#include <stdbool.h>

#include "base/private_directory.h"
#include "explore/trial/receiver.h"
#include "observe/launch.h"
#include "observe/passed_signals.h"

struct spex_sample_program {
    /* Empty until it is made. */
    char directory[SPEX_PRIVATE_DIRECTORY_BYTES];
    char socket[SPEX_PRIVATE_DIRECTORY_BYTES + 16];
    struct spex_receiver *receiver;
    struct spex_passed_signals signals;
    struct spex_launched program;
};

/* Starts the program with additional environment variables, which end with one without a name.
 * SPEX_EXIT_OK, or another status after a message. Call spex_sample_program_close in either
 * case. */
int spex_sample_program_start(struct spex_sample_program *run, char *const *argv,
                              const struct spex_launch_variable *variables);

/* Waits for the end of the program or, if `wanted`, for records. True: the program has ended. */
bool spex_sample_program_wait(struct spex_sample_program *run, bool wanted);

void spex_sample_program_close(struct spex_sample_program *run);

#endif
