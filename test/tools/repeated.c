/* SPDX-License-Identifier: MIT */
/* What a service says again and again does not fill the disk of its log, and all of it is counted. */
#include <inttypes.h>

#include "../check.h"
#include "tools/common/complain.h"

enum { MESSAGES = 1000 };

/* How many lines standard error has had, and the number in the last one. */
static unsigned lines(FILE *said, uint64_t *number) {
    char line[256];
    unsigned count = 0;
    rewind(said);
    for (; fgets(line, sizeof(line), said); count++)
        *number = strtoull(line + strcspn(line, "0123456789"), NULL, 10);
    return count;
}

static void say(struct spex_repeated *repeated, unsigned from, unsigned count, uint64_t now_ns) {
    char text[64];
    for (unsigned m = from; m < from + count; m++) {
        snprintf(text, sizeof(text), "message %u", m);
        spex_repeated_complain(repeated, text, now_ns);
    }
}

TEST(some_are_said_and_all_are_counted) {
    struct spex_repeated repeated = {.who = "test: "};
    uint64_t number = 0;
    FILE *said = tmpfile();
    int before = dup(STDERR_FILENO);
    assert_non_null(said);
    dup2(fileno(said), STDERR_FILENO);
    say(&repeated, 0, MESSAGES, 5);
    assert_int_equal(lines(said, &number), SPEX_REPEATED_MOST);
    /* The minute is over, once. */
    spex_repeated_look(&repeated, 4 + SPEX_REPEATED_NS);
    assert_int_equal(lines(said, &number), SPEX_REPEATED_MOST);
    spex_repeated_look(&repeated, 5 + SPEX_REPEATED_NS);
    spex_repeated_look(&repeated, 6 + SPEX_REPEATED_NS);
    assert_int_equal(lines(said, &number), SPEX_REPEATED_MOST + 1);
    assert_int_equal(number, MESSAGES - SPEX_REPEATED_MOST);
    /* The same on end is said once. */
    for (unsigned m = 0; m < MESSAGES; m++)
        spex_repeated_complain(&repeated, "the same", 7 + SPEX_REPEATED_NS);
    assert_int_equal(lines(said, &number), SPEX_REPEATED_MOST + 2);
    spex_repeated_end(&repeated);
    assert_int_equal(lines(said, &number), SPEX_REPEATED_MOST + 2);
    say(&repeated, 0, SPEX_REPEATED_MOST + 3, 8 + SPEX_REPEATED_NS);
    spex_repeated_end(&repeated);
    assert_int_equal(lines(said, &number), 2 * SPEX_REPEATED_MOST + 3);
    assert_int_equal(number, 3);
    dup2(before, STDERR_FILENO);
    close(before);
    fclose(said);
}
