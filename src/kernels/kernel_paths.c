/* SPDX-License-Identifier: MIT */
#include "kernels/kernel_paths.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ring/field_value.h"

/* Puts a text in front of `*at`, which does not go below `begin`. False: it does not fit. */
static bool put_before(char **at, const char *begin, const char *text) {
    size_t length = strlen(text);
    if (length > (size_t)(*at - begin))
        return false;
    *at = memcpy(*at - length, text, length);
    return true;
}

/* The same for what a kernel is called; without a name that is its id. */
static bool put_kernel_before(char **at, const char *begin, const struct spex_kernel_site *site) {
    char number[12];
    snprintf(number, sizeof(number), "%d", (int)site->id);
    if (!put_before(at, begin, site->name && *site->name ? site->name : number))
        return false;
    return !site->provider || (put_before(at, begin, ":") && put_before(at, begin, site->provider));
}

/* Writes the names from the outermost kernel to this context, backwards from the end of `path`,
 * since parents are found from the inside. NULL: the path does not fit. */
static char *context_path(const struct spex_kernels_known *known, uint64_t context, char *path) {
    struct spex_context_node node;
    char *at = &path[SPEX_KERNEL_PATH_BYTES - 1];
    *at = '\0';
    while (context != SPEX_CONTEXT_ROOT && known->node(known->by, context, &node)) {
        struct spex_kernel_site site;
        if (!known->site(known->by, node.kernel, &site))
            site = (struct spex_kernel_site){.id = node.kernel};
        if ((*at && !put_before(&at, path, "/")) || !put_kernel_before(&at, path, &site))
            return NULL;
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
    struct spex_kernel_site site;
    described->path = context_path(known, context, described->buffer);
    if (!described->path)
        return spex_fail(error, -E2BIG, "a calling context is longer than %d bytes",
                         SPEX_KERNEL_PATH_BYTES);
    bool is = known->site(known->by, kernel, &site) && site.parameters;
    snprintf(described->text, sizeof(described->text), "%s", is ? site.parameters : "");
    described->count = names_split(described->text, described->names);
    described->kinds = is ? site.kinds : 0;
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
        values[count++] = spex_field_number(record, f);
    return count;
}
