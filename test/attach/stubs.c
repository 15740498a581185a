/* SPDX-License-Identifier: MIT */
/* Stubs of this process's own functions. */
#include "attach/slots/stub.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../check.h"

static uint64_t called;

static double takes(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
                    uint64_t g, double h) {
    __atomic_fetch_add(&called, 1, __ATOMIC_RELAXED);
    return (double)(a + 10 * b + 100 * c + 1000 * d + 10000 * e + 100000 * f + 1000000 * g) + h;
}

typedef double taking(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, double);

static taking *stub_of_takes(uint64_t *stub) {
    taking *made = (taking *)spex_stub_here((void (*)(void))takes);
    assert_true(made != NULL);
    *stub = (uintptr_t)made;
    return made;
}

static uint64_t counted(uint64_t stub) {
    return spex_stub_calls((const void *)(uintptr_t)spex_stub_counters(stub));
}

static void check_call(taking *function) {
    assert_true(function(1, 2, 3, 4, 5, 6, 7, 0.5) == 7654321.5);
}

static void addresses_differ_in_one_byte(void **state) {
    (void)state;
    const uint64_t functions[] = {0x41f610, 0x7f298c6f3000, 0x555555554ff0};
    for (unsigned f = 0; f < 3; f++)
        for (unsigned n = 1; n <= UINT8_MAX; n++) {
            uint64_t stub = spex_stub_address(functions[f], n), differs = stub ^ functions[f];
            assert_true(!stub ||
                        (differs && !(differs & ~(UINT64_C(0xff) << (8 * SPEX_STUB_BYTE)))));
        }
    assert_true(spex_stub_address(0x41f610, 0) == 0);
    assert_true(spex_stub_address(0x41f610, 1) != 0);
    assert_true(!spex_stub_is_possible(0x1ff8));
    assert_true(spex_stub_is_possible(0x1ff0));
}

static void *call_in_thread(void *function) {
    for (int c = 0; c < 1000; c++)
        check_call((taking *)(uintptr_t)function);
    return NULL;
}

static void calls_are_counted(void **state) {
    (void)state;
    enum { THREADS = 6 };
    pthread_t threads[THREADS];
    uint64_t stub;
    taking *made = stub_of_takes(&stub);
    called = 0;
    for (int t = 0; t < THREADS; t++)
        assert_true(pthread_create(&threads[t], NULL, call_in_thread, (void *)(uintptr_t)stub) ==
                    0);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    check_call(made);
    assert_true(called == THREADS * 1000 + 1);
    assert_true(counted(stub) == called);
}

/* In children the gate is 0. */
static void a_closed_gate_counts_nothing(void **state) {
    (void)state;
    uint64_t stub;
    taking *made = stub_of_takes(&stub);
    memset((void *)(uintptr_t)spex_stub_gate(stub), 0, sizeof(uint64_t));
    called = 0;
    check_call(made);
    assert_true(called == 1);
    assert_true(counted(stub) == 0);
}

static void a_page_is_recognized(void **state) {
    (void)state;
    uint8_t page[SPEX_STUB_PAGE];
    for (unsigned f = 0; f < 2; f++) {
        uint64_t function = 0x7f298c6f3010 + f * 2048, stub = spex_stub_address(function, 3);
        spex_stub_write(stub, function, page);
        assert_true(spex_stub_function(stub, page) == function);
        assert_true(spex_stub_place(page) == stub % SPEX_STUB_PAGE);
        assert_true(spex_stub_function(stub + 16, page) == 0);
        assert_true(spex_stub_function(stub + SPEX_STUB_PAGE, page) == 0);
        page[100] ^= 1;
        assert_true(spex_stub_function(stub, page) == 0);
    }
    memset(page, 0, sizeof(page));
    assert_true(spex_stub_function(0x7f298c6f3010, page) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_differ_in_one_byte),
        cmocka_unit_test(calls_are_counted),
        cmocka_unit_test(a_closed_gate_counts_nothing),
        cmocka_unit_test(a_page_is_recognized),
    };
#ifndef __x86_64__
    puts("SKIP: stubs are for x86-64");
    return 77;
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
