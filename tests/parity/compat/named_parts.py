"""What packages take from torch by name: quasirandom points, weak dicts, members by name, placements, collation."""

import numpy as np
import torch
from torch.distributed._tensor import Shard as FormerShard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.placement_types import Placement
from torch.nn.utils._named_member_accessor import NamedMemberAccessor
from torch.quasirandom import SobolEngine
from torch.utils import _pytree
from torch.utils._contextlib import _DecoratorContextManager
from torch.utils.data._utils.collate import collate, default_collate_fn_map, np_str_obj_array_pattern
from torch.utils.weak import TensorWeakRef, WeakIdKeyDictionary


def say(function, *kinds):
    """Print what a function raises."""
    try:
        print(function())
    except kinds as error:
        print(str(error).splitlines()[0])


engine = SobolEngine(4, scramble=True, seed=5)
print(engine.draw(3).tolist(), engine.draw(4, dtype=torch.float64).tolist())
print(engine.fast_forward(5).draw(2).tolist(), engine)
engine = SobolEngine(3)
print(engine.draw_base2(3).tolist(), engine.reset().draw(1).tolist(), engine.fast_forward(4).draw().tolist())
print(SobolEngine(300, scramble=True, seed=1).draw(70)[-1, ::50].tolist(), engine.num_generated)
say(lambda: SobolEngine(0), ValueError)
say(lambda: engine.draw_base2(1), ValueError)
say(lambda: engine.draw(-2), RuntimeError)

print(Shard(1), Replicate(), Partial(), repr(Shard(1)), repr(Partial("avg")), {Shard(0): 1}[Shard(0)])
print(Shard(0) == Shard(0), Shard(0) == Shard(1), FormerShard is Shard, isinstance(torch.ones(1), DTensor))
print(Shard(0).is_shard(), Shard(0).is_shard(1), Replicate().is_partial(), isinstance(Shard(0), Placement))

model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
accessor = NamedMemberAccessor(model)
print(accessor.check_keys(["0.weight", "foo"]), [name for name, _ in accessor.named_tensors()])
weight = accessor.swap_tensor("0.weight", torch.ones(2, 2))
print(model[0].weight, tuple(weight.shape), accessor.get_tensors(["0.bias"])[0].shape)
accessor.set_tensor("0.weight", weight)
old, missing = accessor.swap_tensors_dict(
    {"0.weight": torch.zeros(2, 2), "0.new": torch.ones(1)}, allow_missing=True
)
print(sorted(old), missing, model[0].weight.sum().item(), list(dict(accessor.named_modules())))
say(lambda: accessor.swap_tensors_dict({"0.bias": torch.zeros(2), "q": torch.ones(1)}), RuntimeError)

x = torch.ones(1)
weak, reference = WeakIdKeyDictionary({x: 3}), TensorWeakRef(x)
print(x in weak, len(weak), weak[x], weak.get(torch.ones(1)), reference() is x)
del x
print(len(weak), reference())


class Scope(_DecoratorContextManager):
    def __enter__(self):
        print("in")

    def __exit__(self, *error):
        print("out")


@Scope()
def answer():
    return 3


@Scope()
def echo():
    got = yield 1
    yield got


steps = echo()
print(answer(), next(steps), steps.send(5))
steps.close()

print(_pytree._get_node_type([1]), _pytree._get_node_type(3))
print(_pytree.is_structseq_instance(torch.ones(2).sort()), _pytree.is_structseq((1,)))

print(collate([1, 2], collate_fn_map=default_collate_fn_map), np_str_obj_array_pattern.pattern)
print(torch.utils.data.default_collate([np.float32(1), np.float32(2)]))
print(
    collate([torch.ones(1)] * 2, collate_fn_map={torch.Tensor: lambda batch, collate_fn_map=None: len(batch)})
)
say(lambda: torch.utils.data.default_collate([np.array(["a"]), np.array(["b"])]), TypeError)

print(torch._C._nn._parse_to("cpu", torch.float64), torch._C._nn._parse_to(dtype=torch.float16))
print(torch.serialization.DEFAULT_PROTOCOL, torch.Tensor.__module__)
print(isinstance(torch.__config__.show(), str), isinstance(torch.__config__.parallel_info(), str))
