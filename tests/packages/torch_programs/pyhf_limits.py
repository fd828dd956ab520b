"""A statistical model of counts over torch: fits and confidence levels.

packages: pyhf
tolerance: 1e-3
"""

import pyhf

pyhf.set_backend("pytorch", "scipy")
model = pyhf.simplemodels.uncorrelated_background(
    signal=[12.0, 11.0], bkg=[50.0, 52.0], bkg_uncertainty=[3.0, 7.0]
)
data = [51, 48, *model.config.auxdata]
parameters = pyhf.tensorlib.astensor(model.config.suggested_init())
print(
    model.logpdf(parameters, pyhf.tensorlib.astensor(data)).item(), model.expected_data(parameters).tolist()
)
best, value = pyhf.infer.mle.fit(data, model, return_fitted_val=True)
print(best.tolist(), float(value))
observed, expected = pyhf.infer.hypotest(1.0, data, model, test_stat="qtilde", return_expected_set=True)
print(float(observed), [float(x) for x in expected])
