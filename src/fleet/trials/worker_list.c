/* SPDX-License-Identifier: MIT */
#include "fleet/trials/worker_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct spex_known_worker *find(struct spex_worker_list *list, uint64_t id) {
    for (size_t w = 0; w < list->count; w++)
        if (list->items[w].worker.id == id)
            return &list->items[w];
    return NULL;
}

/* One that has changed its class since, as with another build of the program, is told of again. */
static void note(struct spex_known_worker *known, struct spex_trial_worker *worker, double now) {
    char class[SPEX_CLASS_BYTES];
    spex_circumstances_class(&worker->machine, class);
    if (strcmp(class, known->class) != 0)
        known->told = false;
    spex_circumstances_free(&known->worker.machine);
    known->worker = *worker;
    known->heard = now;
    memcpy(known->class, class, sizeof(class));
    worker->machine = (struct spex_circumstances){{NULL}};
}

int spex_worker_list_hear(struct spex_worker_list *list, struct spex_trial_worker *worker,
                          double now) {
    struct spex_known_worker *known = find(list, worker->id);
    if (!known && list->count < SPEX_WORKERS_MAX) {
        struct spex_known_worker *items =
            realloc(list->items, (list->count + 1) * sizeof(*list->items));
        if (!items)
            return -ENOMEM;
        list->items = items;
        known = &items[list->count++];
        *known = (struct spex_known_worker){.heard = now};
    }
    if (known)
        note(known, worker, now);
    return 0;
}

void spex_worker_list_forget(struct spex_worker_list *list, double since) {
    for (size_t w = list->count; w-- > 0;) {
        if (list->items[w].heard >= since)
            continue;
        spex_circumstances_free(&list->items[w].worker.machine);
        list->items[w] = list->items[--list->count];
    }
}

void spex_worker_list_free(struct spex_worker_list *list) {
    for (size_t w = 0; w < list->count; w++)
        spex_circumstances_free(&list->items[w].worker.machine);
    free(list->items);
    *list = (struct spex_worker_list){.items = NULL};
}

size_t spex_worker_list_count(const struct spex_worker_list *list, const char *class) {
    size_t count = 0;
    for (size_t w = 0; w < list->count; w++)
        count += strcmp(list->items[w].class, class) == 0;
    return count;
}

const struct spex_known_worker *spex_worker_list_first(const struct spex_worker_list *list,
                                                       const char *class) {
    for (size_t w = 0; w < list->count; w++)
        if (strcmp(list->items[w].class, class) == 0)
            return &list->items[w];
    return NULL;
}

void spex_worker_list_class_text(const struct spex_worker_list *list, const char *class, char *text,
                                 size_t size) {
    const struct spex_known_worker *first = spex_worker_list_first(list, class);
    size_t length = (size_t)snprintf(text, size, "class %s:", class);
    for (size_t c = SPEX_ON_KERNEL; first && c < SPEX_ON_COUNT && length < size; c++)
        length += (size_t)snprintf(text + length, size - length, "%s %s %s",
                                   c == SPEX_ON_KERNEL ? "" : ",", spex_circumstance_names[c],
                                   first->worker.machine.texts[c]);
    const char *between = first ? "; hosts" : " no host";
    for (size_t w = 0; w < list->count && length < size; w++) {
        const struct spex_known_worker *known = &list->items[w];
        if (strcmp(known->class, class) != 0)
            continue;
        length += (size_t)snprintf(text + length, size - length, "%s %s", between,
                                   known->worker.machine.texts[SPEX_ON_HOST]);
        between = ",";
    }
}
