/* SPDX-License-Identifier: MIT */
/* Symbol tables of a made ELF file: each table at the end of the file and one step behind it, each
 * field that must have one value, and what stays open when a file is refused. Files that are
 * damaged at random. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../check.h"
#include "../open_descriptors.h"
#include "kernels/symbols.h"

enum { SECTIONS = 4, SYMBOLS = 4, TABLE = 1, NAMES = 2, SECOND = 3, BEYOND = 64 };

/* `space`: zeros, into which a test moves a table. */
struct image {
    ElfW(Ehdr) header;
    ElfW(Shdr) sections[SECTIONS];
    ElfW(Sym) symbols[SYMBOLS];
    char names[32];
    char space[512];
};

static const char names[] = "\0needed\0defined\0more";
enum { NEEDED = 1, DEFINED = 8, MORE = 16 };

static int made_file = -1;

static const char *made_path(void) {
    static char text[64];
    snprintf(text, sizeof(text), "/proc/self/fd/%d", made_file);
    return text;
}

static struct image image_make(void) {
    struct image image = {
        .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
                               sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32, ELFDATA2LSB},
                   .e_shoff = offsetof(struct image, sections),
                   .e_shentsize = sizeof(ElfW(Shdr)),
                   .e_shnum = SECTIONS},
        .symbols = {{0},
                    {.st_name = NEEDED, .st_shndx = SHN_UNDEF},
                    {.st_name = DEFINED, .st_shndx = 1},
                    {.st_name = MORE, .st_shndx = SHN_UNDEF}},
    };
    image.sections[TABLE] = image.sections[SECOND] =
        (ElfW(Shdr)){.sh_type = SHT_DYNSYM,
                     .sh_offset = offsetof(struct image, symbols),
                     .sh_size = sizeof(image.symbols),
                     .sh_link = NAMES,
                     .sh_entsize = sizeof(ElfW(Sym))};
    image.sections[SECOND].sh_size = sizeof(ElfW(Sym));
    image.sections[NAMES] = (ElfW(Shdr)){.sh_type = SHT_STRTAB,
                                         .sh_offset = offsetof(struct image, names),
                                         .sh_size = sizeof(names)};
    memcpy(image.names, names, sizeof(names));
    return image;
}

static void image_write(const struct image *image, size_t bytes) {
    assert_int_equal(ftruncate(made_file, 0), 0);
    assert_int_equal(pwrite(made_file, image, bytes, 0), bytes);
}

/* Whether any of the file is mapped. */
static bool is_mapped(void) {
    char line[512];
    bool mapped = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps))
        mapped |= strstr(line, "made-symbols") != NULL;
    fclose(maps);
    return mapped;
}

static void expect_open(int expected, uint32_t type) {
    struct spex_symbols symbols;
    size_t before = open_descriptors();
    assert_int_equal(spex_symbols_open(&symbols, made_path(), type), expected);
    assert_int_equal(open_descriptors(), before);
    assert_int_equal(is_mapped(), expected == 0);
    if (expected == 0)
        spex_symbols_close(&symbols);
    assert_null(symbols.map);
    assert_false(is_mapped());
}

static void expect_all(void) {
    static const char *const expected[SYMBOLS] = {"", "needed", "defined", "more"};
    struct spex_symbols symbols;
    assert_int_equal(spex_symbols_open(&symbols, made_path(), SHT_DYNSYM), 0);
    assert_int_equal(symbols.count, SYMBOLS);
    assert_int_equal(symbols.names_bytes, sizeof(names));
    for (size_t s = 0; s < SYMBOLS; s++)
        assert_string_equal(spex_symbol_name(&symbols, &symbols.symbols[s]), expected[s]);
    assert_true(spex_symbols_refer_to(&symbols, "needed"));
    assert_true(spex_symbols_refer_to(&symbols, "more"));
    assert_false(spex_symbols_refer_to(&symbols, "defined"));
    assert_false(spex_symbols_refer_to(&symbols, "need"));
    spex_symbols_close(&symbols);
}

TEST(the_first_table_of_the_type_is_read) {
    struct image image = image_make();
    image_write(&image, sizeof(image));
    expect_all();
    expect_open(-ENOENT, SHT_SYMTAB);
    image.sections[TABLE].sh_type = SHT_SYMTAB;
    image_write(&image, sizeof(image));
    struct spex_symbols symbols;
    assert_int_equal(spex_symbols_open(&symbols, made_path(), SHT_DYNSYM), 0);
    assert_int_equal(symbols.count, 1);
    spex_symbols_close(&symbols);
}

/* Nothing that is left of a table that is not there refers to anything. */
TEST(names_end_where_their_table_ends) {
    static const struct {
        uint32_t at;
        const char *name;
    } cases[] = {{sizeof(names) - 1, ""}, {sizeof(names) - 2, "e"}, {sizeof(names), ""},
                 {sizeof(names) + 1, ""}, {UINT32_MAX, ""},         {DEFINED + 2, "fined"}};
    struct image image = image_make();
    struct spex_symbols symbols;
    memset(image.names + sizeof(names), 'x', sizeof(image.names) - sizeof(names));
    image_write(&image, sizeof(image));
    assert_int_equal(spex_symbols_open(&symbols, made_path(), SHT_DYNSYM), 0);
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        ElfW(Sym) symbol = {.st_name = cases[c].at};
        assert_string_equal(spex_symbol_name(&symbols, &symbol), cases[c].name);
    }
    spex_symbols_close(&symbols);
}

/* Copies a part of the image to `at`, which may be partly beyond its end. */
static void part_write(const struct image *image, const void *part, size_t bytes, size_t at) {
    image_write(image, sizeof(*image));
    size_t fits = at < sizeof(*image) ? sizeof(*image) - at : 0;
    fits = fits < bytes ? fits : bytes;
    assert_int_equal(pwrite(made_file, part, fits, (off_t)at), fits);
}

/* Places of each table: where it ends with the file, at each byte before, and at each behind. */
TEST(tables_lie_within_the_file_and_where_they_can_be_read) {
    for (unsigned table = 0; table < 3; table++) {
        struct image base = image_make();
        size_t bytes = table == 0   ? sizeof(base.sections)
                       : table == 1 ? sizeof(base.symbols)
                                    : sizeof(names);
        size_t alignment = table == 0 ? _Alignof(ElfW(Shdr)) : table == 1 ? _Alignof(ElfW(Sym)) : 1;
        for (size_t at = sizeof(base) - bytes - 16; at < sizeof(base) + BEYOND; at++) {
            struct image image = base;
            if (table == 0)
                image.header.e_shoff = at;
            else
                image.sections[table].sh_offset = at;
            part_write(&image,
                       table == 0   ? (const void *)base.sections
                       : table == 1 ? (const void *)base.symbols
                                    : names,
                       bytes, at);
            bool sound = at + bytes <= sizeof(base) && at % alignment == 0;
            if (sound)
                expect_all();
            else
                expect_open(-ENOEXEC, SHT_DYNSYM);
        }
    }
}

#define FIELD(member, number, result)                                                              \
    { offsetof(struct image, member), sizeof(((struct image *)0)->member), (number), (result) }

TEST(fields_that_cannot_be_are_refused) {
    static const struct {
        size_t at, bytes;
        uint64_t value;
        int expected;
    } cases[] = {
        FIELD(header.e_ident[0], 0, -ENOEXEC),
        FIELD(header.e_ident[SELFMAG - 1], 0, -ENOEXEC),
        FIELD(header.e_ident[EI_CLASS], ELFCLASSNONE, -ENOEXEC),
        FIELD(header.e_ident[EI_CLASS], sizeof(void *) == 8 ? ELFCLASS32 : ELFCLASS64, -ENOEXEC),
        FIELD(header.e_ident[EI_DATA], ELFDATA2MSB, -ENOEXEC),
        FIELD(header.e_shentsize, sizeof(ElfW(Shdr)) - 1, -ENOEXEC),
        FIELD(header.e_shentsize, sizeof(ElfW(Shdr)) + 1, -ENOEXEC),
        FIELD(header.e_shnum, 0, -ENOENT),
        FIELD(header.e_shnum, 1, -ENOENT),
        FIELD(header.e_shnum, 2, -ENOEXEC), /* the table of names is behind those */
        FIELD(header.e_shnum, 3, 0),
        FIELD(header.e_shnum, UINT16_MAX, -ENOEXEC),
        FIELD(header.e_shoff, UINT64_MAX - 7, -ENOEXEC),
        FIELD(sections[TABLE].sh_link, SECTIONS, -ENOEXEC),
        FIELD(sections[TABLE].sh_link, UINT32_MAX, -ENOEXEC),
        FIELD(sections[TABLE].sh_link, SECTIONS - 1, 0), /* a table that ends in a 0, too */
        FIELD(sections[TABLE].sh_entsize, sizeof(ElfW(Sym)) - 1, -ENOEXEC),
        FIELD(sections[TABLE].sh_entsize, sizeof(ElfW(Sym)) + 1, -ENOEXEC),
        FIELD(sections[TABLE].sh_size, UINT64_MAX, -ENOEXEC),
        FIELD(sections[TABLE].sh_offset, UINT64_MAX - 7, -ENOEXEC),
        FIELD(sections[NAMES].sh_size, 0, -ENOEXEC),
        FIELD(sections[NAMES].sh_size, 1, 0),
        FIELD(sections[NAMES].sh_size, 2, -ENOEXEC), /* ends within a name */
        FIELD(sections[NAMES].sh_size, sizeof(names) - 1, -ENOEXEC),
        FIELD(sections[NAMES].sh_size, UINT64_MAX, -ENOEXEC),
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct image image = image_make();
        memcpy((char *)&image + cases[c].at, &cases[c].value, cases[c].bytes);
        image_write(&image, sizeof(image));
        expect_open(cases[c].expected, SHT_DYNSYM);
    }
}

TEST(a_file_is_a_header_long_at_least) {
    struct image image = image_make();
    image.header.e_shnum = 0;
    image_write(&image, sizeof(image.header) - 1);
    expect_open(-ENOEXEC, SHT_DYNSYM);
    image.header.e_shoff = 0;
    image_write(&image, sizeof(image.header));
    expect_open(-ENOENT, SHT_DYNSYM);
}

/* A pipe that nobody writes to is not waited for. */
TEST(what_is_no_file_is_refused) {
    char folder[] = "/tmp/spex-symbols-XXXXXX", pipe_path[64];
    struct spex_symbols symbols;
    assert_non_null(mkdtemp(folder));
    snprintf(pipe_path, sizeof(pipe_path), "%s/pipe", folder);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    size_t before = open_descriptors();
    assert_int_equal(spex_symbols_open(&symbols, pipe_path, SHT_DYNSYM), -ENOEXEC);
    assert_int_equal(spex_symbols_open(&symbols, folder, SHT_DYNSYM), -ENOEXEC);
    unlink(pipe_path);
    assert_int_equal(spex_symbols_open(&symbols, pipe_path, SHT_DYNSYM), -ENOENT);
    assert_int_equal(open_descriptors(), before);
    assert_null(symbols.map);
    rmdir(folder);
}

/* --- The program's own file */

static char *read_program(size_t *bytes) {
    FILE *file = fopen("/proc/self/exe", "r");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    char *content = malloc(*bytes);
    assert_int_equal(fread(content, 1, *bytes, file), *bytes);
    fclose(file);
    return content;
}

/* Whether it could be opened; then all of it is looked at. */
static bool look_at(const char *path, size_t *functions) {
    struct spex_symbols symbols;
    unsigned char resident;
    *functions = 0;
    if (spex_symbols_open(&symbols, path, SHT_SYMTAB) != 0)
        return false;
    for (size_t s = 0; s < symbols.count; s++)
        *functions += strncmp(spex_symbol_name(&symbols, &symbols.symbols[s]), "spex_sym", 8) == 0;
    spex_symbols_refer_to(&symbols, "no such name");
    void *map = symbols.map;
    spex_symbols_close(&symbols);
    assert_int_equal(mincore(map, 1, &resident), -1); /* nothing is mapped there */
    return true;
}

static void write_file(const char *path, const char *content, size_t bytes) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(content, 1, bytes, file), bytes);
    fclose(file);
}

/* The header and the table of sections are where mistakes matter. */
TEST(damaged_files_are_refused_or_read_within_their_bounds) {
    enum { ROUNDS = 2000, CHANGES = 3 };
    char path[] = "/tmp/spex-symbols-XXXXXX";
    size_t bytes, functions;
    uint64_t random = 7;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    char *content = read_program(&bytes);
    ElfW(Ehdr) header;
    memcpy(&header, content, sizeof(header));
    size_t table = header.e_shnum * sizeof(ElfW(Shdr));
    write_file(path, content, bytes);
    assert_true(look_at(path, &functions));
    assert_true(functions >= 3);
    for (unsigned round = 0; round < ROUNDS; round++) {
        off_t places[CHANGES];
        for (unsigned c = 0; c < CHANGES; c++) {
            bool in_header = random_below(&random, 2);
            places[c] = (off_t)(in_header ? random_below(&random, sizeof(header))
                                          : header.e_shoff + random_below(&random, table));
            char byte = (char)random_next(&random);
            assert_int_equal(pwrite(fd, &byte, 1, places[c]), 1);
        }
        look_at(path, &functions);
        for (unsigned c = 0; c < CHANGES; c++)
            assert_int_equal(pwrite(fd, content + places[c], 1, places[c]), 1);
    }
    for (unsigned part = 0; part < 64; part++) {
        assert_int_equal(ftruncate(fd, (off_t)(bytes * (63 - part) / 64)), 0);
        look_at(path, &functions);
    }
    assert_false(look_at("/nonexistent", &functions));
    assert_false(look_at("/", &functions));
    close(fd);
    unlink(path);
    free(content);
}

TEST(tables_tell_what_is_missing) {
    enum { NO_TABLE = 0x7fffffff };
    struct spex_symbols symbols;
    assert_int_equal(spex_symbols_open(&symbols, "/nonexistent", SHT_DYNSYM), -ENOENT);
    assert_int_equal(spex_symbols_open(&symbols, "/dev/null", SHT_DYNSYM), -ENOEXEC);
    assert_int_equal(spex_symbols_open(&symbols, "/etc/passwd", SHT_DYNSYM), -ENOEXEC);
    assert_int_equal(spex_symbols_open(&symbols, "/proc/self/exe", NO_TABLE), -ENOENT);
    assert_int_equal(spex_symbols_open(&symbols, "/proc/self/exe", SHT_SYMTAB), 0);
    assert_true(spex_symbols_refer_to(&symbols, "__gmon_start__"));
    assert_false(spex_symbols_refer_to(&symbols, "main"));
    spex_symbols_close(&symbols);
}

int main(void) {
    made_file = memfd_create("made-symbols", MFD_CLOEXEC);
    return tests_run(NULL, NULL);
}
