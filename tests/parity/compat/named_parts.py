"""What packages take from torch by name: quasirandom points, weak dicts, members by name, placements, collation."""

import torch, numpy as np
from torch.quasirandom import SobolEngine
from torch.utils.weak import WeakIdKeyDictionary, WeakTensorKeyDictionary, TensorWeakRef
from torch.nn.utils._named_member_accessor import NamedMemberAccessor, swap_tensor
from torch.utils._contextlib import _DecoratorContextManager, context_decorator
from torch.utils import _pytree as p
from torch.utils.data._utils.collate import default_collate_fn_map, collate, np_str_obj_array_pattern
from torch.distributed.tensor import Replicate, Shard, Partial, DTensor
from torch.distributed._tensor import Shard as S2
from torch.distributed.tensor.placement_types import Placement
import torch.__config__

q = SobolEngine(4, scramble=True, seed=5)
print(q.draw(3).tolist(), q.draw(4, dtype=torch.float64).tolist(), q.fast_forward(5).draw(2).tolist(), q)
q = SobolEngine(3)
print(q.draw_base2(3).tolist())
q.reset()
print(q.draw(1).tolist(), q.fast_forward(4).draw().tolist(), q.num_generated)
for f in (lambda: SobolEngine(0), lambda: q.draw_base2(1), lambda: q.draw(-2)):
    try:
        print(f())
    except (ValueError, RuntimeError) as e:
        print(type(e).__mro__[-4:], str(e).splitlines()[0])
print(
    Shard(1),
    Replicate(),
    Partial(),
    repr(Shard(1)),
    repr(Partial("avg")),
    Shard(0) == Shard(0),
    Shard(0) == Shard(1),
    S2 is Shard,
    isinstance(torch.ones(1), DTensor),
    Shard(0).is_shard(),
    Shard(0).is_shard(1),
    Replicate().is_partial(),
    {Shard(0): 1}[Shard(0)],
    isinstance(Shard(0), Placement),
)
m = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
a = NamedMemberAccessor(m)
print(a.check_keys(["0.weight", "foo"]), [n for n, _ in a.named_tensors()])
o = a.swap_tensor("0.weight", torch.ones(2, 2))
print(m[0].weight, tuple(o.shape))
a.set_tensor("0.weight", o)
print(a.get_tensors(["0.bias"])[0].shape, list(dict(a.named_modules())))
old, missing = a.swap_tensors_dict({"0.weight": torch.zeros(2, 2), "0.zz": torch.ones(1)}, allow_missing=True)
print(sorted(old), missing, m[0].weight.sum().item())
try:
    a.swap_tensors_dict({"0.bias": torch.zeros(2), "q": torch.ones(1)})
except Exception as e:
    print(type(e).__name__, str(e))
d = WeakIdKeyDictionary()
x = torch.ones(1)
d[x] = 3
print(x in d, len(d), d[x], d.get(torch.ones(1)))
del x
print(len(d))


class Scope(_DecoratorContextManager):
    def __enter__(self):
        print("in")

    def __exit__(self, *e):
        print("out")


@Scope()
def f():
    return 3


@Scope()
def g():
    s = yield 1
    yield s


print(f(), (lambda i: (next(i), i.send(5)))(g()))
print(
    p._get_node_type([1]),
    p._get_node_type(3),
    p.is_structseq_instance(torch.ones(2).sort()),
    p.is_structseq((1,)),
)
print(
    collate([1, 2], collate_fn_map=default_collate_fn_map),
    torch.utils.data.default_collate([np.float32(1), np.float32(2)]),
    collate([torch.ones(1)] * 2, collate_fn_map={torch.Tensor: lambda b, collate_fn_map=None: len(b)}),
)
try:
    torch.utils.data.default_collate([np.array(["a"]), np.array(["b"])])
except TypeError as e:
    print(str(e).splitlines()[0])
print(
    torch._C._nn._parse_to("cpu", torch.float64),
    torch._C._nn._parse_to(dtype=torch.float16),
    torch.serialization.DEFAULT_PROTOCOL,
)
print(torch.Tensor.__module__, type(torch.__config__.show()), type(torch.__config__.parallel_info()))
