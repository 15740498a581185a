/* SPDX-License-Identifier: MIT */
/* Matrices, transforms and graphs. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "beyond_kernels.h"

/* Numbers of the arrays as floating point values between 0 and 1. */
static void prepare_floats(struct beyond_work *work, size_t count) {
    for (size_t a = 0; a < 2; a++)
        for (size_t i = 0; i < count; i++)
            ((float *)(void *)work->arrays[a])[i] = (float)beyond_random() / 4294967296.0f;
}

static void prepare_matrices(struct beyond_work *work) {
    prepare_floats(work, work->size * work->size);
}

/* The inner loop goes down a column of the second matrix. */
static uint64_t run_multiply(struct beyond_work *work) {
    const float *a = (const float *)(void *)work->arrays[0],
                *b = (const float *)(void *)work->arrays[1];
    float *c = (float *)(void *)work->arrays[2];
    size_t n = work->size;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            float sum = 0;
            for (size_t k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
    return (uint64_t)c[n];
}

/* The inner loop goes along rows. */
static uint64_t run_multiply_rows(struct beyond_work *work) {
    const float *a = (const float *)(void *)work->arrays[0],
                *b = (const float *)(void *)work->arrays[1];
    float *c = (float *)(void *)work->arrays[2];
    size_t n = work->size;
    memset(c, 0, n * n * sizeof(*c));
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < n; j++)
                c[i * n + j] += a[i * n + k] * b[k * n + j];
    return (uint64_t)c[n];
}

static uint64_t run_transpose(struct beyond_work *work) {
    size_t n = work->size;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            work->arrays[1][j * n + i] = work->arrays[0][i * n + j];
    return work->arrays[1][n];
}

static uint64_t run_matrix_vector(struct beyond_work *work) {
    const float *a = (const float *)(void *)work->arrays[0],
                *x = (const float *)(void *)work->arrays[1];
    float *y = (float *)(void *)work->arrays[2];
    size_t n = work->size;
    for (size_t i = 0; i < n; i++) {
        y[i] = 0;
        for (size_t j = 0; j < n; j++)
            y[i] += a[i * n + j] * x[j];
    }
    return (uint64_t)y[n / 2];
}

static uint64_t run_shortest_paths(struct beyond_work *work) {
    uint32_t *d = work->arrays[0];
    size_t n = work->size;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                uint32_t through = d[i * n + k] / 2 + d[k * n + j] / 2;
                d[i * n + j] = through < d[i * n + j] ? through : d[i * n + j];
            }
    return d[1];
}

/* LU decomposition without pivots; the diagonal is made great before. */
static uint64_t run_eliminate(struct beyond_work *work) {
    float *a = (float *)(void *)work->arrays[0];
    size_t n = work->size;
    for (size_t k = 0; k < n; k++)
        a[k * n + k] += (float)n;
    for (size_t k = 0; k < n; k++)
        for (size_t i = k + 1; i < n; i++) {
            float factor = a[i * n + k] / a[k * n + k];
            for (size_t j = k; j < n; j++)
                a[i * n + j] -= factor * a[k * n + j];
        }
    return (uint64_t)a[n + 1];
}

static void prepare_signal(struct beyond_work *work) {
    prepare_floats(work, 2 * work->size);
}

/* Cooley and Tukey's, recursively; `size` is a power of 2. */
static void transform(const float complex *in, float complex *out, size_t size, size_t stride) {
    if (size == 1) {
        out[0] = in[0];
        return;
    }
    transform(in, out, size / 2, 2 * stride);
    transform(in + stride, out + size / 2, size / 2, 2 * stride);
    float angle = -2 * (float)M_PI / (float)size;
    float complex step = cosf(angle) + sinf(angle) * I, turn = 1;
    for (size_t i = 0; i < size / 2; i++, turn *= step) {
        float complex even = out[i], odd = turn * out[i + size / 2];
        out[i] = even + odd;
        out[i + size / 2] = even - odd;
    }
}

static uint64_t run_fourier(struct beyond_work *work) {
    float complex *out = (float complex *)(void *)work->arrays[2];
    transform((const float complex *)(void *)work->arrays[0], out, work->size, 1);
    return (uint64_t)crealf(out[0]);
}

enum { EDGES = 8 };
#define NONE UINT32_MAX

/* Array 0: EDGES targets for each node. */
static void prepare_graph(struct beyond_work *work) {
    for (size_t e = 0; e < EDGES * work->size; e++)
        work->arrays[0][e] = beyond_random() % (uint32_t)work->size;
}

static uint64_t run_breadth_first(struct beyond_work *work) {
    uint32_t *distance = work->arrays[1], *queue = work->arrays[2];
    size_t head = 0, tail = 1;
    memset(distance, 0xff, work->size * sizeof(*distance));
    distance[0] = queue[0] = 0;
    for (; head < tail; head++)
        for (size_t e = 0; e < EDGES; e++) {
            uint32_t to = work->arrays[0][queue[head] * EDGES + e];
            if (distance[to] != NONE)
                continue;
            distance[to] = distance[queue[head]] + 1;
            queue[tail++] = to;
        }
    return tail;
}

/* Joins the ends of the edges: which nodes are connected. */
static uint32_t find_root(uint32_t *parents, uint32_t node) {
    while (parents[node] != node)
        node = parents[node] = parents[parents[node]];
    return node;
}

static uint64_t run_union_find(struct beyond_work *work) {
    uint32_t *parents = work->arrays[1];
    for (size_t i = 0; i < work->size; i++)
        parents[i] = (uint32_t)i;
    for (size_t i = 0; i < work->size; i++)
        for (size_t e = 0; e < EDGES; e++)
            parents[find_root(parents, (uint32_t)i)] =
                find_root(parents, work->arrays[0][i * EDGES + e]);
    return find_root(parents, 0);
}

/* A binary heap in array 1: all are pushed, and then popped. */
static void heap_push(uint32_t *heap, size_t at, uint32_t value) {
    for (; at > 0 && heap[(at - 1) / 2] > value; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = value;
}

static uint32_t heap_pop(uint32_t *heap, size_t count) {
    uint32_t least = heap[0], value = heap[count - 1];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) + 1 < count; at = child) {
        child += child + 2 < count && heap[child + 1] < heap[child];
        if (value <= heap[child])
            break;
        heap[at] = heap[child];
    }
    heap[at] = value;
    return least;
}

static uint64_t run_priority_queue(struct beyond_work *work) {
    uint64_t sum = 0;
    for (size_t i = 0; i < work->size; i++)
        heap_push(work->arrays[1], i, work->arrays[0][i]);
    for (size_t left = work->size; left > 0; left--)
        sum = sum * 31 + heap_pop(work->arrays[1], left);
    return sum;
}

/* Divisions of all numbers up to the size by those up to their roots. */
static uint64_t run_divisors(struct beyond_work *work) {
    uint64_t divisors = 0;
    for (uint32_t i = 1; i <= work->size; i++)
        for (uint32_t j = 1; j * j <= i; j++)
            divisors += i % j == 0;
    return divisors;
}

const struct beyond_kernel beyond_on_graphs[] = {
    {"matrix product", 36, 0, 8, 6, prepare_matrices, run_multiply, NULL},
    {"product by rows", 36, 0, 8, 6, prepare_matrices, run_multiply_rows, NULL},
    {"transpose", 24, 0, 16, 7, prepare_matrices, run_transpose, NULL},
    {"matrix by vector", 24, 0, 16, 7, prepare_matrices, run_matrix_vector, NULL},
    {"shortest paths", 36, 0, 8, 6, prepare_matrices, run_shortest_paths, NULL},
    {"elimination", 36, 0, 8, 6, prepare_matrices, run_eliminate, NULL},
    {"fourier", 12, 1, 512, 8, prepare_signal, run_fourier, NULL},
    {"breadth first", 12, 0, 500, 8, prepare_graph, run_breadth_first, NULL},
    {"union find", 12, 0, 500, 7, prepare_graph, run_union_find, NULL},
    {"priority queue", 12, 1, 500, 8, NULL, run_priority_queue, NULL},
    {"divisors", 18, 0, 500, 6, NULL, run_divisors, NULL},
    {.name = NULL},
};
