/* SPDX-License-Identifier: MIT */
/* Functions and loops that are left, and called, in all ways of C. leaves ROUNDS */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf place;

__attribute__((noinline)) static int jumps_far(const int *a, int n, int wanted) {
    for (int i = 0; i < n; i++)
        if (a[i] == wanted)
            longjmp(place, i + 1);
    return -1;
}

/* Calls setjmp: it has no probe. */
__attribute__((noinline)) static int calls_setjmp(const int *a, int n, int wanted) {
    volatile int tries = 0;
    int found = setjmp(place);
    tries++;
    if (found)
        return found * 10 + tries;
    return jumps_far(a, n, wanted);
}

enum { PUSH, ADD, LOOP, END };

/* A computed goto. */
__attribute__((noinline)) static long interpret(const int *code, int rounds) {
    static const void *const labels[] = {&&push, &&add, &&loop, &&end};
    long stack = 0, top = 0;
    const int *at = code;
    goto *labels[*at];
push:
    top = at[1];
    at += 2;
    goto *labels[*at];
add:
    stack += top;
    at++;
    goto *labels[*at];
loop:
    at = --rounds > 0 ? code : at + 1;
    goto *labels[*at];
end:
    return stack;
}

#if defined(__clang__)
#define TAIL __attribute__((musttail))
#else
#define TAIL
#endif

__attribute__((noinline)) static long even(long n, long sum);

__attribute__((noinline)) static long odd(long n, long sum) {
    if (n == 0)
        return sum;
    TAIL return even(n - 1, sum + 1);
}

__attribute__((noinline)) static long even(long n, long sum) {
    if (n == 0)
        return -sum;
    TAIL return odd(n - 1, sum + 2);
}

__attribute__((noinline)) static long varied(int count, ...) {
    va_list values;
    long sum = 0;
    va_start(values, count);
    for (int i = 0; i < count; i++)
        sum += va_arg(values, int);
    va_end(values);
    return sum;
}

struct large {
    long values[20];
};

__attribute__((noinline)) static struct large by_value(struct large in, int n) {
    for (int i = 0; i < n; i++)
        in.values[i % 20] += i;
    return in;
}

__attribute__((noinline)) static long with_assembly(int n) {
    long sum = 0;
    for (int i = 0; i < n; i++) {
        __asm__ volatile("" : "+r"(sum) : : "memory");
        sum += i;
    }
    return sum;
}

__attribute__((noinline)) static long with_dynamic_stack(int n) {
    long sum = 0;
    for (int i = 1; i < n; i++) {
        char bytes[i];
        memset(bytes, i, sizeof(bytes));
        sum += bytes[i / 2];
    }
    return sum;
}

__attribute__((noinline)) static int switches(int value) {
    int steps = 0;
    while (value != 1 && steps < 1000) {
        switch (value % 4) {
        case 0:
            value /= 4;
            steps += 2;
            break;
        case 2:
            value /= 2;
            /* fall through */
        default:
            value = value % 2 ? 3 * value + 1 : value;
            steps++;
        }
    }
    return steps;
}

/* Its loop has no end but this. */
__attribute__((noinline, noreturn)) static void ends(int status) {
    for (;;) {
        if (status++ > 2)
            exit(0);
    }
}

/* clang 14 itself cannot do that with -flto=thin. */
#ifndef NO_IFUNC
static long chosen_way(int n) {
    return n * 2L;
}
typedef long (*way)(int);
way choose_way(void);
way choose_way(void) {
    return chosen_way;
}
long by_ifunc(int n) __attribute__((ifunc("choose_way")));
#else
#define by_ifunc(n) ((n)*2L)
#endif

__attribute__((constructor)) static void before_main(void) {
    char text[8];
    for (int i = 0; i < 7; i++)
        text[i] = (char)('a' + i);
    text[7] = '\0';
    printf("%s\n", text);
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 10;
    static const int code[] = {PUSH, 3, ADD, PUSH, 4, ADD, LOOP, END};
    int a[100];
    long sum = 0;
    for (int i = 0; i < 100; i++)
        a[i] = i * 37 % 100;
    for (int round = 0; round < rounds; round++) {
        sum += calls_setjmp(a, 100, round % 120) + interpret(code, round + 1) + odd(round * 10, 1);
        sum +=
            varied(4, round, 2, 3, 4) + with_assembly(round) + with_dynamic_stack(round % 50 + 2);
        struct large large = {{round}};
        sum += by_value(large, round).values[3] + switches(round + 1) + by_ifunc(round);
    }
    printf("%ld\n", sum);
    ends(rounds);
}
