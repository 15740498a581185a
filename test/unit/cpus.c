/* SPDX-License-Identifier: MIT */
/* How many CPUs there may be, by lists that a kernel may give, or without one. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"
#include "base/cpus.h"

enum { DESCRIPTOR = 5 };

static struct {
    /* NULL: the file is not there. */
    const char *list;
    long counted;
    unsigned open;
} made;

static int made_open(const char *path, int flags) {
    assert_string_equal(path, "/sys/devices/system/cpu/possible");
    assert_int_equal(flags, O_RDONLY | O_CLOEXEC);
    made.open += made.list != NULL;
    return made.list ? DESCRIPTOR : -1;
}

static ssize_t made_read(int fd, char *to, size_t size) {
    size_t length = strlen(made.list);
    assert_true(fd == DESCRIPTOR && length < size);
    memcpy(to, made.list, length);
    return (ssize_t)length;
}

static int made_close(int fd) {
    assert_int_equal(fd, DESCRIPTOR);
    made.open--;
    return 0;
}

static long made_count(int name) {
    assert_int_equal(name, _SC_NPROCESSORS_CONF);
    return made.counted;
}

#define open    made_open
#define read    made_read
#define close   made_close
#define sysconf made_count
#include "base/cpus.c"
#undef open
#undef close

static void the_last_number_counts(void **state) {
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
    (void)state;
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        made.list = cases[c].list;
        made.counted = cases[c].counted;
        assert_int_equal(spex_cpus_possible(), cases[c].cpus);
        assert_int_equal(made.open, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_number_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
