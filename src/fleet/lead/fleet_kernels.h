/* SPDX-License-Identifier: MIT */
/* What the instances of a fleet have told of their kernels: a training for each class of machines,
 * since times of different machines, or builds of the program, have no model in common. */
#ifndef SPEX_FLEET_LEAD_FLEET_KERNELS_H
#define SPEX_FLEET_LEAD_FLEET_KERNELS_H

#include "fleet/lead/kernel_message.h"

/* Classes, and kernels of all of them by calling contexts: each takes up to 0.9 MB. */
enum { SPEX_FLEET_CLASSES_MAX = 16, SPEX_FLEET_KERNELS_MAX = 256 };

/* A class that was silent for so long gives its place to another one. */
#define SPEX_FLEET_CLASS_SECONDS 600.0

struct spex_fleet_class {
    char name[SPEX_CLASS_BYTES];
    /* One of its machines. */
    struct spex_circumstances machine;
    struct spex_training *training;
    /* Each message is a run of its own. */
    uint32_t runs;
    size_t kernel_count;
    uint64_t rows;
    double heard;
    /* Since its kernels were kept last. */
    bool changed;
};

struct spex_fleet_kernels {
    struct spex_fleet_class classes[SPEX_FLEET_CLASSES_MAX];
    size_t class_count, kernel_count;
    /* Messages and rows that were taken; rows for which there was no room, and rows of a kernel that
     * has other parameters elsewhere; records that the programs have lost. */
    uint64_t messages, rows, no_room, differing, lost;
};

void spex_fleet_kernels_free(struct spex_fleet_kernels *kernels);

/* Takes a message at the time `now`. `kept`: it is of an earlier master's history, and its rows are
 * of the runs that they say. 0 or -ENOMEM. */
int spex_fleet_kernels_take(struct spex_fleet_kernels *kernels, struct spex_kernel_message *message,
                            bool kept, double now);

/* NULL: there is no such class. */
const struct spex_fleet_class *spex_fleet_class_find(const struct spex_fleet_kernels *kernels,
                                                     const char *name);

/* The message of the class's first kernel whose path is behind `after` (NULL: of the first one), as
 * an object; JSON null: there is none. NULL: no memory. */
json_t *spex_fleet_class_kernel_json(const struct spex_fleet_class *class, const char *after);

/* Classes and counts as an object; NULL: no memory. */
json_t *spex_fleet_kernels_json(const struct spex_fleet_kernels *kernels);

#endif
