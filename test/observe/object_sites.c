/* SPDX-License-Identifier: MIT */
/* The sites of an object as it was made, and of the same with one thing wrong.
 *
 *     object_sites OBSERVED */
#include <elf.h>
#include <errno.h>
#include <sys/mman.h>

#include <spex/record.h>

#include "../scarce_memory.h"
#include "observe/objects/elf_file.h"
#include "observe/objects/object_sites.h"

static char original[1 << 20], bytes[sizeof(original)];
static size_t length;
static struct spex_object_sites sites;
static struct spex_error why;

static int read_bytes(size_t size) {
    int fd = memfd_create("object", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    why.text[0] = '\0';
    int err = spex_object_sites_read(fd, "it", &sites, &why);
    assert_true(err == 0 || (*why.text && !strchr(why.text, '\n')));
    close(fd);
    return err;
}

static Elf64_Ehdr *header(void) {
    return (Elf64_Ehdr *)bytes;
}

static Elf64_Shdr *section(const char *name) {
    Elf64_Shdr *all = (Elf64_Shdr *)(bytes + header()->e_shoff);
    const char *names = bytes + all[header()->e_shstrndx].sh_offset;
    for (unsigned s = 0; s < header()->e_shnum; s++)
        if (strcmp(names + all[s].sh_name, name) == 0)
            return &all[s];
    fail_msg("no section %s", name);
    return NULL;
}

/* The first site of a probe: the section also has an empty entry. */
static struct spex_site *first_site(void) {
    struct spex_site *site = (struct spex_site *)(bytes + section("spex_sites")->sh_offset);
    while (!site->type_number)
        site++;
    return site;
}

static int restore(void **state) {
    (void)state;
    memcpy(bytes, original, length);
    return 0;
}

static int release(void **state) {
    (void)state;
    spex_object_sites_free(&sites);
    return 0;
}

static void assert_site(size_t s, const char *name, uint16_t id, uint16_t type, uint32_t subsample,
                        uint8_t detail, uint32_t copies) {
    assert_string_equal(sites.items[s].name, name);
    assert_int_equal(sites.items[s].probe_id, id);
    assert_int_equal(sites.items[s].probe_type, type);
    assert_int_equal(sites.items[s].subsample, subsample);
    assert_int_equal(sites.items[s].detail, detail);
    assert_int_equal(sites.items[s].copies, copies);
    assert_true(sites.items[s].line > 0);
    const char *file = strrchr(sites.items[s].file, '/');
    assert_string_equal(file ? file + 1 : sites.items[s].file, "observed.c");
}

TEST_WITH(sites_are_listed, restore, release) {
    assert_int_equal(read_bytes(length), 0);
    assert_int_equal(sites.count, 7);
    assert_site(0, "another", 7, SPEX_CNT, 16777214, 0, 1);
    assert_site(1, "declared", 9, SPEX_CNT, 1, 0, 1);
    assert_site(2, "observed.work", 40, SPEX_LAT, 10, 0, 3);
    assert_site(3, "observed.work", 40, SPEX_SNAPSHOT, 1, 3, 1);
    assert_site(5, "", 3, SPEX_PERFCNTR, 1, 5, 1);
    assert_site(6, "", 8, SPEX_KERNEL, 1, 2, 1);
    assert_string_equal(sites.items[6].parameters, "times, times + 1");
    /* A name in the place of an id has that of its declaration, or none. */
    assert_string_equal(sites.items[4].name, "undeclared");
    assert_int_equal(sites.items[4].probe_type, SPEX_LAT);
    assert_int_equal(spex_object_site_id(&sites.items[4]), -1);
    assert_int_equal(spex_object_site_id(&sites.items[1]), 9);
}

TEST_WITH(names_may_be_missing, restore, release) {
    section("spex_names")->sh_size = 0;
    assert_int_equal(read_bytes(length), 0);
    assert_int_equal(sites.count, 7);
    assert_site(2, "", 3, SPEX_PERFCNTR, 1, 5, 1);
    assert_string_equal(sites.items[0].name, "declared"); /* it stands with the probe, too */
    assert_int_equal(spex_object_site_id(&sites.items[0]), -1);
}

TEST_WITH(truncated_files_are_refused, restore, release) {
    for (size_t size = 0; size < length; size += size < 128 ? 1 : 61) {
        assert_int_not_equal(read_bytes(size), 0);
        assert_null(sites.items);
    }
}

TEST_WITH(wild_offsets_have_no_file, restore, release) {
    static const int64_t offsets[] = {0, 1, -1, INT64_MAX, INT64_MIN, 1 << 30, -(1 << 30)};
    for (size_t o = 0; o < COUNT_OF(offsets); o++) {
        struct spex_site *site = first_site();
        site->file_offset = offsets[o];
        site->probe_id = 65535;
        assert_int_equal(read_bytes(length), 0);
        const struct spex_object_site *last = &sites.items[sites.count - 1];
        assert_int_equal(last->probe_id, 65535);
        assert_true(*last->file);
        assert_true(strnlen(last->file, 4096) < 4096);
        if (offsets[o] > 1 || offsets[o] < -1)
            assert_string_equal(last->file, "?");
        spex_object_sites_free(&sites);
    }
}

TEST_WITH(names_are_printable_and_end, restore, release) {
    struct spex_probe_name *name =
        (struct spex_probe_name *)(bytes + section("spex_names")->sh_offset);
    memset(name->name, '\033', sizeof(name->name));
    name->probe_id = 3;
    assert_int_equal(read_bytes(length), 0);
    assert_int_equal(strlen(sites.items[0].name), SPEX_NAME_BYTES);
    assert_int_equal(strspn(sites.items[0].name, "?"), SPEX_NAME_BYTES);
}

TEST_WITH(types_may_be_unknown, restore, release) {
    for (unsigned number = SPEX_PROBE_TYPES + 1; number < SPEX_SITE_NAMED; number++) {
        first_site()->type_number = (uint8_t)number;
        assert_int_equal(read_bytes(length), 0);
        bool unknown = false;
        for (size_t s = 0; s < sites.count; s++)
            unknown |= sites.items[s].line == first_site()->line && !sites.items[s].probe_type;
        if (!unknown)
            fail_msg("%u is a type", number);
    }
}

TEST_WITH(sections_of_any_size, restore, release) {
    static const uint64_t sizes[] = {31, 33, 1 << 20, 1ull << 40, UINT64_MAX, UINT64_MAX & ~31ull};
    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        section("spex_sites")->sh_size = sizes[s];
        assert_int_equal(read_bytes(length), -EINVAL);
    }
    section("spex_sites")->sh_size = 0;
    assert_int_equal(read_bytes(length), 0);
    assert_int_equal(sites.count, 0);
    section("spex_sites")->sh_size = 64;
    section("spex_sites")->sh_offset = UINT64_MAX - 8;
    assert_int_equal(read_bytes(length), -EINVAL);
    section("spex_sites")->sh_type = SHT_NOBITS;
    assert_int_equal(read_bytes(length), -EINVAL);
}

TEST_WITH(section_names_of_any_size, restore, release) {
    section(".shstrtab")->sh_size = UINT64_MAX;
    assert_int_equal(read_bytes(length), -EINVAL);
    restore(state);
    section(".shstrtab")->sh_type = SHT_PROGBITS;
    assert_int_equal(read_bytes(length), -EINVAL);
    restore(state);
    section(".shstrtab")->sh_flags |= SHF_COMPRESSED;
    assert_int_equal(read_bytes(length), -EINVAL);
    restore(state);
    header()->e_shstrndx = 0xfff0;
    assert_int_equal(read_bytes(length), -EINVAL);
    restore(state);
    header()->e_shnum = 0; /* section 0 has the number */
    assert_int_equal(read_bytes(length), -EINVAL);
}

TEST_WITH(other_objects_are_refused, restore, release) {
    header()->e_ident[EI_CLASS] = ELFCLASS32;
    assert_int_equal(read_bytes(length), -ENOTSUP);
    assert_non_null(strstr(why.text, "64-bit"));
    restore(state);
    header()->e_ident[EI_DATA] = ELFDATA2MSB;
    assert_int_equal(read_bytes(length), -ENOTSUP);
    assert_non_null(strstr(why.text, "big-endian"));
    restore(state);
    header()->e_type = ET_REL;
    assert_int_equal(read_bytes(length), -ENOTSUP);
    header()->e_type = ET_CORE;
    assert_int_equal(read_bytes(length), -ENOTSUP);
    restore(state);
    header()->e_shoff = 0;
    header()->e_shnum = 0;
    assert_int_equal(read_bytes(length), -ENOTSUP);
    assert_non_null(strstr(why.text, "section table"));
    restore(state);
    header()->e_machine = 0x1234; /* the layout is the same everywhere */
    assert_int_equal(read_bytes(length), 0);
}

static int read_text(const char *text) {
    memcpy(bytes, text, strlen(text));
    return read_bytes(strlen(text));
}

TEST_WITH(other_files_are_refused, restore, release) {
    assert_int_equal(read_text(""), -ENOEXEC);
    assert_int_equal(read_text("text"), -ENOEXEC);
    assert_string_equal(why.text, "it is not an ELF program");
    assert_int_equal(read_text("#! /bin/sh -e\nexit\n"), -ENOEXEC);
    assert_string_equal(why.text,
                        "it is not an ELF program: it looks like a script that /bin/sh -e runs");
    assert_int_equal(read_text("\177ELF\002\001\001"), -EINVAL);
}

TEST(only_regular_files_are_opened) {
    assert_int_equal(spex_regular_file_open("/", &why), -EISDIR);
    assert_string_equal(why.text, "/ is a directory");
    assert_int_equal(spex_regular_file_open("/dev/null", &why), -EINVAL);
    assert_string_equal(why.text, "/dev/null is not a regular file");
    assert_int_equal(spex_regular_file_open("/nowhere", &why), -ENOENT);
    assert_string_equal(why.text, "/nowhere: No such file or directory");
    int fd = spex_regular_file_open("/proc/self/exe", &why);
    assert_true(fd >= 0);
    close(fd);
}

/* What is in the file of a segment, and no more. */
TEST(segments_end) {
    struct spex_elf_file file;
    char found[64];
    int fd = spex_regular_file_open("/proc/self/exe", &why);
    assert_int_equal(spex_elf_file_open(fd, "it", &file, &why), 0);
    size_t loaded = 0;
    for (size_t s = 0; s < file.segment_count; s++) {
        const Elf64_Phdr *segment = &file.segments[s];
        if (segment->p_type != PT_LOAD || segment->p_filesz < sizeof(found))
            continue;
        uint64_t end = segment->p_vaddr + segment->p_filesz;
        assert_int_equal(spex_elf_file_at(&file, end - 4, found, sizeof(found)), 4);
        assert_int_equal(spex_elf_file_at(&file, end - sizeof(found), found, sizeof(found)),
                         sizeof(found));
        loaded++;
    }
    assert_true(loaded > 0);
    spex_elf_file_close(&file);
    close(fd);
}

/* Anything else that is short is told as such, and nothing of what was read stays. */
static int read_original(void *user) {
    int err = read_bytes(length);
    (void)user;
    if (err) {
        assert_string_equal(why.text, "out of memory");
        assert_true(!sites.items && sites.count == 0);
    }
    spex_object_sites_free(&sites);
    return err;
}

TEST_WITH(without_memory, restore, NULL) {
    assert_true(without_each_allocation(read_original, NULL) >= 4);
}

int main(int argc, char **argv) {
    assert_int_equal(argc, 2);
    FILE *file = fopen(argv[1], "rb");
    assert_non_null(file);
    length = fread(original, 1, sizeof(original), file);
    fclose(file);
    assert_in_range(length, 1024, sizeof(original) - 1);
    return tests_run(NULL, NULL);
}
