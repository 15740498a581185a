/* SPDX-License-Identifier: MIT */
#include "kernels/kernel_paths.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Writes the names from the outermost kernel to this context, backwards from the end of `path`,
 * since parents are found from the inside. A kernel without a name gets its number. NULL: the path
 * does not fit. */
static char *context_path(const struct spex_kernels_known *known, uint64_t context, char *path) {
    struct spex_context_node node;
    char *at = &path[SPEX_KERNEL_PATH_BYTES - 1];
    *at = '\0';
    while (context != SPEX_CONTEXT_ROOT && known->node(known->by, context, &node)) {
        const char *name = NULL, *parameters;
        char number[8];
        snprintf(number, sizeof(number), "%u", node.kernel);
        if (!known->site(known->by, node.kernel, &name, &parameters) || !name || !*name)
            name = number;
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

/* Splits "n, f(a, b)" in place into "n" and "f(a, b)"; a comma within brackets does not
 * separate. */
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

bool spex_kernel_record_sound(const struct spex_kernels_known *known,
                              const struct spex_record *record) {
    struct spex_context_node node;
    return record->field_count >= SPEX_KERNEL_VALUES && !(record->marks & SPEX_MARK_OPENING) &&
           known->node(known->by, record->fields[1], &node) && node.kernel == record->probe_id;
}

int spex_kernel_describe_context(const struct spex_kernels_known *known, uint64_t context,
                                 uint16_t kernel, struct spex_kernel_described *described,
                                 struct spex_error *error) {
    const char *name, *text = NULL;
    described->path = context_path(known, context, described->buffer);
    if (!described->path)
        return spex_fail(error, -E2BIG, "a calling context is longer than %d bytes",
                         SPEX_KERNEL_PATH_BYTES);
    if (!known->site(known->by, kernel, &name, &text))
        text = NULL;
    snprintf(described->text, sizeof(described->text), "%s", text ? text : "");
    described->count = names_split(described->text, described->names);
    return 0;
}

int spex_kernel_describe(const struct spex_kernels_known *known, const struct spex_record *record,
                         struct spex_kernel_described *described, struct spex_error *error) {
    size_t count = (size_t)record->field_count - SPEX_KERNEL_VALUES;
    int err =
        spex_kernel_describe_context(known, record->fields[1], record->probe_id, described, error);
    if (!err && count > 0 && described->count != count)
        err = spex_fail(error, -EINVAL, "%s: its parameters have no names", described->path);
    described->count = count;
    return err;
}

size_t spex_kernel_parameters(const struct spex_record *record, double values[SPEX_MAX_FIELDS]) {
    size_t count = 0;
    for (unsigned f = SPEX_KERNEL_VALUES; f < record->field_count; f++)
        values[count++] = (double)record->fields[f];
    return count;
}
