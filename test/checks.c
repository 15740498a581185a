/* SPDX-License-Identifier: MIT */
/* The tests of a program, and what they leave behind in its process: descriptors that were not open
 * before them, and files that were not mapped. */
#include <dirent.h>
#include <limits.h>

#include "check.h"

enum { DESCRIPTORS_SEEN = 1 << 16, FILES_MAPPED = 512 };

struct open_before {
    bool known;
    unsigned char seen[DESCRIPTORS_SEEN / 8];
    size_t mapped_count;
    unsigned long mapped[FILES_MAPPED]; /* inodes */
};

/* What the library keeps by design, and why. */
static bool is_kept(const char *name) {
    static const char *const kept[] = {
        "anon_inode:[perf_event]", /* a thread's counters are its own until it ends */
        "/usr/",                   /* what the C library maps once for locales and character sets */
    };
    for (size_t k = 0; k < sizeof(kept) / sizeof(kept[0]); k++)
        if (strncmp(name, kept[k], strlen(kept[k])) == 0)
            return true;
    return false;
}

/* The next number but the folder's own; -1 at the end. */
static int descriptor_next(DIR *folder) {
    for (struct dirent *entry; (entry = readdir(folder));) {
        int fd = entry->d_name[0] == '.' ? -1 : atoi(entry->d_name);
        if (fd >= 0 && fd != dirfd(folder) && fd < DESCRIPTORS_SEEN)
            return fd;
    }
    return -1;
}

/* Without fopen() and open(), which tests put themselves in the place of. */
static FILE *maps_open(void) {
    int fd = openat(AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    return fd < 0 ? NULL : fdopen(fd, "r");
}

/* The next file that is mapped, and whether its code is: a shared object's. Returns its inode, or 0
 * at the end. */
static unsigned long mapped_next(FILE *maps, char name[static PATH_MAX], bool *is_code) {
    char line[PATH_MAX + 128], rights[8];
    unsigned long inode = 0;
    *is_code = false;
    while (!inode && fgets(line, sizeof(line), maps)) {
        name[0] = '\0';
        if (sscanf(line, "%*s %7s %*s %*s %lu %4095[^\n]", rights, &inode, name) < 2)
            inode = 0;
        *is_code = rights[2] == 'x';
    }
    return inode;
}

static bool is_mapped_before(const struct open_before *before, unsigned long inode) {
    for (size_t i = 0; i < before->mapped_count; i++)
        if (before->mapped[i] == inode)
            return true;
    return false;
}

static void mapped_note(struct open_before *before, bool only_code) {
    char name[PATH_MAX];
    bool is_code;
    FILE *maps = maps_open();
    for (unsigned long inode; maps && (inode = mapped_next(maps, name, &is_code));)
        if ((is_code || !only_code) && before->mapped_count < FILES_MAPPED &&
            !is_mapped_before(before, inode))
            before->mapped[before->mapped_count++] = inode;
    if (maps)
        fclose(maps);
}

/* Not where it has no /proc. */
static void open_before_read(struct open_before *before) {
    DIR *folder = opendir("/proc/self/fd");
    *before = (struct open_before){.known = folder != NULL};
    for (int fd; folder && (fd = descriptor_next(folder)) >= 0;)
        before->seen[fd / 8] |= (unsigned char)(1 << fd % 8);
    if (folder)
        closedir(folder);
    mapped_note(before, false);
}

/* Returns how many are open that were not, and names them. */
static int left_open(const struct open_before *before) {
    int left = 0;
    DIR *folder = before->known ? opendir("/proc/self/fd") : NULL;
    for (int fd; folder && (fd = descriptor_next(folder)) >= 0;) {
        if (before->seen[fd / 8] & 1 << fd % 8)
            continue;
        char number[16], what[PATH_MAX];
        snprintf(number, sizeof(number), "%d", fd);
        ssize_t length = readlinkat(dirfd(folder), number, what, sizeof(what) - 1);
        what[length > 0 ? length : 0] = '\0';
        if (is_kept(what))
            continue;
        fprintf(stderr, "descriptor %d is left open: %s\n", fd, what);
        left++;
    }
    if (folder)
        closedir(folder);
    return left;
}

/* As left_open(). Shared objects that a test has loaded do not count. */
static int left_mapped(struct open_before *before) {
    char name[PATH_MAX];
    bool is_code;
    int left = 0;
    mapped_note(before, true);
    FILE *maps = before->known ? maps_open() : NULL;
    for (unsigned long inode; maps && (inode = mapped_next(maps, name, &is_code));) {
        if (is_mapped_before(before, inode) || is_kept(name))
            continue;
        fprintf(stderr, "a file is left mapped: %s\n", name);
        left++;
    }
    if (maps)
        fclose(maps);
    return left;
}

int check_group(const char *name, const struct CMUnitTest *tests, size_t count,
                CMFixtureFunction setup, CMFixtureFunction teardown) {
    struct open_before before;
    open_before_read(&before);
    int failed = _cmocka_run_group_tests(name, tests, count, setup, teardown);
    return failed + left_open(&before) + left_mapped(&before);
}

enum { CHECKS_MAX = 128 };

/* By their lines. */
static struct check *checks;

void tests_add(struct check *check) {
    struct check **at = &checks;
    while (*at && (*at)->line < check->line)
        at = &(*at)->next;
    check->next = *at;
    *at = check;
}

int tests_run(CMFixtureFunction setup, CMFixtureFunction teardown) {
    static struct CMUnitTest tests[CHECKS_MAX];
    size_t count = 0;
    for (const struct check *check = checks; check && count < CHECKS_MAX; check = check->next)
        tests[count++] = check->test;
    if (count == 0 || count == CHECKS_MAX)
        return fprintf(stderr, "1 to %d tests were expected\n", CHECKS_MAX - 1);
    return check_group("tests", tests, count, setup, teardown);
}
