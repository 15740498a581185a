/* SPDX-License-Identifier: MIT */
/* A program that is run in front of its user, with its kernels sampled and their records streamed here. */
#ifndef SPEX_SAMPLE_PROGRAM_H
#define SPEX_SAMPLE_PROGRAM_H

#include <stdbool.h>

#include "explore/private_directory.h"
#include "launch.h"
#include "passed_signals.h"
#include "receiver.h"

struct spex_sample_program {
    char directory[SPEX_PRIVATE_DIRECTORY_BYTES]; /* empty: it has not been made */
    char socket[SPEX_PRIVATE_DIRECTORY_BYTES + 16];
    struct spex_receiver *receiver;
    struct spex_passed_signals signals;
    struct spex_launched program;
};

/* Launches it with these variables besides; they end with one without a name. An exit status; to be closed in any case. */
int spex_sample_program_start(struct spex_sample_program *run, char *const *argv,
                              const struct spex_launch_variable *variables);

/* Waits until there is something to be taken, if it is wanted, or the program has ended. True: it has. */
bool spex_sample_program_wait(struct spex_sample_program *run, bool wanted);

void spex_sample_program_close(struct spex_sample_program *run);

#endif
