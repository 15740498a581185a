/* SPDX-License-Identifier: MIT */
/* Code that counts a call and goes on to the function, in pages of the program: a stub. Its address differs from that of the
 * function in one byte, so that a slot is switched by a store of one byte, which is never seen half done.
 *
 * A region has three pages: the code, a gate, which is 0 in children of forks, and counters, which the command shares. */
#ifndef SPEX_ATTACH_SLOTS_STUB_H
#define SPEX_ATTACH_SLOTS_STUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Threads count in lines of their own, as their stacks tell, so that they seldom wait for each other's. */
enum {
    SPEX_STUB_PAGE = 4096,
    SPEX_STUB_REGION = 3 * SPEX_STUB_PAGE,
    SPEX_STUB_SHARDS = 64,
    SPEX_STUB_LINE = SPEX_STUB_PAGE / SPEX_STUB_SHARDS,
    /* The byte of an address that differs. */
    SPEX_STUB_BYTE = 4
};

/* The pages of a region. */
static inline uint64_t spex_stub_code(uint64_t stub) {
    return stub & ~(uint64_t)(SPEX_STUB_PAGE - 1);
}

static inline uint64_t spex_stub_gate(uint64_t stub) {
    return spex_stub_code(stub) + SPEX_STUB_PAGE;
}

static inline uint64_t spex_stub_counters(uint64_t stub) {
    return spex_stub_code(stub) + 2 * (uint64_t)SPEX_STUB_PAGE;
}

/* The address of a function's stub by its number from 1 to 255; 0: programs have no such address. */
uint64_t spex_stub_address(uint64_t function, unsigned number);

/* Whether there are stubs for functions at such an address: of less than this many bytes to the end of a page there is no room;
 * and whether this processor has any. */
bool spex_stub_is_possible(uint64_t function);

/* Writes the page of code. */
void spex_stub_write(uint64_t stub, uint64_t function, uint8_t page[SPEX_STUB_PAGE]);

/* Where the stub is in a page of code, if it is one. */
size_t spex_stub_place(const uint8_t page[SPEX_STUB_PAGE]);

/* The function of a page of code; 0: it is none that was written here, at this address. */
uint64_t spex_stub_function(uint64_t stub, const uint8_t page[SPEX_STUB_PAGE]);

/* The same function, with a stub of this process in front of it; NULL: there is none. What is mapped stays. */
void (*spex_stub_here(void (*function)(void)))(void);

/* The calls that were counted. */
uint64_t spex_stub_calls(const void *counters);

#endif
