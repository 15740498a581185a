/* SPDX-License-Identifier: MIT */
#include "known.h"

#include <stdlib.h>
#include <string.h>

int variable_rows;

long sum_array(const int *a, size_t n) {
    long sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i];
    return sum;
}

double dot(const double *x, const double *y, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += x[i] * y[i];
    return sum;
}

void copy_bytes(char *to, const char *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        to[i] = from[i];
}

void fill(struct table *t, int value) {
    if (!t)
        return;
    for (size_t i = 0; i < t->rows; i++)
        t->cells[i] = value ^ (int)i;
}

void bubble(int *a, int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j + 1 < n; j++)
            if (a[j] > a[j + 1]) {
                int t = a[j];
                a[j] = a[j + 1];
                a[j + 1] = t;
            }
}

long pairs(const struct table *t) {
    long found = 0;
    for (size_t i = 0; i < t->rows; i++)
        for (size_t j = i + 1; j < t->rows; j++)
            found += t->cells[i] == t->cells[j];
    return found;
}

void multiply(double *c, const double *a, const double *b, int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}

static size_t lower_bound(const int *a, size_t n, int key) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (a[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t find_all(const int *a, size_t n) {
    size_t sum = 0;
    unsigned key = 1;
    for (int i = 0; i < 2000; i++) {
        key = key * 1103515245u + 12345;
        sum += lower_bound(a, n, (int)(key >> 1));
    }
    return sum;
}

static int compare(const void *one, const void *other) {
    int a = *(const int *)one, b = *(const int *)other;
    return (a > b) - (a < b);
}

void sort_rows(int *rows, size_t n) {
    qsort(rows, n, sizeof(*rows), compare);
}

static void sift(int *a, int root, int end) {
    int child;
    while ((child = 2 * root + 1) < end) {
        if (child + 1 < end && a[child] < a[child + 1])
            child++;
        if (a[root] >= a[child])
            return;
        int t = a[root];
        a[root] = a[child];
        a[child] = t;
        root = child;
    }
}

void heap_sort(int *a, int n) {
    for (int i = n / 2 - 1; i >= 0; i--)
        sift(a, i, n);
    for (int end = n - 1; end > 0; end--) {
        int t = a[0];
        a[0] = a[end];
        a[end] = t;
        sift(a, 0, end);
    }
}

unsigned bits(const uint64_t *words, size_t count) {
    unsigned sum = 0;
    while (count--)
        for (uint64_t word = *words++; word; word &= word - 1)
            sum++;
    return sum;
}

void matrix_vector(const double *m, const double *v, double *out, int rows, int columns) {
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int c = 0; c < columns; c++)
            sum += m[r * columns + c] * v[c];
        out[r] = sum;
    }
}

void reverse(char *s, size_t length) {
    for (size_t i = 0; i < length / 2; i++) {
        char c = s[i];
        s[i] = s[length - 1 - i];
        s[length - 1 - i] = c;
    }
}

void prefix_sums(long *a, int n) {
    for (int i = 1; i < n; i++)
        a[i] += a[i - 1] & 0xffff;
}

void histogram(const unsigned char *s, size_t n, unsigned *counts) {
    for (const unsigned char *end = s + n; s < end; s++)
        counts[*s]++;
}

long triangle(const int *a, int n) {
    long sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            sum += a[i] ^ a[j];
    return sum;
}

long range_sum(const int *begin, const int *end) {
    long sum = 0;
    for (; begin != end; begin++)
        sum += (*begin ^ sum) & 0xffff;
    return sum;
}

long cells(const struct table *t) {
    long sum = 0;
    for (size_t r = 0; r < t->rows; r++)
        for (int c = 0; c < t->shape.columns; c++)
            sum += t->cells[r] % (c + 1);
    return sum;
}

int first_negative(const int *a, int n) {
    for (int i = 0; i < n; i++)
        if (a[i] < 0)
            return i;
    return -1;
}

size_t upper(char *s) {
    size_t length = strlen(s), changed = 0;
    for (size_t i = 0; i < length; i++)
        if (s[i] >= 'a' && s[i] <= 'z') {
            s[i] = (char)(s[i] - 'a' + 'A');
            changed++;
        }
    return changed;
}

long in_main_table(const struct database *d) {
    long sum = 0;
    for (size_t r = 0; r < d->main->rows; r++)
        sum += d->main->cells[r] | 1;
    return sum;
}

long through_a_call(const struct table *t) {
    return t->name[0] + sum_array(t->cells, t->rows);
}

int gcd(int a, int b) {
    while (b) {
        int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

long merge(int *a, int *space, int n) {
    if (n < 2)
        return n;
    int half = n / 2, i = 0, j = half, k = 0;
    long calls = merge(a, space, half) + merge(a + half, space, n - half);
    while (i < half && j < n)
        space[k++] = a[i] <= a[j] ? a[i++] : a[j++];
    while (i < half)
        space[k++] = a[i++];
    memcpy(a, space, (size_t)k * sizeof(*a));
    return calls + 1;
}

void by_variable(int *a) {
    for (int i = 0; i < variable_rows; i++)
        a[i] += i;
}

long nothing(const int *a, int scale) {
    long sum = 0;
    for (int i = 0; i < 100; i++)
        sum += (long)a[i] * scale;
    return scale > 3 ? sum : -sum;
}

long list_sum(const struct node *list) {
    long sum = 0;
    for (; list; list = list->next)
        sum += list->value ^ sum;
    return sum;
}

int in_list(const struct node *list, int value) {
    for (; list; list = list->next) {
        if (list->value == value)
            return 1;
        if (list->value < 0)
            break;
    }
    return 0;
}

long lists(struct node *const *all) {
    long sum = 0;
    for (; *all; all++) {
        const struct node *list = *all;
        while (list) {
            sum += list->value;
            list = list->next;
        }
    }
    return sum;
}

size_t word(const char *s) {
    size_t length = 0;
    while (s[length] && s[length] != ' ')
        length++;
    return length;
}

long eight(struct node *const *all) {
    long sum = 0;
    for (int i = 0; i < 8; i++)
        for (const struct node *list = all[i]; list; list = list->next)
            sum += list->value ^ i;
    return sum;
}
