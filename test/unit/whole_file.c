/* SPDX-License-Identifier: MIT */
/* Files that are read and written as a whole, or as lines: limits, links, what is no regular
 * file, full disks. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include "../explore/scratch.h"
#include "../open_descriptors.h"
#include "base/files/trusted_path.h"
#include "base/files/whole_file.h"

#define MIB ((size_t)1 << 20)

static struct spex_error why;

static void expect_text(const char *path, const char *expected) {
    char *text;
    size_t length;
    if (spex_whole_file_read(path, SPEX_FILE_ANY, MIB, &text, &length, &why))
        fail_msg("%s", why.text);
    assert_string_equal(text, expected);
    assert_int_equal(length, strlen(expected));
    free(text);
}

static int put(const char *path, const char *text) {
    why.text[0] = '\0';
    return spex_whole_file_write(path, text, strlen(text), &why);
}

static size_t files_here(void) {
    size_t count = 0;
    DIR *here = opendir(".");
    assert_non_null(here);
    while (readdir(here))
        count++;
    closedir(here);
    return count;
}

static size_t descriptors_before;

static int descriptors_note(void **state) {
    (void)state;
    descriptors_before = open_descriptors();
    return 0;
}

static int descriptors_are_closed(void **state) {
    (void)state;
    assert_int_equal(open_descriptors(), descriptors_before);
    return 0;
}

TEST_WITH(what_is_read_has_a_limit, descriptors_note, descriptors_are_closed) {
    static char bytes[MIB + 1];
    char *text;
    size_t length;
    scratch_write("large", bytes, MIB);
    assert_int_equal(spex_whole_file_read("large", SPEX_FILE_ANY, MIB, &text, &length, &why), 0);
    assert_int_equal(length, MIB);
    free(text);
    scratch_write("large", bytes, MIB + 1);
    assert_int_equal(spex_whole_file_read("large", SPEX_FILE_ANY, MIB, &text, &length, &why),
                     -EFBIG);
    assert_int_equal(spex_whole_file_read("/dev/zero", SPEX_FILE_ANY, MIB, &text, &length, &why),
                     -EFBIG);
    assert_string_equal(why.text, "cannot read /dev/zero: at most 1 MiB were expected");
    assert_null(text);
    assert_int_equal(spex_whole_file_read("absent", SPEX_FILE_ANY, MIB, &text, &length, &why),
                     -ENOENT);
    assert_int_equal(spex_whole_file_read(".", SPEX_FILE_ANY, MIB, &text, &length, &why), -EISDIR);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    static const char *const others[] = {"pipe", "/dev/zero", "."};
    for (size_t o = 0; o < sizeof(others) / sizeof(others[0]); o++) {
        assert_int_equal(
            spex_whole_file_read(others[o], SPEX_FILE_REGULAR, MIB, &text, &length, &why), -EINVAL);
        assert_non_null(strstr(why.text, ": a regular file was expected"));
    }
    unlink("pipe");
    scratch_text("empty", "");
    expect_text("empty", "");
}

/* Sizes around those of what is read at once, and limits around the sizes. */
TEST_WITH(all_is_read_up_to_the_limit, descriptors_note, descriptors_are_closed) {
    enum { SIZES = 9000 };
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 8191, 8192, 8193, SIZES};
    static char bytes[SIZES];
    for (size_t b = 0; b < SIZES; b++)
        bytes[b] = (char)(1 + b % 101);
    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        scratch_write("sized", bytes, sizes[s]);
        for (size_t m = 0; m < COUNT_OF(sizes); m++) {
            char *text;
            size_t length;
            int err =
                spex_whole_file_read("sized", SPEX_FILE_REGULAR, sizes[m], &text, &length, &why);
            assert_int_equal(err, sizes[s] <= sizes[m] ? 0 : -EFBIG);
            assert_int_equal(text == NULL, err != 0);
            if (err)
                continue;
            assert_int_equal(length, sizes[s]);
            assert_memory_equal(text, bytes, length);
            assert_int_equal(text[length], '\0');
            free(text);
        }
    }
    unlink("sized");
}

/* What is looked at before a program runs for long. */
TEST_WITH(what_cannot_be_written_is_known_before, descriptors_note, descriptors_are_closed) {
    size_t files = files_here();
    assert_int_equal(spex_whole_file_check("absent/file"), -ENOENT);
    assert_int_equal(spex_whole_file_check("."), -EISDIR);
    assert_int_equal(spex_whole_file_check("/dev/full"), 0);
    scratch_text("kept", "text");
    assert_int_equal(spex_whole_file_check("kept"), 0);
    expect_text("kept", "text");
    unlink("kept");
    assert_int_equal(spex_whole_file_check("new"), 0);
    assert_int_equal(files_here(), files);
}

TEST_WITH(lines_come_into_an_empty_file, descriptors_note, descriptors_are_closed) {
    assert_int_equal(spex_line_file_open("absent/file"), -ENOENT);
    assert_int_equal(spex_line_file_open("."), -EISDIR);
    scratch_text("lines", "old text");
    assert_int_equal(symlink("lines", "link"), 0);
    int fd = spex_line_file_open("link");
    assert_true(fd >= 0);
    expect_text("lines", "");
    assert_int_equal(write(fd, "new", 3), 3);
    expect_text("lines", "new");
    close(fd);
    fd = spex_line_file_open("made");
    assert_true(fd >= 0);
    close(fd);
    fd = spex_line_file_open("/dev/null");
    assert_true(fd >= 0);
    close(fd);
    int ends[2];
    char path[32];
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof(path), "/dev/fd/%d", ends[1]);
    fd = spex_line_file_open(path);
    assert_true(fd >= 0);
    close(fd);
    close(ends[0]);
    close(ends[1]);
    unlink("link");
    unlink("lines");
    unlink("made");
}

/* The new file has another inode, and the mode of the old. */
TEST_WITH(the_old_or_all_of_the_new, descriptors_note, descriptors_are_closed) {
    struct stat old, new;
    assert_int_equal(put("page", "first"), 0);
    assert_int_equal(chmod("page", 0640), 0);
    int reader = open("page", O_RDONLY);
    char text[8] = "";
    assert_int_equal(put("page", "second"), 0);
    assert_int_equal(read(reader, text, sizeof(text) - 1), 5);
    assert_string_equal(text, "first");
    assert_int_equal(fstat(reader, &old), 0);
    assert_int_equal(stat("page", &new), 0);
    assert_int_equal(new.st_mode & 07777, 0640);
    assert_true(old.st_ino != new.st_ino);
    close(reader);
    expect_text("page", "second");
}

TEST_WITH(links_are_followed, descriptors_note, descriptors_are_closed) {
    assert_int_equal(mkdir("place", 0700), 0);
    assert_int_equal(symlink("place/second", "first"), 0);
    assert_int_equal(symlink("real", "place/second"), 0);
    assert_int_equal(put("first", "new"), 0); /* what they lead to is not there yet */
    expect_text("place/real", "new");
    assert_int_equal(put("first", "newer"), 0);
    expect_text("place/real", "newer");
    struct stat link;
    assert_int_equal(lstat("first", &link), 0);
    assert_true(S_ISLNK(link.st_mode));
    assert_int_equal(symlink("round", "round"), 0);
    assert_int_equal(put("round", "x"), -ELOOP);
    assert_int_equal(put("place", "x"), -EISDIR);
    assert_int_equal(put("absent/x", "x"), -ENOENT);
    assert_string_equal(why.text, "cannot write absent/x: No such file or directory");
}

/* As many as the kernel follows: 40. */
TEST_WITH(so_many_links_are_followed, descriptors_note, descriptors_are_closed) {
    enum { LINKS = 40 };
    char name[16], next[16];
    for (unsigned l = 0; l <= LINKS; l++) {
        snprintf(name, sizeof(name), "link_%u", l);
        snprintf(next, sizeof(next), "link_%u", l + 1);
        assert_int_equal(symlink(next, name), 0);
    }
    assert_int_equal(put("link_0", "x"), -ELOOP);
    assert_int_equal(put("link_1", "behind all"), 0);
    expect_text("link_41", "behind all");
    for (unsigned l = 0; l <= LINKS + 1; l++) {
        snprintf(name, sizeof(name), "link_%u", l);
        assert_int_equal(unlink(name), 0);
    }
}

static void expect_target(const char *path, int expected, const char *name) {
    char *target;
    assert_int_equal(spex_whole_file_target(path, &target), expected);
    if (expected == 0)
        assert_string_equal(target, name);
    else
        assert_null(target);
    free(target);
}

/* What is to be replaced is a regular file, or not there yet. */
TEST_WITH(a_target_is_a_file_or_nothing, descriptors_note, descriptors_are_closed) {
    scratch_text("there", "text");
    assert_int_equal(mkdir("folder", 0700), 0);
    assert_int_equal(mkfifo("folder/fifo", 0600), 0);
    assert_int_equal(symlink("there", "to_file"), 0);
    assert_int_equal(symlink("folder/absent", "to_nothing"), 0);
    assert_int_equal(symlink("folder", "to_folder"), 0);
    assert_int_equal(symlink("folder/fifo", "to_fifo"), 0);
    assert_int_equal(symlink("to_itself", "to_itself"), 0);
    expect_target("there", 0, "there");
    expect_target("to_file", 0, "there");
    expect_target("to_nothing", 0, "folder/absent");
    expect_target("absent", 0, "absent");
    expect_target("folder", -EISDIR, NULL);
    expect_target("to_folder", -EISDIR, NULL);
    expect_target("to_fifo", -EINVAL, NULL);
    expect_target("to_itself", -ELOOP, NULL);
    expect_text("there", "text");
}

/* A name of its own beside the target, whose mode it has. */
TEST_WITH(a_file_beside_the_target, descriptors_note, descriptors_are_closed) {
    char *name, *other;
    struct stat beside;
    scratch_text("target", "old");
    assert_int_equal(chmod("target", 0604), 0);
    int fd = spex_whole_file_open_beside("target", &name);
    assert_true(fd >= 0);
    assert_int_equal(strncmp(name, ".spex-", 6), 0);
    assert_int_equal(strlen(name), 6 + 16);
    assert_int_equal(fstat(fd, &beside), 0);
    assert_int_equal(beside.st_mode & 07777, 0604);
    assert_int_equal(beside.st_size, 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(mkdir("side", 0700), 0);
    fd = spex_whole_file_open_beside("side/new", &other);
    assert_true(fd >= 0);
    assert_int_equal(strncmp(other, "side/.spex-", 11), 0);
    assert_string_not_equal(other + strlen("side/"), name);
    close(fd);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(unlink(other), 0);
    free(name);
    free(other);
    assert_int_equal(spex_whole_file_open_beside("absent/new", &name), -ENOENT);
    assert_null(name);
    expect_text("target", "old");
}

/* Nothing that another user has put in a directory of everybody's is written to. */
TEST_WITH(links_of_others_are_not, descriptors_note, descriptors_are_closed) {
    assert_int_equal(mkdir("shared", 0700), 0);
    assert_int_equal(chmod("shared", 01777), 0);
    scratch_text("victim", "mine");
    assert_int_equal(symlink("../victim", "shared/page.part"), 0);
    assert_int_equal(put("shared/page", "new"), 0);
    expect_text("victim", "mine");
    assert_int_equal(symlink("../victim", "shared/link"), 0);
    if (lchown("shared/link", 65534, 65534) != 0)
        skip(); /* only root can give a link away */
    assert_int_equal(put("shared/link", "new"), -EACCES);
    assert_int_equal(spex_whole_file_check("shared/link"), -EACCES);
    assert_int_equal(spex_line_file_open("shared/link"), -EACCES);
    expect_text("victim", "mine");
    scratch_text("shared/file", "theirs");
    assert_int_equal(mkfifo("shared/pipe", 0666), 0);
    assert_int_equal(chown("shared/file", 65534, 65534), 0);
    assert_int_equal(chown("shared/pipe", 65534, 65534), 0);
    assert_int_equal(spex_line_file_open("shared/file"), -EACCES);
    assert_int_equal(spex_line_file_open("shared/pipe"), -EACCES);
    assert_int_equal(spex_path_open("shared/link", O_WRONLY | O_CREAT), -EACCES);
    assert_int_equal(spex_path_open("shared/file", O_WRONLY | O_CREAT), -EACCES);
    expect_text("shared/file", "theirs");
    /* It is replaced, and not by one that they can write to. */
    mode_t mask = umask(0027);
    struct stat found;
    assert_int_equal(chmod("shared/file", 0666), 0);
    assert_int_equal(put("shared/file", "mine"), 0);
    umask(mask);
    assert_int_equal(stat("shared/file", &found), 0);
    assert_int_equal(found.st_mode & 0777, 0640);
    assert_int_equal(found.st_uid, geteuid());
    unlink("shared/file");
    unlink("shared/pipe");
}

/* In a place that only its owner writes to, or that is the other user's. */
TEST_WITH(links_of_others_elsewhere_are_followed, descriptors_note, descriptors_are_closed) {
    assert_int_equal(mkdir("theirs", 0700), 0);
    assert_int_equal(symlink("real", "theirs/link"), 0);
    if (lchown("theirs/link", 65534, 65534) != 0)
        skip(); /* only root can give a link away */
    static const struct {
        mode_t mode;
        uid_t owner;
        int result;
    } places[] = {{0755, 0, 0},      {0777, 0, 0},        {01755, 0, 0},
                  {01777, 65534, 0}, {01777, 0, -EACCES}, {01777, 65533, -EACCES}};
    for (size_t p = 0; p < COUNT_OF(places); p++) {
        assert_int_equal(chown("theirs", places[p].owner, 0), 0);
        assert_int_equal(chmod("theirs", places[p].mode), 0);
        assert_int_equal(put("theirs/link", "new"), places[p].result);
        if (places[p].result == 0) {
            expect_text("theirs/real", "new");
            unlink("theirs/real");
        }
    }
    unlink("theirs/link");
    assert_int_equal(symlink("real", "link_of_theirs"), 0);
    assert_int_equal(lchown("link_of_theirs", 65534, 65534), 0);
    assert_int_equal(put("link_of_theirs", "new"), 0);
    expect_text("real", "new");
    unlink("link_of_theirs");
    unlink("real");
    rmdir("theirs");
}

TEST_WITH(a_pipe_is_written_to, descriptors_note, descriptors_are_closed) {
    char text[8] = "";
    assert_int_equal(mkfifo("pipe", 0600), 0);
    int reader = open("pipe", O_RDONLY | O_NONBLOCK);
    assert_int_equal(symlink("pipe", "to_pipe"), 0);
    assert_int_equal(put("to_pipe", "new"), 0);
    assert_int_equal(read(reader, text, sizeof(text) - 1), 3);
    assert_string_equal(text, "new");
    close(reader);
}

enum { LONG = 300000 };

static char long_text[LONG + 1], long_read[LONG + 1];

/* All that comes through a pipe, until it is closed. */
static void *reads_all(void *unused) {
    (void)unused;
    size_t length = 0;
    ssize_t got = 1;
    int fd = open("long", O_RDONLY);
    while (fd >= 0 && got > 0 && length < LONG) {
        got = read(fd, long_read + length, LONG - length);
        length += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    return NULL;
}

static void *writes_all(void *unused) {
    (void)unused;
    int fd = open("long", O_WRONLY);
    for (size_t at = 0; fd >= 0 && at < LONG;) {
        ssize_t put_there = write(fd, long_text + at, LONG - at < 7000 ? LONG - at : 7000);
        at += put_there > 0 ? (size_t)put_there : LONG;
    }
    close(fd);
    return NULL;
}

/* More than a pipe holds. */
TEST_WITH(all_goes_through_a_pipe, descriptors_note, descriptors_are_closed) {
    pthread_t thread;
    char *text;
    size_t length;
    for (size_t b = 0; b < LONG; b++)
        long_text[b] = (char)('a' + b % 23);
    assert_int_equal(mkfifo("long", 0600), 0);
    assert_int_equal(pthread_create(&thread, NULL, reads_all, NULL), 0);
    assert_int_equal(put("long", long_text), 0);
    pthread_join(thread, NULL);
    assert_memory_equal(long_read, long_text, LONG);
    assert_int_equal(pthread_create(&thread, NULL, writes_all, NULL), 0);
    assert_int_equal(spex_whole_file_read("long", SPEX_FILE_ANY, LONG, &text, &length, &why), 0);
    pthread_join(thread, NULL);
    assert_int_equal(length, LONG);
    assert_memory_equal(text, long_text, LONG);
    free(text);
    unlink("long");
}

/* A command that is to end, and has blocked the signal, does not wait for the other end. */
TEST_WITH(pipes_are_not_waited_for_at_the_end, descriptors_note, descriptors_are_closed) {
    char *text;
    size_t length;
    int number;
    sigset_t end;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    assert_int_equal(mkfifo("lonely", 0600), 0);
    sigprocmask(SIG_BLOCK, &end, NULL);
    raise(SIGTERM);
    assert_int_equal(spex_whole_file_read("lonely", SPEX_FILE_ANY, MIB, &text, &length, &why),
                     -EINTR);
    assert_string_equal(why.text, "cannot read lonely: ended by a signal");
    assert_int_equal(put("lonely", "x"), -ENXIO);
    assert_string_equal(why.text, "cannot write lonely: nobody reads it");
    assert_int_equal(sigwait(&end, &number), 0);
    sigprocmask(SIG_UNBLOCK, &end, NULL);
}

/* The limit of a file's size stands for a full disk. */
TEST_WITH(what_cannot_be_written_leaves_the_old, descriptors_note, descriptors_are_closed) {
    struct rlimit before, little;
    assert_int_equal(put("kept", "old"), 0);
    size_t files = files_here();
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    little = (struct rlimit){.rlim_cur = 4, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    int err = put("kept", "newer");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(err, -EFBIG);
    expect_text("kept", "old");
    assert_int_equal(files_here(), files);
}

int main(void) {
    return tests_run(scratch_enter, scratch_leave);
}
