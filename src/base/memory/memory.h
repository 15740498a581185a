/* SPDX-License-Identifier: MIT */
/* Memory of the library. Threads of spex have a heap of their own: those of the C library are locked
 * while they allocate, and a child that the program makes without handlers of forks (clone) inherits
 * the lock for ever; a heap for one more thread is also 64 MiB of address space. The program's
 * threads use the C library's. What one thread has taken any other may give back. */
#ifndef SPEX_BASE_MEMORY_H
#define SPEX_BASE_MEMORY_H

#include <stdarg.h>
#include <stddef.h>

/* As malloc, calloc, realloc, free, strdup, strndup, asprintf and vasprintf. Not for signal handlers. */
void *spex_malloc(size_t bytes);
void *spex_calloc(size_t count, size_t bytes);
void *spex_realloc(void *memory, size_t bytes);
void spex_free(void *memory);
char *spex_strdup(const char *text);
char *spex_strndup(const char *text, size_t most);
int spex_asprintf(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));
int spex_vasprintf(char **text, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* As qsort, which allocates. In place (heapsort): what compares equal is in any order. */
void spex_sort(void *items, size_t count, size_t bytes,
               int (*compare)(const void *one, const void *other));

#endif
