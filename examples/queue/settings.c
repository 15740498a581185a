/* SPDX-License-Identifier: MIT */
#include "settings.h"

#include <stddef.h>

#include "exchange.h"
#include "options.h"
#include "queue.h"
#include "waiting.h"

static const char summary[] = "usage: queue [OPTION]...\n"
                              "Producers and consumers of items, with a bounded queue between "
                              "them, until SIGTERM or SIGINT.\n"
                              "\n";

static const char *const kind_names[] = {"mutex", "spinlock", "wfcq", NULL};

const struct queue_kind *settings_kind(const struct settings *settings) {
    static const struct queue_kind *const kinds[] = {&queue_mutex, &queue_spinlock, &queue_wfcq};
    return kinds[settings->kind];
}

void settings_read(struct settings *settings, int argc, char **argv) {
    *settings = (struct settings){.wait = WAITING_BLOCK,
                                  .capacity = 256,
                                  .batch = 8,
                                  .producers = 1,
                                  .consumers = 1,
                                  .make_steps = 20,
                                  .use_steps = 60,
                                  .seed = 1};
    const struct option_row rows[] = {
        {"kind", OPTION_CHOICE, &settings->kind, "of the queue", 0, 0, kind_names},
        {"wait", OPTION_CHOICE, &settings->wait, "how threads wait for room and for items", 0, 0,
         waiting_names},
        {"capacity", OPTION_INTEGER, &settings->capacity, "items that it holds", 1, 1 << 20, NULL},
        {"batch", OPTION_INTEGER, &settings->batch, "items put and taken at a time, at most", 1,
         BATCH_MOST, NULL},
        {"producers", OPTION_INTEGER, &settings->producers, "threads", 1, 64, NULL},
        {"consumers", OPTION_INTEGER, &settings->consumers, "threads", 1, 64, NULL},
        {"make", OPTION_INTEGER, &settings->make_steps, "steps of work on an item before the queue",
         0, 1000000, NULL},
        {"work", OPTION_INTEGER, &settings->use_steps, "steps of work on an item behind the queue",
         0, 1000000, NULL},
        {"seed", OPTION_INTEGER, &settings->seed, "of the items", 0, INT64_MAX, NULL},
        {"seconds", OPTION_SECONDS, &settings->seconds, "to run; 0: until a signal", 0, 0, NULL},
    };
    options_read(summary, rows, sizeof(rows) / sizeof(*rows), argc, argv);
}
