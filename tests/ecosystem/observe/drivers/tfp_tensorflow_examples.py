"""Distributions, bijectors and samplers of TensorFlow Probability under tf.function."""
import tensorflow as tf
import tensorflow_probability as tfp

tfd, tfb = tfp.distributions, tfp.bijectors


def attempt(name, run, *arguments):
    try:
        tf.function(run)(*arguments)
    except Exception as error:
        print(name, type(error).__name__, str(error)[:150], flush=True)


one, two = tf.ones(2), tf.constant([0.3, 0.7])
made = [lambda: tfd.Normal(0.0, one), lambda: tfd.Gamma(one, one), lambda: tfd.Beta(one, one), lambda: tfd.Categorical(logits=two),
        lambda: tfd.Bernoulli(probs=two), lambda: tfd.Poisson(one), lambda: tfd.Dirichlet(one), lambda: tfd.MultivariateNormalDiag(one, one),
        lambda: tfd.StudentT(3.0, 0.0, one), lambda: tfd.Uniform(0.0, one), lambda: tfd.Exponential(one), lambda: tfd.LogNormal(0.0, one),
        lambda: tfd.Laplace(0.0, one), lambda: tfd.Geometric(probs=two), lambda: tfd.Multinomial(3.0, probs=two),
        lambda: tfd.Independent(tfd.Normal(0.0, one), 1), lambda: tfd.TransformedDistribution(tfd.Normal(0.0, one), tfb.Exp()),
        lambda: tfd.MixtureSameFamily(tfd.Categorical(probs=two), tfd.Normal(two, 1.0)),
        lambda: tfd.JointDistributionSequential([tfd.Normal(0.0, 1.0), lambda m: tfd.Normal(m, 1.0)])]
for make in made:
    def use(make=make):
        distribution = make()
        sample = distribution.sample()
        return sample, distribution.log_prob(sample)

    attempt(make, use)
    for name in ("mean", "variance", "mode", "entropy"):
        try:
            tf.function(lambda make=make, name=name: getattr(make(), name)())()
        except Exception:
            pass
for bijector in (tfb.Exp(), tfb.Sigmoid(), tfb.Softplus(), tfb.Shift(1.0), tfb.Scale(2.0), tfb.Chain([tfb.Exp(), tfb.Scale(2.0)]),
                 tfb.SoftmaxCentered(), tfb.Tanh(), tfb.Reshape([2, 1]), tfb.MaskedAutoregressiveFlow(tfb.AutoregressiveNetwork(2, hidden_units=[4]))):
    attempt(bijector.name, lambda x: (bijector.forward(x), bijector.inverse(bijector.forward(x)),
                                      bijector.forward_log_det_jacobian(x, event_ndims=1)), two)


def target(x):
    return tfd.Normal(0.0, 1.0).log_prob(x)


for kernel in (tfp.mcmc.HamiltonianMonteCarlo(target, step_size=0.1, num_leapfrog_steps=2), tfp.mcmc.RandomWalkMetropolis(target),
               tfp.mcmc.NoUTurnSampler(target, step_size=0.1, max_tree_depth=3), tfp.mcmc.SliceSampler(target, 0.5, 2)):
    attempt(type(kernel).__name__, lambda: tfp.mcmc.sample_chain(3, 0.0, kernel=kernel, trace_fn=None))
attempt("bfgs", lambda x: tfp.optimizer.bfgs_minimize(lambda x: tfp.math.value_and_gradient(lambda x: tf.reduce_sum(x**2), x), x).position, two)
attempt("ode", lambda: tfp.math.ode.DormandPrince().solve(lambda t, y: -y, 0.0, one, [0.5, 1.0]).states)
model = tfp.sts.LocalLinearTrend(observed_time_series=tf.ones(8))
attempt("sts", lambda: model.joint_distribution(observed_time_series=tf.ones(8)).sample())
