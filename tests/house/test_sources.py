"""Formulas and their sources: distributions, special functions, optimizers, initializers, derivatives of linear algebra
and quadrature name a paper, a book or a section of the NIST Digital Library of Mathematical Functions."""

import inspect
import re
from types import FunctionType

import pytest

from tests.compat.test_examples import documented, group_of
from tests.house.test_docstrings import public_names

SOURCE = re.compile(r"dlmf\.nist\.gov/\d|\b(1[89]|20)\d\d\b")  # a year stands in every reference

# Whose sentence is the whole definition, or that are no formulas.
OF_THEMSELVES = {
    "fxgrad.scipy.special": """
        bessel_jn cbrt cosdg cosm1 cotdg diric exp10 exp2 expit expm1 log1p log_expit logit powm1 radian round sinc
        sindg softplus tandg xlog1py xlogy
    """,
    "fxgrad.scipy.stats": """
        gmean hmean iqr linregress median_abs_deviation mode moment pmean rv_continuous rv_discrete sem trim_mean
        variation zmap zscore
    """,
    "fxgrad.random": """
        bits categorical choice clone fold_in key key_data permutation rademacher randint split wrap_key_data
    """,
    "fxgrad.optim": """
        AdamState ApplyIfFiniteState CountState EmaState EmptyState GradientTransformation InjectHyperparamsState
        LBFGSState LineSearchState LionState LookaheadParams LookaheadState MaskedNode MaskedState MultiSteps
        MultiStepsState MultiTransformState PrivateState SquareState TraceState add_decayed_weights apply_if_finite
        apply_updates chain clip constant_schedule ema exponential_decay global_norm identity inject_hyperparams
        join_schedules linear_schedule masked multi_transform per_sample_global_norm piecewise_constant_schedule
        polynomial_schedule scale scale_by_learning_rate scale_by_schedule stateless
    """,
    "fxgrad.nn.initializers": "constant normal ones truncated_normal uniform zeros",
    "fxgrad.scipy.integrate": "",
    "fxgrad.numpy.linalg": """
        LinAlgError cond cross diagonal matmul matrix_norm matrix_rank matrix_transpose multi_dot norm outer tensordot
        tensorinv tensorsolve trace vecdot vector_norm
    """,
    "fxgrad.scipy.linalg": """
        LinAlgError LinAlgWarning bandwidth block_diag circulant companion convolution_matrix dft diagsvd fiedler
        fiedler_companion hadamard hankel helmert hilbert invhilbert invpascal ishermitian issymmetric khatri_rao kron
        leslie matmul_toeplitz norm null_space orth pascal solve_circulant solve_toeplitz toeplitz tri
    """,
    "fxgrad.lax.linalg": "EigImplementation EighImplementation SvdAlgorithm lu_pivots_to_permutation",
    "torch.special": "exp2 expit expm1 log1p sinc xlog1py xlogy",
    "torch.linalg": """
        LinAlgError cond cross diagonal matmul matrix_norm matrix_rank multi_dot norm tensorinv tensorsolve vander
        vecdot vector_norm
    """,
    "torch.distributions": """
        Distribution Independent MixtureSameFamily Transform TransformedDistribution kl_divergence register_kl
    """,
    "torch.optim": "Optimizer",
    "torch.optim.lr_scheduler": """
        ChainedScheduler ConstantLR ExponentialLR LRScheduler LambdaLR LinearLR MultiStepLR MultiplicativeLR
        PolynomialLR ReduceLROnPlateau SequentialLR StepLR
    """,
    "torch.optim.swa_utils": "AveragedModel get_ema_avg_fn get_ema_multi_avg_fn update_bn",
    "torch.nn.init": """
        constant constant_ dirac dirac_ eye eye_ initializer kaiming_normal kaiming_uniform normal normal_ ones_
        orthogonal sparse under_older_name uniform uniform_ warn_if_empty xavier_normal xavier_uniform zeros_
    """,
}


def subjects(namespace: str) -> dict[str, object]:
    """The functions, classes and distributions of a namespace."""
    if not namespace.startswith("torch."):
        return public_names(namespace)
    return {
        name.rpartition(".")[2]: found
        for name, found in documented().items()
        if group_of(name) == namespace and isinstance(found, FunctionType | type)
    }


@pytest.mark.parametrize("namespace", OF_THEMSELVES)
def test_formulas_name_their_source(namespace):
    found = subjects(namespace)
    exempt = set(OF_THEMSELVES[namespace].split())
    assert exempt <= found.keys(), "no such name"
    assert [
        name
        for name, value in found.items()
        if name not in exempt
        and not name.endswith("Transform")  # whose sentence is the map
        and not SOURCE.search(inspect.getdoc(value) or "")
    ] == []
