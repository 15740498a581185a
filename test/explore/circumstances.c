/* SPDX-License-Identifier: MIT */
/* Circumstances: what this process says of itself, what makes a difference, and what the store does
 * about it. */
#include <elf.h>
#include <errno.h>
#include <sys/utsname.h>

#include <spex/spex.h>

#include "explore/store/circumstances.h"
#include "explore/store/store.h"
#include "scratch.h"
#include "spaces.h"

#define PATH "trials.db"

/* What the kernel calls the processor, where it has a name for it; else the kind of machine. */
static void expect_cpu(const char *told, const char *machine) {
    FILE *in = fopen("/proc/cpuinfo", "re");
    char line[512], named[512];
    bool found = false;
    while (in && !found && fgets(line, sizeof(line), in))
        found = sscanf(line, "model name : %511[^\n]", named) == 1;
    if (in)
        fclose(in);
    assert_string_equal(told, found ? named : machine);
}

TEST(of_this_process) {
    struct spex_circumstances now, again;
    struct utsname names;
    assert_int_equal(uname(&names), 0);
    assert_int_equal(spex_circumstances_now("/proc/self/exe", &now), 0);
    assert_int_equal(spex_circumstances_now("/proc/self/exe", &again), 0);
    assert_string_equal(now.texts[SPEX_ON_HOST], names.nodename);
    assert_string_equal(now.texts[SPEX_ON_KERNEL], names.release);
    assert_string_equal(now.texts[SPEX_ON_SPEX], SPEX_VERSION);
    assert_true(atoi(now.texts[SPEX_ON_CPUS]) >= 1);
    assert_true(atoi(now.texts[SPEX_ON_MEMORY]) >= 0);
    expect_cpu(now.texts[SPEX_ON_CPU], names.machine);
    assert_true(strlen(now.texts[SPEX_ON_BUILD]) > 8);
    assert_int_equal(spex_circumstances_differ(&now, &again), SPEX_ON_COUNT);
    spex_circumstances_free(&again);
    spex_circumstances_free(&now);
}

TEST(builds) {
    struct spex_circumstances own, script, path, missing;
    scratch_text("script", "#!/bin/sh\n");
    assert_int_equal(spex_circumstances_now("/proc/self/exe", &own), 0);
    assert_int_equal(spex_circumstances_now("./script", &script), 0);
    assert_int_equal(spex_circumstances_now("sh", &path), 0);
    assert_int_equal(spex_circumstances_now("no-such-program", &missing), 0);
    assert_non_null(strstr(script.texts[SPEX_ON_BUILD], "10 bytes of "));
    assert_string_not_equal(path.texts[SPEX_ON_BUILD], "unknown");
    assert_string_equal(missing.texts[SPEX_ON_BUILD], "unknown");
    assert_int_equal(spex_circumstances_differ(&own, &script), SPEX_ON_BUILD);
    assert_int_equal(spex_circumstances_differ(&own, &missing), SPEX_ON_COUNT);
    spex_circumstances_free(&own);
    spex_circumstances_free(&script);
    spex_circumstances_free(&path);
    spex_circumstances_free(&missing);
}

/* What is no program is not waited for. */
TEST(a_pipe_is_no_program) {
    struct spex_circumstances now;
    size_t descriptors = open_descriptors();
    assert_int_equal(mkfifo("pipe", 0700), 0);
    alarm(60);
    assert_int_equal(spex_circumstances_now("./pipe", &now), 0);
    alarm(0);
    assert_non_null(strstr(now.texts[SPEX_ON_BUILD], "0 bytes of "));
    spex_circumstances_free(&now);
    assert_int_equal(open_descriptors(), descriptors);
}

/* A program of a segment of two notes. */
struct notes {
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    char notes[64];
};

/* Notes are padded to 8 bytes in a segment of that alignment, to 4 in others. */
static struct notes program_of_notes(uint64_t alignment, Elf64_Nhdr build, const char *name) {
    struct notes file = {
        .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                               EV_CURRENT},
                   .e_type = ET_EXEC,
                   .e_machine = EM_X86_64,
                   .e_version = EV_CURRENT,
                   .e_phoff = sizeof(Elf64_Ehdr),
                   .e_ehsize = sizeof(Elf64_Ehdr),
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_phnum = 1},
        .segment = {.p_type = PT_NOTE,
                    .p_offset = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
                    .p_align = alignment},
    };
    const Elf64_Nhdr first = {2, 4, 77};
    size_t second = alignment == 8 ? 24 : 20;
    memcpy(file.notes, &first, sizeof(first));
    memcpy(file.notes + 12, "X\0\0\0abcd", 8);
    memcpy(file.notes + second, &build, sizeof(build));
    memcpy(file.notes + second + 12, name, 4);
    memcpy(file.notes + second + 16, "\x01\x9f\x10", 3);
    file.segment.p_filesz = second + 24;
    return file;
}

/* NULL: it has none, so that its size tells. */
static void expect_build(const struct notes *file, const char *build) {
    struct spex_circumstances now;
    char size[32];
    snprintf(size, sizeof(size), "%zu bytes of ", sizeof(*file));
    scratch_write("notes", file, sizeof(*file));
    assert_int_equal(spex_circumstances_now("./notes", &now), 0);
    if (build)
        assert_string_equal(now.texts[SPEX_ON_BUILD], build);
    else
        assert_memory_equal(now.texts[SPEX_ON_BUILD], size, strlen(size));
    spex_circumstances_free(&now);
}

TEST(builds_by_the_second_note) {
    static const Elf64_Nhdr build = {4, 3, NT_GNU_BUILD_ID}, longer = {4, 4, NT_GNU_BUILD_ID},
                            empty = {4, 0, NT_GNU_BUILD_ID}, other = {4, 3, NT_GNU_ABI_TAG};
    for (uint64_t alignment = 4; alignment <= 8; alignment += 4) {
        struct notes file = program_of_notes(alignment, build, "GNU");
        expect_build(&file, "019f10");
        file = program_of_notes(alignment, longer, "GNU");
        expect_build(&file, "019f1000");
        file = program_of_notes(alignment, empty, "GNU");
        expect_build(&file, NULL);
        file = program_of_notes(alignment, other, "GNU");
        expect_build(&file, NULL);
        file = program_of_notes(alignment, build, "GNX");
        expect_build(&file, NULL);
    }
}

/* Of another kind, behind the end of the file, or longer than it. */
TEST(segments_without_notes) {
    static const Elf64_Nhdr build = {4, 3, NT_GNU_BUILD_ID};
    struct notes whole = program_of_notes(4, build, "GNU"), file = whole;
    file.segment.p_type = PT_LOAD;
    expect_build(&file, NULL);
    file = whole;
    file.segment.p_offset = sizeof(file) + 64;
    expect_build(&file, NULL);
    file = whole;
    file.segment.p_filesz = 4 * sizeof(file);
    expect_build(&file, NULL);
    file = whole;
    file.header.e_phnum = 0;
    expect_build(&file, NULL);
}

static struct spex_circumstances made(const char *kernel, const char *host) {
    static const char *const texts[SPEX_ON_COUNT] = {"", "", "fast", "8", "16 GiB", "abc", "1"};
    struct spex_circumstances all;
    for (size_t c = 0; c < SPEX_ON_COUNT; c++)
        all.texts[c] = strdup(texts[c]);
    free(all.texts[SPEX_ON_HOST]);
    free(all.texts[SPEX_ON_KERNEL]);
    all.texts[SPEX_ON_HOST] = strdup(host);
    all.texts[SPEX_ON_KERNEL] = strdup(kernel);
    return all;
}

static int begin(struct spex_store *store, const char *kernel, const char *host, bool mixed,
                 struct spex_error *why) {
    struct spex_circumstances now = made(kernel, host);
    int err = spex_store_begin(store, &now, mixed, why);
    spex_circumstances_free(&now);
    return err;
}

static size_t machines(struct spex_store *store) {
    struct spex_circumstances *all;
    struct spex_error why;
    size_t count;
    assert_int_equal(spex_store_machines(store, &all, &count, &why), 0);
    size_t found = count;
    if (found)
        assert_string_equal(all[0].texts[SPEX_ON_KERNEL], "6.1");
    spex_store_machines_free(&all, &count);
    return found;
}

static bool is_mixed(struct spex_store *store, size_t first) {
    struct spex_circumstances *all;
    struct spex_error why;
    size_t count;
    assert_int_equal(spex_store_machines(store, &all, &count, &why), 0);
    /* In the order of their first trials: 6.1 of a, 6.1 of b, 6.2. */
    bool mixed = spex_circumstances_mixed(all, first);
    spex_store_machines_free(&all, &count);
    return mixed;
}

static struct spex_store *new_store(struct spex_space_file **file) {
    static char *const program[] = {(char *)(uintptr_t) "p", NULL};
    *file = space_of("<space name='s'><parameter name='a' type='integer' min='1' max='4'/>"
                     "<objective probe='q:lat' metric='mean' goal='minimise'/></space>");
    struct spex_store *store;
    struct spex_error why = {""};
    unlink(PATH);
    assert_int_equal(spex_store_open(PATH, *file, "grid", program, &store, &why), 0);
    return store;
}

TEST(in_the_store) {
    struct spex_space_file *file = NULL;
    struct spex_store *store = new_store(&file);
    struct spex_error why = {""};
    assert_int_equal(machines(store), 0);
    assert_int_equal(begin(store, "6.1", "a", false, &why), 0);
    assert_int_equal(begin(store, "6.1", "a", false, &why), 0);
    assert_int_equal(machines(store), 1);
    assert_int_equal(begin(store, "6.2", "a", false, &why), -EEXIST);
    assert_non_null(strstr(why.text, "has trials of another kernel, 6.1 instead of 6.2"));
    assert_int_equal(machines(store), 1);
    assert_int_equal(begin(store, "6.1", "b", false, &why), 0); /* another name is no difference */
    assert_int_equal(machines(store), 2);
    assert_int_equal(begin(store, "6.2", "a", true, &why), 0);
    assert_int_equal(machines(store), 3);
    assert_int_equal(begin(store, "6.1", "a", false, &why), -EEXIST); /* it is mixed now */
    assert_true(is_mixed(store, 3));
    assert_false(is_mixed(store, 2)); /* hosts of one class */
    spex_store_close(store);
    spex_space_free(file);
}

TEST(directory) {
    struct spex_space_file *file = NULL;
    struct spex_store *store = new_store(&file);
    struct spex_error why = {""};
    char *found;
    assert_int_equal(spex_store_directory(store, &found, &why), 0);
    assert_null(found);
    assert_int_equal(spex_store_set_directory(store, "/tmp/spex-x'y", &why), 0);
    assert_int_equal(spex_store_directory(store, &found, &why), 0);
    assert_string_equal(found, "/tmp/spex-x'y");
    free(found);
    assert_int_equal(spex_store_set_directory(store, NULL, &why), 0);
    assert_int_equal(spex_store_directory(store, &found, &why), 0);
    assert_null(found);
    spex_store_close(store);
    spex_space_free(file);
}

int main(void) {
    return tests_run(scratch_enter, scratch_leave);
}
