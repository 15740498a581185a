/* SPDX-License-Identifier: MIT */
/* A report over made-up sales: kernels of several orders of growth, all called by one.
 *
 *     kernels [ROWS [REPORTS]]
 *
 *     report ──┬── load    n
 *              ├── sort    n log n
 *              ├── find    n / 4 keys, log n each
 *              └── pairs   (n / 8)²
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <spex/spex.h>

struct sale {
    uint32_t customer;
    uint32_t cents;
};

static uint64_t random_state = 1;

static uint32_t random_next(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33);
}

static void load(struct sale *sales, size_t rows) {
    SPEX_KERNEL_SCOPE("load", 1, rows);
    for (size_t r = 0; r < rows; r++)
        sales[r] = (struct sale){.customer = random_next(), .cents = random_next() % 100000};
}

static int by_customer(const void *a, const void *b) {
    uint32_t one = ((const struct sale *)a)->customer, other = ((const struct sale *)b)->customer;
    return (one > other) - (one < other);
}

static void sort(struct sale *sales, size_t rows) {
    SPEX_KERNEL_SCOPE("sort", 1, rows);
    qsort(sales, rows, sizeof(*sales), by_customer);
}

static uint64_t find(const struct sale *sales, size_t rows, size_t keys) {
    SPEX_KERNEL_SCOPE("find", 1, keys);
    uint64_t sum = 0;
    for (size_t k = 0; k < keys; k++) {
        struct sale key = {.customer = sales[random_next() % rows].customer};
        const struct sale *found = bsearch(&key, sales, rows, sizeof(*sales), by_customer);
        sum += found ? found->cents : 0;
    }
    return sum;
}

static uint64_t pairs(const struct sale *sales, size_t best) {
    SPEX_KERNEL_SCOPE("pairs", 1, best);
    uint64_t near = 0;
    for (size_t a = 0; a < best; a++)
        for (size_t b = 0; b < best; b++)
            near += sales[a].cents < sales[b].cents + 100;
    return near;
}

static uint64_t report(struct sale *sales, size_t rows) {
    SPEX_KERNEL_SCOPE("report", 1, rows);
    load(sales, rows);
    sort(sales, rows);
    return find(sales, rows, rows / 4) + pairs(sales, rows / 8);
}

int main(int argc, char **argv) {
    size_t rows = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    size_t reports = argc > 2 ? strtoul(argv[2], NULL, 10) : 10;
    if (rows < 8 || rows > 100000000) {
        fputs("usage: kernels [ROWS [REPORTS]]: 8 to 100000000 rows were expected\n", stderr);
        return 2;
    }
    struct sale *sales = malloc(rows * sizeof(*sales));
    if (!sales) {
        fputs("kernels: out of memory\n", stderr);
        return 1;
    }
    uint64_t sum = 0;
    spex_start(NULL);
    for (size_t r = 0; r < reports; r++)
        sum += report(sales, rows);
    spex_stop();
    printf("%llu\n", (unsigned long long)sum);
    free(sales);
    return 0;
}
