/* SPDX-License-Identifier: MIT */
/* What the programs of a host execute of kernels, as the agent tells a sample of it to a master.
 * One program at a time has a turn, in which the agent receives its kernels' records; so what it
 * costs does not grow with the programs, and is bounded for each. */
#ifndef SPEX_TOOLS_AGENT_LED_KERNELS_H
#define SPEX_TOOLS_AGENT_LED_KERNELS_H

#include "explore/store/circumstances.h"
#include "explore/training_kernels.h"
#include "observe/worker_feed.h"
#include "tools/agent/led.h"

struct spex_led_kernels {
    /* Whose turn it is; 0: nobody's. After it comes the next greater number. */
    pid_t process;
    uint64_t loaded_ns;
    pid_t last;
    /* Of the program that has the turn. */
    struct spex_circumstances machine;
    struct spex_receiver *receiver;
    struct spex_training *training;
    struct spex_training_kernels *kernels;
    struct spex_run_parameters none;
    /* When the turn began, and when another one may: seconds of CLOCK_MONOTONIC. */
    double began, next;
    uint64_t records, left_out;
    /* Records that the program had lost before; it is `told` with the first sites. */
    uint64_t lost_before;
    bool told;
};

/* Goes on with the turn, ends it, or begins another one. Waits for nobody. 0 or -ENOMEM. */
int spex_led_kernels_step(struct spex_led_kernels *kernels, struct spex_led *led,
                          struct spex_hosted *hosted, size_t count,
                          const struct spex_worker_feed *feed);

/* Whether it is somebody's turn, so that there is to be read. */
bool spex_led_kernels_busy(const struct spex_led_kernels *kernels);
void spex_led_kernels_close(struct spex_led_kernels *kernels);

#endif
