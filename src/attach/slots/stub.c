/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "attach/slots/stub.h"

#include <string.h>
#include <sys/mman.h>

/* Addresses of programs: above what the kernel keeps free, and below its own. */
static const uint64_t address_least = 1 << 16, address_most = UINT64_C(1) << 47;

uint64_t spex_stub_address(uint64_t function, unsigned number) {
    uint64_t changed = function ^ (uint64_t)(uint8_t)number << (8 * SPEX_STUB_BYTE);
    uint64_t code = spex_stub_code(changed);
    return number && code >= address_least && code < address_most - SPEX_STUB_REGION ? changed : 0;
}

#ifdef __x86_64__

/* The entry stands where the function does in its page, and jumps to the rest, which may clobber the flags and %r11, as calls
 * may. A stack of 8 MiB, as threads have them, is told apart from the next one by this bit. */
enum {
    ENTRY_BYTES = 9,
    BODY_LOW = 1024,
    BODY_HIGH = 3072,
    CONSTANTS = 64,
    STACK_BIT = 23,
    LINE_BIT = 6
};
_Static_assert(1 << LINE_BIT == SPEX_STUB_LINE, "a line of counters");

static const uint8_t magic[8] = {'s', 'p', 'e', 'x', 's', 'l', 'o', 't'};

struct constants {
    uint8_t magic[8];
    uint64_t function, counters;
};

static size_t body_of(uint64_t stub) {
    return stub % SPEX_STUB_PAGE < SPEX_STUB_PAGE / 2 ? BODY_HIGH : BODY_LOW;
}

bool spex_stub_is_possible(uint64_t function) {
    return function % SPEX_STUB_PAGE + ENTRY_BYTES <= SPEX_STUB_PAGE;
}

/* Puts a displacement to `target` at `at`, for an instruction with `more` bytes behind it. */
static void put_near(uint8_t *page, size_t at, size_t target, size_t more) {
    int32_t displacement = (int32_t)(target - (at + 4 + more));
    memcpy(page + at, &displacement, sizeof(displacement));
}

static void write_body(uint8_t *page, size_t body) {
    static const uint8_t code[] = {
        0x48, 0x83, 0x3d, 0,
        0,    0,    0,    0,                    /* cmpq $0, gate(%rip) */
        0x74, 26,                               /* je out */
        0x49, 0x89, 0xe3,                       /* mov %rsp, %r11 */
        0x49, 0xc1, 0xeb, STACK_BIT,            /* shr $STACK_BIT, %r11 */
        0x41, 0x83, 0xe3, SPEX_STUB_SHARDS - 1, /* and $…, %r11d */
        0x41, 0xc1, 0xe3, LINE_BIT,             /* shl $LINE_BIT, %r11d */
        0x4c, 0x03, 0x1d, 0,
        0,    0,    0,          /* add counters(%rip), %r11 */
        0xf0, 0x49, 0xff, 0x03, /* lock incq (%r11) */
        0xff, 0x25, 0,    0,
        0,    0, /* out: jmp *function(%rip) */
    };
    size_t constants = body + CONSTANTS;
    memcpy(page + body, code, sizeof(code));
    put_near(page, body + 3, SPEX_STUB_PAGE, 1);
    put_near(page, body + 28, constants + offsetof(struct constants, counters), 0);
    put_near(page, body + 38, constants + offsetof(struct constants, function), 0);
}

void spex_stub_write(uint64_t stub, uint64_t function, uint8_t page[SPEX_STUB_PAGE]) {
    static const uint8_t entry[ENTRY_BYTES] = {0xf3, 0x0f, 0x1e, 0xfa, 0xe9}; /* endbr64; jmp */
    size_t at = stub % SPEX_STUB_PAGE, body = body_of(stub);
    struct constants constants = {.function = function, .counters = spex_stub_counters(stub)};
    memcpy(constants.magic, magic, sizeof(magic));
    memset(page, 0xcc, SPEX_STUB_PAGE);
    memcpy(page + at, entry, sizeof(entry));
    put_near(page, at + ENTRY_BYTES - 4, body, 0);
    write_body(page, body);
    memcpy(page + body + CONSTANTS, &constants, sizeof(constants));
}

size_t spex_stub_place(const uint8_t page[SPEX_STUB_PAGE]) {
    static const size_t bodies[] = {BODY_LOW, BODY_HIGH};
    struct constants constants;
    for (unsigned b = 0; b < 2; b++) {
        memcpy(&constants, page + bodies[b] + CONSTANTS, sizeof(constants));
        if (memcmp(constants.magic, magic, sizeof(magic)) == 0)
            return constants.function % SPEX_STUB_PAGE;
    }
    return 0;
}

uint64_t spex_stub_function(uint64_t stub, const uint8_t page[SPEX_STUB_PAGE]) {
    uint8_t expected[SPEX_STUB_PAGE];
    struct constants constants;
    if (!spex_stub_is_possible(stub))
        return 0;
    memcpy(&constants, page + body_of(stub) + CONSTANTS, sizeof(constants));
    spex_stub_write(stub, constants.function, expected);
    return memcmp(expected, page, SPEX_STUB_PAGE) == 0 ? constants.function : 0;
}

#else

size_t spex_stub_place(const uint8_t page[SPEX_STUB_PAGE]) {
    (void)page;
    return 0;
}

bool spex_stub_is_possible(uint64_t function) {
    (void)function;
    return false;
}

void spex_stub_write(uint64_t stub, uint64_t function, uint8_t page[SPEX_STUB_PAGE]) {
    (void)stub;
    (void)function;
    memset(page, 0, SPEX_STUB_PAGE);
}

uint64_t spex_stub_function(uint64_t stub, const uint8_t page[SPEX_STUB_PAGE]) {
    (void)stub;
    (void)page;
    return 0;
}

#endif

void (*spex_stub_here(void (*function)(void)))(void) {
    uint64_t address = (uintptr_t)function, open = 1;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    for (unsigned n = 1; n <= UINT8_MAX && spex_stub_is_possible(address); n++) {
        uint64_t stub = spex_stub_address(address, n), code = spex_stub_code(stub);
        if (!stub)
            continue;
        void *wanted = (void *)(uintptr_t)code; /* NOLINT(performance-no-int-to-ptr) */
        uint8_t *there = mmap(wanted, SPEX_STUB_REGION, PROT_READ | PROT_WRITE, flags, -1, 0);
        if (there == MAP_FAILED)
            continue;
        if (there == wanted) {
            spex_stub_write(stub, address, there);
            memcpy(there + SPEX_STUB_PAGE, &open, sizeof(open));
            if (mprotect(there, SPEX_STUB_PAGE, PROT_READ | PROT_EXEC) == 0)
                return (void (*)(void))(uintptr_t)stub; /* NOLINT(performance-no-int-to-ptr) */
        }
        munmap(there, SPEX_STUB_REGION);
    }
    return NULL;
}

uint64_t spex_stub_calls(const void *counters) {
    uint64_t sum = 0;
    for (size_t s = 0; s < SPEX_STUB_SHARDS; s++)
        sum +=
            __atomic_load_n((const uint64_t *)((const char *)counters + s * (size_t)SPEX_STUB_LINE),
                            __ATOMIC_RELAXED);
    return sum;
}
