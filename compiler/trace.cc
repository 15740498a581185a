/* SPDX-License-Identifier: MIT */
#include "compiler/trace.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

using namespace llvm;

namespace spex {

/* Values that one trace looks at. */
static const unsigned seen_most = 64;

void Sources::add(const Source &source) {
    for (Source &item : items)
        if (item.same(source)) {
            item.bound &= source.bound;
            item.depth = std::max(item.depth, source.depth);
            if (!item.sure && source.sure) {
                item.sure = true;
                item.at = source.at;
            }
            return;
        }
    items.push_back(source);
}

bool Scope::is_outside(const Value *value) const {
    if (isa<Argument>(value))
        return true;
    auto *instruction = dyn_cast<Instruction>(value);
    return loop && instruction && !loop->contains(instruction);
}

bool is_surely_executed(const Instruction *instruction, const BasicBlock *block) {
    SmallPtrSet<const BasicBlock *, 8> passed;
    while (block && passed.insert(block).second) {
        for (const Instruction &at : *block) {
            if (&at == instruction)
                return true;
            if (!isGuaranteedToTransferExecutionToSuccessor(&at))
                return false;
        }
        block = block->getUniqueSuccessor();
    }
    return false;
}

bool pointee_find(const Scope &scope, Value *pointer, Pointee &pointee) {
    const DataLayout &layout = scope.function.getParent()->getDataLayout();
    APInt offset(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
    Value *base = pointer->stripAndAccumulateConstantOffsets(layout, offset, true);
    pointee.offset = offset.getSExtValue();
    if (isa<GlobalVariable>(base) || scope.is_outside(base)) {
        pointee.base = base;
        return base->getType()->isPointerTy();
    }
    auto *load = dyn_cast<LoadInst>(base);
    Pointee before;
    if (!load || !load->isSimple() || !pointee_find(scope, load->getPointerOperand(), before))
        return false;
    pointee.base = before.base;
    pointee.path = before.path;
    pointee.path.push_back(before.offset);
    return true;
}

/* What the first step of the path loads is in memory that is there. */
static bool is_dereferenceable(const Scope &scope, const Source &source) {
    if (source.path.size() != 1 || source.path[0] < 0)
        return false;
    const DataLayout &layout = scope.function.getParent()->getDataLayout();
    uint64_t end = static_cast<uint64_t>(source.path[0]) + layout.getTypeStoreSize(source.type);
    if (auto *variable = dyn_cast<GlobalVariable>(source.base))
        return !variable->isThreadLocal() && !variable->hasExternalWeakLinkage() &&
               end <= layout.getTypeAllocSize(variable->getValueType());
    auto *argument = dyn_cast<Argument>(source.base);
    return argument && argument->getDereferenceableBytes() >= end;
}

void source_check(const Scope &scope, Source &source) {
    const BasicBlock *begin =
        scope.loop ? scope.loop->getHeader() : &scope.function.getEntryBlock();
    source.sure =
        is_dereferenceable(scope, source) || (source.loads && is_surely_executed(source.at, begin));
}

static bool is_number(const Type *type) {
    return type->isIntegerTy() && type->getIntegerBitWidth() >= 8 &&
           type->getIntegerBitWidth() <= 64;
}

bool Trace::load(LoadInst &load) {
    Pointee pointee;
    if (!load.isSimple() || !pointee_find(scope, load.getPointerOperand(), pointee))
        return false;
    Source source;
    source.base = pointee.base;
    source.path = pointee.path;
    source.path.push_back(pointee.offset);
    source.type = load.getType();
    source.at = &load;
    source.loads = true;
    source_check(scope, source);
    found.add(source);
    return true;
}

/* The value is what its data are made of; what chose between them (a branch, the condition of a
 * select) is not looked at. */
bool Trace::operands(Instruction &instruction) {
    unsigned first = isa<SelectInst>(instruction) ? 1 : 0;
    unsigned end = instruction.getNumOperands();
    if (auto *call = dyn_cast<CallBase>(&instruction))
        end = call->arg_size();
    bool complete = true;
    for (unsigned at = first; at < end; at++)
        complete &= value(instruction.getOperand(at));
    return complete;
}

static bool is_arithmetic(const Instruction &instruction) {
    if (isa<BinaryOperator>(instruction) || isa<SelectInst>(instruction) ||
        isa<FreezeInst>(instruction))
        return true;
    if (auto *cast = dyn_cast<CastInst>(&instruction))
        return cast->getSrcTy()->isIntegerTy();
    auto *call = dyn_cast<IntrinsicInst>(&instruction);
    return call && call->getType()->isIntegerTy() && call->doesNotAccessMemory();
}

/* What is calculated from one number alone is told as that number. */
bool Trace::outside(Value *value) {
    auto *instruction = dyn_cast<Instruction>(value);
    unsigned variable = 0;
    if (instruction && is_arithmetic(*instruction) && !isa<SelectInst>(instruction))
        for (const Use &use : instruction->operands())
            variable += !isa<Constant>(use);
    if (variable == 1)
        return operands(*instruction);
    Source source;
    source.base = value;
    source.type = value->getType();
    source.sure = true;
    found.add(source);
    return true;
}

bool Trace::value(Value *value) {
    if (isa<Constant>(value))
        return true;
    if (!seen.insert(value).second)
        return true;
    if (!is_number(value->getType()) && !value->getType()->isIntegerTy(1))
        return false;
    if (seen.size() > seen_most)
        return false;
    if (scope.is_outside(value))
        return is_number(value->getType()) && outside(value);
    auto *instruction = dyn_cast<Instruction>(value);
    if (!instruction)
        return false;
    if (auto *is_load = dyn_cast<LoadInst>(instruction))
        return load(*is_load);
    if (isa<PHINode>(instruction)) {
        has_recurrence |= scope.loops.isLoopHeader(instruction->getParent());
        return operands(*instruction);
    }
    return is_arithmetic(*instruction) && operands(*instruction);
}

} // namespace spex
