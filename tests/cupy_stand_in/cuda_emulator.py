"""CUDA C++ on the processor: a C++ compiler takes a source behind a header that says what CUDA's words mean, and a
launch carries out one thread after the other.

Threads of a block that wait for one another are contexts of their own, each of which runs to the next
`__syncthreads()`. Threads that do not all come to it, which is an error on a GPU, are one here: `launch` raises.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

import numpy as np

COMPILER = shutil.which("g++")
FLAGS = ("-std=c++17", "-O0", "-ffp-contract=off", "-fPIC", "-w")

# CUDA's words in C++, and the functions of its library that C++ has not.
HEADER = r"""
#include <cmath>
#include <cstring>
#include <ucontext.h>
#include <vector>
using namespace std;
#define __global__
#define __device__
#define __shared__ static
struct Place { unsigned x = 0, y = 0, z = 0; };
static Place blockIdx, blockDim, threadIdx, gridDim;

struct Thread { ucontext_t context; vector<char> stack; bool waits = false; };
static vector<Thread> threads_of_block;
static ucontext_t scheduler;
static void (*carry_out)(void**);
static void** arguments_of_kernel;

static void __syncthreads() {
    Thread& self = threads_of_block[threadIdx.x];
    self.waits = true;
    swapcontext(&self.context, &scheduler);
}
static void run_thread() {
    carry_out(arguments_of_kernel);
    threads_of_block[threadIdx.x].waits = false;
}
// Whether in every round all threads came to a barrier, or to the end.
static bool run_block() {
    threads_of_block.resize(blockDim.x);
    for (unsigned k = 0; k < blockDim.x; k++) {
        Thread& t = threads_of_block[k];
        t.stack.resize(1 << 16);
        getcontext(&t.context);
        t.context.uc_stack.ss_sp = t.stack.data();
        t.context.uc_stack.ss_size = t.stack.size();
        t.context.uc_link = &scheduler;
        makecontext(&t.context, run_thread, 0);
    }
    for (;;) {
        unsigned waiting = 0;
        for (unsigned k = 0; k < blockDim.x; k++) {
            threadIdx.x = k;
            swapcontext(&scheduler, &threads_of_block[k].context);
            waiting += threads_of_block[k].waits;
        }
        if (waiting == 0) return true;
        if (waiting < blockDim.x) return false;
    }
}
static bool run_grid(unsigned blocks, unsigned threads, void** arguments, void (*kernel)(void**), bool meet) {
    gridDim.x = blocks, blockDim.x = threads, carry_out = kernel, arguments_of_kernel = arguments;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {
        if (meet && !run_block()) return false;
        if (!meet) for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++) kernel(arguments);
    }
    return true;
}

static double __longlong_as_double(long long bits) { double x; memcpy(&x, &bits, 8); return x; }
static float __uint_as_float(unsigned bits) { float x; memcpy(&x, &bits, 4); return x; }
static unsigned __float_as_uint(float x) { unsigned bits; memcpy(&bits, &x, 4); return bits; }
static double normcdf(double x) { return erfcl(-x * sqrtl(0.5L)) / 2; }
static double erfcx(double x) {  // by its continued fraction
    if (x < 2) return expl((long double)x * x) * erfcl(x);
    double rest = x;
    for (int k = 300; k > 0; k--) rest = x + k / 2.0 / rest;
    return 0.5641895835477563 / rest;
}
static double normcdfinv(double p) {  // by bisection, of the lower half
    if (!(p >= 0 && p <= 1)) return NAN;
    if (p == 0 || p == 1) return p == 0 ? -INFINITY : INFINITY;
    if (p > 0.5) return -normcdfinv(1 - p);
    double low = -39, high = 0;
    for (int k = 0; k < 100; k++) {
        double middle = (low + high) / 2;
        (normcdf(middle) < p ? low : high) = middle;
    }
    return (low + high) / 2;
}
static double erfinv(double y) {
    if (!(fabs(y) < 1)) return fabs(y) == 1 ? y * INFINITY : NAN;
    double x = normcdfinv((1 - fabs(y)) / 2) * -sqrt(0.5);
    for (int k = 0; k < 2; k++) x -= (erf(x) - fabs(y)) * exp(x * x) * 0.886226925452758;
    return copysign(fabs(y) < 0.9 ? x : normcdfinv((1 - fabs(y)) / 2) * -sqrt(0.5), y);
}

// Half precision, which CUDA converts in its own assembly.
static float from_float16(unsigned short bits) { _Float16 x; memcpy(&x, &bits, 2); return x; }
static unsigned short to_float16(double y) { _Float16 x = y; unsigned short bits; memcpy(&bits, &x, 2); return bits; }
static unsigned short to_float16(float y) { _Float16 x = y; unsigned short bits; memcpy(&bits, &x, 2); return bits; }
"""
ASSEMBLY = (
    "__device__ inline float from_float16",
    "__device__ inline float from_bfloat16",
)  # where it begins and ends
LOCK = threading.Lock()  # the places of threads are global


class EmulationError(RuntimeError):
    """A source that does not compile, or threads of a block that do not meet."""


@functools.cache
def folder(process: int) -> Path:
    """The folder of what a process compiles, with the header, which is compiled once."""
    found = Path(tempfile.mkdtemp(prefix="cuda_emulator"))
    (found / "cuda.h").write_text(HEADER)
    run_compiler("-x", "c++-header", found / "cuda.h", "-o", found / "cuda.h.gch")
    return found


def run_compiler(*arguments) -> None:
    run = subprocess.run([COMPILER, *FLAGS, *arguments], capture_output=True, text=True, timeout=120)
    if run.returncode:
        raise EmulationError(run.stderr)


def parameter_types(code: str, name: str) -> list[str]:
    """Return the types of the parameters of a kernel."""
    text = code.split(f"void {name}(")[1].split(")")[0]
    return [part.rsplit(" ", 1)[0] for part in text.split(", ")]


def driver(code: str, name: str) -> str:
    """Return C++ that carries out the threads of a kernel; arguments are given by their addresses, as CUDA does."""
    types = parameter_types(code, name)
    body = code.split(f"void {name}(")[1].split("__global__")[0]
    values = ", ".join(f"*({t}*)a[{k}]" for k, t in enumerate(types))
    meets = "true" if "__syncthreads" in body or "combine_lanes" in body else "false"
    return (
        f'extern "C" bool drive_{name}(unsigned blocks, unsigned threads, void** arguments) '
        f"{{ return run_grid(blocks, threads, arguments, [](void** a) {{ {name}({values}); }}, {meets}); }}\n"
    )


@functools.cache
def compile_kernels(code: str) -> ctypes.CDLL:
    """Return a source as a library with a function `drive_…` for each kernel.

    Raises:
        EmulationError: the compiler does not take it.
    """
    names = [word.split("(")[0] for word in code.split("__global__ void ")[1:]]
    drivers = "".join(driver(code, name) for name in names)
    start, end = map(code.find, ASSEMBLY)
    text = code if start < 0 else code[:start] + code[end:]
    place = folder(os.getpid())
    source = place / f"{hashlib.sha256(code.encode()).hexdigest()[:16]}.cpp"
    source.write_text(f'#include "cuda.h"\n{text}{drivers}')
    run_compiler("-shared", source, "-o", source.with_suffix(".so"))
    return ctypes.CDLL(str(source.with_suffix(".so")))


def launch(library: ctypes.CDLL, name: str, blocks: int, threads: int, arguments: list) -> None:
    """Carry out a kernel. Arguments are addresses (int) and numbers (NumPy's scalars).

    Raises:
        EmulationError: some threads of a block wait for others that do not come.
    """
    kept = [np.array(a, np.uint64 if isinstance(a, int) else a.dtype) for a in arguments]
    addresses = (ctypes.c_void_p * len(kept))(*(a.ctypes.data for a in kept))
    drive = getattr(library, f"drive_{name}")
    drive.restype = ctypes.c_bool
    with LOCK:
        met = drive(blocks, threads, addresses)
    if not met:
        raise EmulationError(f"{name}: threads wait at __syncthreads() for others that have gone on")
