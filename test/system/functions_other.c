/* SPDX-License-Identifier: MIT */
/* The part of functions.c that may be in a library of its own. */
void other_object(unsigned long size);

static volatile unsigned long other_sink;

static __attribute__((noinline)) void other_part(unsigned long size) {
    other_sink = other_sink + size;
}

void other_object(unsigned long size) {
    other_part(size);
    other_sink = other_sink + 1;
}
