/* SPDX-License-Identifier: MIT */
/* A fuzzer: what it is fed, what it starts from and what it knows the format by. With libFuzzer
 * (clang -fsanitize=fuzzer) only the first is used; driver.c is for every other compiler. */
#ifndef SPEX_FUZZ_H
#define SPEX_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The seed with this number, from 0 on: its length, at most `room`; 0 when there is none. */
size_t fuzz_seed(unsigned number, uint8_t *data, size_t room);

/* Pieces of the format that a mutation may put in; ends with NULL. */
extern const char *const fuzz_words[];

/* What must hold whatever comes in. */
#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);              \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* What comes in as text, zero-terminated; to be freed. */
static inline char *fuzz_text(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    FUZZ_CHECK(text);
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

/* fuzz_seed, where seeds are texts. */
static inline size_t fuzz_text_seed(const char *const *seeds, size_t count, unsigned number,
                                    uint8_t *data, size_t room) {
    if (number >= count || strlen(seeds[number]) > room)
        return 0;
    memcpy(data, seeds[number], strlen(seeds[number]));
    return strlen(seeds[number]);
}

#endif
