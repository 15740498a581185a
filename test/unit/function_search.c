/* SPDX-License-Identifier: MIT */
/* The search for instrumented functions in made objects: at random, against what function_search.h
 * says of each segment, symbol and name; and without memory. The list of objects and their symbols
 * come from here and not from the loader and files. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <link.h>

#include "../scarce_memory.h"
#include "functions/function_calls.h"
#include "functions/function_search.h"
#include "functions/symbols.h"

enum { OBJECTS = 5, SEGMENTS = 4, CODE = 4096, SYMBOLS = 700, FEW = 40, NAMES_BYTES = 1024 };

struct object {
    const char *name;
    uintptr_t base;
    ElfW(Phdr) segments[SEGMENTS];
    unsigned segment_count;
    /* Of each type of table: whether the file has it. */
    bool has_all, has_dynamic;
    ElfW(Sym) symbols[SYMBOLS];
    size_t symbol_count;
    /* Of the table of dynamic symbols. */
    size_t dynamic_count;
};

static struct {
    struct object objects[OBJECTS];
    unsigned count;
    uintptr_t hook;
    unsigned open;
} made;

static unsigned char code[OBJECTS][CODE] __attribute__((aligned(16)));
static char names[NAMES_BYTES];
static uint64_t random_state;

static const char *const paths[OBJECTS] = {"", "/made/1", "/made/2", "/made/3", "/made/4"};

/* Names of symbols, and what functions are called by them; NULL: they are none. */
static const struct {
    const char *symbol, *name;
} known[] = {
    {"", NULL},
    {"alpha", "alpha"},
    {"alpha.part.0", "alpha"},
    {"alpha.cold", NULL},
    {"beta@@V_1", "beta"},
    {"beta", "beta"},
    {"gamma.constprop.0.cold.7", NULL},
    {"gamma", "gamma"},
    {"cold", "cold"},
    {"x_________x_________x_________x_________x_________x_________x_________",
     "x_________x_________x_________x_________x_________x_________x"},
    {"x_________x_________x_________x_________x_________x_________x_________y",
     "x_________x_________x_________x_________x_________x_________x"},
    {"__cyg_profile_func_enter", "__cyg_profile_func_enter"},
};
enum { HOOK_NAME = COUNT_OF(known) - 1 };
static uint32_t name_at[COUNT_OF(known)];

int __real_dl_iterate_phdr(int (*see)(struct dl_phdr_info *, size_t, void *), void *user);
int __wrap_dl_iterate_phdr(int (*see)(struct dl_phdr_info *, size_t, void *), void *user);
int __wrap_spex_symbols_open(struct spex_symbols *symbols, const char *path, uint32_t type);
void __wrap_spex_symbols_close(struct spex_symbols *symbols);

/* Once nothing is made it is a sanitizer that asks. */
int __wrap_dl_iterate_phdr(int (*see)(struct dl_phdr_info *, size_t, void *), void *user) {
    int result = made.count ? 0 : __real_dl_iterate_phdr(see, user);
    for (unsigned o = 0; o < made.count && !result; o++) {
        struct object *object = &made.objects[o];
        struct dl_phdr_info info = {.dlpi_addr = object->base,
                                    .dlpi_name = object->name,
                                    .dlpi_phdr = object->segments,
                                    .dlpi_phnum = (ElfW(Half))object->segment_count};
        result = see(&info, sizeof(info), user);
    }
    return result;
}

static const struct object *object_of_path(const char *path) {
    if (strcmp(path, "/proc/self/exe") == 0)
        return &made.objects[0];
    for (unsigned o = 1; o < made.count; o++)
        if (made.objects[o].name && strcmp(made.objects[o].name, path) == 0)
            return &made.objects[o];
    fail_msg("%s", path);
    return NULL;
}

int __wrap_spex_symbols_open(struct spex_symbols *symbols, const char *path, uint32_t type) {
    const struct object *object = object_of_path(path);
    bool all = type == SHT_SYMTAB;
    if (all ? !object->has_all : !object->has_dynamic)
        return -ENOENT;
    made.open++;
    *symbols = (struct spex_symbols){.symbols = object->symbols,
                                     .count = all ? object->symbol_count : object->dynamic_count,
                                     .names = names,
                                     .names_bytes = sizeof(names)};
    return 0;
}

void __wrap_spex_symbols_close(struct spex_symbols *symbols) {
    (void)symbols;
    made.open--;
}

static uint64_t below(uint64_t count) {
    return random_below(&random_state, count);
}

static void names_make(void) {
    size_t length = 1;
    for (unsigned n = 0; n < COUNT_OF(known); n++) {
        name_at[n] = known[n].symbol[0] ? (uint32_t)length : 0;
        length += (size_t)snprintf(names + length, sizeof(names) - length, "%s", known[n].symbol);
        length++;
    }
    assert_true(length < sizeof(names));
}

/* --- What is made */

static void segment_make(struct object *object, ElfW(Phdr) * segment) {
    static const uint32_t flags[] = {PF_R | PF_X, PF_R | PF_X, PF_X, PF_R, PF_R | PF_W, PF_W};
    uintptr_t area = (uintptr_t)code[object - made.objects];
    size_t from = 4 * below(CODE / 4), most = CODE - from, bytes = below(most + 1);
    *segment = (ElfW(Phdr)){.p_type = below(8) ? PT_LOAD : PT_NOTE,
                            .p_flags = flags[below(COUNT_OF(flags))],
                            .p_vaddr = area + from - object->base,
                            .p_filesz = bytes,
                            .p_memsz = bytes + below(most - bytes + 1)};
}

/* Puts a call of the hook somewhere. */
static void call_make(unsigned char *at, size_t bytes) {
#if defined(__x86_64__)
    if (bytes < 5)
        return;
    at += below(bytes - 4);
    int32_t distance = (int32_t)(made.hook - (uintptr_t)at - 5);
    at[0] = 0xe8;
    memcpy(at + 1, &distance, sizeof(distance));
#else
    if (bytes < 4)
        return;
    at += 4 * below(bytes / 4);
    uint32_t call =
        0x94000000u | (0x03ffffffu & (uint32_t)((intptr_t)(made.hook - (uintptr_t)at) / 4));
    memcpy(at, &call, sizeof(call));
#endif
}

/* The code of functions: the longest segment that can be read and executed. */
static const ElfW(Phdr) * code_of(const struct object *object) {
    const ElfW(Phdr) *longest = NULL;
    for (unsigned s = 0; s < object->segment_count; s++) {
        const ElfW(Phdr) *segment = &object->segments[s];
        if (segment->p_type == PT_LOAD && segment->p_flags == (PF_R | PF_X) &&
            segment->p_filesz > (longest ? longest->p_filesz : 0))
            longest = segment;
    }
    return longest;
}

static void symbol_make(struct object *object, ElfW(Sym) * symbol) {
    const ElfW(Phdr) *readable = code_of(object);
    size_t area = (uintptr_t)code[object - made.objects] - object->base;
    size_t begin = readable ? readable->p_vaddr - area : 0;
    size_t end = readable ? begin + readable->p_filesz : CODE;
    size_t at = below(8) ? begin + 4 * below((end - begin) / 4 + 1) : 4 * below(CODE / 4);
    size_t rest = at < end ? end - at : 0;
    size_t bytes = below(8) ? below(rest + 1) : rest + below(2);
    *symbol = (ElfW(Sym)){.st_name = name_at[below(COUNT_OF(known) - 1)],
                          .st_info = below(8) ? STT_FUNC | STB_GLOBAL << 4 : STT_OBJECT,
                          .st_shndx = below(8) ? 12 : SHN_UNDEF,
                          .st_value = area + at,
                          .st_size = bytes};
    if (below(2) && at + bytes <= CODE)
        call_make(code[object - made.objects] + at, bytes);
}

static void object_make(unsigned number, size_t symbols) {
    struct object *object = &made.objects[number];
    *object = (struct object){.name = paths[number],
                              .base = (uintptr_t)code[number] - 4 * below(1000),
                              .segment_count = (unsigned)below(SEGMENTS + 1),
                              .has_all = below(4),
                              .has_dynamic = below(4),
                              .symbol_count = symbols};
    if (number > 0 && !below(6))
        object->name = below(2) ? NULL : "";
    for (unsigned s = 0; s < object->segment_count; s++)
        segment_make(object, &object->segments[s]);
    for (size_t s = 0; s < symbols; s++)
        symbol_make(object, &object->symbols[s]);
    object->dynamic_count = below(symbols + 1);
    if (object->dynamic_count && below(4)) {
        ElfW(Sym) *symbol = &object->symbols[below(object->dynamic_count)];
        symbol->st_name = name_at[HOOK_NAME];
        symbol->st_shndx = below(8) ? SHN_UNDEF : 12;
    }
}

static void objects_make(size_t symbols) {
    memset(code, 0x90, sizeof(code));
    made.count = 1 + (unsigned)below(OBJECTS);
    made.hook = (uintptr_t)code[below(2) ? 0 : below(OBJECTS)] + 4 * below(CODE / 4);
    for (unsigned o = 0; o < made.count; o++)
        object_make(o, below(symbols + 1));
}

/* --- What is to be found */

static struct expected {
    struct {
        uintptr_t address;
        char name[SPEX_NAME_BYTES + 32];
        const char *file;
    } items[OBJECTS * SYMBOLS];
    size_t count, functions, objects, files;
} expected;

static bool contains_hook(const struct object *object) {
    for (unsigned s = 0; s < object->segment_count; s++) {
        const ElfW(Phdr) *segment = &object->segments[s];
        uintptr_t begin = object->base + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) && made.hook >= begin &&
            made.hook < begin + segment->p_memsz)
            return true;
    }
    return false;
}

static bool calls_hook_of_another(const struct object *object) {
    for (size_t s = 0; object->has_dynamic && s < object->dynamic_count; s++)
        if (object->symbols[s].st_name == name_at[HOOK_NAME] &&
            object->symbols[s].st_shndx == SHN_UNDEF)
            return true;
    return false;
}

static const char *name_of(const ElfW(Sym) * symbol) {
    for (unsigned n = 0; n < COUNT_OF(known); n++)
        if (name_at[n] == symbol->st_name)
            return known[n].name;
    return NULL;
}

static bool is_expected(const struct object *object, const ElfW(Sym) * symbol) {
    const ElfW(Phdr) *readable = code_of(object);
    bool direct = object == &made.objects[0] && contains_hook(object);
    return readable && (symbol->st_info & 0xf) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
           symbol->st_size > 0 && name_of(symbol) && symbol->st_value >= readable->p_vaddr &&
           symbol->st_value < readable->p_vaddr + readable->p_filesz &&
           symbol->st_value + symbol->st_size <= readable->p_vaddr + readable->p_filesz &&
           (!direct || spex_function_calls((unsigned char *)(object->base + symbol->st_value),
                                           symbol->st_size, made.hook));
}

/* Puts a function into its object's part, in order of names and addresses; of an address it keeps
 * the first name. */
static void expect_function(size_t first, uintptr_t address, const char *name, const char *path) {
    size_t at = first;
    for (size_t i = first; i < expected.count; i++)
        if (expected.items[i].address == address) {
            if (strcmp(expected.items[i].name, name) <= 0)
                return;
            expected.count--;
            memmove(&expected.items[i], &expected.items[i + 1],
                    (expected.count - i) * sizeof(expected.items[0]));
            break;
        }
    while (at < expected.count &&
           (strcmp(expected.items[at].name, name) < 0 ||
            (strcmp(expected.items[at].name, name) == 0 && expected.items[at].address < address)))
        at++;
    memmove(&expected.items[at + 1], &expected.items[at],
            (expected.count - at) * sizeof(expected.items[0]));
    expected.count++;
    expected.items[at].address = address;
    expected.items[at].file = path;
    strcpy(expected.items[at].name, name);
}

static void number_equal_names(size_t first) {
    unsigned same = 1;
    char before[SPEX_NAME_BYTES] = "";
    for (size_t i = first; i < expected.count; i++) {
        char *name = expected.items[i].name, number[24];
        same = strcmp(name, before) == 0 ? same + 1 : 1;
        strcpy(before, name);
        if (same == 1)
            continue;
        size_t length = (size_t)snprintf(number, sizeof(number), "#%u", same);
        if (strlen(name) + length >= SPEX_NAME_BYTES)
            name[SPEX_NAME_BYTES - 1 - length] = '\0';
        strcat(name, number);
    }
}

static void expect_object(const struct object *object, const char *filter, const char *path) {
    size_t first = expected.count;
    if (!contains_hook(object) && !calls_hook_of_another(object))
        return;
    expected.objects++;
    if (!object->has_all && !object->has_dynamic)
        return;
    expected.files++;
    size_t count = object->has_all ? object->symbol_count : object->dynamic_count;
    for (size_t s = 0; s < count; s++) {
        const ElfW(Sym) *symbol = &object->symbols[s];
        if (!is_expected(object, symbol))
            continue;
        expected.functions++;
        if (spex_function_chosen(filter, name_of(symbol)))
            expect_function(first, object->base + symbol->st_value, name_of(symbol), path);
    }
    number_equal_names(first);
}

static void expect_found(const char *filter, size_t most) {
    static char program[PATH_MAX];
    struct spex_found_functions found;
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    assert_true(length > 0);
    expected.count = expected.functions = expected.objects = expected.files = 0;
    for (unsigned o = 0; o < made.count; o++) {
        const struct object *object = &made.objects[o];
        if (o == 0 || (object->name && object->name[0]))
            expect_object(object, filter, o == 0 ? program : object->name);
    }
    assert_int_equal(spex_functions_find(filter, made.hook, most, &found), 0);
    assert_int_equal(made.open, 0);
    assert_int_equal(found.objects, expected.objects);
    assert_int_equal(found.functions, expected.functions);
    assert_int_equal(found.file_count, expected.files);
    assert_int_equal(found.matched, expected.count);
    assert_int_equal(found.count, most < expected.count ? most : expected.count);
    for (size_t i = 0; i < found.count; i++) {
        assert_true(found.items[i].address == expected.items[i].address);
        assert_string_equal(found.items[i].name, expected.items[i].name);
        assert_string_equal(found.items[i].file, expected.items[i].file);
        assert_true(i == 0 || (strcmp(found.items[i].file, found.items[i - 1].file) == 0) ==
                                  (found.items[i].file == found.items[i - 1].file));
    }
    spex_functions_found_free(&found);
}

TEST(what_is_found_is_what_is_said) {
    enum { ROUNDS = 3000 };
    static const char *const filters[] = {"*", "a*,b*", "*,alpha@off", "none"};
    size_t found = 0, held = scarce_held.count;
    for (unsigned round = 0; round < ROUNDS; round++) {
        random_state = round;
        objects_make(FEW);
        expect_found(filters[below(COUNT_OF(filters))], below(FEW));
        found += expected.count;
        assert_int_equal(scarce_held.count, held);
    }
    assert_true(found > ROUNDS);
}

static int attempt(void *user) {
    struct spex_found_functions found;
    (void)user;
    int err = spex_functions_find("*", made.hook, SYMBOLS, &found);
    assert_int_equal(made.open, 0);
    assert_true(err == 0 || err == -ENOMEM);
    spex_functions_found_free(&found);
    return err;
}

/* So many functions that the list grows. */
TEST(many_are_found_and_memory_may_end) {
    enum { TRIES = 1000 };
    for (unsigned try = 0; try < TRIES; try++) {
        random_state = try;
        objects_make(SYMBOLS);
        expect_found("*", SIZE_MAX);
        if (expected.functions > 512 && expected.files > 1)
            break;
    }
    assert_true(expected.functions > 512 && expected.files > 1);
    assert_true(without_each_allocation(attempt, NULL) > 4);
}

int main(void) {
#if !defined(__x86_64__) && !defined(__aarch64__)
    return 77; /* which functions are instrumented is not known here */
#endif
    names_make();
    int failed = tests_run(NULL, NULL);
    made.count = 0;
    return failed;
}
