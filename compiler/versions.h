/* SPDX-License-Identifier: MIT */
/* What differs between LLVM 14 and 19. */
#ifndef SPEX_COMPILER_VERSIONS_H
#define SPEX_COMPILER_VERSIONS_H

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#if LLVM_VERSION_MAJOR >= 17
#include <llvm/IR/EHPersonalities.h>
#include <llvm/TargetParser/Triple.h>
#else
#include <llvm/ADT/Triple.h>
#include <llvm/Analysis/EHPersonalities.h>
#endif

#if LLVM_VERSION_MAJOR >= 16
#include <llvm/Support/ModRef.h>
#endif

namespace spex {

inline bool begins_with(llvm::StringRef text, llvm::StringRef begin) {
    return text.consume_front(begin);
}

inline bool ends_with(llvm::StringRef text, llvm::StringRef end) {
    return text.consume_back(end);
}

inline llvm::PointerType *pointer_to_bytes(llvm::LLVMContext &context) {
    return llvm::PointerType::getUnqual(llvm::Type::getInt8Ty(context));
}

inline bool is_safe_to_expand(const llvm::SCEV *value, llvm::ScalarEvolution &evolution) {
#if LLVM_VERSION_MAJOR >= 15
    const llvm::DataLayout &layout = evolution.getDataLayout();
    return llvm::SCEVExpander(evolution, layout, "spex").isSafeToExpand(value);
#else
    return llvm::isSafeToExpand(value, evolution);
#endif
}

/* The function touches what its arguments point to and what the program does not know of. */
inline void set_effects_inner(llvm::Function &function) {
#if LLVM_VERSION_MAJOR >= 16
    function.setMemoryEffects(llvm::MemoryEffects::inaccessibleOrArgMemOnly());
#else
    function.addFnAttr(llvm::Attribute::InaccessibleMemOrArgMemOnly);
#endif
}

inline void forget_memory_effects(llvm::Function &function) {
#if LLVM_VERSION_MAJOR >= 16
    function.setMemoryEffects(llvm::MemoryEffects::unknown());
#else
    for (auto kind :
         {llvm::Attribute::ReadNone, llvm::Attribute::ReadOnly, llvm::Attribute::WriteOnly,
          llvm::Attribute::ArgMemOnly, llvm::Attribute::InaccessibleMemOnly,
          llvm::Attribute::InaccessibleMemOrArgMemOnly})
        function.removeFnAttr(kind);
#endif
}

/* A variable of the source that had the value. */
inline const llvm::DILocalVariable *variable_of(llvm::Value *value) {
    llvm::SmallVector<llvm::DbgValueInst *, 4> users;
#if LLVM_VERSION_MAJOR >= 19
    llvm::SmallVector<llvm::DbgVariableRecord *, 4> records;
    llvm::findDbgValues(users, value, &records);
    if (!records.empty())
        return records.front()->getVariable();
#else
    llvm::findDbgValues(users, value);
#endif
    return users.empty() ? nullptr : users.front()->getVariable();
}

/* Of a copy that refers to values of the original: it refers to their copies. */
inline void remap(llvm::Instruction &at, llvm::Module *module, llvm::ValueToValueMapTy &copies) {
    (void)module;
    auto flags = llvm::RF_NoModuleLevelChanges | llvm::RF_IgnoreMissingLocals;
#if LLVM_VERSION_MAJOR >= 19
    llvm::RemapDbgRecordRange(module, at.getDbgRecordRange(), copies, flags);
#endif
    llvm::RemapInstruction(&at, copies, flags);
}

} // namespace spex

#endif
