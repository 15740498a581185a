/* SPDX-License-Identifier: MIT */
/* A program that knows nothing of kernels, compiled by functions.py in several ways and languages:
 *
 *     work ROUNDS SIZE [wait]    says that it is done, and waits until its input ends */
#include <stdio.h>
#include <stdlib.h>

#include <spex/functions.h>
#include <spex/spex.h>

static volatile unsigned long sink;

#define NOINLINE __attribute__((noinline))

NOINLINE static void add_up(unsigned long size) {
    spex_parameter("size", size);
    for (unsigned long i = 0; i < size; i++)
        sink = sink + i;
}

#ifdef __cplusplus
namespace work {
template <typename Size> struct rows {
    NOINLINE void scan(Size size) const {
        add_up(size);
    }
    NOINLINE Size operator()(Size size) const {
        scan(size);
        return size;
    }
};
} // namespace work

NOINLINE static void one_round(unsigned long size) {
    work::rows<unsigned long>()(size);
}
#else
NOINLINE static void one_round(unsigned long size) {
    add_up(size);
}
#endif

#ifdef __cplusplus
extern "C" void other_object(unsigned long size);
#else
void other_object(unsigned long size);
#endif

int main(int argc, char **argv) {
    if (argc < 3 || spex_start(NULL) != 0)
        return 1;
    for (int round = 0; round < atoi(argv[1]); round++) {
        one_round(strtoul(argv[2], NULL, 10));
        other_object(1);
    }
    if (argc > 3) {
        puts("done");
        fflush(stdout);
        while (getchar() != EOF)
            continue;
    }
    return 0;
}
