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
TEST_WITH(a_standing_selection_is_its_users, serving_begin, serving_end) {
    char text[SPEX_CONTROL_TEXT_BYTES + 1], path[SPEX_CONTROL_PATH_BYTES];
    int place = open(serving_directory, O_PATH | O_CLOEXEC), fds = serving_count("/proc/self/fd");
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

/* What is read of a file with this text; NULL: it is refused with `err`. */
static void check_file(const char *text, size_t size, int err, const char *expected) {
    char path[SPEX_CONTROL_PATH_BYTES], read[SPEX_CONTROL_TEXT_BYTES + 1] = "";
    snprintf(path, sizeof(path), "%s/select-app", serving_directory);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, text, size), (ssize_t)size);
    close(fd);
    assert_int_equal(standing(read), err);
    assert_string_equal(read, expected);
}

TEST_WITH(it_is_one_line, serving_begin, serving_end) {
    static char longest[SPEX_CONTROL_TEXT_BYTES + 1], line[SPEX_CONTROL_TEXT_BYTES + 1];
    check_file("query\n", 6, 0, "query");
    check_file("\n", 1, 0, "");
    check_file("", 0, -EINVAL, "");
    check_file("query", 5, -EINVAL, "");
    check_file("query\nparse\n", 12, -EINVAL, "");
    check_file("que\0ry\n", 7, -EINVAL, "");
    check_file("query\n\0", 7, -EINVAL, "");
    memset(longest, 'x', sizeof(longest));
    longest[SPEX_CONTROL_TEXT_BYTES - 1] = '\n';
    memcpy(line, longest, SPEX_CONTROL_TEXT_BYTES - 1);
    check_file(longest, SPEX_CONTROL_TEXT_BYTES, 0, line);
    check_file(longest, SPEX_CONTROL_TEXT_BYTES + 1, -E2BIG, "");
}

/* Whether a program of this name can have one, which is left behind by neither. */
static int name_err(int place, const char *program) {
    char *text = NULL;
    int err = spex_standing_write(place, program, "query");
    int read_err = spex_standing_read(serving_directory, program, &text);
    assert_int_equal(read_err, err ? -ENOENT : 0);
    assert_int_equal(text != NULL, !err);
    free(text);
    assert_int_equal(spex_standing_write(place, program, NULL), err);
    assert_int_equal(serving_count(serving_directory), 0);
    return err;
}

TEST_WITH(names_of_programs_are_plain, serving_begin, serving_end) {
    static const char *const good[] = {" ", "a b", "~", "app.so", "\xc3\xa4", "..", "-"};
    static const char *const bad[] = {"", "a/b", "/", "a\n", "\x1f", "\x7f", "a\tb"};
    int place = open(serving_directory, O_PATH | O_CLOEXEC);
    char name[160] = "";
    for (size_t n = 0; n < COUNT_OF(good); n++)
        assert_int_equal(name_err(place, good[n]), 0);
    for (size_t n = 0; n < COUNT_OF(bad); n++)
        assert_int_equal(name_err(place, bad[n]), -EINVAL);
    /* "select-" and up to 120 bytes. */
    for (size_t bytes = 1; bytes <= 130; bytes++) {
        name[bytes - 1] = 'x';
        assert_int_equal(name_err(place, name), bytes <= 120 ? 0 : -EINVAL);
    }
    close(place);
}

/* Everyone can read what is in a directory that nobody else can enter. */
TEST_WITH(it_is_written_as_a_whole, serving_begin, serving_end) {
    int place = open(serving_directory, O_PATH | O_CLOEXEC), file;
    char path[SPEX_CONTROL_PATH_BYTES];
    struct stat found;
    mode_t before = umask(077);
    assert_int_equal(spex_standing_write(place, "app", "query"), 0);
    umask(before);
    snprintf(path, sizeof(path), "%s/select-app", serving_directory);
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(found.st_mode, S_IFREG | 0644);
    assert_int_equal(found.st_size, 6);
    assert_int_equal(spex_standing_write(place, "app", NULL), 0);
    assert_int_equal(spex_standing_write(place, "app", NULL), 0);
    /* Where it cannot take its place, nothing is left of it; nor is what it was begun in touched. */
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(spex_standing_write(place, "app", "query"), -EISDIR);
    assert_int_equal(serving_count(serving_directory), 1);
    assert_int_equal(spex_standing_write(place, "app", NULL), -EISDIR);
    assert_int_equal(rmdir(path), 0);
    file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(spex_standing_write(file, "app", "query"), -ENOTDIR);
    assert_int_equal(spex_standing_write(file, "app", NULL), -ENOTDIR);
    close(file);
    close(place);
}
