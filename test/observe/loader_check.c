/* SPDX-License-Identifier: MIT */
/* What an object must be like before the loader is let near it: a program as the linker has made it
 * passes, and it does not with any one thing changed.
 *
 *     loader_check LINKING AUDITED OBSERVED OTHER_LOADER */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#include "../check.h"
#include "observe/objects/loader_check.h"

static const char *linking, *audited, *observed, *other_loader;

static struct spex_elf_file file;
static struct spex_error why;

static void open_file(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(spex_elf_file_open(fd, path, &file, &why), 0);
    why = (struct spex_error){""};
}

static void close_file(void) {
    int fd = file.fd;
    spex_elf_file_close(&file);
    close(fd);
}

/* The segment number `nth` of a type. */
static Elf64_Phdr *segment(uint32_t type, int nth) {
    for (size_t s = 0; s < file.segment_count; s++)
        if (file.segments[s].p_type == type && nth-- == 0)
            return &file.segments[s];
    fail_msg("there is no segment of type %u", type);
    return NULL;
}

static void expect_passes(void) {
    int err = spex_loader_check(&file, &why);
    if (err)
        fail_msg("%s", why.text);
}

static void expect_refused(const char *reason) {
    assert_int_equal(spex_loader_check(&file, &why), -ENOTSUP);
    assert_string_equal(why.text, reason);
}

TEST(what_linkers_make_passes) {
    open_file(linking);
    expect_passes();
    close_file();
    open_file(observed); /* names no loader */
    expect_passes();
    close_file();
    open_file(audited);
    expect_refused("it names an auditor, which the loader would run");
    close_file();
}

TEST(objects_of_others_are_refused) {
    open_file(linking);
    file.header.e_machine++;
    expect_refused("it is for another processor");
    file.header.e_machine--;
    segment(PT_DYNAMIC, 0)->p_type = PT_NULL;
    expect_refused("it is linked statically");
    close_file();
}

static const char disorderly[] = "its segments are not laid out as linkers do it";

static void expect_disorder(uint64_t *field, uint64_t value) {
    uint64_t before = *field;
    *field = value;
    expect_refused(disorderly);
    *field = before;
    expect_passes();
}

/* Each segment for itself: as much of the file as there is memory for it, at the same place of a
 * page, in addresses that there are. */
TEST(segments_are_as_linkers_lay_them_out) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    open_file(linking);
    Elf64_Phdr *first = segment(PT_LOAD, 0), *second = segment(PT_LOAD, 1);
    expect_disorder(&first->p_filesz, first->p_memsz + 1);
    expect_disorder(&second->p_offset, second->p_offset + 1);
    expect_disorder(&second->p_vaddr, second->p_vaddr + 1);
    expect_disorder(&second->p_memsz, UINT64_MAX - second->p_vaddr + 1);
    /* One begins on a page behind the end of the one before. */
    uint64_t memory = first->p_memsz, end = second->p_vaddr / page * page - first->p_vaddr;
    first->p_memsz = end;
    expect_passes();
    expect_disorder(&first->p_memsz, end + 1);
    first->p_memsz = memory;
    uint64_t address = second->p_vaddr, offset = second->p_offset;
    second->p_vaddr = first->p_vaddr;
    second->p_offset = first->p_vaddr;
    expect_refused(disorderly);
    second->p_vaddr = address;
    second->p_offset = offset;
    /* Nothing is to be loaded, or what is dynamic is there twice. */
    segment(PT_GNU_STACK, 0)->p_type = PT_DYNAMIC;
    expect_refused(disorderly);
    file.segments[file.segment_count - 1].p_type = PT_NULL;
    for (size_t s = 0; s < file.segment_count; s++)
        if (file.segments[s].p_type == PT_LOAD)
            file.segments[s].p_type = PT_NULL;
    expect_refused(disorderly);
    close_file();
}

/* The end of the last segment of a program that has a fixed address is below 4 GiB; other objects
 * may be anywhere below the last page. */
TEST(addresses_are_bounded) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), fixed = UINT64_C(1) << 32;
    open_file(linking);
    Elf64_Phdr *last = segment(PT_LOAD, 0);
    for (int n = 0; n < 8; n++)
        if (last < &file.segments[file.segment_count - 1])
            for (Elf64_Phdr *next = last + 1; next < file.segments + file.segment_count; next++)
                last = next->p_type == PT_LOAD ? next : last;
    file.header.e_type = ET_EXEC;
    expect_passes();
    last->p_memsz = fixed - last->p_vaddr;
    expect_passes();
    last->p_memsz++;
    expect_refused(disorderly);
    file.header.e_type = ET_DYN;
    expect_passes();
    last->p_memsz = UINT64_MAX - page - last->p_vaddr;
    expect_passes();
    close_file();
}

/* A copy of the program, of which some bytes are others, is opened. */
static void open_changed(char *path, uint64_t at, const void *bytes, size_t count) {
    static char whole[1 << 20];
    FILE *from = fopen(linking, "rb");
    assert_non_null(from);
    size_t length = fread(whole, 1, sizeof(whole), from);
    fclose(from);
    assert_in_range(length, at + count, sizeof(whole) - 1);
    memcpy(whole + at, bytes, count);
    strcpy(path, "/tmp/spex-loader-check-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, whole, length), (ssize_t)length);
    close(fd);
    open_file(path);
}

static void close_changed(const char *path) {
    close_file();
    unlink(path);
}

/* By whatever name: the file counts. */
TEST(the_loader_is_this_one) {
    char path[64];
    open_file(linking);
    const uint64_t at = segment(PT_INTERP, 0)->p_offset, size = segment(PT_INTERP, 0)->p_filesz;
    close_file();
    assert_int_equal(strlen(spex_loader_path()) + 1, size);
    char name[] = "/tmp/spex-ld-XXXXXX";
    assert_in_range(sizeof(name), 2, size);
    assert_non_null(mkdtemp(name));
    assert_int_equal(rmdir(name), 0);
    assert_int_equal(symlink(spex_loader_path(), name), 0);
    open_changed(path, at, name, sizeof(name));
    expect_passes();
    unlink(name);
    assert_int_equal(spex_loader_check(&file, &why), -ENOTSUP);
    close_changed(path);
    open_changed(path, at, "/bin/sh", sizeof("/bin/sh"));
    expect_refused("it is for another loader, /bin/sh");
    segment(PT_INTERP, 0)->p_offset = file.bytes;
    expect_refused("the name of its loader cannot be read");
    segment(PT_INTERP, 0)->p_offset = file.bytes - 1;
    assert_int_equal(spex_loader_check(&file, &why), -ENOTSUP);
    close_changed(path);
}

/* The loader of this process is what this program names, though libraries name others. */
TEST(libraries_have_no_say_in_the_loader) {
    void *library = dlopen(other_loader, RTLD_NOW);
    assert_non_null(library);
    open_file("/proc/self/exe");
    char named[256] = "";
    const Elf64_Phdr *interpreter = segment(PT_INTERP, 0);
    assert_in_range(interpreter->p_filesz, 2, sizeof(named));
    assert_int_equal(pread(file.fd, named, interpreter->p_filesz, (off_t)interpreter->p_offset),
                     (ssize_t)interpreter->p_filesz);
    assert_string_equal(spex_loader_path(), named);
    close_file();
    open_file(other_loader);
    expect_refused("it is for another loader, /nowhere/loader.so");
    close_file();
    dlclose(library);
}

/* The dynamic section is read where the loader reads it, to its end; one that has none, or that is
 * elsewhere, is not. */
TEST(the_dynamic_section_is_read_to_its_end) {
    char path[64];
    open_file(linking);
    const Elf64_Phdr dynamic = *segment(PT_DYNAMIC, 0);
    Elf64_Dyn entry;
    size_t used = 0;
    while (spex_elf_file_at(&file, dynamic.p_vaddr + used * sizeof(entry), &entry, sizeof(entry)) ==
               sizeof(entry) &&
           entry.d_tag != DT_NULL)
        used++;
    segment(PT_DYNAMIC, 0)->p_vaddr = UINT64_C(1) << 40;
    expect_refused("its dynamic section is malformed");
    close_file();
    static const int64_t auditors[] = {DT_AUDIT, DT_DEPAUDIT};
    for (size_t a = 0; a < COUNT_OF(auditors); a++)
        for (size_t at = 0; at < used; at += used - 1) {
            open_changed(path, dynamic.p_offset + at * sizeof(entry), &auditors[a],
                         sizeof(entry.d_tag));
            expect_refused("it names an auditor, which the loader would run");
            close_changed(path);
        }
    /* What stands behind the end does not count. */
    open_changed(path, dynamic.p_offset + (used + 1) * sizeof(entry), &auditors[0],
                 sizeof(entry.d_tag));
    expect_passes();
    close_changed(path);
}

int main(int argc, char **argv) {
    const char *emulated = getenv("TEST_EMULATED");
    if (emulated && *emulated) {
        puts("SKIP: an emulator's loader is not where programs say");
        return 77;
    }
    assert_int_equal(argc, 5);
    linking = argv[1];
    audited = argv[2];
    observed = argv[3];
    other_loader = argv[4];
    return tests_run(NULL, NULL);
}
