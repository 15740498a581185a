/* SPDX-License-Identifier: MIT */
/* Kernels that call others on some of their ways, in some turns of a loop, or never; that throw, jump
 * far and call themselves. seldom ROUNDS */
#include <csetjmp>
#include <cstdio>
#include <cstdlib>

#define OUT __attribute__((noinline)) static unsigned

static jmp_buf back;

OUT leaf(const unsigned *a, unsigned n) {
    unsigned sum = 0;
    for (unsigned i = 0; i < n; i++)
        sum += a[i] ^ n;
    return sum;
}

/* No probe: the test leaves it out. */
OUT quiet(unsigned n) {
    return n * 31 ^ n >> 3;
}

OUT gate(const unsigned *a, unsigned n) {
    unsigned sum = quiet(n);
    if (n % 3 == 0)
        sum += leaf(a, n);
    return sum;
}

OUT sweep(const unsigned *a, unsigned n) {
    unsigned sum = 0;
    for (unsigned i = 0; i < n; i++)
        if (a[i] % 3 == n % 3)
            sum += gate(a, i);
        else
            sum += quiet(a[i]);
    for (unsigned i = 0; i < n; i++)
        sum ^= a[i] * sum;
    return sum;
}

OUT always(const unsigned *a, unsigned n) {
    unsigned sum = 0;
    for (unsigned i = 0; i <= n; i++)
        sum += leaf(a, i);
    return sum;
}

OUT down(const unsigned *a, unsigned n) {
    if (n < 2)
        return a[n];
    return down(a, n - 1) * 3 + leaf(a, n & 3);
}

OUT throws(const unsigned *a, unsigned n) {
    if (n % 4 == 0)
        throw n;
    return n % 4 == 1 ? gate(a, n) : n;
}

OUT catches(const unsigned *a, unsigned n) {
    try {
        return throws(a, n);
    } catch (unsigned thrown) {
        return leaf(a, thrown & 7);
    }
}

OUT jumps(unsigned n) {
    if (n % 5 == 0)
        longjmp(back, 1);
    return n;
}

/* No probe: it calls setjmp. */
OUT lands(const unsigned *a, unsigned n) {
    if (setjmp(back))
        return leaf(a, 3);
    return jumps(n);
}

OUT turn(const unsigned *a, unsigned n) {
    unsigned sum = sweep(a, n) + always(a, n & 3) + down(a, n & 7) + catches(a, n);
    return sum + lands(a, n) + leaf(a, 2);
}

int main(int count, char **arguments) {
    unsigned a[32], sum = 0, rounds = count > 1 ? static_cast<unsigned>(atoi(arguments[1])) : 1000;
    for (unsigned i = 0; i < 32; i++)
        a[i] = i * 2654435761u;
    for (unsigned i = 0; i < rounds; i++)
        sum = sum * 31 + turn(a, i % 32);
    printf("%u\n", sum);
    return 0;
}
