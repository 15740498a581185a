/* SPDX-License-Identifier: MIT */
/* Selections that stand for programs that start later: who may write them, and what is refused. */
#include "serving.h"

#include "wire/directory.h"
#include "wire/standing.h"

enum { NOBODY = 65534 };

/* *text stays where there is none. */
static int standing(char text[SPEX_CONTROL_TEXT_BYTES + 1]) {
    char *read;
    int err = spex_standing_read(serving_directory, "app", &read);
    assert_int_equal(err == 0, read != NULL);
    if (read)
        strcpy(text, read);
    free(read);
    return err;
}

/* In a directory of mode 0700, which serving_begin makes. */
static void a_standing_selection_is_its_users(void **state) {
    char text[SPEX_CONTROL_TEXT_BYTES + 1], path[SPEX_CONTROL_PATH_BYTES];
    int place = open(serving_directory, O_PATH | O_CLOEXEC), fds = serving_count("/proc/self/fd");
    (void)state;
    snprintf(path, sizeof(path), "%s/select-app", serving_directory);
    assert_int_equal(standing(text), -ENOENT);
    assert_int_equal(spex_standing_write(place, "../app", "query"), -EINVAL);
    assert_int_equal(spex_standing_write(place, "app", "query,parse"), 0);
    assert_int_equal(spex_standing_write(place, "app", "query"), 0);
    assert_int_equal(standing(text), 0);
    assert_string_equal(text, "query");
    assert_int_equal(serving_count(serving_directory), 1);
    assert_int_equal(chmod(serving_directory, 0755), 0);
    assert_int_equal(standing(text), -EPERM);
    assert_int_equal(chmod(serving_directory, 0700), 0);
    assert_int_equal(truncate(path, SPEX_CONTROL_TEXT_BYTES + 1), 0);
    assert_int_equal(standing(text), -E2BIG);
    assert_int_equal(truncate(path, 100), 0); /* zeros */
    assert_int_equal(standing(text), -EINVAL);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, NOBODY, (gid_t)-1), 0);
        assert_int_equal(standing(text), -EPERM);
    }
    assert_int_equal(spex_standing_write(place, "app", NULL), 0);
    assert_int_equal(symlink("/etc/hostname", path), 0);
    assert_int_equal(standing(text), -ELOOP);
    assert_int_equal(serving_count("/proc/self/fd"), fds);
    close(place);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_standing_selection_is_its_users, serving_begin,
                                        serving_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
