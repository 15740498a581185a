/* SPDX-License-Identifier: MIT */
/* Children of forks that start threads, and where they cannot. For tests with cmocka. */
#ifndef SPEX_TEST_CHILDREN_H
#define SPEX_TEST_CHILDREN_H

#include <stdlib.h>
#include <sys/wait.h>

/* gcc's ThreadSanitizer dies when the child of a fork starts threads, which spex_start does. */
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define CHILDREN_MAY_START 0
#else
#define CHILDREN_MAY_START 1
#endif

/* With SPEX_FORKS=follow they start before fork has returned: AddressSanitizer may hold its own
 * locks until then. */
#if defined(__SANITIZE_ADDRESS__) || (defined(__SANITIZE_THREAD__) && !defined(__clang__))
#define CHILDREN_MAY_FOLLOW 0
#else
#define CHILDREN_MAY_FOLLOW 1
#endif

/* ThreadSanitizer would end a child of a program with threads that starts threads itself. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void) {
    return "die_after_fork=0";
}

#define SKIP_UNLESS(possible)                                                                      \
    if (!(possible) || getenv("TEST_EMULATED")) {                                                  \
        print_message(                                                                             \
            "SKIP: children of forks cannot start threads with this sanitizer or emulator\n");     \
        skip();                                                                                    \
    }

#define SKIP_WITHOUT_CHILDREN()  SKIP_UNLESS(CHILDREN_MAY_START)
#define SKIP_WITHOUT_FOLLOWERS() SKIP_UNLESS(CHILDREN_MAY_FOLLOW)

/* Waits for a child to end. Returns its exit status, or the negative number of the signal that
 * ended it. */
static inline int child_exit_status(pid_t child) {
    int result;
    if (child < 0 || waitpid(child, &result, 0) != child)
        abort();
    return WIFEXITED(result) ? WEXITSTATUS(result) : -WTERMSIG(result);
}

#endif
