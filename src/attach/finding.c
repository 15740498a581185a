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

/* Whether a jump that the file does not have begins before an instruction: within it bytes may be the file's by chance. */
static bool is_patched(const uint8_t *there, const uint8_t *expected, size_t before) {
    for (size_t b = 0; b < before; b++)
        if (there[b] == 0xe9 && memcmp(there + b, expected + b, before - b) != 0)
            return true;
    return false;
}

/* Breakpoints may stand there, which are another tool's like this one, or a debugger's. */
bool spex_finding_is_unchanged(const struct spex_finding *finding, uint64_t address) {
    enum { INSTRUCTION = 16 };
    uint8_t there[INSTRUCTION + SPEX_MOVED_BYTES_MAX];
    struct spex_instruction instruction;
    size_t most, before = address - finding->object.code.address;
    const uint8_t *expected = spex_object_functions_bytes(&finding->object, address, &most);
    if (spex_decode(expected, most, address, &instruction))
        most = instruction.bytes;
    before = before < SPEX_MOVED_BYTES_MAX ? before : SPEX_MOVED_BYTES_MAX;
    most = before + (most < INSTRUCTION ? most : INSTRUCTION);
    expected -= before;
    if (spex_program_read(finding->program, address - before + finding->to_address, there, most) !=
        most)
        return false;
#ifdef __x86_64__
    for (size_t b = 0; b < most; b++)
        if (there[b] == 0xcc && !finding->traced)
            there[b] = expected[b];
#endif
    return memcmp(there + before, expected + before, most - before) == 0 &&
           !is_patched(there, expected, before);
}
