/* SPDX-License-Identifier: MIT */
/* Functions that are executed often and end soon, with several loops on different ways. often ROUNDS
 *
 * In each eight rounds: ways 8, its loops 4, 2 and 6; one and its loop 2 to 6 in each, 32 in all. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static unsigned ways(const unsigned *a, unsigned n) {
    unsigned sum = 0;
    if (n & 1) {
        for (unsigned i = 0; i < n; i++)
            sum += a[i] * 3;
        if (n & 2)
            return sum;
        for (unsigned i = 0; i < n; i++)
            sum ^= a[i] + sum;
    }
    for (unsigned i = 0; i < n / 2; i++)
        sum += a[i] >> (sum & 7);
    return sum;
}

__attribute__((noinline)) static unsigned one(const unsigned *a, unsigned n) {
    unsigned sum = 0;
    for (unsigned i = 0; i < n; i++)
        sum += a[i] ^ n;
    return sum;
}

__attribute__((noinline)) static unsigned calls(const unsigned *a, unsigned n) {
    unsigned sum = ways(a, n);
    for (unsigned i = 0; i < n; i += 2)
        sum += one(a, 4 + i);
    return sum;
}

int main(int count, char **arguments) {
    unsigned a[32], sum = 0, rounds = count > 1 ? (unsigned)atoi(arguments[1]) : 1000;
    for (unsigned i = 0; i < 32; i++)
        a[i] = i * 2654435761u;
    for (unsigned i = 0; i < rounds; i++)
        sum = sum * 31 + calls(a, 4 + i % 8);
    printf("%u\n", sum);
    return 0;
}
