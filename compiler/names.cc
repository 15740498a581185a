/* SPDX-License-Identifier: MIT */
/* clang keeps no names of values unless asked to (-fno-discard-value-names), so that debug
 * information comes first: the variables of a function, and the members of structures. */
#include "compiler/names.h"

#include "compiler/versions.h"

#include <spex/site.h>

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

extern "C" {
#include "kernels/function_names.h"
}

using namespace llvm;

namespace spex {

/* Bytes of a parameter's name. */
static const size_t parameter_name_most = 60;

std::string function_name(const Function &function) {
    char name[SPEX_NAME_BYTES];
    spex_function_name(function.getName().str().c_str(), name, sizeof(name));
    return name;
}

static std::string whole_path(const DIFile &file) {
    StringRef name = file.getFilename();
    return (begins_with(name, "/") ? name : file.getDirectory() + "/" + name).str();
}

std::string file_name(const Function &function, const DILocation *place) {
    const DIScope *scope = place ? place->getScope() : function.getSubprogram();
    const DISubprogram *program = function.getSubprogram();
    const DIFile *file = scope ? scope->getFile() : nullptr;
    const DIFile *compiled =
        program && program->getUnit() ? program->getUnit()->getFile() : nullptr;
    /* Debug information has another path of the file that was compiled than the compiler was given. */
    bool is_compiled = file && compiled && whole_path(*file) == whole_path(*compiled);
    return file && !is_compiled ? file->getFilename().str()
                                : function.getParent()->getSourceFileName();
}

unsigned line_number(const Function &function, const DILocation *place) {
    if (place)
        return place->getLine();
    return function.getSubprogram() ? function.getSubprogram()->getLine() : 0;
}

static const DILocalVariable *argument_variable(const Argument &argument) {
    const DISubprogram *program = argument.getParent()->getSubprogram();
    if (!program)
        return nullptr;
    for (const DINode *node : program->getRetainedNodes()) {
        auto *variable = dyn_cast<DILocalVariable>(node);
        if (!variable || !variable->isParameter())
            continue;
        if (argument.hasName() ? variable->getName() == argument.getName()
                               : variable->getArg() == argument.getArgNo() + 1)
            return variable;
    }
    return nullptr;
}

static const DIVariable *base_variable(Value *base) {
    if (auto *argument = dyn_cast<Argument>(base))
        return argument_variable(*argument);
    if (auto *global = dyn_cast<GlobalVariable>(base)) {
        SmallVector<DIGlobalVariableExpression *, 1> expressions;
        global->getDebugInfo(expressions);
        return expressions.empty() ? nullptr : expressions[0]->getVariable();
    }
    return variable_of(base);
}

/* The name of the base; empty: it has none. */
static std::string base_name(Value *base) {
    if (const DIVariable *variable = base_variable(base))
        return variable->getName().str();
    if (auto *argument = dyn_cast<Argument>(base))
        return argument->hasName() ? argument->getName().str()
                                   : "arg" + std::to_string(argument->getArgNo());
    return isa<GlobalVariable>(base) ? base->getName().str() : "";
}

static const DIType *without_names(const DIType *type) {
    for (auto *derived = dyn_cast_or_null<DIDerivedType>(type); derived;
         derived = dyn_cast_or_null<DIDerivedType>(type)) {
        switch (derived->getTag()) {
        case dwarf::DW_TAG_typedef:
        case dwarf::DW_TAG_const_type:
        case dwarf::DW_TAG_volatile_type:
        case dwarf::DW_TAG_restrict_type:
        case dwarf::DW_TAG_atomic_type:
        case dwarf::DW_TAG_member:
            type = derived->getBaseType();
            continue;
        default:
            return type;
        }
    }
    return type;
}

/* What a pointer or a reference points to; null: it is none. */
static const DIType *pointed_to(const DIType *type) {
    auto *derived = dyn_cast_or_null<DIDerivedType>(without_names(type));
    bool is_pointer = derived && (derived->getTag() == dwarf::DW_TAG_pointer_type ||
                                  derived->getTag() == dwarf::DW_TAG_reference_type);
    return is_pointer ? without_names(derived->getBaseType()) : nullptr;
}

/* The member of a structure in which a byte lies; `offset` is then that within it. */
static const DIDerivedType *member_at(const DIType *type, uint64_t &offset) {
    auto *composite = dyn_cast_or_null<DICompositeType>(type);
    if (!composite)
        return nullptr;
    for (const DINode *node : composite->getElements()) {
        auto *member = dyn_cast<DIDerivedType>(node);
        if (!member || member->isStaticMember())
            continue;
        uint64_t begin = member->getOffsetInBits() / 8;
        const DIType *inner = without_names(member->getBaseType());
        if (offset < begin || !inner || offset >= begin + (inner->getSizeInBits() + 7) / 8)
            continue;
        offset -= begin;
        return member;
    }
    return nullptr;
}

/* Appends the members that lead to the byte, and returns the type of what is there. A base class of
 * C++ is a member without a name. */
static const DIType *members_append(std::string &name, const DIType *type, int64_t bytes,
                                    const char *first) {
    uint64_t offset = static_cast<uint64_t>(bytes);
    const char *separator = first;
    while (const DIDerivedType *member = member_at(type, offset)) {
        if (member->getTag() == dwarf::DW_TAG_member && !member->getName().empty()) {
            name += separator + member->getName().str();
            separator = ".";
        }
        type = without_names(member->getBaseType());
    }
    if (separator == first && (bytes || !type || isa<DICompositeType>(type)))
        name += "+" + std::to_string(bytes);
    return offset ? nullptr : type;
}

/* The type of the number in the source; null: not known. Appends the path to the name. */
static const DIType *path_append(std::string &name, const Source &source) {
    const DIVariable *variable = base_variable(source.base);
    const DIType *type = variable ? without_names(variable->getType()) : nullptr;
    bool is_variable = isa<GlobalVariable>(source.base);
    for (int64_t offset : source.path) {
        const DIType *there = is_variable ? type : pointed_to(type);
        type = members_append(name, there, offset, is_variable ? "." : "->");
        is_variable = false;
    }
    return type;
}

/* Goes back along loads from a number: to an argument or variable, or (`nearest`) to the first pointer
 * that has a name. */
static Source loaded_from(const Source &source, bool nearest) {
    Source from = source;
    if (!source.path.empty() && isa_and_nonnull<LoadInst>(source.at)) {
        from.base = source.at;
        from.path.clear();
    }
    while (auto *load = dyn_cast_or_null<LoadInst>(from.base)) {
        if (nearest && !from.path.empty() && variable_of(load))
            break;
        const DataLayout &layout = load->getModule()->getDataLayout();
        Value *pointer = load->getPointerOperand();
        APInt offset(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
        from.base = pointer->stripAndAccumulateConstantOffsets(layout, offset, true);
        from.path.insert(from.path.begin(), offset.getSExtValue());
    }
    return from.base && !base_name(from.base).empty() ? from : source;
}

/* The name of a number with its path, and its type in the source (null: not known). A pointer of its
 * own in the function may say more than the member that it was loaded from, which may be a `void *`. */
static std::string path_name(const Source &source, const DIType *&type) {
    std::string name;
    for (bool nearest : {false, true}) {
        Source from = loaded_from(source, nearest);
        std::string found = base_name(from.base);
        if (found.empty())
            break;
        type = path_append(found, from);
        if (name.empty() || found.find('+') == std::string::npos)
            name = found;
        if (found.find('+') == std::string::npos)
            break;
    }
    return name;
}

/* Without what separates arguments in the text of a site. */
static std::string plain(const std::string &name) {
    std::string text = name.substr(0, parameter_name_most);
    for (char &c : text)
        if (static_cast<unsigned char>(c) <= ' ' || c == ',' || c == '"' || c == '\'')
            c = '_';
    return text;
}

/* A number that the source has no name for: where it is counted. */
static std::string unnamed(const Source &source) {
    DebugLoc place;
    if (source.loop)
        place = source.loop->getStartLoc();
    else if (auto *instruction = dyn_cast<Instruction>(source.base))
        place = instruction->getDebugLoc();
    return place ? "trips." + std::to_string(place.getLine()) : "trips";
}

std::string source_name(const Source &source) {
    const DIType *type = nullptr;
    std::string name = source.loop ? "" : path_name(source, type);
    if (name.empty())
        name = unnamed(source);
    name = plain(name);
    return source.bound ? "max(" + name + ")" : name;
}

bool source_is_signed(const Source &source) {
    const DIType *type = nullptr;
    if (source.loop)
        return false;
    path_name(source, type);
    if (auto *basic = dyn_cast_or_null<DIBasicType>(type))
        return basic->getEncoding() == dwarf::DW_ATE_signed ||
               basic->getEncoding() == dwarf::DW_ATE_signed_char;
    auto *argument = dyn_cast_or_null<Argument>(source.base);
    return !(source.path.empty() && argument && argument->hasZExtAttr());
}

} // namespace spex
