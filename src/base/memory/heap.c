/* SPDX-License-Identifier: MIT */
/* Blocks of powers of two from chunks, in a list of free ones for each size; larger blocks are
 * mappings of their own. Chunks are not given back: threads of spex take the same again. */
#include "base/memory/heap.h"

#include <stdbool.h>
#include <stdint.h>

#include <spex/atomic.h>

#include "base/service_thread.h"

/* Logarithms of the least block, of the largest one in a chunk, and of a chunk. */
enum { LEAST = 5, LARGEST = 15, CHUNK = 18, RANGES = 512 };

/* In front of each block: its size, as a logarithm; 0: a mapping of its own. */
struct head {
    size_t power;
    /* Of a free block the next one; of a mapping how long it is. */
    union {
        struct head *next;
        size_t bytes;
    };
};

static struct {
    struct spex_lock lock;
    bool abandoned;
    struct head *free[LARGEST + 1];
    /* The rest of the newest chunk. */
    char *at, *end;
    /* Of the mappings, which all lie between `low` and `high`. These only widen: they are read
     * without the lock. */
    size_t count;
    uintptr_t low, high;
} heap = {.lock = SPEX_LOCK_FREE, .low = UINTPTR_MAX};

/* The mappings, of which `heap.count` are in use. Apart, since what is 0 takes no room in a file. */
static struct {
    char *begin;
    size_t bytes;
} ranges[RANGES];

struct spex_lock *spex_heap_lock(void) {
    return &heap.lock;
}

void spex_heap_abandon(void) {
    heap.abandoned = true;
}

bool spex_heap_is_abandoned(void) {
    return heap.abandoned;
}

/* A thread that forks has the lock, and what the program's handlers call may allocate. */
static bool lock(void) {
    return spex_lock_take_unless_mine(&heap.lock);
}

static void unlock(bool locked) {
    if (locked)
        spex_lock_give(&heap.lock);
}

/* A mapping; NULL without memory, or without room to note it. */
static char *range_add(size_t bytes) {
    if (heap.count == RANGES)
        return NULL;
    char *begin = spex_pages_take(bytes);
    if (!begin)
        return NULL;
    ranges[heap.count].begin = begin;
    ranges[heap.count++].bytes = bytes;
    if ((uintptr_t)begin < heap.low)
        spex_store_relaxed(&heap.low, (uintptr_t)begin);
    if ((uintptr_t)begin + bytes > heap.high)
        spex_store_relaxed(&heap.high, (uintptr_t)begin + bytes);
    return begin;
}

/* RANGES: none has the address. */
static size_t range_of(const void *memory) {
    for (size_t r = 0; r < heap.count; r++)
        if ((size_t)((uintptr_t)memory - (uintptr_t)ranges[r].begin) < ranges[r].bytes)
            return r;
    return RANGES;
}

static struct head *head_of(void *memory) {
    return (struct head *)memory - 1;
}

static struct head *take_small(size_t power) {
    size_t bytes = (size_t)1 << power;
    struct head *head = heap.free[power];
    if (head) {
        heap.free[power] = head->next;
        return head;
    }
    /* A rest of the chunk that is too small for this block is lost. */
    if ((size_t)(heap.end - heap.at) < bytes) {
        char *chunk = range_add((size_t)1 << CHUNK);
        if (!chunk)
            return NULL;
        heap.at = chunk;
        heap.end = chunk + ((size_t)1 << CHUNK);
    }
    head = (struct head *)heap.at;
    heap.at += bytes;
    head->power = power;
    return head;
}

static struct head *take_large(size_t bytes) {
    struct head *head = (struct head *)range_add(bytes);
    if (head)
        *head = (struct head){.bytes = bytes};
    return head;
}

void *spex_heap_take(size_t bytes) {
    size_t whole = bytes + sizeof(struct head), power = LEAST;
    if (whole < bytes || whole > SIZE_MAX / 2)
        return NULL;
    while (power <= LARGEST && ((size_t)1 << power) < whole)
        power++;
    bool locked = lock();
    struct head *head = power <= LARGEST ? take_small(power) : take_large(whole);
    unlock(locked);
    return head ? head + 1 : NULL;
}

void spex_heap_give(void *memory) {
    struct head *head = head_of(memory);
    bool locked = lock();
    if (head->power) {
        head->next = heap.free[head->power];
        heap.free[head->power] = head;
    } else {
        size_t range = range_of(memory);
        ranges[range] = ranges[--heap.count];
        spex_pages_give_back(head, head->bytes);
    }
    unlock(locked);
}

/* The bounds, which are read without the lock, have been there
 * since before the block was taken. */
bool spex_heap_has(const void *memory) {
    uintptr_t at = (uintptr_t)memory;
    if (at < spex_load_relaxed(&heap.low) || at >= spex_load_relaxed(&heap.high))
        return false;
    if (heap.abandoned)
        return range_of(memory) < RANGES;
    bool locked = lock();
    bool own = range_of(memory) < RANGES;
    unlock(locked);
    return own;
}

size_t spex_heap_room(void *memory) {
    const struct head *head = head_of(memory);
    return (head->power ? (size_t)1 << head->power : head->bytes) - sizeof(*head);
}

void spex_heap_unmap(void) {
    bool locked = lock();
    for (size_t r = 0; r < heap.count; r++)
        spex_pages_give_back(ranges[r].begin, ranges[r].bytes);
    heap.count = 0;
    heap.at = heap.end = NULL;
    for (unsigned power = 0; power <= LARGEST; power++)
        heap.free[power] = NULL;
    unlock(locked);
}
