/* SPDX-License-Identifier: MIT */
/* Any file as an ELF object: refused with one line, or its sites and functions can be shown. The check that comes
 * before the loader is asked gets it too; the loader does not. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "attach/object_probes.h"
#include "memory_file.h"
#include "observe/objects/elf_file.h"
#include "observe/objects/loader_check.h"
#include "observe/objects/object_sites.h"
#include "text/printable.h"

static void check_why(int err, const struct spex_error *why) {
    FUZZ_CHECK(err == -ENOEXEC || err == -ENOTSUP || err == -EINVAL);
    FUZZ_CHECK(*why->text && !strchr(why->text, '\n'));
}

static void check_sites(const struct spex_object_sites *sites) {
    size_t all = 0;
    for (size_t s = 0; s < sites->count; s++) {
        const struct spex_object_site *site = &sites->items[s];
        FUZZ_CHECK(spex_is_printable(site->name) && spex_is_printable(site->file));
        FUZZ_CHECK(*site->file && strlen(site->file) < 4096 && site->copies >= 1);
        all += site->copies;
    }
    FUZZ_CHECK(all <= SPEX_OBJECT_SITES_MAX);
}

/* Each site of a USDT probe is in the code, and each semaphore in the file. */
static void check_probes(int fd, const struct spex_object_functions *functions) {
    struct spex_object_probes probes;
    struct spex_error why = {""};
    uint64_t end = (uint64_t)lseek(fd, 0, SEEK_END);
    FUZZ_CHECK(spex_object_probes_read(fd, "it", functions, &probes, &why) == 0);
    for (size_t p = 0; p < probes.count; p++) {
        FUZZ_CHECK(spex_is_printable(probes.items[p].name) && strchr(probes.items[p].name, ':'));
        FUZZ_CHECK(probes.items[p].address - functions->code.address < functions->code.size);
        FUZZ_CHECK(probes.items[p].semaphore < end);
    }
    spex_object_probes_free(&probes);
}

/* Each function can be placed, whatever its symbol says. */
static void check_functions(int fd) {
    struct spex_object_functions functions;
    struct spex_error why = {""};
    int err = spex_object_functions_read(fd, "it", &functions, &why);
    if (err) {
        FUZZ_CHECK(err == -ENOEXEC || err == -ENOTSUP || err == -EINVAL);
        FUZZ_CHECK(*why.text && !strchr(why.text, '\n'));
        return;
    }
    for (size_t f = 0; f < functions.count && f < 64; f++) {
        struct spex_placement placement;
        const struct spex_object_function *function = &functions.items[f];
        FUZZ_CHECK(spex_is_printable(function->name));
        FUZZ_CHECK(function->address - functions.code.address < functions.code.size);
        FUZZ_CHECK(spex_object_functions_place(&functions, f, &placement) == 0);
        FUZZ_CHECK(placement.entry.address - functions.code.address < functions.code.size);
    }
    check_probes(fd, &functions);
    spex_object_functions_free(&functions);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct spex_object_sites sites;
    struct spex_elf_file file;
    struct spex_error why = {""};
    int fd = open(memory_file(data, size), O_RDONLY | O_CLOEXEC);
    FUZZ_CHECK(fd >= 0);
    int err = spex_object_sites_read(fd, "it", &sites, &why);
    if (err)
        check_why(err, &why);
    else
        check_sites(&sites);
    spex_object_sites_free(&sites);
    check_functions(fd);
    err = spex_elf_file_open(fd, "it", &file, &why);
    if (!err) {
        err = spex_loader_check(&file, &why);
        spex_elf_file_close(&file);
    }
    if (err)
        check_why(err, &why);
    close(fd);
    return 0;
}

/* A library made by the build, and what it begins with. */
size_t fuzz_seed(unsigned number, uint8_t *data, size_t room) {
    static const size_t parts[] = {SIZE_MAX, 4096, 512, sizeof(Elf64_Ehdr)};
    if (number >= sizeof(parts) / sizeof(parts[0]))
        return 0;
    FILE *file = fopen(OBSERVED, "rb");
    FUZZ_CHECK(file);
    size_t size = fread(data, 1, parts[number] < room ? parts[number] : room, file);
    FUZZ_CHECK(size > 0 && size < room);
    fclose(file);
    return size;
}

const char *const fuzz_words[] = {"\177ELF\2\1\1",
                                  "spex_sites",
                                  "spex_names",
                                  ".note.stapsdt",
                                  "stapsdt",
                                  ".shstrtab",
                                  "#!/bin/sh\n",
                                  "\1",
                                  "\2",
                                  "\3",
                                  "\10",
                                  "\x40",
                                  "\xff\xff\xff\xff",
                                  "\xff\xff\xff\xff\xff\xff\xff\x7f",
                                  NULL};
