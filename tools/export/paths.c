/* SPDX-License-Identifier: MIT */
#include "tools/export/paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernel_paths.h"

int spex_paths_make(struct spex_paths *paths, const struct spex_recording *trace) {
    *paths = (struct spex_paths){.trace = trace};
    paths->of = calloc(trace->process_count + 1, sizeof(*paths->of));
    for (size_t p = 0; paths->of && p < trace->process_count; p++)
        if (!(paths->of[p] = calloc(SPEX_CONTEXTS_MAX + 1, sizeof(*paths->of[p]))))
            return -ENOMEM;
    return paths->of ? 0 : -ENOMEM;
}

void spex_paths_free(struct spex_paths *paths) {
    for (size_t p = 0; paths->of && p < paths->trace->process_count; p++) {
        for (size_t c = 0; paths->of[p] && c <= SPEX_CONTEXTS_MAX; c++)
            free(paths->of[p][c]);
        free(paths->of[p]);
    }
    free(paths->of);
}

static char *path_find(const struct spex_recording_process *process, uint64_t context,
                       uint16_t kernel) {
    struct spex_kernels_known known = spex_recording_kernels(process);
    struct spex_kernel_described *described = malloc(sizeof(*described));
    struct spex_error ignored;
    if (!described)
        return NULL;
    int err = spex_kernel_describe_context(&known, context, kernel, described, &ignored);
    char *path = strdup(err ? "" : described->path);
    free(described);
    return path;
}

const char *spex_path_of(struct spex_paths *paths, size_t process, uint64_t context,
                         uint16_t kernel) {
    if (context > SPEX_CONTEXTS_MAX)
        return "";
    char **path = &paths->of[process][context];
    if (!*path)
        *path = path_find(&paths->trace->processes[process], context, kernel);
    return *path;
}
