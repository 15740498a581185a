/* SPDX-License-Identifier: MIT */
/* Feeds a fuzzer for a number of rounds: its seeds, then what comes of changing them. Inputs that
 * take the fuzzer no further cannot be told here, so each starts from a seed again and is changed a
 * few times. The same arguments give the same inputs.
 *
 *     fuzz-space 20000 [SEED [ROUND]]   all, or only that round's input, on standard output too */
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"
#include "fuzz.h"

enum { SIZE_MAX_BYTES = 1 << 16, SEEDS_MAX = 32, CHANGES_MAX = 6 };

static struct {
    uint8_t data[SIZE_MAX_BYTES];
    size_t size;
} seeds[SEEDS_MAX], input;

static size_t seed_count;
static unsigned long long current;

/* A crash without a sanitizer's report would not tell how to see it again. */
static void tell_round(int number) {
    char text[64];
    int length = snprintf(text, sizeof(text), "signal %d in round %llu\n", number, current);
    ssize_t told = write(2, text, (size_t)length);
    (void)told;
    signal(number, SIG_DFL);
    raise(number);
}

static void load_seeds(void) {
    while (seed_count < SEEDS_MAX) {
        size_t size = fuzz_seed((unsigned)seed_count, seeds[seed_count].data, SIZE_MAX_BYTES);
        if (size == 0)
            return;
        seeds[seed_count++].size = size;
    }
}

/* Makes or takes room at `at`: `before` bytes become `after`. False when that is too much. */
static bool resize(size_t at, size_t before, size_t after) {
    if (input.size - before + after > SIZE_MAX_BYTES)
        return false;
    memmove(input.data + at + after, input.data + at + before, input.size - at - before);
    input.size += after - before;
    return true;
}

static void put(size_t at, const void *bytes, size_t length) {
    if (resize(at, 0, length))
        memmove(input.data + at, bytes, length);
}

/* 1 to `most`, small ones more often. */
static size_t some(uint64_t *random, size_t most) {
    return most ? 1 + random_below(random, 1 + random_below(random, most)) : 0;
}

static void put_word(uint64_t *random, size_t at) {
    size_t count = 0;
    while (fuzz_words[count])
        count++;
    const char *word = fuzz_words[random_below(random, count)];
    put(at, word, strlen(word));
}

/* A part of a seed, in or over what is there. */
static void splice_at(uint64_t *random, size_t at) {
    size_t seed = random_below(random, seed_count);
    size_t from = random_below(random, seeds[seed].size);
    size_t length = some(random, seeds[seed].size - from);
    put(at, seeds[seed].data + from, length);
}

static void overwrite(uint64_t *random, size_t at) {
    static const uint64_t numbers[] = {0,          1,          0x7f,       0xff,
                                       0x100,      0x7fff,     0xffff,     0x10000,
                                       0x7fffffff, 0xffffffff, 0x80000000, UINT64_MAX};
    uint64_t number = numbers[random_below(random, COUNT_OF(numbers))];
    size_t length = (size_t)1 << random_below(random, 4);
    if (length <= input.size - at)
        memcpy(input.data + at, &number, length);
}

static void change(uint64_t *random) {
    size_t at = random_below(random, input.size + 1);
    size_t length = some(random, input.size - at);
    bool inside = at < input.size;
    switch (random_below(random, 8)) {
    case 0:
        if (inside)
            input.data[at] ^= (uint8_t)(1 << random_below(random, 8));
        break;
    case 1:
        if (inside)
            input.data[at] = (uint8_t)random_next(random);
        break;
    case 2:
        resize(at, length, 0);
        break;
    case 3: /* twice */
        if (resize(at, 0, length))
            memmove(input.data + at, input.data + at + length, length);
        break;
    case 4:
        splice_at(random, at);
        break;
    case 5:
        put_word(random, at);
        break;
    case 6:
        overwrite(random, at);
        break;
    default: /* its end is missing */
        if (random_below(random, 4) == 0)
            input.size = at;
    }
}

static void make_input(uint64_t random) {
    input = seeds[random_below(&random, seed_count)];
    for (size_t changes = random_below(&random, CHANGES_MAX + 1); changes > 0; changes--)
        change(&random);
}

/* In memory of exactly its size, so that a sanitizer sees a byte too many. */
static void feed(const uint8_t *data, size_t size) {
    uint8_t *exact = malloc(size ? size : 1);
    if (!exact)
        abort();
    memcpy(exact, data, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

int main(int argc, char **argv) {
    unsigned long long rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    load_seeds();
    signal(SIGABRT, tell_round);
    signal(SIGSEGV, tell_round);
    if (argc > 3) {
        make_input(mix(seed) + strtoull(argv[3], NULL, 10));
        fwrite(input.data, 1, input.size, stdout);
        fflush(stdout);
        feed(input.data, input.size);
        return 0;
    }
    for (size_t s = 0; s < seed_count; s++)
        feed(seeds[s].data, seeds[s].size);
    for (current = 0; current < rounds; current++) {
        make_input(mix(seed) + current);
        feed(input.data, input.size);
    }
    printf("%llu rounds from %zu seeds\n", rounds, seed_count);
    return 0;
}
