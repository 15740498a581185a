/* SPDX-License-Identifier: MIT */
/* dl_iterate_phdr lists the objects; symbols.c reads the symbols of those that contain or call the
 * hooks. A file without a full symbol table still has the functions that it exports. */
#define _GNU_SOURCE
#include "kernels/function_search.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/memory.h"
#include "kernels/function_calls.h"
#include "kernels/symbols.h"

static const char hook_name[] = "__cyg_profile_func_enter";

/* A loaded object. `code`: its largest executable segment that can be read. */
struct object {
    char *path;
    uintptr_t base;
    uintptr_t code;
    uintptr_t code_end;
    bool has_hooks;
    bool is_program;
};

struct objects {
    struct object *items;
    size_t count;
    /* Memory was short: the list is not complete. */
    bool failed;
    uintptr_t enter_hook;
};

struct search {
    const char *filter;
    uintptr_t enter_hook;
    struct spex_found_functions *found;
    /* Items for which memory is allocated. */
    size_t room;
};

/* Notes where the object's code lies, and whether it contains the hooks. */
static void note_segments(struct object *object, const struct dl_phdr_info *info,
                          uintptr_t enter_hook) {
    for (size_t s = 0; s < info->dlpi_phnum; s++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[s];
        uintptr_t from = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
            continue;
        object->has_hooks |= enter_hook >= from && enter_hook - from < segment->p_memsz;
        if (segment->p_flags & PF_R && segment->p_filesz > object->code_end - object->code) {
            object->code = from;
            object->code_end = from + segment->p_filesz;
        }
    }
}

/* The program's path, for its sites' file names; empty where it is not known. NULL: no memory. */
static char *program_path(void) {
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    return spex_strndup(path, length > 0 ? (size_t)length : 0);
}

/* Callback of dl_iterate_phdr, which lists the program first. Other objects without a name, such as
 * the vDSO, have no file. */
static int objects_add(struct dl_phdr_info *info, size_t size, void *user) {
    struct objects *objects = user;
    struct object object = {.base = info->dlpi_addr, .is_program = objects->count == 0};
    (void)size;
    if (!object.is_program && !(info->dlpi_name && info->dlpi_name[0]))
        return 0;
    struct object *items =
        spex_realloc(objects->items, (objects->count + 1) * sizeof(*objects->items));
    objects->failed = true;
    if (!items)
        return 1;
    objects->items = items;
    object.path = object.is_program ? program_path() : spex_strdup(info->dlpi_name);
    if (!object.path)
        return 1;
    objects->failed = false;
    note_segments(&object, info, objects->enter_hook);
    objects->items[objects->count++] = object;
    return 0;
}

/* Frees the list, and the paths that no function refers to. */
static void objects_free(struct objects *objects) {
    for (size_t o = 0; o < objects->count; o++)
        spex_free(objects->items[o].path);
    spex_free(objects->items);
}

/* As spex_symbols_open. /proc/self/exe also works after the program's file has been renamed; where a
 * processor is emulated that may be the emulator's. */
static int object_symbols(const struct object *object, struct spex_symbols *symbols,
                          uint32_t type) {
    int err = object->is_program ? spex_symbols_open(symbols, "/proc/self/exe", type) : -EBADF;
    return err == -EBADF ? spex_symbols_open(symbols, object->path, type) : err;
}

/* Whether the object, which does not contain the hooks, calls them. */
static bool refers_to_hook(const struct object *object) {
    struct spex_symbols dynamic;
    if (object_symbols(object, &dynamic, SHT_DYNSYM) != 0)
        return false;
    bool refers = spex_symbols_refer_to(&dynamic, hook_name);
    spex_symbols_close(&dynamic);
    return refers;
}

/* Whether the symbol is a function that this file defines, with a size and a name. */
static bool is_function(const struct spex_symbols *symbols, const ElfW(Sym) * symbol) {
    return (symbol->st_info & 0xf) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
           symbol->st_size > 0 && spex_symbol_name(symbols, symbol)[0];
}

/* Whether the whole function lies in code that can be read. */
static bool is_in_code(const struct object *object, const ElfW(Sym) * symbol) {
    uintptr_t from = object->base + symbol->st_value;
    return from >= object->code && from < object->code_end &&
           symbol->st_size <= object->code_end - from;
}

/* Whether the function calls the hooks. Calls can be recognised only in the program that
 * contains the hooks; of other objects every function counts. ".cold" parts are left out, since
 * they are not entered by calls. */
static bool is_instrumented(const struct object *object, const struct spex_symbols *symbols,
                            const ElfW(Sym) * symbol, uintptr_t enter_hook) {
    if (!is_in_code(object, symbol) || strstr(spex_symbol_name(symbols, symbol), ".cold"))
        return false;
    bool calls_are_direct = object->has_hooks && object->is_program;
    return !calls_are_direct ||
           spex_function_calls((const unsigned char *)(object->base + symbol->st_value),
                               symbol->st_size, enter_hook);
}

/* Appends a function of the last file in found->files. */
static int found_add(struct search *search, const char *name, uintptr_t address) {
    struct spex_found_functions *found = search->found;
    if (found->count == search->room) {
        size_t room = search->room ? 2 * search->room : 256;
        struct spex_found_function *items =
            spex_realloc(found->items, room * sizeof(*found->items));
        if (!items)
            return -ENOMEM;
        found->items = items;
        search->room = room;
    }
    struct spex_found_function *item = &found->items[found->count++];
    *item = (struct spex_found_function){.address = address,
                                         .file = found->files[found->file_count - 1]};
    snprintf(item->name, sizeof(item->name), "%s", name);
    return 0;
}

/* Adds the instrumented functions of one object that the filter chooses. */
static int search_symbols(struct search *search, const struct object *object,
                          const struct spex_symbols *symbols) {
    char name[SPEX_NAME_BYTES];
    int err = 0;
    for (size_t s = 0; s < symbols->count && !err; s++) {
        const ElfW(Sym) *symbol = &symbols->symbols[s];
        if (!is_function(symbols, symbol) ||
            !is_instrumented(object, symbols, symbol, search->enter_hook))
            continue;
        search->found->functions++;
        spex_function_name(spex_symbol_name(symbols, symbol), name, sizeof(name));
        if (spex_function_chosen(search->filter, name))
            err = found_add(search, name, object->base + symbol->st_value);
    }
    return err;
}

/* Order by address, and of the same address by name, so that drop_aliases() keeps the first
 * name. */
static int by_address(const void *a, const void *b) {
    const struct spex_found_function *one = a, *other = b;
    return one->address == other->address  ? strcmp(one->name, other->name)
           : one->address < other->address ? -1
                                           : 1;
}

static int by_name(const void *a, const void *b) {
    const struct spex_found_function *one = a, *other = b;
    int order = strcmp(one->name, other->name);
    return order ? order : (one->address > other->address) - (one->address < other->address);
}

/* Keeps of several names for one address the first in alphabetical order. */
static size_t drop_aliases(struct spex_found_function *items, size_t count) {
    size_t kept = 0;
    qsort(items, count, sizeof(*items), by_address);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || items[kept - 1].address != items[i].address)
            items[kept++] = items[i];
    return kept;
}

/* Makes equal names different: "f", "f#2", "f#3". Names are sorted. */
static void number_names(struct spex_found_function *items, size_t count) {
    size_t first = 0;
    for (size_t i = 1; i < count; i++) {
        char *name = items[i].name;
        char number[24];
        if (strcmp(items[first].name, name) != 0) {
            first = i;
            continue;
        }
        int length = snprintf(number, sizeof(number), "#%zu", i - first + 1);
        size_t most = SPEX_NAME_BYTES - 1 - (size_t)length, bytes = strlen(name);
        memcpy(name + (bytes < most ? bytes : most), number, (size_t)length + 1);
    }
}

/* Searches one object. Its path moves to found->files, which outlives the list of objects. */
static int search_object(struct search *search, struct object *object) {
    struct spex_found_functions *found = search->found;
    struct spex_symbols symbols;
    if (!object->has_hooks && !refers_to_hook(object))
        return 0;
    found->objects++;
    int err = object_symbols(object, &symbols, SHT_SYMTAB);
    if (err)
        err = object_symbols(object, &symbols, SHT_DYNSYM);
    /* A file that is gone or has no symbols has no functions that match. */
    if (err)
        return 0;
    found->files[found->file_count++] = object->path;
    object->path = NULL;
    size_t before = found->count;
    err = search_symbols(search, object, &symbols);
    spex_symbols_close(&symbols);
    if (err || found->count == before)
        return err;
    struct spex_found_function *items = found->items + before;
    size_t count = drop_aliases(items, found->count - before);
    qsort(items, count, sizeof(*items), by_name);
    number_names(items, count);
    found->count = before + count;
    return 0;
}

/* All functions are searched and then cut to `most`, so that `matched` is the whole number.
 * Those that are cut are of the objects loaded last. */
int spex_functions_find(const char *filter, uintptr_t enter_hook, size_t most,
                        struct spex_found_functions *found) {
    struct objects objects = {.enter_hook = enter_hook};
    struct search search = {.filter = filter, .enter_hook = enter_hook, .found = found};
    *found = (struct spex_found_functions){.count = 0};
    dl_iterate_phdr(objects_add, &objects);
    found->files = spex_calloc(objects.count + 1, sizeof(*found->files));
    int err = objects.failed || !found->files ? -ENOMEM : 0;
    for (size_t o = 0; o < objects.count && !err; o++)
        err = search_object(&search, &objects.items[o]);
    objects_free(&objects);
    found->matched = found->count;
    if (found->count > most)
        found->count = most;
    return err;
}

void spex_functions_found_free(struct spex_found_functions *found) {
    for (size_t f = 0; f < found->file_count; f++)
        spex_free(found->files[f]);
    spex_free(found->files);
    spex_free(found->items);
}
