/* SPDX-License-Identifier: MIT */
#include "budget_workload.h"

#include <dlfcn.h>
#include <string.h>

enum { OBJECTS_MAX = 8 };

static const struct budget_workload *const built_in[] = {
    &budget_sqlite, &budget_hash,   &budget_json,    &budget_bursts,
    &budget_sites,  &budget_misses, &budget_threads, &budget_crowded,
};

enum { BUILT_IN = sizeof(built_in) / sizeof(built_in[0]) };

static const struct budget_workload *objects[OBJECTS_MAX + 1];
static size_t objects_count;

const struct budget_workload *budget_workload_at(size_t number) {
    return number < BUILT_IN ? built_in[number] : objects[number - BUILT_IN];
}

const struct budget_workload *budget_workload_find(const char *name) {
    const struct budget_workload *workload;
    for (size_t w = 0; (workload = budget_workload_at(w)); w++)
        if (strcmp(workload->name, name) == 0)
            return workload;
    return NULL;
}

const char *budget_workload_load(const char *path) {
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object)
        return dlerror();
    const struct budget_workload *workload = dlsym(object, "budget_object");
    if (!workload)
        return "it has no workload";
    if (objects_count == OBJECTS_MAX)
        return "there are too many";
    objects[objects_count++] = workload;
    return NULL;
}
