"""Gaussian processes of gpflow with each kernel, likelihood and optimizer, traced by tf.function."""
import gpflow
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
X, Y = rng.random((8, 1)), rng.random((8, 1))
Z = X[:3].copy()


def attempt(name, run, *arguments):
    try:
        tf.function(run)(*arguments)
    except Exception as error:
        print(name, type(error).__name__, str(error)[:150], flush=True)


k = gpflow.kernels
kernels = [k.RBF(), k.Matern12(), k.Matern32(), k.Matern52(), k.Exponential(), k.Linear(), k.Polynomial(), k.Periodic(k.RBF()), k.Cosine(),
           k.ArcCosine(), k.White(), k.Constant(), k.RBF() + k.White(), k.RBF() * k.Linear(), k.RationalQuadratic(), k.ChangePoints([k.RBF(), k.RBF()], [0.5])]
for kernel in kernels:
    attempt(type(kernel).__name__, lambda: (kernel(X), kernel(X, Z), kernel(X, full_cov=False)))
    model = gpflow.models.GPR((X, Y), kernel)
    attempt("gpr", model.training_loss)
    attempt("predict", lambda: model.predict_f(X, full_cov=True))
    attempt("predict", model.predict_y, tf.constant(X))
l = gpflow.likelihoods
for likelihood in (l.Gaussian(), l.Bernoulli(), l.Poisson(), l.StudentT(), l.Exponential(), l.Gamma(), l.Beta(), l.Softmax(2)):
    for model in (gpflow.models.SVGP(k.RBF(), likelihood, Z, num_data=8), gpflow.models.VGP((X, np.round(Y)), k.RBF(), likelihood)):
        loss = model.training_loss_closure((X, np.round(Y)), compile=True) if isinstance(model, gpflow.models.SVGP) else model.training_loss
        try:
            loss()
            tf.function(model.predict_log_density)((X, Y))
        except Exception as error:
            print(type(likelihood).__name__, type(error).__name__, str(error)[:100], flush=True)
for model in (gpflow.models.SGPR((X, Y), k.RBF(), Z), gpflow.models.GPRFITC((X, Y), k.RBF(), Z), gpflow.models.CGLB((X, Y), k.RBF(), Z),
              gpflow.models.GPLVM(Y.repeat(2, 1), 1)):
    attempt(type(model).__name__, model.training_loss)
    attempt(type(model).__name__, model.predict_f, tf.constant(X))
for q_diag, whiten in ((True, True), (False, False)):
    model = gpflow.models.SVGP(k.RBF(), l.Gaussian(), Z, num_data=8, q_diag=q_diag, whiten=whiten)
    attempt("elbo", model.elbo, (tf.constant(X), tf.constant(Y)))
    attempt("samples", lambda: model.predict_f_samples(X, 2))
model = gpflow.models.GPR((X, Y), k.RBF())
gpflow.optimizers.Scipy().minimize(model.training_loss, model.trainable_variables, options={"maxiter": 2})
for mean in (gpflow.functions.Linear(), gpflow.functions.Constant(), gpflow.functions.Zero()):
    attempt("mean", mean, tf.constant(X))
shared = gpflow.kernels.SharedIndependent(k.RBF(), output_dim=2)
inducing = gpflow.inducing_variables.SharedIndependentInducingVariables(gpflow.inducing_variables.InducingPoints(Z))
model = gpflow.models.SVGP(shared, l.Gaussian(), inducing, num_latent_gps=2)
attempt("outputs", model.elbo, (tf.constant(X), tf.constant(np.hstack([Y, Y]))))
attempt("outputs", lambda: model.predict_f(X, full_output_cov=True))
