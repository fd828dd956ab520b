"""The host processor, and the compiler llvmlite. No other file imports llvmlite."""

from __future__ import annotations

import functools
from typing import Any


def make_machine() -> Any:
    """Return a code generator for this processor. Whoever is given it owns it."""
    import llvmlite.binding as llvm

    return llvm.Target.from_default_triple().create_target_machine(
        cpu=name(), features=features().flatten(), opt=2
    )


@functools.cache
def compiler() -> Any:
    """The code generator that compiles."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return make_machine()


@functools.cache
def features() -> Any:
    """The features of the processor by LLVM's names; empty if no code can be made for it."""
    try:
        import llvmlite.binding as llvm
    except ImportError:
        return {}
    return llvm.get_host_cpu_features()


def name() -> str:
    """The processor's name in LLVM."""
    import llvmlite.binding as llvm

    return llvm.get_host_cpu_name()


def vector_bytes() -> int:
    """The size of the processor's widest vectors."""
    return 64 if features().get("avx512f") else 32 if features().get("avx2") else 16


def has_half_precision() -> bool:
    """Whether the processor converts float16."""
    return bool(features().get("f16c") or features().get("avx512f") or features().get("neon"))


@functools.cache
def identity() -> str:
    """The identity of machine code besides its text: the processor and the compiler."""
    import llvmlite
    import llvmlite.binding as llvm

    versions = (llvmlite.__version__, llvm.llvm_version_info)
    return repr((versions, llvm.get_default_triple(), name(), features().flatten()))


def compile_text(text: str) -> bytes:
    """Return the machine code of a module, as a file of objects."""
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(text)
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    builder = llvm.create_pass_builder(compiler(), options)
    builder.getModulePassManager().run(module, builder)
    return compiler().emit_object(module)


class NativeCode:
    """Machine code in memory for as long as this lives: the address of each of its functions. One thread at a time may
    make one."""

    def __init__(self, text: str):
        import llvmlite.binding as llvm

        from . import storage  # which loads what a program without native code does not need

        compiler()
        code = storage.keep(text, identity(), compile_text)
        # An engine that has compiled itself takes ten times the memory.
        self.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), make_machine())
        self.engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self.engine.finalize_object()

    def address(self, name: str) -> int:
        return self.engine.get_function_address(name)
