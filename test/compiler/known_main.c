/* SPDX-License-Identifier: MIT */
/* Calls each function of known.c with a size of its argument, and half of it: known_main SIZE. Prints a
 * number that depends on all results. */
#include "known.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int *numbers_make(int n) {
    int *numbers = malloc((size_t)(n + 100) * sizeof(*numbers));
    unsigned state = 1;
    for (int i = 0; numbers && i < n + 100; i++) {
        state = state * 1103515245u + 12345;
        numbers[i] = (int)(state >> 8);
    }
    return numbers;
}

static uint64_t of_bits(int n) {
    uint64_t *words = calloc((size_t)n, sizeof(*words));
    if (!words)
        exit(1);
    for (int i = 0; i < n; i++)
        words[i] = (uint64_t)i * 0x9e3779b97f4a7c15u;
    uint64_t sum = bits(words, (size_t)n);
    free(words);
    return sum;
}

static uint64_t of_numbers(int *a, int *space, int n) {
    size_t size = (size_t)n;
    /* The first record of a thread may be left out of models. */
    uint64_t sum = (uint64_t)nothing(a, n);
    sum += (uint64_t)sum_array(a, size) + (uint64_t)range_sum(a, a + n);
    sum += (uint64_t)first_negative(a, n) + (uint64_t)triangle(a, n / 8);
    sum += of_bits(n / 2);
    memcpy(space, a, size * sizeof(*a));
    bubble(space, n / 16);
    memcpy(space, a, size * sizeof(*a));
    sort_rows(space, size);
    sum += find_all(space, size) + (uint64_t)space[n / 3];
    memcpy(space, a, size * sizeof(*a));
    heap_sort(space, n);
    sum += (uint64_t)space[n / 5] + (uint64_t)gcd(n * 7, a[0] % 1000 + 1);
    memcpy(space, a, size * sizeof(*a));
    sum += (uint64_t)merge(space, space + n, n);
    variable_rows = n;
    by_variable(space);
    return sum + (uint64_t)space[n - 1];
}

static uint64_t of_tables(int *a, int n) {
    struct table table = {
        .name = "t", .cells = a, .rows = (size_t)n, .shape = {.columns = 3 + n % 5}};
    struct table small = {.name = "s", .cells = a, .rows = (size_t)n / 8};
    struct database database = {.main = &table};
    fill(NULL, 1);
    fill(&table, n);
    return (uint64_t)(pairs(&small) + cells(&table) + in_main_table(&database) +
                      through_a_call(&table));
}

static double of_matrices(int n) {
    double *m = calloc((size_t)(3 * n * n + 3 * n), sizeof(*m)), *v = m + 3 * n * n;
    if (!m)
        exit(1);
    for (int i = 0; i < 3 * n * n + 3 * n; i++)
        m[i] = i % 17;
    multiply(m + 2 * n * n, m, m + n * n, n);
    matrix_vector(m, v, v + n, n, n / 2);
    double sum = m[2 * n * n + n + 1] + v[n] + dot(m, m + n, n * n);
    free(m);
    return sum;
}

static uint64_t of_text(int n) {
    size_t size = (size_t)n;
    char *text = malloc(2 * size + 1);
    unsigned counts[256] = {0};
    uint64_t sum = 0;
    if (!text)
        exit(1);
    for (size_t i = 0; i < size; i++)
        text[i] = (char)('a' + i % 26);
    text[size] = '\0';
    sum += upper(text);
    reverse(text, size);
    copy_bytes(text + size, text, size);
    histogram((const unsigned char *)text, size, counts);
    for (int i = 0; i < 256; i++)
        sum = sum * 31 + counts[i];
    free(text);
    return sum;
}

/* Lists of n values, and of twice and three times as many. */
static uint64_t of_lists(int n) {
    struct node *nodes = calloc(3 * (size_t)n, sizeof(*nodes)), *all[9] = {NULL};
    char *text = malloc((size_t)n + 1);
    if (!nodes || !text)
        exit(1);
    for (int i = 0; i < 3 * n; i++)
        nodes[i] = (struct node){i ? &nodes[i - 1] : NULL, i};
    memset(text, 'a', (size_t)n);
    text[n] = '\0';
    uint64_t sum = (uint64_t)(list_sum(&nodes[n - 1]) + in_list(&nodes[n - 1], n / 2)) + word(text);
    for (int i = 0; i < 3; i++)
        all[i] = &nodes[(i + 1) * n - 1];
    sum += (uint64_t)lists(all);
    for (int i = 0; i < 8; i++)
        all[i] = &nodes[n - 1];
    sum += (uint64_t)eight(all);
    free(nodes);
    free(text);
    return sum;
}

static uint64_t all(int n) {
    int *a = numbers_make(2 * n), *space = numbers_make(2 * n);
    long *longs = calloc((size_t)n, sizeof(*longs));
    if (!a || !space || !longs)
        exit(1);
    uint64_t sum = of_numbers(a, space, n) + of_tables(a, n) + (uint64_t)of_matrices(n / 32);
    for (int i = 0; i < n; i++)
        longs[i] = i;
    prefix_sums(longs, n);
    sum += (uint64_t)longs[n - 1] + of_text(n) + of_lists(n);
    free(a);
    free(space);
    free(longs);
    return sum;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 0;
    if (n < 64)
        return 2;
    uint64_t sum = all(n);
    printf("%" PRIu64 "\n", sum + 3 * all(n / 2));
    return 0;
}
