"""Functions in LLVM's intermediate language, written as Python arithmetic on `Value`s.

    function = Function("axpy", [I64, PTR, PTR])          define void @axpy(i64 %a0, ptr %a1, ptr %a2)
    n, x, y = function.arguments
    with function.loop(n, step=8) as loop:
        vx = function.load(x, DOUBLES, loop.index)        %v5 = load <8 x double>, ptr …
        function.store(2.0 * vx + 1.0, y, loop.index)     %v6 = fmul …; %v7 = fadd …; store …

LLVM reads text, which is written several times faster than a tree of objects. Arithmetic is strictly IEEE: nothing is
re-associated, and a product and a sum are fused only in `fma`.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

_SUFFIX = {"double": "f64", "float": "f32", "half": "f16", "bfloat": "i16"}
_ORDERED = {"<": "olt", "<=": "ole", ">": "ogt", ">=": "oge", "==": "oeq", "!=": "une"}
_SIGNED = {"<": "slt", "<=": "sle", ">": "sgt", ">=": "sge", "==": "eq", "!=": "ne"}


class Type(NamedTuple):
    """A number (`width` 1) or a vector of `width` numbers, the lanes.

    To LLVM a bfloat16 is its bits: where the processor has no instructions for it, even a single lane of a vector would
    be converted by a function of a library that is not there.
    """

    element: str
    width: int = 1

    @property
    def is_float(self) -> bool:
        return self.element in _SUFFIX

    @property
    def bits(self) -> int:
        """The bits of one lane."""
        return 64 if self.element == "ptr" else int(_SUFFIX.get(self.element, self.element)[1:])

    @property
    def suffix(self) -> str:
        """The name of the type in the names of intrinsics and of our functions: f64, v8f64."""
        lane = _SUFFIX.get(self.element, self.element)
        return lane if self.width == 1 else f"v{self.width}{lane}"

    def of(self, element: str) -> Type:
        """Return the type with as many lanes of another element."""
        return Type(element, self.width)

    @property
    def integer(self) -> Type:
        """The integer type of the same size."""
        return self.of(f"i{self.bits}")

    def __str__(self) -> str:
        element = "i16" if self.element == "bfloat" else self.element
        return element if self.width == 1 else f"<{self.width} x {element}>"

    def constant(self, value: float | int | bool) -> str:
        """Return the text of a constant, the same in all lanes."""
        number = self._number(value)
        return number if self.width == 1 else f"splat ({Type(self.element)} {number})"

    def _number(self, value: float | int | bool) -> str:
        if not self.is_float:
            return str(int(value))
        if self.element == "half":
            return f"0xH{struct.unpack('<H', struct.pack('<e', value))[0]:04X}"
        if self.element == "bfloat":
            return str(struct.unpack("<I", struct.pack("<f", value))[0] >> 16)
        if self.element == "float":  # written as the double of the same value
            value = struct.unpack("<f", struct.pack("<f", value))[0]
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


F64, F32, I64, I32, I8, I1, PTR = map(Type, ("double", "float", "i64", "i32", "i8", "i1", "ptr"))


class Value:
    """A value of a function under construction. Arithmetic with it appends instructions; Python numbers become
    constants of its type. Comparisons give masks, for `select`, `&`, `|`, `~`."""

    __slots__ = ("function", "text", "type")

    def __init__(self, function: Function, text: str, type: Type):
        self.function, self.text, self.type = function, text, type

    def _binary(self, float_op: str, int_op: str, other: Value | float, swap: bool = False) -> Value:
        pair = (self.text, self.function.operand(other, self.type))
        op = float_op + self.function.freedom if self.type.is_float else int_op
        return self.function.emit(f"{op} {self.type} {', '.join(pair[::-1] if swap else pair)}", self.type)

    def __add__(self, other: Value | float) -> Value:
        return self._binary("fadd", "add", other)

    def __radd__(self, other: float) -> Value:
        return self._binary("fadd", "add", other, swap=True)

    def __sub__(self, other: Value | float) -> Value:
        return self._binary("fsub", "sub", other)

    def __rsub__(self, other: float) -> Value:
        return self._binary("fsub", "sub", other, swap=True)

    def __mul__(self, other: Value | float) -> Value:
        return self._binary("fmul", "mul", other)

    def __rmul__(self, other: float) -> Value:
        return self._binary("fmul", "mul", other, swap=True)

    def __truediv__(self, other: Value | float) -> Value:
        return self._binary("fdiv", "sdiv", other)

    def __rtruediv__(self, other: float) -> Value:
        return self._binary("fdiv", "sdiv", other, swap=True)

    def __and__(self, other: Value | int) -> Value:
        return self._binary("and", "and", other)

    def __or__(self, other: Value | int) -> Value:
        return self._binary("or", "or", other)

    def __xor__(self, other: Value | int) -> Value:
        return self._binary("xor", "xor", other)

    def __lshift__(self, other: Value | int) -> Value:
        return self._binary("shl", "shl", other)

    def __rshift__(self, other: Value | int) -> Value:
        """The arithmetic shift, which keeps the sign."""
        return self._binary("ashr", "ashr", other)

    def logical_shift(self, other: Value | int) -> Value:
        """Shift to the right, zeros coming in."""
        return self._binary("lshr", "lshr", other)

    def __invert__(self) -> Value:
        return self ^ (1 if self.type.element == "i1" else -1)

    def __neg__(self) -> Value:
        if self.type.is_float:
            return self.function.emit(f"fneg {self.type} {self.text}", self.type)
        return 0 - self

    def compare(self, relation: str, other: Value | float) -> Value:
        """Return the mask of a relation: <, <=, >, >=, == (false for NaN) or != (true for NaN). NaN raises no flag."""
        right, mask = self.function.operand(other, self.type), self.type.of("i1")
        if not self.type.is_float or relation in ("==", "!="):
            code = f"fcmp {_ORDERED[relation]}" if self.type.is_float else f"icmp {_SIGNED[relation]}"
            return self.function.emit(f"{code} {self.type} {self.text}, {right}", mask)
        name = f"@llvm.experimental.constrained.fcmp.{self.type.suffix}"  # fcmp alone may raise "invalid"
        self.function.declare(name, mask, [self.type, self.type, "metadata", "metadata"])
        rest = f'metadata !"{_ORDERED[relation]}", metadata !"fpexcept.ignore"'
        call = f"call {mask} {name}({self.type} {self.text}, {self.type} {right}, {rest}) strictfp"
        return self.function.emit(call, mask)

    def __lt__(self, other: Value | float) -> Value:
        return self.compare("<", other)

    def __le__(self, other: Value | float) -> Value:
        return self.compare("<=", other)

    def __gt__(self, other: Value | float) -> Value:
        return self.compare(">", other)

    def __ge__(self, other: Value | float) -> Value:
        return self.compare(">=", other)

    def equals(self, other: Value | float) -> Value:
        return self.compare("==", other)

    def is_nan(self) -> Value:
        return self.function.emit(f"fcmp uno {self.type} {self.text}, {self.text}", self.type.of("i1"))

    def select(self, yes: Value | float, no: Value | float) -> Value:
        """Choose by this mask, lane by lane; one of the two is a Value."""
        type = yes.type if isinstance(yes, Value) else no.type  # type: ignore[union-attr]
        pair = ", ".join(f"{type} {self.function.operand(v, type)}" for v in (yes, no))
        return self.function.emit(f"select {self.type} {self.text}, {pair}", type)

    def bits_as(self, element: str) -> Value:
        """The same bits as lanes of another element."""
        return self.function.cast("bitcast", self, self.type.of(element))

    def intrinsic(self, name: str, *others: Value | float) -> Value:
        """Call llvm.`name` on this and other values of the type: fma, sqrt, fabs, rint, floor, copysign, …"""
        operands = [f"{self.type} {self.function.operand(v, self.type)}" for v in (self, *others)]
        full = f"@llvm.{name}.{self.type.suffix}"
        self.function.declare(full, self.type, [self.type] * len(operands))
        return self.function.emit(f"call {self.type} {full}({', '.join(operands)})", self.type)

    def fence(self) -> Value:
        """The same value, opaque to the compiler: its uses are not moved before the computation of the value."""
        return self.intrinsic("arithmetic.fence")

    def call(self, name: str, *others: Value | float) -> Value:
        """Call our own function of vectors, see `math`: exp, log, erf, …"""
        operands = [f"{self.type} {self.function.operand(v, self.type)}" for v in (self, *others)]
        self.function.needs[(name, self.type)] = None
        return self.function.emit(
            f"call {self.type} @fx.{name}.{self.type.suffix}({', '.join(operands)})", self.type
        )


def fma(x: Value, y: Value | float, z: Value | float) -> Value:
    """x·y + z, rounded once."""
    return x.intrinsic("fma", y, z)


def sum_product(x: Value, y: Value, total: Value) -> Value:
    """x·y + total, of a sum whose terms LLVM may add in any order."""
    f, type = x.function, x.type
    codes = ("fmul contract", "fadd reassoc contract") if type.is_float else ("mul", "add")
    product = f.emit(f"{codes[0]} {type} {x.text}, {y.text}", type)
    return f.emit(f"{codes[1]} {type} {product.text}, {total.text}", type)


def polynomial(x: Value, coefficients: Sequence[Value | float]) -> Value:
    """c₀ + c₁x + c₂x² + …, by Horner's rule with one rounding a step."""
    *rest, last = coefficients
    y = last if isinstance(last, Value) else x.function.constant(last, x.type)
    for c in reversed(rest):
        y = fma(x, y, c)
    return y


class Loop:
    """A loop under construction: its index, and the values that go from one step to the next.

    `carry` are the values at the beginning of a step, and after the loop the last ones; `update` says the next.
    """

    def __init__(self, index: Value, carry: list[Value]):
        self.index, self.carry, self.following = index, carry, list(carry)

    def update(self, *values: Value) -> None:
        self.following = list(values)


class Cycle(Loop):
    """A loop that ends when a condition fails: the code before `go_on_if` runs once more than the code after it."""

    def go_on_if(self, condition: Value) -> None:
        function = condition.function
        number = next(function._serial)
        self.done = f"done{number}"
        function.lines.append(f"  br i1 {condition.text}, label %body{number}, label %{self.done}")
        function._begin(f"body{number}")


class Function:
    """A function under construction: its instructions, and the declarations that it needs.

    `needs` are (name, type) of our own functions that it calls, `declarations` those of intrinsics. `freedom` are the
    flags of what LLVM may change in floating-point arithmetic: none, unless somebody has asked for it. What is not
    `inline` stays a call where it is called.
    """

    freedom = ""

    def __init__(
        self,
        name: str,
        arguments: Sequence[Type],
        returns: str = "void",
        local: bool = False,
        inline: bool = True,
    ):
        self.name, self.returns, self.local, self.inline = name, returns, local, inline
        self.lines: list[str] = []
        self.needs: dict[tuple[str, Type], None] = {}
        self.declarations: dict[str, str] = {}
        self._serial = itertools.count()
        self._block = "entry"
        self.arguments = [Value(self, f"%a{i}", type) for i, type in enumerate(arguments)]

    def operand(self, value: Value | float, type: Type) -> str:
        """Return the text of an operand: of a value, or of a number as a constant."""
        if isinstance(value, Value):
            if value.type != type:
                raise TypeError(f"{self.name}: {value.text} is a {value.type}, and should be a {type}")
            return value.text
        return type.constant(value)

    def constant(self, value: float, type: Type) -> Value:
        return Value(self, type.constant(value), type)

    def emit(self, instruction: str, type: Type) -> Value:
        """Append an instruction; return its value."""
        name = f"%v{next(self._serial)}"
        self.lines.append(f"  {name} = {instruction}")
        return Value(self, name, type)

    def declare(self, name: str, returns: Type | str, arguments: Sequence[Type | str]) -> None:
        self.declarations[name] = f"declare {returns} {name}({', '.join(map(str, arguments))})"

    def cast(self, code: str, value: Value, type: Type) -> Value:
        """Convert by LLVM's instruction `code`: fpext, fptrunc, sitofp, fptosi, zext, trunc, bitcast, …"""
        if value.type == type:
            return value
        return self.emit(f"{code} {value.type} {value.text} to {type}", type)

    def splat(self, value: Value, width: int) -> Value:
        """Return the vector with this number in all lanes."""
        type = Type(value.type.element, width)
        one = self.emit(f"insertelement {type} poison, {value.type} {value.text}, i64 0", type)
        lanes = f"<{width} x i32> zeroinitializer"
        return self.emit(f"shufflevector {type} {one.text}, {type} poison, {lanes}", type)

    def interleave(self, even: Value, odd: Value) -> Value:
        """Return the vector of twice as many lanes in which the lanes of two vectors alternate."""
        width = even.type.width
        order = ", ".join(f"i32 {k + half * width}" for k in range(width) for half in (0, 1))
        return self._shuffle(even, odd, order, 2 * width)

    def deinterleave(self, value: Value) -> tuple[Value, Value]:
        """Return the lanes of even and of odd numbers."""
        width = value.type.width // 2
        even, odd = (
            self._shuffle(value, value, ", ".join(f"i32 {2 * k + half}" for k in range(width)), width)
            for half in (0, 1)
        )
        return even, odd

    def choose(self, vectors: Sequence[Value], numbers: Sequence[int]) -> Value:
        """Return the lanes with these numbers, counted through several vectors of one type, as a vector."""
        size, width = vectors[0].type.width, len(numbers)
        first, *others = sorted({k // size for k in numbers})
        if not others:
            order = ", ".join(f"i32 {k % size}" for k in numbers)
            return self._shuffle(vectors[first], vectors[first], order, width)
        found, taken = vectors[first], {k: k % size for k in numbers if k // size == first}
        for n in others:
            here = {k: size + k % size for k in numbers if k // size == n}
            order = ", ".join(f"i32 {here.get(k, taken.get(k, 0))}" for k in numbers)
            found = self._shuffle(found, vectors[n], order, width)
            taken.update((k, place) for place, k in enumerate(numbers) if k in here or k in taken)
        return found

    def _shuffle(self, first: Value, second: Value, order: str, width: int) -> Value:
        """Return lanes of two vectors, of `width` lanes each, in an order."""
        type = Type(first.type.element, width)
        if first.type.width == 1:  # numbers are no vectors for LLVM
            first, second = (self.splat(v, 2) for v in (first, second))
            order = "i32 0, i32 2"
        pair = f"{first.type} {first.text}, {second.type} {second.text}"
        if width == 1:
            return self.emit(f"extractelement {first.type} {first.text}, {order}", type)
        return self.emit(f"shufflevector {pair}, <{width} x i32> <{order}>", type)

    def place(self, pointer: Value, index: Value | int, element: str) -> Value:
        """Return the address of the entry number `index` of an array of `element`s."""
        return self.emit(
            f"getelementptr {Type(element)}, ptr {pointer.text}, i64 {self.operand(index, I64)}", PTR
        )

    def load(self, pointer: Value, type: Type, index: Value | int = 0, volatile: bool = False) -> Value:
        """Load consecutive entries, from the entry number `index` on; `volatile` ones, to whose place a choice of them
        and others is stored: of that LLVM makes no masked store, which some processors are slow at."""
        at = self.place(pointer, index, type.element)
        return self.emit(
            f"load {'volatile ' * volatile}{type}, ptr {at.text}, align {max(type.bits // 8, 1)}", type
        )

    def store(self, value: Value, pointer: Value, index: Value | int = 0) -> None:
        at = self.place(pointer, index, value.type.element)
        align = max(value.type.bits // 8, 1)
        self.lines.append(f"  store {value.type} {value.text}, ptr {at.text}, align {align}")

    def stream(self, value: Value, pointer: Value, index: Value | int = 0) -> None:
        """Store a vector past the caches, at a place that is a multiple of its size. Other threads see it after
        `wait_for_stores`."""
        at = self.place(pointer, index, value.type.element)
        align = value.type.width * value.type.bits // 8
        self.lines.append(
            f"  store {value.type} {value.text}, ptr {at.text}, align {align}, !nontemporal !{{i32 1}}"
        )

    def wait_for_stores(self) -> None:
        """Make streamed stores visible to other threads before any later store."""
        self.lines.append("  fence seq_cst")

    def load_masked(
        self, pointer: Value, mask: Value, type: Type, index: Value | int = 0, other: Value | None = None
    ) -> Value:
        """Load consecutive entries in the lanes that the mask sets; the other lanes are those of `other` (zeros)."""
        at = self.place(pointer, index, type.element)
        name = f"@llvm.masked.load.{type.suffix}.p0"
        self.declare(name, type, ["ptr", "i32", mask.type, type])
        align, rest = max(type.bits // 8, 1), "zeroinitializer" if other is None else other.text
        return self.emit(
            f"call {type} {name}(ptr {at.text}, i32 {align}, {mask.type} {mask.text}, {type} {rest})", type
        )

    def store_masked(self, value: Value, pointer: Value, mask: Value, index: Value | int = 0) -> None:
        """Store the lanes that the mask sets."""
        value, type = self.keep_lanes(value), value.type
        at = self.place(pointer, index, type.element)
        name = f"@llvm.masked.store.{type.suffix}.p0"
        self.declare(name, "void", [type, "ptr", "i32", mask.type])
        align = max(type.bits // 8, 1)
        self.lines.append(
            f"  call void {name}({type} {value.text}, ptr {at.text}, i32 {align}, {mask.type} {mask.text})"
        )

    def keep_lanes(self, value: Value) -> Value:
        """Return a value of which LLVM computes all lanes as written. In lanes that are not stored it may otherwise
        compute something else (0/0), which raises exceptions."""
        if value.type.element not in ("float", "double"):
            return value
        name = f"@llvm.arithmetic.fence.{value.type.suffix}"
        self.declare(name, value.type, [value.type])
        return self.emit(f"call {value.type} {name}({value.type} {value.text})", value.type)

    def table(self, name: str, numbers: Sequence[float]) -> Value:
        """Return the address of a constant array of doubles, shared by all functions that name it."""
        entries = ", ".join(f"double {F64.constant(v)}" for v in numbers)
        self.declarations[f"@{name}"] = f"@{name} = internal constant [{len(numbers)} x double] [{entries}]"
        return Value(self, f"@{name}", PTR)

    def gather(self, pointer: Value, index: Value, element: str, mask: Value | None = None) -> Value:
        """Load the entries at the indices in an i64 vector; zeros in lanes that the mask does not set."""
        type = index.type.of(element)
        if index.type.width == 1:
            return self.load(pointer, type, index)
        places = f"<{type.width} x ptr>"
        at = self.emit(
            f"getelementptr {Type(element)}, ptr {pointer.text}, {index.type} {index.text}",
            Type("ptr", type.width),
        )
        name, lanes = f"@llvm.masked.gather.{type.suffix}.v{type.width}p0", Type("i1", type.width)
        self.declare(name, type, [places, "i32", lanes, type])
        which = "splat (i1 true)" if mask is None else mask.text
        rest = f"i32 {type.bits // 8}, {lanes} {which}, {type} zeroinitializer"
        return self.emit(f"call {type} {name}({places} {at.text}, {rest})", type)

    def lanes_below(self, count: Value, width: int) -> Value:
        """Return the mask of the lanes number 0 … count − 1: the tail of an array."""
        type = Type("i64", width)
        numbers = f"<{', '.join(f'i64 {i}' for i in range(width))}>"
        return Value(self, numbers, type) < self.splat(count, width)

    def reduce(self, value: Value, name: str, start: str = "", freedom: str = "") -> Value:
        """Combine the lanes to one number by llvm.vector.reduce.`name`: fadd (after `start`; in order, or with the
        `freedom` " reassoc" in halves), fmax, fmin, add, …"""
        type, element = value.type, Type(value.type.element)
        full = f"@llvm.vector.reduce.{name}.{type.suffix}"
        self.declare(full, element, [*([element] if start else []), type])
        first = f"{element} {start}, " if start else ""
        return self.emit(f"call{freedom} {element} {full}({first}{type} {value.text})", element)

    def return_value(self, value: Value) -> None:
        self.lines.append(f"  ret {value.type} {value.text}")

    def _begin(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self._block = label

    @contextmanager
    def loop(
        self, stop: Value | int, start: Value | int = 0, step: int = 1, carry: Sequence[Value] = ()
    ) -> Iterator[Loop]:
        """Write a loop: for index in range(start, stop, step). The block of the `with` is its body."""
        number = next(self._serial)
        head, body, done = (f"{part}{number}" for part in ("head", "body", "done"))
        before = self._block
        self.lines.append(f"  br label %{head}")
        self._begin(head)
        place = len(self.lines)
        phis = [Value(self, f"%i{number}", I64)]
        phis += [Value(self, f"%c{number}_{k}", v.type) for k, v in enumerate(carry)]
        more = phis[0] < stop
        self.lines.append(f"  br i1 {more.text}, label %{body}, label %{done}")
        self._begin(body)
        loop = Loop(phis[0], phis[1:])
        yield loop
        following = [loop.index + step, *loop.following]
        last = self._block
        self.lines.append(f"  br label %{head}")
        initial = [self.operand(start, I64), *(v.text for v in carry)]
        self.lines[place:place] = [
            f"  {phi.text} = phi {phi.type} [{first}, %{before}], [{then.text}, %{last}]"
            for phi, first, then in zip(phis, initial, following)
        ]
        self._begin(done)
        loop.carry = phis[1:]

    @contextmanager
    def cycle(self, carry: Sequence[Value]) -> Iterator[Cycle]:
        """Write a loop; the block of the `with` states its condition by `go_on_if`."""
        number, before = next(self._serial), self._block
        self.lines.append(f"  br label %head{number}")
        self._begin(f"head{number}")
        place = len(self.lines)
        phis = [Value(self, f"%c{number}_{k}", v.type) for k, v in enumerate(carry)]
        loop = Cycle(self.constant(0, I64), phis)
        yield loop
        last = self._block
        self.lines.append(f"  br label %head{number}")
        self.lines[place:place] = [
            f"  {phi.text} = phi {phi.type} [{first.text}, %{before}], [{then.text}, %{last}]"
            for phi, first, then in zip(phis, carry, loop.following)
        ]
        self._begin(loop.done)
        loop.carry = phis

    def branch(
        self, condition: Value, yes: Callable[[], Sequence[Value]], no: Callable[[], Sequence[Value]]
    ) -> list[Value]:
        """Write two blocks: one for a condition, a single i1, that holds, and one for its opposite; return their
        values."""
        number = next(self._serial)
        self.lines.append(f"  br i1 {condition.text}, label %yes{number}, label %no{number}")
        found = []
        for name, write in (("yes", yes), ("no", no)):
            self._begin(f"{name}{number}")
            found.append((write(), self._block))
            self.lines.append(f"  br label %joined{number}")
        self._begin(f"joined{number}")
        (first, one), (second, other) = found
        return [
            self.emit(f"phi {a.type} [{a.text}, %{one}], [{b.text}, %{other}]", a.type)
            for a, b in zip(first, second)
        ]

    def join(self, values: Sequence[Value]) -> Value:
        """Return the vector of some numbers."""
        type = Type(values[0].type.element, len(values))
        vector = "poison"
        for k, v in enumerate(values):
            vector = self.emit(f"insertelement {type} {vector}, {v.type} {v.text}, i64 {k}", type).text
        return Value(self, vector, type)

    def separate(self, vector: Value) -> list[Value]:
        """Return the numbers in the lanes of a vector."""
        element = Type(vector.type.element)
        return [
            self.emit(f"extractelement {vector.type} {vector.text}, i64 {k}", element)
            for k in range(vector.type.width)
        ]

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """Write a block that is entered where the condition, a single i1, holds."""
        number = next(self._serial)
        self.lines.append(f"  br i1 {condition.text}, label %then{number}, label %rest{number}")
        self._begin(f"then{number}")
        yield
        self.lines.append(f"  br label %rest{number}")
        self._begin(f"rest{number}")

    def rarely(self, mask: Value, usual: Value, write: Callable[[], Value]) -> Value:
        """Return `usual`, but write() in the lanes set in the mask: a block entered only if there are any."""
        (value,) = self.rarely_all(mask, [usual], lambda: [write()])
        return value

    def rarely_all(
        self, mask: Value, usual: Sequence[Value], write: Callable[[], Sequence[Value]]
    ) -> list[Value]:
        """Return several values that are computed in the same block where lanes of the mask are set."""
        number, before = next(self._serial), self._block
        some = mask if mask.type.width == 1 else self.reduce(mask, "or")
        weights = '!prof !{!"branch_weights", i32 1, i32 2000}'
        self.lines.append(f"  br i1 {some.text}, label %rare{number}, label %usual{number}, {weights}")
        self._begin(f"rare{number}")
        rare = [mask.select(new, old) for new, old in zip(write(), usual)]
        last = self._block
        self.lines.append(f"  br label %usual{number}")
        self._begin(f"usual{number}")
        return [
            self.emit(f"phi {old.type} [{old.text}, %{before}], [{new.text}, %{last}]", old.type)
            for old, new in zip(usual, rare)
        ]

    def __str__(self) -> str:
        arguments = ", ".join(f"{v.type}{' noalias' * (v.type == PTR)} {v.text}" for v in self.arguments)
        kind = "define internal" if self.local else "define"
        end = ["  ret void"] if self.returns == "void" else []
        return "\n".join(
            [
                f"{kind} {self.returns} @{self.name}({arguments}) #0{' noinline' * (not self.inline)} {{",
                "entry:",
                *self.lines,
                *end,
                "}",
            ]
        )


def hide(function: Function, number: int) -> Value:
    """Write at the beginning of a function a number that LLVM cannot know. If it knew how many lanes of a vector are
    stored, it would not care what the others hold, and they would raise exceptions."""
    place = function.emit("alloca i64", PTR)
    function.lines.append(f"  store volatile i64 {number}, ptr {place.text}")
    return function.emit(f"load volatile i64, ptr {place.text}", I64)
