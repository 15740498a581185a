/* SPDX-License-Identifier: MIT */
/* Sorting, searching and passing through numbers in memory. */
#define _GNU_SOURCE
#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "beyond_kernels.h"

static int by_value(const void *a, const void *b) {
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    return (one > other) - (one < other);
}

static uint64_t run_qsort(struct beyond_work *work) {
    qsort(work->arrays[0], work->size, sizeof(uint32_t), by_value);
    return work->arrays[0][0];
}

static void sift_down(uint32_t *heap, size_t at, size_t count) {
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && heap[child + 1] > heap[child];
        if (heap[at] >= heap[child])
            return;
        uint32_t kept = heap[at];
        heap[at] = heap[child];
        heap[child] = kept;
    }
}

static uint64_t run_heap_sort(struct beyond_work *work) {
    uint32_t *heap = work->arrays[0];
    for (size_t i = work->size / 2; i-- > 0;)
        sift_down(heap, i, work->size);
    for (size_t i = work->size; i-- > 1;) {
        uint32_t most = heap[0];
        heap[0] = heap[i];
        heap[i] = most;
        sift_down(heap, 0, i);
    }
    return heap[0];
}

static uint64_t run_radix_sort(struct beyond_work *work) {
    uint32_t *from = work->arrays[0], *to = work->arrays[1];
    for (unsigned shift = 0; shift < 32; shift += 8) {
        size_t starts[257] = {0};
        for (size_t i = 0; i < work->size; i++)
            starts[(from[i] >> shift & 255) + 1]++;
        for (size_t b = 0; b < 256; b++)
            starts[b + 1] += starts[b];
        for (size_t i = 0; i < work->size; i++)
            to[starts[from[i] >> shift & 255]++] = from[i];
        uint32_t *other = from;
        from = to;
        to = other;
    }
    return from[0];
}

static uint64_t run_insertion_sort(struct beyond_work *work) {
    uint32_t *a = work->arrays[0];
    for (size_t i = 1; i < work->size; i++) {
        uint32_t value = a[i];
        size_t at = i;
        for (; at > 0 && a[at - 1] > value; at--)
            a[at] = a[at - 1];
        a[at] = value;
    }
    return a[0];
}

/* Open addressing in array 1, which is at most half full; 0 is an empty place. */
static size_t hash_mask(const struct beyond_work *work) {
    size_t places = 4;
    while (places < 2 * work->size)
        places *= 2;
    return places - 1;
}

static size_t hash_find(const uint32_t *table, size_t mask, uint32_t key) {
    size_t at = key * 2654435761u & mask;
    while (table[at] && table[at] != key)
        at = (at + 1) & mask;
    return at;
}

static uint64_t run_hash_insert(struct beyond_work *work) {
    size_t mask = hash_mask(work);
    memset(work->arrays[1], 0, (mask + 1) * sizeof(uint32_t));
    for (size_t i = 0; i < work->size; i++) {
        uint32_t key = work->arrays[0][i] | 1;
        work->arrays[1][hash_find(work->arrays[1], mask, key)] = key;
    }
    return work->arrays[1][0];
}

static void prepare_hash(struct beyond_work *work) {
    beyond_prepare(work);
    run_hash_insert(work);
}

static uint64_t run_hash_find(struct beyond_work *work) {
    size_t mask = hash_mask(work);
    uint64_t found = 0;
    for (size_t i = 0; i < work->size; i++)
        found += hash_find(work->arrays[1], mask, work->arrays[0][i] | 1);
    return found;
}

static uint64_t run_tree_insert(struct beyond_work *work) {
    for (size_t i = 0; i < work->size; i++)
        tsearch(&work->arrays[0][i], &work->object, by_value);
    return work->size;
}

static void keep_key(void *key) {
    (void)key;
}

static void release_tree(struct beyond_work *work) {
    tdestroy(work->object, keep_key);
}

static void prepare_tree(struct beyond_work *work) {
    beyond_prepare(work);
    run_tree_insert(work);
}

static uint64_t run_tree_find(struct beyond_work *work) {
    uint64_t found = 0;
    for (size_t i = 0; i < work->size; i++)
        found += tfind(&work->arrays[0][i], &work->object, by_value) != NULL;
    return found;
}

static void prepare_sorted(struct beyond_work *work) {
    for (size_t i = 0; i < work->size; i++)
        work->arrays[0][i] = (uint32_t)(2 * i);
}

static uint64_t run_bisections(struct beyond_work *work) {
    uint64_t found = 0;
    for (int i = 0; i < 2000; i++) {
        uint32_t key = beyond_random() % (uint32_t)(2 * work->size);
        found += bsearch(&key, work->arrays[0], work->size, sizeof(key), by_value) != NULL;
    }
    return found;
}

/* A circle through all elements in random order (Sattolo). */
static void prepare_list(struct beyond_work *work) {
    uint32_t *next = work->arrays[0];
    for (size_t i = 0; i < work->size; i++)
        next[i] = (uint32_t)i;
    for (size_t i = work->size; i-- > 1;) {
        size_t j = beyond_random() % i;
        uint32_t kept = next[i];
        next[i] = next[j];
        next[j] = kept;
    }
}

static uint64_t run_list(struct beyond_work *work) {
    uint32_t at = 0;
    for (size_t i = 0; i < work->size; i++)
        at = work->arrays[0][at];
    return at;
}

static uint64_t run_copy(struct beyond_work *work) {
    memcpy(work->arrays[1], work->arrays[0], work->size * sizeof(uint32_t));
    return work->arrays[1][work->size / 2];
}

static uint64_t run_strided(struct beyond_work *work) {
    uint64_t sum = 0;
    for (size_t from = 0; from < 16; from++)
        for (size_t i = from; i < work->size; i += 16)
            sum += work->arrays[0][i];
    return sum;
}

static void prepare_text(struct beyond_work *work) {
    char *text = (char *)work->arrays[0];
    for (size_t i = 0; i < work->size; i++)
        text[i] = (char)('a' + beyond_random() % 4);
}

static uint64_t run_text_search(struct beyond_work *work) {
    return memmem(work->arrays[0], work->size, "abcdabcdabcdabcdabcdz", 21) != NULL;
}

static uint64_t run_crc(struct beyond_work *work) {
    const unsigned char *bytes = (const unsigned char *)work->arrays[0];
    uint32_t crc = ~0u;
    for (size_t i = 0; i < work->size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return crc;
}

static uint64_t run_pairs(struct beyond_work *work) {
    const uint32_t *a = work->arrays[0];
    uint64_t near = 0;
    for (size_t i = 0; i < work->size; i++)
        for (size_t j = 0; j < i; j++)
            near += (a[i] ^ a[j]) < 1000;
    return near;
}

static uint64_t run_sieve(struct beyond_work *work) {
    unsigned char *composite = (unsigned char *)work->arrays[0];
    uint64_t primes = 0;
    memset(composite, 0, work->size);
    for (size_t i = 2; i < work->size; i++) {
        primes += !composite[i];
        for (size_t j = i * i; !composite[i] && j < work->size; j += i)
            composite[j] = 1;
    }
    return primes;
}

static void swap_words(uint32_t *a, uint32_t *b) {
    uint32_t kept = *a;
    *a = *b;
    *b = kept;
}

/* The median by partitions. */
static uint64_t run_select(struct beyond_work *work) {
    uint32_t *a = work->arrays[0];
    size_t low = 0, high = work->size;
    while (high - low > 1) {
        size_t middle = low;
        swap_words(&a[low], &a[low + (high - low) / 2]);
        for (size_t i = low + 1; i < high; i++)
            if (a[i] < a[low])
                swap_words(&a[i], &a[++middle]);
        swap_words(&a[low], &a[middle]);
        if (middle == work->size / 2)
            break;
        if (middle < work->size / 2)
            low = middle + 1;
        else
            high = middle;
    }
    return a[work->size / 2];
}

/* The distance of two texts, row by row. */
static uint64_t run_edit_distance(struct beyond_work *work) {
    const uint32_t *a = work->arrays[0];
    uint32_t *row = work->arrays[1];
    for (size_t j = 0; j <= work->size; j++)
        row[j] = (uint32_t)j;
    for (size_t i = 1; i <= work->size; i++) {
        uint32_t corner = row[0]++;
        for (size_t j = 1; j <= work->size; j++) {
            uint32_t best = corner + ((a[i - 1] ^ a[work->size - j]) % 4 != 0);
            corner = row[j];
            best = best < corner + 1 ? best : corner + 1;
            row[j] = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
        }
    }
    return row[work->size];
}

static uint64_t run_logarithms(struct beyond_work *work) {
    double sum = 0;
    for (size_t i = 0; i < work->size; i++)
        sum += log((double)work->arrays[0][i] + 1);
    return (uint64_t)sum;
}

const struct beyond_kernel beyond_on_arrays[] = {
    {"qsort", 12, 1, 500, 8, NULL, run_qsort, NULL},
    {"heap sort", 12, 1, 500, 8, NULL, run_heap_sort, NULL},
    {"radix sort", 12, 0, 2000, 9, NULL, run_radix_sort, NULL},
    {"insertion sort", 24, 0, 64, 6, NULL, run_insertion_sort, NULL},
    {"hash insert", 12, 0, 1000, 9, NULL, run_hash_insert, NULL},
    {"hash find", 12, 0, 1000, 9, prepare_hash, run_hash_find, NULL},
    {"tree insert", 12, 1, 250, 7, NULL, run_tree_insert, release_tree},
    {"tree find", 12, 1, 250, 7, prepare_tree, run_tree_find, release_tree},
    {"bisections", 0, 1, 1000, 9, prepare_sorted, run_bisections, NULL},
    {"list", 12, 0, 2000, 8, prepare_list, run_list, NULL},
    {"copy", 12, 0, 8000, 9, NULL, run_copy, NULL},
    {"strided", 12, 0, 4000, 9, NULL, run_strided, NULL},
    {"text search", 12, 0, 8000, 9, prepare_text, run_text_search, NULL},
    {"crc", 12, 0, 500, 7, NULL, run_crc, NULL},
    {"pairs", 24, 0, 64, 6, NULL, run_pairs, NULL},
    {"sieve", 12, 0, 10000, 7, NULL, run_sieve, NULL},
    {"select", 12, 0, 1000, 8, NULL, run_select, NULL},
    {"edit distance", 24, 0, 60, 6, NULL, run_edit_distance, NULL},
    {"logarithms", 12, 0, 500, 8, NULL, run_logarithms, NULL},
    {.name = NULL},
};
