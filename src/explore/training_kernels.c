/* SPDX-License-Identifier: MIT */
#include "training_kernels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <spex/kernel.h>

/* Of a path as text. */
enum { PATH_BYTES = 4096 };

struct spex_training_kernels {
    struct spex_training *training;
    const struct spex_receiver *receiver;
    const struct spex_run_parameters *run;
    double ticks_per_second;
    struct spex_trained *by_context[SPEX_CONTEXTS_MAX + 1]; /* NULL: not looked for yet */
};

struct spex_training_kernels *spex_training_kernels_new(struct spex_training *training,
                                                        const struct spex_receiver *receiver,
                                                        const struct spex_run_parameters *run,
                                                        double ticks_per_second) {
    struct spex_training_kernels *kernels = calloc(1, sizeof(*kernels));
    if (!kernels)
        return NULL;
    kernels->training = training;
    kernels->receiver = receiver;
    kernels->run = run;
    kernels->ticks_per_second = ticks_per_second;
    return kernels;
}

void spex_training_kernels_free(struct spex_training_kernels *kernels) {
    free(kernels);
}

static const struct spex_stream_site *site_of(const struct spex_training_kernels *kernels,
                                              uint16_t kernel) {
    size_t count;
    const struct spex_stream_site *sites = spex_receiver_sites(kernels->receiver, &count);
    for (size_t s = 0; s < count; s++)
        if (sites[s].probe_id == kernel && sites[s].probe_type == SPEX_KERNEL)
            return &sites[s];
    return NULL;
}

/* Writes the names from the root to this context, backwards from the end of `path`. NULL: it does not fit. */
static char *path_of(const struct spex_training_kernels *kernels, uint64_t context, char *path) {
    struct spex_context_node node;
    char *at = &path[PATH_BYTES - 1];
    *at = '\0';
    while (context != SPEX_CONTEXT_ROOT &&
           spex_receiver_context(kernels->receiver, context, &node)) {
        const struct spex_stream_site *site = site_of(kernels, node.kernel);
        char number[8];
        snprintf(number, sizeof(number), "%u", node.kernel);
        const char *name = site && site->name[0] ? site->name : number;
        size_t length = strlen(name);
        if (length + 1 > (size_t)(at - path))
            return NULL;
        if (*at)
            *--at = '/';
        at = memcpy(at - length, name, length);
        context = node.parent;
    }
    return at;
}

/* "n, f(a, b)" into its parts, in place: commas between brackets part nothing. */
static size_t names_split(char *text, const char **names) {
    size_t count = 0;
    int depth = 0;
    for (char *begin = text; *begin && count < SPEX_KERNEL_PARAMETERS;) {
        char *end = begin;
        for (; *end && (*end != ',' || depth > 0); end++)
            depth += (strchr("([{", *end) != NULL) - (strchr(")]}", *end) != NULL);
        names[count++] = begin;
        begin = *end ? end + 1 + strspn(end + 1, " ") : end;
        *end = '\0';
    }
    return count;
}

static int kernel_find(const struct spex_training_kernels *kernels,
                       const struct spex_record *record, struct spex_trained **kernel,
                       struct spex_why *why) {
    const struct spex_stream_site *site = site_of(kernels, record->probe_id);
    const char *own[SPEX_KERNEL_PARAMETERS], *const *names = kernels->run->names;
    char path[PATH_BYTES], text[SPEX_STREAM_TEXT_BYTES] = "";
    size_t count = (size_t)record->field_count - SPEX_KERNEL_VALUES;
    const char *from = path_of(kernels, record->fields[1], path);
    if (!from)
        return spex_fail(why, -E2BIG, "a calling context is longer than %d bytes", PATH_BYTES);
    if (site)
        memcpy(text, site->parameters, sizeof(text));
    if (count > 0 && names_split(text, own) != count)
        return spex_fail(why, -EINVAL, "%s: its parameters have no names", from);
    if (count > 0)
        names = own;
    else
        count = kernels->run->count;
    int err = spex_training_kernel(kernels->training, from, names, count, kernel);
    if (err == -EINVAL)
        spex_why_set(why, "%s has other parameters here than elsewhere: two of its kind", from);
    else if (err)
        spex_why_set(why, "%s", err == -E2BIG ? "there are too many kernels" : "out of memory");
    return err;
}

/* False: its context is that of the kernel around it, since there was no room for its own. */
static bool in_its_context(const struct spex_training_kernels *kernels,
                           const struct spex_record *record) {
    struct spex_context_node node;
    return spex_receiver_context(kernels->receiver, record->fields[1], &node) &&
           node.kernel == record->probe_id;
}

static int take(struct spex_training_kernels *kernels, const struct spex_record *record,
                struct spex_why *why) {
    struct spex_trained **kernel = &kernels->by_context[record->fields[1]];
    double values[SPEX_MODEL_PARAMETERS_MAX];
    const double *parameters = kernels->run->values;
    int err = *kernel ? 0 : kernel_find(kernels, record, kernel, why);
    if (err)
        return err;
    if (record->field_count > SPEX_KERNEL_VALUES) {
        for (unsigned f = SPEX_KERNEL_VALUES; f < record->field_count; f++)
            values[f - SPEX_KERNEL_VALUES] = (double)record->fields[f];
        parameters = values;
    }
    double seconds = (double)record->fields[0] / kernels->ticks_per_second;
    err = spex_trained_add(kernels->training, *kernel, parameters, seconds, record->weight);
    return err ? spex_fail(why, err, "out of memory") : 0;
}

int spex_training_kernels_take(struct spex_training_kernels *kernels,
                               const struct spex_record *records, size_t count, uint64_t *used,
                               uint64_t *left_out, struct spex_why *why) {
    int err = 0;
    for (size_t r = 0; r < count && !err; r++) {
        const struct spex_record *record = &records[r];
        if (record->probe_type != SPEX_KERNEL)
            continue;
        bool sound = record->field_count >= SPEX_KERNEL_VALUES &&
                     !(record->marks & SPEX_MARK_OPENING) && in_its_context(kernels, record);
        *left_out += !sound;
        *used += sound;
        if (sound)
            err = take(kernels, record, why);
    }
    return err;
}
