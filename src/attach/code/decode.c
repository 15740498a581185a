/* SPDX-License-Identifier: MIT */
#include "attach/code/decode.h"

#include <Zydis/Zydis.h>

bool spex_can_decode(void) {
    return true;
}

/* The place of the argument in a register; 6: it has none. */
static unsigned place_of(ZydisRegister written) {
    static const ZydisRegister places[] = {ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_RSI,
                                           ZYDIS_REGISTER_RDX, ZYDIS_REGISTER_RCX,
                                           ZYDIS_REGISTER_R8,  ZYDIS_REGISTER_R9};
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, written);
    unsigned place = 0;
    while (place < 6 && places[place] != whole)
        place++;
    return place;
}

static uint8_t places_written(const ZydisDecodedInstruction *decoded,
                              const ZydisDecodedOperand *operands) {
    unsigned places = 0;
    for (unsigned o = 0; o < decoded->operand_count; o++)
        if (operands[o].type == ZYDIS_OPERAND_TYPE_REGISTER &&
            operands[o].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
            places |= 1u << place_of(operands[o].reg.value);
    return places & 0x3f;
}

/* Writes the stack pointer or not; what a call does to it is undone when the function returns. */
static bool writes_stack_pointer(const ZydisDecodedInstruction *decoded,
                                 const ZydisDecodedOperand *operands) {
    for (unsigned o = 0; o < decoded->operand_count; o++) {
        const ZydisDecodedOperand *operand = &operands[o];
        if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
            operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
            ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operand->reg.value) ==
                ZYDIS_REGISTER_RSP)
            return true;
    }
    return false;
}

/* sub and add of a number, and push: what functions begin with. */
static void tell_stack_pointer(const ZydisDecodedInstruction *decoded,
                               const ZydisDecodedOperand *operands,
                               struct spex_instruction *instruction) {
    bool number = decoded->operand_count_visible == 2 &&
                  operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                  operands[0].reg.value == ZYDIS_REGISTER_RSP &&
                  operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    instruction->sinks_known = true;
    if (decoded->meta.category == ZYDIS_CATEGORY_CALL || !writes_stack_pointer(decoded, operands))
        return;
    if (decoded->mnemonic == ZYDIS_MNEMONIC_PUSH && decoded->operand_width == 64)
        instruction->sinks = 8;
    else if (decoded->mnemonic == ZYDIS_MNEMONIC_SUB && number)
        instruction->sinks = operands[1].imm.value.s;
    else if (decoded->mnemonic == ZYDIS_MNEMONIC_ADD && number)
        instruction->sinks = -operands[1].imm.value.s;
    else
        instruction->sinks_known = false;
}

/* `jmp` to where a register or memory points. */
static enum spex_flow indirect_flow(const ZydisDecodedInstruction *decoded,
                                    const ZydisDecodedOperand *operand) {
    if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY && operand->mem.base == ZYDIS_REGISTER_RIP)
        return SPEX_FLOW_JUMP_POINTER;
    if (decoded->attributes & ZYDIS_ATTRIB_HAS_NOTRACK)
        return SPEX_FLOW_JUMP_TABLE;
    return SPEX_FLOW_JUMP_ANYWHERE;
}

static void tell_flow(const ZydisDecodedInstruction *decoded, const ZydisDecodedOperand *operands,
                      uint64_t address, struct spex_instruction *instruction) {
    bool relative = decoded->operand_count_visible > 0 &&
                    operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operands[0].imm.is_relative;
    if (relative)
        ZydisCalcAbsoluteAddress(decoded, &operands[0], address, &instruction->target);
    switch (decoded->meta.category) {
    case ZYDIS_CATEGORY_CALL:
        instruction->flow = SPEX_FLOW_CALL;
        break;
    case ZYDIS_CATEGORY_RET:
        instruction->flow = SPEX_FLOW_RETURN;
        break;
    case ZYDIS_CATEGORY_UNCOND_BR:
        instruction->flow = relative ? SPEX_FLOW_JUMP : indirect_flow(decoded, &operands[0]);
        break;
    case ZYDIS_CATEGORY_COND_BR: /* loop, jrcxz and xbegin, too */
        instruction->flow = SPEX_FLOW_BRANCH;
        break;
    default:
        if (decoded->mnemonic == ZYDIS_MNEMONIC_XBEGIN)
            instruction->flow = SPEX_FLOW_BRANCH;
        else if (decoded->mnemonic == ZYDIS_MNEMONIC_UD2 || decoded->mnemonic == ZYDIS_MNEMONIC_HLT)
            instruction->flow = SPEX_FLOW_STOP;
    }
}

/* Calls put the address behind them onto the stack, or into a register; endbr is where indirect jumps may lead. */
static bool is_movable(const ZydisDecodedInstruction *decoded, enum spex_flow flow) {
    static const ZydisInstructionCategory others[] = {ZYDIS_CATEGORY_SYSCALL, ZYDIS_CATEGORY_SYSRET,
                                                      ZYDIS_CATEGORY_INTERRUPT,
                                                      ZYDIS_CATEGORY_SYSTEM, ZYDIS_CATEGORY_CET};
    for (size_t o = 0; o < sizeof(others) / sizeof(others[0]); o++)
        if (decoded->meta.category == others[o])
            return false;
    return flow == SPEX_FLOW_ON;
}

static void tell_memory(const ZydisDecodedInstruction *decoded, const ZydisDecodedOperand *operands,
                        struct spex_instruction *instruction) {
    instruction->movable = is_movable(decoded, instruction->flow);
    for (unsigned o = 0; o < decoded->operand_count_visible; o++) {
        const ZydisDecodedOperand *operand = &operands[o];
        if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY)
            continue;
        bool near = operand->mem.base == ZYDIS_REGISTER_RIP;
        if (near && decoded->raw.disp.size == 32)
            instruction->distance_at = decoded->raw.disp.offset;
        instruction->movable &=
            operand->mem.base != ZYDIS_REGISTER_EIP && (!near || decoded->raw.disp.size == 32);
        instruction->may_fault |= !near && operand->mem.type == ZYDIS_MEMOP_TYPE_MEM &&
                                  decoded->meta.category != ZYDIS_CATEGORY_NOP &&
                                  decoded->meta.category != ZYDIS_CATEGORY_WIDENOP;
    }
}

bool spex_decode(const uint8_t *code, size_t bytes, uint64_t address,
                 struct spex_instruction *instruction) {
    static ZydisDecoder decoder;
    static bool ready;
    ZydisDecodedInstruction decoded;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (!ready)
        ready = ZYAN_SUCCESS(
            ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
    *instruction = (struct spex_instruction){.flow = SPEX_FLOW_ON};
    if (!ready || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, bytes, &decoded, operands)))
        return false;
    instruction->bytes = decoded.length;
    instruction->writes = places_written(&decoded, operands);
    tell_flow(&decoded, operands, address, instruction);
    tell_stack_pointer(&decoded, operands, instruction);
    tell_memory(&decoded, operands, instruction);
    return true;
}
