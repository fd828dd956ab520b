"""torch.distributed.algorithms.ddp_comm_hooks.default_hooks: averages of gradients, also in half precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...._core.dtypes import from_name
from ... import collectives
from ...reductions import ReduceOp

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...futures import Future
    from ...reducer import GradBucket

    Hook = Callable[[Any, GradBucket], Future]


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future:
    """Return the Future of a bucket's average over a group (None: all processes), which is what happens without a hook.

    >>> from fxgrad.compat.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    >>> model.register_comm_hook(None, allreduce_hook)
    """
    work = collectives.all_reduce(bucket.buffer(), ReduceOp.AVG, process_group, async_op=True)
    return work.get_future().then(lambda future: future.value()[0])


def compress(dtype: Any, process_group: Any, bucket: GradBucket) -> Future:
    """Return the Future of a bucket's average, which is sent in another dtype."""
    sent, dtype_before = bucket.buffer().to(dtype), bucket.buffer().dtype
    work = collectives.all_reduce(sent, ReduceOp.AVG, process_group, async_op=True)
    return work.get_future().then(lambda future: future.value()[0].to(dtype_before))


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """Return the Future of a bucket's average, which is sent in float16."""
    return compress(from_name("float16"), process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """Return the Future of a bucket's average, which is sent in bfloat16."""
    return compress(from_name("bfloat16"), process_group, bucket)


def wrap_in(dtype: Any, hook: Hook) -> Hook:
    """Wrap a hook so that it receives the bucket converted to a dtype; the result is converted back."""

    def wrapped(state: Any, bucket: GradBucket) -> Future:
        before = bucket.buffer().dtype
        bucket.set_buffer(bucket.buffer().to(dtype))

        def widen(future: Future) -> Any:
            found = future.value()
            return (found[0] if isinstance(found, list | tuple) else found).to(before)

        return hook(state, bucket).then(widen)

    return wrapped


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """Wrap a hook so that it receives the bucket in float16."""
    return wrap_in(from_name("float16"), hook)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """Wrap a hook so that it receives the bucket in bfloat16."""
    return wrap_in(from_name("bfloat16"), hook)


__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]
