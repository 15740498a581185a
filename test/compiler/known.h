/* SPDX-License-Identifier: MIT */
/* Functions whose time depends on known numbers. The names of these are in compiler.py. */
#ifndef KNOWN_H
#define KNOWN_H

#include <stddef.h>
#include <stdint.h>

struct table {
    const char *name;
    int *cells;
    size_t rows;
    struct {
        int columns;
        int unused;
    } shape;
};

struct database {
    struct table *tables[2];
    struct table *main;
};

struct node {
    struct node *next;
    int value;
};

long sum_array(const int *a, size_t n);
double dot(const double *x, const double *y, int count);
void copy_bytes(char *to, const char *from, size_t bytes);
void fill(struct table *t, int value);
void bubble(int *a, int n);
long pairs(const struct table *t);
void multiply(double *c, const double *a, const double *b, int n);
size_t find_all(const int *a, size_t n);
void sort_rows(int *rows, size_t n);
void heap_sort(int *a, int n);
unsigned bits(const uint64_t *words, size_t count);
void matrix_vector(const double *m, const double *v, double *out, int rows, int columns);
void reverse(char *s, size_t length);
void prefix_sums(long *a, int n);
void histogram(const unsigned char *s, size_t n, unsigned *counts);
long triangle(const int *a, int n);
long range_sum(const int *begin, const int *end);
long cells(const struct table *t);
int first_negative(const int *a, int n);
size_t upper(char *s);
long in_main_table(const struct database *d);
long through_a_call(const struct table *t);
int gcd(int a, int b);
long merge(int *a, int *space, int n);
void by_variable(int *a);
long nothing(const int *a, int scale);
long list_sum(const struct node *list);
int in_list(const struct node *list, int value);
long lists(struct node *const *all);
size_t word(const char *s);
long eight(struct node *const *all);

extern int variable_rows;

#endif
