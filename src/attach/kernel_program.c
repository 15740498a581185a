/* SPDX-License-Identifier: MIT */
/* Maps and programs by bpf(2), without a library: the programs are a dozen instructions. Counters are
 * mapped, so that reading them takes no call. */
#define _GNU_SOURCE
#include "attach/kernel_program.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>

/* Records that the ring has room for: as many as come in some milliseconds at the greatest rate there
 * is. */
enum { RING_BYTES = 1 << 22 };

/* The stack pointer in what the kernel keeps of a thread's registers. */
#if defined(__x86_64__)
enum { STACK_POINTER = offsetof(struct user_regs_struct, rsp) };
#else
enum { STACK_POINTER = offsetof(struct user_regs_struct, sp) };
#endif

static int bpf(enum bpf_cmd command, void *attributes, size_t bytes) {
    long result = syscall(SYS_bpf, command, attributes, bytes);
    return result < 0 ? -errno : (int)result;
}

static int map_create(uint32_t type, uint32_t key, uint32_t value, uint32_t entries,
                      uint32_t flags) {
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.map_type = type;
    attributes.key_size = key;
    attributes.value_size = value;
    attributes.max_entries = entries;
    attributes.map_flags = flags;
    return bpf(BPF_MAP_CREATE, &attributes, sizeof(attributes));
}

/* NULL: it failed, with errno set. */
static void *map_pages(int fd, size_t bytes, int rights, off_t from) {
    void *pages = mmap(NULL, bytes, rights, MAP_SHARED, fd, from);
    return pages == MAP_FAILED ? NULL : pages;
}

static size_t counts_bytes(const struct spex_kernel_memory *memory) {
    size_t bytes = memory->count * sizeof(struct spex_site_counts);
    return (bytes + memory->page_bytes - 1) / memory->page_bytes * memory->page_bytes;
}

static int open_counts(struct spex_kernel_memory *memory) {
    memory->counts_fd = map_create(BPF_MAP_TYPE_ARRAY, sizeof(uint32_t),
                                   (uint32_t)counts_bytes(memory), 1, BPF_F_MMAPABLE);
    if (memory->counts_fd < 0)
        return memory->counts_fd;
    memory->counts = map_pages(memory->counts_fd, counts_bytes(memory), PROT_READ | PROT_WRITE, 0);
    return memory->counts ? 0 : -errno;
}

/* One page that this process writes, one that the kernel writes, and the records twice. */
static int open_ring(struct spex_kernel_memory *memory) {
    size_t page = memory->page_bytes;
    memory->ring_bytes = RING_BYTES;
    memory->ring_fd = map_create(BPF_MAP_TYPE_RINGBUF, 0, 0, RING_BYTES, 0);
    if (memory->ring_fd < 0)
        return memory->ring_fd;
    memory->consumed = map_pages(memory->ring_fd, page, PROT_READ | PROT_WRITE, 0);
    if (!memory->consumed)
        return -errno;
    memory->produced =
        map_pages(memory->ring_fd, page + 2 * memory->ring_bytes, PROT_READ, (off_t)page);
    if (!memory->produced)
        return -errno;
    memory->records = (const uint8_t *)memory->produced + page;
    return 0;
}

/* Nothing is in an alarm: one page of them is enough. */
static int open_alarms(struct spex_kernel_memory *memory) {
    size_t page = memory->page_bytes;
    memory->alarms_fd = map_create(BPF_MAP_TYPE_RINGBUF, 0, 0, (uint32_t)page, 0);
    if (memory->alarms_fd < 0)
        return memory->alarms_fd;
    memory->alarms_consumed = map_pages(memory->alarms_fd, page, PROT_READ | PROT_WRITE, 0);
    if (!memory->alarms_consumed)
        return -errno;
    memory->alarms_produced = map_pages(memory->alarms_fd, page, PROT_READ, (off_t)page);
    return memory->alarms_produced ? 0 : -errno;
}

void spex_kernel_memory_note_alarms(struct spex_kernel_memory *memory) {
    uint64_t until = __atomic_load_n(memory->alarms_produced, __ATOMIC_ACQUIRE);
    __atomic_store_n(memory->alarms_consumed, until, __ATOMIC_RELEASE);
}

/* Before Linux 5.11 the memory of maps counted as locked memory, of which there is little. */
static void allow_locked_memory(void) {
    const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_MEMLOCK, &all);
}

int spex_kernel_memory_open(struct spex_kernel_memory *memory, const char **step) {
    *memory = (struct spex_kernel_memory){.counts_fd = -1,
                                          .ring_fd = -1,
                                          .alarms_fd = -1,
                                          .count = SPEX_SITES_MAX,
                                          .page_bytes = (size_t)sysconf(_SC_PAGESIZE)};
    allow_locked_memory();
    *step = "memory for counts";
    int err = open_counts(memory);
    if (err)
        return err;
    *step = "memory for records";
    err = open_ring(memory);
    return err ? err : open_alarms(memory);
}

void spex_kernel_memory_close(struct spex_kernel_memory *memory) {
    if (memory->counts)
        munmap(memory->counts, counts_bytes(memory));
    if (memory->consumed)
        munmap(memory->consumed, memory->page_bytes);
    if (memory->produced)
        munmap(memory->produced, memory->page_bytes + 2 * memory->ring_bytes);
    if (memory->alarms_consumed)
        munmap(memory->alarms_consumed, memory->page_bytes);
    if (memory->alarms_produced)
        munmap(memory->alarms_produced, memory->page_bytes);
    if (memory->counts_fd >= 0)
        close(memory->counts_fd);
    if (memory->alarms_fd >= 0)
        close(memory->alarms_fd);
    if (memory->ring_fd >= 0)
        close(memory->ring_fd);
    *memory = (struct spex_kernel_memory){.counts_fd = -1, .ring_fd = -1, .alarms_fd = -1};
}

/* A program that is written. */
struct writing {
    struct bpf_insn code[160];
    unsigned count;
};

static void put(struct writing *to, uint8_t code, uint8_t target, uint8_t source, int16_t offset,
                int32_t number) {
    to->code[to->count++] = (struct bpf_insn){.code = code,
                                              .dst_reg = target & 0xf,
                                              .src_reg = source & 0xf,
                                              .off = offset,
                                              .imm = number};
}

static void put_number(struct writing *to, uint8_t target, int32_t number) {
    put(to, BPF_ALU64 | BPF_MOV | BPF_K, target, 0, 0, number);
}

/* Takes two instructions. */
static void put_wide(struct writing *to, uint8_t target, uint64_t number) {
    put(to, BPF_LD | BPF_DW, target, 0, 0, (int32_t)number);
    put(to, 0, 0, 0, 0, (int32_t)(number >> 32));
}

static void put_copy(struct writing *to, uint8_t target, uint8_t source) {
    put(to, BPF_ALU64 | BPF_MOV | BPF_X, target, source, 0, 0);
}

static void put_call(struct writing *to, enum bpf_func_id function) {
    put(to, BPF_JMP | BPF_CALL, 0, 0, 0, (int32_t)function);
}

/* Takes two instructions. `kind`: the map itself, or its value, `into` bytes behind its begin. */
static void put_map(struct writing *to, uint8_t target, uint8_t kind, int map, int32_t into) {
    put(to, BPF_LD | BPF_DW, target, kind, 0, map);
    put(to, 0, 0, 0, 0, into);
}

/* A jump behind which something is left out: its place is filled in when that is known. */
static unsigned put_jump(struct writing *to, uint8_t test, uint8_t tested, int32_t number) {
    put(to, BPF_JMP | BPF_K | test, tested, 0, 0, number);
    return to->count - 1;
}

static void land(struct writing *to, unsigned jump) {
    to->code[jump].off = (int16_t)(to->count - jump - 1);
}

/* The kernel calls nobody else for an event where it returns 0. */
static void put_end(struct writing *to) {
    put_number(to, BPF_REG_0, 0);
    put(to, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* What the program keeps in registers. COUNTS becomes the record when there is one. */
enum { THREAD = BPF_REG_6, COOKIE = BPF_REG_7, TIME = BPF_REG_8, COUNTS = BPF_REG_9 };

/* A cookie has the site's number, and above it the task. */
enum { TASK_BITS = 16 };

uint64_t spex_kernel_cookie(size_t number, enum spex_site_task task) {
    return number | (uint64_t)task << TASK_BITS;
}

/* Register 1 has the task. */
static void put_task(struct writing *to) {
    put_copy(to, BPF_REG_1, COOKIE);
    put(to, BPF_ALU64 | BPF_RSH | BPF_K, BPF_REG_1, 0, 0, TASK_BITS);
}

static void put_time(struct writing *to) {
    put_call(to, BPF_FUNC_ktime_get_ns);
    put_copy(to, TIME, BPF_REG_0);
}

/* Adds 1 to one of the counters. */
static void put_count(struct writing *to, size_t member) {
    put_number(to, BPF_REG_1, 1);
    put(to, BPF_STX | BPF_ATOMIC | BPF_DW, COUNTS, BPF_REG_1, (int16_t)member, BPF_ADD);
}

/* The kernel checks that the number cannot be too large. */
static void put_counts(struct writing *to, const struct spex_kernel_memory *memory) {
    put_copy(to, BPF_REG_1, COOKIE);
    put(to, BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_1, 0, 0, SPEX_SITES_MAX - 1);
    put(to, BPF_ALU64 | BPF_MUL | BPF_K, BPF_REG_1, 0, 0, sizeof(struct spex_site_counts));
    put_map(to, COUNTS, BPF_PSEUDO_MAP_VALUE, memory->counts_fd, 0);
    put(to, BPF_ALU64 | BPF_ADD | BPF_X, COUNTS, BPF_REG_1, 0, 0);
}

/* Counts the execution. Whoever's is that of the alarm wakes the command. */
static void put_executions(struct writing *to, const struct spex_kernel_memory *memory) {
    put_number(to, BPF_REG_1, 1);
    put(to, BPF_STX | BPF_ATOMIC | BPF_DW, COUNTS, BPF_REG_1,
        (int16_t)offsetof(struct spex_site_counts, executions), BPF_ADD | BPF_FETCH);
    put(to, BPF_ALU64 | BPF_ADD, BPF_REG_1, 0, 0, 1);
    put(to, BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_2, COUNTS,
        (int16_t)offsetof(struct spex_site_counts, alarm), 0);
    unsigned other = to->count;
    put(to, BPF_JMP | BPF_JNE | BPF_X, BPF_REG_1, BPF_REG_2, 0, 0);
    put_map(to, BPF_REG_1, BPF_PSEUDO_MAP_FD, memory->alarms_fd, 0);
    put_number(to, BPF_REG_2, sizeof(uint64_t));
    put_number(to, BPF_REG_3, 0);
    put_call(to, BPF_FUNC_ringbuf_reserve);
    unsigned full = put_jump(to, BPF_JEQ, BPF_REG_0, 0);
    put_copy(to, BPF_REG_1, BPF_REG_0);
    put_number(to, BPF_REG_2, BPF_RB_FORCE_WAKEUP);
    put_call(to, BPF_FUNC_ringbuf_submit);
    land(to, full);
    land(to, other);
}

static void put_store(struct writing *to, uint8_t source, size_t member) {
    put(to, BPF_STX | BPF_MEM | BPF_DW, COUNTS, source, (int16_t)member, 0);
}

/* The lower 32 bits. */
static void put_store_half(struct writing *to, uint8_t source, size_t member) {
    put(to, BPF_STX | BPF_MEM | BPF_W, COUNTS, source, (int16_t)member, 0);
}

/* What the registers of arguments have. */
static void put_registers(struct writing *to) {
#if defined(__x86_64__)
    static const size_t from[] = {
        offsetof(struct user_regs_struct, rdi), offsetof(struct user_regs_struct, rsi),
        offsetof(struct user_regs_struct, rdx), offsetof(struct user_regs_struct, rcx),
        offsetof(struct user_regs_struct, r8),  offsetof(struct user_regs_struct, r9)};
    for (size_t a = 0; a < SPEX_ARGUMENTS_MAX; a++) {
        put(to, BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_1, THREAD, (int16_t)from[a], 0);
        put_store(to, BPF_REG_1,
                  offsetof(struct spex_site_record, registers) + a * sizeof(uint64_t));
    }
#else
    (void)to;
#endif
}

/* The thread's id as this process's PID namespace has it, if it is the thread's own; else as the first namespace has it. */
static void put_thread(struct writing *to) {
    enum { IDS = -(int)sizeof(struct bpf_pidns_info) };
    struct stat own;
    put_call(to, BPF_FUNC_get_current_pid_tgid);
    put_store_half(to, BPF_REG_0, offsetof(struct spex_site_record, thread));
    if (stat("/proc/self/ns/pid", &own) != 0)
        return;
    put_wide(to, BPF_REG_1, own.st_dev);
    put_wide(to, BPF_REG_2, own.st_ino);
    put_copy(to, BPF_REG_3, BPF_REG_10);
    put(to, BPF_ALU64 | BPF_ADD, BPF_REG_3, 0, 0, IDS);
    put_number(to, BPF_REG_4, sizeof(struct bpf_pidns_info));
    put_call(to, BPF_FUNC_get_ns_current_pid_tgid);
    unsigned other = put_jump(to, BPF_JNE, BPF_REG_0, 0);
    put(to, BPF_LDX | BPF_MEM | BPF_W, BPF_REG_1, BPF_REG_10,
        IDS + (int)offsetof(struct bpf_pidns_info, pid), 0);
    put_store_half(to, BPF_REG_1, offsetof(struct spex_site_record, thread));
    land(to, other);
}

/* Fills in the record and hands it over. The time of a beginning is read as late as can be. */
static void put_record(struct writing *to, bool tells) {
    put_copy(to, COUNTS, BPF_REG_0);
    put_call(to, BPF_FUNC_get_smp_processor_id);
    put_store_half(to, BPF_REG_0, offsetof(struct spex_site_record, cpu));
    put_thread(to);
    if (tells)
        put_registers(to);
    put(to, BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_1, THREAD, STACK_POINTER, 0);
    put_store(to, BPF_REG_1, offsetof(struct spex_site_record, stack_pointer));
    put_copy(to, BPF_REG_1, COOKIE);
    put(to, BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_1, 0, 0, SPEX_SITES_MAX - 1);
    put_store(to, BPF_REG_1, offsetof(struct spex_site_record, site));
    unsigned known = put_jump(to, BPF_JNE, TIME, 0);
    put_time(to);
    land(to, known);
    put_store(to, TIME, offsetof(struct spex_site_record, ns));
    put_copy(to, BPF_REG_1, COUNTS);
    put_number(to, BPF_REG_2, BPF_RB_NO_WAKEUP);
    put_call(to, BPF_FUNC_ringbuf_submit);
    put_end(to);
}

/* Makes a record, whose length the kernel must know beforehand. */
static void put_reserved(struct writing *to, const struct spex_kernel_memory *memory, bool tells) {
    put_map(to, BPF_REG_1, BPF_PSEUDO_MAP_FD, memory->ring_fd, 0);
    put_number(to, BPF_REG_2,
               tells ? sizeof(struct spex_site_record)
                     : offsetof(struct spex_site_record, registers));
    put_number(to, BPF_REG_3, 0);
    put_call(to, BPF_FUNC_ringbuf_reserve);
    unsigned full = put_jump(to, BPF_JEQ, BPF_REG_0, 0);
    put_record(to, tells);
    land(to, full);
    put_count(to, offsetof(struct spex_site_counts, lost));
    put_end(to);
}

static void put_program(struct writing *to, const struct spex_kernel_memory *memory) {
    put_copy(to, THREAD, BPF_REG_1);
    put_call(to, BPF_FUNC_get_attach_cookie);
    put_copy(to, COOKIE, BPF_REG_0);
    put_number(to, TIME, 0);
    put_task(to);
    unsigned no_end = put_jump(to, BPF_JNE, BPF_REG_1, SPEX_SITE_ENDS);
    put_time(to);
    land(to, no_end);
    put_counts(to, memory);
    put_executions(to, memory);
    put_task(to);
    unsigned counts = put_jump(to, BPF_JEQ, BPF_REG_1, SPEX_SITE_COUNTS);
    unsigned tells = put_jump(to, BPF_JEQ, BPF_REG_1, SPEX_SITE_TELLS);
    put_reserved(to, memory, false);
    land(to, tells);
    put_reserved(to, memory, true);
    land(to, counts);
    put_end(to);
}

int spex_kernel_program_load(const struct spex_kernel_memory *memory, uint32_t attached) {
    static const char licence[] = "Dual MIT/GPL";
    struct writing program = {.count = 0};
    union bpf_attr attributes;
    put_program(&program, memory);
    memset(&attributes, 0, sizeof(attributes));
    attributes.prog_type = BPF_PROG_TYPE_KPROBE;
    attributes.insns = (uintptr_t)program.code;
    attributes.insn_cnt = program.count;
    attributes.license = (uintptr_t)licence;
    attributes.expected_attach_type = attached;
    return bpf(BPF_PROG_LOAD, &attributes, sizeof(attributes));
}

/* BPF_LINK_CREATE with what headers of older kernels do not have. */
struct link_uprobes {
    uint32_t program, target, type, flags;
    uint64_t path, offsets, reference_offsets, cookies;
    uint32_t count, more_flags, process, reserved;
};

int spex_kernel_link_uprobes(int program, const struct spex_kernel_places *places, pid_t process) {
    struct link_uprobes attributes = {.program = (uint32_t)program,
                                      .type = SPEX_KERNEL_LINK_UPROBES,
                                      .path = (uintptr_t)places->path,
                                      .offsets = (uintptr_t)places->offsets,
                                      .reference_offsets = (uintptr_t)places->semaphores,
                                      .cookies = (uintptr_t)places->cookies,
                                      .count = places->count,
                                      .process = (uint32_t)process};
    return bpf(BPF_LINK_CREATE, &attributes, sizeof(attributes));
}

int spex_kernel_link_event(int program, int event, uint64_t cookie) {
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.link_create.prog_fd = (uint32_t)program;
    attributes.link_create.target_fd = (uint32_t)event;
    attributes.link_create.attach_type = BPF_PERF_EVENT;
    attributes.link_create.perf_event.bpf_cookie = cookie;
    return bpf(BPF_LINK_CREATE, &attributes, sizeof(attributes));
}

/* What stands before each record in the ring: its length with two flags, and a word for the kernel. */
enum { HEADER_BYTES = BPF_RINGBUF_HDR_SZ };

/* A record that is not ready yet holds up those behind it. The kernel writes `produced` after a record's
 * header, and removes BUSY after the record: hence the two acquires. */
size_t spex_kernel_memory_take(struct spex_kernel_memory *memory, struct spex_site_record *records,
                               size_t room) {
    uint64_t at = *memory->consumed, end = __atomic_load_n(memory->produced, __ATOMIC_ACQUIRE);
    size_t taken = 0;
    while (at < end && taken < room) {
        const uint8_t *header = memory->records + (at & (memory->ring_bytes - 1));
        uint32_t length = __atomic_load_n((const uint32_t *)(const void *)header, __ATOMIC_ACQUIRE);
        if (length & BPF_RINGBUF_BUSY_BIT)
            break;
        bool kept = !(length & BPF_RINGBUF_DISCARD_BIT);
        length &= ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
        if (kept)
            memcpy(&records[taken++], header + HEADER_BYTES,
                   length < sizeof(*records) ? length : sizeof(*records));
        at += (length + HEADER_BYTES + 7) / 8 * 8;
    }
    __atomic_store_n(memory->consumed, at, __ATOMIC_RELEASE);
    return taken;
}
