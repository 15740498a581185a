/* SPDX-License-Identifier: MIT */
#include "attach/test_functions.h"

#include <stddef.h>

/* A function in assembler, with a symbol at its return. */
#define TEST_FUNCTION(name, code)                                                                  \
    __asm__(".text\n"                                                                              \
            ".balign 64\n"                                                                         \
            "spex_test_" name ":\n" code "\n"                                                      \
            "spex_test_" name "_end: ret\n");

/* One for each task, and its name in C. */
#define TEST_FUNCTIONS(name, code)                                                                 \
    TEST_FUNCTION(#name "_0", code)                                                                \
    TEST_FUNCTION(#name "_1", code)                                                                \
    TEST_FUNCTION(#name "_2", code)                                                                \
    TEST_FUNCTION(#name "_3", code)                                                                \
    extern void spex_test_##name##_0(void), spex_test_##name##_1(void),                            \
        spex_test_##name##_2(void), spex_test_##name##_3(void);                                    \
    extern const char spex_test_##name##_0_end[], spex_test_##name##_1_end[],                      \
        spex_test_##name##_2_end[], spex_test_##name##_3_end[];

#define ENTRY(name)                                                                                \
    {                                                                                              \
        {spex_test_##name##_0, spex_test_##name##_0_end},                                          \
            {spex_test_##name##_1, spex_test_##name##_1_end},                                      \
            {spex_test_##name##_2, spex_test_##name##_2_end}, {                                    \
            spex_test_##name##_3, spex_test_##name##_3_end                                         \
        }                                                                                          \
    }

#if defined(__x86_64__)
TEST_FUNCTIONS(stepped, "lea (%rdi), %rax")
TEST_FUNCTIONS(nop, "nop")
TEST_FUNCTIONS(push, "push %rbx\n pop %rbx")
TEST_FUNCTIONS(jump, "jmp 1f\n 1:")
TEST_FUNCTIONS(branch, "je 1f\n 1:")
TEST_FUNCTIONS(call, "call 1f\n jmp 2f\n 1: ret\n 2:")
TEST_FUNCTIONS(long_nop, ".byte 0x0f, 0x1f, 0x44, 0, 0")
#elif defined(__aarch64__)
TEST_FUNCTIONS(stepped, "add x9, x9, #0")
#else
#error "functions for another processor are needed"
#endif

struct spex_test_function spex_test_function_of(enum spex_hit hit, enum spex_site_task task) {
    static const struct spex_test_function functions[SPEX_HITS][SPEX_SITE_TASKS] = {
        [SPEX_HIT_STEPPED] = ENTRY(stepped),
#ifdef __x86_64__
        [SPEX_HIT_NOP] = ENTRY(nop),         [SPEX_HIT_PUSH] = ENTRY(push),
        [SPEX_HIT_JUMP] = ENTRY(jump),       [SPEX_HIT_BRANCH] = ENTRY(branch),
        [SPEX_HIT_CALL] = ENTRY(call),       [SPEX_HIT_LONG_NOP] = ENTRY(long_nop),
#endif
    };
    return functions[hit][task];
}
