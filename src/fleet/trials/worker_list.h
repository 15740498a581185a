/* SPDX-License-Identifier: MIT */
/* The workers that a master has heard of, by classes of machines. */
#ifndef SPEX_FLEET_TRIALS_WORKER_LIST_H
#define SPEX_FLEET_TRIALS_WORKER_LIST_H

#include "fleet/trials/trial_message.h"

enum { SPEX_WORKERS_MAX = 4096 };

struct spex_known_worker {
    struct spex_trial_worker worker;
    char class[SPEX_CLASS_BYTES];
    /* When it was heard of last, in seconds. */
    double heard;
    /* The user was told that it is of another class. */
    bool told;
};

struct spex_worker_list {
    struct spex_known_worker *items;
    size_t count;
};

/* Takes over the worker; of more than there is room for, it forgets. 0 or -ENOMEM. */
int spex_worker_list_hear(struct spex_worker_list *list, struct spex_trial_worker *worker,
                          double now);

/* Forgets those that were not heard of since. */
void spex_worker_list_forget(struct spex_worker_list *list, double since);
void spex_worker_list_free(struct spex_worker_list *list);

/* Those of a class. */
size_t spex_worker_list_count(const struct spex_worker_list *list, const char *class);

/* The first of the class; NULL: there is none. */
const struct spex_known_worker *spex_worker_list_first(const struct spex_worker_list *list,
                                                       const char *class);

/* "0123456789abcdef: kernel 6.1, cpu …; hosts a, b". */
void spex_worker_list_class_text(const struct spex_worker_list *list, const char *class, char *text,
                                 size_t size);

#endif
