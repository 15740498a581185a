/* SPDX-License-Identifier: MIT */
/* How much stack probes take at most, in a thread's first record and later ones: no more than the
 * page on programs says. Argument: that page. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>

#include "../check.h"
#include "places.h"

enum { STACK_BYTES = 256 << 10, PAINT = 0xa5, ROUNDS = 2000 };

static const char *page;
static unsigned char *stack;

/* Bytes that the page tells, before " bytes of stack". */
static size_t bytes_told(void) {
    static char text[1 << 16];
    FILE *file = fopen(page, "re");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    char *number = strstr(text, " bytes of stack");
    assert_non_null(number);
    while (number > text && number[-1] >= '0' && number[-1] <= '9')
        number--;
    return strtoul(number, NULL, 10);
}

/* What a thread is to execute, and the most bytes of stack that this has taken. */
struct work {
    void (*place)(void);
    unsigned rounds;
    size_t most;
};

/* Paints the stack below this frame, and looks how much of that the call has used. */
__attribute__((noinline)) static size_t used_by(void (*place)(void)) {
    enum { OWN = 256 };
    unsigned char *here = __builtin_frame_address(0), *at = stack;
    memset(stack, PAINT, (size_t)(here - OWN - stack));
    place();
    while (at < here && *at == PAINT)
        at++;
    return (size_t)(here - at);
}

static void *work_run(void *arg) {
    struct work *work = arg;
    for (unsigned r = 0; r < work->rounds; r++) {
        size_t used = used_by(work->place);
        work->most = used > work->most ? used : work->most;
    }
    return NULL;
}

static size_t used_in_thread(void (*place)(void), unsigned rounds) {
    struct work work = {.place = place, .rounds = rounds};
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstack(&attributes, stack, STACK_BYTES), 0);
    assert_int_equal(pthread_create(&thread, &attributes, work_run, &work), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    return work.most;
}

static void (*const places[])(void) = {place_cnt,  place_lat,   place_tpt,   place_snapshot,
                                       place_llc,  place_flt,   place_ctxsw, place_perfcntr,
                                       place_span, place_kernel};

/* With what the function around the probe takes. Records in a row come to all that a record does
 * now and then. */
TEST(probes_take_no_more_stack_than_is_told) {
    size_t most = 0;
    stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(stack != MAP_FAILED);
    assert_int_equal(places_start(NULL, 128), 0);
    for (unsigned p = 0; p < COUNT_OF(places); p++) {
        size_t first = used_in_thread(places[p], 1), row = used_in_thread(places[p], ROUNDS);
        printf("probe %u: %zu bytes in a first record, %zu in many\n", p, first, row);
        most = first > most ? first : most;
        most = row > most ? row : most;
    }
    spex_stop();
    munmap(stack, STACK_BYTES);
    assert_in_range(most, 1, bytes_told());
}

int main(int argc, char **argv) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
    printf("SKIP: stack frames are other ones with a sanitizer or without optimisation\n");
    return 77;
#endif
    page = argc > 1 ? argv[1] : "docs/programs.md";
    return tests_run(NULL, NULL);
}
