/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "attach/patches/trampoline.h"

#include <string.h>
#include <sys/mman.h>

#ifdef __x86_64__

/* Behind the code: what it is of. */
enum { CONSTANTS = 88, STACK_BIT = 23, LINE_BIT = 6, JUMP = 0xe9, TRAP = 0xcc, MARK = 0x6a787073 };

struct constants {
    uint32_t mark;
    uint8_t count, before[SPEX_MOVED_BYTES_MAX];
    uint64_t counters, address;
};
_Static_assert(sizeof(struct constants) == SPEX_TRAMPOLINE_BYTES - CONSTANTS, "no room");
_Static_assert(1 << LINE_BIT == SPEX_STUB_LINE, "a line of counters");

/* Flags are kept in %rax: lahf has all but the overflow, which is in %al. The 128 bytes below the stack pointer are left alone:
 * hand-written code may come here with something in them. */
static const uint8_t counting[] = {
    0x48, 0x8d, 0x64, 0x24,
    0x80,             /* lea -128(%rsp), %rsp */
    0x50,             /* push %rax */
    0x41, 0x53,       /* push %r11 */
    0x9f,             /* lahf */
    0x0f, 0x90, 0xc0, /* seto %al */
    0x80, 0x3d, 0,    0,
    0,    0,    0,                          /* cmpb $0, gate(%rip) */
    0x74, 26,                               /* je over */
    0x49, 0x89, 0xe3,                       /* mov %rsp, %r11 */
    0x49, 0xc1, 0xeb, STACK_BIT,            /* shr $STACK_BIT, %r11 */
    0x41, 0x83, 0xe3, SPEX_STUB_SHARDS - 1, /* and $…, %r11d */
    0x41, 0xc1, 0xe3, LINE_BIT,             /* shl $LINE_BIT, %r11d */
    0x4c, 0x03, 0x1d, 0,
    0,    0,    0,          /* add counters(%rip), %r11 */
    0xf0, 0x49, 0xff, 0x03, /* lock incq (%r11) */
    0x04, 0x7f,             /* over: add $0x7f, %al */
    0x9e,                   /* sahf */
    0x41, 0x5b,             /* pop %r11 */
    0x58,                   /* pop %rax */
    0x48, 0x8d, 0xa4, 0x24,
    0x80, 0,    0,    0, /* lea 128(%rsp), %rsp */
};
enum { GATE = 14, COUNTERS = 39 };
_Static_assert(sizeof(counting) + SPEX_MOVED_BYTES_MAX + SPEX_PATCH_BYTES <= CONSTANTS, "no room");

static bool put_near(uint8_t *bytes, uint64_t end, uint64_t target) {
    int64_t distance = (int64_t)(target - end);
    int32_t near = (int32_t)distance;
    memcpy(bytes, &near, sizeof(near));
    return near == distance;
}

bool spex_trampoline_write(uint64_t code, unsigned number, const struct spex_moved *moved,
                           uint8_t bytes[SPEX_TRAMPOLINE_BYTES]) {
    const size_t at = sizeof(counting), back = at + moved->bytes;
    uint64_t begin = spex_trampoline_at(code, number);
    struct constants constants = {.mark = MARK,
                                  .count = (uint8_t)moved->bytes,
                                  .counters = spex_trampoline_counters(code, number),
                                  .address = moved->address};
    memcpy(constants.before, moved->before, moved->bytes);
    memset(bytes, TRAP, SPEX_TRAMPOLINE_BYTES);
    memcpy(bytes, counting, sizeof(counting));
    put_near(bytes + GATE, begin + GATE + 5, spex_trampoline_gate(code, number));
    put_near(bytes + COUNTERS, begin + COUNTERS + 4,
             begin + CONSTANTS + offsetof(struct constants, counters));
    bytes[back] = JUMP;
    memcpy(bytes + CONSTANTS, &constants, sizeof(constants));
    return spex_patchable_move(moved->before, moved->bytes, moved->address, begin + at,
                               bytes + at) &&
           put_near(bytes + back + 1, begin + back + SPEX_PATCH_BYTES,
                    moved->address + moved->bytes);
}

bool spex_trampoline_read(uint64_t code, unsigned number,
                          const uint8_t bytes[SPEX_TRAMPOLINE_BYTES], struct spex_moved *moved) {
    uint8_t expected[SPEX_TRAMPOLINE_BYTES];
    struct constants constants;
    memcpy(&constants, bytes + CONSTANTS, sizeof(constants));
    if (constants.mark != MARK || constants.count < SPEX_PATCH_BYTES ||
        constants.count > SPEX_MOVED_BYTES_MAX)
        return false;
    *moved = (struct spex_moved){.address = constants.address, .bytes = constants.count};
    memcpy(moved->before, constants.before, constants.count);
    return spex_trampoline_write(code, number, moved, expected) &&
           memcmp(expected, bytes, sizeof(expected)) == 0;
}

/* A page that was made and not written yet has zeros. */
bool spex_trampoline_is_free(const uint8_t bytes[SPEX_TRAMPOLINE_BYTES]) {
    for (size_t b = 0; b < SPEX_TRAMPOLINE_BYTES; b++)
        if (bytes[b])
            return false;
    return true;
}

void spex_trampoline_jump(uint64_t from, uint64_t to, uint8_t bytes[SPEX_PATCH_BYTES]) {
    bytes[0] = JUMP;
    put_near(bytes + 1, from + SPEX_PATCH_BYTES, to);
}

/* The last page has both functions: nop of 5 bytes, or the jump in its place, and ret. */
static uint64_t fill_here(uint8_t *region) {
    static const uint8_t function[] = {0x0f, 0x1f, 0x44, 0, 0, 0xc3};
    enum { SECOND = 64 };
    uint64_t code = (uintptr_t)region, page = spex_trampoline_counters(code, 1), open = 1;
    uint8_t *plain = region + (page - code), *patched = plain + SECOND;
    struct spex_moved moved = {.address = page + SECOND, .bytes = SPEX_PATCH_BYTES};
    memcpy(moved.before, function, SPEX_PATCH_BYTES);
    memcpy(plain, function, sizeof(function));
    memcpy(patched, function, sizeof(function));
    memcpy(region + SPEX_STUB_PAGE, &open, sizeof(open));
    if (!spex_trampoline_write(code, 0, &moved, region))
        return 0;
    spex_trampoline_jump(page + SECOND, code, patched);
    return page;
}

bool spex_trampoline_here(void (**plain)(void), void (**patched)(void)) {
    const size_t bytes = 4 * (size_t)SPEX_STUB_PAGE;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    uint8_t *region = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (region == MAP_FAILED)
        return false;
    uint64_t page = fill_here(region);
    if (page && mprotect(region, SPEX_STUB_PAGE, PROT_READ | PROT_EXEC) == 0 &&
        mprotect(region + bytes - SPEX_STUB_PAGE, SPEX_STUB_PAGE, PROT_READ | PROT_EXEC) == 0) {
        *plain = (void (*)(void))(uintptr_t)page;          /* NOLINT(performance-no-int-to-ptr) */
        *patched = (void (*)(void))(uintptr_t)(page + 64); /* NOLINT(performance-no-int-to-ptr) */
        return true;
    }
    munmap(region, bytes);
    return false;
}

#else

bool spex_trampoline_write(uint64_t code, unsigned number, const struct spex_moved *moved,
                           uint8_t bytes[SPEX_TRAMPOLINE_BYTES]) {
    (void)code;
    (void)number;
    (void)moved;
    (void)bytes;
    return false;
}

bool spex_trampoline_read(uint64_t code, unsigned number,
                          const uint8_t bytes[SPEX_TRAMPOLINE_BYTES], struct spex_moved *moved) {
    (void)code;
    (void)number;
    (void)bytes;
    (void)moved;
    return false;
}

bool spex_trampoline_is_free(const uint8_t bytes[SPEX_TRAMPOLINE_BYTES]) {
    (void)bytes;
    return false;
}

void spex_trampoline_jump(uint64_t from, uint64_t to, uint8_t bytes[SPEX_PATCH_BYTES]) {
    (void)from;
    (void)to;
    memset(bytes, 0, SPEX_PATCH_BYTES);
}

bool spex_trampoline_here(void (**plain)(void), void (**patched)(void)) {
    (void)plain;
    (void)patched;
    return false;
}

#endif
