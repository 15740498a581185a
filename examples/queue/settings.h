/* SPDX-License-Identifier: MIT */
#ifndef QUEUE_SETTINGS_H
#define QUEUE_SETTINGS_H

#include <stdint.h>

struct settings {
    unsigned kind; /* as of settings_kind() */
    unsigned wait; /* enum waiting_strategy */
    int64_t capacity;
    int64_t batch;
    int64_t producers;
    int64_t consumers;
    int64_t make_steps;
    int64_t use_steps;
    int64_t seed;
    double seconds;
};

/* Ends the program with one line for anything it does not understand, and after --help. */
void settings_read(struct settings *settings, int argc, char **argv);

const struct queue_kind *settings_kind(const struct settings *settings);

#endif
