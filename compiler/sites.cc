/* SPDX-License-Identifier: MIT */
/* A site is a variable of the module, in the section of the sites and in the section group of its
 * function, so that copies of the code share it. Nothing in the module writes it: it is marked as
 * initialised from elsewhere, else the load would become the constant 0. */
#include "compiler/sites.h"

#include <cstddef>

#include <spex/detail/compiled.h>
#include <spex/detail/module.h>
#include <spex/site.h>

#include "compiler/versions.h"

#include <llvm/Analysis/DomTreeUpdater.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

using namespace llvm;

namespace spex {

#if defined(__x86_64__)
static const Triple::ArchType own_arch = Triple::x86_64;
static const char module_code[] = SPEX_ASM_COMPILED_ SPEX_ASM_COMPILED_COUNTED_ SPEX_ASM_MODULE_;
static_assert(offsetof(struct spex_site, control) == 0 && offsetof(struct spex_site, index) == 4 &&
                  offsetof(struct spex_site, probe_id) == 16 &&
                  SPEX_CONTROL_PERIOD_MASK == 0xffffff && SPEX_CONTEXT_STEPS_BITS == 15 &&
                  SPEX_CONTEXT_HASH_(1u << 17) == (2654435761u << 17) >> 17 &&
                  SPEX_CONTEXTS_MAX <= 0xffff,
              "the numbers in the assembly");
static const char region_code[] = SPEX_ASM_COMPILED_REGION_;
/* As spex/detail/compiled.h says of these. */
#define LIBRARY_NAME(name) name "_"
static const bool has_counted = true;
static const char *const kernel_end = "spex_compiled_kernel_end_";
static const CallingConv::ID convention = CallingConv::PreserveMost;
static const GlobalValue::LinkageTypes linkage = GlobalValue::ExternalLinkage;
static const GlobalValue::VisibilityTypes visibility = GlobalValue::HiddenVisibility;
#else
static const Triple::ArchType own_arch = Triple::aarch64;
static const char module_code[] = SPEX_ASM_MODULE_;
static const char region_code[] = "";
#define LIBRARY_NAME(name) name
static const bool has_counted = false;
static const char *const kernel_end = "spex_compiled_end";
static const CallingConv::ID convention = CallingConv::C;
static const GlobalValue::LinkageTypes linkage = GlobalValue::ExternalWeakLinkage;
static const GlobalValue::VisibilityTypes visibility = GlobalValue::DefaultVisibility;
#endif

bool sites_possible(const Module &module, std::string &why) {
    Triple triple(module.getTargetTriple());
    if (triple.getArch() == own_arch && triple.isOSLinux() && triple.isOSBinFormatELF())
        return true;
    why = "this plugin makes probes for " + Triple::getArchTypeName(own_arch).str() +
          " on Linux, and not for " + module.getTargetTriple();
    return false;
}

/* The object's constructor and what the sites call, once in a module. Macros of the source may have left
 * the constructor, which is in the assembly a second time then, and left out there. */
static void module_prepare(Module &module, const char *code) {
    if (module.getModuleInlineAsm().find(code) == std::string::npos)
        module.appendModuleInlineAsm(code);
}

static std::string quoted(const std::string &name) {
    std::string literal = "\"";
    for (char c : name) {
        if (c == '"' || c == '\\')
            literal += '\\';
        literal += c;
    }
    return literal + '"';
}

/* The text behind the file's name is that of the macro's arguments: `1, n, m`. */
static std::string text_of(const Probe &probe) {
    std::string values;
    for (const auto &parameter : probe.parameters)
        values += ", " + parameter.first;
    if (probe.kind == Kind::kernel)
        values = "1" + values;
    return probe.file + '\0' + values + '\0' + quoted(probe.name);
}

static uint32_t type_of(Kind kind) {
    return kind == Kind::kernel ? SPEX_KERNEL : kind == Kind::lat ? SPEX_LAT : SPEX_CNT;
}

static uint32_t kinds_of(const Probe &probe) {
    uint32_t kinds = 0;
    for (size_t p = 0; p < probe.parameters.size(); p++)
        kinds |= (probe.parameters[p].second ? SPEX_KIND_SIGNED : SPEX_KIND_UNSIGNED) << 2 * p;
    return kinds;
}

static GlobalVariable *variable_make(Function &function, Type *type, bool constant,
                                     const char *name) {
    auto *variable = new GlobalVariable(*function.getParent(), type, constant,
                                        GlobalValue::PrivateLinkage, nullptr, name);
    variable->setComdat(function.getComdat());
    return variable;
}

/* The members of a site that are not 0 in an object. */
struct Site {
    uint32_t kinds, subsample, line;
    unsigned type, detail, region;
    std::string text;
};

static GlobalVariable *site_make(Function &function, const Site &about) {
    LLVMContext &context = function.getContext();
    auto *i8 = Type::getInt8Ty(context), *i16 = Type::getInt16Ty(context);
    auto *i32 = Type::getInt32Ty(context), *i64 = Type::getInt64Ty(context);
    auto *type = StructType::get(context, {i32, i32, i32, i32, i16, i8, i8, i16, i8, i8, i64});
    static_assert(sizeof(struct spex_site) == 32 && offsetof(struct spex_site, line) == 12 &&
                      offsetof(struct spex_site, probe_id) == 16 &&
                      offsetof(struct spex_site, type_number) == 18 &&
                      offsetof(struct spex_site, region) == 20 &&
                      offsetof(struct spex_site, file_offset) == 24,
                  "the members of the type above");
    auto *text_value = ConstantDataArray::getString(context, about.text, true);
    auto *text = variable_make(function, text_value->getType(), true, "spex_text");
    text->setInitializer(text_value);
    /* Without it an array begins at a multiple of 16 bytes. That of a region is a string as others,
     * of which the linker keeps one. */
    text->setAlignment(Align(1));
    text->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
    auto *site = variable_make(function, type, false, "spex_site");
    auto *offset_place = ConstantExpr::getGetElementPtr(
        type, site, ArrayRef<Constant *>{ConstantInt::get(i32, 0), ConstantInt::get(i32, 10)});
    auto *offset = ConstantExpr::getSub(ConstantExpr::getPtrToInt(text, i64),
                                        ConstantExpr::getPtrToInt(offset_place, i64));
    site->setInitializer(ConstantStruct::get(
        type, {ConstantInt::get(i32, 0), ConstantInt::get(i32, about.kinds),
               ConstantInt::get(i32, about.subsample), ConstantInt::get(i32, about.line),
               ConstantInt::get(i16, 0), ConstantInt::get(i8, about.type),
               ConstantInt::get(i8, about.detail), ConstantInt::get(i16, about.region),
               ConstantInt::get(i8, 0), ConstantInt::get(i8, 0), offset}));
    site->setSection("spex_sites");
    site->setAlignment(Align(8));
    site->setExternallyInitialized(true);
    return site;
}

static Site site_of(const Probe &probe) {
    return {kinds_of(probe),
            1,
            probe.line,
            static_cast<unsigned>(SPEX_TYPE_NUMBER_(type_of(probe.kind))) | SPEX_SITE_NAMED,
            static_cast<unsigned>(probe.parameters.size()),
            probe.region,
            text_of(probe)};
}

GlobalVariable *region_site_make(Function &function, const RegionSite &about) {
    module_prepare(*function.getParent(), module_code);
    module_prepare(*function.getParent(), region_code);
    return site_make(function, {0, about.weight, about.line, 0, 0, about.id, about.file});
}

/* A function of the library. It touches the site, the state and what belongs to the library alone,
 * nothing that the program knows of. */
static FunctionCallee library(Module &module, const char *name, FunctionType *type) {
    FunctionCallee callee = module.getOrInsertFunction(name, type);
    auto *function = dyn_cast<Function>(callee.getCallee());
    if (function && function->isDeclaration()) {
        function->setLinkage(linkage);
        function->setVisibility(visibility);
        function->setCallingConv(convention);
        function->setDoesNotThrow();
        function->addFnAttr(Attribute::Cold);
        function->addFnAttr(Attribute::WillReturn);
        function->addFnAttr(quiet_attribute);
        set_effects_inner(*function);
    }
    return callee;
}

AllocaInst *frame_make(Function &function) {
    static_assert(sizeof(struct spex_compiled) % sizeof(uint64_t) == 0 &&
                      offsetof(struct spex_compiled, on) == 0,
                  "whole words");
    IRBuilder<> builder(&*function.getEntryBlock().getFirstInsertionPt());
    return builder.CreateAlloca(
        ArrayType::get(builder.getInt64Ty(), sizeof(struct spex_compiled) / sizeof(uint64_t)),
        nullptr, "spex_frame");
}

/* A call needs a place in the source, where its function has one. */
DebugLoc location(Instruction *before) {
    if (before->getDebugLoc())
        return before->getDebugLoc();
    DISubprogram *program = before->getFunction()->getSubprogram();
    return program ? DebugLoc(
                         DILocation::get(before->getContext(), program->getScopeLine(), 0, program))
                   : DebugLoc();
}

static Value *as_pointer(IRBuilder<> &builder, Value *value, Type *element) {
    return builder.CreatePointerCast(value, PointerType::getUnqual(element));
}

/* Whether END is to be called. In memory, as a register is dearer: it would be kept from BEGIN to
 * END. */
static Value *on_word(IRBuilder<> &builder, AllocaInst *frame) {
    return as_pointer(builder, frame, builder.getInt32Ty());
}

/* The arguments of most functions of the library. */
static std::vector<Value *> site_and_frame(IRBuilder<> &builder, const Placed &placed) {
    Type *i8 = builder.getInt8Ty();
    return {as_pointer(builder, placed.site, i8), as_pointer(builder, placed.frame, i8)};
}

static CallInst *call_library(IRBuilder<> &builder, const char *name, Type *result,
                              ArrayRef<Value *> values) {
    std::vector<Type *> types;
    types.reserve(values.size());
    for (Value *value : values)
        types.push_back(value->getType());
    Module &module = *builder.GetInsertBlock()->getModule();
    auto *type = FunctionType::get(result, types, false);
    CallInst *call = builder.CreateCall(library(module, name, type), values);
    call->setDoesNotThrow();
    call->setCallingConv(convention);
    return call;
}

CallInst *library_call(IRBuilder<> &builder, Callee callee, ArrayRef<Value *> values) {
    return callee == Callee::enter ? call_library(builder, LIBRARY_NAME("spex_compiled_enter"),
                                                  builder.getInt32Ty(), values)
                                   : call_library(builder, LIBRARY_NAME("spex_compiled_leave"),
                                                  builder.getVoidTy(), values);
}

void no_sanitizer(Instruction *instruction) {
    LLVMContext &context = instruction->getContext();
    instruction->setMetadata(context.getMDKindID("nosanitize"), MDNode::get(context, {}));
}

Instruction *if_seldom(Value *condition, Instruction *before, Shape shape) {
    MDNode *weights = MDBuilder(before->getContext()).createBranchWeights(1, 1 << 20);
    DomTreeUpdater updater(shape.tree, DomTreeUpdater::UpdateStrategy::Eager);
    return SplitBlockAndInsertIfThen(condition, before, false, weights, &updater, shape.loops);
}

/* In the slow copy of a region the library counts each execution, whether the site is on or not. */
static CallInst *call_slow(IRBuilder<> &builder, const Placed &placed, Value *pass) {
    std::vector<Value *> values = site_and_frame(builder, placed);
    values.push_back(as_pointer(builder, pass, builder.getInt8Ty()));
    return call_library(builder, LIBRARY_NAME("spex_compiled_begin_slow"), builder.getInt32Ty(),
                        values);
}

/* The end of a new block in front of an instruction, which is executed while the site is on. */
static Instruction *if_site_on(IRBuilder<> &builder, const Placed &placed, Instruction *before,
                               Shape shape) {
    no_sanitizer(builder.CreateStore(builder.getInt32(0), on_word(builder, placed.frame)));
    LoadInst *control = builder.CreateAlignedLoad(
        builder.getInt32Ty(), as_pointer(builder, placed.site, builder.getInt32Ty()), Align(8),
        "spex_control");
    control->setAtomic(AtomicOrdering::Monotonic);
    no_sanitizer(control);
    return if_seldom(builder.CreateICmpNE(control, builder.getInt32(0)), before, shape);
}

/* The end of a new block in front of an instruction, which is executed where the library decides. */
static Instruction *if_not_counted(IRBuilder<> &builder, Placed &placed, Instruction *before,
                                   Shape shape) {
    bool is_entered = placed.is_kernel && placed.enters == Enters::at_once;
    CallInst *counted =
        call_library(builder, is_entered ? "spex_compiled_entered_" : "spex_compiled_counted_",
                     builder.getInt32Ty(), as_pointer(builder, placed.site, builder.getInt8Ty()));
    placed.counted = counted;
    if (placed.is_kernel && placed.enters != Enters::never)
        no_sanitizer(builder.CreateStore(counted, on_word(builder, placed.frame)));
    return if_seldom(builder.CreateICmpEQ(counted, builder.getInt32(0)), before, shape);
}

Placed probe_begin(const Probe &probe, AllocaInst *frame, Instruction *before, Shape shape) {
    Function &function = *before->getFunction();
    Placed placed = {site_make(function, site_of(probe)), frame};
    placed.is_kernel = probe.kind == Kind::kernel;
    placed.enters = has_counted && !probe.pass ? probe.enters : Enters::at_once;
    DebugLoc where = location(before);
    module_prepare(*function.getParent(), module_code);
    IRBuilder<> builder(before);
    builder.SetCurrentDebugLocation(where);
    if (!probe.pass) {
        builder.SetInsertPoint(if_site_on(builder, placed, before, shape));
        builder.SetCurrentDebugLocation(where);
        if (has_counted) {
            Instruction *end = &*builder.GetInsertPoint();
            builder.SetInsertPoint(if_not_counted(builder, placed, end, shape));
        }
    }
    builder.SetCurrentDebugLocation(where);
    placed.call = probe.pass ? call_slow(builder, placed, probe.pass)
                             : call_library(builder, LIBRARY_NAME("spex_compiled_begin"),
                                            builder.getInt32Ty(), site_and_frame(builder, placed));
    no_sanitizer(builder.CreateStore(placed.call, on_word(builder, frame)));
    return placed;
}

static LoadInst *load_on(IRBuilder<> &builder, const Placed &placed) {
    LoadInst *word = builder.CreateLoad(builder.getInt32Ty(), on_word(builder, placed.frame));
    no_sanitizer(word);
    return word;
}

void context_enter(const Placed &placed, bool is_seldom, Instruction *before, Shape shape) {
    if (placed.enters != Enters::lazily)
        return;
    DebugLoc where = location(before);
    IRBuilder<> builder(before);
    builder.SetCurrentDebugLocation(where);
    if (!is_seldom) {
        Value *is_counted = builder.CreateICmpSLT(load_on(builder, placed), builder.getInt32(0));
        builder.SetInsertPoint(if_seldom(is_counted, before, shape));
        builder.SetCurrentDebugLocation(where);
    }
    call_library(builder, "spex_compiled_context_", builder.getInt32Ty(),
                 site_and_frame(builder, placed));
}

Instruction *if_recorded(const Placed &placed, Instruction *before, Shape shape) {
    static_assert(SPEX_CONTEXTS_MAX < SPEX_COMPILED_ENTERED, "a node is what the library returns");
    IRBuilder<> builder(before);
    builder.SetCurrentDebugLocation(location(before));
    Value *word = load_on(builder, placed);
    Value *on = placed.is_kernel
                    ? builder.CreateICmpULT(builder.CreateSub(word, builder.getInt32(1)),
                                            builder.getInt32(SPEX_COMPILED_ENTERED - 1))
                    : builder.CreateICmpNE(word, builder.getInt32(0));
    return if_seldom(on, before, shape);
}

void probe_end(const Placed &placed, Instruction *before, Shape shape) {
    DebugLoc where = location(before);
    IRBuilder<> builder(before);
    builder.SetCurrentDebugLocation(where);
    Value *word = load_on(builder, placed), *none = builder.getInt32(0);
    /* Below 0: SPEX_COMPILED_COUNTED. */
    Value *on =
        placed.is_kernel ? builder.CreateICmpSGT(word, none) : builder.CreateICmpNE(word, none);
    builder.SetInsertPoint(if_seldom(on, before, shape));
    builder.SetCurrentDebugLocation(where);
    call_library(builder,
                 placed.is_kernel && placed.enters != Enters::never
                     ? kernel_end
                     : LIBRARY_NAME("spex_compiled_end"),
                 builder.getVoidTy(), as_pointer(builder, placed.frame, builder.getInt8Ty()));
}

static Value *parameter_place(IRBuilder<> &builder, const Placed &placed, size_t number) {
    size_t first = offsetof(struct spex_compiled, parameters) / sizeof(uint64_t);
    return builder.CreateConstInBoundsGEP2_32(placed.frame->getAllocatedType(), placed.frame, 0,
                                              first + number);
}

void parameter_store(const Placed &placed, size_t number, Value *value, bool is_signed,
                     Instruction *before) {
    IRBuilder<> builder(before);
    builder.SetCurrentDebugLocation(location(before));
    Value *word = builder.CreateIntCast(value, builder.getInt64Ty(), is_signed);
    no_sanitizer(builder.CreateStore(word, parameter_place(builder, placed, number)));
}

void parameter_add(const Placed &placed, size_t number, Value *value, Instruction *before) {
    IRBuilder<> builder(before);
    builder.SetCurrentDebugLocation(location(before));
    Value *place = parameter_place(builder, placed, number);
    LoadInst *sum = builder.CreateLoad(builder.getInt64Ty(), place);
    no_sanitizer(sum);
    no_sanitizer(builder.CreateStore(builder.CreateAdd(sum, value), place));
}

} // namespace spex
