"""Distributions, bijectors and samplers of TensorFlow Probability on JAX."""
import jax
import jax.numpy as jnp
from tensorflow_probability.substrates import jax as tfp

tfd, tfb = tfp.distributions, tfp.bijectors
key = jax.random.PRNGKey(0)


def attempt(name, run, *arguments):
    try:
        jax.jit(run)(*arguments)
    except Exception as error:
        print(name, type(error).__name__, str(error)[:150], flush=True)


one, two = jnp.ones(2), jnp.array([0.3, 0.7])
made = [lambda: tfd.Normal(0.0, one), lambda: tfd.Gamma(one, one), lambda: tfd.Beta(one, one), lambda: tfd.Categorical(logits=two),
        lambda: tfd.Bernoulli(probs=two), lambda: tfd.Poisson(one), lambda: tfd.Dirichlet(one), lambda: tfd.MultivariateNormalDiag(one, one),
        lambda: tfd.StudentT(3.0, 0.0, one), lambda: tfd.Uniform(0.0, one), lambda: tfd.Exponential(one), lambda: tfd.LogNormal(0.0, one),
        lambda: tfd.VonMises(0.0, one), lambda: tfd.Laplace(0.0, one), lambda: tfd.Geometric(probs=two), lambda: tfd.Multinomial(3.0, probs=two),
        lambda: tfd.Independent(tfd.Normal(0.0, one), 1), lambda: tfd.TransformedDistribution(tfd.Normal(0.0, one), tfb.Exp()),
        lambda: tfd.MixtureSameFamily(tfd.Categorical(probs=two), tfd.Normal(two, 1.0)), lambda: tfd.TruncatedNormal(0.0, one, -1.0, 1.0),
        lambda: tfd.JointDistributionSequential([tfd.Normal(0.0, 1.0), lambda m: tfd.Normal(m, 1.0)]),
        lambda: tfd.HiddenMarkovModel(tfd.Categorical(probs=two), tfd.Categorical(probs=jnp.stack([two, two])), tfd.Normal(two, 1.0), 3)]
for make in made:
    def use(seed, make=make):
        distribution = make()
        sample = distribution.sample(seed=seed)
        return sample, distribution.log_prob(sample)

    attempt(make, use, key)
    for name in ("mean", "variance", "mode", "entropy", "stddev"):
        try:
            jax.jit(lambda make=make, name=name: getattr(make(), name)())()
        except Exception:
            pass
for bijector in (tfb.Exp(), tfb.Sigmoid(), tfb.Softplus(), tfb.Shift(1.0), tfb.Scale(2.0), tfb.Chain([tfb.Exp(), tfb.Scale(2.0)]),
                 tfb.SoftmaxCentered(), tfb.Invert(tfb.Exp()), tfb.Tanh(), tfb.Power(2.0), tfb.Cumsum(), tfb.Reshape([2, 1])):
    attempt(bijector.name, lambda x: (bijector.forward(x), bijector.inverse(bijector.forward(x)),
                                      bijector.forward_log_det_jacobian(x, event_ndims=1)), two)


def target(x):
    return tfd.Normal(0.0, 1.0).log_prob(x)


kernels = [tfp.mcmc.HamiltonianMonteCarlo(target, step_size=0.1, num_leapfrog_steps=2), tfp.mcmc.RandomWalkMetropolis(target),
           tfp.mcmc.NoUTurnSampler(target, step_size=0.1, max_tree_depth=3), tfp.mcmc.SliceSampler(target, 0.5, 2),
           tfp.mcmc.MetropolisAdjustedLangevinAlgorithm(target, step_size=0.1)]
for kernel in kernels:
    attempt(type(kernel).__name__, lambda seed: tfp.mcmc.sample_chain(3, 0.0, kernel=kernel, trace_fn=None, seed=seed), key)
attempt("bfgs", lambda x: tfp.optimizer.bfgs_minimize(jax.value_and_grad(lambda x: jnp.sum(x**2)), x).position, two)
attempt("nelder-mead", lambda x: tfp.optimizer.nelder_mead_minimize(lambda x: jnp.sum(x**2), initial_vertex=x).position, two)
