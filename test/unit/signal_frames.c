/* SPDX-License-Identifier: MIT */
/* Whether code runs in a handler of a signal: on the thread's stack, on another one, in a coroutine,
 * in a function that libc calls. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include "../check.h"
#include "base/signal_frame.h"
#include "site/provider.h"

static volatile bool in_handler, deep_in_handler;

/* At `depth` frames below this one. */
__attribute__((noinline)) static bool above_at(unsigned depth) {
    volatile char room[1024];
    room[depth % sizeof(room)] = (char)depth;
    bool found = depth ? above_at(depth - 1) : spex_signal_frame_above();
    room[0] = (char)found;
    return room[0];
}

static void handle(int signal) {
    (void)signal;
    errno = EXDEV;
    in_handler = spex_signal_frame_above();
    assert_int_equal(errno, EXDEV);
    deep_in_handler = above_at(100);
}

/* Frames of handlers that have returned are seen until others lie over them. */
__attribute__((noinline)) static void stack_clear(void) {
    volatile char room[1 << 17];
    for (size_t i = 0; i < sizeof(room); i++)
        room[i] = 0;
}

/* Raises a signal whose handler has these flags. */
static void raise_with(int flags) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = flags}, before;
    in_handler = deep_in_handler = false;
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    pthread_kill(pthread_self(), SIGUSR1);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
    stack_clear();
}

TEST(handlers_are_seen) {
    assert_false(spex_signal_frame_above());
    assert_false(above_at(1000));
    raise_with(0);
    assert_true(in_handler);
    assert_true(deep_in_handler);
    raise_with(SA_SIGINFO | SA_RESTART);
    assert_true(in_handler);
    raise_with((int)SA_RESETHAND);
    assert_true(in_handler);
}

TEST(handlers_on_another_stack_are_seen) {
    static char memory[1 << 20];
    const stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
    const stack_t none = {.ss_flags = SS_DISABLE};
    assert_int_equal(sigaltstack(&stack, NULL), 0);
    raise_with(SA_ONSTACK);
    assert_true(in_handler);
    assert_false(spex_signal_frame_above());
    assert_int_equal(sigaltstack(&none, NULL), 0);
}

/* sigaction leaves the address to which handlers return. */
TEST(what_sigaction_leaves_is_no_frame) {
    const struct sigaction action = {.sa_handler = handle};
    struct sigaction before;
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
        assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
        assert_false(above_at(i));
    }
}

static void *in_a_thread(void *arg) {
    bool *seen = arg;
    seen[0] = spex_signal_frame_above();
    raise_with(0);
    seen[1] = in_handler;
    return NULL;
}

TEST(threads) {
    bool seen[2] = {true, false};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, in_a_thread, seen), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(seen[0]);
    assert_true(seen[1]);
}

static bool seen_in_coroutine[2];

static void coroutine(void) {
    in_a_thread(seen_in_coroutine);
}

TEST(coroutines) {
    static ucontext_t back, there;
    const size_t bytes = 1 << 20;
    char *stack = malloc(bytes);
    assert_non_null(stack);
    assert_int_equal(getcontext(&there), 0);
    there.uc_stack = (stack_t){.ss_sp = stack, .ss_size = bytes};
    there.uc_link = &back;
    makecontext(&there, coroutine, 0);
    assert_int_equal(swapcontext(&back, &there), 0);
    assert_false(seen_in_coroutine[0]);
    assert_true(seen_in_coroutine[1]);
    free(stack);
}

static int compare(const void *one, const void *other) {
    assert_false(spex_signal_frame_above());
    return *(const int *)one - *(const int *)other;
}

TEST(functions_that_libc_calls) {
    int numbers[] = {3, 1, 2};
    qsort(numbers, 3, sizeof(numbers[0]), compare);
    assert_int_equal(numbers[0], 1);
}

int main(void) {
    /* Sanitizers have a sigaction of their own. */
    const void *libc = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
    const void *sets = dlsym(RTLD_DEFAULT, "sigaction");
    if (!libc || !sets || !spex_is_of_one_object(libc, sets) || !spex_signal_frames_expect(sets)) {
        puts("SKIP: the frames of handlers cannot be told here");
        return 77;
    }
    return tests_run(NULL, NULL);
}
