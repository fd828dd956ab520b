"""Random programs that write into arrays: views, aliases, helpers, masks, `out=`, methods, loops.

A program is the text of a function of one array. Each statement is kept if NumPy can carry it out, so that programs are
right by construction, whatever their arrays' shapes are. Numbers are small multiples of 1/8, on which the operations
are exact in any order. (`{n}[:0]` stands where NumPy would write into a copy of a number, and lose it.)
"""

import random

import numpy as np

SHAPE = (2, 4)

PRELUDE = """
def double(v):
    v *= 2

def set_first(v, w):
    v[0] = w[0] * 0.5

def differences(v):
    v[1:] -= v[:-1]

def exchange(v, w):
    kept = v.copy()
    v[...] = w
    w[...] = kept

def running(v):
    for i in range(1, len(v)):
        v[i] = v[i - 1] * 0.5 + v[i]

def clip_into(v):
    np.clip(v, -2.0, 2.0, out=v)
    return v

class Holder:
    pass
"""

VIEWS = """
{m} | {m}[1:] | {m}[:-1] | {m}[::-1] | {m}[..., 1:] | {m}[..., ::2] | {m}.T | {m}.reshape(-1) | {m}.ravel() | {m}[0]
{m}[-1] | {m}[:, 0] | {m}[None] | {m}[..., None] | np.flip({m}) | np.split({m}, 2)[1] | np.swapaxes({m}, 0, -1)
np.moveaxis({m}, 0, -1) | np.expand_dims({m}, 0) | {m}.squeeze() | np.atleast_2d({m}) | list({m})[0] | {m}.real
np.ravel({m}) | {m}.reshape(2, -1) | {m}.reshape(-1, 2) | {m}.transpose() | np.squeeze({m})
np.atleast_1d({m}, {k})[1] | {m}.swapaxes(0, -1) | {m}[1:][..., :2] | np.broadcast_to({m}, (1,) + {m}.shape)[0]
{m}[..., -1] | np.rot90(np.atleast_2d({m})) | {m}.astype(float, copy=False) | np.reshape({m}, (-1, 1))
np.hsplit({m}, 2)[0] | [{m}, {k}][1] | {m}[:] | {m}[1:3] | np.real({m})
"""
FRESH = """
{m} * 2 | {m} + 0.5 | {m} - {k} | -{m} | np.clip({m} * {k}, -4, 4) | np.abs({m}) | np.where({m} > {c}, {m}, 1.5)
{m}.copy() | np.maximum({m}, {c}) | np.concatenate([{m}.ravel(), {k}.ravel()]) | np.stack([{m}, {m}])
np.zeros_like({m}) | {m}[[0, 1]] | np.sort({m}, axis=None) | np.cumsum({m}, axis=0) | {m}.sum(axis=0)
np.repeat({m}, 2, axis=0) | np.copy({m}) | {m}.flatten() | np.roll({m}, 1) | np.tile({m}, 2) | np.floor({m})
np.sign({m}) | np.minimum({m}, {k}) | {m}[[1, 0]] | np.take({m}, [0, 0], axis=0) | {m}.astype(float) | np.round({m})
np.full_like({m}, 0.25) | np.positive({m}) | np.concatenate([{m}]) | {m}.clip(-1.0, 2.0)
np.outer({m}[0], np.ones(2)) | np.triu(np.atleast_2d({m})) | np.ones_like({m}) | np.array_split({m} * 1, 2)[0]
np.diff({m}) | {m}.flat[:2] | {m}.flat.copy()
"""
BUFFERS = """
np.zeros((2, 4)) | np.ones(4) | np.full((2, 2), 0.5) | np.arange(4.0) | np.eye(2) | np.array([1.0, 2.0])
np.empty(2) * 0 | np.linspace(0.0, 1.0, 5) | np.zeros({m}.shape) | np.zeros(4) + 1 | np.array({m}) | np.identity(2)
"""
WRITES = """
{n} *= 2 | {n} += {c} | {n} -= {k} | {n}[0] = {c} | {n}[-1] += {k}[0] | {n}[1:] += {n}[:-1] | {n}[...] = {k}
{n}[:] = {c} | {n}[{n} > {c}] *= 0.5 | {n}[{n} > {c}] = 0.25 | {n}[{k} > {c}] -= 1
{n}[{n} < {c}] = -{n}[{n} < {c}] | {n}[[0, 0]] += 1.0 | {n}[[1, 0]] = {n}[[0, 1]]
np.add({m}, {k}, out={n}) | np.multiply({n}, 0.5, out={n}) | np.copyto({n}, {k}) | {n}.sort()
np.copyto({n}, {k}, where={n} > {c}) | {n}[:0]; {n}.fill({c}) | np.add.at({n}, [0, 0, 1], {c})
np.subtract.at({n}, 0, {k}[0]) | {n}[:0]; {n}.flat[1] = {c} | {n}[:0]; {n}.flat[::2] = 0.5 | {n}.T[0] += 1
{n}.reshape(-1)[0] = {c} | np.put({n}, [0, 1], [0.5, {c}]) | np.putmask({n}, {n} > {c}, 0.75) | double({n})
double({n}[1:]) | set_first({n}, {k}) | differences({n}) | exchange({n}, {m}) | running({n})
clip_into({n})[0] = 0.5 | double({n}.T) | np.negative({n}, out={n}) | {n}[..., 0], {n}[..., 1] = {c}, {k}[0]
{n}[1:] = {n}[:-1] | {n}[::-1] -= {n} | {n}[:, 1] *= {c} | {n}.ravel()[1] = 1.0 | np.fill_diagonal({n}, {c})
{n}[{n} > {c}] += {c} | np.maximum({n}, {c}, out={n}[...]) | np.abs({n}, {n}) | {n} /= 2
{n}[0], {n}[1] = {n}[1], {n}[0] | {n}[...] -= {n}[0] | {n}.partition(1) | {n}.put([0], 0.5)
np.put_along_axis({n}, np.argsort({n}, axis=-1), 0.25, axis=-1) | {n}.real += 1
np.place({n}, {n} > 90, [0.0]) | np.nan_to_num({n}, copy=False) | {n}[1:], {n}[:1] = {n}[:-1] * 0.5, {c}
{n}[...] = {n}[::-1] | for r in {n}: r *= 0.5 | for r in {n}: r[...] = r + {c}
for i in range(len({n})): {n}[i] += {n}[i - 1] * 0.5 | for r, s in zip({n}, {m}): r -= s
for v in ({n}, {m}): v += 1 | held = [{n}, {m}]; held[0] *= 2 | held = (({n}),); held[0][0] = 1
held = Holder(); held.u = {n}; held.u[0] += {c}; held.u *= 0.5 | rows = [*{n}]; rows[0] += 1
{n}, {m} = {m}, {n} | v = {n}[1:]; w = v[::-1]; w += {c}; v *= 2
mask = {n} > {c}; {n}[mask] = {n}[mask] * 2 + 1 | i = {n}[0:1]; i += 2; {n}[-1:] -= i
np.clip({n}, -1.0, 1.5, {n}) | np.sum({m}, axis=0, out={n})
np.subtract({n}, {k}, out={n}, where={n} > {c}) | {n}[{n} > 90] += {k}[0, 0]
"""


def alternatives(text):
    return [form.strip() for line in text.strip().splitlines() for form in line.split(" | ")]


VIEWS, FRESH, BUFFERS, WRITES = map(alternatives, (VIEWS, FRESH, BUFFERS, WRITES))
NAMES = "abcd"


def text_of(statements):
    body = ["a, b = x * 1, x - 0.5", "c, d = x.reshape(-1) * 2, np.abs(x).T.copy()", *statements]
    result = "np.concatenate([np.ravel(v) for v in (a, b, c, d)])"
    return PRELUDE + "def program(x):\n" + "".join(f"    {s}\n" for s in body) + f"    return {result}\n"


def function_of(statements, numpy=np):
    """The program as a function, which finds `np` to be this namespace."""
    known = {"np": numpy}
    exec(text_of(statements), known)
    return known["program"]


def random_array(source):
    return source.integers(-16, 17, SHAPE) / 8 + 1 / 64


def random_program(seed, length, buffers):
    """Statements of a program that NumPy carries out; with `buffers` it makes arrays of numbers, too."""
    source, x = random.Random(seed), random_array(np.random.default_rng(seed))
    statements = []

    def fill(form):
        n, m, k = source.choice(NAMES), source.choice(NAMES), source.choice(NAMES)
        return form.format(n=n, m=m, k=k, c=source.choice(["0.375", "-1.125", "1.0", "x[0, 1]", "b.flat[0]"]))

    for _ in range(4 * length):
        kind = source.random()
        if kind < 0.25:
            candidate = f"{source.choice(NAMES)} = {fill(source.choice(VIEWS))}"
        elif kind < 0.4 or (kind < 0.5 and not buffers):
            candidate = f"{source.choice(NAMES)} = ({fill(source.choice(FRESH))}).copy()"
            plain = candidate.removesuffix(".copy()")
            if lies_in_order([*statements, plain], plain[0], x):
                candidate = plain
        elif kind < 0.5:
            candidate = f"{source.choice(NAMES)} = {fill(source.choice(BUFFERS))}"
        else:
            candidate = fill(source.choice(WRITES))
        try:
            with np.errstate(all="raise"):
                result = function_of([*statements, candidate])(x.copy())
        except (ValueError, IndexError, TypeError, AttributeError, FloatingPointError):
            continue
        if result.size <= 200 and result.dtype == float and np.abs(result).max() < 1e6:
            statements.append(candidate)
            if len(statements) == length:
                break
    return statements, x


def lies_in_order(statements, name, x):
    """Whether NumPy's array of this name lies in C's order, as what is computed under transforms is taken to."""
    known = {"np": np}
    lines = text_of(statements).splitlines()
    lines[-1] = f"    return {name}"
    try:
        exec("\n".join(lines), known)
        return known["program"](x.copy()).flags.c_contiguous
    except (ValueError, IndexError, TypeError, AttributeError):
        return False
