/* SPDX-License-Identifier: MIT */
/* Memory of spex's own threads: blocks against a model of them, from several threads; who takes and
 * who gives back; sorting. */
#include "base/memory/memory.h"

#include <malloc.h>
#include <pthread.h>

#include "../check.h"
#include "base/memory/heap.h"
#include "base/service_thread.h"

enum { BLOCKS = 100, STEPS = 3000, THREADS = 4 };

/* Frees of the C library. */
static unsigned freed;
void __real_free(void *memory);
void __wrap_free(void *memory);

void __wrap_free(void *memory) {
    __atomic_fetch_add(&freed, memory != NULL, __ATOMIC_RELAXED);
    __real_free(memory);
}

static size_t drawn(uint64_t *state) {
    size_t room = (size_t)1 << random_below(state, 18);
    return random_below(state, room + 1);
}

static void fill(unsigned char *block, size_t bytes, unsigned char with) {
    memset(block, with, bytes);
}

static void expect_filled(const unsigned char *block, size_t bytes, unsigned char with) {
    for (size_t b = 0; b < bytes; b++)
        if (block[b] != with)
            fail_msg("byte %zu of %zu has changed", b, bytes);
}

/* Takes, grows, shrinks and gives back blocks, each of which keeps what is in it. */
static void *use_blocks(void *arg) {
    uint64_t state = (uintptr_t)arg;
    struct {
        unsigned char *at, with;
        size_t bytes;
    } blocks[BLOCKS] = {0};
    for (unsigned step = 0; step < STEPS; step++) {
        size_t b = random_below(&state, BLOCKS), bytes = drawn(&state);
        if (blocks[b].at && random_below(&state, 3) == 0) {
            size_t kept = bytes < blocks[b].bytes ? bytes : blocks[b].bytes;
            blocks[b].at = spex_realloc(blocks[b].at, bytes ? bytes : 1);
            assert_non_null(blocks[b].at);
            expect_filled(blocks[b].at, kept, blocks[b].with);
        } else {
            if (blocks[b].at)
                expect_filled(blocks[b].at, blocks[b].bytes, blocks[b].with);
            spex_free(blocks[b].at);
            blocks[b].at = step % 2 ? spex_malloc(bytes) : spex_calloc(bytes, 1);
            assert_non_null(blocks[b].at);
            if (step % 2 == 0)
                expect_filled(blocks[b].at, bytes, 0);
        }
        assert_int_equal((uintptr_t)blocks[b].at % 16, 0);
        blocks[b].bytes = bytes;
        blocks[b].with = (unsigned char)(1 + step % 255);
        fill(blocks[b].at, bytes, blocks[b].with);
    }
    for (size_t b = 0; b < BLOCKS; b++)
        spex_free(blocks[b].at);
    return NULL;
}

TEST(blocks_keep_what_is_in_them) {
    pthread_t threads[THREADS];
    for (uintptr_t t = 0; t < THREADS; t++)
        assert_int_equal(
            spex_service_thread_start(&threads[t], "spex-test", 0, use_blocks, (void *)(t + 1)), 0);
    use_blocks((void *)(uintptr_t)(THREADS + 1));
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
}

/* A block of each size, by the heap itself, which sanitizers do without. */
TEST(large_blocks_are_given_back_to_the_system) {
    for (size_t bytes = 1; bytes < (size_t)1 << 24; bytes *= 2) {
        char *block = spex_heap_take(bytes);
        assert_non_null(block);
        assert_true(spex_heap_has(block) && spex_heap_has(block + bytes - 1));
        assert_true(spex_heap_room(block) >= bytes);
        memset(block, 1, bytes);
        spex_heap_give(block);
        assert_int_equal(spex_heap_has(block), bytes < (size_t)1 << 15);
    }
    assert_null(spex_heap_take(SIZE_MAX));
    assert_null(spex_heap_take(SIZE_MAX - 8));
    char *block = spex_heap_take(1000);
    spex_heap_unmap();
    assert_false(spex_heap_has(block));
    block = spex_heap_take(1000);
    memset(block, 1, 1000);
    spex_heap_give(block);
    char *libc = malloc(100);
    assert_false(spex_heap_has(libc));
    assert_false(spex_heap_has(&freed));
    free(libc);
}

static void *of_the_program;

/* Takes text of its own, and is done with the program's. */
static void *take_and_give(void *arg) {
    char **text = arg;
    text[0] = spex_strndup("twelve bytes long", 12);
    if (spex_asprintf(&text[1], "%s %d", text[0], 7) != 14)
        text[1] = NULL;
    of_the_program = spex_realloc(of_the_program, 100000);
    text[2] = of_the_program;
    return NULL;
}

TEST(each_thread_takes_from_its_own_heap) {
    pthread_t thread;
    char *text[3] = {NULL};
    of_the_program = spex_strdup("of the program");
    bool own = malloc_usable_size(of_the_program) > 0 && !spex_heap_has(of_the_program);
    unsigned before = freed;
    assert_int_equal(spex_service_thread_start(&thread, "spex-test", 0, take_and_give, text), 0);
    pthread_join(thread, NULL);
    assert_string_equal(text[0], "twelve bytes");
    assert_string_equal(text[1], "twelve bytes 7");
    assert_string_equal(text[2], "of the program");
    assert_true(own);
    if (!spex_heap_has(text[0])) { /* a sanitizer's */
        for (int t = 0; t < 3; t++)
            spex_free(text[t]);
        skip();
    }
    assert_true(spex_heap_has(text[1]) && spex_heap_has(text[2]));
    /* The thread has not used the C library's heap: the program frees what it has left over. */
    assert_int_equal(freed, before);
    spex_free(spex_malloc(1));
    assert_int_equal(freed, before + 2);
    for (int t = 0; t < 3; t++)
        spex_free(text[t]);
    assert_int_equal(freed, before + 2);
}

/* As handlers of a fork do, which the program has. */
TEST(who_has_the_lock_may_allocate) {
    spex_lock_take(spex_heap_lock());
    char *block = spex_heap_take(100);
    assert_true(spex_heap_has(block));
    spex_free(block);
    spex_lock_give(spex_heap_lock());
}

static int by_first(const void *one, const void *other) {
    return *(const unsigned char *)one - *(const unsigned char *)other;
}

TEST(sorting) {
    uint64_t random = 5;
    for (unsigned round = 0; round < 3000; round++) {
        size_t bytes = 1 + random_below(&random, 40), count = random_below(&random, 60);
        unsigned char items[60 * 40], expected[60 * 40];
        for (size_t b = 0; b < count * bytes; b++)
            items[b] = (unsigned char)random_below(&random, round % 2 ? 256 : 4);
        /* Each item is its first byte again and again, so that none is mixed with another. */
        for (size_t i = 0; i < count; i++)
            memset(items + i * bytes, items[i * bytes], bytes);
        memcpy(expected, items, count * bytes);
        qsort(expected, count, bytes, by_first);
        spex_sort(items, count, bytes, by_first);
        assert_memory_equal(items, expected, count * bytes);
    }
}

/* Last: nothing is taken from the heap any more. */
TEST(an_abandoned_heap) {
    pthread_t thread;
    char *text[3] = {NULL}, *block = spex_heap_take(10);
    of_the_program = NULL;
    spex_heap_abandon();
    spex_free(block);
    assert_int_equal(spex_service_thread_start(&thread, "spex-test", 0, take_and_give, text), 0);
    pthread_join(thread, NULL);
    for (int t = 0; t < 3; t++) {
        assert_false(spex_heap_has(text[t]));
        free(text[t]);
    }
}
