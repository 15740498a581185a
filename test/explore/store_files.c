/* SPDX-License-Identifier: MIT */
/* The store as a file: files of something else, partial copies, full disks, and a process that is
 * killed. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <sqlite3.h>

#include "explore/store/store.h"
#include "scratch.h"
#include "spaces.h"
#include "store_bench.h"

TEST(strangers) {
    static const char text[] = "These are notes, in a file that somebody would be sorry to lose.\n";
    struct bench bench = {0};
    begin(&bench);
    scratch_text("notes", text);
    expect_refused("notes", bench.file, "grid", program, -EEXIST, "is no store of spex");
    char kept[sizeof(text)] = "";
    FILE *in = fopen("notes", "r");
    assert_non_null(in);
    assert_int_equal(fread(kept, 1, sizeof(kept), in), sizeof(text) - 1);
    fclose(in);
    assert_string_equal(kept, text);

    sql("other.db", "CREATE TABLE exploration (x); INSERT INTO exploration VALUES (5)");
    expect_refused("other.db", bench.file, "grid", program, -EEXIST, "is no store of spex");
    assert_true(sql("other.db", "SELECT x FROM exploration") == 5);

    spex_store_close(bench.store);
    bench.store = NULL;
    sql(PATH, "PRAGMA user_version = 1");
    expect_refused(PATH, bench.file, "grid", program, -EEXIST, "another version of spex (format 1");
    sql(PATH, "PRAGMA user_version = 6; DELETE FROM exploration");
    expect_refused(PATH, bench.file, "grid", program, -EEXIST, "no complete store");
    end(&bench);
}

/* Somebody has put a view in the place of a table, which could have no end. */
TEST(views_are_not_looked_at) {
    struct spex_store *store;
    struct spex_error error;
    struct bench bench = {0};
    begin(&bench);
    spex_store_close(bench.store);
    bench.store = NULL;
    sql(PATH, "ALTER TABLE exploration RENAME TO moved; "
              "CREATE VIEW exploration AS SELECT * FROM moved");
    expect_refused(PATH, bench.file, "grid", program, -EIO, "prohibited");
    assert_int_equal(spex_store_read(PATH, &store, &error), -EIO);
    end(&bench);
}

/* A link that another user has left where everybody may put one, and a file of theirs. */
TEST(what_others_have_put_there_is_not_written_to) {
    struct bench bench = {0};
    begin(&bench);
    assert_int_equal(mkdir("shared", 0700), 0);
    assert_int_equal(chmod("shared", 01777), 0);
    assert_int_equal(symlink("../chosen.db", "shared/trials.db"), 0);
    scratch_text("shared/file.db", "");
    if (lchown("shared/trials.db", 65534, 65534) == 0) { /* only root can give it away */
        assert_int_equal(chown("shared/file.db", 65534, 65534), 0);
        expect_refused("shared/trials.db", bench.file, "grid", program, -EACCES, "denied");
        expect_refused("shared/file.db", bench.file, "grid", program, -EACCES, "denied");
        assert_int_equal(access("chosen.db", F_OK), -1);
    }
    unlink("shared/trials.db");
    unlink("shared/file.db");
    rmdir("shared");
    end(&bench);
}

TEST(no_file) {
    struct bench bench = {0};
    begin(&bench);
    expect_refused(".", bench.file, "grid", program, -EISDIR, "Is a directory");
    expect_refused("missing/trials.db", bench.file, "grid", program, -ENOENT, "No such file");
    expect_refused(PATH "/trials.db", bench.file, "grid", program, -ENOTDIR, "Not a directory");
    scratch_text("read-only", "");
    assert_int_equal(chmod("read-only", 0444), 0);
    if (geteuid() != 0) /* root may write everywhere */
        expect_refused("read-only", bench.file, "grid", program, -EACCES, "Permission denied");
    end(&bench);
}

/* Descriptors that a program would inherit. */
static int inherited(void) {
    int count = 0;
    for (int fd = 0; fd < 1024; fd++) {
        int flags = fcntl(fd, F_GETFD);
        count += flags >= 0 && !(flags & FD_CLOEXEC);
    }
    return count;
}

/* Who may read the store is the user's affair, and programs that are explored do not have it. */
TEST(whose_the_file_is) {
    static const mode_t masks[] = {0, 022, 077};
    struct stat file;
    for (size_t m = 0; m < COUNT_OF(masks); m++) {
        struct bench bench = {0};
        mode_t before = umask(masks[m]);
        int inheritable = inherited();
        unlink(PATH);
        begin(&bench);
        umask(before);
        assert_int_equal(inherited(), inheritable);
        assert_int_equal(stat(PATH, &file), 0);
        assert_int_equal(file.st_mode & 0777, 0666 & ~masks[m]);
        end(&bench);
    }
}

TEST(nothing_to_read) {
    static const struct {
        const char *path;
        int err;
        const char *phrase;
    } cases[] = {
        {"missing.db", -ENOENT, "No such file"},
        {"missing/trials.db", -ENOENT, "No such file"},
        {"empty", -EEXIST, "is no store of spex"},
        {"words", -EEXIST, "is no store of spex"},
        {".", -EISDIR, "Is a directory"},
        {"pipe", -EINVAL, "a regular file was expected"},
        {"cut", -EINVAL, "a regular file was expected"},
    };
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(mkfifo("cut-journal", 0600), 0);
    scratch_text("cut", "");
    scratch_text("empty", "");
    scratch_text("words",
                 "not a database, but longer than a database's first hundred bytes, so that "
                 "it is looked at and found to be none.\n");
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct spex_store *store = (void *)1;
        struct spex_error why = {""};
        int err = spex_store_read(cases[c].path, &store, &why);
        if (err != cases[c].err || store || !strstr(why.text, cases[c].phrase) ||
            !strstr(why.text, cases[c].path))
            fail_msg("%s: %d %s", cases[c].path, err, why.text);
    }
    assert_int_equal(access("missing.db", F_OK), -1); /* reading makes no file */
}

static void copy(const char *from, const char *to) {
    char bytes[4096];
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    assert_true(in && out);
    for (size_t got; (got = fread(bytes, 1, sizeof(bytes), in)) > 0;)
        assert_int_equal(fwrite(bytes, 1, got, out), got);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

/* Without its log it has not all of its trials. */
TEST(copied_in_part) {
    struct bench bench;
    struct spex_store *store;
    struct spex_error why = {""};
    begin(&bench);
    must_add(&bench, 0, 0, 1, NULL);
    copy(PATH, "copy.db");
    assert_int_equal(spex_store_read("copy.db", &store, &why), -EBADMSG);
    assert_non_null(strstr(why.text, "copy.db-wal"));
    assert_int_equal(spex_store_read("copy.db", &store, &why), -EBADMSG); /* it makes none itself */
    copy(PATH "-wal", "copy.db-wal");
    struct bench whole = {.file = bench.file};
    assert_int_equal(spex_store_read("copy.db", &whole.store, &why), 0);
    assert_int_equal(count_trials(&whole), 1);
    spex_store_close(whole.store);
    end(&bench);
    unlink("copy.db-wal");
    unlink("copy.db-shm");
    copy(PATH, "copy.db"); /* it has become one file */
    assert_int_equal(spex_store_read("copy.db", &store, &why), 0);
    spex_store_close(store);
    unlink("copy.db");
}

/* In a child: no file may grow beyond what the store has now. */
static int add_on_full_disk(void) {
    struct bench bench = {0};
    struct spex_error why = {""};
    struct stat file;
    bench.file = space_of(xml);
    bench.number = 3; /* trials that are there */
    open_again(&bench);
    assert_int_equal(stat(PATH, &file), 0);
    struct rlimit limit = {(rlim_t)file.st_size, (rlim_t)file.st_size};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    size_t added = 0;
    int err = 0;
    while (!err && added < 1000) {
        err = add(&bench, 0, 0, (double)added, NULL, &why);
        added += !err;
    }
    /* Whatever fails, the store in hand still tells the truth. */
    bool right = err && err != -EEXIST && *why.text && count_trials(&bench) == 3 + added;
    end(&bench);
    return right ? (int)added : 255;
}

TEST(full_disk) {
    struct bench bench = {0};
    int status;
    begin(&bench);
    for (size_t t = 0; t < 3; t++)
        must_add(&bench, t, 1, (double)t, NULL);
    spex_store_close(bench.store);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(add_on_full_disk());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_not_equal(WEXITSTATUS(status), 255);
    size_t whole = 3 + (size_t)WEXITSTATUS(status);
    open_again(&bench);
    assert_int_equal(count_trials(&bench), whole);
    assert_true(sql(PATH, "SELECT count(*) FROM trial_value") == 2 * (double)whole);
    assert_true(sql(PATH, "SELECT count(*) FROM trial_metric") == 2 * (double)whole);
    bench.number = whole;
    must_add(&bench, 3, 0, 9, NULL); /* with room again, it goes on */
    assert_int_equal(count_trials(&bench), whole + 1);
    end(&bench);
}

/* What is in the way of a machine is told. */
TEST(a_machine_that_cannot_be_written) {
    char text[] = "x";
    struct spex_circumstances now;
    struct bench bench = {0};
    struct spex_error why = {""};
    for (size_t c = 0; c < SPEX_ON_COUNT; c++)
        now.texts[c] = text;
    begin(&bench);
    spex_store_close(bench.store);
    sql(PATH, "CREATE INDEX full ON machine (json('no ' || host))");
    open_again(&bench);
    assert_true(spex_store_begin(bench.store, &now, false, &why) < 0);
    assert_string_equal(why.text, "cannot write to the store " PATH ": malformed JSON");
    end(&bench);
}

/* Killed while it made the store: pages are in the file, and a journal says to take them back. */
TEST(killed_at_the_start) {
    sqlite3 *db;
    struct stat file;
    assert_int_equal(sqlite3_open("half.db", &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "PRAGMA cache_size = 1; BEGIN; CREATE TABLE a (b);"
                                  "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c"
                                  " WHERE n < 100) INSERT INTO a SELECT randomblob(4000) FROM c",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    unlink(PATH);
    copy("half.db", PATH);
    copy("half.db-journal", PATH "-journal");
    assert_int_equal(stat(PATH, &file), 0);
    assert_true(file.st_size > 4096);
    struct bench bench = {.file = space_of(xml)};
    open_again(&bench);
    assert_int_equal(count_trials(&bench), 0);
    must_add(&bench, 0, 0, 1, NULL);
    end(&bench);
    sqlite3_close(db);
    unlink("half.db");
}

TEST(full_from_the_start) {
    struct bench bench = {0};
    int status;
    bench.file = space_of(xml);
    unlink(PATH);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit limit = {0, 0};
        struct spex_error why = {""};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        int err = spex_store_open(PATH, bench.file, "grid", program, &bench.store, &why);
        spex_space_free(bench.file);
        _exit(err < 0 && !bench.store && strstr(why.text, PATH) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    open_again(&bench); /* what was left is nobody's store: it becomes ours */
    must_add(&bench, 0, 0, 1, NULL);
    end(&bench);
}

/* What is stored in a file that nobody finds any more is copied, and said. */
TEST(removed_meanwhile) {
    static const char *const others[] = {NULL, "moved.db"};
    char copy[64], expected[128];
    snprintf(copy, sizeof(copy), PATH ".rescued-%d", (int)getpid());
    snprintf(expected, sizeof(expected), "they are in %s", copy);
    mode_t before = umask(0);
    for (size_t o = 0; o < COUNT_OF(others); o++) {
        struct bench bench = {0};
        struct spex_error why = {""};
        begin(&bench);
        must_add(&bench, 0, 0, 1, NULL);
        assert_int_equal(others[o] ? rename(PATH, others[o]) : unlink(PATH), 0);
        assert_int_equal(add(&bench, 1, 0, 2, NULL, &why), -ESTALE);
        assert_non_null(strstr(why.text, expected));
        assert_int_equal(add(&bench, 2, 0, 3, NULL, &why), -ESTALE); /* no copy is overwritten */
        assert_non_null(strstr(why.text, "File exists"));
        spex_store_close(bench.store);
        assert_int_equal(spex_store_read(copy, &bench.store, &why), 0);
        assert_int_equal(count_trials(&bench), 2);
        assert_int_equal(access(PATH, F_OK), -1);
        end(&bench);
        struct stat file;
        assert_int_equal(stat(copy, &file), 0);
        assert_int_equal(file.st_mode & 0777, 0666);
        assert_int_equal(unlink(copy), 0);
    }
    umask(before);
}

int main(void) {
    return tests_run(scratch_enter, scratch_leave);
}
