/* SPDX-License-Identifier: MIT */
/* CPUs in parts: whole cores, as many to each, and none where there are too few. */
#include <errno.h>

#include "../check.h"
#include "explore/trial/cpu_parts.h"

enum { CPUS_MAX = 16, NONE = 99 };

static const struct {
    const char *what;
    size_t cores[CPUS_MAX];
    size_t count, parts;
    int err;
    size_t cpus;
    size_t part_of[CPUS_MAX];
} cases[] = {
    {"one CPU", {0}, 1, 1, 0, 1, {0}},
    {"two cores, two parts", {0, 1}, 2, 2, 0, 1, {0, 1}},
    {"one core of two threads", {0, 0}, 2, 2, -EINVAL, 0, {0}},
    {"neighbours stay together", {0, 1, 0, 1}, 4, 2, 0, 2, {0, 1, 0, 1}},
    {"neighbours side by side", {0, 0, 2, 2, 4, 4, 6, 6}, 8, 2, 0, 4, {0, 0, 0, 0, 1, 1, 1, 1}},
    {"one is over", {0, 1, 2}, 3, 2, 0, 1, {0, 1, NONE}},
    {"a core that is ours in part", {0, 0, 2}, 3, 2, 0, 1, {0, 0, 1}},
    {"too many parts", {0, 1, 2}, 3, 4, -EINVAL, 0, {0}},
    {"no parts", {0, 1}, 2, 0, -EINVAL, 0, {0}},
    {"no CPUs", {0}, 0, 1, -EINVAL, 0, {0}},
};

TEST(divides) {
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        size_t part_of[CPUS_MAX], cpus;
        int err =
            spex_cpu_parts_divide(cases[c].cores, cases[c].count, cases[c].parts, part_of, &cpus);
        if (err != cases[c].err || (!err && cpus != cases[c].cpus))
            fail_msg("%s: %d, %zu CPUs", cases[c].what, err, cpus);
        for (size_t i = 0; i < cases[c].count && !err; i++)
            if (part_of[i] != (cases[c].part_of[i] == NONE ? SIZE_MAX : cases[c].part_of[i]))
                fail_msg("%s: CPU %zu is in part %zu", cases[c].what, i, part_of[i]);
    }
}

/* Of this machine: disjoint, within what we may use, as many as told. */
TEST(ours) {
    cpu_set_t allowed, seen, both;
    struct spex_cpu_parts parts;
    struct spex_error why = {""};
    assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    assert_int_equal(spex_cpu_parts_make(1, &parts, &why), 0);
    assert_true(CPU_EQUAL(&parts.parts[0], &allowed));
    spex_cpu_parts_free(&parts);
    if (spex_cpu_parts_make(2, &parts, &why) == 0) {
        CPU_ZERO(&seen);
        for (size_t p = 0; p < parts.count; p++) {
            assert_true((size_t)CPU_COUNT(&parts.parts[p]) >= parts.cpus && parts.cpus >= 1);
            CPU_AND(&both, &seen, &parts.parts[p]);
            assert_int_equal(CPU_COUNT(&both), 0);
            CPU_OR(&seen, &seen, &parts.parts[p]);
        }
        CPU_AND(&both, &seen, &allowed);
        assert_true(CPU_EQUAL(&both, &seen));
        spex_cpu_parts_free(&parts);
    }
    assert_int_equal(spex_cpu_parts_make((size_t)CPU_COUNT(&allowed) + 1, &parts, &why), -EINVAL);
    assert_non_null(strstr(why.text, "would disturb each other"));
    assert_null(parts.parts);
}
