/* SPDX-License-Identifier: MIT */
/* How many CPUs there may be, by lists that a kernel may give, or without one. */
#define _GNU_SOURCE
#include "base/cpus.h"
#include "../check.h"

static struct {
    /* NULL: the file is not there. */
    const char *list;
    long counted;
} made;

static ssize_t made_read(const char *path, char *to, size_t size) {
    assert_string_equal(path, "/sys/devices/system/cpu/possible");
    assert_true(!made.list || strlen(made.list) < size);
    strcpy(to, made.list ? made.list : "");
    return made.list ? (ssize_t)strlen(made.list) : -1;
}

static long made_count(int name) {
    assert_int_equal(name, _SC_NPROCESSORS_CONF);
    return made.counted;
}

#define spex_descriptor_read_path made_read
#define sysconf                   made_count
#include "base/cpus.c"

TEST(the_last_number_counts) {
    static const struct {
        const char *list;
        long counted;
        unsigned cpus;
    } cases[] = {
        {"0\n", 7, 1},         {"0-3\n", 7, 4},   {"0-3", 7, 4},
        {"0-3,8-11\n", 7, 12}, {"0,2,4\n", 7, 5}, {"0-1,1023\n", 7, 1024},
        {"5", 7, 6},           {"19\n", 7, 20},   {"", 7, 7},
        {NULL, 7, 7},          {NULL, 1, 1},      {NULL, 0, 1},
        {NULL, -1, 1},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        made.list = cases[c].list;
        made.counted = cases[c].counted;
        assert_int_equal(spex_cpus_possible(), cases[c].cpus);
    }
}
