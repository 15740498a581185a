/* SPDX-License-Identifier: MIT */
/* Breakpoints are placed by what stands in the file, so that the process's memory must have the same: a program may
 * have patched its code. */
#include "attach/finding.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/code/decode.h"
#include "text/printable.h"

int spex_finding_out_of_memory(const struct spex_finding *finding) {
    return spex_fail(finding->error, -ENOMEM, "out of memory");
}

struct spex_process_function *spex_finding_append(struct spex_finding *finding, const char *name,
                                                  uint64_t address) {
    struct spex_process_functions *all = finding->functions;
    const char *slash = strrchr(finding->path, '/');
    if (all->count == SPEX_FUNCTIONS_MAX) {
        all->left_out++;
        return NULL;
    }
    struct spex_process_function *grown = realloc(all->items, (all->count + 1) * sizeof(*grown));
    if (grown)
        all->items = grown;
    struct spex_process_function made = {.name = strdup(name),
                                         .object = strdup(slash ? slash + 1 : finding->path),
                                         .address = address,
                                         .fd = finding->fd,
                                         .to_offset =
                                             finding->object.offset - finding->object.code.address};
    if (!grown || !made.name || !made.object) {
        free(made.name);
        free(made.object);
        finding->err = spex_finding_out_of_memory(finding);
        return NULL;
    }
    spex_make_printable(made.object);
    all->items[all->count] = made;
    return &all->items[all->count++];
}

void spex_finding_refuse(struct spex_process_function *function, const char *why) {
    snprintf(function->refused, sizeof(function->refused), "%s", why);
}

/* A breakpoint may stand in front of it, which is another tool's like this one, or a debugger's. */
bool spex_finding_is_unchanged(const struct spex_finding *finding, uint64_t address) {
    uint8_t there[16];
    struct spex_instruction instruction;
    size_t most, got;
    const uint8_t *expected = spex_object_functions_bytes(&finding->object, address, &most);
    if (spex_decode(expected, most, address, &instruction))
        most = instruction.bytes;
    most = most < sizeof(there) ? most : sizeof(there);
    got = spex_program_read(finding->program, address + finding->to_address, there, most);
    if (got != most)
        return false;
#ifdef __x86_64__
    if (got && there[0] == 0xcc && !finding->traced)
        there[0] = expected[0];
#endif
    return memcmp(there, expected, most) == 0;
}
